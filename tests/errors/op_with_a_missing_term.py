"""A pullback that forgets an input."""

import aotensor as aot
import aotensor.tensor as at


class Scale(aot.Op):
    """x·y."""

    name = "scale"

    def infer_type(self, x, y):
        return x

    def reference(self, x, y):
        return x * y

    def L_op(self, inputs, outputs, output_grads):
        return [output_grads[0] * inputs[1], None]


x, y = at.scalars("x", "y")
aot.grad(Scale()(x, y), [x, y])

"""An op that is compiled to something else than it means."""

import aotensor as aot
import aotensor.tensor as at


class Halved(aot.Op):
    """x / 2."""

    name = "halved"

    def infer_type(self, x):
        return x

    def reference(self, x):
        return x / 2

    def expand(self, inputs):
        return [inputs[0] * 0.25]


x = at.vector("x")
aot.function([x], {"half": Halved()(x)}, mode="DEBUG_MODE", name="halves")([1.0, 2.0])

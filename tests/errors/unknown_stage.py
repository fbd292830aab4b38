"""A stage that there is not."""

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x")
aot.function([x], x, name="f").ir("mlir")

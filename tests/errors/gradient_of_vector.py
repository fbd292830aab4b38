"""A gradient of what is not a scalar."""

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x")
aot.grad(x * x, x)

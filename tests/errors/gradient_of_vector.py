"""A gradient of what is no scalar."""

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x")
aot.grad(x * x, x)

"""A gradient with respect to what the cost does not depend on."""

import aotensor as aot
import aotensor.tensor as at

x, y = at.vector("x"), at.vector("y")
aot.grad(x.sum(), y)

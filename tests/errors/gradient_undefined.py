"""A gradient that leads through an op without one."""

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import undefined_grad

x = at.scalar("x")
y = at.exp(x)
cost = undefined_grad(y * 2) + x
aot.grad(cost, x)

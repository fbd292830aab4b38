"""An axis that the operand does not have."""

import aotensor.tensor as at

x = at.vector("x")
x.sum(axis=1)

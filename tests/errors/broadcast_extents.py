"""Two extents that do not broadcast."""

import aotensor.tensor as at

x = at.vector("x", shape=(3,))
y = at.vector("y", shape=(4,))
x + y

"""The inner extents of a product differ."""

import aotensor.tensor as at

a = at.matrix("a", shape=(3, 4))
x = at.vector("x", shape=(5,))
at.dot(a, x)

"""A call with a name that is not an input."""

import numpy as np

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x", dtype="float32", shape=("n",))
y = at.vector("y", dtype="float32", shape=("n",))
z = at.vector("z", dtype="float32")
f = aot.function([x, y, z], x + y + z, name="f")
f(np.ones(3, "f4"), np.ones(3, "f4"), w=np.ones(3, "f4"))

"""Two arguments that disagree on a dim, one of them sparse."""

import numpy as np
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

A = sp.csr_matrix("A", dtype="float64", shape=("n", "p"))
x = at.vector("x", dtype="float64", shape=("p",))
f = aot.function([A, x], sp.dot(A, x), name="f")
f(ss.csr_matrix((2, 3)), np.ones(4))

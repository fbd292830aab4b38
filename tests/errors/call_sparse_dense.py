"""A dense array where a sparse matrix is expected."""

import numpy as np

import aotensor as aot
import aotensor.sparse as sp

A = sp.csr_matrix("A", dtype="float64", shape=("n", "p"))
f = aot.function([A], sp.sp_sum(A), name="f")
f(np.ones(3))

"""A sparse matrix whose rows end before they begin."""

import numpy as np
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp

A = sp.csr_matrix("A", dtype="float64", shape=("n", "p"))
f = aot.function([A], sp.sp_sum(A), name="f")
matrix = ss.csr_matrix(np.array([[0.0, 1, 0], [2, 0, 3]]))
matrix.indptr[1] = 5
f(matrix)

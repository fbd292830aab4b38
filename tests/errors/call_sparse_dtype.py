"""A sparse matrix with a dtype that loses digits."""

import numpy as np
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp

A = sp.csr_matrix("A", dtype="float32", shape=("n", "p"))
f = aot.function([A], sp.sp_sum(A), name="f")
matrix = ss.csr_matrix(np.array([[0.0, 1, 0], [2, 0, 3]]))
f(matrix)

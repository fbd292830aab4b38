"""An update that stores a sparse variable in another format."""

import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp

A = sp.shared(ss.csr_matrix((2, 2)), name="A")
aot.function([], updates={A: A.T})

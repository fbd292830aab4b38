"""The functions of later layers, handed to the earlier ones that ask for them in `graph/operations.py`.

mypy compares each module with the protocol of its slot: a function that is missing, or takes other arguments, is an
error here.
"""

from __future__ import annotations

from aotensor import tensor
from aotensor.api import function
from aotensor.gradient import sparse_checks, subgraphs
from aotensor.graph import expansion, operations
from aotensor.ops import half, index, numpy_functions, numpy_tables
from aotensor.ops.complex import counterpart
from aotensor.sparse import functions as sparse_functions

operations.dense.fill(tensor)
operations.complex_numbers.fill(counterpart)
operations.halves.fill(half)
operations.sparse.fill(sparse_functions)
operations.indexing.fill(index)
operations.numpy_functions.fill(numpy_functions)
operations.numpy_tables.fill(numpy_tables)
operations.evaluation.fill(expansion)
operations.sweeps.fill(subgraphs)
operations.sparse_checks.fill(sparse_checks)
operations.functions.fill(function)

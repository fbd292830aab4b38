"""The modules of later layers, handed to the earlier ones that call them through `graph/operations.py`."""

from __future__ import annotations

from aotensor.core.garbage import rare_collections

with rare_collections:
    from aotensor import tensor
    from aotensor.api import function
    from aotensor.gradient import sparse_checks, subgraphs
    from aotensor.graph import expansion, operations
    from aotensor.ops import half, index, kernel_call
    from aotensor.ops.complex import counterpart
    from aotensor.ops.numpy_names import elementwise, products, shapes  # noqa: F401  (they register their functions)
    from aotensor.sparse import functions as sparse_functions

operations.fill(
    dense=tensor,
    complex_numbers=counterpart,
    halves=half,
    sparse=sparse_functions,
    indexing=index,
    kernel_calls=kernel_call,
    evaluation=expansion,
    sweeps=subgraphs,
    sparse_checks=sparse_checks,
    functions=function,
)

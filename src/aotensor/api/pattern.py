"""The pattern of a sparse output, if it does not depend on values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.sparse_type import SparseTensorType, container
from aotensor.graph.variable import Variable
from aotensor.sparse.construct.pattern import constant_values, not_constant, pattern_parts


def pattern_of(function: str, results: Mapping[str, Variable], output: str) -> Any:
    """A SciPy CSR or CSC matrix of ones at the stored entries of an output.   Raises: as `Function.pattern`"""
    if output not in results:
        raise GraphValueError(
            f"{function}: there is no output {output!r:.60}", hint=f"its outputs are {', '.join(results)}"
        )
    x = results[output]
    if not isinstance(x.type, SparseTensorType) or x.type.format == "bsr":
        raise GraphTypeError(f"{function}: {output} is {x.type}, not a CSR or CSC matrix")
    parts = pattern_parts(x)
    found = constant_values(parts)
    if found is None:
        needed = ", ".join(map(str, not_constant(parts))) or "a check that fails"
        raise GraphValueError(
            f"{function}: the pattern of {output} depends on {needed}",
            hint="give extents as numbers; patterns of Jacobians and of constants are known",
        )
    indptr, indices, shape = found
    made = container(x.type.format)((np.ones(len(indices)), indices, indptr), shape=tuple(map(int, shape)))
    made.sort_indices()
    return made

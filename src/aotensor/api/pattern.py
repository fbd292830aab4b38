"""The pattern of a sparse output, where it does not depend on values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aotensor.errors import GraphTypeError, GraphValueError, MissingInputError
from aotensor.graph.sparse_type import SparseTensorType, container
from aotensor.graph.variable import Variable
from aotensor.sparse.construct.create import csm_indices, csm_indptr


def pattern_of(function: str, results: Mapping[str, Variable], output: str) -> Any:
    """A SciPy CSR or CSC matrix of ones at the stored entries of an output.   Raises: as `Function.pattern`"""
    if output not in results:
        raise GraphValueError(f"{function}: there is no output {output!r:.60}", hint=f"there are {', '.join(results)}")
    x = results[output]
    if not isinstance(x.type, SparseTensorType) or x.type.format == "bsr":
        raise GraphTypeError(f"{function}: {output} is {x.type}, not a CSR or CSC matrix")
    try:
        indices, indptr, shape = (part.eval({}) for part in (csm_indices(x), csm_indptr(x), x.shape))
    except MissingInputError as error:
        needed = error.diagnostic.title.removeprefix("no value is given for ")
        raise GraphValueError(
            f"{function}: the pattern of {output} depends on {needed}",
            hint="give extents as numbers; patterns of Jacobians and of constants are known",
        ) from error
    made = container(x.type.format)((np.ones(len(indices)), indices, indptr), shape=tuple(map(int, shape)))
    made.sort_indices()
    return made

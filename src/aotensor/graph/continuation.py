"""Evaluation of a graph of analytic ops at complex values, for the complex step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aotensor.core.dtypes import is_discrete, kind_of
from aotensor.core.types import Array
from aotensor.errors import UnsupportedError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, SharedVariable, Variable
from aotensor.graph.walk import compute_all, evaluated, leaves


def continue_all(outputs: Sequence[Variable], values: Mapping[Variable, Array]) -> list[Array]:
    """Values of `outputs` where some leaves are complex, by the analytic continuation of each op, or of its expansion.

    Raises: UnsupportedError naming the first op that is not analytic and depends on a complex value.
    """
    known = dict(values)
    for x in leaves(outputs, stop=known):
        if isinstance(x, Constant):
            known[x] = x.data
        elif isinstance(x, SharedVariable):
            known.setdefault(x, x.get_value(borrow=True))
    with np.errstate(all="ignore"):
        compute_all(outputs, known, continued)
    return [known[x] for x in outputs]


def continued(node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs of a node where some inputs may be complex. Discrete outputs depend on real parts alone.

    Raises: UnsupportedError if the op is not analytic and a complex input matters.
    """
    is_complex = [x is not None and x.dtype.kind == "c" for x in inputs]  # None: an input that the op does not demand
    pattern = node.op.connection_pattern(node) if any(is_complex) else []
    is_constant = all(is_discrete(y.dtype) for y in node.outputs)
    if is_constant or not any(on and any(row) for on, row in zip(is_complex, pattern, strict=False)):
        return evaluated(node, [x.real if on else x for x, on in zip(inputs, is_complex, strict=True)])
    if not node.op.is_analytic:
        expanded = node.op.expand(node.inputs)
        if expanded is not None:
            return tuple(continue_all(expanded, dict(zip(node.inputs, inputs, strict=True))))
        raise UnsupportedError(f"{node.op.name} is not analytic, or has no complex reference", lines=[repr(node)])
    floats = [x is not None and kind_of(x.dtype) == "f" for x in inputs]
    results = node.op.continued(*(x.astype("complex128") if on else x for x, on in zip(inputs, floats, strict=True)))
    return tuple(np.asarray(x) for x in (results if isinstance(results, tuple) else (results,)))

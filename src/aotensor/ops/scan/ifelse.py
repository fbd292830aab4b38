"""ifelse: one of two values by a scalar condition."""

from __future__ import annotations

from typing import Any

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.public import public
from aotensor.graph.variable import as_tensor
from aotensor.ops.elementwise.compare import neq
from aotensor.ops.scan.branch import chosen


@public
def ifelse(condition: Any, then_branch: Any, else_branch: Any, name: str | None = None) -> Any:
    """`then_branch` where the condition holds (is not 0), else `else_branch`: one value, or a list or tuple of them.

    Compiled, only the chosen branch is computed. The two may differ in their extents, not in dtype and rank.
    name: of the results.

    Raises: GraphTypeError for a condition that is no scalar or branches of different kinds, GraphValueError for
    branches of different number, dtype or rank.
    """
    choice = as_tensor(condition)
    if choice.ndim != 0:
        raise GraphTypeError("ifelse: the condition is a scalar", lines=[choice.describe()], hint="use switch")
    is_several = isinstance(then_branch, list | tuple)
    if is_several != isinstance(else_branch, list | tuple):
        raise GraphTypeError("ifelse: one branch is a value, the other a list")
    then, otherwise = ([as_tensor(x) for x in (side if is_several else [side])] for side in (then_branch, else_branch))
    if len(then) != len(otherwise):
        raise GraphValueError(f"ifelse: {len(then)} values in one branch, {len(otherwise)} in the other")
    for one, other in zip(then, otherwise, strict=True):
        if (one.dtype, one.ndim) != (other.dtype, other.ndim):
            lines = [one.describe(), other.describe()]
            raise GraphValueError("ifelse: the branches differ in dtype or rank", lines=lines, hint="cast one of them")
    found = chosen(choice if choice.dtype == "bool" else neq(choice, 0), [*then, *otherwise])
    if name is not None:
        for x in found:
            x.name = name
    if not is_several:
        return found[0]
    return tuple(found) if isinstance(then_branch, tuple) else found

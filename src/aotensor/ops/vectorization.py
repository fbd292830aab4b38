"""Vectorise functions of vectors and matrices over leading axes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.graph.vectorize import vectorize_graph
from aotensor.ops.linalg.matrices import with_common_batch
from aotensor.ops.shape.broadcast import specify_shape
from aotensor.ops.shape.extents import SymbolicExtent, extent_of

_GROUP = re.compile(r"\(([\w\s,]*)\)")


@coerced
def vectorize(func: Callable[..., Any], signature: str | None = None) -> Callable[..., Any]:
    """The function that applies `func` to every sample of its arguments: along all their leading axes, which broadcast.

    func: symbolic tensors → one or several. signature: the axes of a sample by letters, as in "(m,n),(n)->(m)";
    equal letters are equal extents (checked at run time where they are not known). Without it samples are scalars.
    The graph is built once for one sample, and then applied to all by the batch rules of its ops.

    Raises: GraphValueError for a signature that cannot be read; the result raises GraphTypeError for another number of
    arguments or results, or an argument of too low a rank.
    """
    inputs, outputs = (None, None) if signature is None else _parsed(signature)

    @wraps(func)
    def apply(*args: Any) -> Any:
        xs = [as_tensor(x) for x in args]
        cores = [()] * len(xs) if inputs is None else inputs
        if len(cores) != len(xs):
            raise GraphTypeError(f"vectorize: {len(xs)} arguments for the signature {signature}")
        xs = _with_equal_extents(xs, cores, signature)
        wide = with_common_batch(*((x, len(core)) for x, core in zip(xs, cores, strict=True)))
        samples = [_sample(x, len(core)) for x, core in zip(wide, cores, strict=True)]
        results = func(*samples)
        _check_results(results, outputs, signature)
        return vectorize_graph(results, dict(zip(samples, wide, strict=True)))

    return apply


def _sample(x: Variable, rank: int) -> Variable:
    """A symbol for one sample of x: the last `rank` axes of x."""
    return Variable(TensorType(x.dtype, x.tensor_type.shape[x.ndim - rank :]), name=x.name)


def _parsed(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The axis letters of inputs and outputs of a signature.   Raises: GraphValueError"""
    sides = signature.split("->")
    if len(sides) == 2 and all(re.fullmatch(r"\s*\([\w\s,]*\)(\s*,\s*\([\w\s,]*\))*\s*", side) for side in sides):
        left, right = ([_letters(group) for group in _GROUP.findall(side)] for side in sides)
        return left, right
    raise GraphValueError(f"vectorize: the signature must be like '(m,n),(n)->(m)', not {signature!r}")


def _letters(group: str) -> tuple[str, ...]:
    return tuple(letter.strip() for letter in group.split(",") if letter.strip())


def _with_equal_extents(
    xs: Sequence[Variable], cores: Sequence[tuple[str, ...]], signature: str | None
) -> list[Variable]:
    """The arguments, after checks that axes with the same letter have the same extent."""
    known: dict[str, SymbolicExtent] = {}
    checked = []
    for position, (x, core) in enumerate(zip(xs, cores, strict=True)):
        if x.ndim < len(core):
            text = f"vectorize: argument {position} has rank {x.ndim}, too low for the signature {signature}"
            raise GraphTypeError(text, lines=[x.describe()])
        wanted: list[SymbolicExtent | None] = [None] * x.ndim
        for axis, letter in enumerate(core, x.ndim - len(core)):
            if letter in known:
                wanted[axis] = known[letter]
            known.setdefault(letter, extent_of(x, axis))
        checked.append(x if not any(n is not None for n in wanted) else specify_shape(x, wanted))
    return checked


def _check_results(results: Any, outputs: Sequence[tuple[str, ...]] | None, signature: str | None) -> None:
    found = [results] if isinstance(results, Variable) else results
    if not isinstance(found, list | tuple) or not all(isinstance(y, Variable) for y in found):
        raise GraphTypeError(f"vectorize: the function must return a tensor or a list of tensors, not {results!r:.60}")
    if outputs is None:
        return
    if len(found) != len(outputs):
        raise GraphTypeError(
            f"vectorize: the function returns {len(found)} results, which does not fit the signature {signature}"
        )
    for position, (y, core) in enumerate(zip(found, outputs, strict=True)):
        if y.ndim != len(core):
            text = f"vectorize: result {position} has rank {y.ndim}, another one than in the signature {signature}"
            raise GraphTypeError(text, lines=[y.describe()])

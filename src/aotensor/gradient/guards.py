"""Guarded cotangents: after a choice, cotangents are used only on the side that was chosen.

    y = choose(c, a, b)        ā = ȳ where c holds, b̄ = ȳ where it fails; x̄ = choose(c, x̄ by way of a, x̄ by way of b)

Masking a cotangent to 0 is not enough: 0·f′(x) is nan where f′(x) is infinite. So the sweep carries ȳ unmasked,
with the guards under which it is valid, and selects where the paths from both sides join. No value of the side that
is not chosen reaches the result, and under a scalar condition none is computed.

A guard on whole values (ifelse) is carried through any op. One on elements (switch, maximum, minimum, clip) passes
through ops that do not mix elements: elementwise ones, transposes, sums, and products along the axes that they keep.
Before other ops it becomes a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final, TypeAlias

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.graph.op import Apply, disconnected, has_value, is_disconnected, is_null, sum_terms
from aotensor.graph.variable import Variable
from aotensor.ops.contract import Contract
from aotensor.ops.create import Alloc, FullLike, is_zeros
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.elementwise.base import Elementwise, unbroadcast
from aotensor.ops.elementwise.compare import and_, cast, invert, switch
from aotensor.ops.index_sum import join_windows
from aotensor.ops.linear import zero_gradient
from aotensor.ops.reduce.sums import Sum
from aotensor.ops.scan.branch import IfElse, chosen
from aotensor.ops.scan.ifelse import ifelse
from aotensor.ops.shape.axes import DimShuffle, dimshuffle
from aotensor.ops.shape.broadcast import specify_shape
from aotensor.ops.shape.extents import extents_of
from aotensor.sparse.convert import as_dense, dense_origin, everywhere_as
from aotensor.sparse.reformat import in_format


@frozen_dataclass
class Guard:
    """A condition, and the side of it on which a cotangent is valid.

    is_whole: the condition is a scalar for the whole value, as in ifelse; otherwise it broadcasts to the value.
    """

    condition: Variable
    holds: bool
    is_whole: bool


_SEPARATE_MASKS: Final = 8
"""Longest chain of masks that paths to one variable share; masks beyond that are merged per path."""

Guards: TypeAlias = tuple[Guard, ...]
"""From the outermost to the innermost."""


@frozen_dataclass
class Guarded:
    """A cotangent (real, null or disconnected) and the guards under which it is valid."""

    guards: Guards
    term: Variable

    def with_first_guards(self, count: int, x: Variable) -> Guarded:
        """This cotangent under the first `count` guards only; it is 0 where one of the other guards fails."""
        if not has_value(self.term):
            return Guarded(self.guards[:count], self.term)
        term = self.term
        for guard in reversed(self.guards[count:]):
            term = _choice(guard, term, None, x) if guard.holds else _choice(guard, None, term, x)
        return Guarded(self.guards[:count], term)

    def by_whole(self, x: Variable) -> Guarded:
        """This cotangent under the leading guards on whole values; the other guards become elementwise masks."""
        count = next((k for k, guard in enumerate(self.guards) if not guard.is_whole), len(self.guards))
        return self.with_first_guards(count, x)


def total(terms: Sequence[Guarded], x: Variable) -> Guarded:
    """The sum of cotangents of x, under their common guards. Null if one is null; zeros are skipped."""
    real = [one for one in terms if not is_disconnected(one.term)]
    null = next((one for one in real if is_null(one.term)), None)
    if null is not None or not real:
        return Guarded((), disconnected() if null is None else null.term)
    real = [one for one in real if not is_zeros(one.term)] or [Guarded((), real[0].term)]
    common = len(shared_guards(real))
    return Guarded(real[0].guards[:common], _collapsed(real, common, x))


def shared_guards(terms: Sequence[Guarded]) -> Guards:
    """The longest common prefix of the guards of all terms."""
    count = 0
    for group in zip(*(one.guards for one in terms), strict=False):
        if any(guard != group[0] for guard in group):
            break
        count += 1
    return terms[0].guards[:count]


def _collapsed(terms: Sequence[Guarded], depth: int, x: Variable) -> Variable:
    """The sum of terms whose first `depth` guards are equal, under these guards only."""
    here = [one.term for one in terms if len(one.guards) == depth]
    sides: dict[tuple[Variable, bool], dict[bool, list[Guarded]]] = {}
    for one in terms:
        if len(one.guards) > depth:
            guard = one.guards[depth]
            sides.setdefault((guard.condition, guard.is_whole), {}).setdefault(guard.holds, []).append(one)
    for (condition, is_whole), found in sides.items():
        then, otherwise = (_collapsed(found[on], depth + 1, x) if on in found else None for on in (True, False))
        here.append(_choice(Guard(condition, True, is_whole), then, otherwise, x))
    return sum_terms(join_windows(here), add)


def _choice(
    guard: Guard, then: Variable | None, otherwise: Variable | None, x: Variable, is_fitting: bool = True
) -> Variable:
    """Select `then` if the guard's condition holds, else `otherwise`: cotangents of x, dense or sparse; None is zero.

    is_fitting: both have the extents of x, and are marked so: the extents of the branch then follow from x.
    """
    if not guard.is_whole:
        return switch(guard.condition, *(0 if side is None else side for side in (then, otherwise)))
    then, otherwise = (None if side is None else dense_origin(side) for side in (then, otherwise))
    sides = [side for side in (then, otherwise) if side is not None]
    if not all(side.is_sparse for side in sides):
        sides = [as_dense(side) for side in sides]
    model, dtype = sides[0], dtypes.promote(*(side.dtype for side in sides))
    pair = [_like(zero_gradient(x) if side is None else side, model, dtype) for side in (then, otherwise)]
    if model.is_sparse or dtypes.is_complex(dtype):
        return ifelse(guard.condition, pair[0], pair[1])  # type: ignore[no-any-return]
    if is_fitting and None in x.static_shape and not x.is_sparse:
        pair = [specify_shape(side, extents_of(x)) for side in pair]
    return everywhere_as(x, chosen(guard.condition, pair)[0])


def _like(term: Variable, model: Variable, dtype: str) -> Variable:
    """Convert a cotangent to the layout of `model` (dense, or its sparse format) and to a dtype."""
    term = in_format(term, model.format, model.blocksize) if model.is_sparse else as_dense(term)  # type: ignore[attr-defined,arg-type]
    return cast(term, dtype)


# --- how ops pass guards on ------------------------------------------------------------------------------------------


def pull_choice(node: Apply, given: Sequence[Guarded]) -> list[Guarded]:
    """Cotangents of the inputs of an IfElse: zeros for the condition; the condition guards those of each branch."""
    assert isinstance(node.op, IfElse)
    count, (condition, *values) = node.op.count, node.inputs
    is_live = any(not is_disconnected(one.term) for one in given)
    found = [Guarded((), zero_gradient(condition) if is_live else disconnected())]
    for position, value in enumerate(values):
        one, y = given[position % count], node.outputs[position % count]
        if not has_value(one.term):
            found.append(one)
        elif dtypes.is_discrete(y.dtype):
            found.append(Guarded(one.guards, zero_gradient(value)))
        else:
            guard = Guard(condition, position < count, True)
            term = one.term if _has_extents_of(value, y) else _choice(guard, *_on_side(one.term, guard), value, False)
            found.append(Guarded((*one.guards, guard), term))
    return found


def _on_side(term: Variable, guard: Guard) -> tuple[Variable | None, Variable | None]:
    return (term, None) if guard.holds else (None, term)


def _has_extents_of(x: Variable, y: Variable) -> bool:
    """Does x provably have the extents of y, so that the cotangent of y fits x?"""
    return all(
        one is not None and one == other for one, other in zip(x.tensor_type.shape, y.tensor_type.shape, strict=True)
    )


def pull_elements(node: Apply, given: Guarded) -> list[Guarded]:
    """The cotangents of the operands of an elementwise op."""
    op, y = node.op, node.outputs[0]
    assert isinstance(op, Elementwise)
    routes = op.row.routes(*node.inputs) if op.row.routes is not None else (None,) * len(node.inputs)
    given = Guarded(_merge_guards(given.guards), given.term)
    found = []
    for position, (x, route) in enumerate(zip(node.inputs, routes, strict=True)):
        if position in op.row.unread:
            found.append(Guarded((), disconnected()))
            continue
        guards, scaled = given.guards, given.term if route is not None else None
        if route is not None:
            guards = (*guards, Guard(cast(route[0], "bool"), route[1], False))
        else:
            scaled = op.scale_cotangent(given.term, position, node.inputs, y)
        if scaled is None:
            found.append(Guarded(given.guards, zero_gradient(x)))
        elif is_null(scaled):
            found.append(Guarded((), scaled))
        elif _is_repeated(x.tensor_type, y.tensor_type):
            whole = Guarded(guards, scaled).by_whole(y)
            found.append(Guarded(whole.guards, unbroadcast(whole.term, x)))
        else:
            found.append(Guarded(guards, cast(scaled, x.dtype) if dtypes.is_inexact(x.dtype) else scaled))
    return found


def _merge_guards(guards: Guards) -> Guards:
    """Guards with all masks but the first few merged into one, so that long chains of choices need few `where` ops."""
    first = next((k for k, guard in enumerate(guards) if not guard.is_whole), len(guards)) + _SEPARATE_MASKS
    masks = guards[first:]
    if len(masks) < 2 or any(guard.is_whole for guard in masks):
        return guards
    conditions = [guard.condition if guard.holds else invert(guard.condition) for guard in masks]
    return (*guards[:first], Guard(reduce(and_, conditions), True, False))


def _is_repeated(x: TensorType, y: TensorType) -> bool:
    """Does x broadcast to y?"""
    return x.rank != y.rank or any(dim == 1 != wide for dim, wide in zip(x.shape, y.shape, strict=True))


def translate_guards(guards: Guards, node: Apply, position: int) -> Guards | None:
    """Translate guards on an op's output to guards on an input, whose elements are masked if all their uses are."""
    found = []
    for guard in guards:
        if guard.is_whole:
            found.append(guard)
            continue
        mask = _mask_of_input(guard.condition, node, position)
        if mask is None:
            return None
        found.append(Guard(mask, guard.holds, False))
    return tuple(found)


def _mask_of_input(mask: Variable, node: Apply, position: int) -> Variable | None:
    """Translate a mask of an op's output to a mask of an input; None if an input element has masked and other uses."""
    y = node.outputs[0]
    axes = _axes_of_input(node, position)
    if axes is None:
        return None
    wide = dimshuffle(mask, [None] * (y.ndim - mask.ndim) + list(range(mask.ndim)))
    lost = [axis for axis in range(y.ndim) if axis not in axes]
    return None if any(wide.tensor_type.shape[axis] != 1 for axis in lost) else dimshuffle(wide, axes)


def _axes_of_input(node: Apply, position: int) -> list[int | None] | None:
    """The output axis for each axis of an input (None if summed over); None for ops that do not map axes to axes."""
    y, x = node.outputs[0], node.inputs[position]
    match node.op:
        case DimShuffle(pattern=pattern):
            return [pattern.index(axis) if axis in pattern else None for axis in range(x.ndim)]
        case Sum(axes=summed):
            kept = iter(range(y.ndim))
            return [None if axis in summed else next(kept) for axis in range(x.ndim)]
        case Contract():
            *sides, out = node.op.parts()
            return [out.index(letter) if letter in out else None for letter in sides[position]]
        case Alloc() | FullLike() if position == 0:
            first, dims = y.ndim - x.ndim, x.tensor_type.shape
            return [
                first + k if dim != 1 or y.tensor_type.shape[first + k] == 1 else None for k, dim in enumerate(dims)
            ]
        case _:
            return None

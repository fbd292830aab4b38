"""Operations that move, repeat, join and slice elements, including those with extents given by operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from aotensor.importers.base import Unsuited
from aotensor.importers.stablehlo.structure import Operation
from aotensor.importers.stablehlo.table import (
    LateParams,
    Step,
    axes,
    axis_of,
    ints,
    may_be,
    operands,
    shape_of,
    static_or_given,
    translates,
)

_WIDTHS: Final = ("edge_padding_low", "edge_padding_high", "interior_padding")


def _late_shape(found: Operation, key: str) -> LateParams:
    """A shape given by an operand; static extents of the result's type are numbers."""
    return lambda given: {key: static_or_given(shape_of(found), given)}


@translates("broadcast_in_dim", "dynamic_broadcast_in_dim")
def _broadcast(found: Operation) -> Step:
    is_dynamic = found.name.startswith("stablehlo.dynamic")
    x, *extents = operands(found, 1 + is_dynamic)
    shape = shape_of(found)
    places = axes(found, "dims", "broadcast_dimensions", rank=len(shape))
    if len(places) != x.aval.ndim:
        raise Unsuited(f"its dims {places} do not name one axis for each axis of its operand of rank {x.aval.ndim}")
    if any(n not in (1, None, shape[d]) and shape[d] is not None for n, d in zip(x.aval.shape, places, strict=True)):
        raise Unsuited(f"extents {list(x.aval.shape)} cannot be broadcast to {list(shape)}")
    if any(n is None and shape[d] is not None for n, d in zip(x.aval.shape, places, strict=True)):
        raise Unsuited(f"an extent of its operand is unknown (?), but known in its result {list(shape)}")
    late = _late_shape(found, "shape") if is_dynamic else None
    if not is_dynamic and None in shape:
        raise Unsuited("its result has unknown extents (?), which need dynamic_broadcast_in_dim")
    return Step("broadcast_in_dim", [x], {"shape": shape, "broadcast_dimensions": places}, extents, late)


@translates("reshape", "dynamic_reshape")
def _reshape(found: Operation) -> Step:
    is_dynamic = found.name.startswith("stablehlo.dynamic")
    x, *extents = operands(found, 1 + is_dynamic)
    if not is_dynamic and None in shape_of(found):
        raise Unsuited("its result has unknown extents (?), which need dynamic_reshape")
    late = _late_shape(found, "new_sizes") if is_dynamic else None
    return Step("reshape", [x], {"new_sizes": shape_of(found), "dimensions": None}, extents, late)


@translates("transpose")
def _transpose(found: Operation) -> Step:
    (x,) = operands(found, 1)
    order = axes(found, "dims", "permutation", rank=x.aval.ndim)
    if len(order) != x.aval.ndim:
        raise Unsuited(f"{order} is not a permutation of {x.aval.ndim} axes")
    return Step("transpose", [x], {"permutation": order})


@translates("reverse")
def _reverse(found: Operation) -> Step:
    (x,) = operands(found, 1)
    return Step("rev", [x], {"dimensions": axes(found, "dims", "dimensions", rank=x.aval.ndim)})


@translates("concatenate")
def _concatenate(found: Operation) -> Step:
    axis = axis_of(found, "dim", "dimension", rank=len(shape_of(found)))
    others = [(*x.aval.shape[:axis], None, *x.aval.shape[axis + 1 :]) for x in found.operands]
    if not found.operands or not all(may_be(other, shape_of(found)) for other in others):
        shown = ", ".join(str(x.aval) for x in found.operands)
        raise Unsuited(f"its operands {shown} do not match its result {found.results[0].aval}")
    return Step("concatenate", found.operands, {"dimension": axis})


@translates("iota", "dynamic_iota")
def _iota(found: Operation) -> Step:
    is_dynamic = found.name.startswith("stablehlo.dynamic")
    extents = operands(found, int(is_dynamic))
    shape = shape_of(found)
    if not is_dynamic and None in shape:
        raise Unsuited("its result has unknown extents (?), which need dynamic_iota")
    params = {"shape": shape, "dimension": axis_of(found, "dim", "iota_dimension", rank=len(shape))}
    params["dtype"] = found.results[0].aval.dtype
    return Step("iota", [], params, extents, _late_shape(found, "shape") if is_dynamic else None)


@translates("slice")
def _slice(found: Operation) -> Step:
    (x,) = operands(found, 1)
    if found.words:
        ranges = found.words[0]
        if not isinstance(ranges, list) or any(not 2 <= len(r) <= 3 for r in ranges):
            raise Unsuited(f"its ranges are {ranges!r:.40}, not start:limit or start:limit:stride for each axis")
        parts = [[r[k] if len(r) > k else 1 for r in ranges] for k in range(3)]
    else:
        parts = [ints(found, key) for key in ("start_indices", "limit_indices", "strides")]
    if any(len(part) != x.aval.ndim for part in parts):
        raise Unsuited(f"it has {len(parts[0])} ranges for an operand of rank {x.aval.ndim}")
    for n, start, stop, step in zip(x.aval.shape, *parts, strict=True):
        if step < 1 or not 0 <= start <= stop or (n is not None and stop > n):
            raise Unsuited(f"its range {start}:{stop}:{step} does not fit an axis of extent {'?' if n is None else n}")
    return Step("slice", [x], dict(zip(("start_indices", "limit_indices", "strides"), parts, strict=True)))


@translates("real_dynamic_slice", note="by strides that are known")
def _real_dynamic_slice(found: Operation) -> Step:
    x, *bounds = operands(found, 4)

    def late(starts: Sequence[Any], stops: Sequence[Any], steps: Sequence[Any]) -> dict[str, Any]:
        if not all(isinstance(n, int) and n > 0 for n in steps):
            raise Unsuited("its strides are not constant positive integers")
        if any(len(part) != x.aval.ndim for part in (starts, stops, steps)):
            raise Unsuited(f"it has {len(starts)} ranges for an operand of rank {x.aval.ndim}")
        return {"start_indices": starts, "limit_indices": stops, "strides": steps}

    return Step("slice", [x], {}, bounds, late)


@translates("pad", "dynamic_pad", note="between elements by widths that are known")
def _pad(found: Operation) -> Step:
    if found.name.startswith("stablehlo.dynamic"):
        x, value, *bounds = operands(found, 5)

        def late(lows: Sequence[Any], highs: Sequence[Any], inners: Sequence[Any]) -> dict[str, Any]:
            if any(len(part) != x.aval.ndim for part in (lows, highs, inners)):
                raise Unsuited(f"it has {len(lows)} padding widths for an operand of rank {x.aval.ndim}")
            widths = list(zip(lows, highs, inners, strict=True))
            is_known = all(isinstance(n, int) for one in widths for n in one)
            if not is_known and any(not isinstance(inner, int) or inner != 0 for *_, inner in widths):
                raise Unsuited("it pads between elements, which needs padding widths that are constants")
            return {"padding_config": widths}

        return Step("pad", [x, value], {"padding_config": ()}, bounds, late)
    x, value = operands(found, 2)
    keys = ("low", "high", "interior") if "low" in found.attributes else _WIDTHS
    widths = list(zip(*(ints(found, key, count=x.aval.ndim) for key in keys), strict=True))
    if value.aval.ndim or value.aval.dtype != x.aval.dtype:
        raise Unsuited(f"its padding value {value.aval} is not a scalar of the dtype of {x.aval}")
    for n, wide, (low, high, inner) in zip(x.aval.shape, shape_of(found), widths, strict=True):
        if inner < 0 or any(abs(width) >= 1 << 60 for width in (low, high, inner)):
            raise Unsuited(
                f"its padding is {low} before, {high} after and {inner} between elements, which is out of range"
            )
        if n is not None and wide is not None and n + max(n - 1, 0) * inner + low + high != wide:
            raise Unsuited(
                f"an axis of {n} elements with padding {low} before, {high} after and {inner} between elements does "
                "not "
                f"have the {wide} elements of the result"
            )
    return Step("pad", [x, value], {"padding_config": widths})

"""Windows at given positions (dynamic slices, gather, scatter), and moving windows (convolution, reduce_window)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from aotensor.importers.base import Unsuited
from aotensor.importers.stablehlo.attributes import read_attribute
from aotensor.importers.stablehlo.regions import is_logaddexp, merged
from aotensor.importers.stablehlo.structure import Operation, Region, Value
from aotensor.importers.stablehlo.table import (
    Equation,
    Literal,
    Program,
    Step,
    attribute,
    aval_of,
    different,
    equation,
    in_rank,
    ints,
    number,
    operands,
    pairs,
    shape_of,
    sizes,
    translates,
)
from aotensor.importers.stablehlo.text import DamagedText, Text


@translates("dynamic_slice", note="a start beyond the ends is moved inside")
def _dynamic_slice(found: Operation) -> Step:
    lengths = ints(found, "sizes", "slice_sizes", count=len(shape_of(found)))
    x, *starts = operands(found, 1 + len(lengths))
    _check_window(x, lengths, starts)
    return Step("dynamic_slice", [x, *starts], {"slice_sizes": lengths})


@translates("dynamic_update_slice", note="a start beyond the ends is moved inside")
def _dynamic_update(found: Operation) -> Step:
    rank = len(shape_of(found))
    x, update, *starts = operands(found, 2 + rank)
    _check_window(x, update.aval.shape, starts)
    return Step("dynamic_update_slice", [x, update, *starts])


def _check_window(x: Value, lengths: Sequence[Any], starts: Sequence[Value]) -> None:
    """Check a window and its starts.   Raises: Unsuited if it is too large, or if starts are not integers"""
    if len(lengths) != x.aval.ndim or any(s.aval.ndim or str(s.aval.dtype)[0] not in "iu" for s in starts):
        raise Unsuited(
            f"a window of extents {list(lengths)} has another rank than {x.aval}, or a start is not an integer"
        )
    if any(n is not None and m is not None and not 0 <= m <= n for n, m in zip(x.aval.shape, lengths, strict=True)):
        raise Unsuited(f"a window of extents {list(lengths)} does not fit into {x.aval}")


def _numbers(record: Mapping[str, Any], key: str, rank: int) -> list[int]:
    """The axes of a record, which must be distinct; none if they are left out.   Raises: Unsuited"""
    value = record.get(key, [])
    if not isinstance(value, list) or not all(type(n) is int for n in value):
        raise Unsuited(f"its {key} are {value!r:.40}, not a list of axes")
    return different([in_rank(n, rank) for n in value], key)


def _record(found: Operation, key: str) -> Mapping[str, Any]:
    value = attribute(found, key)
    if not isinstance(value, dict):
        raise Unsuited(f"its {key} are {value!r:.40}, not a record of axes")
    return value


def _with_vectors_last(starts: Value, record: Mapping[str, Any], found: Operation) -> tuple[Value, list[Equation], int]:
    """The positions with the axis of components moved last, the equations that move it, and its original place."""
    shape, rank = starts.aval.shape, starts.aval.ndim
    place = record.get("index_vector_dim", 0)
    if type(place) is not int or not 0 <= place <= rank:
        raise Unsuited(f"its index_vector_dim is {place!r:.40}, not an axis of its indices or their rank, {rank}")
    if str(starts.aval.dtype)[0] not in "iu" or None in shape[place:]:
        raise Unsuited(f"its indices {starts.aval} are not integers with known extents from axis {place} on")
    if place == rank - 1:
        return starts, [], place
    if place == rank:
        made = Value(aval_of((*shape, 1), starts.aval.dtype))
        places = {"shape": made.aval.shape, "broadcast_dimensions": list(range(rank))}
        if None in shape:
            raise Unsuited(f"its indices {starts.aval} have unknown extents (?)")
        return made, [equation(Step("broadcast_in_dim", [starts], places), [made], found)], place
    order = [*(d for d in range(rank) if d != place), place]
    made = Value(aval_of([shape[d] for d in order], starts.aval.dtype))
    return made, [equation(Step("transpose", [starts], {"permutation": order}), [made], found)], place


def _batches(record: Mapping[str, Any], keys: tuple[str, str], ranks: tuple[int, int], place: int) -> tuple[Any, Any]:
    """Batching axes of the operand and of the positions, in pairs."""
    first, second = (_numbers(record, key, rank) for key, rank in zip(keys, ranks, strict=True))
    if len(first) != len(second) or place in second:
        raise Unsuited(f"its {keys[1]} {second} do not match its {keys[0]} {first} and its index_vector_dim {place}")
    return first, [d - (d > place) for d in second]


def gather(found: Operation, late: Any = None) -> tuple[list[Equation], Step]:
    """gather and dynamic_gather: equations before, and the step."""
    x, starts, *extents = operands(found, 2 + found.name.startswith("stablehlo.dynamic"))
    record, rank, result = _record(found, "dimension_numbers"), x.aval.ndim, len(shape_of(found))
    starts, before, place = _with_vectors_last(starts, record, found)
    keys = ("operand_batching_dims", "start_indices_batching_dims")
    of_x, of_starts = _batches(record, keys, (rank, starts.aval.ndim), place)
    dims = SimpleNamespace(
        offset_dims=_numbers(record, "offset_dims", result),
        collapsed_slice_dims=_numbers(record, "collapsed_slice_dims", rank),
        operand_batching_dims=of_x,
        start_indices_batching_dims=of_starts,
        start_index_map=_numbers(record, "start_index_map", rank),
    )
    dropped = different([*dims.collapsed_slice_dims, *of_x], "collapsed_slice_dims")
    different([*of_x, *dims.start_index_map], "start_index_map")
    is_right = (
        len(dims.offset_dims) + len(dropped) == rank
        and len(dims.offset_dims) + starts.aval.ndim - 1 == result
        and dims.offset_dims == sorted(dims.offset_dims)
        and starts.aval.shape[-1] == len(dims.start_index_map)
    )

    def checked(lengths: Sequence[Any]) -> dict[str, Any]:
        fits = len(lengths) == rank and all(
            not isinstance(m, int) or n is None or 0 <= m <= n for n, m in zip(x.aval.shape, lengths, strict=True)
        )
        if not is_right or not fits or any(lengths[d] != 1 for d in dropped):
            raise Unsuited(
                f"its slice_sizes {lengths!r:.40}, its operand {x.aval} and its indices {starts.aval} do not match its "
                "dimension_numbers"
            )
        return {"slice_sizes": lengths}

    params: dict[str, Any] = {"dimension_numbers": dims, "mode": "clip", "fill_value": None}
    if extents:
        return before, Step("gather", [x, starts], params, extents, checked)
    return before, Step("gather", [x, starts], params | checked(ints(found, "slice_sizes", count=rank)))


_UPDATES: Final[Mapping[str, str]] = {
    "add": "scatter-add", "multiply": "scatter-mul", "maximum": "scatter-max", "minimum": "scatter-min",
    "or": "scatter-max", "and": "scatter-min", "second": "scatter", "subtract": "scatter-sub",
}  # fmt: skip
_LOGICAL: Final = {"add": "or", "multiply": "and"}


def scatter(found: Operation) -> tuple[list[Equation], Step]:
    """scatter: equations before, and the step."""
    x, starts, updates = operands(found, 3)
    record, rank, given = _record(found, "scatter_dimension_numbers"), x.aval.ndim, updates.aval.ndim
    starts, before, place = _with_vectors_last(starts, record, found)
    keys = ("input_batching_dims", "scatter_indices_batching_dims")
    of_x, of_starts = _batches(record, keys, (rank, starts.aval.ndim), place)
    dims = SimpleNamespace(
        update_window_dims=_numbers(record, "update_window_dims", given),
        inserted_window_dims=_numbers(record, "inserted_window_dims", rank),
        operand_batching_dims=of_x,
        scatter_indices_batching_dims=of_starts,
        scatter_dims_to_operand_dims=_numbers(record, "scatter_dims_to_operand_dims", rank),
    )
    dropped = different([*dims.inserted_window_dims, *of_x], "inserted_window_dims")
    different([*of_x, *dims.scatter_dims_to_operand_dims], "scatter_dims_to_operand_dims")
    is_right = (
        len(dims.update_window_dims) + len(dropped) == rank
        and len(dims.update_window_dims) + starts.aval.ndim - 1 == given
        and dims.update_window_dims == sorted(dims.update_window_dims)
        and starts.aval.shape[-1] == len(dims.scatter_dims_to_operand_dims)
        and updates.aval.dtype == x.aval.dtype == found.results[0].aval.dtype
    )
    kept = [d for d in range(rank) if d not in dropped]
    pairs_ = zip(kept, dims.update_window_dims, strict=False)
    if not is_right or any(_is_larger(updates.aval.shape[p], x.aval.shape[d]) for d, p in pairs_):
        raise Unsuited(
            f"its updates {updates.aval}, its operand {x.aval} and its indices {starts.aval} do not match its "
            "scatter_dimension_numbers"
        )
    if len(found.regions) != 1 or (names := merged(found.regions[0])) is None:
        raise Unsuited("its region is not a sum, difference, product, maximum, minimum or the update itself")
    name = names[0]
    if x.aval.dtype == bool:
        name = _LOGICAL.get(name, name)
    elif name in ("or", "and"):
        raise Unsuited(f"its region computes {name} of integers, which is supported for bool only")
    if name not in _UPDATES:
        raise Unsuited(f"its region computes {name}, which is not supported")
    params = {
        "dimension_numbers": dims, "mode": "fill_or_drop",
        "unique_indices": bool(number(found, "unique_indices", default=False)),
    }  # fmt: skip
    return before, Step(_UPDATES[name], [x, starts, updates], params)


def _is_larger(size: Any, whole: Any) -> bool:
    return size is not None and whole is not None and bool(size > whole)


_LETTERS: Final = ("b", "f", "i", "o")


@translates("convolution", "dynamic_conv", note="over up to three axes")
def _convolution(found: Operation) -> Step:
    is_dynamic = found.name.startswith("stablehlo.dynamic")
    x, w, *widths = operands(found, 2 + is_dynamic)
    specs = attribute(found, "dim_numbers", "dimension_numbers")
    if isinstance(specs, str):
        specs = _written_in(specs)
    window = found.attributes.get("window", found.attributes)
    if not isinstance(specs, list) or len(specs) != 3 or not isinstance(window, dict):
        raise Unsuited(f"its dimension_numbers {specs!r:.60} or its window cannot be read")
    rank = len(shape_of(found))
    orders = [_order(spec, letters, rank) for spec, letters in zip(specs, ("bf", "oi", "bf"), strict=True)]
    if (x.aval.ndim, w.aval.ndim) != (rank, rank):
        raise Unsuited(f"its operands {x.aval} and {w.aval} do not have the rank of its result, {rank}")
    shown = Operation(found.name, found.line, attributes=window)
    params = {
        "dimension_numbers": orders,
        "window_strides": sizes(shown, "stride", "window_strides", count=rank - 2),
        "padding": () if is_dynamic else pairs(shown, "pad", "padding", count=rank - 2),
        "lhs_dilation": sizes(shown, "lhs_dilate", "lhs_dilation", count=rank - 2),
        "rhs_dilation": sizes(shown, "rhs_dilate", "rhs_dilation", count=rank - 2),
        "feature_group_count": number(found, "feature_group_count", default=1),
        "batch_group_count": number(found, "batch_group_count", default=1),
    }
    turned = window.get("reverse", window.get("window_reversal", []))
    if np.any(turned):
        raise Unsuited("its windows are reversed, which is not supported")
    if not is_dynamic:
        _check_convolution(found, x, w, params)

    def late(given: Sequence[Any]) -> dict[str, Any]:
        """The padding given by an operand, two numbers per axis."""
        if len(given) != 2 * (rank - 2):
            raise Unsuited(f"it has {len(given)} padding widths for {rank - 2} spatial axes, not 2 for each")
        params["padding"] = list(zip(given[::2], given[1::2], strict=True))
        _check_convolution(found, x, w, params)
        if any(n != 1 for n in params["lhs_dilation"]) and not all(isinstance(n, int) for n in given):
            raise Unsuited("it pads between elements, which needs padding widths that are constants")
        return {"padding": params["padding"]}

    return Step("conv_general_dilated", [x, w], params, widths, late if is_dynamic else None)


def _written_in(text: str) -> Any:
    """`#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>`   Raises: Unsuited"""
    try:
        return read_attribute(Text(text.partition("<")[2].rstrip(">"), ""))
    except DamagedText:
        raise Unsuited(f"its dimension_numbers {text!r:.60} cannot be read") from None


def _order(spec: Any, letters: str, rank: int) -> list[int]:
    """The positions of the axes of two letters, then of 0, 1, …   Raises: Unsuited"""
    wanted = [*letters, *range(rank - 2)]
    if not isinstance(spec, list) or rank < 2 or sorted(map(str, spec)) != sorted(map(str, wanted)):
        raise Unsuited(f"its dimension_numbers contain {spec!r:.40}, not an order of {wanted}")
    return [spec.index(name) for name in wanted]


def _check_convolution(found: Operation, x: Value, w: Value, params: Mapping[str, Any]) -> None:
    """Check channels and batches of a convolution.   Raises: Unsuited if they do not match"""
    of_x, of_w, of_y = params["dimension_numbers"]
    groups, batches = params["feature_group_count"], params["batch_group_count"]
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        raise Unsuited(
            f"its feature_group_count is {groups} and its batch_group_count {batches}; both must be positive, and one "
            "of "
            "them must be 1"
        )
    if None in w.aval.shape or x.aval.shape[of_x[1]] is None:
        raise Unsuited(f"an extent of its filters {w.aval} or the number of channels of {x.aval} is unknown (?)")
    outputs, inputs = (w.aval.shape[d] for d in of_w[:2])
    batch = x.aval.shape[of_x[0]]
    if inputs * groups != x.aval.shape[of_x[1]] or outputs % (groups * batches) or (batch or 0) % batches:
        raise Unsuited(f"{x.aval} and {w.aval} cannot be divided into {groups * batches} groups")
    for k in range(len(of_x) - 2):
        n, size, made = (v.aval.shape[o[2 + k]] for v, o in ((x, of_x), (w, of_w), (found.results[0], of_y)))
        (low, high), step = params["padding"][k], params["window_strides"][k]
        if n is not None and made is not None and isinstance(low, int) and isinstance(high, int):
            wide = (
                _span_length(n, params["lhs_dilation"][k]) + low + high - _span_length(size, params["rhs_dilation"][k])
            )
            if made != (wide // step + 1 if wide >= 0 else 0):
                raise Unsuited(
                    f"the result {found.results[0].aval} does not have the extents of a convolution of {x.aval} and "
                    f"{w.aval} with this padding, stride and dilation"
                )


def _span_length(count: int, step: int) -> int:
    return max(count - 1, 0) * step + min(count, 1)


_REDUCED: Final[Mapping[str, str]] = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}
_RUNNING: Final[Mapping[str, str]] = {
    "add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin", "logaddexp": "cumlogsumexp",
}  # fmt: skip


def window_params(found: Operation) -> dict[str, Any]:
    """The window parameters of the first operand.   Raises: Unsuited"""
    count = len(found.results)
    rank = operands(found, 2 * count, count)[0].aval.ndim
    return {
        "window_dimensions": sizes(found, "window_dimensions", count=rank),
        "window_strides": sizes(found, "window_strides", count=rank),
        "base_dilation": sizes(found, "base_dilations", count=rank),
        "window_dilation": sizes(found, "window_dilations", count=rank),
        "padding": pairs(found, "padding", count=rank),
    }


def reduce_window(found: Operation, functions: Mapping[str, Region]) -> tuple[str, Step] | None:
    """The operation that combines windows with their initial values, "" if the step includes it; None for other
    operations.

    functions: what its region may call   Raises: Unsuited
    """
    params = window_params(found)
    if len(found.results) != 1 or len(found.regions) != 1:
        return None
    names = merged(found.regions[0]) or ["logaddexp" if is_logaddexp(found.regions[0], functions) else ""]
    (x, start), name = found.operands, names[0]
    if name not in _RUNNING or x.aval.dtype == bool:
        return None
    if start.aval != aval_of((), x.aval.dtype):
        raise Unsuited(f"its initial value {start.aval} is not a scalar of the dtype of {x.aval}")
    if (running := _running(x, params)) is not None:
        axis, is_reversed = running
        return name, Step(_RUNNING[name], [x], {"axis": axis, "reverse": is_reversed})
    if name not in _REDUCED:
        return None
    scalars = [Value(start.aval) for _ in range(3)]
    inner = equation(Step(_REDUCED[name], scalars[:2]), scalars[2:], found)
    params["jaxpr"] = Program(scalars[:2], [inner], scalars[2:])
    return "", Step("reduce_window", [x, start], params)


def _running(x: Value, params: Mapping[str, Any]) -> tuple[int, bool] | None:
    """The axis and direction of cumulative sums: windows as long as the axis that end, or begin, at each element."""
    moved = [d for d in range(x.aval.ndim) if params["window_dimensions"][d] != 1 or params["padding"][d] != (0, 0)]
    plain = all(n == 1 for key in ("window_strides", "base_dilation", "window_dilation") for n in params[key])
    if len(moved) != 1 or not plain:
        return None
    axis = moved[0]
    size, widths = params["window_dimensions"][axis], params["padding"][axis]
    if size != x.aval.shape[axis] or widths not in ((size - 1, 0), (0, size - 1)):
        return None
    return axis, widths[0] == 0


def is_neutral(name: str, start: Value) -> bool:
    """Is a start value the neutral element of a reduction?"""
    if not isinstance(start, Literal) or start.val is None:
        return False
    value, kind = start.val, start.val.dtype
    if name in ("add", "or", "xor"):
        return bool(np.all(value == 0))
    if name in ("multiply", "and"):
        return bool(np.all(value == (-1 if name == "and" and kind.kind in "iu" else 1)))
    if kind.kind in "iu":
        bounds = np.iinfo(kind)
        return bool(np.all(value == (bounds.min if name == "maximum" else bounds.max)))
    if kind.kind == "b":
        return bool(np.all(value == (name == "minimum")))
    return bool(np.all(value == (np.inf if name == "minimum" else -np.inf)))

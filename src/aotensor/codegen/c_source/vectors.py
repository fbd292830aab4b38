"""C of vectors, which matrix products and small matrices use: an array and a loop over its lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from xdsl.dialects import vector
from xdsl.ir import Operation, SSAValue

from aotensor.codegen.c_source.scalars import lane
from aotensor.codegen.c_source.spelling import bits_of, c_type, element_of, lanes_of
from aotensor.codegen.c_source.writer import Expr, Extent, Handler, Lanes, Writer
from aotensor.errors import InternalError
from aotensor.ir.types import f32
from aotensor.ir.upstream import GatherOp

_SIGNS: Final = {"add": "+", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_CHOSEN: Final = {"minimumf": "minimum", "maximumf": "maximum", "minnumf": "minnum", "maxnumf": "maxnum"}
_ORDERS: Final = {"minsi": "<", "maxsi": ">", "minui": "<", "maxui": ">"}


def _new(w: Writer, result: SSAValue, text: str) -> None:
    """Declare a vector whose lane l has the value `text`."""
    lanes = lanes_of(result.type)
    name = w.name(result.name_hint or "v")
    w.put(f"{c_type(element_of(result.type))} {name}[{lanes}];", name)
    w.put(f"for (int l = 0; l < {lanes}; ++l) {{ {name}[l] = {text}; }}", name)
    assert lanes is not None
    w.values[result] = Lanes(name, lanes)


def _place(w: Writer, base: SSAValue, indices: object, index: str = "l") -> str:
    """The C expression of the element `index` elements after an element of a buffer."""
    buffer = w.buffer(base)
    offset: Extent = w.offset(buffer, [w.extent(i) for i in indices])  # type: ignore[attr-defined]
    return f"{buffer.pointer}[{w.add(w.known(offset, 'at'), Expr(index, is_atom=True))}]".replace("[(", "[").replace(
        ")]", "]"
    )


def _load(w: Writer, op: vector.LoadOp) -> None:
    _new(w, op.result, _from_memory(op.result, _place(w, op.base, op.indices)))


def _from_memory(result: SSAValue, text: str) -> str:
    return f"{text} != 0" if bits_of(element_of(result.type)) == 1 else text


def _store(w: Writer, op: vector.StoreOp) -> None:
    value = w.lanes(op.vector)
    w.put(f"for (int l = 0; l < {value.count}; ++l) {{ {_place(w, op.base, op.indices)} = {value.name}[l]; }}")


def _transfer_read(w: Writer, op: vector.TransferReadOp) -> None:
    _new(w, op.result, _from_memory(op.result, _place(w, op.source, op.indices)))


def _transfer_write(w: Writer, op: vector.TransferWriteOp) -> None:
    value = w.lanes(op.vector)
    w.put(f"for (int l = 0; l < {value.count}; ++l) {{ {_place(w, op.source, op.indices)} = {value.name}[l]; }}")


def _create_mask(w: Writer, op: vector.CreateMaskOp) -> None:
    (count,) = op.mask_dim_sizes
    _new(w, op.results[0], f"l < {w.atom(count)}")


def _masked_load(w: Writer, op: vector.MaskedLoadOp) -> None:
    mask, otherwise = lane(w, op.mask), lane(w, op.operands[-1])
    _new(w, op.result, f"{mask} ? {_place(w, op.base, op.indices)} : {otherwise}")


def _masked_store(w: Writer, op: vector.MaskedStoreOp) -> None:
    value, mask = w.lanes(op.value_to_store), lane(w, op.mask)
    place = _place(w, op.base, op.indices)
    w.put(f"for (int l = 0; l < {value.count}; ++l) {{ if ({mask}) {{ {place} = {value.name}[l]; }} }}")


def _gather(w: Writer, op: GatherOp) -> None:
    place = _place(w, op.base, op.indices, f"{lane(w, op.index_vec)}")
    _new(w, op.result, f"{lane(w, op.mask)} ? {place} : {lane(w, op.otherwise)}")


def _broadcast(w: Writer, op: vector.BroadcastOp) -> None:
    if isinstance(w.values[op.source], Lanes):
        w.values[op.vector] = w.values[op.source]
    else:
        _new(w, op.vector, f"{w.atom(op.source)}")


def _fma(w: Writer, op: vector.FMAOp) -> None:
    suffix = "f" if element_of(op.res.type) == f32 else ""
    _new(w, op.res, f"fma{suffix}({lane(w, op.lhs)}, {lane(w, op.rhs)}, {lane(w, op.acc)})")


def _extract(w: Writer, op: vector.ExtractOp) -> None:
    (position,) = w.extents(op.static_position.get_values(), op.dynamic_position)
    w.set(op, Expr(f"{w.lanes(op.vector).name}[{position}]", is_atom=True))


def _insert(w: Writer, op: vector.InsertOp) -> None:
    (position,) = w.extents(op.static_position.get_values(), op.dynamic_position)
    _new(w, op.result, f"{lane(w, op.dest)}")
    name = w.lanes(op.result).name
    w.put(f"{name}[{position}] = {w.expr(op.source).text};", name)


def _shuffle(w: Writer, op: vector.ShuffleOp) -> None:
    first, second = w.lanes(op.v1), w.lanes(op.v2)
    order = [int(k) for k in op.mask.get_values()]
    every = [f"{first.name}[{k}]" if k < first.count else f"{second.name}[{k - first.count}]" for k in order]
    name = w.name("v")
    w.put(f"const {c_type(element_of(op.result.type))} {name}[{len(order)}] = {{{', '.join(every)}}};", name)
    w.values[op.result] = Lanes(name, len(order))


def _bitcast(w: Writer, op: vector.BitcastOp) -> None:
    lanes, kind = lanes_of(op.result.type), c_type(element_of(op.result.type))
    name, source = w.name("v"), w.lanes(op.source)
    w.put(f"{kind} {name}[{lanes}];", name)
    w.put(f"memcpy({name}, {source.name}, sizeof {name});", name)
    assert lanes is not None
    w.values[op.result] = Lanes(name, lanes)


def _reduction(w: Writer, op: vector.ReductionOp) -> None:
    """Write a reduction: the lanes are combined in order, after the accumulator if there is one."""
    lanes, kind = w.lanes(op.vector), op.kind.data.value
    element = element_of(op.vector.type)
    first = None if op.acc is None else w.expr(op.acc)
    text = f"{lanes.name}[0]" if first is None else first.text
    total = w.name(op.dest.name_hint or "total")
    start = int(first is None)
    w.put(f"{c_type(element)} {total} = {text};", total)
    joined = _concatenate(w, kind, total, f"{lanes.name}[l]", element)
    w.put(f"for (int l = {start}; l < {lanes.count}; ++l) {{ {total} = {joined}; }}", total)
    w.values[op.dest] = Expr(total, is_atom=True)


def _concatenate(w: Writer, kind: str, x: str, y: str, element: object) -> str:
    name = c_type(element)  # type: ignore[arg-type]
    if kind in _CHOSEN:
        return f"{w.helper(f'aot_{_CHOSEN[kind]}_' + ('f32' if name == 'float' else 'f64'))}({x}, {y})"
    if kind in _ORDERS:
        cast = f"(u{name})" if kind.endswith("ui") else ""
        return f"{cast}{x} {_ORDERS[kind]} {cast}{y} ? {x} : {y}"
    if kind not in _SIGNS:
        raise InternalError(f"C source: no reduction by {kind}")
    if name in ("float", "double"):
        return f"{x} {_SIGNS[kind]} {y}"
    if name == "bool":
        return f"{x} {'&&' if kind in ('and', 'mul') else '||' if kind == 'or' else '!='} {y}"
    wide = "uint64_t" if name == "int64_t" else "uint32_t"
    return f"({name})(({wide}){x} {_SIGNS[kind]} ({wide}){y})"


HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    vector.LoadOp: _load,
    vector.StoreOp: _store,
    vector.TransferReadOp: _transfer_read,
    vector.TransferWriteOp: _transfer_write,
    vector.CreateMaskOp: _create_mask,
    vector.MaskedLoadOp: _masked_load,
    vector.MaskedStoreOp: _masked_store,
    GatherOp: _gather,
    vector.BroadcastOp: _broadcast,
    vector.FMAOp: _fma,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
    vector.ShuffleOp: _shuffle,
    vector.BitcastOp: _bitcast,
    vector.ReductionOp: _reduction,
}

"""C expressions of arith and math operations, for scalars and for each lane of vectors.

Integers wrap: sums and products are computed on unsigned integers, whose overflow is defined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from aotensor.codegen.c_source.spelling import bits_of, c_type, element_of, is_float, lanes_of, literal
from aotensor.codegen.c_source.writer import Buffer, Expr, Handler, Lanes, Writer
from aotensor.errors import InternalError
from aotensor.ir.types import f32
from aotensor.ir.upstream import ParallelOp, RemfOp

Formula: TypeAlias = "Callable[[Writer, Any, Sequence[Expr], Attribute], str]"
"""The text of an operation on scalars.   writer, operation, operands, their type"""

_FLOATS: Final[dict[type[Operation], str]] = {
    arith.AddfOp: "+", arith.SubfOp: "-", arith.MulfOp: "*", arith.DivfOp: "/",
}  # fmt: skip
_WRAPPING: Final[dict[type[Operation], str]] = {arith.AddiOp: "+", arith.SubiOp: "-", arith.MuliOp: "*"}
_BITS: Final[dict[type[Operation], tuple[str, str]]] = {
    arith.AndIOp: ("&", "&&"), arith.OrIOp: ("|", "||"), arith.XOrIOp: ("^", "!="),
}  # fmt: skip
_LIBRARY: Final[dict[type[Operation], str]] = {
    math.SqrtOp: "sqrt", math.FloorOp: "floor", math.CeilOp: "ceil", math.TruncOp: "trunc",
    math.RoundEvenOp: "rint", math.AbsFOp: "fabs", math.CopySignOp: "copysign", math.FmaOp: "fma", RemfOp: "fmod",
}  # fmt: skip
_HELPERS: Final[dict[type[Operation], str]] = {
    arith.MaximumfOp: "maximum", arith.MinimumfOp: "minimum", arith.MaxnumfOp: "maxnum", arith.MinnumfOp: "minnum",
    arith.FloorDivSIOp: "floor_div", arith.CeilDivSIOp: "ceil_div", arith.CeilDivUIOp: "ceil_div_unsigned",
    math.CtPopOp: "count_ones", math.CountLeadingZerosOp: "leading_zeros", math.CountTrailingZerosOp: "trailing_zeros",
}  # fmt: skip
_COMPARED: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_OPPOSITE: Final = {"lt": ">=", "le": ">", "gt": "<=", "ge": "<"}


def unsigned(kind: Attribute) -> str:
    """The unsigned C type of an integer, with at least 32 bits: narrower types would be promoted to int."""
    return f"uint{max(bits_of(kind), 32)}_t"


def _float(w: Writer, op: Operation, given: Sequence[Expr], kind: Attribute) -> str:
    return f"{given[0]} {_FLOATS[type(op)]} {given[1]}"


def _wrapping(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    x, y = given
    sign = _WRAPPING[type(op)]
    if bits_of(kind) == 1:
        return f"{x} && {y}" if sign == "*" else f"{x} != {y}"
    if isinstance(kind, IndexType) and not w.is_checking and all(is_bounded(x) for x in op.operands):
        return f"{x} {sign} {y}"
    return f"({c_type(kind)})({_wide(x, kind, y)} {sign} {_wide(y, kind, x)})"


def _wide(x: Expr, kind: Attribute, other: Expr | None = None) -> str:
    """An integer as an unsigned expression, without redundant casts. other: the other operand."""
    name, wide = c_type(kind), unsigned(kind)
    if x.text.startswith(f"({name})(({wide})") and f"u{name}" == wide:
        return x.text.removeprefix(f"({name})")
    number = x.text.removeprefix("INT64_C(").removesuffix(")")
    if number.isdigit() and other is not None and not re.search(r"^(INT64_C\()?-?\d", other.text):
        return f"{number}U" if number == x.text else f"UINT64_C({number})"
    return f"({wide}){x}"


_LARGE: Final = 1 << 31


def is_bounded(ssa: SSAValue, depth: int = 8) -> bool:
    """Is an index computed from extents, counters and constants only? These do not overflow, as extents are checked."""
    owner = ssa.owner
    if isinstance(ssa, BlockArgument):
        return ssa.index == 0 and isinstance(ssa.block.parent_op(), scf.ForOp | ParallelOp)
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return abs(owner.value.value.data) < _LARGE
    if isinstance(owner, memref.DimOp):
        return True
    if isinstance(owner, arith.SelectOp):
        return depth > 0 and all(is_bounded(x, depth - 1) for x in (owner.lhs, owner.rhs))
    known = (
        arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp, arith.DivSIOp, arith.DivUIOp,
        arith.FloorDivSIOp, arith.CeilDivSIOp, arith.RemSIOp, arith.SelectOp,
    )  # fmt: skip
    return depth > 0 and isinstance(owner, known) and all(is_bounded(x, depth - 1) for x in owner.operands)


def _shift_left(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    return f"({c_type(kind)})({_wide(given[0], kind)} << {_count(given[1], kind)})"


def _count(given: Expr, kind: Attribute) -> str:
    """The C expression of a shift count, modulo the width: the result of a larger shift is not used."""
    return given.text if given.text.isdigit() else f"({given} & {bits_of(kind) - 1})"


def _shift_right(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    name = c_type(kind)
    sign = "" if isinstance(op, arith.ShRSIOp) else f"(u{name})"
    return f"({name})({sign}{given[0]} >> {_count(given[1], kind)})"


def _divided(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    sign = "/" if isinstance(op, arith.DivSIOp | arith.DivUIOp) else "%"
    name = c_type(kind)
    if isinstance(op, arith.DivUIOp | arith.RemUIOp):
        return f"({name})((u{name}){given[0]} {sign} (u{name}){given[1]})"
    return f"{given[0]} {sign} {given[1]}" if bits_of(kind) >= 32 else f"({name})({given[0]} {sign} {given[1]})"


def _bitwise(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    plain, boolean = _BITS[type(op)]
    x, y = given
    if bits_of(kind) == 1:
        if boolean == "!=" and "true" in (x.text, y.text):
            return f"!{y if x.text == 'true' else x}"
        return f"{x} {boolean} {y}"
    return f"{x} {plain} {y}" if bits_of(kind) >= 32 else f"({c_type(kind)})({x} {plain} {y})"


def _negated(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    return f"-({given[0]})" if given[0].text.startswith("-") and given[0].is_atom else f"-{given[0]}"


def _library(w: Writer, op: Operation, given: Sequence[Expr], kind: Attribute) -> str:
    suffix = "f" if kind == f32 else ""
    return f"{_LIBRARY[type(op)]}{suffix}({', '.join(x.text for x in given)})"


def _helper(w: Writer, op: Operation, given: Sequence[Expr], kind: Attribute) -> str:
    name = w.helper(f"aot_{_HELPERS[type(op)]}_{_short(kind)}")
    return f"{name}({', '.join(x.text for x in given)})"


def _short(kind: Attribute) -> str:
    return "f32" if kind == f32 else "f64" if is_float(kind) else f"i{bits_of(kind)}"


def _chosen(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    sign = ">" if isinstance(op, arith.MaxSIOp | arith.MaxUIOp) else "<"
    x, y = given
    if x.text == y.text:
        return x.text
    if isinstance(op, arith.MaxUIOp | arith.MinUIOp):
        name = "uint8_t" if bits_of(kind) == 1 else f"u{c_type(kind)}"
        return f"({name}){x} {sign} ({name}){y} ? {x} : {y}"
    return f"{x} {sign} {y} ? {x} : {y}"


def _absolute(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    (x,) = given
    wide = unsigned(kind)
    return f"{x} < 0 ? ({c_type(kind)})(0U - ({wide}){x}) : {x}"


def _extended(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    old, new = bits_of(kind), c_type(element_of(op.result.type))
    if isinstance(op, arith.ExtUIOp):
        return f"({new}){given[0]}" if old == 1 else f"({new})(u{c_type(kind)}){given[0]}"
    return f"({new})-({new}){given[0]}" if old == 1 else f"({new}){given[0]}"


def _truncated(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    new = element_of(op.result.type)
    return f"({given[0]} & 1) != 0" if bits_of(new) == 1 else f"({c_type(new)}){given[0]}"


def _index_cast(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    new = element_of(op.result.type)
    if bits_of(new) == bits_of(kind):
        return given[0].text
    return _truncated(w, op, given, kind) if bits_of(new) < bits_of(kind) else _extended(w, op, given, kind)


def _of_integer(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    new = c_type(element_of(op.results[0].type))
    if bits_of(kind) == 1:
        return f"({new}){given[0]}" if isinstance(op, arith.UIToFPOp) else f"-({new}){given[0]}"
    return f"({new})(u{c_type(kind)}){given[0]}" if isinstance(op, arith.UIToFPOp) else f"({new}){given[0]}"


def _to_integer(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    new = element_of(op.results[0].type)
    sign = "unsigned" if isinstance(op, arith.FPToUIOp) else "signed"
    return f"({c_type(new)}){w.helper(f'aot_to_{sign}_{max(bits_of(new), 32)}')}((double){given[0]})"


def _to_float(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    return f"({c_type(element_of(op.result.type))}){given[0]}"


def _bits(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    new = element_of(op.result.type)
    if bits_of(new) == bits_of(kind) and is_float(new) == is_float(kind):
        return given[0].text
    return f"{w.helper(f'aot_bits_{_short(kind)}_{_short(new)}')}({given[0].text})"


def _compared(w: Writer, op: arith.CmpiOp, given: Sequence[Expr], kind: Attribute) -> str:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    x, y = given
    sign = _COMPARED[predicate[-2:]]
    if x.text == y.text:
        return "true" if "=" in sign and sign != "!=" else "false"
    if predicate.startswith("u"):
        if "0" in (x.text, y.text) and (known := _constant_against_zero(sign, y.text == "0")):
            return known
        name = "uint8_t" if bits_of(kind) == 1 else f"u{c_type(kind)}"
        return f"({name}){x} {sign} ({name}){y}"
    if bits_of(kind) == 1 and predicate.startswith("s"):
        return f"-(int){x} {sign} -(int){y}"
    return f"{x} {sign} {y}"


def _constant_against_zero(sign: str, is_right: bool) -> str:
    """The constant result of an unsigned comparison with 0, which compilers warn of; empty for other comparisons."""
    never, always = ("<", ">=") if is_right else (">", "<=")
    return {never: "false", always: "true"}.get(sign, "")


def _compared_floats(w: Writer, op: arith.CmpfOp, given: Sequence[Expr], kind: Attribute) -> str:
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    x, y = given
    match predicate:
        case "true" | "false":
            return predicate
        case "ord":
            return f"{x} == {x} && {y} == {y}" if x.text != y.text else f"{x} == {x}"
        case "uno":
            return f"{x} != {x} || {y} != {y}" if x.text != y.text else f"{x} != {x}"
        case "one":
            return f"{x} < {y} || {x} > {y}"
        case "ueq":
            return f"!({x} < {y} || {x} > {y})"
        case "une" | "oeq":
            return f"{x} {_COMPARED[predicate[1:]]} {y}"
    if predicate.startswith("o"):
        return f"{x} {_COMPARED[predicate[1:]]} {y}"
    return f"!({x} {_OPPOSITE[predicate[1:]]} {y})"


def _selected(w: Writer, op: Any, given: Sequence[Expr], kind: Attribute) -> str:
    return f"{given[0]} ? {given[1]} : {given[2]}"


FORMULAS: Final[Mapping[type[Operation], Formula]] = {
    **dict.fromkeys(_FLOATS, _float),
    **dict.fromkeys(_WRAPPING, _wrapping),
    **dict.fromkeys(_BITS, _bitwise),
    **dict.fromkeys(_LIBRARY, _library),
    **dict.fromkeys(_HELPERS, _helper),
    **dict.fromkeys((arith.ShRSIOp, arith.ShRUIOp), _shift_right),
    **dict.fromkeys((arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp), _divided),
    **dict.fromkeys((arith.MaxSIOp, arith.MaxUIOp, arith.MinSIOp, arith.MinUIOp), _chosen),
    **dict.fromkeys((arith.ExtSIOp, arith.ExtUIOp), _extended),
    **dict.fromkeys((arith.SIToFPOp, arith.UIToFPOp), _of_integer),
    **dict.fromkeys((arith.FPToSIOp, arith.FPToUIOp), _to_integer),
    **dict.fromkeys((arith.ExtFOp, arith.TruncFOp), _to_float),
    arith.ShLIOp: _shift_left,
    arith.NegfOp: _negated,
    math.AbsIOp: _absolute,
    arith.TruncIOp: _truncated,
    arith.IndexCastOp: _index_cast,
    arith.BitcastOp: _bits,
    arith.CmpiOp: _compared,
    arith.CmpfOp: _compared_floats,
    arith.SelectOp: _selected,
}
_REPEATING: Final = (
    arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp, math.AbsIOp, arith.CmpfOp,
)  # fmt: skip
"""Operations whose text has an operand twice."""


def _any(w: Writer, op: Operation) -> None:
    """Write an operation with a formula in `FORMULAS`, on scalars or lane by lane."""
    lanes = lanes_of(op.results[0].type)
    kind = element_of(op.operands[-1].type)
    formula = FORMULAS[type(op)]
    if lanes is None:
        given = [(w.atom if isinstance(op, _REPEATING) else w.expr)(x) for x in op.operands]
        text = formula(w, op, given, kind)
        w.set(op, Expr(text, text == given[0].text and given[0].is_atom, any(x.reads for x in given)))
        return
    name = w.name("v")
    w.put(f"{c_type(element_of(op.results[0].type))} {name}[{lanes}];", name)
    each = formula(w, op, [lane(w, x) for x in op.operands], kind)
    w.put(f"for (int l = 0; l < {lanes}; ++l) {{ {name}[l] = {each}; }}", name)
    w.values[op.results[0]] = Lanes(name, lanes)


def lane(w: Writer, ssa: SSAValue, index: str = "l") -> Expr:
    """Lane `index` of a vector; a scalar is returned unchanged."""
    value = w.values[ssa]
    if isinstance(value, Lanes):
        return Expr(f"{value.name}[{index}]", is_atom=True)
    return w.atom(ssa)


def _select(w: Writer, op: arith.SelectOp) -> None:
    if not isinstance(op.result.type, MemRefType):
        _any(w, op)
        return
    condition = w.atom(op.cond)
    pairs = zip(w.flatten([op.lhs]), w.flatten([op.rhs]), w.flat_types(op.result), strict=True)
    names = []
    for x, y, kind in pairs:
        name = x.text if x.text == y.text else w.name("chosen")
        if name != x.text:
            w.put(f"{kind}{name} = {condition} ? {x} : {y};", name)
        names.append(name)
    w.bind(op.result, names)


def _constant(w: Writer, op: arith.ConstantOp) -> None:
    kind = element_of(op.result.type)
    match op.value:
        case DenseIntOrFPElementsAttr():
            lanes = lanes_of(op.result.type)
            assert lanes is not None
            values = list(op.value.get_values())
            values = values * lanes if len(values) == 1 else values
            name = w.name("v")
            w.put(f"const {c_type(kind)} {name}[{lanes}] = {{{', '.join(literal(kind, x) for x in values)}}};", name)
            w.values[op.result] = Lanes(name, lanes)
        case IntegerAttr() | FloatAttr():
            text = literal(kind, op.value.value.data)
            w.values[op.result] = Expr(text, is_atom=True)
        case _:
            raise InternalError(f"C source: a constant of type {op.result.type} cannot occur in loop IR")


def _both_halves(w: Writer, op: arith.MulUIExtendedOp | arith.MulSIExtendedOp) -> None:
    """Write both halves of the product of two n-bit integers."""
    kind = element_of(op.lhs.type)
    name, wide = c_type(kind), unsigned(kind)
    sign = "unsigned" if isinstance(op, arith.MulUIExtendedOp) else "signed"
    helper = w.helper(f"aot_high_{sign}_{bits_of(kind)}")
    formulas = [f"({name})(({wide}){{0}} * ({wide}){{1}})", f"{helper}({{0}}, {{1}})"]
    _each(w, op, formulas)


def _sum_and_carry(w: Writer, op: arith.AddUIExtendedOp) -> None:
    """Write x + y modulo 2ⁿ, and the carry."""
    kind = element_of(op.lhs.type)
    name, wide = c_type(kind), unsigned(kind)
    total = f"({name})(({wide}){{0}} + ({wide}){{1}})"
    _each(w, op, [total, f"(u{name}){total} < (u{name}){{0}}"])


def _each(w: Writer, op: Operation, formulas: Sequence[str]) -> None:
    lanes = lanes_of(op.results[0].type)
    given = [lane(w, x) for x in op.operands]
    for result, formula in zip(op.results, formulas, strict=True):
        text = formula.format(*given)
        if lanes is None:
            w.set(op, Expr(text, reads=any(x.reads for x in given)), result)
            continue
        name = w.name("v")
        w.put(f"{c_type(element_of(result.type))} {name}[{lanes}];", name)
        w.put(f"for (int l = 0; l < {lanes}; ++l) {{ {name}[l] = {text}; }}", name)
        w.values[result] = Lanes(name, lanes)


HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    **dict.fromkeys(FORMULAS, _any),
    arith.SelectOp: _select,
    arith.ConstantOp: _constant,
    arith.MulUIExtendedOp: _both_halves,
    arith.MulSIExtendedOp: _both_halves,
    arith.AddUIExtendedOp: _sum_and_carry,
}

__all__ = ["FORMULAS", "HANDLERS", "Buffer", "lane"]

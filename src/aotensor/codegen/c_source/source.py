"""C of the functions of a loop-level module: those that kernels call, callees first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from xdsl.dialects import func, memref
from xdsl.dialects import vector as vector_dialect
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, LocationAttr, MemRefType, ModuleOp
from xdsl.ir import Operation

from aotensor.codegen.c_source import control, memory, scalars, vectors
from aotensor.codegen.c_source.flow import written_buffers
from aotensor.codegen.c_source.lapack import external_text
from aotensor.codegen.c_source.lines import Line, kept_lines, printed, words_in, words_of
from aotensor.codegen.c_source.spelling import c_type, identifier, literal, memory_type
from aotensor.codegen.c_source.writer import Handler, Unit, Writer
from aotensor.codegen.emit_state import dynamic_axes
from aotensor.errors import InternalError
from aotensor.ir.upstream import ReallocOp, walk

HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    **scalars.HANDLERS, **memory.HANDLERS, **control.HANDLERS, **vectors.HANDLERS,
}  # fmt: skip
_IMPURE: Final = (
    memref.StoreOp, memref.CopyOp, memref.AllocOp, memref.DeallocOp, ReallocOp, vector_dialect.StoreOp,
    vector_dialect.MaskedStoreOp, vector_dialect.TransferWriteOp, *control.HANDLERS,
)  # fmt: skip
PURE: Final = frozenset(HANDLERS) - frozenset(_IMPURE)


@dataclass(frozen=True)
class CText:
    """The C text of all functions, the helpers that they call, and the C types of parameters by symbol."""

    text: str
    helpers: frozenset[str]
    parameters: Mapping[str, Sequence[str]]
    symbols: Mapping[str, str]
    globals: str


def write_functions(
    modules: Iterable[ModuleOp],
    roots: Sequence[str],
    taken: Iterable[str],
    line: Callable[[LocationAttr], tuple[str, str]],
) -> CText:
    """Write C of `roots`, the functions that they call, and the constants that these read.

    modules: kernels, then the functions that they share. taken: names that the rest of the file uses. line: as in
    `Unit`.

    Raises: UnsupportedError for a type that C99 does not have; InternalError for an operation that loop IR does not
    have.
    """
    functions: dict[str, func.FuncOp] = {}
    constants: dict[str, memref.GlobalOp] = {}
    for module in modules:
        for op in module.ops:
            if isinstance(op, func.FuncOp) and (op.body.blocks or op.sym_name.data not in functions):
                functions[op.sym_name.data] = op
            elif isinstance(op, memref.GlobalOp):
                constants[op.sym_name.data] = op
    order = _reached(functions, roots)
    reached = {name: functions[name] for name in order}
    symbols = _names(order, set(taken))
    read = {
        op.name_.root_reference.data for f in reached.values() for op in walk(f) if isinstance(op, memref.GetGlobalOp)
    }
    arrays = _names([name for name in constants if name in read], {*taken, *symbols.values()})
    unit = Unit(symbols, written_buffers(reached), line, globals=arrays)
    texts: dict[str, str] = {}
    parameters: dict[str, Sequence[str]] = {}
    for name in order:
        if reached[name].body.blocks:
            texts[name], parameters[name] = _function(unit, reached[name])
        elif body := external_text(name, symbols[name]):
            texts[name] = body
        else:
            raise InternalError(f"C source: {name} has no body")
    kept = _called(texts, symbols, roots)
    words = words_in(kept)
    tables = [_array(own, constants[name]) for name, own in arrays.items() if own in words]
    return CText("\n".join(kept), frozenset(unit.helpers & words), parameters, symbols, "".join(tables))


def _called(texts: Mapping[str, str], symbols: Mapping[str, str], roots: Sequence[str]) -> list[str]:
    """The texts of functions that are still called, in order: a removed line may have contained the only call."""
    kept: list[str] = []
    words: set[str] = set()
    for name in reversed(list(texts)):
        if name in roots or symbols[name] in words:
            kept.append(texts[name])
            words |= words_in([texts[name]])
    return kept[::-1]


def _reached(functions: Mapping[str, func.FuncOp], roots: Sequence[str]) -> list[str]:
    """The functions that `roots` call, directly or indirectly, callees before callers."""
    order: dict[str, None] = {}

    def visit(name: str, callers: tuple[str, ...]) -> None:
        if name in order:
            return
        if name in callers:
            raise InternalError(f"C source: {name} calls itself")
        if name not in functions:
            raise InternalError(f"C source: the module has no function {name}")
        if functions[name].body.blocks:
            for op in walk(functions[name]):
                if isinstance(op, func.CallOp):
                    visit(op.callee.root_reference.data, (*callers, name))
        order[name] = None

    for root in roots:
        visit(root, ())
    return list(order)


def _names(symbols: Iterable[str], taken: set[str]) -> dict[str, str]:
    found = {}
    for symbol in symbols:
        clean = name = identifier(symbol)
        k = 1
        while name in taken:
            k += 1
            name = f"{clean}_{k}"
        taken.add(name)
        found[symbol] = name
    return found


def _function(unit: Unit, op: func.FuncOp) -> tuple[str, list[str]]:
    """The C definition of a function, and the C types of its parameters."""
    w = Writer(unit, op, HANDLERS, PURE)
    hints = _extent_hints(op)
    declared, names = [], []
    kinds: list[str] = []
    for argument in op.body.block.args:
        own = w.flat_types(argument)
        first = w.name(w.hint(argument) if argument.name_hint else "x")
        rest = [w.name(hint or f"{first}_size") for hint in hints.get(argument.index, [])]
        rest += [w.name(f"{first}_stride") for _ in range(len(own) - 1 - len(rest))]
        declared += [f"{kind}{name}" for kind, name in zip(own, [first, *rest], strict=True)]
        names += [first, *rest]
        kinds += [kind.strip() for kind in own]
        w.bind(argument, [first, *rest])
    w.run(op.body.block.ops)
    body = kept_lines([*w.top, *w.lines])
    used = words_of(body)
    unused = [Line(f"(void){name};", 1) for name in names if name not in used]
    results = list(op.function_type.outputs)
    returned = c_type(results[0]) if results else "void"
    head = Line(f"static {returned} {unit.symbols[op.sym_name.data]}({', '.join(declared) or 'void'})", 0)
    start = Line("{", 0)
    declarations = [line for line in body if line in w.top]
    rest_lines = [line for line in body if line not in w.top]
    return printed([head, start, *declarations, *unused, *rest_lines, Line("}", 0)]), kinds


def _extent_hints(op: func.FuncOp) -> dict[int, list[str]]:
    """Argument number → names for its dynamic extents, from the first `memref.dim` that reads each extent."""
    found: dict[int, list[str]] = {}
    for argument in op.body.block.args:
        if not isinstance(argument.type, MemRefType):
            continue
        by_axis: dict[int, str] = {}
        for use in argument.uses:
            dim = use.operation
            if isinstance(dim, memref.DimOp) and dim.result.name_hint is not None:
                axis: Any = getattr(dim.index.owner, "value", None)
                if axis is not None:
                    by_axis.setdefault(int(axis.value.data), dim.result.name_hint)
        found[argument.index] = [by_axis.get(axis, "") for axis in dynamic_axes(argument.type)]
    return found


def _array(name: str, op: memref.GlobalOp) -> str:
    kind, elements = op.type, op.initial_value
    if not isinstance(elements, DenseIntOrFPElementsAttr) or not isinstance(kind, MemRefType):
        raise InternalError(f"C source: global {name} needs its elements")
    count = 1
    for n in kind.get_shape():
        count *= n
    values = list(elements.get_values())
    values = values * count if len(values) == 1 else values
    texts = [
        str(int(bool(x))) if memory_type(kind.element_type) == "uint8_t" else literal(kind.element_type, x)
        for x in values
    ]
    const = "const " if op.constant is not None else ""
    rows = [", ".join(texts[k : k + 8]) for k in range(0, len(texts), 8)] or ["0"]
    inside = ",\n  ".join(rows)
    return f"static {const}{memory_type(kind.element_type)} {name}[{max(count, 1)}] = {{\n  {inside}\n}};\n"

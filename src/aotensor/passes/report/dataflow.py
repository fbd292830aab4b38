"""The dataflow of a tensor or nest module as plain data: nodes with typed results, their operands, and groups.

    %5 = linalg.generic ... ins(%X, %w)          node "mulf, addf"      ← X, w
    nest.for %i.n in %n {                        group "for n"
      nest.do %28[] += %X[%i, %j] * %w[%j]       node in "for n"        ← X, w, the last statement that wrote %28
    }

In nests a tensor is memory that statements write: a reader's operand is the last statement before it, in program order,
that writes the tensor, or else the declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FileLineColLoc,
    FloatAttr,
    IndexType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Operation, SSAValue

from aotensor.ir.location import DERIVATIVE, Locations
from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.names import loop_names
from aotensor.ir.nest.ops import DoOp, ValueOp
from aotensor.ir.upstream import walk
from aotensor.passes.remark_texts import Expressions
from aotensor.passes.report.formula import Formulas

SIZES: Final = "sizes"
"""The group of arithmetic on extents."""
UNKNOWN: Final = "?"
"""An extent that nothing names."""
_LONGEST: Final = 240
"""Characters of an attribute; the rest is cut."""
_LONGEST_SIZE: Final = 30
"""Characters of an extent; a longer one is `UNKNOWN`."""
_LEFT_OUT: Final = ("operandSegmentSizes", "positions", "subscripts")


@dataclass(frozen=True)
class Value:
    """A result of a node.   dtype: as the level writes it; shape: extents as text, () for a scalar"""

    name: str
    dtype: str
    shape: tuple[str, ...] = ()


@dataclass
class FlowNode:
    """An input, a constant, an operation or an output.

    kind: "input", "constant", "op" or "output". group: names of the groups around it, the outermost first. operands:
    node and number of its result. op, position: name, and index among the operations of that name in the module. value:
    its result as source text. graphs: names of graphs of its bodies. is_derivative: made by a derivative rule. works:
    it computes elements, so that it is a part of the time of its line
    """

    id: str
    kind: str
    label: str
    group: tuple[str, ...] = ()
    operands: list[tuple[str, int]] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    file: str = ""
    line: int = 0
    op: str = ""
    position: int = 0
    value: str = ""
    graphs: list[str] = field(default_factory=list)
    is_derivative: bool = False
    works: bool = False


@dataclass
class Flow:
    """The graph of a function at one level.   name: `f`, or of a body `f body of 3`. groups: those of loops → name"""

    name: str
    stage: str
    nodes: list[FlowNode] = field(default_factory=list)
    groups: dict[tuple[str, ...], str] = field(default_factory=dict)


def module_flows(module: ModuleOp, stage: str, sites: Locations, names: Mapping[str, Mapping[Any, str]]) -> list[Flow]:
    """The dataflow of each function of a module.   names: function → its arguments"""
    writer, positions, counts = Expressions(sites), dict[Operation, int](), dict[str, int]()
    for op in walk(module):
        positions[op] = counts.get(op.name, 0)
        counts[op.name] = positions[op] + 1
    return [
        _Reader(writer, positions, names[op.sym_name.data]).function(op, stage)
        for op in module.body.block.ops
        if isinstance(op, func.FuncOp) and not op.is_declaration and op.sym_name.data in names
    ]


class _Reader:
    def __init__(self, writer: Expressions, positions: Mapping[Operation, int], names: Mapping[Any, str]) -> None:
        self.writer, self.positions, self.names = writer, positions, names
        self.nodes: list[FlowNode] = []
        self.groups: dict[tuple[str, ...], str] = {}
        self.made: dict[SSAValue, tuple[str, int]] = {}
        """Tensor or scalar → the node that gives it, the last one that has written it."""
        self.shapes: dict[SSAValue, tuple[str, ...]] = {}
        self.loops: dict[LoopOp, str] = {}
        self.formulas = Formulas(lambda x: x.name_hint or "\u2026")

    def function(self, op: func.FuncOp, stage: str) -> Flow:
        """The graph of a function."""
        self.loops = loop_names(op)
        dims = [_texts(row) for row in _items(op.attributes.get("dims"))]
        for number, x in enumerate(op.body.block.args):
            node = self._node(x.name_hint or f"input {number}", "input", ())
            if isinstance(x.type, TensorType):
                self.shapes[x] = _shape(x.type, dims[number] if number < len(dims) else [])
            self._record_results(node, [x])
            self._locate(node, x.location)
        self._block(op.body.block.ops, ())
        results = [*_texts(op.attributes.get("results"))]
        last = op.body.block.last_op
        for number, y in enumerate(last.operands if last is not None else ()):
            node = self._node(results[number] if number < len(results) else f"output {number}", "output", ())
            node.results = [self._value(y)]
            node.operands = [self.made[y]] if y in self.made else []
        return Flow(op.sym_name.data, stage, self.nodes, self.groups)

    def _node(self, label: str, kind: str, group: tuple[str, ...]) -> FlowNode:
        node = FlowNode(str(len(self.nodes)), kind, label, group)
        self.nodes.append(node)
        return node

    def _record_results(self, node: FlowNode, values: Iterable[SSAValue]) -> None:
        """Values are results of a node."""
        for x in values:
            self.made[x] = (node.id, len(node.results))
            node.results.append(self._value(x))

    def _value(self, x: SSAValue) -> Value:
        if isinstance(x.type, TensorType):
            return Value(x.name_hint or "", str(x.type.element_type), self.shapes.get(x) or _shape(x.type, []))
        return Value(x.name_hint or "", str(x.type))

    def _locate(self, node: FlowNode, location: Attribute) -> None:
        if isinstance(location, FileLineColLoc):
            node.file, node.line = location.filename.data, location.line.data
            node.is_derivative = location.column.data == DERIVATIVE

    def _block(self, ops: Iterable[Operation], group: tuple[str, ...]) -> None:
        for op in ops:
            if isinstance(op, LoopOp):
                inner = (*group, f"for {self.loops[op]}")
                self.groups[inner] = self.loops[op]
                self._block(op.body.block.ops, inner)
            elif not isinstance(op, func.ReturnOp):
                self._operation(op, group)

    def _operation(self, op: Operation, group: tuple[str, ...]) -> None:
        is_size = bool(op.results) and all(isinstance(x.type, IndexType) for x in op.results)
        is_constant = isinstance(op, arith.ConstantOp)
        node = self._node(_label(op), "constant" if is_constant else "op", (*group, SIZES) if is_size else group)
        node.op, node.position, node.value = op.name, self.positions[op], self.writer.at(op.location, self.names)
        node.operands = list(dict.fromkeys(self.made[x] for x in op.operands if x in self.made))
        node.attributes = {
            key: _clip(str(x)) for key, x in {**op.properties, **op.attributes}.items() if key not in _LEFT_OUT
        }
        self._locate(node, op.location)
        for x in op.results:
            if isinstance(x.type, TensorType):
                self.shapes[x] = self._shape_of(op, x.type)
        self._record_results(node, op.results)
        node.works = not is_constant and not is_size and not isinstance(op, ValueOp | tensor.EmptyOp | tensor.SplatOp)
        if isinstance(op, DoOp):
            self._record_results(node, op.outputs)
        elif isinstance(op, linalg.GenericOp):
            node.attributes["body"] = ", ".join(x.name for x in op.body.block.ops)
        else:
            self._regions(op, node, group)

    def _regions(self, op: Operation, node: FlowNode, group: tuple[str, ...]) -> None:
        """The bodies of an operation are a group of its name; their arguments come from it."""
        inner = (*group, f"{op.name} {node.position}")
        for region in op.regions:
            for block in region.blocks:
                for x in block.args:
                    if not isinstance(x.type, IndexType):
                        self.made[x] = (node.id, 0)
                self._block(block.ops, inner)

    def _shape_of(self, op: Operation, kind: TensorType[Attribute]) -> tuple[str, ...]:
        """The extents of a result: those of operands that give sizes, or of the last operand of the same type."""
        unknown = kind.get_shape().count(DYNAMIC_INDEX)
        sizes = [x for x in op.operands if isinstance(x.type, IndexType)]
        if unknown and len(sizes) >= unknown:
            return _shape(kind, [self._size_name(x) for x in sizes[:unknown]], is_dynamic_only=True)
        alike = [x for x in op.operands if x.type == kind and x in self.shapes]
        return self.shapes[alike[-1]] if alike else _shape(kind, [])

    def _size_name(self, x: SSAValue) -> str:
        """The text of an extent in terms of dims: `n`, `n - 1`; "" if it is long."""
        text = self.formulas.value(x)
        return text if len(text) <= _LONGEST_SIZE and "\u2026" not in text else ""


def _number(op: arith.ConstantOp) -> str:
    """The text of a constant: `0.5`, `-inf`, `7`."""
    if isinstance(op.value, FloatAttr):
        return f"{op.value.value.data:g}"
    return str(op.value).partition(" ")[0]


def _label(op: Operation) -> str:
    if isinstance(op, arith.ConstantOp):
        return _clip(f"constant {_number(op)}", 40)
    if isinstance(op, linalg.GenericOp):
        inner = [x.name.partition(".")[2] for x in op.body.block.ops if not x.name.endswith("yield")]
        return _clip(", ".join(inner) or "copy", 60)
    return op.name


def _shape(kind: TensorType[Attribute], names: list[str], is_dynamic_only: bool = False) -> tuple[str, ...]:
    """Extents as text.   names: of all axes, or of the dynamic ones"""
    found, left = [], list(names)
    for axis, n in enumerate(kind.get_shape()):
        if n != DYNAMIC_INDEX:
            found.append(str(n))
        elif is_dynamic_only:
            found.append(left.pop(0) or UNKNOWN)
        else:
            found.append((names[axis] if axis < len(names) else "") or UNKNOWN)
    return tuple(found)


def _items(x: Attribute | None) -> list[Attribute]:
    return list(x.data) if isinstance(x, ArrayAttr) else []


def _texts(x: Attribute | None) -> list[str]:
    return [one.data if isinstance(one, StringAttr) else "" for one in _items(x)]


def _clip(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"

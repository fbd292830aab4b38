"""Graph → tensor IR: one SSA function over tensors, equal computations shared.

    func.func @logistic(%X: tensor<?x?xf64>, %y: tensor<?xf64>, …) -> (f64, tensor<?xf64>)
    func.func @logistic.extents(%X: …) -> (index, …)      run-time extents of all outputs

A tensor of rank 0 is a plain scalar. Shape checks stand in `.extents`, which runs first; checks that depend on computed
values stay in the function itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotensor.core.types import Dim, TensorType
from aotensor.errors import AotensorError, MissingInputError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import leaves, toposort
from aotensor.ir.dialect import CheckOp
from aotensor.ir.extents import depends_on_arguments_only, extents_function, follow_from_arguments
from aotensor.ir.scalar_builder import declare_special_functions
from aotensor.ir.tensor_builder import TensorBuilder
from aotensor.ir.types import element_type, tensor_type
from aotensor.ir.verbs import Extent, Tensor


@dataclass(frozen=True)
class Program:
    """One function to compile: named inputs and outputs of a graph."""

    name: str
    inputs: tuple[tuple[str, Variable], ...]
    outputs: tuple[tuple[str, Variable], ...]


@dataclass(frozen=True)
class BuiltFunction:
    """What the importer knows beside the IR: messages of the checks by number, and where output extents come from."""

    program: Program
    checks: tuple[tuple[str, str], ...]
    output_extents: tuple[tuple[int | str | None, ...], ...]


def build(programs: Sequence[Program], fp: str = "contract") -> tuple[ModuleOp, list[BuiltFunction]]:
    """Tensor IR of several functions in one module.

    fp: strict, contract or fast; see `ir.tensor_builder.FP_POLICIES`.

    Raises: MissingInputError for a leaf that is no input, GraphError from typing rules.
    """
    module = ModuleOp([])
    built = [_Importer(module, program, fp).run() for program in programs]
    declare_special_functions(module)
    return module, built


class _Importer:
    def __init__(self, module: ModuleOp, program: Program, fp: str) -> None:
        self.program = program
        self.module = module
        types = [x.tensor_type for _, x in program.inputs]
        self.block = Block(arg_types=[_ssa_type(t) for t in types])
        self.builder = TensorBuilder(Builder(InsertPoint.at_end(self.block)), fp)
        self.dims: dict[str, Extent] = {}
        self.values: dict[Variable, Tensor] = {}
        self.numbered: dict[object, tuple[Tensor, ...]] = {}

    def run(self) -> BuiltFunction:
        self._import_inputs()
        self._import_nodes()
        outputs = [self.values[x] for _, x in self.program.outputs]
        self._finish(outputs)
        return BuiltFunction(self.program, tuple(self.builder.checks), self._symbolic_extents(outputs))

    def _import_inputs(self) -> None:
        for argument, (name, x) in zip(self.block.args, self.program.inputs, strict=True):
            argument.name_hint = name if name.isidentifier() else None
            extents: list[Extent] = []
            for axis, dim in enumerate(x.tensor_type.shape):
                if isinstance(dim, int):
                    extents.append(dim)
                elif dim is None:
                    extents.append(self.builder.scalars.dim(argument, axis))
                else:
                    if dim not in self.dims:
                        extent = self.builder.scalars.dim(argument, axis)
                        extent.ssa.name_hint = dim
                        self.dims[dim] = extent
                    extents.append(self.dims[dim])
            self.values[x] = Tensor(argument, x.dtype, tuple(extents))

    def _import_nodes(self) -> None:
        targets = [x for _, x in self.program.outputs]
        inputs = [x for _, x in self.program.inputs]
        for x in leaves(targets, stop=inputs):
            if isinstance(x, Constant) and x not in self.values:
                self.values[x] = self._constant(x)
            elif x not in self.values:
                raise MissingInputError(f"{self.program.name}: {x} is needed but is no input", lines=[x.describe()])
        for node in toposort(targets, stop=inputs):
            self.values.update(zip(node.outputs, self._apply(node), strict=True))

    def _constant(self, x: Constant) -> Tensor:
        key = ("constant", x.dtype, x.data.shape, x.data.tobytes())
        if key not in self.numbered:
            self.numbered[key] = (self.builder.constant(x.data, x.dtype),)
        return self.numbered[key][0]

    def _apply(self, node: Apply) -> tuple[Tensor, ...]:
        """Results of a node; the same op on the same values is lowered once."""
        operands = [self.values[x] for x in node.inputs]
        key = (node.op, *(id(t) for t in operands))
        if key not in self.numbered:
            self.numbered[key] = self._lower(node, operands)
        return self.numbered[key]

    def _lower(self, node: Apply, operands: list[Tensor]) -> tuple[Tensor, ...]:
        self.builder.where = _place(node)
        try:
            verbs: Any = self.builder  # the protocol says Tensor, the builder wants its own
            lowered: Any = node.op.lower(verbs, *operands)
        except AotensorError as error:
            found = error.diagnostic
            lines = [*found.lines, *(x.describe() for x in node.inputs)]
            raise type(error)(f"{node.op.name}: {found.title}", lines=lines, hint=found.hint) from error
        finally:
            self.builder.where = ""
        results: tuple[Tensor, ...] = lowered if isinstance(lowered, tuple) else (lowered,)
        for result, out in zip(results, node.outputs, strict=True):
            assert (result.dtype, len(result.extents)) == (out.dtype, out.ndim), f"{node.op}: lowered to another type"
        return results

    def _finish(self, outputs: Sequence[Tensor]) -> None:
        name = self.program.name
        inputs = [argument.type for argument in self.block.args]
        extents = [self.builder.scalars.index(n).ssa for x in outputs for n in x.extents]
        self.block.add_op(func.ReturnOp(*(x.ssa for x in outputs)))
        main = func.FuncOp(name, (inputs, [x.ssa.type for x in outputs]), Region(self.block))
        main.attributes["dims"] = self._dim_names()
        if not follow_from_arguments(extents):
            self.builder.checks.append(("value", COMPUTED_TWICE))
            main.attributes["sizes_check"] = IntegerAttr(len(self.builder.checks), i64)
        main.attributes["results"] = ArrayAttr(StringAttr(key) for key, _ in self.program.outputs)
        self.module.body.block.add_op(main)
        self.module.body.block.add_op(extents_function(main, extents))
        for op in list(self.block.ops):
            if isinstance(op, CheckOp) and depends_on_arguments_only(op):
                Rewriter.erase_op(op)

    def _dim_names(self) -> Attribute:
        """For each input, the names of its dims; "" where the extent is a number."""
        return ArrayAttr(
            ArrayAttr(StringAttr(dim_name(name, axis, dim)) for axis, dim in enumerate(x.tensor_type.shape))
            for name, x in self.program.inputs
        )

    def _symbolic_extents(self, outputs: Sequence[Tensor]) -> tuple[tuple[int | str | None, ...], ...]:
        """Output extents as numbers, dim names, formulas of dims ("n + m"), or None where they depend on values."""
        known: dict[SSAValue, str] = {}
        for name, x in self.program.inputs:
            for axis, dim in enumerate(x.tensor_type.shape):
                extent = self.values[x].extents[axis]
                if not isinstance(extent, int):
                    known.setdefault(extent.ssa, dim_name(name, axis, dim))
        return tuple(tuple(n if isinstance(n, int) else _symbol(n.ssa, known) for n in x.extents) for x in outputs)


def _symbol(x: SSAValue, known: Mapping[SSAValue, str]) -> str | None:
    """The formula of an extent, or just what it depends on where the formula is too long to be read."""
    text = _formula(x, known)
    if text is None or len(text) <= LONGEST_FORMULA:
        return text
    words = set(re.findall(r"\w+", text))
    return f"f({', '.join(name for name in dict.fromkeys(known.values()) if name in words)})"[:LONGEST_FORMULA]


LONGEST_FORMULA = 80  # characters
COMPUTED_TWICE = "an output has extent {found}, but {expected} was computed before, by other rounding"
_INFIX = {"arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.floordivsi": "//"}
_CALLS = {"arith.minsi": "min", "arith.maxsi": "max"}


def _formula(x: SSAValue, known: Mapping[SSAValue, str]) -> str | None:
    """An extent as a text of dims, None if it depends on more than dims."""
    texts: dict[SSAValue, str | None] = dict(known)
    pending = [x]
    while pending:  # no recursion: a join of many parts is a long chain of sums
        y = pending[-1]
        op = y.owner
        if y in texts:
            pending.pop()
        elif isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            texts[y] = str(op.value.value.data)
        elif not isinstance(op, Operation) or not op.name.startswith("arith."):
            texts[y] = None
        elif missing := [operand for operand in op.operands if operand not in texts]:
            pending.extend(missing)
        else:
            texts[y] = _combined(op, [texts[operand] for operand in op.operands])
    return texts[x]


def _combined(op: Operation, parts: Sequence[str | None]) -> str | None:
    """The formula of an arithmetic operation from those of its operands."""
    if any(part is None for part in parts):
        return None
    if op.name == "arith.index_cast":
        return parts[0]
    if op.name in _INFIX:
        return f"({parts[0]} {_INFIX[op.name]} {parts[1]})"
    return f"{_CALLS.get(op.name, op.name.removeprefix('arith.'))}({', '.join(map(str, parts))})"


def dim_name(argument: str, axis: int, dim: Dim) -> str:
    """The name of a dim in signatures: its own, `X_0` for an unknown one, "" for a number."""
    return "" if isinstance(dim, int) else dim or f"{argument}_{axis}"


def _place(node: Apply) -> str:
    """`add(x, y) at model.py:12`, in front of the messages of checks."""
    operands = ", ".join(map(str, node.inputs))
    site = node.outputs[0].site
    return f"{node.op.name}({operands})"[:LONGEST_FORMULA] + (f" at {site}" if site else "")


def _ssa_type(type: TensorType) -> Attribute:
    return tensor_type(type.dtype, type.static_shape) if type.rank else element_type(type.dtype)

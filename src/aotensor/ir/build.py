"""Graph → tensor IR: one SSA function over tensors.

    func.func @logistic(%X: tensor<?x?xf64>, %y: tensor<?xf64>, …) -> (f64, tensor<?xf64>)
    func.func @logistic.extents(%X: …) -> (index, …)      run-time extents of all outputs

A tensor of rank 0 is a plain scalar. Shape checks are in `.extents`, which runs first; checks that depend on computed
values are in the function itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotensor.core.types import dim_name
from aotensor.graph.expression import called
from aotensor.graph.variable import Variable
from aotensor.ir.dialect import CheckOp
from aotensor.ir.extents import AllSources, extents_function, is_scalar
from aotensor.ir.import_graph import import_graph
from aotensor.ir.index_builder import Extent, Tensor
from aotensor.ir.location import Locations, locate_after
from aotensor.ir.regions import Regions
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.tensor_builder import TensorBuilder
from aotensor.ir.types import index, value_type
from aotensor.ir.upstream import declare_special_functions, value_name


@dataclass(frozen=True)
class Program:
    """One function to compile: its name, with the named inputs and outputs of a graph."""

    name: str
    inputs: tuple[tuple[str, Variable], ...]
    outputs: tuple[tuple[str, Variable], ...]
    complex_outputs: frozenset[str] = field(default=frozenset(), kw_only=True)
    """Names of outputs whose last axis holds the parts of complex numbers; callers do not see this axis."""


@dataclass(frozen=True)
class BuiltFunction:
    """An imported function, with data that the IR lacks: messages of checks by number, sources of output extents."""

    program: Program
    checks: tuple[tuple[str, str], ...]
    output_extents: tuple[tuple[int | str | None, ...], ...]


def build(
    programs: Sequence[Program], fp: str = "contract", locations: Locations | None = None
) -> tuple[ModuleOp, list[BuiltFunction]]:
    """Build tensor IR of several functions in one module.

    fp: strict, contract or fast; see `ir.primitive_builder.FP_POLICIES`. locations: receives the source of each
    operation.

    Raises: MissingInputError for a leaf that is not an input, GraphError from typing rules.
    """
    module = ModuleOp([])
    where = Locations() if locations is None else locations
    built = [_FunctionImporter(module, program, fp, where).run() for program in programs]
    declare_special_functions(module)
    return module, built


class _FunctionImporter:
    def __init__(self, module: ModuleOp, program: Program, fp: str, locations: Locations) -> None:
        self.program = program
        self.module = module
        types = [x.tensor_type for _, x in program.inputs]
        self.block = Block(arg_types=[value_type(t.dtype, t.static_shape) for t in types])
        regions = Regions(module, program.name)
        self.builder = TensorBuilder(Builder(InsertPoint.at_end(self.block)), fp, regions)
        self.builder.locations = locations
        self.dims: dict[str, Extent] = {}
        self.values: dict[Variable, Tensor] = {}

    def run(self) -> BuiltFunction:
        self._import_inputs()
        with called({x: name for name, x in self.program.inputs}):
            outputs = import_graph(self.builder, [x for _, x in self.program.outputs], self.values, self.program.name)
        self._finish(outputs)
        return BuiltFunction(self.program, tuple(self.builder.checks), self._symbolic_extents(outputs))

    def _import_inputs(self) -> None:
        for argument, (name, x) in zip(self.block.args, self.program.inputs, strict=True):
            argument.name_hint = value_name(name)
            argument.location = self.builder.locations.at(x.site)
            extents: list[Extent] = []
            last = self.block.last_op
            for axis, dim in enumerate(x.tensor_type.shape):
                if isinstance(dim, int):
                    extents.append(dim)
                elif dim is None:
                    extents.append(self.builder.scalars.dim(argument, axis))
                else:
                    if dim not in self.dims:
                        extent = self.builder.scalars.dim(argument, axis)
                        extent.ssa.name_hint = value_name(dim)
                        self.dims[dim] = extent
                    extents.append(self.dims[dim])
                if isinstance(extents[-1], Scalar):
                    self.builder.dim_names.setdefault(extents[-1].ssa, dim_name(name, axis, dim))
            self.values[x] = Tensor(argument, x.dtype, tuple(extents))
            self.builder.sizes.add_extents(extents)
            locate_after(last, self.block, argument.location)

    def _finish(self, outputs: Sequence[Tensor]) -> None:
        name = self.program.name
        inputs = [argument.type for argument in self.block.args]
        extents: list[SSAValue] = []
        for x, (key, variable) in zip(outputs, self.program.outputs, strict=True):
            last = self.block.last_op
            seen = x.extents[:-1] if key in self.program.complex_outputs else x.extents
            extents += [self.builder.scalars.index(n).ssa for n in seen]
            locate_after(last, self.block, self.builder.locations.at(variable.site))
        self.block.add_op(func.ReturnOp(*(x.ssa for x in outputs)))
        main = func.FuncOp(name, (inputs, [x.ssa.type for x in outputs]), Region(self.block))
        main.attributes["dims"] = self._dim_names()
        if not AllSources(is_scalar)(extents):
            self.builder.checks.append(("value", COMPUTED_TWICE))
            main.attributes["sizes_check"] = IntegerAttr(len(self.builder.checks), i64)
        main.attributes["results"] = ArrayAttr(StringAttr(key) for key, _ in self.program.outputs)
        if self.program.complex_outputs:
            pairs = [k for k, (key, _) in enumerate(self.program.outputs) if key in self.program.complex_outputs]
            main.attributes["complex_results"] = ArrayAttr(IntegerAttr(k, i64) for k in pairs)
        self.module.body.block.add_op(main)
        self.module.body.block.add_op(extents_function(main, extents))
        is_known = AllSources(is_scalar)
        checks = [op for op in self.block.ops if isinstance(op, CheckOp) and is_known(op.operands)]
        self._unify(checks)
        for op in checks:
            Rewriter.erase_op(op)

    def _unify(self, checks: Sequence[CheckOp]) -> None:
        """Merge extents that `@f.extents` has checked to be equal; the function runs after it.

        The extent that is computed first replaces the other one.
        """
        age = {op: number for number, op in enumerate(self.block.ops)}
        for check in checks:
            equal = check.condition.owner
            if not isinstance(equal, arith.CmpiOp) or equal.predicate.value.data != 0 or equal.lhs.type != index:
                continue
            both = sorted(equal.operands, key=lambda x: age[x.owner] if isinstance(x.owner, Operation) else -1)
            numbers = [x for x in both if isinstance(x.owner, arith.ConstantOp)]
            older, younger = both
            if older is not younger and len(numbers) < 2 and (not numbers or numbers[0] is older):
                younger.replace_all_uses_with(older)

    def _dim_names(self) -> Attribute:
        """For each input, the names of its dims; "" for a static extent."""
        return ArrayAttr(
            ArrayAttr(StringAttr(dim_name(name, axis, dim)) for axis, dim in enumerate(x.tensor_type.shape))
            for name, x in self.program.inputs
        )

    def _symbolic_extents(self, outputs: Sequence[Tensor]) -> tuple[tuple[int | str | None, ...], ...]:
        """Output extents as numbers, dim names, formulas of dims ("n + m"), or None if they depend on values."""
        known: dict[SSAValue, str] = {}
        for name, x in self.program.inputs:
            for axis, dim in enumerate(x.tensor_type.shape):
                extent = self.values[x].extents[axis]
                if not isinstance(extent, int):
                    known.setdefault(extent.ssa, dim_name(name, axis, dim))
        return tuple(tuple(n if isinstance(n, int) else _symbol(n.ssa, known) for n in x.extents) for x in outputs)


def _symbol(x: SSAValue, known: Mapping[SSAValue, str]) -> str | None:
    """The formula of an extent, or the names of its dims if the formula is too long; None if values determine it."""
    formula = _formula(x, known)
    if formula is None or formula.text is not None:
        return None if formula is None else formula.text
    return f"f({', '.join(name for name in dict.fromkeys(known.values()) if name in formula.dims)})"[:LONGEST_FORMULA]


@dataclass(frozen=True)
class _Formula:
    """An extent as a formula of dims, with their names. text is None if the formula is longer than LONGEST_FORMULA."""

    text: str | None
    dims: frozenset[str]


LONGEST_FORMULA = 80  # characters
COMPUTED_TWICE = "an output has extent {found}, but {expected} was computed before, by other rounding"
_INFIX = {"arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.floordivsi": "//"}
_CALLS = {"arith.minsi": "min", "arith.maxsi": "max"}


def _formula(x: SSAValue, known: Mapping[SSAValue, str]) -> _Formula | None:
    """An extent as a formula of dims; None if it depends on anything else."""
    found: dict[SSAValue, _Formula | None] = {y: _Formula(name, frozenset([name])) for y, name in known.items()}
    pending = [x]
    while pending:  # no recursion: a join of many parts is a long chain of sums
        y = pending[-1]
        op = y.owner
        if y in found:
            pending.pop()
        elif isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            found[y] = _Formula(str(op.value.value.data), frozenset())
        elif not isinstance(op, Operation) or not op.name.startswith("arith."):
            found[y] = None
        elif missing := [operand for operand in op.operands if operand not in found]:
            pending.extend(missing)
        else:
            found[y] = _combined(op, [found[operand] for operand in op.operands])
    return found[x]


def _combined(op: Operation, parts: Sequence[_Formula | None]) -> _Formula | None:
    """The formula of an arithmetic operation, from the formulas of its operands."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if op.name == "arith.index_cast":
        return known[0]
    dims = frozenset[str]().union(*(part.dims for part in known))
    texts = [part.text for part in known if part.text is not None]
    if len(texts) < len(known):
        return _Formula(None, dims)
    if op.name in _INFIX:
        text = f"({texts[0]} {_INFIX[op.name]} {texts[1]})"
    else:
        text = f"{_CALLS.get(op.name, op.name.removeprefix('arith.'))}({', '.join(texts)})"
    return _Formula(text if len(text) <= LONGEST_FORMULA else None, dims)

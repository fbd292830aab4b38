"""Loops and branches at tensor level: a private function for each body, and the operation that calls it.

The extents of the results are needed outside the body. They come from a dry run: the body is imported into the caller
once, with rows that are never computed, and everything except the arithmetic of extents is erased. Checks of extents
stay in the caller, where they run once; data-dependent checks are in the body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotensor.core import dtypes
from aotensor.errors import GraphValueError
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable
from aotensor.ir.dialect import CheckOp
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.extents import sources
from aotensor.ir.import_graph import import_graph
from aotensor.ir.index_builder import Extent, Tensor, dynamic, same_extent, static
from aotensor.ir.location import locate_after
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.tensor_builder import TensorBuilder
from aotensor.ir.types import element_type, value_type
from aotensor.ir.upstream import value_name
from aotensor.ops.scan.branch import Branch
from aotensor.ops.scan.layout import Operands
from aotensor.ops.scan.op import Scan


class Regions:
    """The private functions of the bodies of one function's loops and branches, which are added to its module."""

    def __init__(self, module: ModuleOp, name: str) -> None:
        self._module = module
        self._name = name
        self._count = 0
        self._is_dry = False

    # --- loops ---------------------------------------------------------------------------------------------------

    def scan(self, b: TensorBuilder, op: Scan, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Build a scan. Raises: GraphValueError if the extents of a result would change between steps."""
        given = op.operands(operands)
        n = _steps(b, given)
        if op.needs_step and not (isinstance(n, int) and n > 0):
            one, there = b.scalars.index(1), b.scalars.index(n)
            b.check(
                b.scalars.compare("ge", there, one),
                "the last row of a result is read, but the loop has 0 steps",
                kind="index",
            )
        with self._dry_run(b) as probe:
            rows = _body_arguments(b, op, given)
            found = import_graph(b, op.body.outputs, _inputs(op.body, rows), self._name)
            stand_ins = probe.empty_tensors()
            steps = _step_results(b, given.initial, found[: len(given.initial) + op.mapped], stand_ins)
            probe.protect([m for x in steps for alternatives in x.extents for m in alternatives])
        results = _result_extents(b, op, n, steps)
        b.fit(extents for _, extents in results)
        if self._is_dry:
            return tuple(_unknown(b, dtype, extents) for dtype, extents in results)
        symbol = self._define("scan", b, op.body, rows, keeps_shape_checks=False)
        types = [value_type(dtype, static(extents)) for dtype, extents in results]
        sequences, initial, constants = ([x.ssa for x in g] for g in (given.sequences, given.initial, given.constants))
        sizes = dynamic(n for _, extents in results for n in extents)
        made = ScanOp(
            symbol, b.scalars.index(n).ssa, (sequences, initial, constants), sizes, types,
            op.taps, op.is_stacked, op.has_condition, op.is_reversed,
        )  # fmt: skip
        b.insert_op(made)
        tensors = [Tensor(x, *result) for x, result in zip(made.outputs, results, strict=True)]
        if op.has_condition and not op.keeps_rows:
            tensors = list(_cut_to_executed(b, op, tensors))
        return tuple(tensors)

    # --- branches ------------------------------------------------------------------------------------------------

    def branch(self, b: TensorBuilder, op: Branch, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Build a branch between two bodies that read the same values; return its results."""
        condition, *values = operands
        chosen = b.item(condition)
        sides = [
            (side, [_on_side(b, x, chosen, is_then) for x in values])
            for side, is_then in ((op.then, True), (op.otherwise, False))
        ]
        with self._dry_run(b, keeps_checks=False) as probe:
            found = []
            for side, captured in sides:
                trial = b.fork()  # facts of one side do not hold outside
                found.append(import_graph(trial, side.outputs, _inputs(side, captured), self._name))
            results = [
                (x.dtype, tuple(_chosen(b, chosen, m, n) for m, n in zip(x.extents, y.extents, strict=True)))
                for x, y in zip(*found, strict=True)
            ]
            probe.protect([m for _, extents in results for m in extents])
        b.fit(extents for _, extents in results)
        if self._is_dry:
            return tuple(_unknown(b, dtype, extents) for dtype, extents in results)
        then, otherwise = (self._define("branch", b, *side, keeps_shape_checks=True) for side in sides)
        types = [value_type(dtype, static(extents)) for dtype, extents in results]
        sizes = dynamic(n for _, extents in results for n in extents)
        made = BranchOp(chosen.ssa, then, otherwise, [x.ssa for x in values], sizes, types)
        b.insert_op(made)
        return tuple(Tensor(x, *result) for x, result in zip(made.outputs, results, strict=True))

    # --- bodies --------------------------------------------------------------------------------------------------

    @contextmanager
    def _dry_run(self, b: TensorBuilder, keeps_checks: bool = True) -> Iterator[_Probe]:
        was_dry, self._is_dry = self._is_dry, True
        was_certain, b.is_certain = b.is_certain, False
        sizes, b.sizes = b.sizes, b.sizes.copy()
        probe = _Probe(b, keeps_checks)
        try:
            yield probe
        finally:
            self._is_dry, b.sizes, b.is_certain = was_dry, sizes, was_certain
        probe.clean()

    def _define(
        self, kind: str, b: TensorBuilder, body: Subgraph, given: Sequence[Tensor], keeps_shape_checks: bool
    ) -> str:
        """Define a private function for a body. given: the arguments as the caller's values."""
        symbol = f"{self._name}.{kind}{self._count}"
        self._count += 1
        block = Block(arg_types=[value_type(x.dtype, x.static_shape) for x in given])
        inner = b.fork(Builder(InsertPoint.at_end(block)))
        names: list[list[str]] = []
        known: dict[SSAValue, tuple[str, Scalar]] = {}
        arguments = []
        for argument, x, variable in zip(block.args, given, body.inputs, strict=True):
            argument.name_hint = value_name(variable.name)
            extents: list[Extent] = []
            names.append([])
            for axis, outer in enumerate(b.canonical(n) for n in x.extents):
                if isinstance(outer, int):
                    extents.append(outer)
                    names[-1].append("")
                    continue
                if outer.ssa not in known:
                    known[outer.ssa] = (f"d{len(known)}", inner.scalars.dim(argument, axis))
                names[-1].append(known[outer.ssa][0])
                extents.append(known[outer.ssa][1])
            arguments.append(Tensor(argument, x.dtype, tuple(extents)))
            inner.sizes.add_extents(extents)
            argument.location = b.locations.at(variable.site)
            locate_after(None, block, argument.location)
        results = import_graph(inner, body.outputs, _inputs(body, arguments), self._name)
        if not keeps_shape_checks:
            for op in list(block.ops):
                if isinstance(op, CheckOp) and _is_about_extents(op):
                    Rewriter.erase_op(op)
        block.add_op(func.ReturnOp(*(x.ssa for x in results)))
        types = ([x.type for x in block.args], [x.ssa.type for x in results])
        function = func.FuncOp(symbol, types, Region(block), visibility="private")
        function.attributes["dims"] = ArrayAttr(ArrayAttr(StringAttr(n) for n in row) for row in names)
        self._module.body.block.add_op(function)
        return symbol


class _Probe:
    """The operations that a dry run has added to a block, to be erased except for the arithmetic of extents."""

    def __init__(self, b: TensorBuilder, keeps_checks: bool) -> None:
        self._b = b
        self._keeps_checks = keeps_checks
        block = b.block
        self._block = block
        self._last = block.last_op
        self._checks = len(b.checks)
        self._protected: set[SSAValue] = set()

    def protect(self, extents: Sequence[Extent]) -> None:
        self._protected.update(n.ssa for n in extents if isinstance(n, Scalar))

    def empty_tensors(self) -> Set[Operation]:
        """The empty tensors of the dry run; some are placeholders for values that only a step computes."""
        return {op for op in self._added() if isinstance(op, tensor.EmptyOp)}

    def clean(self) -> None:
        """Erase the operations of the dry run that extents do not need; renumber the remaining checks."""
        texts = self._b.checks[self._checks :]
        del self._b.checks[self._checks :]
        added = self._added()
        for op in added:
            if not isinstance(op, CheckOp):
                continue
            if self._keeps_checks and _is_about_extents(op):
                self._b.checks.append(texts[op.number.value.data - self._checks - 1])
                op.renumber(len(self._b.checks))
            else:
                Rewriter.erase_op(op)
        self._b.scalars.forget(self._read_from_tensors(added))
        keep = self._protected | self._b.scalars.remembered
        for op in reversed(self._added()):
            is_needed = isinstance(op, CheckOp) or any(r.uses or r in keep for r in op.results)
            if not is_needed:
                Rewriter.erase_op(op)

    def _read_from_tensors(self, added: Sequence[Operation]) -> Set[SSAValue]:
        """The scalars of the dry run that depend on elements of tensors, which are placeholders."""
        found: set[SSAValue] = set()
        for op in added:
            is_arithmetic = op.name.startswith("arith.") or isinstance(op, tensor.DimOp)
            if not is_arithmetic or any(x in found for x in op.operands):
                found.update(op.results)
        return found - self._protected

    def _added(self) -> list[Operation]:
        ops = list(self._block.ops)
        return ops if self._last is None else ops[ops.index(self._last) + 1 :]


def _is_about_extents(op: Operation) -> bool:
    """True if an operation depends on extents of existing tensors, by scalar arithmetic only."""
    made_by = [x.owner for x in sources(op.operands, stop=tensor.DimOp)]
    is_arithmetic = all(
        isinstance(y, tensor.DimOp) or (isinstance(y, Operation) and y.name.startswith("arith.")) for y in made_by
    )
    return is_arithmetic and any(isinstance(y, tensor.DimOp) for y in made_by)


def _inputs(body: Subgraph, values: Sequence[Tensor]) -> dict[Variable, Tensor]:
    return dict(zip(body.inputs, values, strict=True))


def _steps(b: TensorBuilder, given: Operands[Tensor]) -> Extent:
    """The number of steps as an extent, after a check that every sequence has that many rows."""
    v = b.scalars
    n = b.canonical(v.as_extent(v.cast(b.item(given.n_steps), dtypes.INDEX)))
    lengths = [b.canonical(x.extents[0]) for x in given.sequences]
    for position, length in enumerate(lengths):
        if not same_extent(n, length):
            ok = v.compare("le", v.index(n), v.index(length))
            b.check(ok, f"sequence {position} has {{found}} rows for {{expected}} steps", length, n)
    if isinstance(n, Scalar) and not any(same_extent(n, length) for length in lengths):
        b.check(v.compare("ge", n, v.index(0)), "the number of steps must not be negative, found {found}", n)
    return n


def _body_arguments(b: TensorBuilder, op: Scan, given: Operands[Tensor]) -> list[Tensor]:
    """The arguments of the body with their extents; rows are placeholders that are never computed."""
    for position, (x, depth) in enumerate(zip(given.initial, op.depths, strict=True)):
        b.same_extent([x.extents[0], depth], f"rows of the initial value of state {position}, and its lags,")
    rows = [_unknown(b, x.dtype, x.extents[1:]) for x in given.sequences]
    taps = [_unknown(b, x.dtype, x.extents[1:]) for x, lags in zip(given.initial, op.taps, strict=True) for _ in lags]
    arguments = [*rows, *taps, *given.constants]
    return [_known(b, x, slot) for x, slot in zip(arguments, op.body.inputs, strict=True)]


def _known(b: TensorBuilder, x: Tensor, slot: Variable) -> Tensor:
    """A value with the static extents that the body assumes, after checks of the actual ones."""
    extents = [
        b.same_extent([n, dim], f"extents of {slot}") if isinstance(dim, int) else n
        for n, dim in zip(x.extents, slot.tensor_type.shape, strict=True)
    ]
    return Tensor(x.ssa, x.dtype, tuple(extents))


def _unknown(b: TensorBuilder, dtype: str, extents: Sequence[Extent]) -> Tensor:
    """A placeholder tensor with the given extents, which is never computed."""
    if extents:
        return b.empty(extents, dtype)
    memory = b.empty([1], dtype)
    read = tensor.ExtractOp(memory.ssa, [b.scalars.index(0).ssa], element_type(dtype))
    b.insert_op(read)
    return Tensor(read.result, dtype)


@dataclass(frozen=True)
class _StepResult:
    """A result of a step. extents: per axis, the possible extents, which must be equal. what: its name in messages."""

    dtype: str
    what: str
    extents: tuple[tuple[Extent, ...], ...]


def _step_results(
    b: TensorBuilder, initial: Sequence[Tensor], found: Sequence[Tensor], stand_ins: Set[Operation]
) -> list[_StepResult]:
    """The results of a step, states first; a state has the extents of its initial value."""
    results = []
    for position, x in enumerate(found):
        extents = tuple(_alternatives(b, n, stand_ins) for n in x.extents)
        if position < len(initial):
            before = initial[position].extents[1:]
            extents = tuple((old, *new) for old, new in zip(before, extents, strict=True))
            results.append(_StepResult(x.dtype, f"state {position}: extents before and after a step", extents))
        else:
            results.append(_StepResult(x.dtype, f"result {position - len(initial)}: extents of two steps", extents))
    return results


def _alternatives(b: TensorBuilder, n: Extent, stand_ins: Set[Operation]) -> tuple[Extent, ...]:
    """The possible extents of an axis after a step: one, or one per side of a branch in the step.

    Raises: GraphValueError if the extent depends on values.
    """
    if isinstance(n, int) or not any(x.owner in stand_ins for x in sources([n.ssa])):
        return (n,)
    chosen_by = n.ssa.owner
    if not isinstance(chosen_by, arith.SelectOp):
        raise GraphValueError(
            "the shape of a stacked result is computed in the step, so it may differ from step to step",
            hint="compute the shape from non_sequences",
        )
    sides = (b.scalars.as_extent(Scalar(side, dtypes.INDEX)) for side in (chosen_by.lhs, chosen_by.rhs))
    return tuple(m for side in sides for m in _alternatives(b, side, stand_ins))


def _result_extents(
    b: TensorBuilder, op: Scan, n: Extent, found: Sequence[_StepResult]
) -> list[tuple[str, tuple[Extent, ...]]]:
    """dtype and extents of every result of the loop, after checks that steps do not change them."""
    results: list[tuple[str, tuple[Extent, ...]]] = []
    for position, x in enumerate(found):
        extents = tuple(b.same_extent(alternatives, x.what) for alternatives in x.extents)
        is_last_alone = position < len(op.taps) and not op.is_stacked[position]
        results.append((x.dtype, extents if is_last_alone else (n, *extents)))
    if op.has_condition:
        results.append(("int64", ()))
    return results


def _cut_to_executed(b: TensorBuilder, op: Scan, results: Sequence[Tensor]) -> Iterator[Tensor]:
    """The results of a loop that stopped early, cut to the rows of the executed steps."""
    *others, taken = results
    count = b.scalars.cast(b.item(taken), dtypes.INDEX)
    for position, x in enumerate(others):
        if position < len(op.taps) and not op.is_stacked[position]:
            yield x
        else:
            yield b.tabulate([count, *x.extents[1:]], x.dtype, lambda v, *at, x=x: v.load(x, *at))
    yield taken


def _on_side(b: TensorBuilder, x: Tensor, condition: Scalar, is_then: bool) -> Tensor:
    """A value as one side of a branch uses it: extents that the same condition selected are those of that side."""
    extents = []
    for n in x.extents:
        choice = n.ssa.owner if isinstance(n, Scalar) else None
        if isinstance(choice, arith.SelectOp) and choice.cond is condition.ssa:
            side = b.scalars.as_extent(Scalar(choice.lhs if is_then else choice.rhs, dtypes.INDEX))
            extents.append(n if isinstance(side, int) else side)  # its type has no static extents
        else:
            extents.append(n)
    return Tensor(x.ssa, x.dtype, tuple(extents))


def _chosen(b: TensorBuilder, condition: Scalar, m: Extent, n: Extent) -> Extent:
    """The extent on the executed side of a branch: m if the condition holds, else n."""
    if same_extent(m, n):
        return m
    return b.scalars.select(condition, b.scalars.index(m), b.scalars.index(n))

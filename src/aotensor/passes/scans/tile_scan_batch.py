"""Tile scans over the batch: run all steps for one chunk of rows before the next, if rows are independent.

    for t in steps:                               for rows in chunks of %size:          on several cores
      h = tanh(x[t] + h @ U)                 →      for t in steps:
                                                      h[rows] = tanh(x[t, rows] + h[rows] @ U)

As in polyhedral tiling: the loop over a batch is moved outside the loop over time. Cores synchronise once, not in each
step, and the states of a chunk stay in cache. The number of rows per chunk depends on sizes alone. Tensors that every
row reads as a whole, such as weights, are read again for each chunk: they must fit the second level cache.

A loop without states, as of `map`, is split into chunks of steps, which are independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Final

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, ModuleOp, TensorType, i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.rewriter import Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import ReshapeOp
from aotensor.ir.dialect_control import ScanOp
from aotensor.ir.forms import TENSOR_FORM
from aotensor.ir.index_builder import Extent, IndexBuilder
from aotensor.ir.location import builder_before
from aotensor.ir.scalar_builder import CONTRACT, Scalar
from aotensor.ir.types import element_bytes
from aotensor.ir.upstream import walk
from aotensor.passes.emit.buffers import returned_values
from aotensor.passes.nest.extents import ExtentKey, Extents
from aotensor.passes.nest.work import quotient, rows_of_chunk, work_of
from aotensor.passes.products.contraction import is_library_product
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.scans.independent_rows import Dependent, IndependentRows, argument_number
from aotensor.passes.scans.row_extents import is_row_extent_unique, separate_rows
from aotensor.passes.target import Target

_STEPS: Final = 16
"""Assumed trip count or extent, if it depends on values."""
_PER_FUSED: Final = 4
"""Multiply-adds of a library kernel that take as long as one operation of a loop."""

_ENOUGH: Final = 4
_ENOUGH_PRODUCTS: Final = 16
"""Number of chunks that a step's work must be worth for cores to be used within each step too: in products only if
they are large."""
_WIDER: Final = 4
"""Factor by which chunks are fewer than those of other loops: a step should write a long piece of memory per chunk."""


@ir_pass(
    "tile-scan-batch",
    level="nest",
    topic="cores",
    unless=("no-heap", "scalar"),
    former="chunk-scans",
    options_of="parallelize",
    needs=TENSOR_FORM,
    gives=TENSOR_FORM,
)
def tile_scan_batch(module: ModuleOp, target: Target) -> None:
    """Tiles a loop over steps whose rows are independent, such as samples of a batch: all steps for one chunk of
    rows, chunks in parallel. A loop without states is tiled over its steps ([scan.md](scan.md#independent-rows)).
    """
    bodies = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    for function in functions_of(module):
        if not function.sym_name.data.endswith(".extents"):
            for op in list(function.body.block.ops):
                if isinstance(op, ScanOp):
                    chunking = _Chunking(module, op, bodies[str(op.body.string_value())], target)
                    with chunking.b.active():
                        chunking.run()


class _Chunking:
    """Tiles one loop over steps: decides whether and how to split it."""

    def __init__(self, module: ModuleOp, op: ScanOp, body: func.FuncOp, target: Target) -> None:
        self.module, self.op, self.body, self.target = module, op, body, target
        self.b = IndexBuilder(builder_before(op), CONTRACT)
        self.operands = _argument_slices(op)

    def run(self) -> None:
        """Split the loop if its rows are independent and it has enough work."""
        if self.op.conditional is not None:
            return  # a data-dependent exit ends the loop for all rows
        if not self.op.initial:
            self._share_steps()
            return
        try:
            rows = IndependentRows(self.body)
        except Dependent as why:
            missed("{} not tiled over rows: {}", self.op, str(why))
            return
        if any(x in rows.whole for x in self._states()):
            missed("{} not tiled over rows: each row reads the whole previous state", self.op)
            return
        arguments = {number for x in rows.values if (number := argument_number(x)) is not None}
        others = [x for number, x in enumerate(self.body.body.block.args) if number not in arguments]
        state = returned_values(self.body)[0]
        count = self._extent(rows.extents.shape(state)[0])
        work = self._work(rows)
        size = self._size(count, work, rows, others)
        if size is None:
            return
        if isinstance(size, int):
            if not self._is_alone():
                return
            self._resize(rows.values, size)
        elif not is_row_extent_unique(self.body, rows):
            if not self._is_alone():
                return
            try:
                separate_rows(self.body, rows)
            except Dependent as why:
                missed("{} not tiled over rows: {}", self.op, str(why))
                return
        flags = [int(number in arguments) for number in self._numbers()]
        self.op.properties["cut"] = DenseArrayBase.from_list(i64, flags)
        self._set_chunk(self.b.index(size).ssa)
        applied("tiled {} over rows: all its steps run per chunk, chunks in parallel", self.op)

    def _share_steps(self) -> None:
        """Split a loop with independent steps into chunks of steps if it has enough work."""
        b, target = self.b, self.target
        strange = next((x for x in self.body.body.block.ops if not _is_plain(x)), None)
        if strange is not None:
            missed("steps of {} not parallelized: a step contains {}", self.op, strange.name)
            return
        extents = Extents(self.body)
        generic = [x for x in self.body.body.block.ops if isinstance(x, linalg.GenericOp)]
        work: Extent = 0
        memory: Extent = 0
        for op in generic:
            work += self._work_of(op, extents, None)
            for x in op.results:
                memory += self._bytes(x, extents)
        steps = b.as_extent(Scalar(self.op.steps, "index"))
        most = target.most_chunks // _WIDER
        size: Extent = rows_of_chunk(b, steps, b.imax(work, 1), target.chunk_work, most, 1)
        is_wide = (work, target.chunk_work * _ENOUGH), (memory, target.near_bytes * _ENOUGH)
        for found, limit in is_wide:  # such steps have work for all cores, or values that exceed each core's cache
            if isinstance(found, int):
                size = steps if found > limit else size
            else:
                fits = b.index(found) <= limit
                size = b.as_extent(b.select(fits, b.index(size), b.index(b.imax(steps, 1))))
        if isinstance(size, int) and isinstance(steps, int) and size >= steps:
            return
        self.op.properties["cut"] = DenseArrayBase.from_list(i64, [0] * len(self._numbers()))
        self._set_chunk(self.b.index(size).ssa)
        applied("parallelized the steps of {}: they are independent", self.op)

    def _bytes(self, x: SSAValue, extents: Extents) -> Extent:
        assert isinstance(x.type, TensorType)
        size: Extent = prod((self._extent(key) for key in extents.shape(x)), start=element_bytes(x.type.element_type))
        return size

    def _is_alone(self) -> bool:
        """Is this loop the only one that uses its body?"""
        loops = [op for op in walk(self.module) if isinstance(op, ScanOp)]
        return [op.body for op in loops].count(self.op.body) == 1

    def _numbers(self) -> list[int]:
        """The numbers of the body's arguments that are sequences or constants."""
        first, total = len(self.op.sequences), len(self.body.body.block.args)
        return [*range(first), *range(total - len(self.op.constants), total)]

    def _states(self) -> Sequence[SSAValue]:
        """The arguments of the body that are former values of states."""
        arguments = self.body.body.block.args
        return arguments[len(self.op.sequences) : len(arguments) - len(self.op.constants)]

    def _set_chunk(self, size: SSAValue) -> None:
        op = self.op
        made = ScanOp(
            op.body.string_value(), op.steps, (op.sequences, op.initial, op.constants), op.sizes,
            [x.type for x in op.outputs], op.lags, [bool(x) for x in op.stacked.get_values()],
            op.conditional is not None, op.reversed is not None, size,
        )  # fmt: skip
        made.properties["cut"] = op.properties["cut"]
        made.attributes.update(op.attributes)
        made.location = op.location
        for old, new in zip(op.outputs, made.outputs, strict=True):
            new.name_hint = old.name_hint
        Rewriter.replace_op(op, made)
        self.op = made

    # --- sizes ---------------------------------------------------------------------------------------------------

    def _extent(self, key: ExtentKey) -> Extent:
        """The value of an extent of the body, computed before the loop."""
        if isinstance(key, int):
            return key
        if isinstance(key, tuple):
            number, axis = key
            x, skipped = self.operands[number]
            assert isinstance(x.type, TensorType)
            known = x.type.get_shape()[axis + skipped]
            return known if known != DYNAMIC_INDEX else self._size_of(x, axis + skipped)
        return _STEPS

    def _size_of(self, x: SSAValue, axis: int) -> Extent:
        return self.b.as_extent(self.b.dim(x, axis))

    def _size(self, count: Extent, work: Extent, rows: IndependentRows, others: Iterable[SSAValue]) -> Extent | None:
        """The number of rows per chunk; None if tiling does not pay."""
        b, target = self.b, self.target
        steps = b.as_extent(Scalar(self.op.steps, "index"))
        if not isinstance(steps, int) and not _follows_from_dims(self.op.steps):
            steps = _STEPS
        shared: Extent = 0
        for x in others:
            if isinstance(x.type, TensorType):
                shared += self._bytes(x, rows.extents)
        room = target.product_rows * target.product_depth
        least = self._least(work)
        if isinstance(shared, int) and shared > room:
            missed("{} not tiled over rows: each step reads {} bytes", self.op, shared)
            return None
        group = quotient(b, target.step_work, b.imax(work, 1)) + 1
        group = quotient(b, group + (least - 1), least) * least
        size = rows_of_chunk(b, count, b.imax(work, 1) * steps, target.chunk_work, target.most_chunks // _WIDER, group)
        enough = target.chunk_work * (_ENOUGH_PRODUCTS if self._has_products() else _ENOUGH)
        step = count * work
        if isinstance(step, int) and step >= enough:
            return None  # each step has enough work for several cores
        for small, large in ((shared, room), (step, enough - 1)):
            if not isinstance(small, int):
                fits = b.index(small) <= large
                size = b.as_extent(b.select(fits, b.index(size), b.index(b.imax(count, 1))))
        if not isinstance(count, int):
            return size
        if not isinstance(size, int):
            missed("{} not tiled over rows: the work of a row is not static", self.op)
            return None
        return _divisor(count, size, least)

    def _least(self, work: Extent) -> int:
        """The multiple to which rows per chunk are rounded, so that vectors and tiles of products are full."""
        kind = returned_values(self.body)[0].type
        assert isinstance(kind, TensorType)
        if kind.get_num_dims() == 1:
            return self.target.chunk_group
        is_much = isinstance(work, int) and work >= self.target.step_work
        return 1 if is_much and not self._has_products() else self.target.row_group

    def _has_products(self) -> bool:
        ops = self.body.body.block.ops
        return any(isinstance(op, linalg.GenericOp) and is_library_product(op) for op in ops)

    def _work(self, rows: IndependentRows) -> Extent:
        """The estimated work of a step per row."""
        total: Extent = 0
        for op in self.body.body.block.ops:
            if not isinstance(op, linalg.GenericOp) or op.results[0] not in rows.values:
                continue
            first = op.indexing_maps.data[len(op.inputs)].data.results[0]
            assert isinstance(first, AffineDimExpr)
            total += self._work_of(op, rows.extents, first.position)
        return total

    def _work_of(self, op: linalg.GenericOp, known: Extents, rows: int | None) -> Extent:
        """The work of an operation of the body per row.

        rows: dim of the loop over rows; None if the operation covers all rows.
        """
        b = self.b
        maps = [m.data.results for m in op.indexing_maps]
        extents: dict[int, ExtentKey] = {}
        for x, results in zip(op.operands, maps, strict=True):
            for axis, e in enumerate(results):
                if isinstance(e, AffineDimExpr):
                    extents.setdefault(e.position, known.shape(x)[axis])
        work: Extent = 1
        for dim, key in extents.items():
            if dim != rows:
                work *= self._extent(key)
        if is_library_product(op):
            return quotient(b, work, _PER_FUSED) + 1
        return work * (2 * len(op.operands) + sum(work_of(inner) for inner in op.body.block.ops))

    # --- the body ------------------------------------------------------------------------------------------------

    def _resize(self, values: Iterable[SSAValue], rows: int) -> None:
        """Change the static number of rows in the types of a body's values to that of a chunk."""
        for x in list(values):
            assert isinstance(x.type, TensorType)
            kind = TensorType(x.type.element_type, [rows, *x.type.get_shape()[1:]])
            if isinstance(x.owner, tensor.InsertSliceOp):
                sizes = x.owner.static_sizes.get_values()
                x.owner.properties["static_sizes"] = DenseArrayBase.from_list(i64, [rows, *sizes[1:]])
            Rewriter.replace_value_with_new_type(x, kind)
        self.body.update_function_type()


def _is_plain(op: Operation) -> bool:
    """Is an operation elementwise or scalar, safe to reorder, and unable to fail?"""
    return isinstance(op, linalg.GenericOp | ReshapeOp | func.ReturnOp) or op.name.startswith(("tensor.", "arith."))


def _argument_slices(op: ScanOp) -> list[tuple[SSAValue, int]]:
    """For each argument of the body: the operand that it is a slice of, and the number of axes that it lacks."""
    states = [(x, 1) for x, lags in zip(op.initial, op.lags, strict=True) for _ in lags]
    return [*((x, 1) for x in op.sequences), *states, *((x, 0) for x in op.constants)]


def _follows_from_dims(x: SSAValue) -> bool:
    """Does an index value depend only on extents of tensors?"""
    pending = [x]
    while pending:
        op = pending.pop().owner
        if isinstance(op, Block):
            return False
        if not isinstance(op, tensor.DimOp):
            if not op.name.startswith("arith."):
                return False
            pending += op.operands
    return True


def _divisor(count: int, size: int, multiple: int) -> int | None:
    """The divisor of `count` nearest to `size`, ≥ size/2 and preferably a multiple of `multiple`; else None."""
    if size >= count:
        return None
    found = [n for n in range(max((size + 1) // 2, 2), count // 2 + 1) if count % n == 0]
    fitting = [n for n in found if n % multiple == 0] or [n for n in found if n >= multiple]
    return min(fitting, key=lambda n: (abs(n - size), n), default=None)

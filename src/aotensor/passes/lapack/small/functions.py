"""Functions for one small matrix in memory, shared by all operations of a kernel that do the same.

    %f = aot.lapack "lu_solve" %lu %p %b …   →   %f = func.call @f.lu_solve0(%lu, %p, %x)

    func.func private @f.lu_solve0(%lu: memref<64xf64, …>, %p: memref<8xi32, …>, %x: memref<8xf64, …>) -> i32

A solve with eight rows is 250 operations, and a step of an implicit integration method has eight of them: without
functions, most of the compile time is spent on copies of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DictionaryAttr, FunctionType, MemRefType, StridedLayoutAttr, UnitAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from aotensor.ir.dialect import LapackOp
from aotensor.ir.location import builder_at_end
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type
from aotensor.ir.upstream import walk
from aotensor.passes.lapack.job import Job, Matrix
from aotensor.passes.lapack.small.cells import MemoryCells, Numbers
from aotensor.passes.outlining.outline import NO_ALIAS, OUTLINED

KIND: Final = "lapack"
"""Attribute of such a function: kind and options of the operation."""


def call_for_matrix(job: Job, matrices: Sequence[Matrix], rule: Callable[..., Scalar]) -> Scalar:
    """Call the function that applies `rule` to matrices; define it if the kernel has none. Returns the failure.

    matrices: contiguous, from the start of their buffers; none of them share memory. rule: (numbers, *cells) →
    failure. Equal operations of one source line share a function: line tables name lines.
    """
    buffers = [_whole(job.b, x) for x in matrices]
    integer = Numbers(job.b, job.dtype, 1, is_unrolled=False).integer
    callee = _found(job, buffers) or _defined(job, buffers, matrices, rule, integer)
    return job.b.emit(func.CallOp(callee.sym_name.data, buffers, [element_type(integer)]), integer)


def _whole(b: LoopBuilder, x: Matrix) -> SSAValue:
    """The elements of a matrix as a vector of static extent, in one type for rows of buffers and for whole buffers."""
    assert isinstance(x.rows, int) and isinstance(x.columns, int) and isinstance(x.buffer.type, MemRefType)
    layout = StridedLayoutAttr([1], None)
    kind = MemRefType(x.buffer.type.element_type, [x.rows * x.columns], layout)
    return b.emit(memref.CastOp.get(b.reinterpret(x.buffer, [x.rows * x.columns]), kind), "raw").ssa


def _found(job: Job, buffers: Sequence[SSAValue]) -> func.FuncOp | None:
    """The function of an equal operation of the same line."""
    kinds = [x.type for x in buffers]
    for function in _functions(job):
        is_equal = function.attributes[KIND] == _kind(job.op) and list(function.function_type.inputs) == kinds
        if is_equal and function.location == job.op.location:
            return function
    return None


def _functions(job: Job) -> list[func.FuncOp]:
    """The functions that the kernel has so far."""
    made = (op for op in job.module.body.block.ops if isinstance(op, func.FuncOp) and KIND in op.attributes)
    return [op for op in made if op.sym_name.data.startswith(f"{_kernel(job.op)}.")]


def _kernel(op: LapackOp) -> str:
    """The name of the function that an operation is a part of."""
    parent = op.parent_op()
    while not isinstance(parent, func.FuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent.sym_name.data


def _kind(op: LapackOp) -> DictionaryAttr:
    return DictionaryAttr({"kind": op.kind, "options": op.options})


def _defined(
    job: Job, buffers: Sequence[SSAValue], matrices: Sequence[Matrix], rule: Callable[..., Scalar], integer: str
) -> func.FuncOp:
    """Define the function; its temporary memory is on the stack."""
    kinds = [x.type for x in buffers]
    block = Block(arg_types=kinds)
    b = LoopBuilder(builder_at_end(block, job.op.location), job.b.fastmath)
    v = Numbers(b, job.dtype, 1, is_unrolled=False)
    cells = [
        MemoryCells(v, own, x.rows, x.columns, x.dtype)  # type: ignore[arg-type]
        for own, x in zip(block.args, matrices, strict=True)
    ]
    with b.active():
        b.builder.insert(func.ReturnOp(rule(v, *cells).ssa))
    symbol = f"{_kernel(job.op)}.{job.op.kind.data}{len(_functions(job))}"
    kind = FunctionType.from_lists(kinds, [element_type(integer)])
    made = func.FuncOp(symbol, kind, Region(block), visibility="private")
    made.attributes.update({OUTLINED: UnitAttr(), NO_ALIAS: UnitAttr(), KIND: _kind(job.op)})
    made.location = job.op.location
    for op in [op for op in walk(made) if isinstance(op, memref.AllocOp)]:
        kept = memref.AllocaOp.get(op.memref.type.element_type, None, op.memref.type.get_shape())
        kept.location = op.location
        Rewriter.replace_op(op, kept)
    job.module.body.block.add_op(made)
    return made

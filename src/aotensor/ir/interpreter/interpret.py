"""Run tensor IR on NumPy arrays: the second of the three executions, between the reference and the compiled library.

Values are whole arrays, and so are the scalars of a linalg.generic's body: see `ir.interpreter.generic`. A scalar, or a
tensor of rank 0, is an array of rank 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotensor.core.types import Array
from aotensor.errors import (
    GraphConvergenceError,
    GraphError,
    GraphIndexError,
    GraphLinAlgError,
    GraphTypeError,
    GraphValueError,
    InternalError,
)
from aotensor.ir.context import functions_of
from aotensor.ir.dialect import CheckOp, LapackOp, LinesOp, ReshapeOp
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.dialect_sparse import (
    DirectOp,
    ExpandSlicesOp,
    KernelOp,
    NonzeroOp,
    PatternOp,
    ProductAtOp,
    ScatterOp,
    SegmentSumOp,
    SumAtOp,
)
from aotensor.ir.interpreter import nest
from aotensor.ir.interpreter.compressed_axes import interpret_compressed
from aotensor.ir.interpreter.control import branch, scan
from aotensor.ir.interpreter.direct import interpret_direct
from aotensor.ir.interpreter.generic import evaluate_generic, gather
from aotensor.ir.interpreter.kernels import interpret_kernel
from aotensor.ir.interpreter.lapack import interpret_lapack
from aotensor.ir.interpreter.patterns import interpret_pattern
from aotensor.ir.interpreter.products import product_at
from aotensor.ir.interpreter.scalar_values import compute, numpy_dtype, unset
from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.ops import DoOp, ProductOp, ValueOp

Values: TypeAlias = dict[SSAValue, Array]


def interpret(module: ModuleOp, name: str, *arrays: Array) -> list[Array]:
    """The results of function `name` of a module at tensor level, one array per result; scalars have rank 0.

    Integers are returned signed: an unsigned result is `x.view("u8")`. A function `name.extents` runs first, so that
    its checks precede all others, and its extents are compared with those of the results.

    Raises: GraphTypeError, GraphValueError for arguments of another dtype, rank or extent; GraphValueError or
    GraphIndexError for a failed aot.check; InternalError for invalid IR.
    """
    function = _function(module, name)
    arguments = _arguments(function, arrays)
    promised: list[Array] = []
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == f"{name}.extents":
            promised = _run(op.body.block, dict(zip(op.body.block.args, arguments, strict=True)))
    results = _run(function.body.block, dict(zip(function.body.block.args, arguments, strict=True)))
    pairs = _complex_results(function)
    shapes = [x.shape[:-1] if k in pairs else x.shape for k, x in enumerate(results)]
    found = [extent for shape in shapes for extent in shape]
    if promised and [int(n) for n in promised] != found:
        raise InternalError(f"interpret: @{name}.extents gives {promised}, the results have extents {found}")
    return results


def _complex_results(function: func.FuncOp) -> set[int]:
    """Numbers of the results whose last axis holds the parts of complex numbers; callers do not see this axis."""
    found = function.attributes.get("complex_results")
    return {k.value.data for k in found if isinstance(k, IntegerAttr)} if isinstance(found, ArrayAttr) else set()


def _function(module: ModuleOp, name: str) -> func.FuncOp:
    for function in functions_of(module):
        if function.sym_name.data == name:
            return function
    raise InternalError(f"interpret: the module has no function @{name}")


# --- arguments -----------------------------------------------------------------------------------------------------


def _arguments(function: func.FuncOp, arrays: Sequence[Array]) -> list[Array]:
    name, expected = function.sym_name.data, function.body.block.args
    if len(arrays) != len(expected):
        raise GraphTypeError(f"@{name}: expected {len(expected)} arguments, found {len(arrays)}")
    converted = [
        _argument(f"@{name}: argument {number}", x, np.asarray(array))
        for number, (x, array) in enumerate(zip(expected, arrays, strict=True))
    ]
    names = function.attributes.get("dims")
    extents: dict[str, int] = {}
    for row, array in zip(names.data if isinstance(names, ArrayAttr) else (), converted, strict=False):
        for dim, extent in zip(row.data, array.shape, strict=True):
            assert isinstance(dim, StringAttr)
            if dim.data and extents.setdefault(dim.data, extent) != extent:
                raise GraphValueError(f"@{name}: dim {dim.data} is {extents[dim.data]} and {extent}")
    return converted


def _argument(who: str, x: SSAValue, array: Array) -> Array:
    """Convert an argument to an array of signed integers, or floats.

    Raises: GraphTypeError, GraphValueError if it does not fit the type of x.
    """
    element = x.type.element_type if isinstance(x.type, TensorType) else x.type
    shape = _static_shape(x.type)
    kind = numpy_dtype(element)
    if array.dtype.kind == "u" and kind.kind == "i":
        array = array.view(f"i{array.dtype.itemsize}")
    if array.dtype != kind or array.ndim != len(shape):
        raise GraphTypeError(f"{who} is {array.dtype} of rank {array.ndim}, expected {x.type}")
    if any(known not in (DYNAMIC_INDEX, extent) for known, extent in zip(shape, array.shape, strict=True)):
        raise GraphValueError(f"{who} has shape {array.shape}, expected {x.type}")
    return array


def _static_shape(type: Attribute) -> tuple[int, ...]:
    return type.get_shape() if isinstance(type, TensorType) else ()


# --- operations on tensors -----------------------------------------------------------------------------------------


def _run(block: Block, values: Values) -> list[Array]:
    """Execute a function's block; `values` holds its arguments and receives all computed values."""
    with np.errstate(all="ignore"):
        for op in block.ops:
            operands = [values[x] for x in op.operands]
            if isinstance(op, func.ReturnOp):
                return operands
            if isinstance(op, LoopOp):
                nest.run_loop(op, values)
                continue
            if isinstance(op, DoOp):
                nest.run_statement(op, values)
                continue
            values.update(zip(op.results, _results(op, operands, values), strict=True))
    raise InternalError("interpret: a function without func.return")


def _results(op: Operation, operands: Sequence[Array], values: Values) -> Sequence[Array]:
    match op:
        case GenericOp():
            return evaluate_generic(op, values)
        case ValueOp():
            return [nest.declared_array(op, values)]
        case ProductOp():
            return [nest.product(op, *operands[:2])]
        case CheckOp():
            return _check(op, *operands)
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as literal):
            return [_dense(literal, op.result.type)]
        case tensor.DimOp():
            return [np.asarray(operands[0].shape[int(operands[1])])]
        case tensor.EmptyOp() | tensor.SplatOp():
            return [_filled(op, operands)]
        case tensor.ExtractOp():
            return [gather(operands[0], operands[1:], ())]
        case tensor.InsertSliceOp():
            return [_insert(op, values)]
        case ReshapeOp():
            return [operands[0].reshape(_shape(op.result.type, operands[1:]))]
        case LinesOp():
            return op.reference(*operands)
        case ProductAtOp():
            return [product_at(op, operands)]
        case ScatterOp():
            return [_scatter(op, *operands)]
        case SegmentSumOp() | ExpandSlicesOp() | SumAtOp():
            return [interpret_compressed(op, *operands)]
        case PatternOp():
            return interpret_pattern(op, operands)
        case KernelOp():
            return interpret_kernel(op, operands)
        case DirectOp():
            return interpret_direct(op, operands[: len(op.arguments)])
        case NonzeroOp():
            return _nonzero(*operands)
        case LapackOp():
            return interpret_lapack(op, operands[: len(op.arguments)], operands[len(op.arguments) :])
        case ScanOp():
            return scan(op, operands, _call)
        case BranchOp():
            return branch(op, operands, _call)
        case _:
            return [compute(op, operands)]


def _call(function: func.FuncOp, arguments: Sequence[Array]) -> list[Array]:
    """Run a function of the module on NumPy arrays; return its results."""
    return _run(function.body.block, dict(zip(function.body.block.args, arguments, strict=True)))


_CHECK_ERRORS: Final[dict[str, type[GraphError]]] = {
    "index": GraphIndexError,
    "linalg": GraphLinAlgError,
    "convergence": GraphConvergenceError,
}


def _check(op: CheckOp, condition: Array, found: Array, expected: Array) -> Sequence[Array]:
    if not condition:
        kind = _CHECK_ERRORS.get(op.kind.data, GraphValueError)
        message = op.message.data.replace("{found}", str(found)).replace("{expected}", str(expected))
        raise kind(message)
    return ()


def _dense(literal: DenseIntOrFPElementsAttr, type: Attribute) -> Array:
    assert isinstance(type, TensorType)
    return np.array(literal.get_values()).astype(numpy_dtype(type.element_type)).reshape(type.get_shape())


def _filled(op: tensor.EmptyOp | tensor.SplatOp, operands: Sequence[Array]) -> Array:
    """A tensor filled with one value, or uninitialized."""
    (result,) = op.results
    assert isinstance(result.type, TensorType)
    kind = numpy_dtype(result.type.element_type)
    if isinstance(op, tensor.SplatOp):
        return np.full(_shape(result.type, operands[1:]), operands[0], kind)
    return unset(_shape(result.type, operands), kind)


def _shape(type: Attribute, sizes: Sequence[Array]) -> tuple[int, ...]:
    """The extents of a tensor type; the dynamic ones are the next of `sizes`."""
    return tuple(_mixed(_static_shape(type), sizes))


def _mixed(static: Iterable[int], dynamic: Iterable[Array]) -> list[int]:
    rest = iter(dynamic)
    return [int(next(rest)) if n == DYNAMIC_INDEX else int(n) for n in static]


def _insert(op: tensor.InsertSliceOp, values: Mapping[SSAValue, Array]) -> Array:
    source, result = values[op.source], values[op.dest].copy()
    attributes: list[tuple[DenseArrayBase[Any], Sequence[SSAValue]]] = [
        (op.static_offsets, op.offsets), (op.static_sizes, op.sizes), (op.static_strides, op.strides),
    ]  # fmt: skip
    starts, sizes, steps = (_mixed(static.get_values(), [values[x] for x in xs]) for static, xs in attributes)
    if tuple(sizes) != source.shape:
        raise InternalError(f"interpret: tensor.insert_slice of {source.shape} into a window of {sizes}")
    for start, size, step, extent in zip(starts, sizes, steps, result.shape, strict=True):
        if size and not (start >= 0 and step > 0 and start + (size - 1) * step < extent):
            raise InternalError(f"interpret: window {start} + {size}·{step} leaves an axis of {extent}")
    window = tuple(
        slice(start, start + size * step, step) for start, size, step in zip(starts, sizes, steps, strict=True)
    )
    result[window] = source
    return result


def _scatter(op: ScatterOp, dest: Array, source: Array, *indices: Array) -> Array:
    axes, start = op.axes.get_values(), op.start.value.data
    for axis, index in zip(axes, indices, strict=True):
        extent = dest.shape[axis]
        if index.size and not (index.min() >= -extent and index.max() < extent):
            raise InternalError(f"interpret: aot.scatter to {index.min()} to {index.max()} on an axis of {extent}")
    count = source.ndim - dest.ndim + len(axes)
    others = iter([axis for axis in range(source.ndim) if not start <= axis < start + count])
    counters = np.indices(source.shape)
    batch = source.shape[start : start + count]
    named = {
        axis: np.broadcast_to(np.broadcast_to(i, batch).reshape(_around(batch, start, source.ndim)), source.shape)
        for axis, i in zip(axes, indices, strict=True)
    }
    positions = tuple(named[axis] if axis in named else counters[next(others)] for axis in range(dest.ndim))
    result = dest.copy()
    if op.kind.data == "add":
        np.add.at(result, positions, source)
    else:
        result[positions] = source
    return result


def _nonzero(mask: Array, count: Array) -> Sequence[Array]:
    positions = np.nonzero(mask)
    if len(positions[0]) != int(count):
        raise InternalError(f"interpret: aot.nonzero of {len(positions[0])} elements into vectors of {count}")
    return positions


def _around(batch: Sequence[int], start: int, rank: int) -> tuple[int, ...]:
    """The shape of the indices with `start` axes of extent 1 before them, and further ones after them up to `rank`."""
    return (1,) * start + tuple(batch) + (1,) * (rank - start - len(batch))

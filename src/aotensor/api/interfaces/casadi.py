"""CasADi: a function of matrices and its derivatives, as functions of flat vectors of entries."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from aotensor.api.function import Function
from aotensor.api.interfaces.derivatives import NO_DERIVATIVE
from aotensor.codegen.abi.casadi import Block, CasadiLayer, Slot
from aotensor.core.types import TensorType
from aotensor.densities.density import pieces, raveled
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import Lop, Rop, jacobian
from aotensor.graph.variable import Variable
from aotensor.graph.walk import replace
from aotensor.ops.symbols import vector
from aotensor.sparse.construct.create import csm_data, csm_indices, csm_indptr


@dataclass(frozen=True)
class Entry:
    """An input or output: rows and columns, the vector of its entries (None: has none), and its pattern."""

    name: str
    shape: tuple[int, int]
    values: Variable | None
    pattern: tuple[int, ...]


def dense(name: str, shape: tuple[int, int], values: Variable) -> Entry:
    """One with all entries, in column-major order."""
    rows, columns = shape
    pointers = [rows * k for k in range(columns + 1)]
    return Entry(name, shape, values, (rows, columns, *pointers, *(i for _ in range(columns) for i in range(rows))))


def empty(name: str, shape: tuple[int, int]) -> Entry:
    """One without entries."""
    return Entry(name, shape, None, (*shape, *[0] * (shape[1] + 1)))


def for_casadi(functions: Sequence[Function], library: str) -> tuple[list[Function], CasadiLayer]:
    """Each function with its Jacobian, one forward and one adjoint derivative, and the Jacobian of the latter.

    Raises: GraphTypeError for arguments that are no float64 matrices of static shape, GraphValueError for functions
    with shared variables
    """
    made: list[Function] = []
    blocks: list[Block] = []
    for f in functions:
        if f.state:
            raise GraphValueError(
                f"abi casadi: {f.name} has shared variables, {', '.join(f.state)}", hint="make them inputs"
            )
        shapes = {key: _shape(f.name, key, x) for key, x in (*f.arguments.items(), *f.results.items())}
        flat = {key: vector(key, dtype="float64", shape=(prod(shapes[key]),)) for key in f.arguments}
        full = {
            x: next(pieces(flat[key], [(tuple(map(int, x.type.shape)), prod(shapes[key]))]))
            for key, x in f.arguments.items()
        }
        inputs = [dense(key, shapes[key], flat[key]) for key in f.arguments]
        values = replace(list(f.results.values()), full)
        outputs = [dense(key, shapes[key], raveled(y)) for key, y in zip(f.results, values, strict=True)]
        chosen = [_own_block(f, inputs, outputs) or _block(f.name, inputs, outputs, made, is_needed=True)]
        for make in (_jacobian, _forward, _adjoint, _jacobian_of_adjoint):
            # a derivative that is not there is a symbol that is not there
            with suppress(*NO_DERIVATIVE):
                chosen.append(_block(*make(f.name, inputs, outputs), made))
        blocks += chosen
    return made, CasadiLayer(tuple(blocks), tuple(f.name for f in functions))


def _own_block(f: Function, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> Block | None:
    """A block of the function itself, if all of its matrices are column-major; None if it needs another one."""
    slots = []
    for entries, values, turned in (
        (inputs, f.arguments, f.column_arguments),
        (outputs, f.results, f.column_results),
    ):
        keyed = list(zip(entries, values.items(), strict=True))
        if any(1 not in entry.shape and key not in turned for entry, (key, _) in keyed):
            return None
        slots.append(tuple(Slot(x.name, x.pattern, True, tuple(map(int, y.type.shape))) for x, (_, y) in keyed))
    return Block(f.name, f.name, slots[0], slots[1], is_needed=True)


def _shape(function: str, key: str, x: Variable) -> tuple[int, int]:
    """Rows and columns; a vector is a column.   Raises: GraphTypeError"""
    kind = x.type
    extents = [n for n in kind.shape if isinstance(n, int)]
    is_dense = isinstance(kind, TensorType) and not x.is_sparse
    if not is_dense or kind.dtype != "float64" or kind.ndim > 2 or len(extents) != kind.ndim:
        raise GraphTypeError(
            f"abi casadi: {key} of {function} is {kind}, not a dense float64 matrix of static shape",
            hint=f"give its extents as numbers: at.matrix({key!r}, shape=(3, 2))",
        )
    rows, columns = (*extents, 1, 1)[:2]
    return rows, columns


def _block(
    name: str, inputs: Sequence[Entry], outputs: Sequence[Entry], made: list[Function], is_needed: bool = False
) -> Block:
    """A block, whose function is added to `made`."""
    given = [x.values for x in inputs if x.values is not None]
    results = {f"out_{k}": y.values for k, y in enumerate(outputs) if y.values is not None}
    f = Function(given, results, name=f"{name}_flat", on_unused_input="ignore")
    f.doc = f"{name} for CasADi, on entries in column-major order"
    made.append(f)
    slots = [tuple(Slot(x.name, x.pattern, x.values is not None) for x in entries) for entries in (inputs, outputs)]
    return Block(name, f.name, slots[0], slots[1], is_needed)


_Parts: TypeAlias = tuple[str, list[Entry], list[Entry]]
"""Name, inputs and outputs of a block."""


def _nominal(outputs: Sequence[Entry]) -> list[Entry]:
    """The arguments by which CasADi passes values that are known: ours have no use for them."""
    return [empty(f"out_{y.name}", y.shape) for y in outputs]


def _jacobian(name: str, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> _Parts:
    return f"jac_{name}", [*inputs, *_nominal(outputs)], _jacobians(inputs, outputs)


def _forward(name: str, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> _Parts:
    seeds = [_seed("fwd", x) for x in inputs]
    xs, ys = [x.values for x in inputs], [y.values for y in outputs]
    pushed = Rop(ys, xs, [x.values for x in seeds], disconnected_outputs="ignore")
    results = [dense(f"fwd_{y.name}", y.shape, v) for y, v in zip(outputs, pushed, strict=True)]
    return f"fwd1_{name}", [*inputs, *_nominal(outputs), *seeds], results


def _adjoint(name: str, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> _Parts:
    seeds = [_seed("adj", y) for y in outputs]
    xs, ys = [x.values for x in inputs], [y.values for y in outputs]
    pulled = Lop(ys, xs, [y.values for y in seeds], disconnected_inputs="ignore")
    results = [dense(f"adj_{x.name}", x.shape, v) for x, v in zip(inputs, pulled, strict=True)]
    return f"adj1_{name}", [*inputs, *_nominal(outputs), *seeds], results


def _jacobian_of_adjoint(name: str, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> _Parts:
    return _jacobian(*_adjoint(name, inputs, outputs))


def _seed(kind: str, x: Entry) -> Entry:
    name = f"{kind}_{x.name}"
    return dense(name, x.shape, vector(name, dtype="float64", shape=(prod(x.shape),)))


def _jacobians(inputs: Sequence[Entry], outputs: Sequence[Entry]) -> list[Entry]:
    """The block of each output and input, the inputs running fastest, with its true pattern."""
    found = []
    for y in outputs:
        for x in inputs:
            name, shape = f"jac_{y.name}_{x.name}", (prod(y.shape), prod(x.shape))
            found.append(empty(name, shape) if x.values is None else _sparse(name, shape, y.values, x.values))
    return found


def _sparse(name: str, shape: tuple[int, int], y: Any, x: Any) -> Entry:
    matrix = jacobian(y, x, disconnected_inputs="ignore", sparse=True)
    data, indices, indptr = csm_data(matrix), csm_indices(matrix).eval({}), csm_indptr(matrix).eval({})
    rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
    order = np.lexsort((rows, indices))  # of entries by columns
    if not len(order):
        return empty(name, shape)
    pointers = np.concatenate([[0], np.cumsum(np.bincount(indices, minlength=shape[1]))])
    return Entry(name, shape, data[order], (*shape, *map(int, pointers), *map(int, rows[order])))

"""CasADi: turn a function of matrices and its derivatives into functions of vectors of stored entries."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from aotensor.api.function import Function
from aotensor.api.interfaces.checks import refuse_state, static_shape
from aotensor.api.interfaces.derivatives import NO_DERIVATIVE
from aotensor.codegen.abi.casadi import Block, CasadiLayer, Slot
from aotensor.core.types import Array, TensorType
from aotensor.densities.density import pieces, raveled
from aotensor.errors import GraphTypeError
from aotensor.gradient import Lop, Rop, jacobian
from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Variable
from aotensor.graph.walk import replace
from aotensor.ops.shape.broadcast import specify_shape
from aotensor.ops.symbols import vector
from aotensor.sparse.construct.create import csm_data, csm_indices, csm_indptr
from aotensor.sparse.construct.declared_pattern import with_values
from aotensor.sparse.construct.pattern import constant_values, not_constant, pattern_parts


@dataclass(frozen=True)
class Entry:
    """An input or output: rows and columns, the vector of its entries (None without entries), and its pattern."""

    name: str
    shape: tuple[int, int]
    values: Variable | None
    pattern: tuple[int, ...]

    @property
    def length(self) -> int:
        """The number of stored entries."""
        return self.pattern[2 + self.shape[1]]

    @property
    def positions(self) -> Array:
        """Positions of the stored entries among all elements in column-major order."""
        pointers = np.array(self.pattern[2 : 3 + self.shape[1]])
        columns = np.repeat(np.arange(self.shape[1]), np.diff(pointers))
        found: Array = columns * self.shape[0] + np.array(self.pattern[3 + self.shape[1] :], dtype="int64")
        return found


def dense(name: str, shape: tuple[int, int], values: Variable) -> Entry:
    """An entry of a dense matrix, in column-major order."""
    rows, columns = shape
    pointers = [rows * k for k in range(columns + 1)]
    return Entry(name, shape, values, (rows, columns, *pointers, *(i for _ in range(columns) for i in range(rows))))


def empty(name: str, shape: tuple[int, int]) -> Entry:
    """An entry of a matrix without stored entries."""
    return Entry(name, shape, None, (*shape, *[0] * (shape[1] + 1)))


def sparse(name: str, shape: tuple[int, int], values: Variable, rows: Array, columns: Array) -> Entry:
    """An entry of a sparse matrix, whose stored entries are given by columns."""
    pointers = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=shape[1]))])
    return Entry(name, shape, values, (*shape, *map(int, pointers), *map(int, rows)))


def for_casadi(functions: Sequence[Function], library: str) -> tuple[list[Function], CasadiLayer]:
    """Each function with its Jacobian, one forward and one adjoint derivative, and the Jacobian of the latter.

    Raises: GraphTypeError for arguments other than float64 matrices of static shape, and sparse ones whose pattern is
    not known; GraphValueError for functions with shared variables
    """
    made: list[Function] = []
    blocks: list[Block] = []
    for f in functions:
        refuse_state("casadi", f.name, f.state)
        inputs, full = [], dict[Variable, Variable]()
        for key, x in f.arguments.items():
            entry, full[x] = _input(f, key, x)
            inputs.append(entry)
        values = replace(list(f.results.values()), full)
        outputs = [_output(f.name, key, y) for key, y in zip(f.results, values, strict=True)]
        chosen = [_own_block(f, inputs, outputs) or _block(f.name, inputs, outputs, made, is_needed=True)]
        for make in (_jacobian, _forward, _adjoint, _jacobian_of_adjoint):
            # a derivative that is not there is a symbol that is not there
            with suppress(*NO_DERIVATIVE):
                chosen.append(_block(*make(f.name, inputs, outputs), made))
        blocks += chosen
    return made, CasadiLayer(tuple(blocks), tuple(f.name for f in functions))


def _input(f: Function, key: str, x: Variable) -> tuple[Entry, Variable]:
    """An input as a vector of its entries, and this vector converted to the type of x.   Raises: as `for_casadi`"""
    shape = _shape(f.name, key, x)
    if not isinstance(x, SparseVariable):
        values = vector(key, dtype="float64", shape=(prod(shape),))
        return dense(key, shape, values), next(pieces(values, [(static_shape(x), prod(shape))]))
    if key not in f.patterned_arguments:
        raise GraphTypeError(
            f"abi casadi: {key} of {f.name} is {x.type}, and CasADi needs the patterns of inputs before a call",
            lines=[x.describe()],
            hint=f"declare it: aot.In({key}, pattern=P), for a SciPy matrix P with all entries that may be stored",
        )
    pattern = f.declared[key].pattern
    rows, columns, order = _by_columns(x.sparse_type.format, pattern.indices, pattern.indptr)
    values = vector(key, dtype="float64", shape=(len(rows),))
    return sparse(key, shape, values, rows, columns), with_values(
        x, pattern, _permute_vector(values, np.argsort(order))
    )


def _output(function: str, key: str, y: Variable) -> Entry:
    """An output as a vector of its entries.   Raises: as `for_casadi`"""
    shape = _shape(function, key, y)
    if not isinstance(y, SparseVariable):
        return dense(key, shape, raveled(y))
    found = constant_values(pattern_parts(y))
    if found is None:
        needed = ", ".join(map(str, not_constant(pattern_parts(y)))) or "a check that fails"
        raise GraphTypeError(
            f"abi casadi: the pattern of {key}, an output of {function}, depends on {needed}, and CasADi needs it "
            "before a call",
            lines=[y.describe()],
            hint=f"make it dense: sp.dense_from_sparse({key})",
        )
    indptr, indices, _ = found
    rows, columns, order = _by_columns(y.sparse_type.format, indices, indptr)
    return sparse(key, shape, _permute_vector(csm_data(y), order), rows, columns)


def _by_columns(format: str, indices: Array, indptr: Array) -> tuple[Array, Array, Array]:
    """Rows and columns of the entries of a CSR or CSC matrix by columns, and the order that sorts them so."""
    majors = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    rows, columns = (indices, majors) if format == "csc" else (majors, indices)
    order = np.lexsort((rows, columns))
    return rows[order], columns[order], order


def _permute_vector(x: Variable, order: Array) -> Variable:
    """The elements of a vector in a constant order, with their number in the type."""
    is_same = x.static_shape == order.shape and np.array_equal(order, np.arange(len(order)))
    return x if is_same else x[order]


def _own_block(f: Function, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> Block | None:
    """The block that calls the function directly, if all arguments are vectors or column-major matrices, else None."""
    slots = []
    for entries, values, turned in (
        (inputs, f.arguments, f.column_arguments),
        (outputs, f.results, f.column_results),
    ):
        keyed = list(zip(entries, values.items(), strict=True))
        if any(y.is_sparse or (1 not in entry.shape and key not in turned) for entry, (key, y) in keyed):
            return None
        slots.append(tuple(Slot(x.name, x.pattern, True, tuple(map(int, y.type.shape))) for x, (_, y) in keyed))
    return Block(f.name, f.name, slots[0], slots[1], is_needed=True)


def _shape(function: str, key: str, x: Variable) -> tuple[int, int]:
    """Rows and columns; a vector is a column.   Raises: GraphTypeError"""
    kind = x.type
    extents = [n for n in kind.shape if isinstance(n, int)]
    is_matrix = isinstance(kind, TensorType) and kind.ndim <= 2 and getattr(kind, "format", "csc") != "bsr"
    if not is_matrix or kind.dtype != "float64" or len(extents) != kind.ndim:
        symbol = f"sp.{kind.format}_matrix" if x.is_sparse and is_matrix else "at.matrix"
        raise GraphTypeError(
            f"abi casadi: {key} of {function} is {kind}, not a float64 matrix of static shape, dense, CSR or CSC",
            lines=[x.describe()],
            hint=f"give its extents as numbers: {symbol}({key!r}, shape=(3, 2))",
        )
    rows, columns = (*extents, 1, 1)[:2]
    return rows, columns


def _block(
    name: str, inputs: Sequence[Entry], outputs: Sequence[Entry], made: list[Function], is_needed: bool = False
) -> Block:
    """Make a block, and add its function to `made`."""
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
    """The arguments in which CasADi passes the function's outputs to a derivative, which does not read them."""
    return [empty(f"out_{y.name}", y.shape) for y in outputs]


def _jacobian(name: str, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> _Parts:
    return f"jac_{name}", [*inputs, *_nominal(outputs)], _jacobians(inputs, outputs)


def _forward(name: str, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> _Parts:
    seeds = [_seed("fwd", x) for x in inputs]
    xs, ys = [x.values for x in inputs], [y.values for y in outputs]
    pushed = Rop(ys, xs, [x.values for x in seeds], disconnected_outputs="ignore")
    results = [_like("fwd", y, v) for y, v in zip(outputs, pushed, strict=True)]
    return f"fwd1_{name}", [*inputs, *_nominal(outputs), *seeds], results


def _adjoint(name: str, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> _Parts:
    seeds = [_seed("adj", y) for y in outputs]
    xs, ys = [x.values for x in inputs], [y.values for y in outputs]
    pulled = Lop(ys, xs, [y.values for y in seeds], disconnected_inputs="ignore")
    results = [_like("adj", x, v) for x, v in zip(inputs, pulled, strict=True)]
    return f"adj1_{name}", [*inputs, *_nominal(outputs), *seeds], results


def _jacobian_of_adjoint(name: str, inputs: Sequence[Entry], outputs: Sequence[Entry]) -> _Parts:
    return _jacobian(*_adjoint(name, inputs, outputs))


def _seed(kind: str, x: Entry) -> Entry:
    return _like(kind, x, vector(f"{kind}_{x.name}", dtype="float64", shape=(x.length,)))


def _like(kind: str, x: Entry, values: Variable) -> Entry:
    """The entry of a derivative with the pattern of x."""
    return Entry(f"{kind}_{x.name}", x.shape, specify_shape(values, (x.length,)), x.pattern)


def _jacobians(inputs: Sequence[Entry], outputs: Sequence[Entry]) -> list[Entry]:
    """The Jacobian block of each pair of output and input, with its true pattern; inputs vary fastest."""
    found = []
    for y in outputs:
        for x in inputs:
            name, shape = f"jac_{y.name}_{x.name}", (prod(y.shape), prod(x.shape))
            found.append(_derivative(name, shape, y, x))
    return found


def _derivative(name: str, shape: tuple[int, int], y: Entry, x: Entry) -> Entry:
    if y.values is None or x.values is None:
        return empty(name, shape)
    matrix: Any = jacobian(y.values, x.values, disconnected_inputs="ignore", sparse=True)
    indices, indptr = csm_indices(matrix).eval({}), csm_indptr(matrix).eval({})
    rows, columns, order = _by_columns(matrix.type.format, indices, indptr)
    if not len(order):
        return empty(name, shape)
    return sparse(name, shape, _permute_vector(csm_data(matrix), order), y.positions[rows], x.positions[columns])

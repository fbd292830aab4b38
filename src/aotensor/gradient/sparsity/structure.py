"""Jacobian sparsity: which elements of an expression depend on which elements of a variable, propagated node by node.

D[v] is a bool matrix with a row per element of v and a column per element of the variable. A node's rows are unions of
rows of its inputs: the same element for elementwise ops, one for copies, the summed ones for sums. An op without a rule
depends on all of its inputs. Values are not used, except those of constants, such as the positions of a gather.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import Array
from aotensor.errors import GraphValueError, UnsupportedError
from aotensor.graph.expansion import expanded_once
from aotensor.graph.op import Apply
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.graph.variable import Constant, SharedVariable, Variable
from aotensor.graph.walk import leaves, toposort
from aotensor.ops.batching import AxisOp
from aotensor.ops.complex.parts import FromParts, Part
from aotensor.ops.contract import Contract
from aotensor.ops.convolution.op import ROLES, Convolution
from aotensor.ops.create import Alloc, FullLike
from aotensor.ops.diagonal import AllocDiagonal, ExtractDiagonal, Triangle
from aotensor.ops.elementwise.arithmetic import mul, true_div
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.elementwise.compare import switch
from aotensor.ops.gradient_control import ViewOp
from aotensor.ops.index import IncSubtensor, Subtensor
from aotensor.ops.integer_indexing import AdvancedSubtensor, IncAdvancedSubtensor
from aotensor.ops.linear import ConstantOp, DiscreteOp
from aotensor.ops.permute_rows import PermuteRowElements
from aotensor.ops.reduce.cumulate import CumProd, CumSum
from aotensor.ops.reduce.recurrence import LinearRecurrence, Shift
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.broadcast import SpecifyShape
from aotensor.ops.shape.extent_checks import ExtentCheck
from aotensor.ops.shape.inference import Inference, LeafFacts
from aotensor.ops.shape.join import Join, Split
from aotensor.ops.shape.reshape import Reshape
from aotensor.sparse.checks import CheckedStructure
from aotensor.sparse.compressed_axes import ExpandSlices, SegmentSum, SumAt, TakeAt, TakePresent

_COPIES: Final = (
    DimShuffle, Reshape, Subtensor, AdvancedSubtensor, Alloc, FullLike, SpecifyShape, ExtractDiagonal, AllocDiagonal,
    Triangle, Split, Join, Shift, TakeAt, TakePresent, ExpandSlices, PermuteRowElements, ExtentCheck, CheckedStructure,
)  # fmt: skip
"""Ops whose outputs consist of elements of their floating inputs, and zeros."""

LARGEST_PRODUCT: Final = 1 << 26  # largest number of index tuples of a contraction that are enumerated


def structure_of(expression: Variable, x: Variable) -> Any:
    """(expression.size, x.size) CSR matrix of bool: the Jacobian elements that may differ from 0, in C order of both.

    Raises: GraphValueError unless all extents in between are known, with numbers for those of the leaves.
    """
    outputs, is_changed = [expression], True
    while is_changed:
        outputs, is_changed = expanded_once(outputs, [x])
    return _Structure(outputs[0], x).run()


class _Structure:
    def __init__(self, expression: Variable, x: Variable) -> None:
        self.expression, self.x = expression, x
        self.sparse = scipy_sparse()
        self.values = Inference(self._leaves())
        self.depends: dict[Variable, Any] = {}

    def run(self) -> Any:
        self.values.run([self.expression])
        size = math.prod(self._shape(self.x))
        self.depends[self.x] = self.sparse.identity(size, dtype=bool, format="csr")
        for node in toposort([self.expression], stop=[self.x]):
            if any(v in self.depends for v in node.inputs):
                self.depends.update(self._propagate(node))
        found = self.depends.get(self.expression)
        if found is None:
            found = self.sparse.csr_matrix((math.prod(self._shape(self.expression)), size), dtype=bool)
        found.sort_indices()
        return found

    def _leaves(self) -> dict[Variable, LeafFacts]:
        """Extents of x and of all leaves that are not constants; x counts as unknown even if it is a constant."""
        found: dict[Variable, LeafFacts] = {}
        for leaf in {**dict.fromkeys(leaves([self.expression], stop=[self.x])), self.x: None}:
            if isinstance(leaf, Constant) and leaf is not self.x:
                continue
            shape = leaf.get_value(borrow=True).shape if isinstance(leaf, SharedVariable) else leaf.static_shape
            if leaf.is_sparse:
                raise GraphValueError(
                    f"the sparsity of a Jacobian depends on the pattern of {leaf}",
                    lines=[leaf.describe()],
                    hint="make it a constant: aotensor.sparse.as_sparse of a SciPy matrix, or pass pattern=",
                )
            if None in shape:
                raise _needs_extents(leaf)
            found[leaf] = LeafFacts(shape)
        return found

    def _shape(self, v: Variable) -> tuple[int, ...]:
        """The extents of a value.   Raises: GraphValueError if they depend on unknown values"""
        shape = self.values.extents_of(v)
        if None in shape:
            raise _needs_extents(v)
        return tuple(n for n in shape if n is not None)

    def _value(self, v: Variable) -> Array:
        value = self.values.value(v)
        assert value is not None, f"{v} is not known"
        return value

    def _propagate(self, node: Apply) -> dict[Variable, Any]:
        """The dependence matrices of the outputs of a node that depends on x."""
        op = node.op
        if isinstance(op, ConstantOp | DiscreteOp):
            return {}
        live = [y for y in node.outputs if dtypes.is_inexact(y.dtype)]
        if isinstance(op, Elementwise | ViewOp | Part) or op == FromParts():
            return {y: self._elementwise(node, y) for y in live}
        if isinstance(op, _COPIES) and self._has_constant_indices(node):
            return self._copied(node, live)
        if isinstance(op, SegmentSum | SumAt) and self.values.knows(node.inputs[1]):
            return {live[0]: self._summed_at(node)}
        if isinstance(op, IncSubtensor | IncAdvancedSubtensor) and self._has_constant_indices(node, 2):
            return {live[0]: self._increased(node)}
        if isinstance(op, Contract):
            return {y: self._contracted(node, op) for y in live}
        if isinstance(op, Convolution):
            return {y: self._convolved(node, op) for y in live}
        if isinstance(op, CumSum | CumProd | LinearRecurrence) and self._is_small_triangle(node):
            return {y: self._running(node) for y in live}
        if isinstance(op, AxisOp) and len({self._shape(v) for v in node.inputs}) == 1:
            return {y: self._along_axes(node, y) for y in live}
        return {y: self._all_of(node, y) for y in live}

    def _inputs(self, node: Apply) -> list[Variable]:
        return [v for v in node.inputs if v in self.depends]

    def _has_constant_indices(self, node: Apply, first: int = 1) -> bool:
        """Are the values of all integer operands (extents, positions) known?"""
        return all(self.values.knows(v) or dtypes.is_inexact(v.dtype) for v in node.inputs)

    # --- rules ---------------------------------------------------------------------------------------------------

    def _elementwise(self, node: Apply, y: Variable) -> Any:
        """Dependence of an elementwise op: none on factors and divisors of a constant 0, and on operands not chosen."""
        parts = []
        for position, v in enumerate(node.inputs):
            if v in self.depends:
                numbers = self._broadcast_numbers(v, y)
                if (unused := self._unused(node, position)) is not None:
                    numbers = np.where(np.broadcast_to(unused, self._shape(y)).ravel(), -1, numbers)
                parts.append(self._rows(v, numbers))
        return self._union(parts)

    def _unused(self, node: Apply, position: int) -> Array | None:
        """Where a constant operand removes the influence of another one; None if no constant does."""
        if node.op == mul:
            known = [v for k, v in enumerate(node.inputs) if k != position and self.values.knows(v)]
            return np.equal(self._value(known[0]), 0) if known else None
        if node.op == true_div and position == 1 and self.values.knows(node.inputs[0]):
            return np.equal(self._value(node.inputs[0]), 0)
        if node.op == switch and self.values.knows(node.inputs[0]):
            is_first: Array = np.not_equal(self._value(node.inputs[0]), 0)
            return ~is_first if position == 1 else is_first
        return None

    def _broadcast_numbers(self, v: Variable, y: Variable) -> Array:
        """For each element of y, the C-order number of the element of v that broadcasting reads for it."""
        return np.broadcast_to(_numbered(self._shape(v)), self._shape(y)).ravel()

    def _copied(self, node: Apply, live: Sequence[Variable]) -> dict[Variable, Any]:
        """Dependence of an op that copies elements, evaluated on element numbers; 0 marks elements independent of x."""
        operands: list[Array] = []
        sources: list[Variable] = []
        first = 1
        for v in node.inputs:
            if v in self.depends:
                operands.append(_numbered(self._shape(v), first))
                sources.append(v)
                first += operands[-1].size
            else:
                operands.append(np.zeros(self._shape(v), np.int64) if dtypes.is_inexact(v.dtype) else self._value(v))
        found = node.op.reference(*operands)
        outputs = found if isinstance(found, tuple | list) else (found,)
        rows = self.sparse.vstack([self.depends[v] for v in sources], format="csr")
        named = dict(zip(node.outputs, outputs, strict=True))
        return {y: _select_rows(rows, np.asarray(named[y]).astype(np.int64).ravel() - 1) for y in live}

    def _summed_at(self, node: Apply) -> Any:
        v, nondifferentiable, _ = node.inputs
        count, positions = self._shape(v)[0], self._value(nondifferentiable)
        if isinstance(node.op, SegmentSum):
            positions = np.repeat(np.arange(len(positions) - 1), np.diff(positions))
        shape = self._shape(node.outputs[0])
        behind = math.prod(shape[1:])
        target = (positions[:count, None] * behind + np.arange(behind)).ravel()
        return self._union_by_target(target, self.depends[v], math.prod(shape))

    def _increased(self, node: Apply) -> Any:
        """Dependence of x with y assigned or added at a window."""
        x, y, *nondifferentiable = node.inputs
        op: Any = node.op
        numbers = _numbered(self._shape(x))
        view = Subtensor(op.entries) if isinstance(op, IncSubtensor) else AdvancedSubtensor(op.axes)
        window = np.asarray(view.reference(numbers, *(self._value(v) for v in nondifferentiable)))
        parts = []
        if x in self.depends:
            kept = numbers.flatten()
            if op.is_set:
                kept[window.ravel()] = -1
            parts.append(self._rows(x, kept))
        if y in self.depends:
            rows = self._rows(y, np.broadcast_to(_numbered(self._shape(y)), window.shape).ravel())
            parts.append(self._union_by_target(window.ravel(), rows, numbers.size))
        return self._union(parts)

    def _contracted(self, node: Apply, op: Contract) -> Any:
        left, right, out = op.parts()
        parts = []
        for v, own, other, letters in zip(node.inputs, (left, right), node.inputs[::-1], (right, left), strict=True):
            if v not in self.depends:
                continue
            every = list(dict.fromkeys([*out, *own, *(letters if self.values.knows(other) else "")]))
            extents = [*self._shape(node.inputs[0]), *self._shape(node.inputs[1])]
            sizes = dict(zip([*left, *right], extents, strict=True))
            shape = [sizes[letter] for letter in every]
            if math.prod(shape) > LARGEST_PRODUCT:
                return self._all_of(node, node.outputs[0])
            index = dict(zip(every, np.indices(shape, dtype=np.int64).reshape(len(shape), -1), strict=True))
            used = np.ones(math.prod(shape), bool)
            if self.values.knows(other):
                used = np.broadcast_to(self._value(other)[tuple(index[letter] for letter in letters)] != 0, used.shape)
            target, source = (
                _number([index[letter][used] for letter in some], [sizes[letter] for letter in some], int(used.sum()))
                for some in (out, own)
            )
            parts.append(
                self._union_by_target(target, self._rows(v, source), math.prod(sizes[letter] for letter in out))
            )
        return self._union(parts)

    def _convolved(self, node: Apply, op: Convolution) -> Any:
        """Dependence of a sum of products; elements whose factor is a constant 0 do not count."""
        a, b = op.roles()
        shapes = {a: self._shape(node.inputs[0]), b: self._shape(node.inputs[1]), op.role: self._shape(node.outputs[0])}
        if any(math.prod(shapes[role]) == 0 for role in ROLES):
            return self._all_of(node, node.outputs[0])
        count = math.prod(shapes["filters"]) * math.prod(shapes["output"]) // math.prod(shapes["output"][1:2])
        if count > LARGEST_PRODUCT:
            return self._all_of(node, node.outputs[0])
        parts = []
        for v, other, own, factor in zip(node.inputs, node.inputs[1::-1], (a, b), (b, a), strict=False):
            if v not in self.depends:
                continue
            pairs: list[list[Array]] = [[], []]
            for numbers in op.products(shapes):
                flat = {role: one.ravel() for role, one in zip(ROLES, numbers, strict=True)}
                used = self._value(other).ravel()[flat[factor]] != 0 if self.values.knows(other) else slice(None)
                for found, role in zip(pairs, (op.role, own), strict=True):
                    found.append(flat[role][used])
            target, source = map(np.concatenate, pairs)
            parts.append(self._union_by_target(target, self._rows(v, source), math.prod(shapes[op.role])))
        return self._union(parts)

    def _is_small_triangle(self, node: Apply) -> bool:
        """May the pairs of a running operation be enumerated?"""
        op: Any = node.op
        shapes = {self._shape(v) for v in (*node.inputs, *node.outputs)}
        return len(shapes) == 1 and math.prod(shape := shapes.pop()) * (shape[op.axis] + 1) // 2 <= LARGEST_PRODUCT

    def _running(self, node: Apply) -> Any:
        """Dependence on the earlier elements along an axis, or the later ones, and on the element unless exclusive."""
        op: Any = node.op
        shape = self._shape(node.outputs[0])
        moved = np.moveaxis(_numbered(shape), op.axis, -1)
        lines = moved.reshape(math.prod(moved.shape[:-1]), shape[op.axis])
        offset = -1 if getattr(op, "exclusive", False) else 0
        pairs = np.triu_indices(shape[op.axis], -offset) if op.reverse else np.tril_indices(shape[op.axis], offset)
        target, source = (lines[:, places].ravel() for places in pairs)
        size = math.prod(shape)
        sums = self.sparse.csr_matrix((np.ones(len(target), bool), (target, source)), shape=(size, size))
        return self._union([(sums @ self.depends[v]).astype(bool) for v in self._inputs(node)])

    def _along_axes(self, node: Apply, y: Variable) -> Any:
        """Dependence of y if each element depends on all input elements at the same position of the other axes."""
        op: Any = node.op
        shape = self._shape(node.inputs[0])
        axes = {axis % len(shape) for axis in (op.axes if hasattr(op, "axes") else (op.axis,))}
        kept = [1 if axis in axes else n for axis, n in enumerate(shape)]
        lines = np.arange(math.prod(kept)).reshape(kept)
        line_of_input = np.broadcast_to(lines, shape).ravel()
        found = self._shape(y)
        if found not in (shape, tuple(n for axis, n in enumerate(shape) if axis not in axes)):
            return self._all_of(node, y)
        line_of_output = np.broadcast_to(lines, shape).ravel() if found == shape else lines.ravel()
        parts = [self._union_by_target(line_of_input, self.depends[v], lines.size) for v in self._inputs(node)]
        return _select_rows(self._union(parts), line_of_output)

    def _all_of(self, node: Apply, y: Variable) -> Any:
        """Dependence of y if every element depends on all elements of all inputs."""
        every = self._union([self._union_by_target(np.zeros(math.prod(self._shape(v)), np.int64), self.depends[v], 1)
                             for v in self._inputs(node)])  # fmt: skip
        return _select_rows(every, np.zeros(math.prod(self._shape(y)), np.int64))

    # --- rows ----------------------------------------------------------------------------------------------------

    def _rows(self, v: Variable, numbers: Array) -> Any:
        return _select_rows(self.depends[v], numbers)

    def _union_by_target(self, target: Array, rows: Any, count: int) -> Any:
        """(count, …): row k is the union of the rows with target k."""
        ones = np.ones(len(target), bool)
        shape = (count, len(target))
        return (self.sparse.csr_matrix((ones, (target, np.arange(len(target)))), shape=shape) @ rows).astype(bool)

    def _union(self, parts: Sequence[Any]) -> Any:
        total = parts[0]
        for part in parts[1:]:
            total = (total + part).astype(bool)
        return total


def _needs_extents(v: Variable) -> GraphValueError:
    return GraphValueError(
        f"the sparsity of a Jacobian needs the extents of {v}",
        lines=[v.describe()],
        hint="give it shape=(numbers), or pass pattern=",
    )


def _numbered(shape: Sequence[int], first: int = 0) -> Array:
    """The integers from `first` on, in C order, as an array of this shape."""
    return np.arange(first, first + math.prod(shape), dtype=np.int64).reshape(shape)


def _select_rows(rows: Any, numbers: Array) -> Any:
    """Select rows of a matrix by number; −1 selects an empty row."""
    if len(numbers) and numbers.min() < 0:
        sparse = scipy_sparse()
        rows = sparse.vstack([rows, sparse.csr_matrix((1, rows.shape[1]), dtype=bool)], format="csr")
    return rows[numbers]


def _number(indices: Sequence[Array], extents: Sequence[int], count: int) -> Array:
    """C-order numbers of `count` index tuples: 0 for a scalar, whose tuples are empty."""
    if not indices or count == 0:
        return np.zeros(count, np.int64)
    return np.ravel_multi_index(tuple(indices), tuple(extents))


def checked_pattern(pattern: Any, shape: Sequence[int | None]) -> Any:
    """Convert a user's pattern to a bool CSR matrix of its stored entries.

    Raises: GraphValueError for another shape; UnsupportedError for anything but a matrix.
    """
    if not hasattr(pattern, "tocsr"):
        raise UnsupportedError("pattern must be a SciPy sparse matrix")
    if any(n is not None and n != m for n, m in zip(shape, pattern.shape, strict=True)):
        raise GraphValueError(f"pattern must have the shape of the Jacobian, {tuple(shape)}, found {pattern.shape}")
    found = pattern.tocsr().astype(bool)
    found.data[:] = True
    found.sum_duplicates()
    return found

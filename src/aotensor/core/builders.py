"""The builder protocols that ops lower with, which hide the IR library from ops.

`Scalar` and `Tensor` are opaque handles. An extent is an int if it is known at compile time, else an index scalar.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol, Self, TypeAlias


class Scalar(ABC):
    """A scalar SSA value; `dtype` is the name of a dtype, or "index" for extents and loop counters.

    Operators emit operations. A Python number becomes a constant of the dtype of the other operand. As in C, `/` and
    `%` of integers truncate; `//` of indices rounds down. `==` compares handles; `builder.compare("eq", x, y)` values.
    """

    dtype: str
    __slots__ = ()
    __array_ufunc__: ClassVar[None] = None  # NumPy's numbers let the operators below decide

    @abstractmethod
    def operate(self, verb: str, *operands: Any) -> Self:
        """Emit a method of `ScalarBuilder`, or a comparison by its predicate, on one or two operands."""

    def __add__(self, other: Scalar | float) -> Self:
        return self.operate("add", self, other)

    def __radd__(self, other: Scalar | float) -> Self:
        return self.operate("add", other, self)

    def __sub__(self, other: Scalar | float) -> Self:
        return self.operate("sub", self, other)

    def __rsub__(self, other: Scalar | float) -> Self:
        return self.operate("sub", other, self)

    def __mul__(self, other: Scalar | float) -> Self:
        return self.operate("mul", self, other)

    def __rmul__(self, other: Scalar | float) -> Self:
        return self.operate("mul", other, self)

    def __truediv__(self, other: Scalar | float) -> Self:
        return self.operate("div", self, other)

    def __rtruediv__(self, other: Scalar | float) -> Self:
        return self.operate("div", other, self)

    def __floordiv__(self, other: Scalar | float) -> Self:
        return self.operate("floordiv", self, other)

    def __rfloordiv__(self, other: Scalar | float) -> Self:
        return self.operate("floordiv", other, self)

    def __mod__(self, other: Scalar | float) -> Self:
        return self.operate("rem", self, other)

    def __neg__(self) -> Self:
        return self.operate("neg", self)

    def __abs__(self) -> Self:
        return self.operate("abs", self)

    def __and__(self, other: Scalar | float) -> Self:
        return self.operate("and_", self, other)

    def __or__(self, other: Scalar | float) -> Self:
        return self.operate("or_", self, other)

    def __xor__(self, other: Scalar | float) -> Self:
        return self.operate("xor", self, other)

    def __invert__(self) -> Self:
        return self.operate("not_", self)

    def __lshift__(self, other: Scalar | float) -> Self:
        return self.operate("shift_left", self, other)

    def __rshift__(self, other: Scalar | float) -> Self:
        """Shift right: arithmetic for signed integers, logical for unsigned ones."""
        return self.operate("shift_right", self, other)

    def __lt__(self, other: Scalar | float) -> Self:
        return self.operate("lt", self, other)

    def __le__(self, other: Scalar | float) -> Self:
        return self.operate("le", self, other)

    def __gt__(self, other: Scalar | float) -> Self:
        return self.operate("gt", self, other)

    def __ge__(self, other: Scalar | float) -> Self:
        return self.operate("ge", self, other)


class Tensor(Protocol):
    """A tensor value of the IR. Rank 0 is a tensor too; `TensorBuilder.item` extracts its scalar."""

    @property
    def dtype(self) -> str: ...
    @property
    def extents(self) -> tuple[Extent, ...]: ...


Extent: TypeAlias = "int | Scalar"
ScalarFunction: TypeAlias = "Callable[..., Any]"
"""(builder, *scalars) → a Scalar, or a tuple of them for several results."""


class ScalarBuilder(Protocol):
    """Scalar operations without an operator, for the body of an elementwise operation, or for the function itself.

    Operands of one operation have one dtype; `cast` converts. Comparisons give bool.
    """

    def constant(self, value: bool | int | float, dtype: str) -> Scalar: ...
    def index(self, value: Extent) -> Scalar: ...
    def as_extent(self, x: Any) -> Extent:
        """Convert an integer or an index value to an extent: an int if it is constant."""
        ...

    def abs(self, x: Any) -> Scalar: ...
    def maximum(self, x: Any, y: Any) -> Scalar: ...
    def minimum(self, x: Any, y: Any) -> Scalar: ...

    def math(self, name: str, x: Any) -> Scalar: ...
    def math2(self, name: str, x: Any, y: Any) -> Scalar: ...
    def special(self, name: str, *operands: Any) -> Scalar: ...

    def compare(self, predicate: str, x: Any, y: Any) -> Scalar: ...
    def select(self, condition: Any, x: Any, y: Any) -> Scalar: ...
    def is_nan(self, x: Any) -> Scalar: ...
    def is_inf(self, x: Any) -> Scalar: ...
    def bitcast(self, x: Any, dtype: str) -> Scalar: ...
    def cast(self, x: Any, dtype: str) -> Scalar: ...

    def iterate(self, start: Sequence[Any], fixed: Sequence[Any], goes_on: ScalarFunction, step: ScalarFunction) -> Any:
        """While loop: values = step(builder, *values, *fixed) while goes_on(builder, *values, *fixed); the last values.

        start: the first values. fixed: loop-invariant operands of both functions, which may capture no other values.
        """
        ...

    # of extents; two ints give an int, so that what is known at compile time stays known
    def imul(self, x: Extent, y: Extent) -> Extent: ...
    def ifloordiv(self, x: Extent, y: Extent) -> Extent: ...
    def imin(self, x: Extent, y: Extent) -> Extent: ...
    def imax(self, x: Extent, y: Extent) -> Extent: ...

    def load(self, x: Tensor, *indices: Extent) -> Scalar:
        """x[indices]; the caller guarantees that they are in bounds."""
        ...

    def load_if(self, condition: Any, x: Tensor, indices: Sequence[Extent], otherwise: Any) -> Scalar:
        """x[indices] where the condition holds, which implies that they are in bounds; otherwise nothing is read."""
        ...


class TensorBuilder(Protocol):
    """Tensor operations. `scalars` builds at function level, for extents and rank-0 values."""

    @property
    def scalars(self) -> ScalarBuilder: ...

    def constant(self, value: Any, dtype: str) -> Tensor:
        """A tensor from a NumPy array or a number."""
        ...

    def item(self, x: Tensor) -> Scalar:
        """The scalar element of a rank-0 tensor."""
        ...

    def from_scalar(self, x: Scalar) -> Tensor:
        """A rank-0 tensor of one element."""
        ...

    def map(self, fn: ScalarFunction, *xs: Tensor, dtype: str | tuple[str, ...]) -> Any:
        """out[…] = fn(builder, x[…], y[…], …) with broadcasting along extents that are the int 1.

        A tuple of dtypes means that fn returns as many scalars; the result is then a list of tensors.
        """
        ...

    def fused(self, body: Any, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The outputs of a subgraph of elementwise ops, in one loop nest."""
        ...

    def tabulate(self, extents: Sequence[Extent], dtype: str, fn: ScalarFunction) -> Tensor:
        """out[i, j, …] = fn(builder, i, j, …), for gathers, slices and patterns; fn reads tensors by `builder.load`."""
        ...

    def reduce(self, kind: str, x: Tensor, axes: Sequence[int], dtype: str | None = None) -> Tensor:
        """Reduce over axes, which are dropped. kind: add mul maximum minimum and or.

        dtype: the accumulator's and the result's; that of x by default. Empty: 0, 1, −inf, +inf, true, false.
        """
        ...

    def arg_reduce(self, kind: str, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        """(extremum, int64 position of the first one) along axis; the first nan wins. kind: maximum minimum."""
        ...

    def contract(self, spec: str, x: Tensor, y: Tensor) -> Tensor:
        """Sum of products by an einsum-like spec of two operands: "ik,kj->ij", "bik,bkj->bij", "i,j->ij"."""
        ...

    def permute(self, x: Tensor, pattern: Sequence[int | None]) -> Tensor:
        """dimshuffle: axis `pattern[k]` of x becomes axis k; None is a new axis. New and dropped axes have extent 1."""
        ...

    def broadcast(self, x: Tensor, extents: Sequence[Extent]) -> Tensor:
        """x repeated to the given extents: missing axes on the left and those of the int 1 are repeated."""
        ...

    def reshape(self, x: Tensor, extents: Sequence[Extent]) -> Tensor:
        """The same elements in C order; the caller checks their number."""
        ...

    def cast(self, x: Tensor, dtype: str) -> Tensor: ...

    def insert(self, x: Tensor, y: Tensor, starts: Sequence[Extent], steps: Sequence[Extent]) -> Tensor:
        """A copy of x with x[start + k·step, …] = y[k, …]; steps are positive and the window lies inside x."""
        ...

    def scatter(
        self, kind: str, x: Tensor, y: Tensor, axes: Sequence[int], indices: Sequence[Tensor], start: int
    ) -> Tensor:
        """A copy of x with y added at (kind "add"), or put to (kind "set"), the positions `indices` along axes.

        indices: integer tensors within the extents of x, negative ones count from the end. They broadcast together
        along extents that are the int 1; y has their axes from axis `start` on, around them the other axes of x in
        order. A position that is named several times gets every term, or the last value, in the order of y's elements.
        """
        ...

    def product_at(self, x: Tensor, y: Tensor, positions: Sequence[Tensor], extents: Sequence[Extent]) -> Tensor:
        """z[zᵍ + zⁱ + zʲ] = Σ_p x[xᵍ + xⁱ + xᵖ]·y[yᵍ + yᵖ + yʲ] in C order, for floats of one dtype.

        positions: nine int64 vectors, of x along g, i and p, of y along g, p and j, of z along g, i and j. The caller
        guarantees that they are in bounds, and cover each element of z, which has these extents, once.
        """
        ...

    def segment_sum(self, x: Tensor, indptr: Tensor, extent: Extent) -> Tensor:
        """y[i, …] = Σ x[p, …] over indptr[i] ≤ p < indptr[i + 1], for i below `extent`; indptr covers x in order."""
        ...

    def expand_slices(self, x: Tensor, indptr: Tensor, extent: Extent) -> Tensor:
        """y[p, …] = x[i, …] for indptr[i] ≤ p < indptr[i + 1], for p below `extent`, which indptr ends with."""
        ...

    def sum_at(self, x: Tensor, indices: Tensor, extent: Extent) -> Tensor:
        """y[k, …] = Σ x[p, …] over the p with indices[p] = k; the caller guarantees 0 ≤ indices[p] < extent."""
        ...

    def direct(
        self, kind: str, operands: Sequence[Tensor], results: Sequence[tuple[str, Sequence[Extent | None]]]
    ) -> tuple[Tensor, ...]:
        """Emit a step of the direct solution of sparse equations; `kind` is a key of the table in
        `ir.interpreter.direct`.

        results: their dtypes and extents. Results with extents None, known only after the step, come last.
        """
        ...

    def pattern(
        self,
        kind: str,
        operands: Sequence[Tensor],
        extents: Sequence[Extent],
        results: Sequence[tuple[str, Sequence[Extent]]],
        is_whole: bool = False,
    ) -> tuple[Tensor, ...]:
        """Emit an operation on patterns of compressed matrices; `kind` is a key of the table in
        `ir.interpreter.patterns`.

        extents: of axes that no operand has. results: their dtypes and extents. is_whole: see `aot.pattern`.
        """
        ...

    def kernel(
        self,
        symbol: str,
        operands: Sequence[Tensor],
        batched: Sequence[bool],
        results: Sequence[tuple[str, Sequence[Extent]]],
    ) -> tuple[Tensor, ...]:
        """Emit a call of the kernel that `aotensor.kernels.op_kernel.KERNELS` has under this symbol.

        batched: has the operand a leading axis of samples? If any has one, so have the results, and the kernel runs
        once for each sample. results: their dtypes and extents, for one sample.
        """
        ...

    def empty(self, extents: Sequence[Extent], dtype: str) -> Tensor:
        """A tensor with uninitialised elements."""
        ...

    def concatenate(self, xs: Sequence[Tensor], axis: int) -> Tensor: ...

    def cumulate(self, kind: str, x: Tensor, axis: int, is_reverse: bool = False) -> Tensor:
        """Running sum or product along axis, of x[i] with i ≤ k, or with i ≥ k. kind: add mul."""
        ...

    def recur(self, factors: Tensor, terms: Tensor, axis: int, is_reverse: bool = False) -> Tensor:
        """y[k] = factors[k]·y[k − 1] + terms[k] along axis, from 0, or with y[k + 1]; floats of one shape."""
        ...

    def nonzero(self, mask: Tensor) -> list[Tensor]:
        """Positions of the true elements in C order: an int64 vector per axis. Their extent depends on values."""
        ...

    def is_within(self, positions: Tensor, extent: Extent) -> bool:
        """True if all positions are known to lie in 0 … extent − 1, as those of `nonzero` do."""
        ...

    def bounded_as(self, x: Tensor, other: Tensor) -> Tensor:
        """Return `other`, recorded as a subset of the elements of x: both hold positions on the same axis."""
        ...

    def range_of(self, positions: Tensor) -> tuple[int, int] | None:
        """(least, largest) element of a vector of positions, if both follow from constants alone; else None."""
        ...

    def mark_as_range(self, positions: Tensor) -> Tensor:
        """Return the vector, recorded as 0, 1, 2, …"""
        ...

    def sort(self, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        """(x sorted ascending along axis, the permutation as int64); the sort is stable, and nan comes last."""

    def select_ranks(self, x: Tensor, ranks: Tensor) -> Tensor:
        """int64 positions along the last axis of the elements with these ranks (in range) in a stable sort."""

    def select_few(self, x: Tensor, count: int, is_last: bool) -> Tensor:
        """Ascending int64 positions along the last axis of the first `count` elements of a stable sort, or the last."""
        ...

    def lapack(
        self,
        kind: str,
        operands: Sequence[Tensor],
        results: Sequence[tuple[str, Sequence[Extent]]],
        error: str = "",
        **options: bool | int | str,
    ) -> tuple[Tensor, ...]:
        """Emit linear algebra on every matrix of a batch; `kind` is a key of the table in `ir.interpreter.lapack`.

        Operands and results begin with the same batch dims; `results` are their dtypes and extents. A matrix that
        fails is a LinAlgError with the message `error`, in which `{found}` is LAPACK's info; without `error` nothing
        is raised, and its results are nan if the option `nan_on_failure` is true.
        """
        ...

    def check(
        self, condition: Scalar, message: str, found: Extent = 0, expected: Extent = 0, kind: str = "value"
    ) -> None:
        """Raise an error at run time unless the condition holds. `{found}` and `{expected}` become numbers.

        kind: value (ValueError), index (IndexError), linalg (LinAlgError) or convergence (ArithmeticError).
        """
        ...

    def fit(self, shapes: Iterable[Sequence[Extent]]) -> None:
        """Emit a check that arrays of these shapes have at most MAX_ELEMENTS elements; a failure is an error at run
        time.

        Every new tensor is checked; call it earlier where the number of elements itself is used.
        """
        ...

    def same_extent(self, extents: Sequence[Extent], what: str, kind: str = "value") -> Extent:
        """The common extent of axes, checked at run time where it is unknown; `what` names the axes in the error.

        kind: that of the error, as for `check`.
        """
        ...

    def scan(self, op: Any, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The results of the loop `op`, an `ops.scan.op.Scan`, applied to its inputs."""
        ...

    def branch(self, op: Any, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The results of the branch `op`, an `ops.scan.branch.Branch`; only the chosen subgraph is computed."""
        ...

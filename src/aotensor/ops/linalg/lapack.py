"""Ops on matrices, real or complex, that expand to kinds of aot.lapack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphLinAlgError
from aotensor.graph.variable import Variable
from aotensor.ops.batching import RepeatingOp
from aotensor.ops.complex.parts import join_parts, parts, real
from aotensor.ops.linalg.kinds import KINDS, Arithmetic, Core, evaluate
from aotensor.ops.linalg.matrices import NOT_SQUARE, square_dim
from aotensor.ops.linalg.shapes import smaller
from aotensor.ops.shape.axes import matrix_transpose
from aotensor.ops.shape.join import stack


def _half(n: Dim) -> Dim:
    return n // 2 if isinstance(n, int) else None


_DIMS = Arithmetic(_half, smaller)


@frozen_dataclass
class Lapack(RepeatingOp):
    """Apply a kind of `kinds` to every matrix of a batch.

    A failure is a LinAlgError with the message `error`; without a message it is nan, or nothing if it never `fails`. It
    is created for compilation, after all derivatives: the ops that expand to it have the rules.
    """

    notation: ClassVar[str] = "linalg"
    kind: str
    error: str = ""
    fails: bool = True
    options: tuple[tuple[str, bool | str], ...] = ()

    def _results(self, by: Arithmetic, dtype: str, shapes: Sequence[Core]) -> list[tuple[str, Core]]:
        return KINDS[self.kind].results(by, dict(self.options), dtype, *shapes)

    def infer_type(self, *operands: TensorType) -> tuple[TensorType, ...]:
        results = self._results(_DIMS, operands[0].dtype, [x.shape for x in operands])
        return tuple(TensorType(dtype, shape) for dtype, shape in results)

    def reference(self, *operands: Array) -> Any:
        found = self._results(_DIMS, operands[0].dtype.name, [x.shape for x in operands])
        results, kind = [np.empty(shape, dtype) for dtype, shape in found], KINDS[self.kind]
        failed = evaluate(kind.meaning, operands, results, dict(self.options), kind.by_columns, erases=self.fails)
        if failed and self.error:
            raise GraphLinAlgError(self.error.format(found=failed))
        return tuple(results)

    def lower(self, b: TensorBuilder, *operands: Tensor) -> tuple[Tensor, ...]:
        by = Arithmetic(lambda n: n // 2, b.scalars.imin)
        shapes = [x.extents for x in operands]
        if KINDS[self.kind].is_square:
            end = len(shapes[0]) - ("is_complex" in dict(self.options))
            n = b.same_extent(shapes[0][end - 2 : end][::-1], NOT_SQUARE)
            shapes[0] = (*shapes[0][: end - 2], n, n, *shapes[0][end:])
        results = self._results(by, operands[0].dtype, shapes)
        erases = self.fails and not self.error
        return b.lapack(self.kind, operands, results, self.error, nan_on_failure=erases, **dict(self.options))


class MatrixOp(RepeatingOp):
    """Base of ops on real or complex matrices that expand to `Lapack` ops."""

    takes_complex: ClassVar[bool] = True


def lapack(
    kind: str, operands: Sequence[Variable], error: str = "", fails: bool = True, **options: bool | str
) -> list[Variable]:
    """The results of applying a kind of `kinds` to real matrices, or to complex ones."""
    by_columns, rank = KINDS[kind].by_columns, operands[0].ndim - 2
    if is_complex(*operands):
        options["is_complex"] = True
    if by_columns:
        operands = [matrix_transpose(x) for x in operands]
    if is_complex(*operands):
        operands = [stack(list(parts(x)), axis=x.ndim) for x in operands]
    found = Lapack(kind, error, fails, tuple(sorted(options.items()))).apply(*operands).outputs
    results = []
    for letter, x in zip(KINDS[kind].letters, found, strict=True):
        if letter == "c" or (letter == "x" and "is_complex" in options):
            x = join_parts(x[..., 0], x[..., 1])
        results.append(matrix_transpose(x) if by_columns and x.ndim == rank + 2 else x)
    return results


def is_complex(*values: Variable) -> bool:
    """Is any of the variables complex?"""
    return any(dtypes.is_complex(x.dtype) for x in values)


def adjoint(x: Variable) -> Variable:
    """xᴴ, for a real x xᵀ."""
    return matrix_transpose(x).conj() if is_complex(x) else matrix_transpose(x)


def square_core(x: TensorType) -> Dim:
    """The dim n of (…, n, n), real or complex; None if unknown.   Raises: as square_dim"""
    if dtypes.is_complex(x.dtype):
        return square_dim(x.with_dtype(dtypes.part_of(x.dtype)))
    return square_dim(x)


def cotangent_of(x: Variable, term: Variable) -> Variable:
    """A cotangent of x from a complex formula; for a real x its real part."""
    return real(term) if is_complex(term) and not is_complex(x) else term

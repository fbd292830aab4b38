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
from aotensor.ops.linalg.kinds import KINDS, Arithmetic
from aotensor.ops.linalg.matrices import square_dim
from aotensor.ops.linalg.shapes import smaller
from aotensor.ops.shape.axes import matrix_transpose
from aotensor.ops.shape.extents import extents_of, product
from aotensor.ops.shape.join import stack
from aotensor.ops.shape.reshape import reshape


def _half(n: Dim) -> Dim:
    return n // 2 if isinstance(n, int) else None


def _double_dim(n: Dim) -> Dim:
    return 2 * n if isinstance(n, int) else None


_DIMS = Arithmetic(_half, _double_dim, smaller)


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

    def infer_type(self, *operands: TensorType) -> tuple[TensorType, ...]:
        batch, dtype = operands[0].shape[:-2], operands[0].dtype
        cores = [x.shape[len(batch) :] for x in operands]
        kind = KINDS[self.kind]
        shapes = kind.shapes(_DIMS, dict(self.options), *cores)
        kinds = ["int32" if k in kind.integers else dtype for k in range(len(shapes))]
        return tuple(TensorType(one, (*batch, *core)) for one, core in zip(kinds, shapes, strict=True))

    def reference(self, *operands: Array) -> Any:
        kind, batch = KINDS[self.kind], operands[0].shape[:-2]
        by = Arithmetic(lambda n: n // 2, lambda n: 2 * n, min)
        cores = [x.shape[len(batch) :] for x in operands]
        shapes = kind.shapes(by, dict(self.options), *cores)
        results = [
            np.empty((*batch, *core), np.int32 if k in kind.integers else operands[0].dtype)
            for k, core in enumerate(shapes)
        ]
        for entry in np.ndindex(batch):
            values, failed = kind.meaning(*(x[entry] for x in operands), **dict(self.options))
            if failed and self.error:
                raise GraphLinAlgError(self.error.format(found=failed))
            for k, (result, value) in enumerate(zip(results, values, strict=True)):
                result[entry] = np.nan if failed and self.fails and k not in kind.integers else value
        return tuple(results)

    def lower(self, b: TensorBuilder, *operands: Tensor) -> tuple[Tensor, ...]:
        kind, scalars = KINDS[self.kind], b.scalars
        rank = len(operands[0].extents) - 2
        batch, dtype = operands[0].extents[:rank], operands[0].dtype
        by = Arithmetic(lambda n: scalars.ifloordiv(n, 2), lambda n: scalars.imul(n, 2), scalars.imin)
        shapes = kind.shapes(by, dict(self.options), *(x.extents[rank:] for x in operands))
        results = [("int32" if k in kind.integers else dtype, [*batch, *core]) for k, core in enumerate(shapes)]
        return b.lapack(
            self.kind, operands, results, self.error, nan_on_failure=self.fails and not self.error, **dict(self.options)
        )


class MatrixOp(RepeatingOp):
    """Base of ops on real or complex matrices that expand to `Lapack` ops."""

    takes_complex: ClassVar[bool] = True


def lapack(kind: str, operands: Sequence[Variable], error: str = "", **options: bool | str) -> list[Variable]:
    """The results of applying a kind of `kinds` to operands in LAPACK's layout."""
    return list(Lapack(kind, error, options=tuple(sorted(options.items()))).apply(*operands).outputs)


def is_complex(*values: Variable) -> bool:
    """Is any of the variables complex?"""
    return any(dtypes.is_complex(x.dtype) for x in values)


def adjoint(x: Variable) -> Variable:
    """xᴴ, for a real x xᵀ."""
    return matrix_transpose(x).conj() if is_complex(x) else matrix_transpose(x)


def to_lapack(x: Variable) -> Variable:
    """Convert a matrix to LAPACK's layout: transposed, a complex one as (real, imaginary) pairs."""
    transposed = matrix_transpose(x)
    if not is_complex(x):
        return transposed
    *rest, last = extents_of(transposed)
    return reshape(stack(list(parts(transposed)), axis=transposed.ndim), [*rest, product([last, 2])])


def from_lapack(x: Variable, of_complex: bool) -> Variable:
    """Convert a matrix from LAPACK's layout.   of_complex: its elements are (real, imaginary) pairs"""
    return matrix_transpose(from_pairs(x) if of_complex else x)


def square_core(x: TensorType) -> Dim:
    """The dim n of (…, n, n), real or complex; None if unknown.   Raises: as square_dim"""
    if dtypes.is_complex(x.dtype):
        return square_dim(x.with_dtype(dtypes.part_of(x.dtype)))
    return square_dim(x)


def cotangent_of(x: Variable, term: Variable) -> Variable:
    """A cotangent of x from a complex formula; for a real x its real part."""
    return real(term) if is_complex(term) and not is_complex(x) else term


def from_pairs(x: Variable) -> Variable:
    """The complex numbers with interleaved parts along the last axis."""
    return join_parts(x[..., ::2], x[..., 1::2])

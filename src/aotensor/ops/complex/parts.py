"""The ops between complex values and their parts. All other ops on complex numbers expand to these.

    z = complex(x, y)      x = real(z)      y = imag(z)      real(complex(x, y))  →  x, when ops are expanded

Cotangents follow JAX's convention: the cotangent g of z is a complex number that represents the linear map
dz ↦ Re(g·dz). So the gradient of a real cost is ∂cost/∂x − i·∂cost/∂y for z = x + iy, and a holomorphic function f has
the pullback g·f′(z), without any conjugate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply, Op
from aotensor.graph.operations import dense, sparse
from aotensor.graph.public import public
from aotensor.graph.variable import Constant, Variable, Variables, as_tensor, constant
from aotensor.ops.batching import RepeatingOp, SampleOp
from aotensor.ops.create import is_zeros, zeros_like
from aotensor.ops.elementwise.arithmetic import neg, second
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linear import filled


@frozen_dataclass
class FromParts(RepeatingOp):
    """x₁ … xₙ, y₁ … yₙ → x₁ + i·y₁, …, xₙ + i·yₙ, of parts with one shape and dtype each.   count: n"""

    name: ClassVar[str] = "complex"
    takes_complex: ClassVar[bool] = True
    count: int = 1

    def infer_type(self, *types: TensorType) -> tuple[TensorType, ...]:
        found = []
        for re, im in zip(types[: self.count], types[self.count :], strict=True):
            if re.dtype != im.dtype or not dtypes.is_float(re.dtype):
                raise GraphTypeError(f"the parts must be floats of one dtype, not {re} and {im}")
            if re.rank != im.rank or any(
                n != m and None not in (n, m) for n, m in zip(re.static_shape, im.static_shape, strict=True)
            ):
                raise GraphValueError(f"the parts must have one shape, not {re} and {im}")
            shape = tuple(m if n is None else n for n, m in zip(re.shape, im.shape, strict=True))
            found.append(TensorType(dtypes.complex_of(re.dtype), shape))
        return tuple(found)

    def reference(self, *parts: Array) -> tuple[Array, ...]:
        return tuple(join_arrays(re, im) for re, im in zip(parts[: self.count], parts[self.count :], strict=True))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        given = filled(cotangents, outputs)
        return [*(part_of(g, 0) for g in given), *(_negated(part_of(g, 1)) for g in given)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        given = filled(tangents, inputs)
        return [join_parts(*pair) for pair in zip(given[: self.count], given[self.count :], strict=True)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[k % self.count == output for output in range(self.count)] for k in range(2 * self.count)]


@frozen_dataclass
class Part(SampleOp):
    """The real (index 0) or the imaginary part (index 1) of a complex value."""

    takes_complex: ClassVar[bool] = True
    index: int

    @property
    def name(self) -> str:  # type: ignore[override]
        return ("real", "imag")[self.index]

    def __str__(self) -> str:
        return self.name

    def infer_type(self, z: TensorType) -> TensorType:
        if not dtypes.is_complex(z.dtype):
            raise GraphTypeError(f"expected a complex value, found {z}")
        return z.with_dtype(dtypes.part_of(z.dtype))

    def reference(self, z: Array) -> Array:
        return np.array((z.real, z.imag)[self.index])

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        (g,) = cotangents
        return [join_parts(zeros_like(g), neg(g)) if self.index else join_parts(g, zeros_like(g))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [part_of(tangents[0], self.index)]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        """The part from which a complex value was built, if it was built from parts."""
        (z,) = inputs
        found = _known_part(z, self.index)
        return None if found is None else [found]


@frozen_dataclass
class AsPairs(Op):
    """The memory of a complex value as real numbers: (…) complex → (…, 2) real. Created by expansions only."""

    name: ClassVar[str] = "as_pairs"
    notation: ClassVar[str] = "{0}"
    takes_complex: ClassVar[bool] = True

    def infer_type(self, z: TensorType) -> TensorType:
        return TensorType(dtypes.part_of(z.dtype), (*z.shape, 2))

    def reference(self, z: Array) -> Array:
        return np.stack([z.real, z.imag], axis=-1)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        """The pairs that the value was built from, or its interleaved parts; for an argument its memory."""
        (z,) = inputs
        if z.owner is not None and isinstance(z.owner.op, OfPairs):
            return [z.owner.inputs[0]]
        parts = [_known_part(z, index) for index in range(2)]
        return None if None in parts else [dense.stack(parts, axis=z.ndim)]


@frozen_dataclass
class OfPairs(Op):
    """The complex value that has this memory: (…, 2) real → (…) complex. Created by expansions only."""

    name: ClassVar[str] = "of_pairs"
    notation: ClassVar[str] = "{0}"
    takes_complex: ClassVar[bool] = True

    def infer_type(self, pairs: TensorType) -> TensorType:
        return TensorType(dtypes.complex_of(pairs.dtype), pairs.shape[:-1])

    def reference(self, pairs: Array) -> Array:
        return join_arrays(pairs[..., 0], pairs[..., 1])

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [AsPairs()(conj(cotangents[0]))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self(tangents[0])]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return [self(*inputs)]


def _known_part(z: Variable, index: int) -> Variable | None:
    if isinstance(z, Constant):
        return constant(np.array((z.data.real, z.data.imag)[index]))
    if z.owner is not None and isinstance(z.owner.op, FromParts):
        return z.owner.inputs[z.index + index * z.owner.op.count]
    if z.owner is not None and isinstance(z.owner.op, OfPairs):
        return z.owner.inputs[0][..., index]
    return None


def part_of(z: Variable, index: int) -> Variable:
    """A part of a complex value, simplified if the value was built from parts; of a real one itself, or zeros.

    For derivatives and rewrites, where nothing differentiates with respect to the skipped node.
    """
    if not dtypes.is_complex(z.dtype):
        return zeros_like(z) if index else z
    found = _known_part(z, index)
    return Part(index).apply(z).outputs[0] if found is None else found


def join_parts(re: Variable, im: Variable) -> Variable:
    """re + i·im for parts of one shape."""
    return FromParts().apply(re, im).outputs[0]


def _negated(x: Variable) -> Variable:
    return x if is_zeros(x) else neg(x)


def join_arrays(re: Any, im: Any) -> Array:
    """The complex array with these parts, bit for bit; `re + 1j * im` would give nan where a part is infinite."""
    found: Array = np.empty(np.shape(re), np.result_type(re, np.complex64))
    found.real, found.imag = re, im
    return found


def parts(x: Variable) -> tuple[Variable, Variable]:
    """(real part, imaginary part) of x; (x, zeros) for a real x."""
    if dtypes.is_complex(x.dtype):
        return Part(0)(x), Part(1)(x)
    return x, zeros_like(x)


def as_factor(x: Variable, dtype: str) -> Variable:
    """x in the dtype of a product; a real factor of a complex product gets the dtype of the parts, and stays real."""
    return cast(x, dtype if dtypes.is_complex(x.dtype) else dtypes.part_of(dtype))


def to_complex(x: Variable, dtype: str) -> Variable:
    """A value of any dtype as a complex one."""
    re, im = parts(x)
    part = dtypes.part_of(dtype)
    return join_parts(cast(re, part), cast(im, part))


@public(numpy="real")
@coerced
def real(x: Any) -> Variable:
    """The real part; x itself where it is real."""
    if getattr(x, "is_sparse", False):
        return sparse.real(x)
    x = as_tensor(x)
    return Part(0).apply(x).outputs[0] if dtypes.is_complex(x.dtype) else x


@public(numpy="imag")
@coerced
def imag(x: Any) -> Variable:
    """The imaginary part; zeros where x is real."""
    if getattr(x, "is_sparse", False):
        return sparse.imag(x)
    x = as_tensor(x)
    return Part(1).apply(x).outputs[0] if dtypes.is_complex(x.dtype) else zeros_like(x)


@coerced
def complex(re: Any, im: Any) -> Variable:
    """re + i·im: complex64 of float32 and small integers, else complex128; the parts broadcast.

    Raises: GraphTypeError for a complex part, GraphValueError for extents that differ.
    """
    x, y = as_tensor(re), as_tensor(im)
    for part in (x, y):
        if dtypes.is_complex(part.dtype):
            raise GraphTypeError("complex: the real and the imaginary part must be real", lines=[part.describe()])
    dtype = dtypes.float_of(dtypes.promote(x.dtype, y.dtype))
    x, y = cast(x, dtype), cast(y, dtype)
    return join_parts(*same_shape(x, y))


def same_shape(x: Variable, y: Variable) -> tuple[Variable, Variable]:
    """(x, y) broadcast to their common shape."""
    if x.tensor_type.shape == y.tensor_type.shape and None not in x.tensor_type.shape:
        return x, y
    if x.ndim == y.ndim and not any((n == 1) != (m == 1) for n, m in zip(x.static_shape, y.static_shape, strict=True)):
        return x, y
    return second(y, x), second(x, y)


@public(numpy="conjugate", method=("conj", "conjugate"))
@coerced
def conj(x: Any) -> Variable:
    """The complex conjugate; x itself where it is real."""
    if getattr(x, "is_sparse", False):
        return sparse.conj(x)
    z: Variable = as_tensor(x)
    if not dtypes.is_complex(z.dtype):
        return z
    re, im = parts(z)
    return join_parts(re, neg(im))

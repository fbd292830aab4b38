"""One row of the case tables: a program, its inputs, and how exactly its results must agree.

`cases_*.py` beside this file hold lists named CASES; tables.py has them all, test_rules.py runs every row against
every rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from aotensor.core.dtypes import is_float
from aotensor.core.types import Array, Dim, TensorType
from aotensor.graph.variable import Variable

Inputs: TypeAlias = Sequence[Any] | Callable[[np.random.Generator], Sequence[Any]]


INF, NAN = np.inf, np.nan
SPECIALS = np.array([-INF, -2.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.5, INF, NAN])


@dataclass(frozen=True, kw_only=True)
class Case:
    """A program `build(*variables)` at concrete inputs.

    id: unique over all tables, "op-what_is_special".
    inputs: arrays (or numbers), or a function that draws them; away from kinks unless `numeric` is off.
    dims: dims of the variables; by default an extent of 1 is static, all others are unknown.
    wrt: positions to differentiate; by default every floating input. () where no derivative exists.
    numeric: compare derivatives with central differences too (float64 only): off at kinks and for non-finite values.
    rtol, atol: of compiled against reference, and of duality; `reason` says why they are wider than the default.
    specials: expected derivatives at kinks: position → ȳᵀ·J for ȳ of ones.
    expected: the value from elsewhere: NumPy, SciPy, a closed form. A function of the input arrays returns it where it
        depends on them. A tuple has one value per output; anything else is the value of the only output.
    identities: the same for values that are not unique: of the inputs and the outputs, pairs of arrays that are equal.
    compiles: whether the compiled library is compared too.
    ragged: extents depend on values, so that samples that differ make no batch.
    keeps_places: samples of a batch are multiples of the input, not its elements in another order.
    shows: rows of docs/surface that it shows, beside those that name its ops.
    """

    id: str
    build: Callable[..., Variable | Sequence[Variable]]
    inputs: Inputs = ()
    dims: Sequence[Sequence[Dim]] | None = None
    wrt: tuple[int, ...] | None = None
    numeric: bool = True
    rtol: float = 1e-12
    atol: float = 1e-14
    reason: str = ""
    specials: dict[int, Any] | None = None
    expected: Any = None
    identities: Callable[..., Sequence[tuple[Any, Any]]] | None = None
    compiles: bool = True
    ragged: bool = False
    keeps_places: bool = False
    shows: Sequence[str] = ()

    def draw(self, rng: np.random.Generator) -> list[Array]:
        """The input arrays. Python floats become float64, ints int64."""
        return [np.asarray(value) for value in (self.inputs(rng) if callable(self.inputs) else self.inputs)]

    @property
    def has_oracle(self) -> bool:
        """Whether its value is compared with anything but the ops' own references."""
        return self.expected is not None or self.identities is not None

    def oracle(self, arrays: Sequence[Array], values: Sequence[Array]) -> list[tuple[Array, Array]]:
        """Pairs of arrays that are equal if the values are right."""
        found = list(self.identities(*arrays, *values)) if self.identities is not None else []
        if self.expected is not None:
            known = self.expected(*arrays) if callable(self.expected) else self.expected
            found += zip(values, known if isinstance(known, tuple) else (known,), strict=True)
        return [(np.asarray(left), np.asarray(right)) for left, right in found]

    def variables(self, arrays: Sequence[Array]) -> list[Variable]:
        """One symbol per input, with the dims that the case asks for."""
        dims = self.dims or [[1 if extent == 1 else None for extent in array.shape] for array in arrays]
        pairs = zip(arrays, dims, strict=True)
        return [
            Variable(TensorType(array.dtype.name, tuple(shape)), name=f"x{position}")
            for position, (array, shape) in enumerate(pairs)
        ]

    def of_known_extents(self) -> Case:
        """The same with all extents in the types, where the case does not say what they have."""
        shapes = [array.shape for array in self.draw(np.random.default_rng(7))]
        return self if self.dims is not None else replace(self, dims=shapes)

    def outputs(self, variables: Sequence[Variable]) -> list[Variable]:
        """The program as a list of outputs."""
        built = self.build(*variables)
        return [built] if isinstance(built, Variable) else list(built)

    def differentiable(self, arrays: Sequence[Array]) -> tuple[int, ...]:
        """Positions of the inputs that are differentiated."""
        if self.wrt is not None:
            return self.wrt
        return tuple(position for position, array in enumerate(arrays) if is_float(array.dtype.name))

    def tolerances(self, dtype: str) -> tuple[float, float]:
        """(rtol, atol) for results of `dtype`: a float32 program rounds 2**29 times more coarsely."""
        coarser = 2.0**29 if dtype == "float32" else 1.0
        return min(self.rtol * coarser, 1e-3), min(self.atol * coarser, 1e-5)


def between(low: float, high: float, *shape: int) -> Callable[[np.random.Generator], Sequence[Array]]:
    """Inputs: one array of random numbers in an interval."""
    return lambda rng: [np.asarray(rng.uniform(low, high, shape))]


def normal(*shapes: Sequence[int]) -> Callable[[np.random.Generator], Sequence[Array]]:
    """Inputs: normally distributed arrays of some shapes."""
    return lambda rng: [np.asarray(rng.normal(size=shape)) for shape in shapes]


def slope(f: Callable[..., Any], position: int = 0) -> Callable[..., Array]:
    """The derivative of Σ f by an input, for `expected`: by complex steps, exact but for roundings.   f: analytic"""

    def derivative(*arrays: Array) -> Array:
        found = np.zeros(arrays[position].shape)
        for place in np.ndindex(found.shape):
            xs = [*arrays]
            xs[position] = arrays[position].astype("complex128")
            xs[position][place] += 1e-30j
            found[place] = np.imag(np.sum(f(*xs))) / 1e-30
        return found

    return derivative


def value(id: str, build: Callable[..., Any], inputs: Sequence[Any], expected: Any, **options: Any) -> Case:
    """A row for the value alone, known in closed form."""
    return Case(id=id, build=build, inputs=inputs, expected=expected, wrt=(), **options)


def kink(id: str, build: Callable[..., Any], inputs: Sequence[Any], expected: Any = None, **derivatives: Any) -> Case:
    """A row for the value, and the derivatives at special points: `x0=[…]` for the first input, and so on."""
    specials = {int(key[1:]): np.asarray(derivative, dtype=float) for key, derivative in derivatives.items()}
    arrays = [np.asarray(x, dtype=float) for x in inputs]
    return Case(id=id, build=build, inputs=arrays, numeric=False, expected=expected, specials=specials)


def int8(*values: int) -> Array:
    """A vector of int8."""
    return np.array(values, "int8")

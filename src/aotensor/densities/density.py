"""Density: a log density of one unconstrained vector, and both directions between it and named parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from math import prod

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array
from aotensor.densities.parameter import Parameter
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable, as_tensor
from aotensor.graph.walk import replace
from aotensor.ops.elementwise.compare import switch
from aotensor.ops.shape.axes import transpose
from aotensor.ops.shape.join import concatenate
from aotensor.ops.shape.reshape import reshape
from aotensor.ops.symbols import scalar, vector


@frozen_dataclass
class Part:
    """A named parameter. shape: of its value. free: number of its elements in the unconstrained vector"""

    name: str
    shape: tuple[int, ...]
    free: int

    @property
    def size(self) -> int:
        """The number of elements of the parameter's value."""
        return prod(self.shape)

    @property
    def labels(self) -> list[str]:
        """Names of the elements as Stan writes them, the first index fastest: a.1.1, a.2.1, ..."""
        return labels_of(self.name, self.shape)

    @property
    def free_labels(self) -> list[str]:
        """Names of the parameter's elements in the unconstrained vector."""
        return self.labels if self.free == self.size else labels_of(self.name, (self.free,))


@frozen_dataclass
class Density:
    """A log density of an unconstrained vector. Vectors hold parameters in order, first index fastest, as in Stan.

    q: the unconstrained vector. jacobian: a truth value, whether the log Jacobians of the transforms are added.
    value: the log density of both and of `data`. parts: of q, in order. constrained: value of each part, of q and
    data. transformed: other values by name, of static shapes. theta: all parameters. unconstrained: the vector of it.
    defaults: values of data that are taken where none are given.
    """

    q: Variable
    jacobian: Variable
    value: Variable
    parts: tuple[Part, ...]
    constrained: tuple[Variable, ...]
    theta: Variable
    unconstrained: Variable
    data: Mapping[str, Variable] = field(default_factory=dict)
    transformed: Mapping[str, Variable] = field(default_factory=dict)
    defaults: Mapping[str, Array] = field(default_factory=dict)

    @property
    def transformed_labels(self) -> list[str]:
        """Names of all elements of transformed values."""
        return [label for name, x in self.transformed.items() for label in labels_of(name, fixed_shape(name, x))]


def density_of(
    name: str, inputs: Mapping[str, Variable], value: Variable, parameters: Mapping[str, Parameter]
) -> Density:
    """The density of a function of its parameters' values.

    Either each parameter is an input of its name and shape, or the first input is the vector of all parameters, one
    after the other, each in row-major order. All other inputs are data.

    Raises: GraphTypeError for a value other than a float64 scalar, and for inputs of other shapes and dtypes.
    """
    if value.type.dtype != "float64" or value.type.ndim != 0:
        raise GraphTypeError(f"{name}: a log density must be a float64 scalar, found {value.type}")
    parts = tuple(Part(key, one.extents, prod(one.free_extents)) for key, one in parameters.items())
    q, theta = (
        vector(key, dtype="float64", shape=(sum(sizes),))
        for key, sizes in (("theta_unc", [x.free for x in parts]), ("theta", [x.size for x in parts]))
    )
    jacobian = scalar("jacobian", dtype="bool")
    free = list(pieces(q, [(one.free_extents, prod(one.free_extents)) for one in parameters.values()]))
    values = [one.constrained(x) for one, x in zip(parameters.values(), free, strict=True)]
    replaced = _arguments(name, inputs, dict(zip(parameters, values, strict=True)), parameters)
    density = replace([value], replaced)[0]
    terms = [one.log_jacobian(x) for one, x in zip(parameters.values(), free, strict=True) if one.has_jacobian]
    if terms:
        density = density + switch(jacobian, sum(terms[1:], terms[0]), 0.0)
    given = list(pieces(theta, [(x.shape, x.size) for x in parts]))
    back = [raveled(one.unconstrained(x)) for one, x in zip(parameters.values(), given, strict=True)]
    data = {key: x for key, x in inputs.items() if x not in replaced}
    return Density(q, jacobian, density, parts, tuple(values), theta, concatenate_vectors(back), data)


def _arguments(
    name: str, inputs: Mapping[str, Variable], values: Mapping[str, Variable], parameters: Mapping[str, Parameter]
) -> dict[Variable, Variable]:
    """(which inputs are parameters, the values that replace them)."""
    named = [key for key in values if key in inputs]
    if len(named) == len(values):
        for key in named:
            _check_shape(name, key, inputs[key], parameters[key].extents)
        return {inputs[key]: x for key, x in values.items()}
    if named or not inputs:
        missing = next(key for key in values if key not in inputs)
        raise GraphValueError(
            f"{name}: the parameter {missing} is not an input of the function",
            hint="name each parameter after an input, or let the first input be one vector of all parameters",
        )
    first, x = next(iter(inputs.items()))
    _check_shape(name, first, x, (sum(one.size for one in parameters.values()),))
    return {x: concatenate([reshape(y, (-1,)) for y in values.values()])}


def _check_shape(name: str, key: str, x: Variable, shape: tuple[int, ...]) -> None:
    found = x.type.shape
    fits = len(found) == len(shape) and all(not isinstance(n, int) or n == m for n, m in zip(found, shape, strict=True))
    if x.type.dtype != "float64" or not fits:
        extents = ", ".join(map(str, shape))
        raise GraphTypeError(f"{name}: its parameters make {key} float64[{extents}], but it is {x.type}")


def pieces(x: Variable, shapes: Sequence[tuple[tuple[int, ...], int]]) -> Iterator[Variable]:
    """Split a vector into arrays of these shapes; the first index of each varies fastest."""
    start = 0
    for shape, size in shapes:
        piece = x[start : start + size]
        yield transpose(reshape(piece, shape[::-1])) if len(shape) > 1 else reshape(piece, shape)
        start += size


def raveled(x: Variable) -> Variable:
    """The elements of x as a vector, the first index fastest."""
    return reshape(transpose(x) if x.type.ndim > 1 else x, (-1,))


def concatenate_vectors(vectors: Sequence[Variable]) -> Variable:
    """Join vectors; of no vectors, an empty one."""
    return concatenate(list(vectors)) if vectors else as_tensor(np.zeros(0))


def fixed_shape(name: str, x: Variable) -> tuple[int, ...]:
    """The extents of a value as ints.   Raises: GraphValueError if an extent is not static"""
    found = tuple(n for n in x.type.shape if isinstance(n, int))
    if len(found) != x.type.ndim:
        raise GraphValueError(f"{name} must have a static shape, not {x.type}", hint="give its extents as numbers")
    return found


def labels_of(name: str, shape: tuple[int, ...]) -> list[str]:
    """Names of the elements of an array, with indices from 1, the first index fastest."""
    ranges = [range(1, n + 1) for n in reversed(shape)]
    return [".".join([name, *(str(i) for i in reversed(index))]) for index in product(*ranges)]

"""Ceres Solver and GTSAM: a residual of parameter blocks, with the Jacobians of every subset of its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from aotensor.api.function import Function
from aotensor.api.interfaces.checks import is_static_float64, refuse_state, static_shape
from aotensor.codegen.abi.ceres import CeresLayer, Residual
from aotensor.core.types import TensorType
from aotensor.driver.signature import In
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import grad, jacobian
from aotensor.graph.variable import Variable
from aotensor.ops.shape.join import stack
from aotensor_runtime.typed.parameters import C_TYPES

_HINT: Final = "a parameter block is a vector: at.vector('x', shape=(3,)); what a solver does not change is data: "
_MOST_SUBSETS: Final = 3
"""Parameter blocks up to which each subset has a function: 8 functions for 3 blocks."""
_MOST_ROWS: Final = 8
"""Residuals up to which each has a gradient of its own; a batch over the rows is slower for so few."""
_SIZES: Final = {"quaternion": "4 elements", "eigen_quaternion": "4 elements", "sphere": "2 elements or more"} | {
    "line": "an even number of elements, at least 4"
}
"""Manifold → the vectors that it has."""


def for_ceres(functions: Sequence[Function], library: str) -> tuple[list[Function], CeresLayer]:
    """The Jacobians of each residual by subsets of its parameter blocks.

    Up to 3 blocks there is a function for each subset; with more, one for all blocks and one for each.

    Raises: GraphTypeError for functions that are not a float64 vector of static length of float64 vectors of static
    length, GraphValueError for those with shared variables, without parameter blocks, or with a manifold that does not
    fit
    """
    made: list[Function] = []
    residuals = []
    for f in functions:
        blocks, residual = _blocks(f), _residual(f)
        names = list(blocks)
        found: dict[tuple[int, ...], str] = {(): f.name}
        for subset in _subsets(len(names)):
            chosen = [blocks[names[k]] for k in subset]
            suffix = "" if len(subset) == len(names) else "".join(f"_{names[k]}" for k in subset)
            outputs = {} if _has_own_jacobian(subset, len(names)) else {"residual": residual}
            outputs |= {f"by_{names[k]}": x for k, x in zip(subset, _jacobians(residual, chosen), strict=True)}
            one = Function(_inputs(f), outputs, name=f"{f.name}_d{suffix}", on_unused_input="ignore")
            one.doc = f"Jacobians of {f.name} by {', '.join(names[k] for k in subset)}, for Ceres"
            made.append(one)
            found[subset] = one.name
        residuals.append(Residual(f.name, tuple(name in blocks for name in f.arguments), found))
    return made, CeresLayer(tuple(residuals))


def _subsets(count: int) -> list[tuple[int, ...]]:
    """The subsets of blocks that have a function, by position."""
    sizes = range(1, count + 1) if count <= _MOST_SUBSETS else (1, count)
    return [subset for size in sizes for subset in combinations(range(count), size)]


def _has_own_jacobian(subset: Sequence[int], count: int) -> bool:
    """Is a subset one of more than 3 blocks, whose Jacobian has a function of its own?"""
    return count > _MOST_SUBSETS and len(subset) == 1


def _inputs(f: Function) -> list[In]:
    return [f.declared[name] for name in f.arguments]


def _jacobians(residual: Variable, blocks: Sequence[Variable]) -> list[Variable]:
    """The derivative with respect to each block: (m, n) for m residuals and n elements of the block."""
    (m,) = static_shape(residual)
    if m > _MOST_ROWS:
        return list(jacobian(residual, list(blocks), disconnected_inputs="ignore"))
    rows = [grad(residual[k], list(blocks), disconnected_inputs="ignore") for k in range(m)]
    return [stack(parts) for parts in zip(*rows, strict=True)]


def _is_vector(x: Variable) -> bool:
    """Is a variable a float64 vector of static length, with at least one element?"""
    return is_static_float64(x) and x.ndim == 1 and x.static_shape != (0,)


def _blocks(f: Function) -> dict[str, Variable]:
    """The parameter blocks by name.   Raises: as `for_ceres`"""
    refuse_state("ceres", f.name, f.state, "make them inputs: aot.In(x, data=True)")
    blocks: dict[str, Variable] = {}
    for name, x in f.arguments.items():
        wish = f.declared[name]
        if wish.data:
            _check_data(f.name, name, x)
            continue
        if not _is_vector(x):
            raise GraphTypeError(
                f"abi ceres: {name} of {f.name} is {x.type}, not a float64 vector of static length",
                lines=[x.describe()],
                hint=f"{_HINT}aot.In({name}, data=True)",
            )
        if wish.manifold is not None and not _fits(wish.manifold, *static_shape(x)):
            raise GraphValueError(
                f"abi ceres: {name} of {f.name} is {x.type}, and its manifold {wish.manifold} needs vectors of "
                f"{_SIZES[wish.manifold]}",
                lines=[x.describe()],
            )
        blocks[name] = x
    if not blocks:
        raise GraphValueError(
            f"abi ceres: {f.name} has no parameter blocks: all of its inputs are data",
            hint=f"{_HINT}aot.In(x, data=True)",
        )
    return blocks


def _fits(manifold: str, n: int) -> bool:
    return {"sphere": n >= 2, "line": n >= 4 and n % 2 == 0}.get(manifold, n == 4)


def _check_data(function: str, name: str, x: Variable) -> None:
    """Check an input that is not a parameter block.   Raises: GraphTypeError if a cost function cannot hold it"""
    if not isinstance(x.type, TensorType) or x.is_sparse or None in x.static_shape or x.dtype not in C_TYPES:
        raise GraphTypeError(
            f"abi ceres: {name} of {function} is {x.type}, not a dense array of static shape",
            lines=[x.describe()],
            hint=f"give its extents as numbers: at.matrix({name!r}, shape=(3, 3))",
        )


def _residual(f: Function) -> Variable:
    """The residual of a function: its only output.   Raises: as `for_ceres`"""
    results = list(f.results.values())
    if len(results) != 1:
        raise GraphTypeError(
            f"abi ceres: {f.name} has {len(results)} outputs, and a residual is one vector",
            hint="join them: at.concatenate([a, b])",
        )
    (found,) = results
    if not _is_vector(found):
        raise GraphTypeError(
            f"abi ceres: the residual of {f.name} is {found.type}, not a float64 vector of static length",
            lines=[found.describe()],
            hint="make it of inputs of known length, at.vector('x', shape=(3,)); at.stack makes a vector of numbers",
        )
    return found

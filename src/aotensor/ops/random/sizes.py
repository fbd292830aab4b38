"""Extents and dtypes of draws, shared by all distributions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable
from aotensor.ops.create import alloc, split_shape
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.random.draw import SAMPLERS, Draw
from aotensor.ops.random.noise import Noise
from aotensor.ops.random.state import Drawn
from aotensor.ops.shape.broadcast import broadcast_arrays
from aotensor.ops.shape.extents import SymbolicExtent, as_extents, extents_of


def extents_for(size: Any, parameters: Sequence[Variable]) -> list[SymbolicExtent]:
    """The extents of a draw: its size, or by default those to which the parameters broadcast.

    Raises: GraphValueError for a parameter that does not broadcast to the size, as far as the types tell.
    """
    if size is not None:
        extents = as_extents(size)
        for x in parameters:
            _check_fit(x, extents)
        return extents
    if not parameters:
        return []
    wide = max(parameters, key=lambda x: x.ndim)
    return extents_of(wide if wide.ndim == 0 else broadcast_arrays(*parameters)[0])


def _check_fit(x: Variable, extents: Sequence[SymbolicExtent]) -> None:
    own = x.tensor_type.shape
    pairs = zip(own, extents[len(extents) - len(own) :], strict=False)
    is_good = len(own) <= len(extents) and all(
        dim == 1 or not isinstance(n, int) or (n != 1 and not isinstance(dim, int)) or dim == n for dim, n in pairs
    )
    if not is_good:
        shown = ", ".join(map(str, extents))
        raise GraphValueError(f"a parameter does not broadcast to size=({shown})", lines=[x.describe()])


def noise(kind: str, state: Variable, extents: Sequence[SymbolicExtent], dtype: str) -> Variable:
    """A `Noise` tensor of one kind and these extents.   Raises: GraphValueError for a negative extent."""
    dims, sizes = split_shape(kind, list(extents))
    return Noise(kind, dtype, dims)(state, *sizes)  # type: ignore[no-any-return]


def sample_op(kind: str, state: Variable, size: Any, parameters: Sequence[Variable]) -> Variable:
    """Draws of a sampler, with parameters that broadcast to the size.

    Raises: GraphValueError for parameters that do not broadcast to it.
    """
    extents = extents_for(size, parameters)
    operands = SAMPLERS[kind].operands
    assert tuple(x.dtype for x in parameters) == operands
    return Draw(kind)(state, *(alloc(x, extents) for x in parameters))  # type: ignore[no-any-return]


def real(dtype: Any) -> str:
    """The dtype of a real draw: `dtype` if given, else floatX.   Raises: GraphTypeError if it is not floating."""
    found = config.floatX if dtype is None else dtypes.canonical(dtype)
    if not dtypes.is_float(found):
        raise GraphTypeError(f"draws of real numbers need a floating dtype, not {found}")
    return found


def rounded_draw(distribution: Callable[..., Drawn]) -> Callable[..., Drawn]:
    """Decorator: extend a distribution to float16 and bfloat16, by drawing in float32 and rounding once."""
    signature = inspect.signature(distribution)

    @functools.wraps(distribution)
    def drawn(*args: Any, **options: Any) -> Drawn:
        try:
            bound = signature.bind(*args, **options)
        except TypeError:  # the call reports this better
            return distribution(*args, **options)
        given = bound.arguments.get("dtype")
        dtype = None if given is None else dtypes.canonical(given)
        if dtype is None or not dtypes.is_half(dtype):
            return distribution(*args, **options)
        bound.arguments["dtype"] = dtypes.compute_of(dtype)
        following, x = distribution(*bound.args, **bound.kwargs)
        return following, cast(x, dtype)

    return drawn


def count_dtype(dtype: Any) -> str:
    """The dtype of a count: `dtype` if given, else int64.   Raises: GraphTypeError for bool."""
    found = "int64" if dtype is None else dtypes.canonical(dtype)
    if found == "bool":
        raise GraphTypeError("draws of counts need a number dtype, not bool")
    return found

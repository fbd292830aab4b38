"""Functions composed of elementwise ops: quotient and remainder, replacement of nan, closeness of all elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from aotensor.core import dtypes
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.complex.parts import complex as complex_of
from aotensor.ops.complex.parts import imag, real
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import identity, int_div, maximum, minimum, mod
from aotensor.ops.elementwise.compare import cast, eq, isclose, isnan, neq, switch
from aotensor.ops.reduce.sums import all as all_of


@public(numpy="divmod")
@coerced
def divmod(x: Any, y: Any) -> tuple[Variable, Variable]:
    """(x // y, x % y), as Python's divmod."""
    return int_div(x, y), mod(x, y)


@public(numpy="allclose")
@coerced
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Variable:
    """Whether `isclose` holds for all elements, a bool scalar."""
    return all_of(isclose(a, b, rtol, atol, equal_nan))


@public(numpy="isposinf")
@coerced
def isposinf(x: Any) -> Variable:
    """Where x is +inf, a bool.   Raises: GraphTypeError for complex x."""
    return _is_end("isposinf", x, math.inf)


@public(numpy="isneginf")
@coerced
def isneginf(x: Any) -> Variable:
    """Where x is −inf, a bool.   Raises: GraphTypeError for complex x."""
    return _is_end("isneginf", x, -math.inf)


def _is_end(name: str, x: Any, end: float) -> Variable:
    x = as_tensor(x)
    if dtypes.is_complex(x.dtype):
        raise GraphTypeError(f"{name}: complex numbers have no sign", lines=[x.describe()])
    return eq(x, constant(end, dtype=x.dtype)) if dtypes.is_float(x.dtype) else zeros_like(x, "bool")


@coerced
def largest(*xs: Any) -> Variable:
    """The largest of several tensors, elementwise; ties and nan as in `maximum`.   Raises: GraphTypeError for none."""
    return _extreme("largest", maximum, xs)


@coerced
def smallest(*xs: Any) -> Variable:
    """The smallest of several tensors, elementwise; ties and nan as in `minimum`.   Raises: GraphTypeError for none."""
    return _extreme("smallest", minimum, xs)


def _extreme(name: str, of_two: Callable[..., Variable], xs: Sequence[Any]) -> Variable:
    if not xs:
        raise GraphTypeError(f"{name}: expected a tensor")
    return reduce(of_two, xs) if len(xs) > 1 else identity(xs[0])


@coerced
def ceil_intdiv(a: Any, b: Any) -> Variable:
    """a / b rounded up, of integers; 0 for a divisor of 0.   Raises: GraphTypeError for a non-integer."""
    a, b = as_tensor(a), as_tensor(b)
    for x in (a, b):
        if not dtypes.is_discrete(x.dtype):
            raise GraphTypeError(f"ceil_intdiv: expected integers, found {x.dtype}", lines=[x.describe()])
    return int_div(a, b) + cast(neq(mod(a, b), 0), dtypes.promote(a.dtype, b.dtype))


@public(numpy="nan_to_num")
@coerced
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Variable:
    """x with numbers in place of nan, +inf and −inf: 0 and the largest finite ones by default; integers stay.

    The derivative is 1 where x is finite and 0 elsewhere. copy: has no effect. Parts of complex numbers are separate.
    """
    x = as_tensor(x)
    if dtypes.is_complex(x.dtype):
        return complex_of(*(nan_to_num(part(x), copy, nan, posinf, neginf) for part in (real, imag)))
    if not dtypes.is_float(x.dtype):
        return identity(x)
    most = dtypes.largest(x.dtype)
    for where, value in (
        (isnan(x), nan),
        (eq(x, constant(math.inf, dtype=x.dtype)), most if posinf is None else posinf),
        (eq(x, constant(-math.inf, dtype=x.dtype)), -most if neginf is None else neginf),
    ):
        number = constant(value, dtype=x.dtype) if isinstance(value, int | float) else cast(value, x.dtype)
        x = switch(where, number, x)
    return x  # type: ignore[no-any-return]

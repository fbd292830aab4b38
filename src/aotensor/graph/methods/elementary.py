"""Elementary functions as methods: `x.exp()` is `exp(x)`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from aotensor.graph.operations import dense

if TYPE_CHECKING:
    from aotensor.graph.variable import Variable


class Method:
    """Descriptor: a method that passes the variable as first argument.   function: returns the function"""

    def __init__(self, function: Callable[[], Callable[..., Variable]]) -> None:
        self._function = function

    def __set_name__(self, owner: type, name: str) -> None:
        self.__doc__ = f"`{name}` of the variable."

    def __get__(self, x: Any, owner: type | None = None) -> Callable[..., Variable]:
        function = self._function()
        return function if x is None else partial(function, x)


class ElementaryMethods:
    """Elementwise functions as methods; derivatives and special values are those of the functions of the same name."""

    __slots__ = ()

    exp = Method(lambda: dense().exp)
    exp2 = Method(lambda: dense().exp2)
    expm1 = Method(lambda: dense().expm1)
    log = Method(lambda: dense().log)
    log2 = Method(lambda: dense().log2)
    log10 = Method(lambda: dense().log10)
    log1p = Method(lambda: dense().log1p)
    sqrt = Method(lambda: dense().sqrt)
    cbrt = Method(lambda: dense().cbrt)
    sqr = Method(lambda: dense().sqr)
    square = Method(lambda: dense().sqr)
    sin = Method(lambda: dense().sin)
    cos = Method(lambda: dense().cos)
    tan = Method(lambda: dense().tan)
    arcsin = Method(lambda: dense().arcsin)
    arccos = Method(lambda: dense().arccos)
    arctan = Method(lambda: dense().arctan)
    sinh = Method(lambda: dense().sinh)
    cosh = Method(lambda: dense().cosh)
    tanh = Method(lambda: dense().tanh)
    arcsinh = Method(lambda: dense().arcsinh)
    arccosh = Method(lambda: dense().arccosh)
    arctanh = Method(lambda: dense().arctanh)
    deg2rad = Method(lambda: dense().deg2rad)
    rad2deg = Method(lambda: dense().rad2deg)
    ceil = Method(lambda: dense().ceil)
    floor = Method(lambda: dense().floor)
    trunc = Method(lambda: dense().trunc)
    rint = Method(lambda: dense().rint)
    abs = Method(lambda: dense().abs)
    sign = Method(lambda: dense().sign)
    reciprocal = Method(lambda: dense().reciprocal)
    isnan = Method(lambda: dense().isnan)
    isinf = Method(lambda: dense().isinf)
    isfinite = Method(lambda: dense().isfinite)
    conj = Method(lambda: dense().conj)
    conjugate = Method(lambda: dense().conj)

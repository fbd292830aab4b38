"""Elementary functions as methods: `x.exp()` is `exp(x)`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from aotensor.graph.public import lookup

if TYPE_CHECKING:
    from aotensor.graph.variable import Variable


class Method:
    """The public function of its own name, or of the name given, with the variable as its first argument."""

    def __init__(self, function: str | None = None) -> None:
        self._function = function or ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._function = self._function or name
        self.__doc__ = f"`{self._function}` of the variable."

    def __get__(self, x: Any, owner: type | None = None) -> Callable[..., Variable]:
        return lookup(self._function) if x is None else partial(lookup(self._function), x)


class ElementaryMethods:
    """Functions of each element; their derivatives and edges are those of the functions of that name."""

    __slots__ = ()

    exp, exp2, expm1 = Method("exp"), Method("exp2"), Method("expm1")
    log, log2, log10, log1p = Method("log"), Method("log2"), Method("log10"), Method("log1p")
    sqrt, cbrt, sqr, square = Method("sqrt"), Method("cbrt"), Method("sqr"), Method("sqr")
    sin, cos, tan = Method("sin"), Method("cos"), Method("tan")
    arcsin, arccos, arctan = Method("arcsin"), Method("arccos"), Method("arctan")
    sinh, cosh, tanh = Method("sinh"), Method("cosh"), Method("tanh")
    arcsinh, arccosh, arctanh = Method("arcsinh"), Method("arccosh"), Method("arctanh")
    deg2rad, rad2deg = Method("deg2rad"), Method("rad2deg")
    ceil, floor, trunc, rint = Method("ceil"), Method("floor"), Method("trunc"), Method("rint")
    abs, sign, reciprocal = Method("abs"), Method("sign"), Method("reciprocal")
    isnan, isinf, isfinite = Method("isnan"), Method("isinf"), Method("isfinite")
    conj, conjugate = Method("identity"), Method("identity")

"""The other names of a public function: of its method, its operator and the functions of NumPy that it replaces.

    @public(numpy="cumsum", method="cumsum")
    def cumsum(x: Any, axis: int | None = None) -> Variable:

Then x.cumsum() and np.cumsum(x) call it for a symbol x. Methods are attributes of `RegisteredMethods`, whose stub
`python docs/build.py` writes for type checkers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from types import FunctionType
from typing import Any, Final, TypeVar

from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.methods.registered import RegisteredMethods

F = TypeVar("F", bound=Callable[..., Any])
Names = str | Sequence[str]

NUMPY: Final[dict[str, Callable[..., Any]]] = {}
"""Replacements of functions by NumPy's names, "exp", "linalg.norm", "add.reduce", and of elementwise functions of
`scipy.special`, which are ufuncs of NumPy: "scipy.special.erf"."""


@frozen_dataclass
class Method:
    """A method or operator of tensor variables.   is_reflected: the variable is the second operand"""

    function: Callable[..., Any]
    is_reflected: bool = False


METHODS: Final[dict[str, Method]] = {}
"""Registered methods by name, in the order of registration."""


@frozen_dataclass
class Operator:
    """A binary operator of Python: the name within its methods (`add` of `__add__`), and how strongly it binds."""

    name: str
    precedence: int
    is_comparison: bool = False


OPERATORS: Final = {
    "**": Operator("pow", 90), "*": Operator("mul", 80), "/": Operator("truediv", 80), "//": Operator("floordiv", 80),
    "%": Operator("mod", 80), "@": Operator("matmul", 80), "+": Operator("add", 70), "-": Operator("sub", 70),
    "<<": Operator("lshift", 65), ">>": Operator("rshift", 65), "&": Operator("and", 60), "^": Operator("xor", 55),
    "|": Operator("or", 50), "<": Operator("lt", 40, True), "<=": Operator("le", 40, True),
    ">": Operator("gt", 40, True), ">=": Operator("ge", 40, True),
}  # fmt: skip


def public(*, numpy: Names = (), scipy: Names = (), method: Names = (), operator: str = "") -> Callable[[F], F]:
    """Decorator: register a function under further names.

    numpy, scipy: names of functions of NumPy, and of `scipy.special`, that it replaces for symbols.   method: names of
    methods of a tensor variable, its first argument.   operator: a binary operator of tensor variables
    """
    return partial(register, numpy=numpy, scipy=scipy, method=method, operator=operator)


def register(function: F, *, numpy: Names = (), scipy: Names = (), method: Names = (), operator: str = "") -> F:
    """Register a function, or an op, under further names, as `public`, and return it."""
    for name in [*_names(numpy), *(f"scipy.special.{name}" for name in _names(scipy))]:
        assert name not in NUMPY, f"two functions replace {name}"
        NUMPY[name] = function
    for name in _names(method):
        _set_method(name, Method(function))
    if operator:
        symbol = OPERATORS[operator]
        _set_method(f"__{symbol.name}__", Method(function))
        if not symbol.is_comparison:
            _set_method(f"__r{symbol.name}__", Method(function, is_reflected=True))
    return function


def _names(names: Names) -> Sequence[str]:
    return (names,) if isinstance(names, str) else names


def _set_method(name: str, method: Method) -> None:
    assert name not in METHODS, f"two functions are the method {name}"
    METHODS[name] = method
    setattr(RegisteredMethods, name, _bindable(name, method))


def _bindable(name: str, method: Method) -> Callable[..., Any]:
    """A function that Python binds as a method; an op is an object, which it would not bind."""
    function = method.function
    if method.is_reflected:

        def reflected(self: Any, other: Any) -> Any:
            return function(other, self)

        return reflected
    if isinstance(function, FunctionType):
        return function

    @wraps(function, assigned=("__doc__",), updated=())
    def call(self: Any, *operands: Any) -> Any:
        return function(self, *operands)

    call.__name__, call.__qualname__ = name, f"RegisteredMethods.{name}"
    return call

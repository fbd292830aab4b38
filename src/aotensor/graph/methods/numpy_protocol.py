"""NumPy's own functions on symbols: `np.sin(x)`, `np.sum(x, axis=0)`, `np.concatenate([x, y])` build the graph.

So do the elementwise functions of `scipy.special`, such as `gammaln(x)`: they are ufuncs of NumPy.

NumPy passes a call to `__array_ufunc__` or `__array_function__` of a symbol among its arguments. Our counterpart
in `graph.public.NUMPY` is called instead; its parameters are matched by name, those without a default
by position. Functions without a counterpart are refused by name: arrays of symbols do not exist.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final, NoReturn

import numpy as np

from aotensor.errors import GraphTypeError
from aotensor.graph.methods.numpy_names import HINTS, IGNORED, OPTION_HINTS, PARAMETERS
from aotensor.graph.operations import dense, sparse
from aotensor.graph.public import NUMPY


class NumPyProtocol:
    """Methods by which NumPy dispatches operations on an operand that is not an array."""

    __slots__ = ()
    # makes arrays and SciPy's matrices on the left hand side defer to our operators
    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """`np.add(x, y)`, `x + y` with an array on the left, `np.add.reduce(x)`, `np.multiply.outer(x, y)`."""
        return _call_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Callable[..., Any], kinds: Sequence[type], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Dispatch all functions of NumPy that are not ufuncs to their counterparts on symbols."""
        if not all(issubclass(kind, NumPyProtocol | np.ndarray) for kind in kinds):
            return NotImplemented
        return _call_function(function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Refused: a symbol has no values.   Raises: GraphTypeError

        SciPy's operators ask for an object array of rank 0: when they get it, they defer to our operators.
        """
        if _asking_method_of_scipy() in _LEAVING_IT_TO_US:
            cell = np.empty((), dtype=object)
            cell[()] = self
            return cell
        raise GraphTypeError(
            f"the symbolic variable {self} has no values, so it cannot become an array",
            hint="x.eval({...}) gives values, as calling a Function does; as_tensor([x, y]) makes a tensor of symbols",
        )


_LEAVING_IT_TO_US: Final = ("dot", "__mul__", "__matmul__", "__truediv__", "__lt__", "__le__", "__gt__", "__ge__")
"""Methods of SciPy's matrices that our reflected operator replaces; `multiply` and `==` cannot be redirected."""


def _asking_method_of_scipy() -> str | None:
    """The SciPy matrix method on the call stack that asks for an array, if there is one."""
    frame, name = sys._getframe(2), None
    while frame is not None and frame.f_globals.get("__name__", "").startswith("scipy.sparse"):
        name = frame.f_code.co_name
        frame = frame.f_back  # type: ignore[assignment]
    return name


def _call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    is_of_scipy = getattr(sys.modules.get("scipy.special"), ufunc.__name__, None) is ufunc
    own = f"scipy.special.{ufunc.__name__}" if is_of_scipy else ufunc.__name__
    called = own if method in ("__call__", "outer") else f"{own}.{method}"
    name = f"{'' if is_of_scipy else 'numpy.'}{own if method == '__call__' else f'{own}.{method}'}"
    given = {key: value for key, value in options.items() if not _is_nothing(key, value)}
    chosen = NUMPY.get(called)
    if chosen is None:
        _refuse(name, inputs)
    if method == "__call__":
        return _called(name, chosen, inputs, given)
    if method == "outer":
        x, y = (sparse.as_sparse_or_tensor(value) for value in inputs)
        return _called(name, chosen, (dense.shape_padright(x, y.ndim), y), given)
    return _called(name, chosen, inputs[:1], {"axis": 0, **given})


def _call_function(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    package, _, module = function.__module__.partition(".")
    name = f"{module}.{function.__name__}" if module else function.__name__
    chosen = NUMPY.get(name) if package == "numpy" else None
    if chosen is None:
        _refuse(f"numpy.{name}", [*args, *kwargs.values()])
    return _called(f"numpy.{name}", chosen, *_operands_and_options(name, function, args, kwargs))


def _operands_and_options(
    name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Split the arguments of a NumPy call: operands (parameters without a default) by position, options by name."""
    theirs = _parameters(function)
    if theirs is None:  # written in C, without a signature
        return list(args), dict(kwargs)
    try:
        bound = inspect.Signature(list(theirs.values())).bind(*args, **kwargs)
    except TypeError as error:
        raise GraphTypeError(f"numpy.{name}: {error}") from error
    operands: list[Any] = []
    options: dict[str, Any] = {}
    for key, value in bound.arguments.items():
        parameter = theirs[key]
        if parameter.kind == parameter.VAR_POSITIONAL:
            operands += value
        elif parameter.kind == parameter.VAR_KEYWORD:
            options |= value
        elif parameter.default is parameter.empty:
            operands.append(value)
        elif key not in IGNORED and not _is_default(key, value, parameter.default):
            options[PARAMETERS.get(f"{name}.{key}", key)] = value
    return operands, options


def _called(name: str, chosen: Callable[..., Any], operands: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Call the counterpart of a NumPy function.   Raises: GraphTypeError naming options that the counterpart lacks."""
    function = _sparse_method(_name_of(chosen).removeprefix("numpy_"), operands) or chosen
    known = _parameters(function)
    strange = [key for key in options if known is None or key not in known]
    if strange:
        hint = next((OPTION_HINTS[key] for key in strange if key in OPTION_HINTS), "leave it out")
        title = f"{name}: {', '.join(f'{key}=' for key in strange)} is not supported for symbolic variables"
        raise GraphTypeError(title, lines=_described(operands), hint=hint)
    return function(*operands, **options)


@cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None


def _is_default(key: str, value: Any, default: Any) -> bool:
    is_same = isinstance(value, bool | int | float | str) and type(value) is type(default) and value == default
    return is_same or value is default or _is_nothing(key, value)


def _is_nothing(key: str, value: Any) -> bool:
    """Does an option have the value that means that it is not given?"""
    is_default = {"out": value is None, "where": value is True}.get(key, False)
    return is_default or value is np._NoValue or (isinstance(value, tuple) and all(one is None for one in value))


def _name_of(function: Callable[..., Any]) -> str:
    """The name of an op, or of a function."""
    return getattr(function, "name", None) or function.__name__


def _sparse_method(chosen: str, operands: Sequence[Any]) -> Callable[..., Any] | None:
    """The method of a sparse operand that computes the function `chosen`; None if no operand is sparse."""
    flags = [bool(getattr(x, "is_sparse", False)) for x in operands]
    if not any(flags):
        return None
    if chosen in _OPERATORS and len(flags) == 2:
        name = _OPERATORS[chosen]
        return getattr(type(operands[0]), f"__{name}__") if flags[0] else partial(_reflected, f"__r{name}__")
    method = getattr(type(operands[0]), chosen, None) if flags[0] else None
    return method.fget if isinstance(method, property) else method


def _reflected(name: str, x: Any, y: Any) -> Any:
    return getattr(y, name)(x)


_OPERATORS: Final = {
    "add": "add", "sub": "sub", "mul": "mul", "true_div": "truediv", "int_div": "floordiv", "mod": "mod", "pow": "pow",
    "and_": "and", "or_": "or", "xor": "xor", "matmul": "matmul", "dot": "matmul",
}  # fmt: skip
"""NumPy operators that methods of a sparse matrix define."""


def _refuse(name: str, operands: Sequence[Any]) -> NoReturn:
    otherwise = "use a function of aotensor.tensor, or values: x.eval({...}), a call of a Function"
    hint = HINTS.get(name.removeprefix("numpy."), otherwise)
    raise GraphTypeError(f"{name} does not accept symbolic variables", lines=_described(operands), hint=hint)


def _described(operands: Sequence[Any]) -> list[str]:
    return [x.describe() for x in operands if isinstance(x, NumPyProtocol)]  # type: ignore[attr-defined]

"""Long expressions of elementary functions of numbers and vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from growing.kind import Kind, numbers, vectors


def chain(step: Callable[[Any, Any, Any, int], Any], x: Sequence[Any], f: Any, size: int) -> list[Any]:
    """The sum of y after `size` steps, y = step(y, x, f, i), from y = x."""
    y = x[0]
    for i in range(size):
        y = step(y, x[0], f, i)
    return [f.sum(y)]


def _cheap(y: Any, x: Any, f: Any, i: int) -> Any:
    return y * 0.5 + 0.1 if i % 2 else y * y - 0.3 * x if i % 3 else y - 0.1 * y


def _exp(y: Any, x: Any, f: Any, i: int) -> Any:
    return f.exp(-y * y) if i % 2 else f.tanh(y)


def _sin(y: Any, x: Any, f: Any, i: int) -> Any:
    return f.sin(y) if i % 2 else y * 1.01 + 0.1


def _scalar(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    values = list(x)
    for i in range(size):
        values.append(values[-1] * values[-3] - 0.5 * values[(i * 7) % len(values)])
    return [values[-1]]


def _numbers(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    y = x[0]
    for a, b in zip(x[1:], x, strict=False):
        y = y + f.sin(a) * b
    return [y]


def _vectors(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    return [sum(f.sum(f.sin(v) ** 2) for v in x)]


def _outputs(x: Sequence[Any], f: Any, size: int) -> list[Any]:
    return [f.sin(x[0] * (k + 1.0)) for k in range(size)]


def _one(_: int) -> list[Any]:
    return vectors(1)


CHAINS: Final = {
    "cheap": Kind("products and sums of a vector", (10, 100, 1000, 5000), partial(chain, _cheap), _one, casadi=True),
    "exp": Kind("exp(−y²) and tanh of a vector", (10, 100, 400), partial(chain, _exp), _one, casadi=True),
    "scalar": Kind("products and sums of ten numbers", (500, 2000, 8000), _scalar, lambda _: numbers(10), casadi=True),
    "sin": Kind(
        "operations on a number, half of them sines", (250, 500, 1000, 2000, 4000), partial(chain, _sin), casadi=True
    ),
    "sines": Kind("sines of a vector", (50, 100, 200), partial(chain, lambda y, x, f, i: f.sin(y)), _one, casadi=True),
    "numbers": Kind("numbers as inputs", (125, 250, 500), _numbers, numbers, casadi=True),
    "vectors": Kind("vectors as inputs", (75, 150, 300), _vectors, vectors),
    "outputs": Kind("sines of a number as outputs", (500, 1000, 2000), _outputs, derivative="none", casadi=True),
}

# Maps of [0.3, 0.7] to itself or near it, so that long chains stay where every function is smooth.
FUNCTIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "exp": lambda f, y: f.exp(y) * 0.3,
    "exp2": lambda f, y: f.exp2(y) * 0.35,
    "expm1": lambda f, y: f.expm1(y) * 0.75,
    "log": lambda f, y: f.log(y + 1.2),
    "log2": lambda f, y: f.log2(y + 1.0),
    "log10": lambda f, y: f.log10(y + 2.7),
    "log1p": lambda f, y: f.log1p(y) + 0.1,
    "sqrt": lambda f, y: f.sqrt(y) * 0.7,
    "cbrt": lambda f, y: f.cbrt(y) * 0.63,
    "power": lambda f, y: (y + 0.5) ** (y + 0.1) * 0.5,
    "cos": lambda f, y: f.cos(y) * 0.57,
    "tan": lambda f, y: f.tan(y) * 0.9,
    "arcsin": lambda f, y: f.arcsin(y) * 0.95,
    "arccos": lambda f, y: f.arccos(y) * 0.5,
    "arctan": lambda f, y: f.arctan(y) + 0.05,
    "arctan2": lambda f, y: f.arctan2(y, y + 0.4),
    "sinh": lambda f, y: f.sinh(y) * 0.95,
    "cosh": lambda f, y: f.cosh(y) * 0.45,
    "tanh": lambda f, y: f.tanh(y) + 0.05,
    "arcsinh": lambda f, y: f.arcsinh(y) + 0.02,
    "arccosh": lambda f, y: f.arccosh(y + 1.0) * 0.5,
    "arctanh": lambda f, y: f.arctanh(y) * 0.9,
    "hypot": lambda f, y: f.hypot(y, 0.1),
    "sigmoid": lambda f, y: f.sigmoid(y) - 0.1,
    "softplus": lambda f, y: f.softplus(y) - 0.5,
    "erf": lambda f, y: f.erf(y) - 0.02,
    "erfc": lambda f, y: f.erfc(y),
    "gammaln": lambda f, y: f.gammaln(y + 2.5) * 0.7,
    "digamma": lambda f, y: f.digamma(y + 1.5) + 0.2,
}
"""One step of each function; the kind of a function is called `function.exp`."""


def _function(name: str) -> Kind:
    def step(y: Any, x: Any, f: Any, i: int) -> Any:
        return FUNCTIONS[name](f, y)

    return Kind(f"{name} of a vector", (25, 100), partial(chain, step), _one)


FUNCTION_CHAINS: Final = {f"function.{name}": _function(name) for name in FUNCTIONS}

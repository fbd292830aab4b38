"""(k) Functions with parameters against SciPy, and order, counts and interpolation against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.special
from contenders import Array, Contender, Model

Draw = Callable[[np.random.Generator, int], Sequence[Array]]


@dataclass(frozen=True)
class Function:
    """One function.   ours, jax: (module, *inputs) → the output; plain: the same by NumPy or SciPy; draw: inputs"""

    ours: Callable[..., Any]
    plain: Callable[..., Any]
    jax: Callable[..., Any] | None
    draw: Draw


def _uniform(*bounds: tuple[float, float]) -> Draw:
    return lambda rng, n: [rng.uniform(low, high, n) for low, high in bounds]


def _places(rng: np.random.Generator, n: int) -> Sequence[Array]:
    return [np.sort(rng.uniform(size=1000)), rng.uniform(size=n)]


def _points(rng: np.random.Generator, n: int) -> Sequence[Array]:
    return [rng.uniform(size=n), np.sort(rng.uniform(size=1000)), rng.normal(size=1000)]


def _lines(rng: np.random.Generator, n: int) -> Sequence[Array]:
    return [rng.normal(size=(max(n // 1000, 1), 1000))]


def _line(rng: np.random.Generator, n: int) -> Sequence[Array]:
    return [rng.normal(size=n)]


def _largest(x: Array) -> Array:
    return np.sort(np.partition(x, -5, axis=-1)[:, -5:], axis=-1)[:, ::-1]


UNIT = (0.0, 1.0)
FUNCTIONS: dict[str, Function] = {
    "gammainc": Function(
        lambda at, a, x: at.gammainc(a, x), scipy.special.gammainc,
        lambda jax, a, x: jax.scipy.special.gammainc(a, x), _uniform((0.3, 30), (0.1, 40)),
    ),
    "betainc": Function(
        lambda at, a, b, x: at.betainc(a, b, x), scipy.special.betainc,
        lambda jax, a, b, x: jax.scipy.special.betainc(a, b, x), _uniform((0.3, 20), (0.3, 20), (0.01, 0.99)),
    ),
    "jv": Function(lambda at, v, x: at.jv(v, x), scipy.special.jv, None, _uniform((0.0, 10), (0.1, 30))),
    "searchsorted": Function(
        lambda at, a, v: at.searchsorted(a, v), np.searchsorted, lambda jax, a, v: jax.numpy.searchsorted(a, v), _places
    ),
    "interp": Function(
        lambda at, x, p, f: at.interp(x, p, f), np.interp, lambda jax, x, p, f: jax.numpy.interp(x, p, f), _points
    ),
    "histogram": Function(
        lambda at, x: at.histogram(x, 50, UNIT)[0], lambda x: np.histogram(x, 50, UNIT)[0],
        lambda jax, x: jax.numpy.histogram(x, 50, UNIT)[0], _uniform(UNIT),
    ),
    "quantile": Function(
        lambda at, x: at.quantile(x, 0.3, axis=1), lambda x: np.quantile(x, 0.3, axis=1),
        lambda jax, x: jax.numpy.quantile(x, 0.3, axis=1), _lines,
    ),
    "median": Function(lambda at, x: at.median(x), np.median, lambda jax, x: jax.numpy.median(x), _line),
    "topk": Function(lambda at, x: at.topk(x, 5), _largest, lambda jax, x: jax.lax.top_k(x, 5)[0], _lines),
    "largest": Function(
        lambda at, x: at.topk(x, 10), lambda x: np.sort(np.partition(x, -10)[-10:])[::-1],
        lambda jax, x: jax.lax.top_k(x, 10)[0], _line,
    ),
}  # fmt: skip


class Plain(Model):
    """One function of `FUNCTIONS` on n elements, without a gradient."""

    tolerance = 1e-10
    peers = ("JAX",)

    def __init__(self, name: str, n: int) -> None:
        self.function = FUNCTIONS[name]
        self.title = f"(k) {name}, {n} elements, float64"
        self.plain = "SciPy" if name in ("gammainc", "betainc", "jv") else "NumPy"
        self.values = {f"x{k}": x for k, x in enumerate(self.function.draw(np.random.default_rng(0), n))}

    def reference(self) -> list[Array]:
        return [np.asarray(self.function.plain(*self.values.values()))]

    def aotensor(self, aot: Any) -> Any:
        symbols = [aot.tensor.tensor(name, "float64", (None,) * x.ndim) for name, x in self.values.items()]
        return aot.function(symbols, {"y": self.function.ours(aot.tensor, *symbols)}, name="plain")

    def jax(self, jax: Any) -> Callable[..., Any]:
        program = self.function.jax
        assert program is not None, "see `without`"
        return lambda *xs: (program(jax, *xs),)

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        symbols = [pt.tensor.tensor(dtype="float64", shape=(None,) * x.ndim) for x in self.values.values()]
        return symbols, [self.function.ours(pt.tensor, *symbols)]

    def numpy(self) -> Contender:
        return self.reference


class Bessel(Plain):
    """The Bessel function jv of n elements, without a gradient."""

    without: ClassVar[dict[str, str]] = {"JAX": "it has no Bessel functions of real order"}

"""Functions of JAX at ties, kinks, zeros, ends of domains and infinities: cases of the table of derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

INF: Final = np.inf
POINTS: Final = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, INF, -INF, 1e-300, 40.0, -40.0, 750.0, -750.0, np.nan])
_ENDS: Final = (0.0, -0.0, 1.0, -1.0, 2.0, -2.5, INF, -INF)
LEFT, RIGHT = (np.array(side) for side in zip(*[(a, b) for a in _ENDS for b in _ENDS], strict=True))
TIES: Final = np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0], [3.0, 3.0, 1.0]])
IMAGE: Final = np.array([[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 3.0]])
VECTOR: Final = np.array([1.0, 0.0, 5.0, 0.0])
PLACES: Final = np.array([0, 1, 1, 3, 0], "int32")
UPDATES: Final = np.array([1.0, 2.0, 2.0, 0.0, 1.0])
SYMMETRIC: Final = np.array([[3.0, 0.2, 0.1], [0.2, 2.0, 0.3], [0.1, 0.3, 1.0]])


@dataclass(frozen=True)
class Case:
    """A function at values.   is_elementwise: of numbers, so that a nan value says that a point is outside"""

    family: str
    name: str
    function: Callable[..., Any]
    values: tuple[Any, ...]
    is_elementwise: bool = False
    places: tuple[int, ...] | None = None

    @property
    def moving(self) -> tuple[int, ...]:
        """The positions of the differentiated arguments."""
        return tuple(range(len(self.values))) if self.places is None else self.places


def cases() -> Iterator[Case]:
    """All cases, by family."""
    yield from _of_one_number()
    yield from _of_two_numbers()
    yield from _reductions()
    yield from _arrays()
    yield from _algebra()
    yield from _networks()
    yield from _special_functions()
    yield from _losses()


def _of_one_number() -> Iterator[Case]:
    names = (
        "abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf erf_inv erfc exp "
        "exp2 expm1 floor lgamma log log1p logistic neg round rsqrt sign sin sinh sqrt square tan tanh"
    )
    one = partial(Case, "Functions of one number", values=(POINTS,), is_elementwise=True)
    for name in names.split():
        yield one(name=name, function=getattr(lax, name))
    for power in (-2, -1, 0, 1, 2, 3):
        yield one(name=f"integer_pow, {power}", function=partial(lax.integer_pow, y=power))
    for power in (-1.5, -1.0, 0.0, 0.5, 1.0, 2.0, 2.5):
        yield one(name=f"pow, x to {power}", function=lambda x, y=power: lax.pow(x, y))
    for base in (0.0, 1.0, 2.0):
        yield one(name=f"pow, {base} to x", function=lambda x, y=base: lax.pow(jnp.full_like(x, y), x))
    for a in (1.0, 0.5):
        for name in ("igamma", "igammac"):
            yield one(name=f"{name}, {a}", function=lambda x, n=name, a=a: getattr(lax, n)(jnp.full_like(x, a), x))
    inside = np.array([0.0, 0.25, 0.5, 1.0])
    half = np.full(4, 0.5)
    yield one(name="betainc", function=lambda x: lax.betainc(2 + 0 * half, half, x), values=(inside,))
    yield one(name="reduce_precision", function=lambda x: lax.reduce_precision(x, 11, 52))
    yield one(name="stop_gradient", function=lambda x: x * lax.stop_gradient(x))
    yield one(name="convert_element_type", function=lambda x: x.astype("float32").astype("float64") * x)
    complex_parts = (
        "real(z*z), imag, abs, conj",
        lambda x: (
            jnp.real(lax.complex(x, x) ** 2) + jnp.imag(jnp.conj(lax.complex(x, 2 * x))) + jnp.abs(lax.complex(x, x))
        ),
    )
    yield one(name=complex_parts[0], function=complex_parts[1], values=(np.array([0.0, 1.0, -1.0, 2.0]),))


def _of_two_numbers() -> Iterator[Case]:
    for name in ["add", "sub", "mul", "div", "max", "min", "pow", "rem", "atan2"]:
        yield Case("Functions of two numbers", name, getattr(lax, name), (LEFT, RIGHT), is_elementwise=True)
    low, high = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 1.0]), np.array([1.0, 1.0, 0.0, 1.0, 1.0, 2.0])
    yield Case("Functions of two numbers", "clamp", lax.clamp, (low, np.array([0.0, 1.0, 0.0, 1.0, 1.5, 3.0]), high))
    yield Case("Functions of two numbers", "select_n", lambda x, y: lax.select(x > y, x, 2 * y), (LEFT, RIGHT))
    yield Case(
        "Functions of two numbers", "select_n of a root", lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0), (POINTS,)
    )


def _reductions() -> Iterator[Case]:
    family = "Reductions, running values, orders"
    for name in ["reduce_sum", "reduce_max", "reduce_min", "reduce_prod"]:
        for axes in ((0,), (1,), (0, 1)):
            yield Case(family, f"{name}, {axes}", lambda x, n=name, axes=axes: getattr(lax, n)(x, axes), (TIES,))
    for name in ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]:
        for back in (False, True):
            function = partial(getattr(lax, name), axis=1, reverse=back)
            yield Case(family, f"{name}{', reversed' * back}", function, (TIES,))
    yield Case(family, "reduce by a + b + ab", lambda x: lax.reduce(x, -INF, lambda a, b: a * b + a + b, (0,)), (TIES,))
    yield Case(family, "sort", lax.sort, (TIES,))
    yield Case(family, "sort by a key", lambda x, y: lax.sort((x, y), num_keys=1)[1] + 0 * x, (TIES, TIES + 1))
    yield Case(family, "top_k", lambda x: lax.top_k(x, 2)[0], (TIES,))
    yield Case(family, "argmax, argmin", lambda x: x[jnp.argmax(x)] * x[jnp.argmin(x)], (VECTOR,))
    for name in ["max", "min", "median", "std", "var", "ptp"]:
        yield Case(family, f"jnp.{name}", lambda x, n=name: getattr(jnp, n)(x, axis=1), (TIES,))
    sizes = (((2, 2), (2, 2)), ((2, 2), (1, 1)), ((3, 2), (1, 2)))
    for name, start, by in (("max", -INF, lax.max), ("min", INF, lax.min), ("add", 0.0, lax.add)):
        for size, step in sizes:
            window = partial(lax.reduce_window, init_value=start, computation=by, window_dimensions=size,
                             window_strides=step, padding="SAME")  # fmt: skip
            yield Case(family, f"reduce_window by {name}, {size} every {step}", window, (IMAGE,))


def _arrays() -> Iterator[Case]:
    family = "Parts of arrays, loops, products"
    for name in ["add", "max", "min", "set", "subtract"]:
        update = lambda x, u, n=name: getattr(x.at[PLACES], n)(u)  # noqa: E731
        yield Case(family, f"scatter: {name}", update, (VECTOR, UPDATES))
        once = lambda x, u, n=name: getattr(x.at[1], n)(u)  # noqa: E731
        yield Case(family, f"scatter: {name}, of one element", once, (VECTOR, np.float64(0)))
    product = lambda x, u: x.at[np.array([0, 1])].multiply(u, unique_indices=True)  # noqa: E731
    yield Case(family, "scatter: multiply", product, (VECTOR, np.array([1.0, 0.0])))
    moved = lambda x: jnp.pad(x[::-1, 1:], 1).T.reshape(-1)[PLACES] * jnp.roll(x, 1).reshape(-1)[:5]  # noqa: E731
    yield Case(family, "gather, slice, pad, rev, transpose, reshape", moved, (TIES,))
    windows = lambda x, i: lax.dynamic_slice(x, (i, i), (2, 2)) * lax.dynamic_update_slice(x, x[:1, :2], (i, i))[:2, :2]  # noqa: E731
    yield Case(family, "dynamic_slice, dynamic_update_slice", windows, (TIES, np.int32(1)), places=(0,))
    yield Case(family, "dot_general", lambda a, b: jnp.einsum("ij,kj->ik", a, b), (TIES, TIES + 1))
    conv = lambda x, w: lax.conv(x[None, None], w[None, None], (1, 1), "SAME")[0, 0]  # noqa: E731
    yield Case(family, "conv_general_dilated", conv, (IMAGE, np.array([[1.0, 0.0], [2.0, -1.0]])))
    yield Case(family, "fft", lambda x: jnp.abs(jnp.fft.rfft(x + 0.1)) ** 2, (VECTOR,))
    steps = lambda x: lax.scan(lambda c, r: (jnp.maximum(c * r, r), c), 1.0, x)[1]  # noqa: E731
    yield Case(family, "scan", steps, (VECTOR,))
    yield Case(family, "while", lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.abs(c) * x, x), (VECTOR - 1,))
    branch = lambda x: lax.cond(x[0] > 0, lambda x: jnp.abs(x), lambda x: x, x - 1)  # noqa: E731
    yield Case(family, "cond", branch, (VECTOR,))
    yield Case(family, "concatenate, expand, split", lambda x: sum(jnp.split(jnp.tile(x * x, 2), 2)), (VECTOR,))


def _algebra() -> Iterator[Case]:
    family = "Linear algebra"
    functions: dict[str, Callable[..., Any]] = {
        "cholesky": jnp.linalg.cholesky, "eigh, values": lambda a: jnp.linalg.eigh(a)[0],
        "eigh, squares of vectors": lambda a: jnp.linalg.eigh(a)[1] ** 2, "det": jnp.linalg.det,
        "svd, values": lambda a: jnp.linalg.svd(a, compute_uv=False), "slogdet": lambda a: jnp.linalg.slogdet(a)[1],
        "lu": lambda a: jax.scipy.linalg.lu_factor(a)[0], "qr": lambda a: jnp.linalg.qr(a)[1] ** 2,
        "inv": jnp.linalg.inv, "norm": jnp.linalg.norm,
    }  # fmt: skip
    for name, function in functions.items():
        yield Case(family, name, function, (SYMMETRIC,))
    yield Case(family, "eigh, of equal values", lambda a: jnp.linalg.eigh(a)[0], (np.eye(2),))
    yield Case(family, "svd, of zeros", lambda a: jnp.linalg.svd(a, compute_uv=False), (np.zeros((2, 2)),))
    yield Case(family, "det, of a singular matrix", jnp.linalg.det, (np.array([[1.0, 2.0], [2.0, 4.0]]),))
    yield Case(family, "norm, of zeros", jnp.linalg.norm, (np.zeros(3),))
    yield Case(family, "solve (custom_linear_solve)", jnp.linalg.solve, (SYMMETRIC, np.ones(3)))
    lower = lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True)  # noqa: E731
    yield Case(family, "triangular_solve", lower, (SYMMETRIC, np.ones((3, 1))))


def _networks() -> Iterator[Case]:
    x = np.array([0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, 2.0, 20.0, -20.0])
    names = (
        "relu relu6 softplus silu gelu elu celu selu log_sigmoid leaky_relu hard_tanh hard_sigmoid hard_silu "
        "squareplus mish sparse_plus sparse_sigmoid soft_sign sigmoid logsumexp softmax log_softmax standardize glu"
    )
    for name in names.split():
        yield Case("jax.nn", name, getattr(jax.nn, name), (x,))
    yield Case("jax.nn", "logsumexp, of equal numbers", jax.nn.logsumexp, (np.zeros(3),))
    yield Case("jax.nn", "logsumexp, of −inf", jax.nn.logsumexp, (np.array([-INF, 0.0, 1.0]),))


def _special_functions() -> Iterator[Case]:
    names = (
        "entr erf erfc erfinv expit gammaln digamma i0 i0e i1 i1e log_ndtr logit ndtr ndtri xlogy xlog1py kl_div "
        "rel_entr"
    )
    x = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    for name in names.split():
        function = getattr(jax.scipy.special, name)
        is_of_two = name in ("xlogy", "xlog1py", "kl_div", "rel_entr")
        points = (np.array([0.0, 0.0, 1.0, 0.5]), np.array([0.0, 1.0, 2.0, 0.5])) if is_of_two else (x,)
        yield Case("jax.scipy.special", name, function, points, is_elementwise=True)
    for name in (
        "logaddexp",
        "logaddexp2",
        "hypot",
        "copysign",
        "heaviside",
        "sinc",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
    ):
        both = (np.array([0.0, 0.0, 1.0, -1.0, INF]), np.array([0.0, 1.0, 1.0, 2.0, 0.0]))
        yield Case("jax.numpy", name, getattr(jnp, name), both[: 1 if name == "sinc" else 2], is_elementwise=True)


def _losses() -> Iterator[Case]:
    x, y = np.array([0.0, 1.0, -1.0, 2.0, -0.5, 1.0]), np.array([0.0, 1.0, 1.0, 2.0, 0.5, 0.0])
    labels = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    losses: dict[str, tuple[Callable[..., Any], Sequence[Any]]] = {
        "huber_loss": (optax.huber_loss, [x, y]), "l2_loss": (optax.l2_loss, [x, y]),
        "log_cosh": (optax.log_cosh, [x, y]), "hinge_loss": (lambda x: optax.hinge_loss(x, 2 * labels - 1), [x]),
        "sigmoid_binary_cross_entropy": (lambda x: optax.sigmoid_binary_cross_entropy(x, labels), [x]),
        "softmax_cross_entropy": (lambda x: optax.softmax_cross_entropy(x, labels / 3), [x]),
        "sigmoid_focal_loss": (lambda x: optax.sigmoid_focal_loss(x, labels), [x]),
        "cosine_distance": (optax.cosine_distance, [x, y]), "safe_norm": (lambda x: optax.safe_norm(x, 1e-3), [0 * x]),
        "sparsemax_loss": (lambda x: optax.losses.sparsemax_loss(x, labels), [x]),
        "projection_simplex": (optax.projections.projection_simplex, [x]),
        "perceptron_loss": (lambda x: optax.losses.perceptron_loss(x, 2 * labels - 1), [x]),
        "ranking_softmax_loss": (lambda x: optax.losses.ranking_softmax_loss(x, labels), [x]),
        "clip_by_global_norm": (lambda x: optax.clip_by_global_norm(1.0).update(x, optax.EmptyState())[0], [x]),
    }  # fmt: skip
    for name, (function, values) in losses.items():
        yield Case("optax", name, function, tuple(values))

"""Numerical checks of derivatives by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import Array, TensorType, as_array
from aotensor.errors import GradientError, GraphTypeError, GraphValueError, UnsupportedOptionError
from aotensor.gradient.reverse import grad
from aotensor.gradient.sparse_points import densified_output, through_data
from aotensor.graph.coercion import coerced
from aotensor.graph.operations import functions
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all
from aotensor.ops.complex.loops import as_pair, from_pair
from aotensor.ops.reduce.sums import sum

_STEPS = {"float64": 1e-7, "float32": 3e-4, "float16": 1e-1}
_TOLERANCES = {"float64": 1e-4, "float32": 1e-2, "float16": 5e-2}
_FLOOR = 1e-8
"""Smallest denominator of a relative error, always in float64."""

Function = Callable[..., Any]


class numeric_grad:
    """The gradient of a scalar function by one-sided differences: (f(x + eps·eᵢ) − f(x)) / eps for every element.

    f: a function of arrays, one per element of pt, in the most precise of their dtypes.
    pt: an array, or a list or tuple of them; `gf` is an array or a list likewise.
    eps: the step; by default the largest of the usual steps of the dtypes.

    Raises: GraphTypeError for a pt that is not floating, or a complex out_type.
    """

    type_eps: ClassVar[dict[Any, float]] = _STEPS | {np.dtype(name): step for name, step in _STEPS.items()}

    def __init__(self, f: Function, pt: Any, eps: float | None = None, out_type: str | None = None) -> None:
        if not callable(f) or isinstance(f, Variable):
            raise GraphTypeError(f"numeric_grad: f must be a function of arrays, not {f!r:.60}")
        is_sequence = isinstance(pt, list | tuple)
        points = [as_array(array) for array in (pt if is_sequence else [pt])]
        for position, array in enumerate(points):
            if array.dtype.name not in _STEPS:
                raise GraphTypeError(f"numeric_grad: pt[{position}] has dtype {array.dtype}, not a floating dtype")
        if out_type is not None and str(out_type).startswith("complex"):
            raise GraphTypeError(f"numeric_grad: out_type must be real, not {out_type}")
        names = [array.dtype.name for array in points]
        working = min(names, key=_STEPS.__getitem__, default="float64")
        step = max((_STEPS[name] for name in names), default=_STEPS["float64"]) if eps is None else eps
        moved = [array.astype(working) for array in points]
        derivatives = [np.zeros(array.shape, working) for array in points]
        start = np.asarray(f(*moved))
        for array, derivative in zip(moved, derivatives, strict=True):
            for at in np.ndindex(array.shape):
                kept = array[at]
                array[at] = kept + step
                with np.errstate(all="ignore"):
                    derivative[at] = (np.asarray(f(*moved)) - start) / step
                array[at] = kept
        self.gf: Any = derivatives if is_sequence else derivatives[0]

    @staticmethod
    def abs_rel_err(a: Any, b: Any) -> tuple[Array, Array]:
        """(|a − b|, |a − b| / max(|a| + |b|, 1e-8)): absolute and relative error, elementwise."""
        with np.errstate(all="ignore"):
            absolute = np.abs(np.asarray(a) - np.asarray(b))
            size = (np.abs(a) + np.abs(b)).astype("float64")
            return absolute, absolute / np.maximum(size, _FLOOR)

    def abs_rel_errors(self, g_pt: Sequence[Any]) -> list[tuple[Array, Array]]:
        """(absolute, relative) errors of analytic gradients, one pair per array.   Raises: GraphValueError for another
        shape.
        """
        own = self.gf if isinstance(self.gf, list) else [self.gf]
        if len(g_pt) != len(own):
            raise GraphValueError(f"{len(g_pt)} gradients for {len(own)} arrays")
        for position, (given, found) in enumerate(zip(g_pt, own, strict=True)):
            if np.shape(given) != found.shape:
                raise GraphValueError(f"gradient {position} has shape {np.shape(given)} instead of {found.shape}")
        return [self.abs_rel_err(given, found) for given, found in zip(g_pt, own, strict=True)]

    def max_err(self, g_pt: Sequence[Any], abs_tol: float, rel_tol: float) -> tuple[int, int, float, float]:
        """(argument, flat position, absolute error, relative error) where both exceed their tolerances the most.

        (0, 0, 0, 0) if there is no element at all.   Raises: GraphValueError for an error that is not finite.
        """
        worst, worst_score = (0, 0, 0.0, 0.0), -1.0
        for argument, (absolute, relative) in enumerate(self.abs_rel_errors(g_pt)):
            if absolute.size == 0:
                continue
            if not (np.isfinite(absolute).all() and np.isfinite(relative).all()):
                raise GraphValueError(f"a gradient with respect to argument {argument} is not finite")
            score = np.minimum(absolute / abs_tol, relative / rel_tol)
            at = int(np.argmax(score))
            if score.flat[at] > worst_score:
                worst_score = float(score.flat[at])
                worst = argument, at, float(absolute.flat[at]), float(relative.flat[at])
        return worst


Mode = str | Function | None
"""A mode of `aotensor.function`, a function that compiles instead of it, or None for the reference."""

_SLOW_MODES = ("FAST_COMPILE", "DEBUG_MODE", "DebugMode")


def _runner(inputs: Sequence[Variable], outputs: Sequence[Variable], mode: Mode) -> Callable[..., list[Array]]:
    """A function from arrays to the values of `outputs`: compiled in that mode, or the reference if it is None."""
    if mode is None:

        def refer(*arrays: Array) -> list[Array]:
            values = {x: np.asarray(array, dtype=x.dtype) for x, array in zip(inputs, arrays, strict=True)}
            return evaluate_all(outputs, values)

        return refer
    make: Function = partial(functions.function, mode=mode) if isinstance(mode, str) else mode
    run: Callable[..., list[Array]] = make(
        list(inputs), list(outputs), on_unused_input="ignore", allow_input_downcast=True
    )
    return run


@coerced
def verify_grad(
    fun: Callable[..., Any],
    pt: list[Any] | tuple[Any, ...],
    n_tests: int = 2,
    rng: Any = None,
    eps: float | None = None,
    out_type: str | None = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: Mode = None,
    cast_to_output_type: bool = False,
    no_debug_ref: bool = True,
) -> None:
    """Compare the gradient of Σ u⊙fun(…), for random u, with finite differences at `pt`, `n_tests` times.

    fun: variables → one variable of any shape. pt: a list or tuple of floating arrays, of complex arrays, whose
    parts are varied and counted along a last axis of two, or of SciPy matrices, whose stored values are varied; a
    sparse result is made dense.
    eps: the step; a larger one is exact for linear functions. abs_tol, rel_tol: by dtype 1e-4 (float64), 1e-2
    (float32); an element is wrong if it exceeds both.
    rng: an object with `random(shape)`; by default a new generator.
    mode: a mode of `aotensor.function`, or a function that compiles instead of it; None evaluates by the reference.
    cast_to_output_type: draw u in float32 if fun gives float32.
    no_debug_ref: evaluate the differences by compiled code even if `mode` is a slow one.

    Raises: GradientError where they differ; GraphTypeError for a pt of another kind; NotImplementedError if fun returns
    a list; GraphValueError for derivatives that are not finite; NullTypeGradError for undefined ones.
    """
    fun, pt = through_data(fun, pt) if isinstance(pt, list | tuple) else (fun, pt)
    fun, pt = through_pairs(fun, pt) if isinstance(pt, list | tuple) else (fun, pt)
    arrays = _checked_points(pt)
    rng = np.random.default_rng() if rng is None else rng
    tolerance = max((_TOLERANCES[array.dtype.name] for array in arrays), default=_TOLERANCES["float64"])
    abs_tol = tolerance if abs_tol is None else abs_tol
    rel_tol = tolerance if rel_tol is None else rel_tol
    inputs = [
        Variable(TensorType(array.dtype.name, array.shape), name=f"input {position}")
        for position, array in enumerate(arrays)
    ]
    output = fun(*inputs)
    if isinstance(output, list):
        raise UnsupportedOptionError(
            "verify_grad: fun must return one variable, not a list", hint="check its elements one by one"
        )
    if not isinstance(output, Variable):
        raise GraphTypeError(f"verify_grad: fun returns {type(output).__name__} instead of a variable")
    shape = _runner(inputs, [output], mode)(*arrays)[0].shape
    dtype = "float32" if cast_to_output_type and output.dtype == "float32" else "float64"
    weights = Variable(TensorType(dtype, shape), name="weights")
    cost = sum(weights * output)
    derivatives = [densified_output(x, structured=False) for x in grad(cost, inputs, disconnected_inputs="ignore")]
    analytic = _runner([*inputs, weights], derivatives, mode)
    value = _runner([*inputs, weights], [cost], "FAST_RUN" if no_debug_ref and mode in _SLOW_MODES else mode)
    for _ in range(n_tests):
        drawn = np.asarray(rng.random(shape) + 0.5, dtype)
        numeric = numeric_grad(lambda *xs, u=drawn: value(*xs, u)[0], list(arrays), eps, out_type)
        _compare(numeric, analytic(*arrays, drawn), abs_tol, rel_tol)


def through_pairs(fun: Callable[..., Any], pt: Sequence[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """Convert a function of complex points to one of real points with a last axis of (real, imaginary) pairs."""
    arrays = [np.asarray(array) for array in pt]
    is_complex = [array.dtype.name in ("complex64", "complex128") for array in arrays]

    def of_pairs(*inputs: Variable) -> Any:
        found = fun(*(from_pair(x) if on else x for x, on in zip(inputs, is_complex, strict=True)))
        return as_pair(found) if isinstance(found, Variable) and dtypes.is_complex(found.dtype) else found

    pairs = [np.stack([a.real, a.imag], -1) if on else a for a, on in zip(arrays, is_complex, strict=True)]
    return of_pairs, [pair if on else given for pair, given, on in zip(pairs, pt, is_complex, strict=True)]


def _checked_points(pt: object) -> list[Array]:
    if not isinstance(pt, list | tuple):
        raise GraphTypeError(f"verify_grad: pt must be a list or tuple of arrays, not {type(pt).__name__}")
    arrays = [np.array(array) for array in pt]
    for position, array in enumerate(arrays):
        if array.dtype.name not in _TOLERANCES:
            raise GraphTypeError(f"verify_grad: pt[{position}] has dtype {array.dtype}, not a floating dtype")
    return arrays


def _compare(numeric: numeric_grad, analytic: list[Array], abs_tol: float, rel_tol: float) -> None:
    argument, position, abs_err, rel_err = numeric.max_err(analytic, abs_tol, rel_tol)
    if abs_err > abs_tol and rel_err > rel_tol:
        values = analytic[argument].flat[position], numeric.gf[argument].flat[position]
        raise GradientError(
            argument,
            position,
            analytic[argument].shape,
            float(values[0]),
            float(values[1]),
            abs_err,
            rel_err,
            abs_tol,
            rel_tol,
        )

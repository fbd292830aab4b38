"""Discrete distributions: counts and other integers.

Every function takes the state first and gives (next state, draw). Parameters broadcast together, and to `size` where it
is given; the draw has the dtype that is asked for, by default int64. Its derivative with respect to a parameter is
undefined: an error where it is used.

All raise GraphValueError for a parameter outside of its range, at once where it is a constant, else at run time; and
GraphTypeError for a number of trials that is not an integer.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.types import Array
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Constant, Variable, as_tensor, constant
from aotensor.ops.elementwise.arithmetic import add, maximum, mod, sub
from aotensor.ops.elementwise.base import Elementwise, elementwise
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.random.continuous import beta, gamma
from aotensor.ops.random.parameter import parameter
from aotensor.ops.random.sizes import count_dtype, extents_for, sample_op
from aotensor.ops.random.state import Drawn, after, as_state

LARGEST_COUNT: Final = 2**53
"""Largest number of trials, and largest mean of counts, that float64 represents exactly."""


def _probability(label: str, p: Any, is_open: bool = False) -> Variable:
    return parameter(label, p, "float64", low=0, high=1, is_open=is_open)


def _trials(label: str, n: Any) -> Variable:
    return parameter(label, n, "int64", low=0, high=LARGEST_COUNT)


def _spans(name: str, doc: str, predicate: str, more: int, text: str) -> Elementwise:
    """An elementwise op high − low + more in uint64, which checks that low and high are in order."""
    order = {"lt": np.less, "le": np.less_equal}[predicate]

    def reference(low: Array, high: Array) -> Array:
        if not np.all(order(low, high)):
            raise GraphValueError(text)
        return np.asarray((high - low).astype(np.uint64) + np.uint64(more))

    def emit(s: ScalarBuilder, low: Any, high: Any) -> Any:
        return s.cast(high - low, "uint64") + more

    def guard(b: TensorBuilder, low: Tensor, high: Tensor) -> None:
        good = b.map(lambda s, x, y: s.compare(predicate, x, y), low, high, dtype="bool")
        b.check(b.item(b.reduce("and", good, range(len(good.extents)))), text)

    def signature(*operands: str) -> tuple[tuple[str, ...], str]:
        return operands, "uint64"

    return elementwise(name, doc, reference, emit, (None, None), signature, guard=guard, notation="(({1}) - ({0}))")


_NO_NUMBER: Final = "integers: there is none between some low and its high"
span_below = _spans(
    "span_below", "Whole numbers from low to before high: high − low, checked to be > 0.", "lt", 0, _NO_NUMBER
)
span_up_to = _spans(
    "span_up_to", "Whole numbers from low to high: high − low + 1, checked to be > 0 (0 is 2^64).", "le", 1, _NO_NUMBER
)
_TOO_MANY: Final = "hypergeometric: nsample is more than ngood + nbad"
not_taken = _spans("not_taken", "What is left of a total: total − sample, checked to be ≥ 0.", "le", 0, _TOO_MANY)


def bernoulli(state: Any, p: Any = 0.5, size: Any = None, dtype: Any = None) -> Drawn:
    """1 with probability p, else 0; dtype may be bool."""
    state = as_state(state)
    drawn = sample_op("bernoulli", state, size, [_probability("bernoulli: p", p)])
    return after(state), cast(drawn, "int64" if dtype is None else dtype)


def binomial(state: Any, n: Any = 1, p: Any = 0.5, size: Any = None, dtype: Any = None) -> Drawn:
    """Successes in n trials of probability p, 0 ≤ n ≤ 2^53."""
    state = as_state(state)
    drawn = sample_op("binomial", state, size, [_trials("binomial: n", n), _probability("binomial: p", p)])
    return after(state), cast(drawn, count_dtype(dtype))


def poisson(state: Any, lam: Any = 1.0, size: Any = None, dtype: Any = None) -> Drawn:
    """Poisson counts of mean lam, 0 ≤ lam ≤ 2^53."""
    state = as_state(state)
    drawn = sample_op("poisson", state, size, [parameter("poisson: lam", lam, "float64", 0, LARGEST_COUNT)])
    return after(state), cast(drawn, count_dtype(dtype))


def geometric(state: Any, p: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Trials of probability p up to the first success, at least 1."""
    state = as_state(state)
    drawn = sample_op("geometric", state, size, [_probability("geometric: p", p, is_open=True)])
    return after(state), cast(drawn, count_dtype(dtype))


def negative_binomial(state: Any, n: Any, p: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Failures up to success number n ≥ 0, which need not be whole: Poisson counts whose mean is a gamma."""
    n = parameter("negative_binomial: n", n, "float64", 0, LARGEST_COUNT)
    p = _probability("negative_binomial: p", p, is_open=True)
    extents = extents_for(size, [n, p])
    following, mean = gamma(state, n, (1 - p) / p, extents, "float64")
    return poisson(following, mean, extents, dtype)


def hypergeometric(state: Any, ngood: Any, nbad: Any, nsample: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Number of good elements among nsample drawn without replacement from ngood + nbad; each number at most 2^52."""
    state = as_state(state)
    counts = (("ngood", ngood), ("nbad", nbad), ("nsample", nsample))
    good, bad, taken = (
        parameter(f"hypergeometric: {name}", x, "int64", 0, LARGEST_COUNT // (1 if name == "nsample" else 2))
        for name, x in counts
    )
    known = [as_tensor(x) for _, x in counts]
    if all(isinstance(x, Constant) for x in known):
        ngood, nbad, nsample = (x.data.astype("int64") for x in known if isinstance(x, Constant))
        if np.any(ngood + nbad < nsample):
            raise GraphValueError(_TOO_MANY, lines=[x.describe() for x in known])
    drawn = sample_op("hypergeometric", state, size, [good, bad, not_taken(taken, add(good, bad))])
    return after(state), cast(drawn, count_dtype(dtype))


def betabinom(state: Any, n: Any, a: Any, b: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Successes in n trials with a probability drawn from a beta distribution of shapes a and b."""
    extents = extents_for(size, [as_tensor(x) for x in (n, a, b)])
    following, p = beta(state, a, b, extents, "float64")
    return binomial(following, n, p, extents, dtype)


@coerced
def integers(
    state: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = None, endpoint: bool = False
) -> Drawn:
    """Whole numbers from low to high, all equally likely; without high, from 0 to low.

    dtype: int64, another integer dtype, or bool. endpoint: high itself is among them.

    Raises: GraphTypeError for bounds that are not integers; GraphValueError if the range is empty, or if
    one of them does not fit the dtype.
    """
    state, kind = as_state(state), "int64" if dtype is None else dtypes.canonical(dtype)
    if dtypes.is_float(kind):
        raise GraphTypeError(f"integers: dtype must be an integer dtype, not {kind}")
    first, last = (0, low) if high is None else (low, high)
    wide = "uint64" if kind == "uint64" else "int64"
    start, end = _bound("low", first, kind, wide), _bound("high", last, kind, wide, is_excluded=not endpoint)
    is_excluded = not endpoint and not isinstance(last, int)
    if isinstance(start, Constant) and isinstance(end, Constant) and np.any(start.data + is_excluded > end.data):
        raise GraphValueError(
            f"integers: there are no integers from {start} to {end}", lines=[start.describe(), end.describe()]
        )
    span = (span_below if is_excluded else span_up_to)(start, end)
    threshold = mod(sub(constant(0, dtype="uint64"), span), maximum(span, constant(1, dtype="uint64")))
    offset = sample_op("integers", state, size, [span, threshold])
    return after(state), cast(add(cast(offset, wide), start), kind)


def _bound(name: str, value: Any, kind: str, wide: str, is_excluded: bool = False) -> Variable:
    """Convert a bound of `integers` to the dtype `wide`; an excluded literal is replaced by its predecessor."""
    least, most = (0, 1) if kind == "bool" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    if isinstance(value, int):
        number = int(value) - is_excluded
        if not least <= number <= most:
            raise GraphValueError(f"integers: {name} = {value} does not fit {kind}")
        return constant(number, dtype=wide)
    x = as_tensor(value)
    if x.dtype not in dtypes.INTEGERS or (x.dtype == "uint64" and wide == "int64"):
        raise GraphTypeError(f"integers: {name} must be an integer within {wide}, not {x.type}", lines=[x.describe()])
    if kind == wide and dtypes.is_signed(kind):
        return cast(x, wide)
    if kind == wide:
        return cast(x if dtypes.is_unsigned(x.dtype) else parameter(f"integers: {name}", x, x.dtype, low=0), wide)
    return parameter(f"integers: {name}", x, wide, low=least, high=most + is_excluded)

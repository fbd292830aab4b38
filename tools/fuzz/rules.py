"""The kinds of steps: an expression for aotensor and NumPy, and conditions on the operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from tools.fuzz.oracle import Array

Shape: TypeAlias = tuple[int, ...]
Fits: TypeAlias = Callable[..., bool]
Parameters: TypeAlias = Callable[..., dict[str, Any]]


def anything(*shapes: Shape) -> bool:
    """A condition that accepts all shapes."""
    return True


def none(rng: np.random.Generator, *shapes: Shape) -> dict[str, Any]:
    """No parameters."""
    return {}


@dataclass(frozen=True)
class Rule:
    """One kind of step.

    aot, meaning: expressions with {0}, {1}, … for the operands and {name} for parameters; one text serves both if
    `meaning` is empty and reads `at.` as `np.`.
    kinds: of the operands: f(loat), i(nteger), b(ool), s(parse).   fits: true of the operands' shapes, in every sample.
    guard: true of the operands' values: away from kinks and ties, where a derivative is no difference.
    parameters: drawn from the shapes of the first sample.
    """

    aot: str
    meaning: str = ""
    kinds: str = "f"
    fits: Fits = anything
    guard: Callable[..., bool] = lambda *arrays: True
    parameters: Parameters = none

    @property
    def numpy(self) -> str:
        return self.meaning or self.aot.replace("at.", "np.")


# --- shapes --------------------------------------------------------------------------------------------------------


def rank(*ranks: int) -> Fits:
    """A condition: the first operand has one of these ranks."""
    return lambda first, *_: len(first) in ranks


def same(*shapes: Shape) -> bool:
    """A condition: all operands have the same shape."""
    return len(set(shapes)) == 1


def small(*shapes: Shape) -> bool:
    """A condition: few elements in total and along each axis."""
    return all(int(np.prod(shape)) <= 400 and all(n <= 20 for n in shape) for shape in shapes)


def both(*wishes: Fits) -> Fits:
    """A condition: all of the given ones hold."""
    return lambda *shapes: all(wish(*shapes) for wish in wishes)


def axis(rng: np.random.Generator, first: Shape, *_: Shape) -> dict[str, Any]:
    """{a}: an axis of the first operand."""
    return {"a": int(rng.integers(len(first)))}


# --- values --------------------------------------------------------------------------------------------------------


def apart(x: Array, y: Array | float = 0.0, *_: Any) -> bool:
    """A condition: x and y differ in every element."""
    return bool(np.all(np.abs(x - y) > 1e-3))


def distinct(x: Array, *_: Any) -> bool:
    """A condition: no two elements are nearly equal."""
    ordered = np.sort(np.asarray(x, float).reshape(-1))
    return bool(np.all(np.diff(ordered) > 1e-6))


def away_from(*kinks: float) -> Callable[..., bool]:
    """A condition: no element of the first operand is near a kink."""
    return lambda x, *_: all(apart(x, kink) for kink in kinks)


# --- tables --------------------------------------------------------------------------------------------------------

SMOOTH: Sequence[Rule] = [
    Rule("-{0}"),
    Rule("1.5 * {0} - 0.25"),
    Rule("at.tanh({0})"),
    Rule("at.sin({0})"),
    Rule("at.cos(2.0 * {0})"),
    Rule("at.exp(0.5 * {0})"),
    Rule("at.expm1({0})"),
    Rule("at.arctan({0})"),
    Rule("at.arcsinh({0})", "np.arcsinh({0})"),
    Rule("at.sqr({0})", "np.square({0})"),
    Rule("{0} ** 3"),
    Rule("at.sigmoid({0})", "o.sigmoid({0})"),
    Rule("at.softplus({0})", "o.softplus({0})"),
    Rule("at.log1p(at.sqr({0}))", "np.log1p(np.square({0}))"),
    Rule("at.sqrt(1.0 + at.sqr({0}))", "np.sqrt(1.0 + np.square({0}))"),
    Rule("at.log(2.0 + at.cos({0}))"),
    Rule("1.0 / (1.5 + at.sqr({0}))", "1.0 / (1.5 + np.square({0}))"),
    Rule("(2.0 + at.sin({0})) ** -1.5"),
    Rule("at.exp(-at.sqr({0}))", "np.exp(-np.square({0}))"),
    Rule("at.log(at.sigmoid({0}))", "-o.softplus(-{0})"),
    Rule("at.log(1.0 + at.exp({0}))", "o.softplus({0})"),
]

KINKED: Sequence[Rule] = [
    Rule("at.abs({0})", guard=away_from(0.0)),
    Rule("at.maximum({0}, 0.1)", guard=away_from(0.1)),
    Rule("at.minimum({0}, 0.3 * {0})", guard=away_from(0.0)),
    Rule("at.clip({0}, -0.5, 0.7)", guard=away_from(-0.5, 0.7)),
    Rule("at.switch({0} > 0.2, {0}, at.sin({0}))", "np.where({0} > 0.2, {0}, np.sin({0}))", guard=away_from(0.2)),
    Rule("at.floor(3.0 * {0}) + {0}", guard=lambda x: apart(3.0 * x, np.round(3.0 * x))),
    Rule("at.relu({0})", "np.maximum({0}, 0.0)", guard=away_from(0.0)),
]

BINARY: Sequence[Rule] = [
    Rule("{0} + {1}", kinds="ff", fits=same),
    Rule("{0} - {1}", kinds="ff", fits=same),
    Rule("{0} * {1}", kinds="ff", fits=same),
    Rule("{0} / (1.5 + at.sqr({1}))", "{0} / (1.5 + np.square({1}))", "ff", same),
    Rule("(1.5 + at.tanh({0})) ** {1}", kinds="ff", fits=same),
    Rule("at.arctan2({0}, 2.0 + at.sin({1}))", "np.arctan2({0}, 2.0 + np.sin({1}))", "ff", same),
    Rule("at.logaddexp({0}, {1})", kinds="ff", fits=same),
    Rule("at.maximum({0}, {1})", kinds="ff", fits=same, guard=apart),
    Rule("at.switch({0} > {1}, {0}, 2.0 * {1})", "np.where({0} > {1}, {0}, 2.0 * {1})", "ff", same, apart),
    # a row beside each row, a column beside each column, an outer sum, numbers
    Rule("{0} + {1}", kinds="ff", fits=lambda x, y: len(x) > len(y) == 1 and x[-1:] == y),
    Rule("{0} * {1}[:, None]", kinds="ff", fits=lambda x, y: len(x) == 2 and len(y) == 1 and x[:1] == y),
    Rule("{0}[:, None] * at.cos({1})[None, :]", kinds="ff", fits=lambda x, y: len(x) == len(y) == 1),
    Rule("{0} * {1}", kinds="ff", fits=lambda x, y: len(y) == 0),
    Rule("at.tanh({1}) - {0}", kinds="ff", fits=lambda x, y: len(y) == 0 < len(x)),
    Rule("{0} * {1}", kinds="fi", fits=same),
    Rule("at.switch({1}, {0}, 0.5)", "np.where({1}, {0}, 0.5)", "fb", same),
]

REDUCING: Sequence[Rule] = [
    Rule("{0}.sum()", fits=rank(1, 2, 3)),
    Rule("{0}.sum(axis={a})", fits=rank(1, 2, 3), parameters=axis),
    Rule("{0}.sum(axis={a})", fits=rank(2, 3), parameters=axis),
    Rule("{0}.mean(axis={a})", fits=rank(1, 2, 3), parameters=axis),
    Rule("{0} - {0}.mean(axis={a}, keepdims=True)", fits=rank(1, 2, 3), parameters=axis),
    Rule("{0}.var(axis={a})", fits=rank(1, 2), parameters=axis),
    Rule("at.sqrt(0.1 + at.sqr({0}).sum(axis={a}))", "np.sqrt(0.1 + np.square({0}).sum(axis={a}))", "f", rank(1, 2),
         parameters=axis),
    Rule("{0}.max(axis={a})", fits=rank(1, 2, 3), guard=distinct, parameters=axis),
    Rule("{0}.min()", fits=rank(1, 2), guard=distinct),
    Rule("{0} / (0.5 + {0}.max(axis={a}, keepdims=True) - {0}.min(axis={a}, keepdims=True))", fits=rank(1, 2),
         guard=distinct, parameters=axis),
    Rule("at.prod(1.0 + 0.3 * at.tanh({0}), axis={a})", fits=both(rank(1, 2), small), parameters=axis),
    Rule("at.logsumexp({0}, axis={a})", "o.logsumexp({0}, {a})", "f", rank(1, 2, 3), parameters=axis),
    Rule("at.softmax({0}, axis={a})", "o.softmax({0}, {a})", "f", rank(1, 2), parameters=axis),
    Rule("at.log_softmax({0}, axis={a})", "np.log(o.softmax({0}, {a}))", "f", rank(1, 2), parameters=axis),
    Rule("at.cumsum({0}, axis={a})", "np.cumsum({0}, axis={a})", "f", rank(1, 2), parameters=axis),
    Rule("at.cumprod(1.0 + 0.2 * at.sin({0}), axis={a})", fits=both(rank(1, 2), small), parameters=axis),
    Rule("at.sort({0}, axis={a})", fits=rank(1, 2), guard=distinct, parameters=axis),
    Rule("at.argmax({0}, axis={a})", fits=rank(1, 2), guard=distinct, parameters=axis),
    Rule("at.argsort({0}, axis={a})", fits=rank(1, 2), guard=distinct, parameters=axis),
    Rule("{0} > 0.1", guard=away_from(0.1)),
    Rule("at.any({0}, axis={a})", kinds="b", fits=rank(1, 2), parameters=axis),
    Rule("{0}.sum(axis={a})", kinds="i", fits=rank(1, 2), parameters=axis),
    Rule("{0}.sum(axis={a})", kinds="b", fits=rank(1, 2), parameters=axis),
]  # fmt: skip

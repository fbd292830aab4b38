"""Generators as objects: streams that keep their states, and explicit states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

from aotensor.core.frozen import frozen_dataclass
from aotensor.errors import GraphTypeError
from aotensor.graph.variable import SharedVariable, Variable
from aotensor.ops.random import arrangements, continuous, discrete, vectors
from aotensor.ops.random.state import Drawn, as_state, first_state, shared_state

DISTRIBUTIONS: Final[Mapping[str, Callable[..., Drawn]]] = {
    draw.__name__: draw
    for draw in (
        continuous.beta, continuous.cauchy, continuous.chisquare, continuous.exponential, continuous.gamma,
        continuous.gengamma, continuous.gumbel, continuous.halfcauchy, continuous.halfnormal, continuous.invgamma,
        continuous.laplace, continuous.logistic, continuous.lognormal, continuous.normal, continuous.pareto,
        continuous.standard_normal, continuous.t, continuous.triangular, continuous.truncexpon, continuous.uniform,
        continuous.vonmises, continuous.wald, continuous.weibull,
        discrete.bernoulli, discrete.betabinom, discrete.binomial, discrete.geometric, discrete.hypergeometric,
        discrete.integers, discrete.negative_binomial, discrete.poisson,
        arrangements.categorical, arrangements.choice, arrangements.multinomial, arrangements.permutation,
        vectors.dirichlet, vectors.multivariate_normal,
    )
}  # fmt: skip
"""Name → (state, parameters, size, dtype) → (next state, draw)."""


class RandomStream:
    """Draws by method: `RandomStream(42).normal(0, 1, size=3)`, and so for every distribution of `aotensor.random`.

    Each draw is a variable with a state of its own, a shared variable that every compiled call advances: two calls of a
    function differ, and draws at two lines of the program are independent. The states follow from the seed and
    the order of the draws in the program; without a seed they come from the operating system.

    Raises: GraphTypeError, GraphValueError for a seed that is not an integer, or is negative.
    """

    def __init__(self, seed: int | None = None) -> None:
        first_state(seed)
        self.default_instance_seed = seed
        #: (state, next state) of each draw, in order
        self.state_updates: list[tuple[SharedVariable, Variable]] = []

    def gen(self, draw: str | Callable[..., Drawn], *args: Any, **kwargs: Any) -> Variable:
        """A draw of a distribution of `aotensor.random`, or of any function (state, …) → (next state, draw).

        Raises: GraphTypeError for a name that no distribution has.
        """
        if isinstance(draw, str):
            if draw not in DISTRIBUTIONS:
                raise GraphTypeError(
                    f"there is no distribution {draw!r}", hint=f"use one of {', '.join(DISTRIBUTIONS)}"
                )
            draw = DISTRIBUTIONS[draw]
        number = len(self.state_updates)
        state = shared_state(self.default_instance_seed, number, f"rng{number}")
        state.default_update, drawn = draw(state, *args, **kwargs)
        self.state_updates.append((state, state.default_update))
        return drawn

    def seed(self, seed: int | None = None) -> None:
        """Set all states as those of a new stream with this seed, or with the one that the stream was made with."""
        chosen = self.default_instance_seed if seed is None else seed
        for number, (state, _) in enumerate(self.state_updates):
            state.set_value(first_state(chosen, number))
        self.default_instance_seed = chosen

    def updates(self) -> list[tuple[SharedVariable, Variable]]:
        """(state, next state) of each draw, for `function(updates=…)` and a step of `scan`."""
        return list(self.state_updates)

    def __getattr__(self, name: str) -> Callable[..., Variable]:
        if name not in DISTRIBUTIONS:
            raise AttributeError(f"RandomStream has no attribute {name!r}")
        draw = DISTRIBUTIONS[name]

        @wraps(draw)
        def method(*args: Any, **kwargs: Any) -> Variable:
            return self.gen(draw, *args, **kwargs)

        return method

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *DISTRIBUTIONS})


@frozen_dataclass
class Generator:
    """Draws by method from an explicit state: `next_state, x = Generator(state).normal(0, 1, size=3)`.

    It has no hidden state: two draws from one state are the same random numbers.
    """

    state: Variable

    def __getattr__(self, name: str) -> Callable[..., Drawn]:
        if name not in DISTRIBUTIONS:
            raise AttributeError(f"Generator has no attribute {name!r}")
        draw = DISTRIBUTIONS[name]

        @wraps(draw)
        def method(*args: Any, **kwargs: Any) -> Drawn:
            return draw(self.state, *args, **kwargs)

        return method

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *DISTRIBUTIONS})


def default_rng(seed: Any = None) -> Generator:
    """A generator with an explicit state: of a seed, as a new shared variable; or of a state that is given.

    seed: an integer, None for entropy from the operating system; or a state, a uint64 vector of 2 elements.

    Raises: GraphTypeError for anything else, GraphValueError for a negative seed.
    """
    if seed is None or isinstance(seed, int):
        return Generator(shared_state(seed))
    return Generator(as_state(seed))

"""The reference's results for samples of a function: computed once, within limits, and shared by all checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aotensor.core.types import Array
from aotensor.driver.definition import Definition
from aotensor.errors import GraphError
from aotensor.graph.subgraph import TooLongError, at_most
from aotensor.sampling.dense_view import Arrays, DenseView, Graph
from aotensor.sampling.samples import Sample, Sampler, reference_values
from aotensor.verification.limits import Limits
from aotensor_runtime.errors import ArgumentError


@dataclass(frozen=True)
class Answer:
    """The outcome of the reference for a sample; None if its loops evaluate more operations than a limit.

    evaluations: by its loops.
    """

    sample: Sample
    outcome: list[Array] | str | None
    evaluations: int


class Answers:
    """The answers for samples of a function's dense view; each is computed when it is first needed.

    samples: their number. seed: the same seed gives the same samples.
    """

    def __init__(self, f: Definition, samples: int, seed: int, limits: Limits) -> None:
        self.f, self.limits, self.seed = f, limits, seed
        self.view = DenseView.from_function(f)
        self._samples = samples
        self._found: list[Answer] = []

    def __iter__(self) -> Iterator[Answer]:
        position = 0
        while True:
            if position == len(self._found):
                new = next(self._rest, None)
                if new is None:
                    return
                self._found.append(new)
            yield self._found[position]
            position += 1

    @cached_property
    def sampler(self) -> Sampler:
        """Draws the samples, and what comparisons need besides."""
        return Sampler(self.f, self.seed)

    @cached_property
    def _rest(self) -> Iterator[Answer]:
        drawn = self.sampler.samples(self._samples)
        split = (replace(sample, arrays=self.view.split(sample.arrays)) for sample in drawn)
        return answered(self.view, split, self.limits)


def answered(f: Graph, samples: Iterable[Sample], limits: Limits) -> Iterator[Answer]:
    """The answers for samples of a dense graph."""
    left = limits.samples
    for sample in samples:
        outcome: list[Array] | str | None
        with at_most(min(limits.sample, left)) as allowance:
            try:
                outcome = outcome_of(lambda arrays: reference_values(f, arrays), sample.arrays)
            except TooLongError:
                outcome = None
        left = max(left - allowance.used, 0)
        yield Answer(sample, outcome, allowance.used)


def outcome_of(evaluate: Callable[[Arrays], Sequence[Array]], arrays: Arrays) -> list[Array] | str:
    """The values, or the message of the error for these arguments."""
    try:
        return [np.asarray(x) for x in evaluate(arrays)]
    except (GraphError, ArgumentError) as error:
        return error.diagnostic.title
    except (ValueError, IndexError, ZeroDivisionError) as error:
        return str(error).splitlines()[0] if str(error) else type(error).__name__

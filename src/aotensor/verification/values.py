"""Compare three computations on the same samples: the reference, interpreted tensor IR, and the compiled library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import TypeAlias

import numpy as np

from aotensor.core.types import Array
from aotensor.driver.build import Build
from aotensor.graph.sparse_type import is_matrix
from aotensor.ir.context import parse_module
from aotensor.ir.interpreter.interpret import interpret
from aotensor.sampling.agreement import disagreements
from aotensor.sampling.dense_view import Arrays, Graph, dense_value, with_matrices
from aotensor.sampling.pairs import to_pairs
from aotensor.sampling.random_matrix import disordered
from aotensor.sampling.samples import nearby_values
from aotensor.verification.answers import Answer, Answers, outcome_of
from aotensor.verification.report import CheckFailed, CheckSkipped
from aotensor_runtime import Library
from aotensor_runtime.vectors import call_with_state

Evaluation: TypeAlias = Callable[[Arrays], Sequence[Array]]
"""A function from values of all arguments to all results."""


def check_interpreted(answers: Answers, build: Build, stage: str, rtol: float | None) -> str:
    """Compare the interpreted tensor IR of one stage with the reference.   Raises: CheckFailed, CheckSkipped"""
    f, module = answers.f, parse_module(build.lowered.texts[stage])

    def evaluate(arrays: Arrays) -> Sequence[Array]:
        flat = f.flat
        given = [
            _transposed(x, name in flat.complex_arguments) if name in flat.column_arguments else x
            for name, x in arrays.items()
        ]
        found = interpret(module, f.name, *given)
        typed = [_as_declared(x, y.dtype) for x, y in zip(found, flat.results.values(), strict=True)]
        typed = [
            _transposed(x, key in flat.complex_results) if key in flat.column_results else x
            for key, x in zip(flat.results, typed, strict=True)
        ]
        return [dense_value(x) for x in with_matrices(typed, flat.sparse_results)]

    return compare(answers.view, evaluate, answers, answers.sampler.rng, rtol, answers.limits.interpreted)


def _transposed(x: Array, has_pairs: bool) -> Array:
    """The transpose as a row-major array; the last axis stays in place if it has pairs of a complex number."""
    return np.ascontiguousarray(np.moveaxis(x.T, 0, -1) if has_pairs else x.T)


def check_compiled(answers: Answers, build: Build, rtol: float | None) -> str:
    """Compare the compiled library with the reference on shapes and layouts.   Raises: CheckFailed, CheckSkipped"""
    function, view, rng = Library(build.shared).functions[answers.f.name], answers.view, answers.sampler.rng

    def evaluate(arrays: Arrays) -> Sequence[Array]:
        values = view.join_values(list(arrays.values()))
        found = call_with_state(function, [disordered(rng, x) if is_matrix(x) else x for x in values])
        return [to_pairs(x) for x in found]

    return compare_on_samples(answers, evaluate, rtol)


def compare_on_samples(answers: Answers, evaluate: Evaluation, rtol: float | None) -> str:
    """Compare some evaluation of a function with the reference, on its samples.   Raises: CheckFailed, CheckSkipped"""
    return compare(answers.view, evaluate, answers, answers.sampler.rng, rtol)


def compare(
    f: Graph,
    evaluate: Evaluation,
    answers: Iterable[Answer],
    rng: np.random.Generator,
    rtol: float | None,
    most: float = inf,
    left_out: int = 0,
) -> str:
    """Compare some evaluation of dense f with the reference, on samples.

    most: evaluations of the reference's loops up to which a sample is evaluated. The results of samples without an
    answer are not compared; where `most` is infinite, they are computed nevertheless. left_out: samples that are not
    among the answers.

    Raises: CheckFailed, CheckSkipped
    """
    refused = agreed = 0
    for number, answer in enumerate(answers):
        sample, expected = answer.sample, answer.outcome
        is_left_out = expected is None or answer.evaluations > most
        if not (is_left_out and most < inf):
            found = outcome_of(evaluate, sample.arrays)
        if expected is None or is_left_out:
            left_out += 1
            continue
        where = f"sample {number} ({sample.note})"
        if isinstance(expected, str) or isinstance(found, str):
            if isinstance(expected, str) != isinstance(found, str):
                who = "the reference" if isinstance(expected, str) else "the compiled code"
                raise CheckFailed(f"{where}: only {who} refuses: {expected if isinstance(expected, str) else found}")
            refused += 1
            continue
        nearby = _Nearby(f, rng, sample.arrays, expected)
        problem = disagreements(list(f.results), found, expected, rtol, nearby, sample.has_infinities)
        if problem:
            raise CheckFailed(f"{where}: {problem}")
        agreed += 1
    rest = f", {left_out} left out: the loops of the reference need too many evaluations" if left_out else ""
    if not agreed:
        raise CheckSkipped("the reference and the compiled code refuse every sample" if not rest else f"0 agree{rest}")
    return f"{agreed} samples agree" + (f", {refused} refused by both" if refused else "") + rest


class _Nearby:
    """The reference with values changed by one ulp, computed at the first request."""

    def __init__(self, f: Graph, rng: np.random.Generator, arrays: Arrays, expected: Sequence[Array]) -> None:
        self._f, self._rng, self._arrays, self._expected = f, rng, arrays, expected
        self._values: Sequence[Array] | None = None

    def __call__(self) -> Sequence[Array]:
        if self._values is None:
            found = outcome_of(lambda x: nearby_values(self._f, x, self._rng), self._arrays)
            self._values = self._expected if isinstance(found, str) else found
        return self._values


def _as_declared(x: Array, dtype: str) -> Array:
    """Convert the interpreter's results to declared dtypes: it represents unsigned integers as signed ones."""
    return x.view(dtype) if x.dtype.kind == "i" and dtype.startswith("u") else x

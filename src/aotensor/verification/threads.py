"""Check that a function returns the same bits on any number of threads.

Samples are too small for more than one thread. So the function is compiled once more,
for a machine on which a chunk of a loop has only a few iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aotensor.core.types import Array
from aotensor.driver.build import Build
from aotensor.passes.target import Target
from aotensor.sampling.dense_view import Arrays
from aotensor.verification.answers import Answers
from aotensor.verification.report import CheckFailed
from aotensor.verification.values import compare_on_samples
from aotensor_runtime import Library
from aotensor_runtime.vectors import THREADS, call_with_state, same_bits


def small_chunks(facts: Target) -> Target:
    """A target machine whose chunks have so little work that every loop is cut into several chunks."""
    return replace(facts, chunk_work=1, sum_work=0, fewest_iterations=2, chunk_group=1, row_group=1)


def check_threads(answers: Answers, build: Build, rtol: float | None) -> str:
    """Compare several numbers of threads and the reference on the same samples.   Raises: CheckFailed, CheckSkipped"""
    options, view, name = build.options, answers.view, answers.f.name
    facts = small_chunks(options.facts or options.machine().facts)
    again = Build([answers.f], build.name, replace(options, facts=facts, verify=False))
    function = Library(again.shared).functions[name]

    def evaluate(arrays: Arrays) -> Sequence[Array]:
        values = view.join_values(list(arrays.values()))
        found = [call_with_state(function.with_threads(count), values) for count in THREADS]
        for count, others in zip(THREADS, found, strict=True):
            if not same_bits([np.asarray(x) for x in found[0]], [np.asarray(x) for x in others]):
                raise CheckFailed(f"{count} threads give other values than one")
        return found[0]

    shown = ", ".join(map(str, THREADS[:-1])) + f" and {THREADS[-1]}"
    return f"{shown} threads: {compare_on_samples(answers, evaluate, rtol)}, to the last bit with each other"

"""A nest without one of its lines: the error stands at that line, or at the first use of the value it made."""

from __future__ import annotations

import re
from functools import cache

import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import ScheduleError
from aotensor.passes.schedule.text import Schedule


@cache
def nest() -> str:
    X, w = at.matrix("X", shape=("n", "p")), at.vector("w", shape=("p",))
    return aot.function([X, w], {"y": at.exp(X @ w)}).schedule.text()


def refused(lines: list[str]) -> tuple[int, str]:
    """Line and message of the error."""
    with pytest.raises(ScheduleError) as caught:
        Schedule("\n".join(lines), "x.nest")
    found = re.fullmatch(r"x\.nest:(\d+): (.*)", caught.value.diagnostic.title)
    assert found is not None, caught.value
    return int(found[1]), found[2]


def test_lines_with_braces() -> None:
    lines = nest().splitlines()
    braced = [k for k, line in enumerate(lines) if line.count("{") != line.count("}")]
    assert len(braced) > 10
    for k in braced:
        line, said = refused(lines[:k] + lines[k + 1 :])
        assert line == min(k + 1, len(lines) - 1)
        wanted = "{ is missing above" if lines[k].endswith("{") else "a } is missing"
        assert wanted in said, (lines[k], said)


def test_lines_that_make_values() -> None:
    lines = nest().splitlines()
    made = {k: found[1] for k, line in enumerate(lines) if (found := re.match(r"\s*(%[\w.]+) = ", line))}
    count = 0
    for k in sorted(made)[::2]:
        end = next((j for j in range(k, len(lines)) if "func.func" in lines[j]), len(lines))
        use = next((j for j in range(k + 1, end) if re.search(rf"{made[k]}(?![\w.])", lines[j])), None)
        if use is None:
            continue  # nothing reads it
        line, said = refused(lines[:k] + lines[k + 1 :])
        assert line == use
        # a later function may have a value of that name
        told = f"this line uses {made[k]}, and no line above defines it", f"{made[k]} is not in the table of sizes"
        assert said.startswith(told) or "is used before it is defined" in said
        count += 1
    assert count > 3


def test_another_error_keeps_its_message() -> None:
    lines = nest().splitlines()
    k = next(k for k, line in enumerate(lines) if "nest.for" in line)
    assert refused([*lines[:k], lines[k].replace("nest.for", "nest.four"), *lines[k + 1 :]])[0] == k + 1


def test_files_without_lines() -> None:
    for lines in ([], ["", "  "], ["// a comment"]):
        assert refused(lines) == (1, "the file has no line of a nest")

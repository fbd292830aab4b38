"""The logistic regression of the examples, its nest, and edits of that text."""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import aotensor as aot
from aotensor import Function
from aotensor.driver.hand import HandSchedule
from aotensor.driver.recipe import Options, lower
from aotensor.errors import ScheduleError
from aotensor.ir.context import parse_module
from aotensor.ir.text import text_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "logistic.py"


@cache
def logistic() -> Function:
    f = runpy.run_path(str(EXAMPLE))["logistic"]
    assert isinstance(f, Function)
    return f


@cache
def nest() -> str:
    """The compiler's own nest, one operation a line, with names for loops."""
    return plain(logistic().schedule.text())


def plain(text: str) -> str:
    """A nest with one operation a line, which is easier to damage."""
    return text_of(parse_module(text))


def edited(old: str, new: str, text: str | None = None) -> str:
    """The nest with one text for another, which stands there once."""
    whole = nest() if text is None else text
    assert whole.count(old) == 1, whole.count(old)
    return whole.replace(old, new)


def line_of(text: str, part: str) -> int:
    """The line that a part of a text stands in, which stands there once."""
    found = [number for number, line in enumerate(text.splitlines(), 1) if part in line]
    assert len(found) == 1, found
    return found[0]


def check(text: str, f: Function | None = None) -> None:
    """Raises: ScheduleError"""
    lower([logistic() if f is None else f], Options(schedule=HandSchedule(text, "hand.nest.mlir")), texts=())


def refusal(text: str, f: Function | None = None) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        check(text, f)
    return caught.value


def arguments(n: int, p: int) -> Mapping[str, object]:
    rng = np.random.default_rng(n + p)
    return {"X": rng.normal(size=(n, p)), "y": np.sign(rng.normal(size=n)), "w": rng.normal(size=p), "l2": 0.3}


def check_results(f: Function, folder: Path, schedule: str) -> None:
    """A file of text gives the reference's numbers, the same ones on one thread and on two."""
    path = folder / "hand.nest.mlir"
    path.write_text(schedule)
    g = aot.compile(f, folder, schedule=path).load()[f.name]
    for n, p in ((1, 1), (7, 5), (130, 33), (20_000, 31)):
        values = arguments(n, p)
        found, wanted = g(**values, num_threads=1), f.reference(**values)
        again = g(**values, num_threads=2)
        for name, x in wanted.items():
            np.testing.assert_allclose(found[name], x, rtol=1e-12, atol=1e-12)
            assert np.array_equal(found[name], again[name])

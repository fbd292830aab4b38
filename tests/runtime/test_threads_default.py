"""How many threads a library uses if nothing is said: the rule that the library has in native code."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from aotensor_runtime import threads
from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError
from aotensor_runtime.systems import linux

CASES = [
    ("100000 100000\n", 1),
    ("150000 100000\n", 2),
    ("max 100000\n", 3),
    ("1000000 100000\n", 3),
    ("", 3),
    ("-1 5", 3),
]


@pytest.fixture(autouse=True)
def three_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5}, raising=False)


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_the_share_of_a_container(text: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(linux, "SHARES", ((str(tmp_path / "cpu.max"),), (str(tmp_path / "a"), str(tmp_path / "b"))))
    assert threads.default_threads() == expected


def test_of_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("quota", "50000"), ("period", "100000")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(linux, "SHARES", ((str(tmp_path / "quota"), str(tmp_path / "period")),))
    assert threads.default_threads() == 1


def test_the_variable_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threads.VARIABLE, "7")
    assert threads.default_threads() == 7
    monkeypatch.setenv(threads.VARIABLE, "many")
    with pytest.raises(ArgumentValueError, match="AOTENSOR_NUM_THREADS is 'many'"):
        threads.default_threads()


@pytest.mark.parametrize(
    ("value", "error"),
    [(0, ArgumentValueError), (-1, ArgumentValueError), (True, ArgumentTypeError), (1.5, ArgumentTypeError)],
)
def test_a_number_of_threads_is_a_positive_integer(value: object, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"f: num_threads (is|must be)"):
        threads.checked_threads("f", value)


def test_numbers_of_threads_that_hold() -> None:
    assert [threads.checked_threads("f", value) for value in (1, np.int8(3))] == [1, 3]

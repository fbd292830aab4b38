"""The line of the judges' pages that says what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.judges import origin
from tools.judges.workers import in_turns


def test_pages_name_commit_and_machine_behind_their_title(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origin, "commit", lambda *_: "1234567")
    page = tmp_path / "page.md"
    origin.write_page(page, "# Title\n\nText.\n\n| a |\n")
    title, line, text, rest = page.read_text(encoding="utf-8").split("\n\n")
    assert (title, text, rest) == ("# Title", "Text.", "| a |\n")
    assert line == f"Measured: {origin.origin()}." and " at 1234567, " in line and origin.processor() in line


def test_results_of_several_runs_are_named() -> None:
    origins = {"a": "new", "b": "old", "c": "new", "d": "older"}
    assert origin.measured(origins) == "Measured: new. b: old. d: older."


def test_calls_take_turns_and_have_times_of_their_own() -> None:
    order: list[str] = []

    def clock() -> float:
        return order.count("a") + 3.0 * order.count("b")

    times = in_turns([lambda: order.append("a"), lambda: order.append("b")], 0.0, clock)
    assert times == [1.0, 3.0] and order == ["a", "b", "a", "b"]

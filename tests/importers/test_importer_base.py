"""The parts that importers share: loops, and the collection of operations without counterpart."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import AotensorError, GraphTypeError, GraphValueError, InternalError, UnsupportedError
from aotensor.graph.site import Site
from aotensor.importers.base import Importer, Unsuited, entering, notes_of, retitled
from aotensor.importers.errors import NoCounterpart, Untranslated
from aotensor.importers.loops import looped

RNG = np.random.default_rng(5)


class Words(Importer):
    framework = "Words"
    hint = "write others"

    def site(self, word: str) -> Site | None:
        return Site("words.txt", len(word))

    def entry(self, word: str, reason: str = "") -> Untranslated:
        return Untranslated(word, reason, str(self.site(word)))


def test_everything_without_counterpart_is_in_one_error() -> None:
    def translate(word: str) -> at.Variable:
        if word.startswith("x"):
            raise Unsuited("it begins with x" if len(word) > 1 else "")
        if word == "inner":
            raise NoCounterpart("Words", [Untranslated("deep")])
        return at.constant(1.0) + float(len(word))

    words = Words()
    found = [words.attempt(word, partial(translate, word)) for word in ("one", "x", "xyz", "inner")]
    assert found[0] is not None and str(found[0].site) == "words.txt:3" and found[1:] == [None] * 3
    with pytest.raises(NoCounterpart, match="Words: 3 operations have no counterpart") as caught:
        words.refuse()
    assert caught.value.diagnostic.hint == "write others"
    assert list(map(str, caught.value.operations)) == [
        "x   made at words.txt:1", "xyz: it begins with x   made at words.txt:3", "deep",
    ]  # fmt: skip
    Words().refuse()


def test_pages_have_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of StableHLO, and of frameworks that are installed."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs")
    tables = importlib.import_module("importer_tables")
    for path, text in tables.pages().items():
        assert path.read_text(encoding="utf-8") == text, "run python docs/build.py"


def test_a_note_is_the_beginning_of_a_docstring() -> None:
    def rule() -> None:
        """Rows, in
        order.   Raises: Unsuited for none.

        More.
        """

    assert notes_of({2: rule, 1: lambda: None}, str) == {"1": "", "2": "Rows, in order"}


def test_rules_are_entered_once() -> None:
    table: dict[tuple[str, str], Any] = {}
    entering(table, lambda name: ("mine", name), "a", "b")(len)
    assert table == {("mine", "a"): len, ("mine", "b"): len}
    with pytest.raises(AssertionError, match="a"):
        entering(table, lambda name: ("mine", name), "a")(abs)


@pytest.mark.parametrize(
    ("given", "kind"),
    [(GraphTypeError, GraphTypeError), (UnsupportedError, UnsupportedError), (InternalError, GraphValueError)],
)
def test_an_error_with_another_title_keeps_its_class(given: type[AotensorError], kind: type[AotensorError]) -> None:
    found = retitled(given("wrong", hint="other"), lambda title: f"node 3: {title}")
    assert type(found) is kind and found.diagnostic.title == "node 3: wrong" and found.diagnostic.hint == "other"


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_a_loop_gives_last_states_and_rows(dtype: str, steps: int) -> None:
    xs, h0 = at.tensor("xs", dtype=dtype, shape=("n", 3)), at.tensor("h0", dtype=dtype, shape=(3,))

    def step(x: Any, h: Any, scale: Any) -> list[Any]:
        return [h * scale + x, at.sum(h * x)]

    outputs = looped(step, [xs], [h0], 1, constants=[at.constant(0.5)], backwards=True)
    values = [RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape) for shape in ((steps, 3), (3,))]
    given = [x if dtype == "complex128" else x.real for x in values]
    h, rows = given[1], []
    for x in given[0][::-1]:
        rows.append(np.sum(h * x))
        h = h * 0.5 + x
    f = aot.function([xs, h0], outputs)
    for found in (f(*given), f.reference(*given)):
        np.testing.assert_allclose(found[0], h, rtol=1e-13)
        np.testing.assert_allclose(found[1], np.array(rows, dtype), rtol=1e-12)
    assert f.ir("tensor").count('"aot.scan"(') == 1


def test_some_states_are_stacked() -> None:
    a, b = at.vector("a"), at.vector("b")
    n = at.iscalar("n")
    all_a, last_b = looped(lambda x, y: [x + 1.0, y * 2.0], [], [a, b], 0, n, stacked=[True, False])
    f = aot.function([a, b, n], [all_a, last_b])
    found = f(np.arange(2.0), np.ones(2), 3)
    np.testing.assert_array_equal(found[0], np.arange(2.0) + np.arange(1.0, 4.0)[:, None])
    np.testing.assert_array_equal(found[1], [8.0, 8.0])


def test_a_loop_without_a_bound_ends_by_its_condition() -> None:
    x = at.scalar("x")
    looping = at.switch(x < 100.0, 1 << 48, 0)
    (y,) = looped(lambda v: ([v * 3.0], aot.until(v * 3.0 >= 100.0)), [], [x], 0, looping)
    f = aot.function([x], y)
    assert [float(f(v)) for v in (1.0, 50.0, 200.0)] == [243.0, 150.0, 200.0]

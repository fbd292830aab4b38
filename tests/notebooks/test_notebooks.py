"""What a notebook shows: well-formed, escaped, bounded, the same each time, and with the names in it."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.api.remarks import Remarks
from aotensor.codegen.header import header_text
from aotensor.errors import GraphValueError
from aotensor.gradient import grad
from aotensor.graph.passes.remarks import Remark
from aotensor.pictures.notebook import DRAWN
from aotensor.verification.report import Check, Report
from aotensor_runtime import Library
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, Manifest, OutputSpec
from aotensor_runtime.notebook.html import card, table
from aotensor_runtime.notebook.library import c_prototype, function_html, library_html

SCRIPT = "<script>alert(1)</script>"
VOID = {"path", "rect", "line"}
"""Elements of pictures that the parser gives as start and end at once."""


class Tags(HTMLParser):
    """The tags of a text, which are closed in the order in which they are opened; and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.words)


def shown(x: Any) -> Tags:
    """What a notebook shows of an object: the same twice, without scripts and without fixed colours of paper or ink."""
    text = x._repr_html_()
    assert text == x._repr_html_()
    tags = Tags(text)
    assert "script" not in tags.seen
    assert "white" not in text.replace("white-space", "") and "#fff" not in text and "#000" not in text
    return tags


def logistic() -> aot.Function:
    X, y = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",))
    w = at.vector("w", shape=("p",))
    loss = at.softplus(-y * (X @ w)).mean()
    return aot.function([X, y, w], {"loss": loss, "grad_w": grad(loss, w)}, name="logistic")


@pytest.mark.skipif(not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="timers of Linux")
def test_time_by_line_has_bars_and_columns() -> None:
    """The shares of all rows are one; the line of the product has a forward and a derivative part, and rates."""
    f = logistic()
    times = f.time_by_line(n=20000, p=60, seconds=0.2, limits=False)
    assert sum(row.share for row in times.rows) == pytest.approx(1, abs=1e-3)
    line = next(number for number, x in enumerate(Path(__file__).read_text().splitlines(), 1) if "X @ w" in x)
    row = next(row for row in times.rows if row.line == line)
    assert row.forward > 0.05 and row.derivative > 0.05 and row.rates[0] is not None
    tags = shown(times)
    assert {"svg", "table"} <= tags.seen and f"test_notebooks.py:{line}" in tags.text
    assert "loss = at.softplus(-y * (X @ w)).mean()" in tags.text and "GFLOP/s" in tags.text
    assert str(times).splitlines()[1].split()[:4] == ["line", "time", "forward", "derivative"]
    with pytest.raises(GraphValueError, match="logistic has no dim m"):
        f.time_by_line(m=3)
    A = sp.csr_matrix("A", dtype="float64", shape=("n", "m"))
    with pytest.raises(GraphValueError, match=r"the dims are A_nnz, m, n$"):
        aot.function([A], A.sum(), name="f").time_by_line(rows=3)
    with pytest.raises(GraphValueError, match="num_threads must be a number from 1"):
        f.time_by_line(num_threads=0)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return aot.compile(logistic(), tmp_path_factory.mktemp("artifact"))


def test_a_function_shows_arrays_graph_and_operations() -> None:
    f = logistic()
    found = shown(f)
    assert {"table", "svg", "details"} <= found.seen
    for word in ("logistic", "X", "[n, p]", "grad_w", "float64", "softplus", "X @ w", "not compiled yet"):
        assert word in found.words or word in found.text, word
    lines = Path(__file__).read_text().splitlines()
    named = {lines[int(k) - 1].strip() for k in re.findall(r"test_notebooks\.py:(\d+)", found.text)}
    assert "loss = at.softplus(-y * (X @ w)).mean()" in named
    assert re.search(r"\d+ operations, \d+ constants? of \d+ bytes", found.text)


def test_a_function_tells_what_it_was_compiled_for_and_its_state() -> None:
    count = aot.shared(0.0, name="count")
    x = at.vector("x", shape=("n",))
    f = aot.function([x], 2 * x, updates={count: count + 1}, name="counted")
    f([1.0])
    words = shown(f).text
    assert "compiled for" in words and "kB" in words
    assert "shared variable" in words and "next value" in words


def test_pictures_take_the_colours_of_the_notebook() -> None:
    text = logistic()._repr_html_()
    style = text.split("<style>")[1].split("</style>")[0]
    assert "currentColor" in style and "prefers-color-scheme" not in style
    assert ".svg" not in style, "rules hold for all of a notebook, so they are about pictures of ours alone"


def test_a_large_graph_gives_a_short_summary() -> None:
    x = at.vector("x", shape=("n",))
    y = x
    for k in range(2500):
        y = at.sin(y) + float(k)
    f = aot.function([x], y, name="large")
    found = shown(f)
    assert "svg" not in found.seen and "5000 operations" in found.text
    rows = re.findall(r"^\d+$", found.text, re.M)
    assert f"and {5000 - int(rows[-1])} more" in found.text and int(rows[-1]) > 50
    assert len(f._repr_html_()) < 100_000


def test_graphs_are_drawn_up_to_a_number_of_nodes() -> None:
    x = at.vector("x", shape=("n",))
    for operations, is_drawn in ((DRAWN - 2, True), (DRAWN - 1, False)):  # beside an input and an output
        y = x
        for _ in range(operations):
            y = at.sin(y)
        f = aot.function([x], y, name="chain")
        assert ("svg" in shown(f).seen) == is_drawn
        assert len(f._repr_html_()) < 200_000


def test_many_arrays_give_a_short_summary() -> None:
    xs = [at.scalar(f"a_rather_long_name_of_an_input_{k}") for k in range(2000)]
    f = aot.function(xs, sum(xs[1:], xs[0]), name="wide")
    assert len(f._repr_html_()) < 100_000
    assert re.search(r"and \d+ more", shown(f).text)


def test_hostile_names_are_text() -> None:
    x = at.vector(SCRIPT, shape=("n",))
    y = at.vector("<img src=x onerror=alert(1)>", shape=("n",))
    f = aot.function([x, y], {SCRIPT: x * y, '"><b>': x + y}, name="f")
    found = shown(f)
    assert "img" not in found.seen and SCRIPT in found.text and '"><b>' in found.text


def test_a_schedule_shows_its_loops_and_what_is_wrong_with_it() -> None:
    schedule = logistic().schedule
    found = shown(schedule)
    assert "n.blocks" in found.text and "cores" in found.text
    tiled = shown(schedule.tile("n.1", 8))
    assert "n.1.tiles" in tiled.text and "logistic.schedule.tile('n.1', 8)" in tiled.text
    wrong = shown(schedule.tile(SCRIPT, 8))
    assert "does not fit" in wrong.text and SCRIPT in wrong.text


def test_remarks_are_by_line_and_say_what_would_allow_more() -> None:
    found = shown(logistic().remarks())
    assert {"loops", "memory", "done", "not done", "to allow it"} <= set(found.words)
    assert re.search(r"\d+ decisions to do something, \d+ not to", found.text)
    hostile = Remark("fuse", "missed", "f", SCRIPT, value=SCRIPT, file=SCRIPT, line=3, hint="<b>no</b>")
    found = shown(Remarks(SCRIPT, [hostile] * 5000))
    assert "<b>no</b>" in found.text and f"{SCRIPT}:3" in found.text
    assert len(Remarks(SCRIPT, [hostile] * 5000)._repr_html_()) < 100_000
    assert "0 decisions" in shown(Remarks("f", [])).text


def test_a_report_marks_what_failed() -> None:
    report = Report("f", [Check("values", "ok", "fine", 0.5), Check(SCRIPT, "failed", "<b>x</b>", 0.25)])
    found = shown(report)
    assert found.words.count("✓") == 1 and found.words.count("✗") == 1
    assert {SCRIPT, "<b>x</b>", "0.25 s", "1 ok, 1 failed"} <= set(found.words)
    assert "✓" in shown(logistic().verify(samples=1)).words


def test_a_library_shows_the_entries_of_its_header(artifact: Any) -> None:
    library: Library = artifact.load()
    header = " ".join(artifact.header.read_text().split())
    for object in (library, library.logistic):
        found = shown(object)
        (prototype,) = [word for word in found.words if word.startswith("int32_t ")]
        assert prototype in header
        assert "n, p" in found.words and "float64[n, p]" in found.words
        assert library.manifest.target in found.text and library.manifest.cpu in found.text and "kB" in found.text
    assert {"made by", "features", "floating point", "contains"} <= set(shown(library).words)


def test_an_artifact_shows_its_files_also_when_they_are_gone(artifact: Any, tmp_path: Path) -> None:
    found = shown(artifact)
    assert {str(artifact.library), str(artifact.header), "logistic"} <= set(found.words)
    damaged = tmp_path / "liblogistic.so"
    damaged.write_bytes(artifact.library.read_bytes()[:2000])
    gone = shown(replace(artifact, library=damaged, header=tmp_path / "<i>.h"))
    assert "not there" in gone.words and "i" not in gone.seen
    assert "2 kB" in gone.words


def hostile_manifest(functions: int) -> Manifest:
    """What the manifest of a file from anywhere may say."""
    value = ArgumentSpec(SCRIPT, "float64", ("<b>", 3))
    output = OutputSpec('"><img src=x>', "float64", ("<b>",))
    texts = {"doc": SCRIPT * 400, "source": SCRIPT}
    specs = tuple(
        FunctionSpec(f"f{k}", ("<b>",), (value,), (output,), "single", (), (), **texts) for k in range(functions)
    )
    return Manifest(SCRIPT, "<i>1</i>", 2, "1", "<u>t</u>", "\u202ecpu", "+a,<s>", "fast", specs, schedule="<a>")


@pytest.mark.parametrize("functions", [1, 4096])
def test_hostile_libraries_are_text_and_short(functions: int) -> None:
    manifest = hostile_manifest(functions)
    for text in (library_html(manifest, 10, Path("<q>")), function_html(manifest, manifest.functions[0], 10)):
        found = Tags(text)
        assert found.seen <= {"div", "b", "table", "thead", "tr", "th", "td", "details", "summary", "pre"}
        assert len(text) < 100_000 and "\u202e" not in text and SCRIPT in found.text
    assert functions == 1 or re.search(r"and \d+ more functions, not shown in detail", Tags(text_of(manifest)).text)


def text_of(manifest: Manifest) -> str:
    return library_html(manifest, 10, None)


def test_prototypes_are_those_of_headers() -> None:
    manifest = hostile_manifest(1)
    spec = manifest.functions[0]
    declared = " ".join(header_text(manifest).split())
    assert c_prototype(manifest, spec).replace("( ", "(") in declared


def test_tables_say_how_much_they_leave_out() -> None:
    rows = [(str(k), "x" * 1000) for k in range(100)]
    text = table(["number", "text"], rows, budget=2000)
    assert len(text) < 2500 and "x" * 300 not in text
    shown_rows = text.count("<tr>") - 2
    assert f"and {100 - shown_rows} more" in text
    assert f"and {1000 - shown_rows} more" in table(["number", "text"], rows, budget=2000, total=1000)
    assert table(["a"], []) == ""
    assert "more" not in table(["a"], [("1",)])
    Tags(card("a", "b", text))

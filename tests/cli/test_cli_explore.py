"""`aotensor explore` by its keys and on a terminal, and the document that it shows, `inspect --json --all`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import PYTHON, SMALL, Call
from schemas import check_schema

from aotensor_cli.exploring.child import Problem, compiled
from aotensor_cli.exploring.rows import Row, difference_rows, remark_rows, same_row
from aotensor_cli.exploring.session import Document, Place, Text
from aotensor_cli.terminal.error_place import place_of

MODEL = """import aotensor as aot, aotensor.tensor as at
X = at.matrix("X", dtype="float64", shape=("n", "p"))
w = at.vector("w", dtype="float64", shape=("p",))
m = X @ w
z = at.sqrt(m / m.sum())
f = aot.function([X, w], {"z": z}, name="f")
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explored") / "m.py"
    path.write_text(MODEL)
    return path


@pytest.fixture(scope="module")
def tree(model: Path) -> dict[str, Any]:
    """The document, by the process that writes it for the program."""
    found = asyncio.run(compiled((str(model), "--sizes", "n=500,p=50"), 300))
    assert not isinstance(found, Problem), found
    return found


def test_the_document(tree: dict[str, Any]) -> None:
    """It is as its schema says; every text has a place for each line, loops their names and lines of the nest."""
    check_schema(tree, "inspect")
    texts = {x.name: x for x in Document(tree).texts}
    assert {"graph", "graph-opt", "tensor", "nest", "loops", "llvm", "llvm-opt", "asm", "fuse.1"} <= set(texts)
    assert all(len(x.lines) == len(x.at) and max(x.at) < len(tree["places"]) for x in texts.values())
    for name in ("graph", "tensor", "fuse.1", "nest", "llvm", "asm"):
        found = {tree["places"][at]["line"] for at in texts[name].at if at >= 0}
        assert {4, 5} <= found, name
    (f,) = tree["functions"]
    assert f["sizes"] == {"n": 500, "p": 50} and 0 < f["seconds"] < 1
    loops = [x.node for x in Document(tree).steps if x.is_loop]
    assert {"n", "p"} <= {x["name"] for x in loops}
    assert all("nest.for" in texts["nest"].lines[x["at"]] for x in loops)
    assert sum(x["share"] for x in tree["lines"]) == pytest.approx(1, abs=0.05)


def test_differences() -> None:
    old, new = (Text(name, "pass", "nest", True, lines, range(len(lines))) for name, lines in
                (("a", ["x", "%1 = f", "%2 = g", "y"]), ("b", ["x", "%2 = g", "%3 = h", "y"])))  # fmt: skip
    rows = difference_rows(old, new)
    assert [x.text for x in rows[1:]] == ["  x", "- %1 = f", "  %2 = g", "+ %3 = h", "  y"]
    assert [(x.place, x.style) for x in rows[2:5]] == [(1, "removed"), (1, ""), (2, "added")]
    assert difference_rows(old, old) == [Row("a is as a left it", style="note")]
    assert same_row(rows, Row("%3 = other")) == 4 and same_row(rows, Row("?", 3)) == 5 and same_row(rows, None) == 0


def test_remarks_of_a_line(tree: dict[str, Any]) -> None:
    document = Document(tree)
    number = document.numbers[Place("m.py", 4)]
    rows = remark_rows(document, number)
    assert rows[0].text == "f, m.py:4  m = X @ w" and {x.place for x in rows} == {number}
    assert len(remark_rows(document, -1)) > len(rows) > 3


@pytest.mark.parametrize(
    ("title", "lines", "place"),
    [
        ("a/b/m.py:4: dot: 1:2", (), ("m.py", 4)),
        ("C:\\a\\m.py:12: syntax error", (), ("m.py", 12)),
        ("no room", ("x: float64[5]   made at dir/layers.py:13",), ("layers.py", 13)),
        ("m.py: there is no Function", (), None),
    ],
)
def test_places_of_errors(title: str, lines: tuple[str, ...], place: tuple[str, int] | None) -> None:
    assert place_of(title, lines) == place


@pytest.mark.needs("explore")
@pytest.mark.unlimited("the one test of the program's keys")
def test_keys(tree: dict[str, Any], model: Path) -> None:
    """From a line to what it became and back, passes and what they changed, search, loops, names, files that break."""
    from aotensor_cli.exploring.app import Explorer

    answers: list[Any] = [tree, Problem("m.py:4: no", "try", (), "m.py", 4, 3), tree]

    async def load() -> Any:
        return answers.pop(0)

    async def drive() -> None:
        app = Explorer(load, model, start="fuse")
        async with app.run_test(size=(150, 40)) as pilot:

            async def press(*keys: str) -> None:
                await pilot.press(*keys)
                await app.workers.wait_for_complete()
                await pilot.pause()

            await press()
            source, text, below = (app.pane(name) for name in ("source", "text", "below"))
            assert app.text.name == "fuse.1" and app.focused is source
            await press("down", "down", "down", "enter")
            assert app.document is not None and app.document.places[app.place] == Place("m.py", 4)
            assert text.row is not None and text.row.place == app.place
            first = text.cursor
            await press(".")
            assert text.cursor > first and text.row.place == app.place
            assert below.border_title == "remarks of m.py:4" and "m = X @ w" in below.rows[0].text
            await press("]")
            assert app.text.changed and app.text.name != "fuse.1"
            await press("[", "d")
            assert any(x.style == "added" for x in text.rows) and "compared with" in str(text.border_title)
            await press("d", "}")
            assert app.text.name == "nest"
            await press("tab", "/", *"sqrt", "enter")
            assert "sqrt(" in text.row.text and app.focused is text
            await press("enter")
            assert app.document.places[app.place] == Place("m.py", 5) and source.cursor == 4
            await press("g", *"asm", "enter")
            assert app.text.name == "asm"
            await press("2", "tab", "home", "down", "enter")
            assert app.text.name == "nest" and "nest.for" in text.row.text, "the loop of the row"
            await press("4", "home", "enter")
            assert app.text.name == "graph"
            await press("3")
            assert any(" %  " in x.text for x in below.rows)
            await press("escape")
            assert app.place == -1
            await press("r")
            assert app.problem is not None and [x.text for x in below.rows] == ["m.py:4: no", "hint: try"]
            assert source.cursor == 3
            await press("r")
            assert app.problem is None and app.text.name == "graph" and "4  m = X" in source.rows[3].text

    asyncio.run(drive())
    assert not answers


@pytest.mark.needs("explore")
@pytest.mark.level("ci", "compiles a model three times")
@pytest.mark.unlimited("the one test of the program as users start it")
def test_on_a_terminal(tmp_path: Path) -> None:
    """Under --watch: an error appears after a save, and is gone after another one; q leaves with 0."""
    path = tmp_path / "watched.py"
    path.write_text(SMALL)
    master, slave = pty.openpty()
    variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "140", "LINES": "40"}
    command = [*PYTHON, "explore", str(path), "--watch"]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=variables)
    os.close(slave)
    heard = bytearray()

    def wait(text: str) -> None:
        heard.clear()
        end = time.monotonic() + 60
        while text.encode() not in heard:
            assert time.monotonic() < end, heard[-4000:].decode(errors="replace")
            if select.select([master], [], [], 1)[0]:
                heard.extend(os.read(master, 65536))

    try:
        wait("stage nest, ")
        path.write_text("import aotensor\n1 / 0\n")
        wait("ZeroDivisionError")
        path.write_text(SMALL)
        wait("watched.py:3")
        os.write(master, b"q")
        with contextlib.suppress(OSError):  # the terminal is closed
            while process.poll() is None and (select.select([master], [], [], 60)[0] and os.read(master, 65536)):
                pass
        assert process.wait(timeout=60) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()
        os.close(master)


def test_refusals(call: Call, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be shown, with what can be done."""
    cases = {
        ("explore", "nothing.py"): (2, "nothing.py: there is no such file"),
        ("inspect", small, "--all"): (2, "add --json"),
        ("inspect", small, "--all", "--json", "--line", "3"): (2, "--all cannot be combined with --line"),
        ("inspect", small, "--all", "--json", "--sizes", "n=1", "--sizes", "n=2"): (2, "give --sizes once"),
        ("inspect", small, "--all", "--json", "--sizes", "m=1"): (2, "no function has a dim m"),
    }
    for arguments, (code, words) in cases.items():
        answer = call(*arguments, cwd=small.parent)
        assert answer.code == code and words in answer.err, answer
    monkeypatch.setitem(sys.modules, "textual.app", None)
    answer = call("explore", small)
    assert answer.code == 4 and "hint: pip install 'aotensor[explore]'" in answer.err

"""`aotensor lsp`, by a client of its protocol; processes that hang or die; what is said without pygls."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import SMALL, Call
from language_client import Client

from aotensor_cli.editor.notes import map_lines
from aotensor_cli.exploring.child import Problem, compiled

MODEL = """import aotensor as aot, aotensor.tensor as at
X = at.matrix("X", dtype="float64", shape=("n", "p"))
w = at.vector("w", dtype="float64", shape=("p",))
m = X @ w  # ∑ 𝛴
total = m.sum()
z = at.sqrt(m / total)
f = aot.function([X, w], {"z": z, "total": total}, name="f")
"""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    made = Client()
    yield made
    assert made.close() == 0


@pytest.mark.needs("lsp")
@pytest.mark.unlimited("the one test of a model in an editor")
def test_a_model(client: Client, tmp_path: Path) -> None:
    """Hints behind lines, all about a line, its loops; hints move with their lines while the file is edited."""
    path = tmp_path / "a model.py"
    path.write_text(MODEL, encoding="utf-8")
    uri = client.open(path)
    assert client.diagnostics(uri) == []
    client.wait("workspace/inlayHint/refresh")
    hints = client.hints(uri)
    assert set(hints) == {3, 4, 5}, hints
    assert "% · loop n" in hints[3] and ", with 5" in hints[3]
    here = {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 1}}
    line = {"textDocument": {"uri": uri}, "range": here}
    (row,) = client.ask("textDocument/inlayHint", line)
    assert row["position"]["character"] == len("m = X @ w  # ∑ 𝛴") + 1, "in units of UTF-16"
    at = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 2}}
    hover = client.ask("textDocument/hover", at)["contents"]["value"]
    assert " += X[i, j] * w[j]" in hover and "[unroll-and-jam]" in hover and "n=1000, p=1000" in hover
    (action,) = client.ask("textDocument/codeAction", {**line, "context": {"diagnostics": []}})
    text = client.ask("workspace/executeCommand", {k: action["command"][k] for k in ("command", "arguments")})
    assert "func.func @f(" in text and "nest.for" in text and "..." in text
    shown = client.wait("window/showDocument")["uri"]
    assert shown.endswith("a%20model.py.4.nest.mlir")
    change = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "# new\n"}
    client.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]})
    assert set(client.hints(uri)) == {4, 5, 6} and client.hints(uri, 4) == {4: hints[3]}
    assert client.ask("textDocument/hover", {**at, "position": {"line": 0, "character": 2}}) is None
    client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.diagnostics(uri) == [] and client.hints(uri) == {}


BROKEN = {
    "syntax": ("import aotensor as aot\nx = = 3\n", 1, "syntax error: invalid syntax"),
    "types": (SMALL.replace("2 * x", "x[:, 0]"), 2, "2 indices for a tensor of rank 1"),
    "exit": ("import aotensor as aot\nimport os\nos._exit(3)\n", 0, "ended with code 3 and without a result"),
    "crash": ("import aotensor as aot\nimport os\nos.kill(os.getpid(), 11)\n", 0, "was ended by SIGSEGV"),
}


@pytest.mark.needs("lsp")
def test_errors(client: Client, tmp_path: Path) -> None:
    """Each at its line; none ends the server."""
    opened = {}
    for case, (text, _, _) in BROKEN.items():
        path = tmp_path / f"{case}.py"
        path.write_text(text)
        opened[case] = client.open(path)
    for case, (_, row, message) in BROKEN.items():
        (found,) = client.diagnostics(opened[case])
        assert found["range"]["start"]["line"] == row, found
        assert message in found["message"] and f"{case}.py" not in found["message"]
        assert (found["severity"], found["source"]) == (1, "aotensor")


@pytest.mark.needs("lsp")
@pytest.mark.level("ci", "compiles a model three times")
@pytest.mark.unlimited("the one test of several files in an editor")
def test_a_file_that_is_mended(client: Client, tmp_path: Path) -> None:
    """An error in a file that the model imports; after both are saved it is gone. Other files are left alone."""
    model, layers, other = (tmp_path / name for name in ("model.py", "layers.py", "other.py"))
    layers.write_text("import aotensor.tensor as at\ndef layer(x):\n    return at.tanh(x) @ 1\n")
    model.write_text(SMALL.replace("2 * x", "layer(x)").replace("\n", "\nfrom layers import layer\n", 1))
    other.write_text("1 / 0\n")
    client.open(other)
    uri = client.open(model)
    (found,) = client.diagnostics(uri)
    assert found["range"]["start"]["line"] == 0 and "layers.py:3" in found["message"]
    assert found["relatedInformation"][0]["location"]["uri"] == layers.as_uri()
    layers.write_text("import aotensor.tensor as at\ndef layer(x):\n    return at.tanh(x)\n")
    client.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert client.diagnostics(uri) == []
    shown = client.open(layers)
    assert client.diagnostics(shown) == [], "it is no model, and no error"
    assert "loop n" in client.hints(shown)[2]
    assert not [x for x in client.heard if x.get("params", {}).get("uri") == other.as_uri()]


def test_a_model_that_hangs(tmp_path: Path) -> None:
    path = tmp_path / "endless.py"
    path.write_text("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'while True: print(1)'])\n")
    found = asyncio.run(compiled((str(path),), 1.5))
    assert isinstance(found, Problem) and found.title == "the model does not end: it was stopped after 1.5 s"


@pytest.mark.needs("lsp")
@pytest.mark.level("ci", "a server of its own")
def test_the_end_of_the_server(tmp_path: Path) -> None:
    """A model that is still running is ended with it, and its children are."""
    path, told = tmp_path / "endless.py", tmp_path / "told"
    path.write_text(f"import aotensor, os, time\nopen({str(told)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    client = Client()
    client.open(path)
    end = time.monotonic() + 60
    while not (told.exists() and told.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    process = Path("/proc") / told.read_text()
    assert process.exists() and client.close() == 0
    while process.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not process.exists()


def test_lines_that_move() -> None:
    old = ["a", "b", "c", "d", "e"]
    assert map_lines(old, old) == {k: k for k in range(1, 6)}
    assert map_lines(old, ["a", "x", "b", "c", "y", "e"]) == {1: 1, 2: 3, 3: 4, 5: 6}
    assert map_lines(old, []) == {} and map_lines([], old) == {}


def test_without_pygls_is_4(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    answer = call("lsp")
    assert answer.code == 4 and "hint: pip install 'aotensor[lsp]'" in answer.err and answer.out == ""

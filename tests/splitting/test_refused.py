"""What calls of rounds refuse: options, names, chunks of another kind, workers of another CPU or version."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from splitting.model import logistic, rows

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.container import seal
from aotensor.errors import ArgumentTypeError, ArgumentValueError, ChunkError, GraphValueError
from aotensor_runtime.container import Container
from aotensor_runtime.library import Library
from aotensor_runtime.rounds import Bar, Serial, open_rounds
from aotensor_runtime.rounds.files import FileSource
from aotensor_runtime.rounds.worker import Handle


@pytest.mark.parametrize(
    ("options", "error", "title"),
    [
        ({"chunk_rows": 1.5}, ArgumentTypeError, "chunk_rows: expected a whole number, found 1.5"),
        ({"chunk_rows": True}, ArgumentTypeError, "chunk_rows: expected a whole number, found True"),
        ({"chunk_rows": -1}, ArgumentValueError, "chunk_rows: a chunk has at least one row, not -1"),
        ({"retries": -1}, ArgumentValueError, "retries: a chunk is tried again 0 times or more, not -1"),
        ({"retries": None}, ArgumentTypeError, "retries: expected a whole number, found None"),
        ({"timeout": "1"}, ArgumentTypeError, "timeout: expected seconds, found '1'"),
        ({"timeout": 0}, ArgumentValueError, "timeout: must be a positive number of seconds, not 0"),
        ({"timeout": float("nan")}, ArgumentValueError, "timeout: must be a positive number"),
        ({"progress": 3}, ArgumentTypeError, "progress: expected a function of (function, chunks done, chunks)"),
        ({"engine": 3}, ArgumentTypeError, "engine: expected an engine, found 3"),
    ],
    ids=str,
)
def test_options(options: dict[str, Any], error: type[Exception], title: str) -> None:
    with pytest.raises(error) as caught:
        logistic()(**options, **rows(20))
    assert str(caught.value).startswith(f"logistic: {title}")


@pytest.mark.parametrize("name", ["engine", "timeout", "self", "progress"])
def test_inputs_are_not_called_as_options_are(name: str) -> None:
    x, w = at.vector("x", dtype="float64", shape=("n",)), at.scalar(name)
    with pytest.raises(
        GraphValueError, match=f"f: the name of the input {name} is also an option of calls of the rounds"
    ):
        aot.split(aot.function([x, w], (x * w).sum(), name="f"), over="n")


class Changing(FileSource):
    """Rows that are something else from the second chunk on."""

    def __init__(self, array: Any, change: Callable[[Any], Any]) -> None:
        self.path, self.array, self.change = Path("changing"), array, change
        self._describe(array.dtype, array.shape, 0)

    def read(self, start: int, stop: int) -> Any:
        found = self.array[start:stop]
        return self.change(found) if start else found


@pytest.mark.parametrize(
    ("change", "title"),
    [
        (lambda x: x.astype("float32"), r"X: float32 \(rows, 4\), its source says float64 \(rows, 4\)"),
        (lambda x: x[:, :3], r"X: float64 \(rows, 3\), its source says float64 \(rows, 4\)"),
        (lambda x: x[:3], "X: changing, rows 10 to 20: the file has only 3 rows"),
    ],
)
def test_chunks_of_another_kind(change: Callable[[Any], Any], title: str) -> None:
    given = rows(30)
    with pytest.raises(ChunkError, match=rf"chunk 2 of 3, rows 10 to 20, on worker \S+: {title}"):
        logistic()(chunk_rows=10, **{**given, "X": Changing(given["X"], change)})


def damaged(change: Callable[[dict[str, Any]], None]) -> Handle:
    """The library of the rounds with another manifest, as an older or a later compiler would write it."""
    library = logistic().library.library
    tree = json.loads(library.manifest.to_json())
    change(tree)
    old, new = library.manifest.to_json().encode(), json.dumps(tree, separators=(",", ":")).encode()
    assert old in library.data and len(new) <= len(old)
    return Handle("0" * 64, seal(library.data.replace(old, new.ljust(len(old), b"\0"))))


def test_a_worker_with_another_version_says_so() -> None:
    handle = damaged(lambda tree: tree.update(schema=tree["schema"] + 1))
    with pytest.raises(ChunkError, match=r"worker \S+: library: a later aotensor built this library"):
        handle.install()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a CPU has is read on Linux")
def test_a_worker_with_another_cpu_says_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import aotensor_runtime.library as module
    from aotensor_runtime.errors import UnsupportedMachine

    def lacks(*_: Any, **__: Any) -> None:
        raise UnsupportedMachine("the CPU has no avx512f", hint="compile with --cpu x86-64-v3")

    monkeypatch.setattr(module, "check_features", lacks, raising=True)
    handle = Handle("1" * 64, logistic().library.library.data)
    with pytest.raises(ChunkError, match=r"worker \S+: library: the CPU has no avx512f") as caught:
        handle.install()
    assert "hint: compile with --cpu x86-64-v3" in str(caught.value)


def test_no_rows() -> None:
    x = at.matrix("x", dtype="float64", shape=("n", "p"))
    f = aot.function([x], {"sum": x.sum(0), "all": (x > 0).all()}, name="f")
    none = np.zeros((0, 3))
    found = aot.split(f, over="n")(x=none)
    for key, value in f(none).items():
        np.testing.assert_array_equal(found[key], value, key)
    largest = aot.split(aot.function([x], at.logsumexp(x, axis=0), name="f"), over="n")
    with pytest.raises(
        ChunkError, match=r"f_map1: chunk 1 of 1, rows 0 to 0, .*logsumexp\(x, axis=0\).*axis 0 is empty"
    ):
        largest(x=none)


def test_an_interrupted_call_leaves_rounds_that_work() -> None:
    given = rows(100)
    expected = logistic()(chunk_rows=10, **given)["loss"]

    def interrupt(function: str, done: int, count: int) -> None:
        raise KeyboardInterrupt

    with Serial() as engine:
        bound = logistic().bind(engine, X=given["X"], y=given["y"], chunk_rows=10, progress=interrupt)
        with pytest.raises(KeyboardInterrupt):
            bound(w=given["w"])
        bound.progress = None
        assert bound(w=given["w"])["loss"] == expected


class Terminal:
    """A stream that says that it is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("with_rich", [True, False])
def test_bars(with_rich: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if with_rich:
        pytest.importorskip("rich", reason="rich is not installed")
    else:
        monkeypatch.setitem(sys.modules, "rich", None)
        monkeypatch.setitem(sys.modules, "rich.console", None)
    stream: Any = Terminal()
    logistic()(chunk_rows=10, progress=Bar(stream), **rows(50))
    assert "logistic_map1" in stream.text and "5/5" in stream.text
    assert with_rich or (stream.text.count("\r") == 5 and stream.text.endswith("5/5\n"))


@pytest.mark.parametrize("target", ["x86_64-windows-gnu", "wasm32-wasi"])
def test_other_formats_have_the_protocol_in_a_section(target: str, tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="no ziglang (pip install 'aotensor[cross]')")
    made = logistic().compile(tmp_path, target=target)
    tree = json.loads(Container(made.library.read_bytes()).extra("rounds"))
    assert tree == logistic().protocol.to_json() and not list(tmp_path.glob("*.json"))


def test_freestanding_libraries_have_the_protocol_in_a_file(tmp_path: Path) -> None:
    made = logistic().compile(tmp_path, freestanding=True, emit="static", opt_level=1)
    tree = json.loads((tmp_path / "logistic.rounds.json").read_text())
    assert tree == logistic().protocol.to_json() and tmp_path / "logistic.rounds.json" in made.files


def test_libraries_of_here_have_it_in_a_section(tmp_path: Path) -> None:
    made = logistic().compile(tmp_path)
    assert open_rounds(made.load()).protocol == logistic().protocol
    assert not list(tmp_path.glob("*.json")) and isinstance(made.load(), Library)

"""Temporary folders that cannot be written: errors name the folder, whatever was to be written there."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor import function
from aotensor.config import config
from aotensor.errors import ToolError
from aotensor.passes.pipeline import PassRunner
from aotensor_cli.tuning.journal import Journal
from aotensor_runtime.rounds.engines import Processes
from aotensor_runtime.rounds.sources import ArraySource
from aotensor_runtime.systems import scratch
from aotensor_runtime.systems.loading import through_a_file

PROGRAM = """
import numpy as np
import aotensor as aot, aotensor.tensor as at
from aotensor.errors import ToolError
x = at.vector("x", dtype="float64", shape=("n",))
try:
    aot.function([x], 2 * x, name="f")(np.ones(3))
except ToolError as error:
    print(error.diagnostic.title)
"""


def full(*_: object, **__: object) -> str:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_limit_on_files_names_the_temporary_folder(tmp_path: Path) -> None:
    """The kernel refuses to write more than a few bytes, as it does on a full disk."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

    folders = {"TMPDIR": str(tmp_path), "AOTENSOR_CACHE_DIR": str(tmp_path / "cache")}
    variables = {**os.environ, **folders, "PYTHONDONTWRITEBYTECODE": "1"}  # Python would keep half a file of bytecode
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=variables, capture_output=True, text=True, preexec_fn=limit, check=False
    )
    assert done.stdout == f"the temporary folder {tmp_path} cannot be written (file too large)\n", done.stderr
    assert not list(tmp_path.glob("aotensor-*"))


def test_folders_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(ToolError, match=rf"the temporary folder {tmp_path} cannot be written \(no space left"):
        through_a_file(b"", "x.so")
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(ToolError, match=rf"the temporary folder {tmp_path} cannot be written"):
        scratch.new_file()


def test_no_temporary_folder_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has no home keeps the cache among the temporary files."""
    monkeypatch.setattr(tempfile, "gettempdir", full)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    for name in ("AOTENSOR_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ToolError, match="no folder for temporary files can be written"):
        _ = config.cache_dir


def test_errors_about_other_files_pass(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), scratch.scratch_folder(parent=tmp_path):
        (tmp_path.parent / "absent").read_bytes()
    with pytest.raises(ToolError, match=str(tmp_path)), scratch.scratch_folder(parent=tmp_path) as folder:
        (folder / "absent" / "file").write_bytes(b"")
    assert not list(tmp_path.iterdir())


def test_arrays_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared memory is often small in containers."""
    with Processes(1) as engine:
        monkeypatch.setattr(np, "save", full)
        with pytest.raises(ToolError, match=r"the folder of shared arrays \S+ cannot be written") as caught:
            engine.keep(ArraySource(np.ones(3), 0))
    assert "engine='threads'" in str(caught.value)


def test_a_folder_for_dumps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("AOTENSOR_DUMP", str(tmp_path / "taken"))
    x = at.vector("x", shape=("n",))
    with pytest.raises(ToolError, match=rf"the folder for dumps {tmp_path}/taken cannot be written"):
        function([x], x * 3.5).ir("tensor-opt")


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Within: the kernel refuses to write more than this many bytes to a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_no_half_of_a_stage_or_a_journal_is_left(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl", {"model": "m"})
    journal.begin()
    before = journal.path.read_text()
    journal.subject["model"] = 100 * "m"
    runner = PassRunner(dump=tmp_path / "dump")
    with largest_file(40):
        with pytest.raises(
            ToolError, match=rf"the folder of the journal {tmp_path} cannot be written \(file too large"
        ):
            journal.begin()
        with pytest.raises(
            ToolError, match=rf"the folder for dumps {tmp_path}/dump cannot be written \(file too large"
        ):
            runner.write("graph", "txt", lambda: 100 * "x")
    assert journal.path.read_text() == before
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["dump", "j.jsonl"]

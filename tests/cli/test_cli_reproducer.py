"""Reproducers: one file that repeats a compilation elsewhere, wanted or left behind after a bug of ours."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Call

from aotensor.graph.passes.run import GraphPass
from aotensor_runtime import load


def test_a_reproducer_repeats_a_failure_elsewhere(spawn: Call, tmp_path: Path) -> None:
    """A model with a module and data, a failure; the folder is gone when the reproducer runs."""
    folder = tmp_path / "work"
    folder.mkdir()
    np.save(folder / "w.npy", np.arange(4.0))
    (folder / "parts.py").write_text("import numpy as np\nW = np.load(__file__.replace('parts.py', 'w.npy'))\n")
    (folder / "net.py").write_text(
        "import aotensor as aot, aotensor.tensor as at, parts, numpy as np\n"
        f"V = np.load({str(folder / 'w.npy')!r})\n"
        "x = at.vector('x', dtype='float64', shape=(3,))\nf = aot.function([x], x + parts.W + V, name='f')\n"
    )
    answer = spawn("compile", "net.py", "-o", "out", "--reproducer", tmp_path / "r.pyz", cwd=folder)
    assert answer.code == 3
    folder.rename(tmp_path / "gone")
    done = subprocess.run([sys.executable, str(tmp_path / "r.pyz")], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert (
        done.stderr.splitlines()[-1].split("error: ")[1].rpartition("/")[2]
        == (answer.err.splitlines()[-1].split("error: ")[1].rpartition("/")[2])
    )
    with zipfile.ZipFile(tmp_path / "r.pyz") as archive:
        record = json.loads(archive.read("reproducer.json"))
    assert record["outcome"]["code"] == 3 and record["versions"]["numpy"] == np.__version__
    assert record["arguments"][0] == "compile" and record["machine"]["cpu flags"]


def test_a_reproducer_of_a_success(spawn: Call, small: Path) -> None:
    assert spawn("compile", "small.py:f", "-O", "1", "--reproducer", "r.pyz", cwd=small.parent).code == 0
    small.unlink()
    done = subprocess.run(
        [sys.executable, "r.pyz", "kept"], capture_output=True, text=True, cwd=small.parent, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert load(small.parent / "kept" / "out" / "libf.so").f([1.0]).tolist() == [2]


def _broken(*_: object) -> None:
    raise AssertionError("a pass of ours")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("aotensor_cli.compile.Build", None, "internal error"),
        (
            "aotensor.passes.nest.scalar_replacement.functions_of",
            _broken,
            "pass scalar-replacement failed: AssertionError: a pass of ours",
        ),
        ("aotensor.driver.prepare.EXPAND", GraphPass("expand", lambda *_: []), "pass expand broke the graph"),
    ],
)
def test_a_bug_leaves_a_reproducer(
    call: Call, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, value: Any, message: str
) -> None:
    monkeypatch.setattr(place, value)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    answer = call("compile", small)
    (path,) = tmp_path.glob("aotensor-reproducer-*.pyz")
    assert answer.code == 70 and f"`python {path}` repeats this" in answer.err and message in answer.err
    assert zipfile.is_zipfile(path)

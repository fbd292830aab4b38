"""The same program gives the same bytes, whatever process or folder it is compiled in."""

from __future__ import annotations

import shutil
from pathlib import Path

from programs import EXAMPLES, Runner

COMPILE = "import aotensor as aot, hello; print(aot.compile(hello.hello, {out!r}).library)"


def test_two_processes_give_the_same_bytes(run: Runner, tmp_path: Path) -> None:
    results = []
    for number in (1, 2):
        out = tmp_path / f"out{number}"
        run("-c", f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); " + COMPILE.format(out=str(out)))
        results.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert sorted(results[0]) == ["hello.h", "libhello.so"]
    assert results[0] == results[1]


def test_the_folder_of_the_source_leaves_no_trace(run: Runner, tmp_path: Path) -> None:
    results = []
    for place in ("here", "there/deeper"):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        shutil.copy(EXAMPLES / "hello.py", folder)
        run("-c", "import sys; sys.path.insert(0, '.'); " + COMPILE.format(out=str(folder)), cwd=folder)
        results.append((folder / "libhello.so").read_bytes())
    assert results[0] == results[1]

"""A static library goes into programs and other libraries; they see its entries, and nothing else of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from needs import path_of

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.artifact import Artifact
from aotensor.errors import ForeignLibrary, GraphValueError

MAIN = """#include "model.h"
#include <stdio.h>
#include <string.h>

int main(void) {
  double x[3] = {1, 2, 3}, w[3] = {1, 0, -1}, y, g[3];
  int64_t i = 7;
  if (my_value(3, x, w, &y, g, NULL)) return 1;
  if (y != -2 || g[0] != 1 || g[1] != 2 || g[2] != 3) return 2;
  if (strncmp(my_aotensor_status_message(my_pick(3, x, &i, &y, NULL)), "pick: ", 6)) return 3;
  if (!strstr(my_aotensor_manifest(), "\\"name\\":\\"model\\"")) return 4;
  puts("ok");
  return 0;
}
"""


@pytest.fixture(scope="module")
def cc() -> str:
    return path_of("cc")


def functions() -> list[aot.Function]:
    x, w = (at.vector(name, dtype="float64", shape=("n",)) for name in "xw")
    i = at.scalar("i", dtype="int64")
    loss = (x * w).sum()
    return [
        aot.function([x, w], {"y": loss, "g": aot.grad(loss, w)}, name="value"),
        aot.function([x, i], x[i], name="pick"),
    ]


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return aot.compile(functions(), tmp_path_factory.mktemp("static"), name="model", prefix="my_", emit="static")


@pytest.fixture
def folder(artifact: Artifact, tmp_path: Path) -> Path:
    """A copy of the files that a test may add some to."""
    return shutil.copytree(artifact.header.parent, tmp_path / "static")


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_files(artifact: Artifact) -> None:
    folder = artifact.header.parent
    assert sorted(path.name for path in folder.iterdir()) == ["libmodel.a", "model.h"]
    assert artifact.library == artifact.archive == folder / "libmodel.a"
    assert artifact.files == (folder / "libmodel.a", folder / "model.h")
    with pytest.raises(ForeignLibrary, match=r"libmodel\.a: this is a static library"):
        artifact.load()


def test_a_program(cc: str, folder: Path) -> None:
    (folder / "main.c").write_text(MAIN)
    libraries = ["libmodel.a", "-lm", "-lpthread"]
    run(cc, "-std=c99", "-Wall", "-Wextra", "-Werror", "main.c", *libraries, "-o", "main", cwd=folder)
    assert run("./main", cwd=folder) == "ok\n"
    run(cc, "-static", "main.c", *libraries, "-o", "whole", cwd=folder)
    assert run("./whole", cwd=folder) == "ok\n"


def test_another_shared_library(cc: str, folder: Path) -> None:
    """It is position independent, and what the other library exports is the other library's choice."""
    (folder / "other.c").write_text(
        '#include "model.h"\ndouble total(const double *x) { double y, g[2]; my_value(2, x, x, &y, g, 0); return y; }\n'
    )
    flags = ["-shared", "-fPIC", "-Wl,--exclude-libs,ALL", "-Wl,-z,defs"]
    run(cc, *flags, "other.c", "libmodel.a", "-lm", "-lpthread", "-o", "libother.so", cwd=folder)
    (folder / "user.c").write_text(
        "double total(const double *x); int main(void) { double x[2] = {3, 4}; return total(x) != 25; }\n"
    )
    run(cc, "user.c", "-L.", "-lother", "-Wl,-rpath,$ORIGIN", "-o", "user", cwd=folder)
    run("./user", cwd=folder)


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed (Debian: binutils)")
def test_symbols(artifact: Artifact) -> None:
    """All that is global is declared in the header, behind the prefix, and the other way round."""
    folder = artifact.header.parent
    found = {line.split()[-1] for line in run("nm", "-g", "--defined-only", "libmodel.a", cwd=folder).splitlines()[2:]}
    header = artifact.header.read_text()
    declared = set(re.findall(r"^(?:int32_t|int64_t|double|const char \*|void \*)\s*(my_\w+)\(", header, re.MULTILINE))
    assert found == declared
    assert {"my_value", "my_value_workspace", "my_value_call", "my_pick"} < found


def test_both_kinds(tmp_path: Path) -> None:
    both = aot.compile(functions(), tmp_path / "both", name="model", emit=("static", "lib"))
    assert both.library.name == "libmodel.so" and both.archive is not None and both.archive.name == "libmodel.a"
    assert both.load().pick([1.0, 2.0], 1) == 2
    alone = aot.compile(functions(), tmp_path / "alone", name="model", emit="static")
    assert alone.library.read_bytes() == both.archive.read_bytes()


def test_a_target_without_a_linker_here(tmp_path: Path) -> None:
    made = aot.compile(functions(), tmp_path, name="model", target="riscv64-linux-gnu", cpu="generic", emit="static")
    assert made.library.read_bytes()[:8] == b"!<arch>\n"


@pytest.mark.parametrize("emit", ["so", (), ("lib", "obj")])
def test_other_kinds_are_refused(tmp_path: Path, emit: str | tuple[str, ...]) -> None:
    with pytest.raises(GraphValueError, match="emit must be chosen from 'lib', 'static'"):
        aot.compile(functions(), tmp_path / "none", emit=emit)
    assert not (tmp_path / "none").exists()

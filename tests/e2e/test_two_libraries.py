"""Two libraries in one C program, shared and static: nothing of one is taken for the other's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from needs import path_of

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.files import write_file
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
LINKS = {
    "shared": ["-L.", "-lfirst", "-lsecond", "-Wl,-rpath,$ORIGIN"],
    "static": ["./libfirst.a", "./libsecond.a"],
    "static, the other way round": ["./libsecond.a", "./libfirst.a"],
    "mixed": ["./libfirst.a", "-L.", "-lsecond", "-Wl,-rpath,$ORIGIN"],
}


@pytest.fixture(scope="module")
def cc() -> str:
    return path_of("cc")


def build(folder: Path, library: str, function: str, factor: int, prefix: str = "") -> None:
    x, i = at.vector("x", dtype="float64", shape=("n",)), at.scalar("i", dtype="int64")
    made = Build([aot.function([x, i], factor * x[i], name=function)], library, Options(prefix=prefix))
    for form in ("lib", "static", "header"):
        write_file(folder / made.file_name(form), made.content(form))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    build(folder, "first", "pick", 1)
    build(folder, "second", "twice", 2)
    shutil.copy(Path(__file__).with_name("two_libraries.c"), folder)
    return folder


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("how", LINKS)
def test_two_libraries(cc: str, folder: Path, how: str) -> None:
    done = run([cc, *STRICT, "two_libraries.c", "-o", "program", *LINKS[how], "-lm"], folder)
    assert done.returncode == 0, done.stderr
    done = run(["./program"], folder)
    assert (done.stdout, done.returncode) == ("ok\n", 0)


def test_a_name_that_several_libraries_have_is_refused(cc: str, folder: Path) -> None:
    (folder / "which.c").write_text(
        '#include "first.h"\n#include "second.h"\nint main(void) { return aotensor_manifest() == 0; }\n'
    )
    done = run([cc, *STRICT, "which.c", "-o", "which", *LINKS["shared"]], folder)
    assert done.returncode != 0 and "aotensor_manifest_of_which_library" in done.stderr


def test_plain_names_without_the_header(cc: str, folder: Path) -> None:
    """Who declares the entries himself finds them under the names of the contract."""
    (folder / "plain.c").write_text(
        "const char *aotensor_status_message(int); const char *aotensor_manifest(void);\n"
        "int main(void) { return aotensor_manifest()[0] != '{' || aotensor_status_message(0)[0] != 's'; }\n"
    )
    for link in (["-L.", "-lsecond", "-Wl,-rpath,$ORIGIN"], ["./libsecond.a"]):
        done = run([cc, "plain.c", "-o", "plain", *link], folder)
        assert done.returncode == 0, done.stderr
        assert run(["./plain"], folder).returncode == 0


def test_prefixes_and_one_function(cc: str, tmp_path: Path) -> None:
    """The same function of two libraries, told apart by prefixes."""
    build(tmp_path, "first", "pick", 1, "one_")
    build(tmp_path, "second", "pick", 5, "two_")
    (tmp_path / "main.c").write_text(
        '#include "first.h"\n#include "second.h"\n#include <string.h>\nint main(void) {\n'
        "  double x[2] = {1, 2}, a, b; int64_t i = 1, far = 9;\n"
        "  if (one_pick(2, x, &i, &a, 0) || two_pick(2, x, &i, &b, 0) || a != 2 || b != 10) return 1;\n"
        '  if (strncmp(one_aotensor_status_message(one_pick(2, x, &far, &a, 0)), "pick: ", 6)) return 2;\n'
        "  return strcmp(one_aotensor_manifest(), two_aotensor_manifest()) == 0;\n}\n"
    )
    for how in ("shared", "static"):
        done = run([cc, *STRICT, "main.c", "-o", "program", *LINKS[how]], tmp_path)
        assert done.returncode == 0, done.stderr
        assert run(["./program"], tmp_path).returncode == 0


def test_cpp(folder: Path) -> None:
    compiler = path_of("c++")
    shutil.copy(folder / "two_libraries.c", folder / "two_libraries.cpp")
    command = [compiler, "-std=c++11", "-Wall", "-Wextra", "-Werror", "two_libraries.cpp", "-o", "cpp"]
    done = run([*command, *LINKS["shared"]], folder)
    assert done.returncode == 0, done.stderr
    assert run(["./cpp"], folder).stdout == "ok\n"

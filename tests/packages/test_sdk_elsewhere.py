"""SDKs of libraries for Windows and macOS: what is inside, what CMake makes of it, what is refused."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest
from packaged import Package, run, succeed

import aotensor as aot
import aotensor.tensor as at

pytestmark = pytest.mark.needs("zig")

ASK = """
cmake_minimum_required(VERSION 3.16)
project(ask NONE)
find_package(model 1.2 REQUIRED)
foreach(property IMPORTED_LOCATION IMPORTED_IMPLIB IMPORTED_SONAME)
  get_target_property(value model::model ${property})
  message(STATUS "${property} ${value}")
endforeach()
get_target_property(value model::model_static IMPORTED_LOCATION)
message(STATUS "STATIC ${value}")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, x = tmp_path_factory.mktemp("elsewhere"), at.vector("x", dtype="float64")
    f = aot.function([x], {"loss": (x**2).sum(), "grad": 2 * x}, name="squares")
    for target in ("x86_64-windows-gnu", "arm64-macos"):
        aot.compile(f, made / target, name="model", target=target, cpu="generic", emit=("lib", "static"))
    return made


@pytest.mark.needs("cmake")
@pytest.mark.parametrize(
    ("target", "shared", "platform", "more"),
    [
        ("x86_64-windows-gnu", "bin/model.dll", "windows-x86_64", ["lib/libmodel.dll.a"]),
        ("arm64-macos", "lib/libmodel.dylib", "macos-arm64", []),
    ],
)
def test_an_sdk(
    target: str, shared: str, platform: str, more: list[str], folder: Path, package: Package, tmp_path: Path
) -> None:
    library, archive = folder / target / Path(shared).name, folder / target / "libmodel.a"
    options = ("--version", "1.2", "--emit", "sdk", "-o", tmp_path)
    answer = package(library, archive, *options)
    file = tmp_path / f"model-1.2-{platform}.tar.gz"
    assert (answer.code, answer.out) == (0, f"{file}\n"), answer.err
    first = file.read_bytes()
    assert package(library, archive, *options).code == 0 and file.read_bytes() == first
    with tarfile.open(file) as tar:
        tar.extractall(tmp_path, filter="data")
    sdk = tmp_path / "model-1.2"
    for path in (shared, "lib/libmodel.a", *more):
        assert (sdk / path).read_bytes() == (folder / target / Path(path).name).read_bytes()
    assert "-lpthread" not in (sdk / "lib/pkgconfig/model.pc").read_text()
    (tmp_path / "CMakeLists.txt").write_text(ASK)
    system, machine = ("Windows", "AMD64") if more else ("Darwin", "arm64")
    there = [f"-DCMAKE_SYSTEM_NAME={system}", f"-DCMAKE_SYSTEM_PROCESSOR={machine}"]
    found = [f"-DCMAKE_PREFIX_PATH={sdk}", "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=BOTH"]
    said = succeed("cmake", "-B", tmp_path / "there", *there, *found, tmp_path)
    assert f"-- IMPORTED_LOCATION {sdk / shared}\n" in said and f"-- STATIC {sdk}/lib/libmodel.a\n" in said
    named = f"IMPORTED_IMPLIB {sdk / more[0]}" if more else "IMPORTED_SONAME @rpath/libmodel.dylib"
    assert f"-- {named}\n" in said
    here = run("cmake", "-B", tmp_path / "here", *found, tmp_path)
    assert here.code != 0 and f"model is for {platform}, this is" in " ".join(here.err.split())


def test_refused(folder: Path, package: Package, tmp_path: Path) -> None:
    dll, dylib = folder / "x86_64-windows-gnu" / "model.dll", folder / "arm64-macos" / "libmodel.dylib"
    alone = tmp_path / "model.dll"
    shutil.copy(dll, alone)
    for arguments, message in (
        ([alone], f"{alone}: its import library libmodel.dll.a is not next to it"),
        ([dll, dylib], "is for macos-arm64, and"),
        ([dll, folder / "arm64-macos" / "libmodel.a"], "the shared library of the same compilation is missing"),
    ):
        answer = package(*arguments, "-o", tmp_path / "out")
        assert answer.code == 2 and message in answer.err and not (tmp_path / "out").exists(), answer.err

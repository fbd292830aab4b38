"""The files of a release: sdists and wheels of both distributions, installed and tried where nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from email.parser import Parser
from pathlib import Path

import pytest
from needs import NEEDS
from packaged import ROOT, CleanPython

pytestmark = [
    pytest.mark.needs("build"),
    pytest.mark.level("ci", "builds both distributions and installs them in new environments: 15 s of a processor"),
]
SOURCES = ("src", "cli", "runtime", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md")
OTHERS = (
    "scipy", "llvmlite", "click", "rich", "packaging", "xdsl", "immutabledict", "ordered_set", "typing_extensions",
    "typing_extensions.py", "markdown_it", "markdown_it_py", "mdurl", "pygments",
)  # fmt: skip
"""What aotensor requires, but for NumPy, and what these require: modules and distributions."""
COMPILE = """
import aotensor as aot, aotensor.tensor as at
x = at.vector("x", shape=("n",))
f = aot.function([x], {"y": at.exp(x).sum(), "g": aot.grad(at.exp(x).sum(), x)}, name="total")
print(aot.compile(f, "built").library, f([0.0, 0.0])["y"])
"""
LOAD = """
import importlib.util, aotensor_runtime
assert importlib.util.find_spec("aotensor") is None
print(aotensor_runtime.load("built/libtotal.so").total([0.0, 0.0])["g"].tolist())
"""
STORED = """
import pathlib, sys
from tools.stored_libraries.calls import main
main(sorted(map(str, pathlib.Path("tests/compatibility").glob("*.*.*"))))
"""
BACKEND = """
import sys, hatchling.build
print(getattr(hatchling.build, sys.argv[1])(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the project that its distributions are made of."""
    folder = tmp_path_factory.mktemp("clone")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_calls.*"))
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def backend(folder: Path, command: Sequence[object], **environment: str) -> str:
    """The last line of a build."""
    variables = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PIP_BUILD_TRACKER")}
    given = [sys.executable, *map(str, command)]
    done = subprocess.run(given, cwd=folder, env={**variables, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def dist(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both sdists, and the wheels that were built of them."""
    folder = tmp_path_factory.mktemp("dist")
    for project in (clone, clone / "runtime"):
        backend(project, ["-m", "build", "--no-isolation", "--outdir", folder])
    return folder


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def needs_of(wheel: Path) -> list[str]:
    """The requirements of a wheel, without those of extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        about = Parser().parsestr(archive.read(name).decode())
    return [need for need in about.get_all("Requires-Dist", []) if "extra ==" not in need]


def test_one_distribution_owns_each_file(dist: Path) -> None:
    (own,), (whole,) = dist.glob("aotensor_runtime-*.whl"), dist.glob("aotensor-*.whl")
    assert {name.split("/")[0] for name in names_in(own) if ".dist-info" not in name} == {"aotensor_runtime"}
    assert {name.split("/")[0] for name in names_in(whole) if ".dist-info" not in name} == {"aotensor", "aotensor_cli"}
    version = own.name.split("-")[1]
    assert [need for need in needs_of(whole) if "runtime" in need] == [f"aotensor-runtime=={version}"]


def test_sources_have_what_a_build_needs(dist: Path) -> None:
    (own,), (whole,) = dist.glob("aotensor_runtime-*.tar.gz"), dist.glob("aotensor-*.tar.gz")
    for path, expected in (
        (own, {"aotensor_runtime", "hatch_build.py"}),
        (whole, {"src", "cli", "hatch_build.py", "CHANGELOG.md"}),
    ):
        with tarfile.open(path) as archive:
            found = {name.split("/")[1] for name in archive.getnames()}
        assert found - {".gitignore"} == expected | {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO"}


@pytest.mark.unlimited("a release that cannot be installed is none")
def test_a_clean_environment(dist: Path, tmp_path: Path) -> None:
    """Compile in one, load in another that has the runtime and NumPy, and repeat the calls of stored libraries."""
    compiler, runtime = (
        CleanPython(tmp_path / "compiler", OTHERS),
        CleanPython(tmp_path / "runtime", ("scipy", "ml_dtypes")),
    )
    compiler.install("aotensor", links=dist)
    assert compiler(COMPILE, cwd=tmp_path).endswith("built/libtotal.so 2.0\n")
    runtime.install("aotensor-runtime", links=dist)
    assert runtime(LOAD, cwd=tmp_path) == "[1.0, 1.0]\n"
    assert "dtypes: " in runtime(STORED, cwd=ROOT)


@pytest.mark.parametrize("version", ["wheel", "editable"])
def test_pip_in_a_clone(version: str, clone: Path, tmp_path: Path) -> None:
    """It installs the runtime of the clone, or puts its folder on the path, with the C extension if it can."""
    name = backend(clone, ["-c", BACKEND, f"build_{version}", tmp_path], PIP_BUILD_TRACKER="here")
    runtime = [need for need in needs_of(tmp_path / name) if "runtime" in need]
    if version == "wheel":
        assert runtime == [f"aotensor-runtime @ {(clone / 'runtime').as_uri()}"]
        assert not any(name.startswith("aotensor_runtime") for name in names_in(tmp_path / name))
    else:
        with zipfile.ZipFile(tmp_path / name) as archive:
            (path,) = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".pth")]
        made = [*(clone / "runtime" / "aotensor_runtime" / "extension").glob("_calls.*")]
        assert len(made) == (not NEEDS["extension"].missing)
        assert runtime == [] and set(path.split()) == {str(clone / folder) for folder in ("src", "cli", "runtime")}

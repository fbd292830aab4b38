"""aotensor-runtime as a distribution of its own: small, and NumPy alone."""

from __future__ import annotations

import shutil
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from packaged import ROOT, CleanPython, succeed

from aotensor_cli.packaging import distributions


def read(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


def build(folder: Path, **environment: str) -> Path:
    """The result of `pip wheel ./runtime`, with the build system that is installed."""
    for name in ("pip", "hatchling"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    ignored = shutil.ignore_patterns("__pycache__", "_calls.*")
    shutil.copytree(ROOT / "runtime", folder / "runtime", ignore=ignored)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    succeed(*pip, "./runtime", "--wheel-dir", folder, cwd=folder, PIP_DISABLE_PIP_VERSION_CHECK="1", **environment)
    (wheel,) = folder.glob("aotensor_runtime-*.whl")
    return wheel


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel without the C extension."""
    return build(tmp_path_factory.mktemp("built"), AOTENSOR_NO_EXTENSION="1")


def test_it_is_small_and_needs_numpy(built: Path) -> None:
    assert built.stat().st_size < 300_000  # bytes
    with zipfile.ZipFile(built) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        about = Parser().parsestr(archive.read(name).decode())
    needed = [need for need in about.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert needed == [distributions.NUMPY]


def test_it_is_what_package_writes(built: Path) -> None:
    """By `aotensor package --with-runtime`."""
    with zipfile.ZipFile(built) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if name.startswith("aotensor_runtime/")}
    assert files == dict(distributions.runtime_wheel().files)
    assert "aotensor_runtime/include/aotensor.h" in files and "aotensor_runtime/py.typed" in files
    assert built.name == distributions.runtime_wheel().file_name


def test_both_projects_say_the_same() -> None:
    own, whole = read("runtime/pyproject.toml"), read("pyproject.toml")
    for field in ("version", "requires-python", "license", "authors"):
        assert own["project"][field] == whole["project"][field]
    needs = whole["tool"]["hatch"]["metadata"]["hooks"]["custom"]["dependencies"]
    assert own["project"]["dependencies"] == [distributions.NUMPY] and distributions.NUMPY in needs
    assert own["project"]["optional-dependencies"]["scipy"] == [distributions.SCIPY] and distributions.SCIPY in needs
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {whole['project']['version']}\n" in citation
    assert (ROOT / "runtime" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_it_loads_a_library(built: Path, libraries: Path, tmp_path: Path) -> None:
    python = CleanPython(tmp_path / "venv")
    python.install(built)
    program = (
        f"import aotensor_runtime; print(aotensor_runtime.load({str(libraries / 'libmodel.so')!r}).pick([1.0, 2.0], 1))"
    )
    assert python(program) == "2.0\n"


STATE = "import aotensor_runtime.extension as found; print(found.state(), found.calls() is None)"


@pytest.mark.needs("extension")
@pytest.mark.level("ci", "builds a wheel and installs it in a new environment")
def test_a_compiler_adds_the_extension(tmp_path: Path, libraries: Path) -> None:
    (tmp_path / "built").mkdir()
    wheel = build(tmp_path / "built")
    assert "-cp311-abi3-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        parts = {name for name in archive.namelist() if name.startswith("aotensor_runtime/extension/")}
    (binary,) = parts - {"aotensor_runtime/extension/__init__.py"}
    assert binary.startswith("aotensor_runtime/extension/_calls.") and wheel.stat().st_size < 300_000  # bytes
    python = CleanPython(tmp_path / "venv")
    python.install(wheel)
    load = f"import aotensor_runtime; f = aotensor_runtime.load({str(libraries / 'libmodel.so')!r}).pick"
    assert python(f"{load}; print(f([1.0, 2.0], 1), f(i=1, y=[1.0, 2.0]))") == "2.0 2.0\n"
    assert python(STATE) == "used False\n"
    assert python(f"import os; os.environ['AOTENSOR_NO_EXTENSION'] = '1'; {STATE}") == "off True\n"


@pytest.mark.needs("extension")
@pytest.mark.level("ci", "builds a wheel")
def test_a_broken_compiler_does_not_stop_the_build(tmp_path: Path) -> None:
    (tmp_path / "built").mkdir()
    assert build(tmp_path / "built", CC="false").name.endswith("-py3-none-any.whl")

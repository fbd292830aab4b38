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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip wheel ./runtime` makes, by the build system that is installed."""
    for name in ("pip", "hatchling"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    folder = tmp_path_factory.mktemp("built")
    shutil.copytree(ROOT / "runtime", folder / "runtime", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    succeed(*pip, "./runtime", "--wheel-dir", folder, cwd=folder, PIP_DISABLE_PIP_VERSION_CHECK="1")
    (wheel,) = folder.glob("aotensor_runtime-*.whl")
    return wheel


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

"""The handmade library on disk, and loaded: called by the C extension of the runtime, and by ctypes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from needs import NEEDS

sys.path.insert(0, str(Path(__file__).parents[1] / "codegen"))

from entry_harness import handmade_library

import aotensor_runtime
from aotensor.codegen.library import write_library


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Library and header."""
    return write_library(handmade_library(), tmp_path_factory.mktemp("handmade"))


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The C extension, compiled from the sources."""
    if NEEDS["extension"].missing:
        pytest.skip(NEEDS["extension"].reason)
    runtime = Path(__file__).parents[2] / "runtime"
    file = run_path(str(runtime / "hatch_build.py"))["build_extension"](runtime, tmp_path_factory.mktemp("extension"))
    spec = importlib.util.spec_from_file_location("aotensor_runtime.extension._calls", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["extension", "ctypes"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How calls of libraries that are loaded from now on reach them."""
    module = request.getfixturevalue("extension") if request.param == "extension" else None
    monkeypatch.setattr("aotensor_runtime.extension._module", module)
    return str(request.param)


@pytest.fixture
def lib(built: tuple[Path, Path], road: str) -> aotensor_runtime.Library:
    return aotensor_runtime.load(built[0])


@pytest.fixture(autouse=True)
def plain_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests look at the short way into a library, which calls on poisoned memory do not take."""
    monkeypatch.setattr("aotensor_runtime.arrays.poison._is_on", False)
    monkeypatch.delenv("AOTENSOR_POISON", raising=False)

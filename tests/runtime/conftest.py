"""The handmade library on disk, and loaded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "codegen"))

from entry_harness import handmade_library

import aotensor_runtime
from aotensor.codegen.library import write_library


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Library and header."""
    return write_library(handmade_library(), tmp_path_factory.mktemp("handmade"))


@pytest.fixture
def lib(built: tuple[Path, Path]) -> aotensor_runtime.Library:
    return aotensor_runtime.load(built[0])


@pytest.fixture(autouse=True)
def plain_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests look at the short way into a library, which calls on poisoned memory do not take."""
    monkeypatch.setattr("aotensor_runtime.arrays.poison._is_on", False)
    monkeypatch.delenv("AOTENSOR_POISON", raising=False)

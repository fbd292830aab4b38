"""Libraries of the one model for every target, and this machine's, which they are compared with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import embedded_models
import foreign
from foreign import Made

import aotensor as aot
from aotensor_runtime import Library


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Library]:
    """This machine's library, by floating point policy."""

    @cache
    def made(fp: str) -> Library:
        return aot.compile(foreign.functions(), tmp_path_factory.mktemp("here"), name="model", fp=fp).load()

    return made


@pytest.fixture(scope="session")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the embedded models' libraries, shared and static, which allocate nothing."""
    folder = tmp_path_factory.mktemp("still")
    functions = embedded_models.functions()
    aot.compile(functions, folder, name="model", malloc=False, emit=("lib", "static"), opt_size=True)
    return folder


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The folder of the libraries, shared and static, for a target."""

    @cache
    def libraries(target: str, fp: str = "contract") -> Path:
        folder = tmp_path_factory.mktemp(target)
        kinds = ("lib", "static")
        aot.compile(foreign.functions(), folder, name="model", target=target, cpu="generic", fp=fp, emit=kinds)
        return folder

    return libraries

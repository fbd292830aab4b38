"""One library for all tests of BridgeStan's symbols."""

from __future__ import annotations

from pathlib import Path

import pytest
from regression_model import regression

import aotensor as aot


@pytest.fixture(scope="session")
def regression_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = aot.compile(regression(), tmp_path_factory.mktemp("bridgestan"), abi="bridgestan", opt_level=1)
    return made.library

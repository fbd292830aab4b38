"""What all tests share."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy loads it: threads that wait for each other spin
os.environ.setdefault("AOTENSOR_POISON", "1")  # before the runtime reads it: calls run on memory full of nan
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # half of the time of a process that a test starts is parsing then
    sys.dont_write_bytecode = False

import numpy as np
import pytest
from filecheck.matcher import Matcher
from filecheck.options import Options as CheckOptions

pytest_plugins = ("needs", "budgets", "processes", "reach", "affected")

os.environ.pop("COLUMNS", None)  # set by readline, which pytest imports; commands of tests write to pipes
os.unsetenv("COLUMNS")

M_PERTURB: Final = -6
FILL: Final = 0x7F


def _fill_what_malloc_gives() -> None:
    """Memory that libraries allocate themselves holds large numbers before they write to it, with glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_PERTURB, FILL ^ 0xFF)


_fill_what_malloc_gives()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what tests find into their golden files")


LAST = ("cli", "e2e", "importers", "packages", "targets")
"""Folders whose tests call the command line in their process. From its first model on, that hears of Python's audit
events, of each `id()` among them, which makes compiling slower for all that comes later."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that make others slower come last."""
    items.sort(key=lambda item: item.path.parent.name in LAST)


PLAIN = ("complex", "driver", "gradient", "graph", "importers", "ops", "random", "runtime", "solutions", "sparse")
"""Folders whose tests look at values, and leave to others what LLVM makes of the code."""


def pytest_collection() -> None:
    """Collecting makes no garbage to speak of, and the collector would look at each new test many times."""
    gc.disable()


def pytest_collection_finish() -> None:
    """The garbage collector need not look at twenty thousand tests again and again, nor at IR that is being built.

    With its own thresholds it takes a fifth of the time of lowering.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 5)


@pytest.fixture(autouse=True, scope="module")
def plain_code(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Calls of functions compile without LLVM's optimiser, which takes half of the time; with --all they do not.

    Into a folder that goes with the session: thousands of small libraries that nobody calls again.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name in PLAIN and not request.config.getoption("--all"):
            patch.setattr("aotensor.driver.cache.OPT_LEVEL", 0)
            own = tmp_path_factory.getbasetemp()
            shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
            if not request.config.getoption("--record-reach"):  # which has a folder for each test
                patch.setenv("AOTENSOR_CACHE_DIR", str(shared / "plain"))
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(20240229)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare a text with a golden file, or write it there under --update-golden."""

    def check(path: Path, found: str) -> None:
        if request.config.getoption("--update-golden"):
            path.write_text(found, encoding="utf-8")
        assert path.exists(), f"{path.name} is not there: run pytest --update-golden"
        assert found == path.read_text(encoding="utf-8")

    return check


@pytest.fixture
def filecheck(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[str, str], None]:
    """Compare a text with CHECK lines, as LLVM's FileCheck does: `filecheck(checks, found)`."""

    def check(checks: str, found: str) -> None:
        files = tmp_path / "checks", tmp_path / "found"
        for path, text in zip(files, (checks, found), strict=True):
            path.write_text(text, encoding="utf-8")
        status = Matcher.from_opts(CheckOptions(str(files[0]), str(files[1]), strict_whitespace=True)).run()
        assert status == 0, capsys.readouterr().err + found

    return check

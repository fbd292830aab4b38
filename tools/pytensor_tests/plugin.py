"""A pytest plugin: sets the mode for functions without explicit mode, and writes a line of JSON per test with its
outcome and the reason of a failure, for `verdict.py`.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytensor
import pytest
from pytensor.compile.mode import get_mode

import aotensor.driver.cache as cache
from aotensor.errors import AotensorError, InternalError
from aotensor.importers.pytensor.mode import MODE, AotensorLinker

RECORD: Final = "AOTENSOR_TESTS_RECORD"
"""Environment: the file of lines."""
SECONDS: Final = "AOTENSOR_TESTS_SECONDS"
"""Environment: how long a test may take, in seconds of this process: other work on the machine does not count."""

_compiled = 0


class _TimeOut(BaseException):
    """A test exceeded its time limit."""


def pytest_configure(config: pytest.Config) -> None:
    """Set the mode, use the low optimisation level of this project's tests, and count compiled functions."""
    pytensor.config.mode = get_mode(MODE)
    vars(cache)["OPT_LEVEL"] = 0
    convert = AotensorLinker.fgraph_convert

    def counted(self: Any, fgraph: Any, **kwargs: Any) -> Any:
        global _compiled
        made = convert(self, fgraph, **kwargs)
        _compiled += 1
        return made

    AotensorLinker.fgraph_convert = counted


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that have a recorded line."""
    lines = map(json.loads, Path(os.environ[RECORD]).read_text(encoding="utf-8").splitlines())
    known = {line["test"] for line in lines if "test" in line}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in known])
    items[:] = [item for item in items if item.nodeid not in known]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a test within its time limit."""
    global _compiled
    _compiled = 0
    with _limited(float(os.environ[SECONDS])):
        return (yield)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise _TimeOut(f"longer than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except _TimeOut as error:
        raise pytest.fail.Exception(str(error)) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """Write the line of a test, after its call or its failed set-up."""
    report = yield
    if report.when == "call" or (report.when == "setup" and not report.passed):
        line = {"test": item.nodeid, "outcome": report.outcome, "compiled": _compiled, "seconds": report.duration}
        if hasattr(report, "wasxfail"):
            line["outcome"] = "xfailed" if report.skipped else "xpassed"
        elif call.excinfo is not None and report.failed:
            line |= _failure(call.excinfo)
        with Path(os.environ[RECORD]).open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
    return report


def _failure(found: pytest.ExceptionInfo[BaseException]) -> dict[str, Any]:
    error = found.value
    own = [entry for entry in found.traceback if "/tests/" in str(entry.path)]
    return {
        "kind": type(error).__name__,
        "text": str(error)[:3000],
        "refused": next((str(e)[:600] for e in _chain(error) if _is_refusal(e)), ""),
        "lines": [f"{Path(entry.path).name}:{entry.lineno + 1} {str(entry.statement).strip()[:300]}" for entry in own],
        "last": str(found.traceback[-1].path) + f":{found.traceback[-1].lineno + 1}",
    }


def _is_refusal(error: BaseException) -> bool:
    """Is it an intentional error of aotensor, and not a bug?"""
    return isinstance(error, AotensorError) and not isinstance(error, InternalError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes; the chain may be cyclic."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__

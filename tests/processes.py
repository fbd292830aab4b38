"""Many tests run in a pool of processes, few in this one; a failure says how to repeat it; long tests are listed."""

from __future__ import annotations

import os
import shlex
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from _pytest.terminal import TerminalReporter
from needs import cores

LONG: Final = 20.0
"""Seconds. A run lists tests that take longer."""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Start a pool if a folder or nothing is named. Single files, single tests and `-k` need none: it takes seconds."""
    if any(Path(one).is_dir() for one in config.args):
        start_pool(config)


def start_pool(config: pytest.Config) -> None:
    """Run the tests in a pool of processes, unless this is a worker, or has one core, or an option forbids it."""
    options = config.option
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    is_plain = options.usepdb or options.keyword or options.collectonly
    if is_worker or is_plain or getattr(options, "numprocesses", 0) is not None:
        return
    if cores() > 1:
        options.numprocesses = config.hook.pytest_xdist_auto_num_workers(config=config)
        options.dist = "worksteal"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The report of a failure, with the command that repeats it."""
    report = yield
    if report.failed:
        given = ["--all"] * item.config.getoption("--all")
        report.sections.append(("To repeat", shlex.join(["pytest", *given, item.nodeid])))
    return report


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """List tests that took more than `LONG` seconds, the longest first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid] += report.duration
    long = sorted(((time, id) for id, time in seconds.items() if time > LONG), reverse=True)
    if long:
        terminalreporter.section(f"longer than {LONG:.0f} s")
        for time, id in long:
            terminalreporter.line(f"{time:6.1f} s  {id}")

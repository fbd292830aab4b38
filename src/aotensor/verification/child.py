"""Checks in a child process: a crash is a finding of the check that was running, and the others still run."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Final

from aotensor.errors import ToolError
from aotensor.verification.derivatives.verdict import Gradient
from aotensor.verification.report import Check, Report

HAS_CHILDREN: Final = hasattr(os, "fork") and sys.platform != "darwin"
"""Can this system fork? Otherwise checks run in this process.

System libraries of macOS abort a process that uses them after `fork`.
"""


@dataclass(frozen=True)
class Job:
    """A check that returns its detail, or verdicts on gradients.   is_needed: the others are meaningless if it fails"""

    name: str
    check: Callable[[], str | list[Gradient]]
    is_needed: bool = False


def run_checks(report: Report, jobs: Sequence[Job], begin: Callable[[str], None]) -> None:
    """Add the checks to the report, up to one that fails and is needed.   begin: called with the name of each

    Raises: ToolError if a check cannot be made.
    """
    rest = list(jobs)
    while rest:
        done = _in_child(report, rest, begin) if HAS_CHILDREN else _run(report, rest, begin)
        rest = rest[done:]


def ending(code: int) -> str:
    """Describe the end of a process by its exit code: `exit code 3`, or `signal 6 (SIGABRT)` for -6."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"


def _run(report: Report, jobs: Sequence[Job], begin: Callable[[str], None]) -> int:
    """Run checks in this process; returns the number of checks done."""
    for job in jobs:
        begin(job.name)
        if not _run_check(report, job) and job.is_needed:
            break
    return len(jobs)


def _run_check(report: Report, job: Job) -> bool:
    """Run one check and add its row to the report; of gradients the verdicts, and a row only if there are none."""
    found: list[Gradient] = []

    def check() -> str:
        result = job.check()
        if isinstance(result, str):
            return result
        found.extend(result)
        return ""

    is_right = report.run(job.name, check)
    if report.checks[-1].detail == "" and is_right:
        report.checks.pop()
    report.gradients += found
    return is_right


def _in_child(report: Report, jobs: Sequence[Job], begin: Callable[[str], None]) -> int:
    """Run checks in a child until all are done or it dies; returns the number of checks done."""
    receiver, sender = Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # our other threads hold no locks that checks need
        child = os.fork()
    if child == 0:
        receiver.close()
        _serve(sender, report.subject, jobs)
    sender.close()
    done, is_over = 0, False
    try:
        while not is_over and done < len(jobs):
            begin(jobs[done].name)
            checks, gradients = _results(receiver.recv())
            report.checks += checks
            report.gradients += gradients
            is_over = jobs[done].is_needed and any(x.verdict == "failed" for x in checks)
            done += 1
    except (EOFError, OSError):
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        report.checks.append(Check(jobs[done].name, "failed", f"its process ended with {ending(code)}", 0.0))
        return len(jobs) if jobs[done].is_needed else done + 1
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        receiver.close()
    os.waitpid(child, 0)
    return len(jobs) if is_over else done


def _results(received: tuple[list[Check], list[Gradient]] | ToolError) -> tuple[list[Check], list[Gradient]]:
    """The results of a check in a child.   Raises: the ToolError of one that could not be made"""
    if isinstance(received, ToolError):
        raise received
    return received


def _serve(sender: Connection, subject: str, jobs: Sequence[Job]) -> None:
    """The child process: run checks and send each result. Ends the process."""
    code = 0
    try:
        for job in jobs:
            part = Report(subject)
            is_right = _run_check(part, job)
            sender.send((part.checks, part.gradients))
            if job.is_needed and not is_right:
                break
    except ToolError as error:
        sender.send(error)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()  # the parent only sees that this process has ended
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

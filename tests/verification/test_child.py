"""A check that ends its process fails and is named, and the other checks run."""

from __future__ import annotations

import errno
import faulthandler
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import TensorType
from aotensor.errors import ToolError
from aotensor.graph.op import Op
from aotensor.verification import child
from aotensor.verification.child import Job, ending, run_checks
from aotensor.verification.derivatives.verdict import Finding, Gradient, Judgement, Verdict
from aotensor.verification.report import CheckSkipped, Report
from aotensor.verification.verify import verify_function
from aotensor_runtime.systems.scratch import writes_to

needs_fork = pytest.mark.skipif(not child.HAS_CHILDREN, reason="checks run in this process here")


@dataclass(frozen=True)
class Deadly(Op):
    """x, whose reference kills the process that asks for none of it."""

    name = "deadly"

    def infer_type(self, x: TensorType) -> TensorType:
        return x

    def reference(self, x: Any) -> Any:
        if x.size == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return x.copy()

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        return x


def end(how: Callable[[], object]) -> Callable[[], str]:
    def check() -> str:
        how()
        return "not reached"

    return check


def abort() -> None:
    """Abort without the traceback that pytest's faulthandler would print among the dots of a run."""
    faulthandler.disable()
    os.abort()


@needs_fork
def test_a_crash_of_a_check_is_a_finding() -> None:
    x = at.vector("x")
    begun: list[str] = []
    report = verify_function(aot.function([x], Deadly()(x), name="f"), 3, 0, gradients=False, begin=begun.append)
    found = {check.name: (check.verdict, check.detail) for check in report.checks}
    dead = ("failed", "its process ended with signal 9 (SIGKILL)")
    for name in ("tensor against reference", "tensor-opt against reference", "compiled against reference", "threads"):
        assert found[name] == dead
    for name in ("IR at every stage", "IR as text", "header compiles", "symbols", "same bytes again"):
        assert found[name][0] in ("ok", "skipped"), found[name]
    assert list(found) == begun
    assert not report


@needs_fork
def test_every_way_to_end_a_process() -> None:
    def skip() -> str:
        raise CheckSkipped("not here")

    report = Report("f")
    gradient = Gradient("y", "x", Verdict.RIGHT, "linear", ())
    run_checks(
        report,
        [
            Job("first", lambda: "fine"),
            Job("abort", end(abort)),
            Job("exit", end(lambda: os._exit(3))),
            Job("system exit", end(lambda: (_ for _ in ()).throw(SystemExit(4)))),
            Job("error", end(lambda: {}["key"])),
            Job("skipped", skip),
            Job("verdicts", lambda: [gradient]),
            Job("last", lambda: "fine"),
        ],
        lambda name: None,
    )
    assert [(x.name, x.verdict, x.detail) for x in report.checks] == [
        ("first", "ok", "fine"),
        ("abort", "failed", "its process ended with signal 6 (SIGABRT)"),
        ("exit", "failed", "its process ended with exit code 3"),
        ("system exit", "failed", "its process ended with exit code 4"),
        ("error", "failed", "KeyError: 'key'"),
        ("skipped", "skipped", "not here"),
        ("last", "ok", "fine"),
    ]
    assert report.gradients == [gradient]


@pytest.mark.parametrize("has_children", [True, False])
def test_a_check_without_room_for_its_files_is_an_error(
    has_children: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A full disk tells nothing about the function, so it is not a failed check."""
    if has_children and not child.HAS_CHILDREN:
        pytest.skip("checks run in this process here")

    def full() -> str:
        with writes_to(tmp_path):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(child, "HAS_CHILDREN", has_children)
    jobs = [Job("first", lambda: "fine"), Job("full", full), Job("last", lambda: "fine")]
    with pytest.raises(ToolError, match=rf"the temporary folder {tmp_path} cannot be written \(no space left") as found:
        run_checks(Report("f"), jobs, lambda name: None)
    assert found.value.diagnostic.hint == "free some space there, or set TMPDIR to another folder"


@pytest.mark.parametrize("has_children", [True, False])
def test_nothing_runs_behind_a_check_that_is_needed(has_children: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if has_children and not child.HAS_CHILDREN:
        pytest.skip("checks run in this process here")
    monkeypatch.setattr(child, "HAS_CHILDREN", has_children)
    report = Report("f")
    jobs = [Job("needed", end(lambda: {}["key"]), is_needed=True), Job("other", lambda: "fine")]
    run_checks(report, jobs, lambda name: None)
    assert [x.name for x in report.checks] == ["needed"]
    report = Report("f")
    run_checks(report, [Job("needed", lambda: "fine", is_needed=True), *jobs[1:]], lambda name: None)
    assert [x.verdict for x in report.checks] == ["ok", "ok"]


def test_endings() -> None:
    assert (ending(2), ending(-11), ending(-200)) == ("exit code 2", "signal 11 (SIGSEGV)", "signal 200")


def test_one_row_for_several_inputs_shows_the_worst_figures() -> None:
    def gradient(name: str, *errors: float) -> Gradient:
        found = [
            Finding("y", name, "duality", "reference", Judgement.right(errors[0], 1.0)),
            Finding("y", name, "Taylor order", "reference", Judgement(Verdict.RIGHT, "linear")),
            *(Finding("y", name, "differences", "reference", Judgement.right(error, 1.0)) for error in errors[1:]),
        ]
        return Gradient("y", name, Verdict.RIGHT, "its own", tuple(found))

    report = Report("f")
    report.gradients = [gradient("a", 0, 1e-16), gradient("b", 3e-12, 1e-14, 2e-11), gradient("c", 1e-16, 0.0)]
    assert report.gradient_rows() == [("y by a, b, c", "right", "duality 3e-12, linear, differences 2e-11")]

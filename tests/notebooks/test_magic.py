"""`%load_ext aotensor` and `%%aotensor` in IPython's own shell."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import pytest

from aotensor import Function
from aotensor.api.cost.limits import Limits
from aotensor.api.magic import checked_cell
from aotensor.api.remarks import Remarks
from aotensor.errors import GraphValueError
from aotensor.verification.report import Report

needs_timers = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None, reason="timers of Linux, and a C compiler"
)

CELL = """
import aotensor as aot, aotensor.tensor as at
x = at.vector("x", shape=("n",))
total = at.exp(x).sum()
f = aot.function([x], {"y": total, "slope": aot.grad(total, x)}, name="f")
same = f
"""


@pytest.fixture
def shell() -> Any:
    testing = pytest.importorskip("IPython.core.interactiveshell", reason="no IPython: pip install ipython")
    return testing.InteractiveShell()


def test_functions_of_a_cell_are_verified_and_shown(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_line_magic("load_ext", "aotensor")
    shell.run_cell_magic("aotensor", "--samples 1", CELL)
    printed = capsys.readouterr().out
    assert "gradient" in printed and "x: float64[n]" in printed, printed
    f, report = checked_cell(shell, "--samples 1", CELL)
    assert isinstance(f, Function) and isinstance(report, Report) and report
    f, remarks = checked_cell(shell, "--no-verify --remarks", CELL)
    assert isinstance(remarks, Remarks) and len(remarks) > 0


@needs_timers
def test_time_by_line_of_a_cell(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(bandwidth=1e11, flops=1e11, products=1e11, gathers=1e9)
    monkeypatch.setattr("aotensor.api.profiling.report.measured_limits", lambda counts, seconds: {1: limits})
    f, times = checked_cell(shell, "--no-verify --profile --seconds 0.1 --sizes n=20000", CELL)
    assert f.name == times.profile.function and times.profile.dims == {"n": 20000}
    assert any(row.of_limit is not None for row in times.rows)


def test_what_cannot_be_done_is_said(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GraphValueError, match="the cell does not define a Function"):
        checked_cell(shell, "", "y = 1")
    with pytest.raises(GraphValueError, match="unrecognized arguments: --fast"):
        checked_cell(shell, "--fast", "y = 1")
    with pytest.raises(GraphValueError, match="no function has a dim m"):
        checked_cell(shell, "--profile --sizes m=3", CELL)
    with pytest.raises(GraphValueError, match="--sizes: invalid"):
        checked_cell(shell, "--profile --sizes n", CELL)
    assert checked_cell(shell, "", "1 / 0") == []
    assert "ZeroDivisionError" in capsys.readouterr().out

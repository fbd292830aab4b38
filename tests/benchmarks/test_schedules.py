"""The proof behind schedules by hand reaches the nests of real programs: each is a schedule of itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import CASES, SPARSE_CASES

import aotensor as aot
from aotensor.driver.hand import HandSchedule
from aotensor.driver.recipe import Options, lower, stage_text
from aotensor.errors import ScheduleError
from aotensor.graph.passes.pipeline import pipeline_of
from aotensor.passes.schedule import accept as acceptance

ALL = CASES | SPARSE_CASES
NAMES = ("logistic", "mixture", "lstm", "process", "sddmm-gradient", "sparse-logistic", "bundle-adjustment")


@pytest.mark.parametrize("name", NAMES)
def test_the_own_nest_is_a_schedule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the whole proof is made, which the same text does without."""
    f = ALL[name].make(0.01).aotensor(aot)
    text = f.schedule.text()
    monkeypatch.setattr(acceptance, "rows_of", lambda function: object())
    assert lower([f], Options(schedule=HandSchedule(text)), texts=()).schedule is not None


def test_stencils_have_schedules_without_tiles_of_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proof reads values that hold their last rows only."""
    monkeypatch.setattr(acceptance, "rows_of", lambda function: object())
    f = ALL["stencil"].make(0.01).aotensor(aot)
    with pytest.raises(ScheduleError, match="--disable-pass overlapped-tiling"):
        lower([f], Options(schedule=HandSchedule(f.ir("nest"))), texts=())
    plain = Options(pipeline=pipeline_of(None, ["overlapped-tiling"]))
    text = stage_text([f], "nest", plain)
    assert lower([f], replace(plain, schedule=HandSchedule(text)), texts=()).schedule is not None

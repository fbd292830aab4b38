"""The proof behind schedules by hand reaches the nests of real programs: each is a schedule of itself."""

from __future__ import annotations

import pytest
from cases import CASES, SPARSE_CASES

import aotensor as aot
from aotensor.driver.hand import HandSchedule
from aotensor.driver.recipe import Options, lower
from aotensor.passes.schedule import accept as acceptance

ALL = CASES | SPARSE_CASES
NAMES = ("logistic", "mixture", "lstm", "process", "stencil", "sddmm-gradient", "sparse-logistic", "bundle-adjustment")


@pytest.mark.parametrize("name", NAMES)
def test_the_own_nest_is_a_schedule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the whole proof is made, which the same text does without."""
    f = ALL[name].make(0.01).aotensor(aot)
    text = f.schedule.text()
    monkeypatch.setattr(acceptance, "rows_of", lambda function: object())
    assert lower([f], Options(schedule=HandSchedule(text)), texts=()).schedule is not None

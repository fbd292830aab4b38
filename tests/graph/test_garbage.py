"""Garbage is collected less often while modules load and functions are lowered, and as before afterwards."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from aotensor.core.garbage import rare_collections


def test_thresholds_come_back() -> None:
    before = gc.get_threshold()
    inside = []

    @rare_collections
    def work(depth: int) -> int:
        inside.append(gc.get_threshold()[0])
        if depth:
            work(depth - 1)
        return 1 // (depth - 2)

    assert work(1) == -1
    assert min(inside) >= 50_000 and gc.get_threshold() == before
    with pytest.raises(ZeroDivisionError):
        work(2)
    assert gc.get_threshold() == before


def test_a_collector_that_is_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        assert rare_collections(lambda: gc.get_threshold()[0])() == 0
        assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_few_collections_while_aotensor_loads() -> None:
    """12 of the middle generation, and a scan of everything, with the usual thresholds."""
    program = "import gc; before = gc.get_threshold(); import aotensor; assert gc.get_threshold() == before; "
    program += "print(*(x['collections'] for x in gc.get_stats()[1:]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    middle, old = map(int, done.stdout.split())
    assert middle <= 6 and old == 0  # some while NumPy loads

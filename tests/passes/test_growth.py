"""What passes do grows with the accesses of a nest, and not with the product of statements and values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import pytest
from xdsl.ir import SSAValue

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.recipe import Options, lower, stage_text
from aotensor.ir.build import LONGEST_FORMULA, Program, build
from aotensor.ir.nest.ops import DoOp
from aotensor.passes.windows.inline_slices import _Windows


def _kept(count: int) -> aot.Function:
    """So many values that a gradient reads again, once a mean is known."""
    x = y = at.dvector("x")
    for _ in range(count):
        y = y * y + x
    cost = (y * y.mean()).sum()
    return aot.function([x], [cost, aot.grad(cost, x)], name="f")


def test_a_statement_is_not_rewritten_for_each_value_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    change = DoOp.set_accesses

    def counted(self: DoOp, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        counts[-1] += len(inputs) + len(outputs)
        change(self, inputs, outputs)

    monkeypatch.setattr(DoOp, "set_accesses", counted)
    for size in (10, 40):
        counts.append(0)
        text = lower([_kept(size)], Options(), texts=("nest",)).texts["nest"]
        assert text.count("nest.value[") >= size
    assert counts[1] < 5 * counts[0]


def test_sizes_of_windows_of_windows_are_estimated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each window is clipped by the one before, whose extent it names twice: there are 2 to the power of 40 paths."""
    counts: list[int] = []
    compute = _Windows._compute

    def counted(self: _Windows, n: SSAValue) -> int:
        counts[-1] += 1
        return compute(self, n)

    monkeypatch.setattr(_Windows, "_compute", counted)
    for size in (10, 40):
        x = y = at.dvector("x")
        for _ in range(size):
            y = y[1:] * 0.5 + y[:-1]
        counts.append(0)
        stage_text([aot.function([x], aot.grad((y * y).sum(), x), name="f")], "tensor-opt", Options())
    assert 0 < counts[1] < 5 * counts[0]


def test_formulas_of_extents_of_windows_stay_short() -> None:
    """Each extent stands twice in that of the next window: written out, the last one had 2 to the power of 60 parts."""
    x, other = at.vector("x", dtype="float64", shape=("n",)), at.vector("other", dtype="float64", shape=("k",))
    y, short = x, x[1:]
    for _ in range(60):
        y = y[1:] - y[:-1]
    _, (built,) = build([Program("f", (("x", x), ("other", other)), (("short", short), ("y", y)))])
    shown = [extent for (extent,) in built.output_extents]
    assert shown[1] == "f(n)"
    assert isinstance(shown[0], str) and len(shown[0]) <= LONGEST_FORMULA and "n" in shown[0] and "f(" not in shown[0]


def _vectors(count: int) -> aot.Function:
    """The gradients of a sum over so many vectors: a parallel loop for each eight of them."""
    x = [at.vector(f"x{k}", dtype="float64", shape=("n",)) for k in range(count)]
    cost = reduce(add, ((at.sin(v) ** 2).sum() for v in x))
    return aot.function(x, [cost, *aot.grad(cost, x)], name="f")


def test_equal_loops_share_the_computation_of_their_chunks() -> None:
    """In the kernel and in the formula of its workspace, whose slots then have equal sizes and are shared, too."""
    text = lower([_vectors(24)], Options(), texts=("loops",)).texts["loops"]
    assert text.count("scf.parallel") == 3
    assert text.count("{chunk_size}") == text.count("{chunks}") == 3  # in kernel, extents and workspace_bytes
    slots = {line.partition("{scope = ")[2] for line in text.splitlines() if "memref.view %workspace" in line}
    assert len(slots) == 8


def test_one_loop_adds_the_partial_sums_of_several_numbers() -> None:
    """Besides each loop over chunks and the loop over a chunk."""
    text = lower([_vectors(16)], Options(), texts=("nest",)).texts["nest"]
    assert 3 * text.count(" cores {") == text.count("nest.for") > 0
    assert text.count("nest.value[%1] : tensor<?xf64>") == 16

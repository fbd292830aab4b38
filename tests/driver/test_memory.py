"""Bounds of memory: what is compiled keeps to them, computes the same bits, and refuses what cannot be met."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.memory import Memory, bytes_of
from aotensor.driver.recipe import Options
from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError


def waves(steps: int | str) -> aot.Function:
    x, rate = at.vector("x", shape=(steps,)), at.vector("rate", shape=(4,))
    states, _ = aot.scan(lambda x, old: rate * at.sin(old) + x, x, at.ones(4))
    loss = states[-1].sum()
    return aot.function([x, rate], {"loss": loss, "by_rate": aot.grad(loss, rate)}, name="waves")


def test_a_bound_is_kept_with_the_same_bits(tmp_path: Path) -> None:
    f, rng = waves("T"), np.random.default_rng(0)
    usual = aot.compile(f, tmp_path / "usual", fp="strict").load().waves
    small = aot.compile(f, tmp_path / "small", fp="strict", memory="16K", sizes={"T": 2000}).load().waves
    assert small.workspace_bytes(T=2000) < 16384 < usual.workspace_bytes(T=2000)
    for steps in (2000, 2001, 3):
        values = rng.uniform(size=steps), rng.uniform(size=4)
        found, wanted = small(*values), usual(*values)
        assert found["loss"] == wanted["loss"]
        np.testing.assert_array_equal(found["by_rate"], wanted["by_rate"])
    x, rate, step = rng.uniform(size=50), rng.uniform(size=4), 1e-6
    moved = [[small(x, rate + sign * step * row)["loss"] for sign in (1, -1)] for row in np.eye(4)]
    differences = [(high - low) / (2 * step) for high, low in moved]
    np.testing.assert_allclose(small(x, rate)["by_rate"], differences, rtol=1e-7)  # truncation and rounding of the loss


@pytest.mark.level("ci", "tests/ops/test_checkpoint_loops.py evaluates second derivatives uncompiled")
def test_second_derivatives_have_the_same_bits(tmp_path: Path) -> None:
    rng, start, rate = np.random.default_rng(1), at.vector("start", shape=(3,)), at.vector("rate", shape=(3,))
    states, _ = aot.scan(lambda old: at.sin(old) * rate, None, start, n_steps=400)
    (by_rate,) = aot.grad(at.sqr(states[-1]).sum(), [rate])
    f = aot.function([start, rate], [by_rate, *aot.grad(by_rate.sum(), [start, rate])], name="f")
    usual = aot.compile(f, tmp_path / "usual", fp="strict").load().f
    small = aot.compile(f, tmp_path / "small", fp="strict", memory="32K").load().f
    assert small.workspace_bytes() < 32768 < usual.workspace_bytes()
    values = rng.normal(size=3), rng.uniform(0.9, 1.5, size=3)
    for found, wanted in zip(small(*values), usual(*values), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_the_workspace_of_each_level_is_that_of_the_library(tmp_path: Path) -> None:
    f = waves(300)
    first, second, *_ = Memory(f, Options(), {}).footprints()
    assert second.workspace < first.workspace
    assert [segments.steps for segments in second.segments] == ["12"]
    library = aot.compile(f, tmp_path, memory=second.bytes).load()
    assert library.waves.workspace_bytes() == second.workspace


def test_a_bound_that_cannot_be_met_says_the_least() -> None:
    with pytest.raises(GraphValueError, match=r"waves needs at least \d+ bytes of workspace and stack.*bound is 64"):
        aot.compile(waves(300), "unused", memory=64)


def test_without_the_pass_the_bound_cannot_be_met() -> None:
    with pytest.raises(GraphValueError, match=r"at least .* no loop to checkpoint"):
        aot.compile(waves(2000), "unused", memory="16K", disable_passes=["checkpoint-loops"])


def test_what_has_no_bound() -> None:
    with pytest.raises(GraphValueError, match="waves: its memory depends on T"):
        aot.compile(waves("T"), "unused", memory="1M")
    with pytest.raises(GraphValueError, match="no dim U"):
        aot.compile(waves("T"), "unused", memory="1M", sizes={"U": 3})
    with pytest.raises(GraphValueError, match="sizes= needs memory="):
        aot.compile(waves("T"), "unused", sizes={"T": 3})
    x = at.vector("x", shape=(9,))
    with pytest.raises(UnsupportedError, match="needs memory whose size depends on values"):
        aot.compile(aot.function([x], at.exp(x[x > 0])), "unused", memory="1M")


def test_a_bound_of_solve_ivp_is_kept_with_the_same_bits(tmp_path: Path) -> None:
    """The second level of checkpoints is listed, and is that of the library; the closed form is y = 2·exp(−k)."""
    k = at.scalar("k")
    y = at.integrate.solve_ivp(
        lambda t, y: -k * y, (0.0, 1.0), [2.0], t_eval=[1.0], rtol=1e-9, atol=1e-9, max_steps=800
    )
    f = aot.function([k], {"y": y.y, "by_k": aot.grad(y.y[0, 0], k)}, name="decay")
    first, second, *_ = Memory(f, Options(fp="strict"), {}).footprints()
    (segments,) = second.segments
    assert not first.segments and segments.file == "test_memory.py" and 10 <= int(segments.steps) <= 100
    usual = aot.compile(f, tmp_path / "usual", fp="strict").load().decay
    small = aot.compile(f, tmp_path / "small", fp="strict", memory=second.bytes).load().decay
    assert small.workspace_bytes() == second.workspace < usual.workspace_bytes() / 2 == first.workspace / 2
    found, wanted = small(0.7), usual(0.7)
    assert (found["y"].item(), found["by_k"]) == (wanted["y"].item(), wanted["by_k"])
    np.testing.assert_allclose(found["by_k"], -2 * np.exp(-0.7), rtol=1e-7)


def test_a_bound_of_a_loop_that_stops_is_kept_with_the_same_bits(tmp_path: Path) -> None:
    start, rate = at.vector("start", shape=(3,)), at.vector("rate", shape=(3,))

    def grow(old: Any) -> Any:
        new = old + at.sin(old) * rate / 800 + 0.001
        return new, aot.until(new.sum() > 12)

    states = aot.scan(grow, None, start, n_steps=8000, return_updates=False)
    loss = at.sqr(states[-1]).sum()
    f = aot.function([start, rate], {"loss": loss, "by_rate": aot.grad(loss, rate)}, name="grow")
    usual = aot.compile(f, tmp_path / "usual", fp="strict").load().grow
    small = aot.compile(f, tmp_path / "small", fp="strict", memory="16K").load().grow
    assert small.workspace_bytes() < 16384 < usual.workspace_bytes()
    values = np.array([0.3, 0.2, 0.1]), np.array([1.0, 0.5, 0.7])
    found, wanted = small(*values), usual(*values)
    assert found["loss"] == wanted["loss"]
    np.testing.assert_array_equal(found["by_rate"], wanted["by_rate"])


def test_a_loop_has_no_bound_if_its_steps_depend_on_values() -> None:
    x, k = at.vector("x", shape=(3,)), at.lscalar("k")
    counted = aot.scan(at.sin, [], [x], n_steps=k, return_updates=False)[-1].sum()
    stopped = aot.scan(lambda x: (at.sin(x), aot.until(x.sum() < 1)), [], [x], n_steps=9, return_updates=False)
    loops = {
        r"scan\(k, x\)` at test_memory.py": aot.function([x, k], aot.grad(counted, x)),
        r"scan\(9, x\)": aot.function([x], stopped.sum(axis=0)),
    }
    for place, f in loops.items():
        with pytest.raises(UnsupportedError, match=f"{place}.* the number of steps depends on values") as caught:
            aot.compile(f, "unused", memory="1M")
        assert "a constant or an extent, instead of an argument, or until with all rows" in str(caught.value)


def test_bytes() -> None:
    assert [bytes_of(x) for x in (5, "64", "64K", "64M", "2 GiB")] == [5, 64, 65536, 1 << 26, 1 << 31]
    for wrong in ("", "64X", "-1", 0, "0"):
        with pytest.raises(GraphValueError, match="memory must be a number of bytes"):
            bytes_of(wrong)
    with pytest.raises(GraphTypeError, match="memory must be a number of bytes"):
        bytes_of(1.5)

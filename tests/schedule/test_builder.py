"""`f.schedule` writes the text that one would write by hand; what it writes is checked as any other text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hand import arguments, check_results, logistic

import aotensor as aot
import aotensor.tensor as at
from aotensor.api.schedule import Schedule
from aotensor.errors import GraphTypeError, GraphValueError, ScheduleError
from aotensor_runtime.container import Container


def test_the_loops_are_listed() -> None:
    lines = str(logistic().schedule).splitlines()
    assert "  n.blocks" in lines
    assert any(line.split() == ["n", "jam", "8"] for line in lines)
    assert any(line.split() == ["p.1", "parallel"] for line in lines)


def test_an_edit_leaves_the_schedule_as_it_was() -> None:
    own = logistic().schedule
    other = own.jam("n", 16)
    assert own.text() != other.text()
    assert own.text() == logistic().schedule.text()
    assert repr(other) == "<logistic.schedule.jam('n', 16)>"


GOOD = {
    "tile": lambda s: s.tile("n", 8),
    "tile twice": lambda s: s.tile("n", 32).block("n.tiles", 16),
    "tile an inner loop": lambda s: s.jam("n", 1).tile("p.1", 16),
    "block": lambda s: s.block("n.blocks", 128).block("n.chunks", 1024),
    "fuse": lambda s: s.fuse("n", "n.1"),
    "fuse all": lambda s: s.fuse("n", "n.1").fuse("n", "n.2"),
    "jam": lambda s: s.jam("n", 16).jam("n.2", 2),
    "vectorize": lambda s: s.vectorize("p.1", 16).vectorize("p.2", 8),
    "everything": lambda s: s.block("n.blocks", 64).jam("n", 2).vectorize("p.1", 32).jam("n.2", 8),
}


@pytest.mark.parametrize("edit", GOOD.values(), ids=GOOD)
def test_schedules_that_compute_the_same(edit, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    schedule = edit(logistic().schedule)
    assert isinstance(schedule, Schedule)
    schedule.check()
    check_results(logistic(), tmp_path, schedule.text())


BAD = {
    "another block": (lambda s: s.block("n.chunks", 100), "each iteration of a block|divide|proved"),
    "a block beyond its buffer": (lambda s: s.block("n.blocks", 4096), "in its buffer"),
    "too many lanes": (lambda s: s.vectorize("p.1", 1024), "lanes 1024: a vector of the machine has"),
    "lanes of a loop of loops": (lambda s: s.jam("n.2", 1).vectorize("n.2", 8), "lanes 8: its statements"),
    "jam over tiles": (lambda s: s.tile("p.1", 16), "the loops inside have different lengths"),
    "jam blocks": (lambda s: s.jam("n.blocks", 2), "jam 2: "),
}


@pytest.mark.parametrize(("edit", "reason"), BAD.values(), ids=BAD)
def test_schedules_that_do_not(edit, reason: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ScheduleError, match=reason):
        edit(logistic().schedule).check()


def test_edits_that_do_not_fit() -> None:
    own = logistic().schedule
    for edit, what in (
        (own.jam("q", 2), r"there is no loop 'q'; the loops are p\.chunks, p, n\.chunks"),
        (own.tile("n.blocks", 2), r"already has blocks: use block\('n.blocks', 2\)"),
        (own.block("n", 2), r"has no blocks: use tile\('n', 2\)"),
        (own.tile("n", 8).tile("n", 2), "already tiled"),
        (own.interchange("n", "p.1"), "n contains more than p.1"),
        (own.fuse("n", "n.2"), "there are other statements between"),
        (own.fuse("n", "p"), "does not follow n in the same loop"),
        (own.fuse("n.2", "n"), "does not follow n.2"),
    ):
        with pytest.raises(ScheduleError, match=what):
            edit.text()
    with pytest.raises(ScheduleError, match="tile: size must be a number of iterations, at least 1, not 0"):
        own.tile("n", 0)
    with pytest.raises(GraphTypeError, match="jam: by must be an int"):
        own.jam("n", 2.0)  # type: ignore[arg-type]
    with pytest.raises(GraphTypeError, match="the name of a loop must be a str"):
        own.jam(None, 2)  # type: ignore[arg-type]
    with pytest.raises(GraphTypeError, match="schedule must be a path or a Schedule"):
        aot.compile(logistic(), "nowhere", schedule=3)  # type: ignore[arg-type]
    with pytest.raises(ScheduleError, match="schedule must be the path of a file"):
        aot.compile(logistic(), "nowhere", schedule=own.text())


def test_loops_of_an_elementwise_function_change_places(tmp_path: Path) -> None:
    x = at.matrix("X", shape=("n", "p"))
    f = aot.function([x], at.exp(x.T) + x.sum(axis=0)[:, None], name="columns")
    names = [line.split()[0] for line in str(f.schedule).splitlines()]
    found = 0
    for outer in names:
        for inner in names:
            try:
                text = f.schedule.interchange(outer, inner).text()
                f.with_schedule(f.schedule.interchange(outer, inner))
            except ScheduleError:
                continue
            (tmp_path / "x.nest.mlir").write_text(text)
            value = np.random.default_rng(0).normal(size=(40, 7))
            try:
                got = f.with_schedule(tmp_path / "x.nest.mlir")(value)
            except ScheduleError:
                continue
            np.testing.assert_allclose(got, f.reference(value), rtol=1e-12)
            found += 1
    assert found > 0


def test_calls_go_by_a_schedule_and_the_cache_tells_it_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", str(tmp_path))
    f = logistic()
    g = f.with_schedule(f.schedule.jam("n", 8))
    values = arguments(200, 9)
    for h in (g, f.with_schedule(f.schedule.jam("n", 2)), f.with_schedule(f.schedule.jam("n", 8))):
        np.testing.assert_allclose(h(**values)["loss"], f.reference(**values)["loss"], rtol=1e-13)
    assert len(list(tmp_path.glob("functions/*.so"))) == 2


def test_the_manifest_names_the_schedule_and_the_bytes_are_the_same(tmp_path: Path) -> None:
    schedule = logistic().schedule.jam("n", 8)
    one, two, own = (
        aot.compile(logistic(), tmp_path / name, schedule=given).library.read_bytes()
        for name, given in (("one", schedule), ("two", schedule), ("own", None))
    )
    assert one == two
    assert one != own
    manifest = json.loads(Container(one).manifest().to_json())
    assert manifest["schedule"].startswith("logistic.nest.mlir sha256:")
    assert "schedule" not in json.loads(Container(own).manifest().to_json())


def test_a_schedule_is_of_one_library() -> None:
    x = at.vector("x", shape=("n",))
    f, g = aot.function([x], x.sum(), name="f"), aot.function([x], x.max(), name="g")
    with pytest.raises(GraphValueError, match="f has a schedule of its own"):
        aot.compile([f.with_schedule(f.schedule), g], "nowhere")
    with pytest.raises(ScheduleError, match="a schedule of f, not of f, g"):
        aot.compile([f, g], "nowhere", schedule=f.schedule)


def softmax_rows() -> aot.Function:
    x, w = at.matrix("X", shape=("n", "p")), at.vector("w", shape=("p",))
    y = at.exp(x * w) / at.exp(x * w).sum(axis=1)[:, None]
    return aot.function([x, w], [y, aot.grad((y * y).sum(), w)], name="softmax")


def edits_at_random(own: Schedule, random: Random) -> Schedule:
    """Some edits that fit; what they lead to may be refused."""
    schedule = own
    for _ in range(3):
        names = [line.split()[0] for line in str(schedule).splitlines()]
        one, two = random.choice(names), random.choice(names)
        other = random.choice([
            schedule.tile(one, random.choice([2, 7, 64])), schedule.block(one, random.choice([16, 64, 256])),
            schedule.jam(one, random.choice([1, 2, 3, 8])), schedule.vectorize(one, random.choice([1, 8, 32])),
            schedule.fuse(one, two), schedule.interchange(one, two),
        ])  # fmt: skip
        try:
            other.text()
        except ScheduleError:
            continue
        schedule = other
    return schedule


@pytest.mark.parametrize("make", [logistic, softmax_rows])
def test_edits_at_random_compute_the_same_or_are_refused(make: Callable[[], aot.Function]) -> None:
    f = make()
    values = {key: x for key, x in arguments(300, 13).items() if key in f.arguments}
    wanted = f.reference(**values)
    taken = set()
    for seed in range(60):
        schedule = edits_at_random(f.schedule, Random(seed))
        try:
            schedule.check()
        except ScheduleError:
            continue
        if schedule.text() in taken:
            continue
        taken.add(schedule.text())
        found = f.with_schedule(schedule)(**values)
        for x, y in zip(*(r.values() if isinstance(r, dict) else r for r in (found, wanted)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12, err_msg=repr(schedule))
        if len(taken) == 2:
            return
    pytest.fail("too few schedules were accepted")


def test_long_programs_are_compared_without_deep_recursion() -> None:
    x = at.vector("x", shape=("n",))
    y: at.TensorVariable = x
    for _ in range(500):
        y = at.sin(y) + x
    f = aot.function([x], y, name="f")
    f.schedule.block("n.chunks", 128).check()


def test_remarks_say_that_they_are_about_the_nest_before() -> None:
    f = logistic().with_schedule(logistic().schedule.jam("n", 8))
    note = "compiled with the schedule logistic.nest.mlir; remarks about its loops describe the nest before it"
    assert str(f.remarks().about("unroll-and-jam")).startswith(f"note: {note}\n")
    assert note in f.remarks()._repr_html_()
    assert not logistic().remarks().note

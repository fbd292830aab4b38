"""`compile --memory` and `inspect --memory`: the bound, the table, and what has neither."""

import json
import re
from pathlib import Path

import pytest
from command_line import Call

MODEL = """
import aotensor as aot
import aotensor.tensor as at

x, rate = at.vector("x", shape=(STEPS,)), at.vector("rate", shape=(4,))
states, _ = aot.scan(lambda x, old: rate * at.sin(old) + x, x, at.ones(4))
loss = states[-1].sum()
waves = aot.function([x, rate], [loss, aot.grad(loss, rate)], name="waves")
plain = aot.function([x], x.sum(), name="plain")
"""


@pytest.fixture
def loops(tmp_path: Path) -> Path:
    path = tmp_path / "waves.py"
    path.write_text(MODEL.replace("STEPS", "400"))
    return path


@pytest.mark.level("ci", "tests/driver/test_memory.py compares the levels, without the code that the stack needs")
def test_the_table_has_fewer_bytes_for_more_work(call: Call, loops: Path) -> None:
    answer = call("inspect", loops, "--memory", "--function", "waves", "--json")
    (waves,) = json.loads(answer.out)["functions"]
    assert (waves["sizes"], waves["has_loops"]) == ({}, True)
    workspaces = [row["workspace"] for row in waves["rows"]]
    assert workspaces == sorted(workspaces, reverse=True) and len(workspaces) > 1
    first, second = waves["rows"][:2]
    assert first["work"] == 1 and 1.1 < second["work"] < 2
    assert [(loop["file"], loop["line"]) for loop in second["loops"]] == [("waves.py", 6)]
    assert first["bytes"] == first["workspace"] + first["stack"]


def test_the_text_says_where_there_is_nothing_to_checkpoint(call: Call, loops: Path) -> None:
    out = call("inspect", loops, "--memory", "--function", "plain").out
    assert "plain: " in out and "there is nothing to checkpoint" in out


def test_a_bound_that_cannot_be_met(call: Call, loops: Path, tmp_path: Path) -> None:
    answer = call("compile", f"{loops}:plain", "-o", tmp_path, "--memory", "1K")
    assert (answer.code, [*tmp_path.glob("*.so")]) == (3, [])
    assert re.search(r"error: plain needs at least \d+ bytes of workspace and stack", answer.err)
    assert call("compile", f"{loops}:plain", "-o", tmp_path, "--memory", "64K").code == 0


def test_what_does_not_go_together(call: Call, loops: Path, library: Path) -> None:
    assert "--memory is for models" in call("inspect", library, "--memory").err
    assert "leave out --remarks" in call("inspect", loops, "--memory", "--remarks").err
    assert "add --memory 64M" in call("compile", loops, "--sizes", "T=3").err
    loops.write_text(MODEL.replace("STEPS", '"T"'))
    answer = call("inspect", loops, "--memory")
    assert answer.code == 2 and "its memory depends on T" in answer.err

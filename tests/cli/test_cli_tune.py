"""`aotensor tune`: what it writes compiles to the same values, a search goes on, and wrong use is one error."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Call

from aotensor_runtime import load

MODEL = """
import aotensor as aot
import aotensor.tensor as at

X = at.matrix("X", dtype="float64", shape=("n", "p"))
w = at.vector("w", dtype="float64", shape=("p",))
loss = at.softplus(X @ w).mean()
rows = aot.function([X, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="rows")
"""
TWO = MODEL + 'sums = aot.function([X], {"sums": at.exp(X).sum(axis=1)}, name="sums")\n'
SIZES = ("--sizes", "n=200,p=30", "--threads", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "two.py").write_text(TWO)
    return tmp_path


def test_a_schedule_is_found_compiled_and_recorded(folder: Path, spawn: Call) -> None:
    out = folder / "rows.nest.mlir"
    answer = spawn("tune", folder / "model.py", *SIZES, "--time", "4", "-o", out, "--json")
    assert answer.code == 0, answer.err
    (found,) = json.loads(answer.out)["functions"]
    assert found["function"] == "rows" and found["trials"] > 0 and 0 < found["ratio"] <= 1
    assert [row["sizes"] for row in found["rows"]] == [{"n": 200, "p": 30}]
    for build in ("one", "two"):
        done = spawn("compile", folder / "model.py", "--schedule", out, "-o", folder / build)
        assert done.code == 0, done.err
    one, two = (folder / build / "librows.so" for build in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert load(one).manifest.schedule.startswith("rows.nest.mlir sha256:")
    X, w = np.random.default_rng(0).normal(size=(7, 3)), np.ones(3)
    found_values = load(one)["rows"](X, w)
    np.testing.assert_allclose(found_values["loss"], np.logaddexp(0, X @ w).mean(), rtol=1e-12)
    np.testing.assert_allclose(found_values["grad_w"], X.T @ (1 / (1 + np.exp(-X @ w))) / 7, rtol=1e-12)
    report = (folder / "rows.nest.md").read_text()
    assert "# Tuning of rows" in report and "n=200, p=30" in report and "n.chunks" in report
    assert f"{found['trials']} trials" in report


def test_a_search_goes_on_where_it_was(folder: Path, call: Call) -> None:
    out = folder / "s.mlir"
    journal = folder / "s.jsonl"
    assert call("tune", folder / "model.py", *SIZES, "--time", "2", "-o", out).code == 0
    lines = journal.read_text().splitlines()
    with journal.open("a") as stream:
        stream.write(
            '{"passes": "',
        )  # cut off
    again = call("tune", folder / "model.py", *SIZES, "--time", "1", "-o", out)
    assert again.code == 0 and f"going on after {len(lines) - 1} trials" in again.err
    after = journal.read_text().splitlines()
    assert after[: len(lines)] == lines and len(after) > len(lines)
    trials = [(x["passes"], json.dumps(x["edits"])) for x in map(json.loads, after[1:])]
    assert len(set(trials)) == len(trials)
    smaller = ("tune", folder / "model.py", "--sizes", "n=100,p=30", "--threads", "1", "--time", "1", "-o", out)
    other = call(*smaller)
    assert other.code == 0 and "these differ: settings" in other.err
    assert json.loads(journal.read_text().splitlines()[0])["tuning"]["settings"][0]["sizes"] == {"n": 100, "p": 30}
    new = call(
        "tune", folder / "model.py", "--sizes", "n=100,p=30", "--threads", "1", "--time", "1", "-o", out, "--restart"
    )
    assert new.code == 0 and "going on" not in new.err


def test_several_functions_have_one_schedule(folder: Path, call: Call) -> None:
    out = folder / "both.mlir"
    answer = call("tune", folder / "two.py", *SIZES, "--time", "4", "-o", out)
    assert answer.code == 0, answer.err
    assert {path.name for path in folder.glob("both*")} == {
        "both.mlir",
        "both.md",
        "both.rows.jsonl",
        "both.sums.jsonl",
    }
    done = call("compile", folder / "two.py", "--schedule", out, "--name", "both", "-o", folder)
    assert done.code == 0, done.err
    X = np.random.default_rng(1).normal(size=(5, 4))
    np.testing.assert_allclose(load(folder / "libboth.so")["sums"](X)["sums"], np.exp(X).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (("--sizes", "m=3"), "no function has a dim m"),
        (("--sizes", "n"), "--sizes 'n' is not understood"),
        (("--time", "0"), "--time"),
        (("--threads", "0"), "--threads"),
        (("-o", "x.md"), "this ending is used for the report or the trials"),
    ],
)
def test_wrong_use(folder: Path, call: Call, arguments: tuple[str, ...], title: str) -> None:
    answer = call("tune", folder / "model.py", "-o", folder / "x.mlir", *arguments)
    assert answer.code == 2 and title in answer.err
    assert not list(folder.glob("x*"))


def test_libraries_and_files_that_are_no_journals(folder: Path, library: Path, call: Call) -> None:
    answer = call("tune", library)
    assert answer.code == 2 and "this is a compiled library" in answer.err
    (folder / "s.jsonl").write_text("something else\n")
    answer = call("tune", folder / "model.py", *SIZES, "-o", folder / "s.mlir")
    assert answer.code == 2 and "not the journal of a search" in answer.err
    assert (folder / "s.jsonl").read_text() == "something else\n"

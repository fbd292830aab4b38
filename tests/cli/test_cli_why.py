"""`aotensor why`: what became of a line, why two lines do or do not share a loop, and lines that hold nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Call
from schemas import check_schema

from aotensor_cli.explaining.places import Line, other_line, split_line
from aotensor_cli.options import Refusal

MODEL = """import aotensor as aot, aotensor.tensor as at
X = at.matrix("X", dtype="float64", shape=("n", "p"))
w = at.vector("w", dtype="float64", shape=("p",))
m = X @ w
total = m.sum()
z = at.sqrt(m / total)
d = X.T @ m
r = at.cumsum(w)
g = at.exp(m)
h = at.log(1 + g)
f = aot.function([X, w], {"z": z, "d": d, "r": r, "h": h}, name="f")
"""


APART = """import aotensor as aot, aotensor.tensor as at
x = at.vector("x", dtype="float64", shape=("n",))
y = at.sqrt(x)
z = 2 * x
f = aot.function([x], {"y": y, "z": z}, name="f", disable_passes=["fuse"])
"""


@pytest.fixture(scope="module")
def why(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("why") / "m.py"
    path.write_text(MODEL)
    return path


def asked(call: Call, why: Path, *arguments: object) -> dict[str, object]:
    """The one answer, as data."""
    answer = call("why", *arguments, "--json", cwd=why.parent)
    assert answer.code == 0, answer.err
    check_schema(json.loads(answer.out), "why")
    (found,) = json.loads(answer.out)["answers"]
    return dict(found)


def test_one_line(spawn: Call, why: Path) -> None:
    answer = spawn("why", "m.py:4", cwd=why.parent)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("f, m.py:4  m = X @ w\n  makes `m`; ")
    assert "% of the estimated time at n=1000, p=1000" in answer.out
    assert all(x in answer.out for x in ("⟨X @ w⟩ += X[i, j] * w[j]", "  vectors    = ", "  cores      + "))
    assert "with m.py:5" in answer.out, "the loop that also sums up"


def test_one_line_as_data(call: Call, why: Path) -> None:
    found = asked(call, why, "m.py:f:4", "--sizes", "n=500,p=50")
    assert (found["function"], found["line"], found["values"]) == ("f", "m.py:4", ["m"])
    assert 0.2 < float(str(found["share_of_time"])) < 1
    inner = found["statements"][0]["loops"][-1]  # type: ignore[index]
    assert inner["name"] == "p" and inner["seconds"] > 0
    topics = {x["topic"] for x in found["remarks"]}  # type: ignore[attr-defined]
    assert {"loops", "cores", "vectors"} <= topics


def test_two_lines_that_share_a_loop(call: Call, why: Path) -> None:
    found = asked(call, why, "m.py:6", "7")
    assert found["shared"] and str(found["relation"]).startswith("neither needs the other; both read")
    assert any(x["pass"] == "fuse" and x["kind"] == "applied" for x in found["decisions"])  # type: ignore[attr-defined]
    assert found["directive"] is None


def test_two_lines_that_share_none(call: Call, why: Path) -> None:
    """The reason is a decision that names both; the edit that would fuse them is tried, and refused with its reason."""
    answer = call("why", "m.py:4", ":6", cwd=why.parent)
    assert answer.code == 0 and "they share no loop" in answer.out, answer.out
    assert "it reads a value" in answer.out.replace("\n", " ") and "m.py:6 needs what m.py:4 computes" in answer.out
    found = asked(call, why, "m.py:4", ":6")
    directive = found["directive"]
    assert isinstance(directive, dict) and directive["text"].startswith('f.schedule.fuse("n')
    assert directive["right"] is False and "there are other statements between" in directive["problem"]
    other = asked(call, why, "m.py:4", "7")
    assert "m.py:6" in str(other["apart"]), "line 7 is with line 6, and fuse says of that why it is not with line 4"
    assert [x["kind"] for x in other["decisions"]][:1] == ["missed"]  # type: ignore[attr-defined]


def test_an_edit_that_computes_the_same(call: Call, tmp_path: Path) -> None:
    """A function that asks for no fusion: the edit fuses its loops, and is worth measuring."""
    (tmp_path / "m.py").write_text(APART)
    answer = call("why", "m.py:3", "4", "--measure", "--seconds", "0.1", "--sizes", "n=200000", cwd=tmp_path)
    assert answer.code == 0 and "they share no loop" in answer.out, answer.err
    text = 'f.schedule.fuse("n", "n.1") with --disable-pass parallelize --disable-pass strip-mine'
    assert f"{text} computes the same: --measure says" in answer.out and f"with {text}: " in answer.out


def test_what_a_decision_is_worth(call: Call, why: Path) -> None:
    found = asked(call, why, "m.py:6", "7", "--measure", "--sizes", "n=2000,p=500", "--seconds", "0.1")
    (measured,) = found["measured"]  # type: ignore[misc]
    assert measured["what"] == "without fuse" and measured["rounds"] >= 6 and measured["low"] <= measured["ratio"]


def test_lines_without_statements(call: Call, why: Path) -> None:
    assert "it declares X, which the caller passes" in str(asked(call, why, "m.py:2")["note"])
    answer = call("why", "m.py:1", cwd=why.parent)
    assert answer.code == 2 and "m.py:1 holds nothing that a function computes" in answer.err
    assert "lines that do: m.py:4, m.py:5" in answer.err
    answer = call("why", "m.py:4", "2", cwd=why.parent)
    assert answer.code == 2 and "m.py:2 holds nothing" in answer.err


def test_a_library_has_no_lines(call: Call, library: Path) -> None:
    answer = call("why", f"{library}:8")
    assert answer.code == 2 and f"aotensor inspect {library} --remarks --line 8" in answer.err


def test_names_of_lines() -> None:
    assert split_line("a/m.py:9") == ("a/m.py", None, None, 9)
    assert split_line("m.py:f:9") == ("m.py", "f", None, 9)
    assert split_line("m.py:layers.py:9") == ("m.py", None, "layers.py", 9)
    assert other_line("11", "m.py") == other_line(":11", "m.py") == Line("m.py", 11)
    assert other_line("a/layers.py:3", "m.py") == Line("layers.py", 3)
    for text in ("m.py", "9", "m.py:9:", "m.py:x"):
        with pytest.raises(Refusal, match="a line number is missing"):
            split_line(text)

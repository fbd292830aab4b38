"""`aotensor diff`: two libraries or models side by side, read first and called by a child process then."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_line import Answer, Call
from schemas import check_schema

from aotensor.api.cost.turns import Ratio, in_turns, interval
from aotensor_cli.comparing.distance import distance

TITLE = "import aotensor as aot, aotensor.tensor as at\nx = at.vector('x', dtype='float64', shape=('n',))\n"
ONE = TITLE + "y = at.exp(x)\nf = aot.function([x], {'y': y, 's': y.sum()}, name='f')\n"
NEAR = ONE.replace("at.exp(x)", "at.exp(x) * (1 + 2**-52)").replace("y = ", "\n\ny = ")
FAR = ONE.replace("at.exp(x)", "at.exp(x) * 1.001")
SLOW = ONE.replace("at.exp(x)", "at.tan(at.arctan(at.exp(at.log(at.exp(x)))))")
OTHER = ONE.replace("'s': y.sum()", "'s': y").replace("[x]", "[x, at.scalar('k')]").replace(
    "name='f'", "name='f', on_unused_input='ignore'"
)  # fmt: skip
MATRIX = """import aotensor as aot, aotensor.sparse as sp
A = sp.csr_matrix("A", shape=("n", "m"))
f = aot.function([A], {{"B": sp.mul(A, {factor}), "C": sp.{kept}}}, name="f")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("diff")
    texts = {"one": ONE, "near": NEAR, "far": FAR, "slow": SLOW, "other": OTHER, "named": ONE.replace("='f'", "='g'")}
    for name, text in texts.items():
        (found / f"{name}.py").write_text(text)
    return found


@pytest.fixture
def diff(call: Call, folder: Path) -> Call:
    """The command with little time, in the folder of the models."""

    def run(*arguments: object) -> Answer:
        quick = () if "--seconds" in arguments else ("--seconds", "0")
        return call("diff", *arguments, "--sizes", "n=50", *quick, cwd=folder)

    return run


def test_a_library_and_itself(spawn: Call, library: Path) -> None:
    answer = spawn("diff", library, library, "--sizes", "n=20,p=3", "--seconds", "0.01", "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    check_schema(found, "diff")
    assert (found["ok"], found["signatures"], found["values"]) == (True, True, True)
    assert all(fact["old"] == fact["new"] for fact in found["library"])
    assert [x["name"] for x in found["functions"]] == ["logistic", "doubled", "logistic_grad", "logistic_hvp"]
    for f in found["functions"]:
        assert f["decisions"] == {"gone": [], "new": []} and f["failure"] is None
        assert {x["source"] for x in f["values"]} == {"vector of old", "vector of new", "seeded"}
        assert all(row["ulp"] == row["different"] == 0 for x in f["values"] for row in x["rows"])
        (time,) = f["times"]
        assert time["low"] <= time["ratio"] <= time["high"] and time["rounds"] >= 6


def test_values_in_ulp_and_decisions_by_their_words(diff: Call) -> None:
    """One ulp agrees; the decisions about lines that moved are the same."""
    found = json.loads(diff("one.py", "near.py", "--json").out)
    check_schema(found, "diff")
    (f,) = found["functions"]
    rows = {row["output"]: row for x in f["values"] if x["source"] == "seeded" for row in x["rows"]}
    assert 0 < rows["y"]["different"] <= 50 and 1 <= rows["y"]["ulp"] <= 2 and rows["y"]["problem"] is None
    assert found["ok"] and all(x["function"] == "f" for x in f["decisions"]["new"])
    moved = f["decisions"]["gone"] + f["decisions"]["new"]
    assert not any(x["pass"] in ("mark-independent", "scalar-replacement") for x in moved), (
        "their lines alone have changed"
    )


def test_values_beyond_the_tolerance(diff: Call) -> None:
    answer = diff("one.py", "far.py")
    assert answer.code == 1 and "values differ" in answer.out and "BEYOND THE TOLERANCE" in answer.out
    assert diff("one.py", "far.py", "--rtol", "0.01").code == 0
    assert diff("one.py", "near.py", "--rtol", "0").code == 1


def test_signatures(diff: Call) -> None:
    answer = diff("one.py", "other.py")
    assert (answer.code, "not called: only the new one has an input k" in answer.out) == (1, True)
    assert "s: float64 " in answer.out and "s: float64[n]" in answer.out
    answer = diff("one.py", "named.py")
    assert (answer.code, "no function is in both: one.py has f; named.py has g" in answer.out) == (1, True)
    assert diff("one.py:f", "named.py:g").code == 0


def test_speed_outside_of_the_noise(diff: Call) -> None:
    answer = diff("one.py:f", "slow.py:f", "--seconds", "0.2", "--fail-on", "speed:5%", "--rtol", "1e-9")
    assert answer.code == 1 and "% longer" in answer.out and "5 % are allowed" in answer.out, answer.out
    assert diff("slow.py:f", "one.py:f", "--seconds", "0.2", "--fail-on", "speed:5%", "--rtol", "1e-9").code == 0


def test_a_sparse_output_with_another_pattern(call: Call, tmp_path: Path) -> None:
    for name, factor, kept in (("a", 2.0, "tril(A)"), ("b", 2.0, "triu(A)")):
        (tmp_path / f"{name}.py").write_text(MATRIX.format(factor=factor, kept=kept))
    answer = call("diff", "a.py", "b.py", "--sizes", "n=20,m=20", "--seconds", "0", "--json", cwd=tmp_path)
    (f,) = json.loads(answer.out)["functions"]
    rows = {row["output"]: row for x in f["values"] if x["source"] == "seeded" for row in x["rows"]}
    assert (answer.code, rows["C"]["problem"], rows["B"]["ulp"]) == (1, "another sparsity pattern", 0)


def test_what_cannot_be_called_is_read(call: Call, library: Path, tmp_path: Path) -> None:
    """A library of another system, a damaged one, one that kills its process, and files that are none."""
    foreign = ("--target", "aarch64-linux-gnu", "-o", tmp_path)
    assert call("compile", library.parent.parent / "model.py", *foreign).code == 0
    answer = call("diff", tmp_path / "liblogistic.so", tmp_path / "liblogistic.so", "--seconds", "0")
    assert answer.code == 0 and "is for AArch64, but this machine is" in answer.out
    answer = call("diff", library, tmp_path / "liblogistic.so", "--fail-on", "speed:5%")
    assert answer.code == 2 and "the times cannot be measured" in answer.err
    data = bytearray(library.read_bytes())
    data[0x1800] ^= 255
    (tmp_path / "bad.so").write_bytes(data)
    answer = call("diff", library, tmp_path / "bad.so")
    assert answer.code == 2 and "bad.so: the checksum does not match" in answer.out
    (tmp_path / "short.so").write_bytes(library.read_bytes()[:2000])
    for name in ("short.so", "none.so"):
        answer = call("diff", library, tmp_path / name)
        assert (answer.code, answer.out) == (2, "") and name in answer.err


def test_a_stripped_library_and_one_without_vectors(call: Call, tmp_path: Path) -> None:
    """`strip` leaves what travels along; a function of many elements has no vectors, so random inputs must do."""
    (tmp_path / "long.py").write_text(ONE.replace("('n',)", "(3000,)"))
    assert call("compile", tmp_path / "long.py", "-o", tmp_path).code == 0
    library, stripped = tmp_path / "libf.so", tmp_path / "stripped.so"
    if shutil.which("strip") is None or subprocess.run(["strip", "-o", stripped, library], check=False).returncode:
        shutil.copy(library, stripped)
    answer = call("diff", library, stripped, "--seconds", "0")
    assert answer.code == 0 and "decisions: the same" in answer.out
    assert "note: no test vectors for f: values are compared on random inputs only" in answer.out


def test_a_crash_is_a_finding(diff: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aotensor_cli.comparing.measure._CHILD", ("-c", "import os; os.abort()"))
    answer = diff("one.py", "near.py")
    assert (answer.code, "their process ended with signal 6 (SIGABRT)" in answer.out) == (1, True), answer.out


def test_inputs_that_both_refuse(call: Call, tmp_path: Path) -> None:
    """Nothing is compared then, which is said, and is no agreement."""
    text = TITLE + "k = at.vector('k', shape=('m',))\nf = aot.function([x, k], {'y': x[:-2] + k}, name='f')\n"
    (tmp_path / "m.py").write_text(text)
    arguments = ("m.py", "m.py", "--seconds", "0", "--json", "--sizes", "n=5,m=5")
    found = json.loads(call("diff", *arguments, cwd=tmp_path).out)
    seeded = next(x for x in found["functions"][0]["values"] if x["source"] == "seeded")
    assert seeded["rows"] == [] and "ArgumentValueError" in seeded["refused"]
    assert any("both refuse random inputs" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--fail-on", "size:5%"), "write speed:5%"),
        (("--fail-on", "speed:5%", "--no-run"), "--fail-on speed needs times"),
        (("--threads", "none"), "--threads 'none' is not understood"),
        (("--sizes", "rows=3"), "no function has a dim rows"),
    ],
)
def test_wrong_use(diff: Call, arguments: tuple[str, ...], what: str) -> None:
    answer = diff("one.py", "one.py", *arguments)
    assert (answer.code, what in answer.err) == (2, True), answer.err


def test_units_in_the_last_place() -> None:
    x = np.array([1.0, -1.0, 0.0, math.inf, math.nan, 5e-324])
    y = np.array([np.nextafter(1.0, 2.0), np.nextafter(-1.0, -2.0), -0.0, math.inf, math.nan, -5e-324])
    found = distance(x, y, 1.0)
    assert (found.different, found.ulp, found.problem) == (3, 2, None)
    assert distance(np.float32(1), np.float32(2), 9.0).ulp == 1 << 23
    assert distance(np.array([-math.inf]), np.array([1.0]), 1.0).ulp is None
    assert distance(np.array([-1.7e308]), np.array([1.7e308]), 0.0).ulp == 2 * int(np.array([1.7e308]).view("int64")[0])
    assert distance(np.array([1 + 2j]), np.array([1 + 2.5j]), 0.1).problem is not None


def test_the_interval_of_the_median_holds_it() -> None:
    """Its coverage on samples of a skewed distribution, whose median is known, is at least what it promises."""
    rng = np.random.default_rng(0)
    for n in (6, 11, 25):
        found = [interval(rng.exponential(size=n).tolist()) for _ in range(2000)]
        covered = sum(low <= math.log(2) <= high for low, high in found) / 2000
        assert 0.94 < covered <= 1, (n, covered)
    assert interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_calls_in_turns() -> None:
    def bind(n: int) -> object:
        data = np.ones(n)
        return lambda: data.sum()

    ratio = in_turns(lambda: bind(20_000), lambda: bind(1_000_000), 0.1)  # type: ignore[arg-type, return-value]
    assert 3 < ratio.low <= ratio.ratio <= ratio.high and ratio.verdict == "slower" and ratio.slowness("f", 50)
    assert ratio.rounds >= 6 and ratio.new > ratio.old > 0
    noisy = Ratio(1.1, 0.98, 1.25, 9, 1.0, 1.1)
    assert (noisy.verdict, noisy.slowness("f", 0)) == ("no difference", None)
    assert Ratio(1.2, 1.1, 1.25, 9, 1.0, 1.2).slowness("f", 5) == (
        "f takes 20.0 % longer (10.0 to 25.0), and 5 % are allowed"
    )

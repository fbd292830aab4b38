"""What the benchmarks say: targets, pictures, who is left out; and a run of the programs themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from cases import CASES, SPARSE_CASES
from chart import Bar, chart
from contenders import Comparison
from harness import RESULTS, revision
from limits import least_seconds, limits_of
from measure import interleaved
from peers import PEERS
from readme import PAGE, README, TABLES, medians, updated, updated_readme
from table import Table
from targets import BEATEN, CLAIMED, share_of_limit, speedup, standing, summary

PROGRAMS = Path(__file__).parents[2] / "benchmarks"


def record(ours: float, cores: int = 1, limits: dict[str, float] | None = None, **others: float) -> dict[str, Any]:
    best = {"aotensor": ours + 1e-6, "aotensor, bound": ours, **others}
    told = {"case": "logistic", "title": "(a) logistic", "cores": cores, "scale": 1.0}
    return {**told, "best": best, "limits": limits or {}, "missing": {"MKL": "not installed"}, "seconds": {}}


def test_the_best_peer_is_compared_as_it_is_called() -> None:
    found = standing(record(90e-6, C=100e-6, JAX=95e-6))
    assert found is not None
    assert found.peer == "JAX", "beside the plain call, which takes longer"
    assert found.ratio == pytest.approx(91 / 95)
    assert standing(record(90e-6)) is None


def test_a_row_near_a_limit_need_not_be_faster() -> None:
    limits = {"stream": 73e-6, "FMA": 10e-6}
    assert share_of_limit(record(90e-6, limits=limits)) == (pytest.approx(73 / 90), "stream")
    slow, near = (standing(record(90e-6, limits=found, C=75e-6)) for found in ({}, limits))
    assert slow is not None and near is not None
    assert (slow.is_met, near.is_met) == (False, True)


def test_a_limit_that_a_contender_beats_is_left_out() -> None:
    limits = {"stream": 100e-6, "gather": 40e-6, "FMA": 10e-6}
    assert share_of_limit(record(90e-6, limits=limits, C=96e-6)) == (pytest.approx(40 / 90), "gather")
    assert share_of_limit(record(96e-6, limits=limits, C=99e-6)) == (pytest.approx(100 / 96), "stream")
    assert share_of_limit(record(90e-6, limits={"stream": 100e-6}, C=80e-6)) == (0.0, "gather")


@pytest.mark.parametrize("name", TABLES)
def test_no_row_exceeds_a_limit(name: str) -> None:
    records = json.loads((RESULTS / f"{name}.json").read_text())["cases"]
    shares = {(x["case"], x["cores"], x["scale"]): found[0] for x in records if (found := share_of_limit(x))}
    assert len(shares) > 60
    assert {key: share for key, share in shares.items() if share > BEATEN} == {}


@pytest.mark.parametrize(
    ("case", "target"), [("logistic", 0.8), ("spmv-random", 0.95), ("topk", 0.5), ("rigid-body", 0.9)]
)
def test_cases_have_targets_of_their_own(case: str, target: float) -> None:
    met, missed = (standing(record(x * 1e-4, C=1e-4) | {"case": case}) for x in (target, target + 0.01))
    assert met is not None and missed is not None
    assert (met.is_met, missed.is_met) == (True, False)
    assert CLAIMED.keys() <= CASES.keys() | SPARSE_CASES.keys()


def test_arithmetic_is_that_of_products_and_the_rest() -> None:
    share, name = share_of_limit(record(100e-6, limits={"stream": 40e-6, "FMA": 20e-6, "GEMM": 30e-6})) or (0, "")
    assert (share, name) == (pytest.approx(0.5), "GEMM")


def test_a_slow_blas_is_no_limit_of_the_machine() -> None:
    model = CASES["mlp"].make(1.0)
    calls = limits_of(model, {"read": 8e5, "written": 8e5, "operations": 1.01 * model.products})
    assert {limit.name for limit in calls.values()} == {"stream", "FMA", "GEMM"}
    times = {"stream": 1e-5, "stream, one loop": 2e-5, "FMA": 1e-4, "GEMM": 1.0}
    assert least_seconds(model, calls, times)["stream"] == pytest.approx(calls["stream"].factor * 1e-5)
    assert least_seconds(model, calls, times)["GEMM"] == pytest.approx(100 * least_seconds(model, calls, times)["FMA"])


def test_the_summary_counts() -> None:
    limits = {"FMA": 80e-6}
    one, two = record(100e-6, limits=limits, C=200e-6), record(60e-6, 2, {"FMA": 50e-6}, C=61e-6)
    text = summary([one, two])
    assert speedup(one, two) == pytest.approx(100 / 60)
    assert text.splitlines()[-1] == "one core: 1 of 1 met; two cores: 1 of 1 met; twice the cores: 0 of 1 met."
    assert "**80 % FMA**" in text


def test_small_rows_are_not_asked_for_two_cores() -> None:
    assert "twice the cores" not in summary([record(1e-6, limits={"FMA": 1e-6}), record(1e-6, 2)])


def test_the_picture_shows_every_row() -> None:
    rows = [("a < b", [Bar(1, 0.5, "C"), Bar(2, 100.0, "JAX")]), ("c", [Bar(1, 1e-3, "torch")])]
    root = ElementTree.fromstring(chart("title", rows, 0.8))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"a < b", "c", "0.50 C", "▸ 100.00 JAX", "◂ 0.00 torch"} <= set(texts)


def test_files_say_who_is_left_out_and_keep_what_is_not_measured_again(tmp_path: Path) -> None:
    table = Table("speed", CASES, ("aotensor", "aotensor, bound", "C"), "On {machine}.\n\n")
    table.add(record(1e-3, C=2e-3) | {"compile": {"aotensor": [1.0, 2.0]}})
    table.add(record(1e-3, C=3e-3))
    table.write(tmp_path)
    again = Table("speed", CASES, table.columns, table.header)
    again.load(tmp_path)
    assert list(again.records) == [(1.0, 1, "logistic")]
    text = (tmp_path / "speed.md").read_text()
    assert "- MKL (every case): not installed" in text
    assert "3000 (3.00)" in text and "compile aotensor" in text


def test_wrong_values_end_a_run_or_take_a_peer_out() -> None:
    model = CASES["chain-1e3-float64"].make(0.01)
    c = Comparison(model, [np.ones(2)])
    c.add("JAX", lambda: None, lambda _: [np.array([1.0, 1.1])])
    c.check()
    assert c.contenders == {} and "wrong" in c.missing["JAX"]
    c.add("C", lambda: None, lambda _: [np.array([1.0, np.nan])])
    with pytest.raises(ValueError, match="value 0 of C"):
        c.check()


def test_everybody_has_turns() -> None:
    times = interleaved({"quick": lambda: None, "slow": lambda: sum(range(300_000))}, 0.01)
    assert all(len(turns) >= 3 for turns in times.values())


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, str(PROGRAMS / program), "--cores", "1", "--seconds", "0.01", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_run_from_end_to_end(tmp_path: Path) -> None:
    options = "--scale", "0.01", "--without", ",".join(PEERS), "--results", str(tmp_path)
    said = run("run.py", "--cases", "softmax-1", *options)
    assert "without torch: it was not asked for" in said
    (row,) = json.loads((tmp_path / "speed.json").read_text())["cases"]
    assert (row["case"], row["cores"], row["scale"]) == ("softmax-1", 1, 0.01)
    assert {"aotensor", "aotensor, bound", "NumPy"} <= set(row["best"])
    assert {"stream", "FMA"} <= set(row["limits"])
    assert "0.01 times the size" in (tmp_path / "speed.md").read_text()
    ElementTree.parse(tmp_path / "speed.svg")
    if revision():
        assert "softmax-1 x0.01 on 1 core ..." not in run("run.py", "--cases", "softmax-1", *options, "--resume")


def test_tables_find_their_place_in_the_page(tmp_path: Path) -> None:
    for name in TABLES:
        (tmp_path / f"{name}.json").write_text(json.dumps({"cases": [record(100e-6, C=150e-6)]}))
    text = updated(PAGE.read_text(), tmp_path)
    assert text.count("| (a) logistic | 100 | 0.67 C | - | met |") == len(TABLES)
    assert updated(text, tmp_path) == text
    assert "| dense, one core | 1 | 0.67 | 1 | 0.67: (a) logistic (C) |" in text
    with pytest.raises(ValueError, match="no place for the table medians"):
        updated("", tmp_path)


def test_medians_are_those_of_the_results() -> None:
    rows = [record(x, C=1.0) for x in (0.5, 1.004, 3.0, 0.25)] + [record(9.0, 2, C=1.0), record(1.0)]
    found = medians(rows, 1)
    assert (found.rows, found.wins, found.peer) == (4, 3, "C")
    assert (found.ratio, found.largest) == (pytest.approx(0.752), pytest.approx(3.0))
    assert updated(PAGE.read_text(), RESULTS) == PAGE.read_text()
    assert updated_readme(README.read_text(), RESULTS) == README.read_text()


def test_a_sparse_run(tmp_path: Path) -> None:
    options = "--scale", "0.01", "--without", ",".join(PEERS), "--results", str(tmp_path)
    run("sparse.py", "--cases", "spmv-random-transposed", *options)
    (row,) = json.loads((tmp_path / "sparse.json").read_text())["cases"]
    assert row["work"]["operations"] >= 2 * 10_000
    assert row["limits"]["gather"] > 0

"""`aotensor split`: the plan of the rounds, their library, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from command_line import Call

from aotensor_runtime import load
from aotensor_runtime.rounds import open_rounds


def test_a_plan_and_a_library(call: Call, model: Path, tmp_path: Path) -> None:
    answer = call("split", f"{model}:logistic", "--over", "n", "-o", tmp_path / "out", "--name", "parts", "--json")
    assert answer.code == 0, answer.err
    tree = json.loads(answer.out)
    (each,) = tree["rounds"]
    assert each["map"] == "logistic_map1" and each["chunk"] == "8*n*p + 8*n"
    assert tree["protocol"]["inputs"] == {"X": 0, "y": 0, "w": None}
    split = open_rounds(load(tmp_path / "out" / "libparts.so"))
    assert split.protocol.to_json() == tree["protocol"]
    assert "round 1, of a chunk: partials" in (tmp_path / "out" / "parts.h").read_text()


def test_numbers_for_sizes(call: Call, model: Path) -> None:
    answer = call("split", f"{model}:logistic", "--over", "n", "--plan-only", "--sizes", "n=1000,p=10")
    assert answer.code == 0 and "read per chunk      88000 bytes" in answer.out


def test_what_it_refuses(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        "import aotensor as aot, aotensor.tensor as at\n"
        "y = at.vector('y', shape=('n',))\n"
        "f = aot.function([y], at.sort(y), name='f')\n"
        "g = aot.function([y], at.sum(y), name='g')\n"
    )
    crossing = call("split", f"{path}:f", "--over", "n", "--plan-only")
    assert (
        crossing.code == 3 and "model.py:3: sort cannot be split over n: it moves each row to a place" in crossing.err
    )
    dim = call("split", f"{path}:g", "--over", "m")
    assert dim.code == 2 and "none of the inputs has a dim 'm'" in dim.err and "dims of the inputs: n" in dim.err
    several = call("split", path, "--over", "n")
    assert several.code == 2 and "the model has 2 functions, and split accepts one" in several.err
    assert call("split", f"{path}:g").code == 2


def test_options_of_files_need_files(call: Call, model: Path) -> None:
    for option in (("--cpu", "x86-64-v3"), ("--target", "soup"), ("-o", "out")):
        answer = call("split", f"{model}:logistic", "--over", "n", "--plan-only", *option)
        assert answer.code == 2 and f"{option[0]}: --plan-only writes no files" in answer.err, answer.err


def test_options_of_libraries_hold_for_rounds(call: Call, model: Path, tmp_path: Path) -> None:
    """What a library is like is that of `aotensor compile`; values are those of the whole function."""
    folder = tmp_path / "out"
    given = ("split", f"{model}:logistic", "--over", "n", "-o", folder, "--json")
    assert call(*given, "--name", "small", "--no-malloc", "--opt-size", "--emit", "lib", "--emit", "static").code == 0
    library = load(folder / "libsmall.so")
    assert not library.manifest.allocates and (folder / "libsmall.a").exists()
    X, y, w = np.arange(24.0).reshape(8, 3), np.arange(8.0), np.ones(3)
    found = open_rounds(library)(X=X, y=y, w=w, chunk_rows=3)
    assert np.isclose(found["loss"], np.logaddexp(0, -y * (X @ w)).mean(), rtol=1e-12)
    answer = call(*given, "--name", "bare", "--freestanding", "--target", "thumbv7em-none-eabihf", "--cpu", "cortex-m4")
    assert answer.code == 0, answer.err
    tree = json.loads(answer.out)
    assert sorted(Path(path).name for path in tree["files"]) == ["bare.h", "bare.rounds.json", "libbare.a"]
    assert json.loads((folder / "bare.rounds.json").read_text()) == tree["protocol"]


def test_what_is_not_about_rounds(call: Call, model: Path, tmp_path: Path) -> None:
    for option in ("--schedule", "--passes", "--disable-pass", "--grad", "--hvp"):
        answer = call("split", f"{model}:logistic", "--over", "n", "-o", tmp_path / "out", option, "w")
        assert answer.code == 2 and f"{option} is an option of compile, not of split" in answer.err, answer.err
    freestanding = call("split", f"{model}:logistic", "--over", "n", "-o", tmp_path, "--freestanding", "--emit", "lib")
    assert freestanding.code == 2 and "not a shared library" in freestanding.err
    assert not list(tmp_path.glob("*.h"))

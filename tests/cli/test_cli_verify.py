"""`aotensor verify`: tables, JSON, and exit code 1 for what is wrong."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from command_line import Call

NOISY: Final = """
import aotensor as aot
import aotensor.tensor as at
from aotensor.graph.op import Op


class Half(Op):
    name = "half"

    def infer_type(self, x):
        return x

    def reference(self, x):
        return x * 0.5

    def pullback(self, inputs, outputs, cotangents):
        return [cotangents[0] * 0.25]

    def pushforward(self, inputs, outputs, tangents):
        return [tangents[0] * 0.5]

    def lower(self, b, x):
        return b.map(lambda s, v: s.mul(v, s.constant(0.5, v.dtype)), x, dtype=x.dtype)


x = at.vector("x")
noisy = aot.function([x], at.sin(1e16 * x).sum())
wrong = aot.function([x], Half()(at.exp(x)).sum())
"""


def test_model_passes(call: Call, model: Path) -> None:
    answer = call("verify", f"{model}:logistic", "--samples", "4")
    assert answer.code == 0, answer.out
    assert answer.out.startswith("logistic: 14 ok\n")
    for check in ("IR at every stage", "compiled against reference", "gradients by duality", "header compiles"):
        assert check in answer.out
    assert re.search(r"^  loss by X, y, w +right +duality .*order 2\.0.*; compiled: ", answer.out, re.MULTILINE)


TRAINED: Final = """
import numpy as np
import aotensor as aot, aotensor.tensor as at
w = aot.shared(np.array([0.5, -0.25]), name="weight", shape=(2,))
X = at.matrix("X", shape=(3, 2))
f = aot.function([X], {"score": X @ w}, name="f")
"""


def test_a_training_step_is_checked(call: Call, tmp_path: Path) -> None:
    """The model, its step and its start; parameters after a step have a gradient, too."""
    path = tmp_path / "trained.py"
    path.write_text(TRAINED)
    options = ("--train", "loss=mse", "--optimizer", "sgd:learning_rate=0.1", "--wrt", "weight", "--samples", "1")
    answer = call("verify", str(path), *options)
    assert answer.code == 0, answer.out
    assert re.findall(r"^(\w+): \d+ ok", answer.out, re.MULTILINE) == ["f", "f_step", "f_start"]
    assert re.search(r"^  new_weight by X, target, weight +right ", answer.out, re.MULTILINE)


def test_training_needs_a_model_and_all_options(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "trained.py"
    path.write_text(TRAINED)
    answer = call("verify", str(path), "--wrt", "weight")
    assert answer.code == 2 and "--wrt needs --train" in answer.err
    library = tmp_path / "libf.so"
    library.write_bytes(b"\x7fELF")
    answer = call("verify", str(library), "--train", "loss=mse", "--wrt", "weight")
    assert answer.code == 2 and "a library has no training step to add" in answer.err


def test_wrong_gradient_fails_with_1_and_a_noisy_one_does_not(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "noisy.py"
    path.write_text(NOISY)
    answer = call("verify", f"{path}:noisy", "--samples", "2", "--json")
    (gradient,) = json.loads(answer.out)["reports"][0]["gradients"]
    assert (answer.code, gradient["verdict"]) == (0, "too noisy to tell")
    assert gradient["detail"].startswith("rounding")
    answer = call("verify", f"{path}:wrong", "--samples", "2", "--json")
    (gradient,) = json.loads(answer.out)["reports"][0]["gradients"]
    assert (answer.code, gradient["verdict"]) == (1, "wrong")
    assert gradient["culprit"].startswith("pullback of half(exp(x)), made at noisy.py:")
    assert {method["execution"] for method in gradient["methods"]} == {"reference", "compiled"}


@pytest.mark.needs("cc")
def test_c_source_is_a_row(call: Call, model: Path, library: Path) -> None:
    answer = call("verify", f"{model}:logistic", "--samples", "2", "--no-gradients", "--with", "cc")
    assert answer.code == 0, answer.out
    assert re.search(r"^  C source +ok +[\d.]+ s +2 samples to the last bit$", answer.out, re.MULTILINE)
    answer = call("verify", library, "--with", "cc")
    assert (answer.code, "a library has no C source to compile" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--samples", "3"), ("--seed", "0"), ("--rtol", "1"), ("--no-gradients", ""), ("--no-limits", "")],
)
def test_a_library_has_its_calls(call: Call, library: Path, option: str, value: str) -> None:
    answer = call("verify", library, option, *([value] if value else []))
    assert answer.code == 2 and f"{library}: a library is checked with its recorded calls" in answer.err


@pytest.mark.parametrize(
    ("command", "option"), [("verify", "--rtol"), ("run", "--rtol"), ("bench", "--seconds"), ("diff", "--rtol")]
)
@pytest.mark.parametrize("value", ["nan", "inf", "1e999"])
def test_numbers_are_finite(call: Call, library: Path, command: str, option: str, value: str) -> None:
    answer = call(command, library, *([library] if command == "diff" else []), option, value)
    assert answer.code == 2 and f"invalid value for '{option}': '{value}' is not a finite number" in answer.err


def test_tolerance_of_nothing_fails_with_1(call: Call, model: Path) -> None:
    answer = call("verify", f"{model}:logistic", "--rtol", "0", "--no-gradients", "--samples", "60", "--json")
    tree = json.loads(answer.out)
    assert answer.code == 1
    assert tree["ok"] is False
    verdicts = {check["name"]: check["verdict"] for check in tree["reports"][0]["checks"]}
    assert verdicts["compiled against reference"] == "failed"
    assert verdicts["header compiles"] == "ok"
    assert "gradients by duality" not in verdicts


def test_library_passes_with_its_vectors(call: Call, library: Path) -> None:
    answer = call("verify", library)
    assert answer.code == 0, answer.out
    assert "8 calls give the recorded values" in answer.out


def test_changed_library_fails_with_1(call: Call, library: Path, tmp_path: Path) -> None:
    content = bytearray(library.read_bytes())
    content[0x1000 + len(content) // 8] ^= 1
    path = tmp_path / "libchanged.so"
    path.write_bytes(bytes(content))
    answer = call("verify", path)
    assert answer.code == 1
    assert "the checksum does not match: the file was changed after it was built" in answer.out
    assert "test vectors" not in answer.out  # code that was changed is never run


def test_rows_are_no_longer_than_their_words_in_a_pipe(
    call: Call, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longest column is the last one, and COLUMNS says how long lines are."""
    arguments = ("verify", f"{model}:logistic", "--samples", "1", "--no-gradients")
    monkeypatch.delenv("COLUMNS", raising=False)
    rows = call(*arguments).out.splitlines()[1:]
    assert all(len(row) == len(row.rstrip()) for row in rows)
    assert len(rows[0]) < 60
    assert len(rows) == 10
    monkeypatch.setenv("COLUMNS", "80")
    narrow = call(*arguments).out.splitlines()[1:]
    assert len(narrow) > len(rows)
    assert max(map(len, narrow)) <= 80


def test_a_number_of_samples_that_would_run_for_days_is_refused(call: Call, model: Path) -> None:
    answer = call("verify", model, "--samples", 10**12)
    assert answer.code == 2
    assert "'--samples': 1000000000000 is not in the range 1<=x<=1000000" in answer.err


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are POSIX")
def test_calls_of_a_library_without_room_for_it(library: Path, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

    command = [sys.executable, "-B", "-m", "aotensor_cli", "verify", str(library)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert done.returncode == 4
    assert f"error: the temporary folder {tmp_path} cannot be written (file too large)" in done.stderr
    assert os.listdir(tmp_path) == []

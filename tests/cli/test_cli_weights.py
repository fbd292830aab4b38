"""`--weights` of compile, and what the other commands say about a library with a file of weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import Call

MODEL = """
import numpy as np
import aotensor as aot
import aotensor.tensor as at

w = np.random.default_rng(1).normal(size=(300, 20))
x = at.matrix("x", shape=("n", 300))
layer = aot.function([x], at.tanh(x @ w), name="layer")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, spawn: Call) -> Path:
    """A folder with a model, and its library with weights in a folder `out`."""
    folder = tmp_path_factory.mktemp("weights")
    (folder / "model.py").write_text(MODEL)
    answer = spawn("compile", "model.py", "-o", "out", "-O", "1", "-g", "--weights", cwd=folder)
    assert answer.code == 0, answer.err
    files = ["out/liblayer.so", "out/layer.h", "out/layer.safetensors"]
    assert answer.out.splitlines() == files
    return folder


@pytest.fixture
def library(built: Path, tmp_path: Path) -> Path:
    """A copy of the library with its weights."""
    shutil.copytree(built / "out", tmp_path / "out")
    return tmp_path / "out" / "liblayer.so"


def test_names_and_refusals(built: Path, call: Call, tmp_path: Path) -> None:
    for words, said in (
        (["--weights", "model.py"], "error: --weights model.py: this is a model, not a file to write\n"),
        (["model.py", "--weights=a/b"], "error: weights must be the name of a file next to the library, not 'a/b'"),
        (["model.py", "--weights-from", "1M"], "error: --weights-from needs a file of weights\n"),
        (["model.py", "--weights", "--emit", "c"], "error: C source holds its constants itself"),
        (["model.py", "--weights", "--target", "wasm32-wasi"], "error: a file of weights needs addresses of 64 bits"),
        (
            ["model.py", "--weights", "--freestanding"],
            "error: a library that does not allocate memory cannot have a file of weights",
        ),
        (["model.py", "--weights", "layer.h"], "error: the file of weights cannot be called layer.h"),
    ):
        answer = call("compile", *words, "-o", tmp_path / "no", cwd=built)
        assert answer.code == 2 and answer.err.startswith(said), answer
        assert not (tmp_path / "no").exists()
    answer = call(
        "compile", "model.py", "-q", "--weights", "big.bin", "--emit", "obj", "-O", "0", "-o", tmp_path, cwd=built
    )
    assert answer.code == 0 and sorted(x.name for x in tmp_path.iterdir()) == ["big.bin", "layer.o"]
    answer = call(
        "compile", "model.py", "--weights", "--weights-from", "1M", "-O", "0", "-o", tmp_path / "whole", cwd=built
    )
    assert answer.code == 0 and not list((tmp_path / "whole").glob("*.safetensors"))
    assert "note: there is no file of weights, as no constant has more than 1048575 bytes" in answer.err


def test_inspect_says_that_it_is_not_self_contained(library: Path, call: Call) -> None:
    spec = json.loads(call("inspect", library, "--json").out)["weights"]
    assert spec["file"] == "layer.safetensors"
    assert spec["bytes"] == library.with_name(spec["file"]).stat().st_size
    text = " ".join(call("inspect", library).out.split())
    assert f"weights layer.safetensors, {spec['bytes']} bytes with SHA-256 {spec['sha256']}; not self-contained" in text


def test_verify_and_run_need_the_file(library: Path, call: Call, tmp_path: Path) -> None:
    x, y = tmp_path / "x.npy", tmp_path / "y.npy"
    values = np.random.default_rng(2).normal(size=(2, 300))
    np.save(x, values)
    answer = call("verify", library)
    assert answer.code == 0 and "layer.safetensors: " in answer.out and "give the recorded values" in answer.out
    assert call("run", library, f"x={x}", "-o", y).code == 0
    expected = np.tanh(values @ np.random.default_rng(1).normal(size=(300, 20)))
    np.testing.assert_allclose(np.load(y), expected, rtol=1e-12)
    weights = library.with_name("layer.safetensors")
    content = weights.read_bytes()
    weights.write_bytes(content[:-8] + bytes(8))
    answer = call("verify", library)
    assert answer.code == 1 and f"the weights {weights} do not belong to the library" in answer.out
    weights.unlink()
    answer = call("verify", library)
    assert answer.code == 1 and f"the weights {weights} were not found" in answer.out
    answer = call("run", library, f"x={x}")
    assert answer.code == 2 and f"the weights {weights} were not found" in answer.err
    assert "put layer.safetensors next to the library" in answer.err
    assert call("inspect", library).code == 0, "which reads the library only"


def test_measuring_commands_find_the_file(library: Path, built: Path, call: Call, tmp_path: Path) -> None:
    assert call("bench", library, "--sizes", "n=2", "--threads", "1", "--seconds", "0.01", "--no-limits").code == 0
    other = tmp_path / "other"
    (tmp_path / "model.py").write_text(MODEL.replace("default_rng(1)", "default_rng(7)"))
    words = "compile", "model.py", "-q", "-o", other, "-O", "1", "--weights"
    assert call(*words, cwd=tmp_path).code == 0
    answer = call("diff", library, library, "--seconds", "0", "--sizes", "n=2")
    assert answer.code == 0, answer
    answer = call("diff", library, other / "liblayer.so", "--seconds", "0", "--sizes", "n=2")
    assert answer.code == 1 and "layer.safetensors" in answer.out, "values of other weights differ"
    (other / "layer.safetensors").unlink()
    answer = call("diff", library, other / "liblayer.so", "--seconds", "0", "--sizes", "n=2")
    assert "the weights layer.safetensors are not next to" in answer.out + answer.err

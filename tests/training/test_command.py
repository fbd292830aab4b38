"""`aotensor compile --train`: ten steps against the published formula in NumPy, from Python and C; its refusals."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needs import NEEDS

import aotensor as aot
from aotensor_cli.main import run
from aotensor_cli.model import load_model
from aotensor_cli.options import Refusal
from aotensor_cli.reading.training import wanted_training, with_steps

STEPS = 10
MODEL = """
import numpy as np
import aotensor as aot, aotensor.tensor as at
X = at.matrix("X", shape=("n", 3))
w = aot.shared(np.array([0.5, -0.25, 0.125]), name="layer.weight", shape=(3,))
b = at.vector("b", shape=(1,))
f = aot.function([X, b], {"score": X @ w + b, "size": (w * w).sum()}, name="f")
"""
X = np.array([[1.0, 2.0, -1.0], [0.5, -1.0, 2.0], [-1.5, 0.25, 1.0], [2.0, 1.0, 0.5]])
T = np.array([1.0, 0.0, 1.0, 0.0])


def expected() -> tuple[list[float], np.ndarray[Any, Any]]:
    """Losses before each step of Adam, and the weights after the last: [w, b]."""
    A = np.column_stack([X, np.ones(4)])
    p, m, v, losses = np.array([0.5, -0.25, 0.125, 0.0]), np.zeros(4), np.zeros(4), []
    for t in range(1, STEPS + 1):
        z = A @ p
        losses.append(float(np.mean(np.logaddexp(0, z) - T * z)))
        g = A.T @ (1 / (1 + np.exp(-z)) - T) / 4
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        p = p - 0.05 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return losses, p


def model(tmp_path: Path) -> list[aot.Function]:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return list(load_model(str(path)).functions)


def steps(functions: list[aot.Function], train: str, wrt: str, rule: str | None = None) -> list[aot.Function]:
    training = wanted_training(train, rule, wrt)
    assert training is not None
    return with_steps(functions, training)


def test_ten_steps_are_those_of_the_formula(tmp_path: Path) -> None:
    step, start = steps(
        model(tmp_path), "loss=binary_cross_entropy:score", "*.weight,b", "adam:learning_rate=0.05"
    )  # fmt: skip
    assert (step.name, start.name, list(step.state)[:2]) == ("f_step", "f_start", ["layer_weight", "b"])
    losses, p = expected()
    np.testing.assert_allclose([step(X, T)["loss"] for _ in range(STEPS)], losses, rtol=1e-12)
    now = {key: x.get_value() for key, x in step.state.items()}
    np.testing.assert_allclose([*now["layer_weight"], *now["b"]], p, rtol=1e-12)
    assert now["step"] == STEPS and start.reference()["step"] == 0


PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "f.h"
int main(void) {
  static const double X[] = {1, 2, -1, 0.5, -1, 2, -1.5, 0.25, 1, 2, 1, 0.5}, t[] = {1, 0, 1, 0};
  char *memory = malloc(f_step_in_place_workspace(4) + 63), *space = memory + 63 - ((size_t)memory + 63) % 64;
  double w[3], b[1], m[3], v[3], mb[1], vb[1], loss;
  int64_t step;
  if (f_start(w, b, &step, mb, vb, m, v, NULL)) return 1;
  for (int k = 0; k < 10; k++) {
    if (f_step_in_place(4, X, t, w, b, &step, mb, vb, m, v, &loss, space)) return 3;
    printf("%.17g ", loss);
  }
  printf("%.17g %.17g %.17g %.17g", w[0], w[1], w[2], b[0]);
  free(memory);
  return f_step_in_place(4, X, t, w, b, &step, mb, vb, m, v, &loss, NULL) != AOTENSOR_NULL_POINTER;
}
"""


@pytest.mark.level("ci", "compiles a library, 3 s of processor time")
@pytest.mark.needs("cc")
def test_a_program_in_c_trains_in_place(tmp_path: Path) -> None:
    model(tmp_path)
    command = ["compile", str(tmp_path / "model.py"), "-o", str(tmp_path), "-q", "--cpu", "generic"]
    command += ["--train", "loss=binary_cross_entropy:score", "--wrt", "layer.weight,b"]
    assert run([*command, "--optimizer", "adam:learning_rate=0.05"]) == 0
    (tmp_path / "main.c").write_text(PROGRAM)
    cc = str(NEEDS["cc"].path)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wl,-rpath,$ORIGIN"]
    subprocess.run([cc, *flags, "main.c", "-L.", "-lf", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True)
    losses, p = expected()
    np.testing.assert_allclose([float(x) for x in done.stdout.split()], [*losses, *p], rtol=1e-12)


@pytest.mark.parametrize(
    ("train", "rule", "wrt", "said"),
    [
        ("loss=sise", None, "b", ["no output 'sise'", "outputs: score, size; losses: mse, mae, cross_entropy"]),
        ("loss=score", None, "b", ["--train: the output score of f is float64[n], not a floating scalar"]),
        ("loss=mse:scor", None, "b", ["no output 'scor'", "did you mean score?"]),
        ("loss=cross_entropy", None, "b", ["logits [examples, classes]"]),
        ("loss=size", None, "b", ["--train: f: "]),
        ("loss=size", None, "*.bias", ["--wrt: no input or parameter matches '*.bias'", "X, b, layer.weight"]),
        ("loss=mse", None, "X", ["--wrt: X of f is float64[n, 3], whose extents are not known"]),
        ("size", None, "b", ["--train 'size' is not understood"]),
        ("loss=size", "adan", "b", ["--optimizer 'adan' is unknown", "adam"]),
        ("loss=size", "sgd", "b", ["--optimizer sgd needs a learning rate"]),
        ("loss=size", "adam:lr=1", "b", ["--optimizer adam has no option 'lr'", "learning_rate, b1"]),
        ("loss=size", "adam:b1=2", "b", ["--optimizer adam: b1 is 2.0"]),
        ("loss=size", "adam:b1=x", "b", ["b1=x is not a number"]),
        ("loss=size", "momentum:learning_rate=1,nesterov=1", "b", ["nesterov=1 is not true or false"]),
    ],
)
def test_what_is_refused(train: str, rule: str | None, wrt: str, said: list[str], tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        steps(model(tmp_path), train, wrt, rule)
    assert all(text in f"{caught.value.title} {caught.value.hint}" for text in said), caught.value.title


def test_a_pattern_prefers_parameters_to_data(tmp_path: Path) -> None:
    (f,) = model(tmp_path)
    step, start = steps([f], "loss=size", "*", "sgd:learning_rate=0.25")
    assert (list(step.state), [x.name for x in step.inputs], list(start.results)) == (
        ["layer_weight"], ["X", "b"], ["layer_weight"],
    )  # fmt: skip
    losses = [step.reference(X, [0.0])["loss"] for _ in range(2)]  # each step halves the weights
    np.testing.assert_allclose(losses, np.array([1, 0.25]) * (0.5**2 + 0.25**2 + 0.125**2))


def test_the_options_belong_together() -> None:
    for train, rule, wrt, option in ((None, "adam", None, "--optimizer"), (None, None, "b", "--wrt")):
        with pytest.raises(Refusal, match=f"{option} needs --train"):
            wanted_training(train, rule, wrt)
    with pytest.raises(Refusal, match="--train needs --wrt"):
        wanted_training("loss=mse", None, None)


@pytest.mark.level("ci", "compiles two functions, 4 s of processor time")
def test_initializers_of_onnx_models_train(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="no onnx: pip install 'aotensor[onnx]'")
    h, real = onnx.helper, onnx.TensorProto.DOUBLE
    tensors = [("fc.weight", np.array([[0.5], [-0.25], [0.125]])), ("fc.bias", np.zeros(1)), ("axes", np.array([1]))]
    graph = h.make_graph(
        [h.make_node("Gemm", ["x", "fc.weight", "fc.bias"], ["y"]), h.make_node("Squeeze", ["y", "axes"], ["z"])],
        "line",
        [h.make_tensor_value_info("x", real, ["n", 3])],
        [h.make_tensor_value_info("z", real, ["n"])],
        [onnx.numpy_helper.from_array(value, name) for name, value in tensors],
    )
    path = tmp_path / "line.onnx"
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
    (f,) = load_model(str(path), ["fc.*"]).functions
    step, _ = steps([f], "loss=binary_cross_entropy", "fc.*", "adam:learning_rate=0.05")
    losses, p = expected()
    np.testing.assert_allclose([step(X, T)["loss"] for _ in range(STEPS)], losses, rtol=1e-12)
    assert [x.name for x in f.state.values()] == ["fc.weight", "fc.bias"]
    np.testing.assert_allclose(f(X)["z"], X @ p[:3] + p[3], rtol=1e-12)  # the same shared variables
    for pattern, said in (("*.weigth", "no initializer of the model matches"), ("axes", "axes' has dtype int64")):
        with pytest.raises(Refusal, match=said):
            load_model(str(path), [pattern])

"""Ten steps of training in a browser, by a library of `--train`: losses and parameters are those of this machine."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import Browser

from aotensor_runtime import load

pytestmark = pytest.mark.needs("chromium", "zig")

STEPS = 10
DIGITS = Path(__file__).parents[2] / "examples" / "onnx_models" / "digits.onnx"
MODEL = """
import numpy as np
import aotensor as aot, aotensor.tensor as at
X = at.matrix("X", dtype="float32", shape=("n", 3))
w = aot.shared(np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4), name="weight", shape=(3, 4))
b = aot.shared(np.zeros(4, "float32"), name="bias", shape=(4,))
net = aot.function([X], at.tanh(X @ w + b), name="net")
"""
PAGE = """
(async () => {{
  const {{ load }} = await import("data:text/javascript;base64,{module}");
  const model = await load(Uint8Array.from(atob("{library}"), (x) => x.charCodeAt(0)));
  const batch = {batch};
  for (const x of Object.values(batch)) x.data = {types}[x.dtype].from(x.data), delete x.dtype;
  let state = model.{name}_start();
  const losses = [];
  for (let k = 0; k < {steps}; k++) {{
    const {{ loss, ...next }} = model.{name}_step({{ ...batch, ...state }});
    state = Object.fromEntries(Object.entries(next).map(([key, x]) => [key.replace(/^new_/, ""), x]));
    losses.push(loss);
  }}
  const values = Object.entries(state).map(([key, x]) => [key, x.shape ? Array.from(x.data) : Number(x)]);
  return JSON.stringify([losses, Object.fromEntries(values)]);
}})()
"""
TYPES = "{ float32: Float32Array, int64: { from: (x) => BigInt64Array.from(x, BigInt) } }"


def trained(
    browser: Browser, command: Callable[..., str], folder: Path, model: Path, batch: dict[str, Any], *options: str
) -> None:
    """Train in the browser and here, from the command line with `--fp strict`, and compare all bits."""
    arguments = ["compile", model, "--fp", "strict", "--wrt", "*weight,*bias", *options]
    command(*arguments, "-o", folder / "web", "--target", "wasm32-wasi")
    command(*arguments, "-o", folder / "here")
    name = model.stem
    module, library = (
        base64.b64encode((folder / "web" / f"{name}{suffix}").read_bytes()).decode() for suffix in (".mjs", ".wasm")
    )
    given = {key: {"data": x.ravel().tolist(), "shape": x.shape, "dtype": str(x.dtype)} for key, x in batch.items()}
    text = PAGE.format(
        module=module, library=library, batch=json.dumps(given), types=f"({TYPES})", name=name, steps=STEPS
    )
    losses, values = json.loads(browser.run(text))
    step = load(folder / "here" / f"lib{name}.so").functions[f"{name}_step"]
    wanted = [float(step(**batch)["loss"]) for _ in range(STEPS)]
    assert losses == wanted and wanted[-1] < wanted[0]
    state = step.state
    assert values.keys() == state.keys() and values["step"] == STEPS
    for key, x in state.items():
        np.testing.assert_array_equal(np.array(values[key], x.dtype).reshape(x.shape), x, err_msg=key)


def test_a_model_in_python(browser: Browser, command: Callable[..., str], tmp_path: Path) -> None:
    model = tmp_path / "net.py"
    model.write_text(MODEL)
    rng = np.random.default_rng(5)
    batch = {
        "X": rng.standard_normal((6, 3)).astype("float32"), "target": rng.uniform(-1, 1, (6, 4)).astype("float32")
    }  # fmt: skip
    options = ("--train", "loss=mse", "--optimizer", "adamw:learning_rate=0.05")
    trained(browser, command, tmp_path, model, batch, *options)


def test_an_onnx_model(browser: Browser, command: Callable[..., str], tmp_path: Path) -> None:
    """All layers of a network of convolutions."""
    pytest.importorskip("onnx", reason="no onnx: pip install 'aotensor[onnx]'")
    k = np.arange(4 * 64)
    images, classes = (k * k % 17 / 16).astype("float32").reshape(4, 1, 8, 8), np.array([3, 1, 4, 5])
    options = ("--train", "loss=cross_entropy", "--optimizer", "adam:learning_rate=0.003")
    trained(browser, command, tmp_path, DIGITS, {"image": images, "target": classes}, *options)

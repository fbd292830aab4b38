"""The last layer of an ONNX model, trained in an emulator of a microcontroller: losses are the reference's."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import foreign
import numpy as np
import pytest

from aotensor_cli.model import load_model
from aotensor_cli.reading.training import wanted_training, with_steps

pytest.importorskip("onnx", reason="no onnx: pip install 'aotensor[onnx]'")
pytestmark = pytest.mark.needs("zig", "qemu-system")

_EXAMPLES: Final = Path(__file__).parents[2] / "examples"


def test_ten_steps_on_a_cortex_m4(tmp_path: Path) -> None:
    compiler = f"{shlex.quote(sys.executable)} -m ziglang cc -target thumb-freestanding-eabihf -mcpu=cortex_m4"
    command = [
        foreign.tool("make", "make"), "--no-print-directory", "-s", "-C", str(_EXAMPLES / "embedded"),
        f"BUILD={tmp_path}", f"ARM_CC={compiler}", f"AOTENSOR={shlex.quote(sys.executable)} -m aotensor_cli", "train",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (f,) = load_model(str(_EXAMPLES / "onnx_models" / "digits.onnx"), ["6.*"]).functions
    training = wanted_training("loss=cross_entropy", "momentum:learning_rate=0.002", "6.*")
    assert training is not None
    step, _ = with_steps([f], training)
    k = np.arange(4 * 64)
    images, classes = (k * k % 17 / 16).astype("float32").reshape(4, 1, 8, 8), np.array([3, 1, 4, 5])
    losses = [float(step.reference(images, classes)["loss"]) for _ in range(10)]
    assert losses[-1] < losses[0] / 3
    np.testing.assert_allclose([float(x) for x in done.stderr.split()], losses, rtol=1e-6, atol=3e-6)

"""Models of scikit-learn and of PyTorch, from ONNX files, as a library that needs neither.

Needs `pip install 'aotensor[onnx]'`; `onnx_models/export.py` says how the files were made. The gradient of the largest
logit says which pixels speak for a digit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.importers.onnx import from_onnx

HERE = Path(__file__).parent
tumours = from_onnx(HERE / "onnx_models" / "tumours.onnx", name="tumours")
digits = from_onnx(HERE / "onnx_models" / "digits.onnx", name="digits")
(pixels,) = digits.arguments.values()
logits = digits.outputs["logits"]
speaks = aot.function([pixels], aot.grad(at.sum(at.max(logits, axis=1)), pixels), name="speaks")

if __name__ == "__main__":
    library = aot.compile([tumours, digits, speaks], "build", name="onnx_models").load()
    table = np.loadtxt(HERE / "data" / "breast_cancer.csv", delimiter=",", skiprows=1, dtype="float32")[400:]
    label, share = library.tumours(np.ascontiguousarray(table[:, :-1])).values()
    print(f"tumours: {np.mean(label == table[:, -1]):.3f} of {len(table)} unseen are right; first {share[0]}")
    rows = np.loadtxt(HERE / "data" / "digits.csv.gz", delimiter=",", dtype="float32")[1200:]
    images = np.ascontiguousarray(rows[:, :-1].reshape(-1, 1, 8, 8) / 16)
    found = library.digits(images)["logits"].argmax(1)
    print(f"digits: {np.mean(found == rows[:, -1]):.3f} of {len(rows)} unseen are right")
    image = images[:1] + np.random.default_rng(0).uniform(0, 0.01, images[:1].shape).astype("float32")  # no ties
    slope = library.speaks(image)
    step = np.float32(1e-3) * slope / np.abs(slope).max()
    gain = library.digits(image + step)["logits"].max() - library.digits(image)["logits"].max()
    print(f"a step along the gradient: {gain:.5f} gained, {np.sum(slope * step):.5f} predicted")

"""How the models of this folder were made: once, with scikit-learn and skl2onnx, and with PyTorch.

    pip install scikit-learn skl2onnx torch
    python examples/onnx_models/export.py          writes tumours.onnx and digits.onnx anew

Nothing here is needed to compile them: `examples/from_onnx.py` does, with `onnx` alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from skl2onnx import to_onnx
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).parent
DATA = HERE.parent / "data"
TRAINED = 400
"""Tumours, and the first 1200 digits, are seen in training."""


def tumours() -> None:
    """A scaler and forty boosted trees that tell malignant from benign tumours."""
    table = np.loadtxt(DATA / "breast_cancer.csv", delimiter=",", skiprows=1, dtype="float32")
    model = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=40, max_depth=2, random_state=0))
    model.fit(table[:TRAINED, :-1], table[:TRAINED, -1].astype("int64"))
    options = {id(model): {"zipmap": False}}
    proto = to_onnx(model, table[:1, :-1], options=options, target_opset={"": 17, "ai.onnx.ml": 3}, name="tumours")
    (HERE / "tumours.onnx").write_bytes(proto.SerializeToString())


def digits() -> None:
    """Two convolutions and a linear layer that read digits of 8 x 8 pixels."""
    torch.manual_seed(0)
    table = np.loadtxt(DATA / "digits.csv.gz", delimiter=",", dtype="float32")
    images = torch.tensor(table[:1200, :-1]).reshape(-1, 1, 8, 8) / 16
    labels = torch.tensor(table[:1200, -1].astype("int64"))
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(256, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(30):
        for rows in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images[rows]), labels[rows]).backward()
            optimizer.step()
    torch.onnx.export(
        model.eval(), (images[:1],), str(HERE / "digits.onnx"), dynamo=False, opset_version=17,
        input_names=["image"], output_names=["logits"], dynamic_axes={"image": {0: "n"}, "logits": {0: "n"}},
    )  # fmt: skip


if __name__ == "__main__":
    tumours()
    digits()

"""Ten steps of each optimiser are those of PyTorch, with gradients by PyTorch's autograd; also of an ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor_cli.model import load_model
from aotensor_cli.reading.training import wanted_training, with_steps

pytestmark = [pytest.mark.needs("torch"), pytest.mark.unlimited("few environments have torch")]

STEPS: Final = 10
CLOSE: Final = {"float32": 1e-6, "float64": 1e-12}
"""Largest difference of a parameter, absolute or relative; parameters are about 1."""
ADAM: Final[dict[str, Any]] = {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1}
OURS: Final = {"b1": 0.8, "b2": 0.95, "eps": 1e-3, "weight_decay": 0.1}
PAIRS: Final[dict[str, tuple[at.training.Optimizer, str, dict[str, Any]]]] = {
    "sgd": (at.training.sgd(0.1), "SGD", {"lr": 0.1}),
    "sgd_decay": (at.training.sgd(0.1, weight_decay=0.2), "SGD", {"lr": 0.1, "weight_decay": 0.2}),
    "momentum": (at.training.momentum(0.1), "SGD", {"lr": 0.1, "momentum": 0.9}),
    "momentum_decay": (
        at.training.momentum(0.1, decay=0.7, weight_decay=0.2),
        "SGD",
        {"lr": 0.1, "momentum": 0.7, "weight_decay": 0.2},
    ),
    "nesterov": (
        at.training.momentum(0.1, decay=0.7, nesterov=True, weight_decay=0.2),
        "SGD",
        {"lr": 0.1, "momentum": 0.7, "nesterov": True, "weight_decay": 0.2},
    ),
    "adam": (at.training.adam(), "Adam", {}),
    "adam_options": (at.training.adam(0.05, **OURS), "Adam", ADAM),
    "adamw": (at.training.adamw(), "AdamW", {}),
    "adamw_options": (at.training.adamw(0.05, **OURS), "AdamW", ADAM),
}
"""Name → our optimiser, the class in torch.optim, its options. Torch's dampening, amsgrad and maximize are not ours."""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", PAIRS)
def test_ten_steps_are_those_of_torch(name: str, dtype: str) -> None:
    import torch

    ours, theirs, options = PAIRS[name]
    rng = np.random.default_rng(7)
    start = {"W": rng.standard_normal((4, 3)).astype(dtype), "b": np.zeros(3, dtype)}
    X, Y = rng.standard_normal((8, 4)).astype(dtype), rng.standard_normal((8, 3)).astype(dtype)
    params = {key: aot.shared(x, name=key, shape=x.shape) for key, x in start.items()}
    state = {key: aot.shared(x, name=key.replace(".", "_")) for key, x in ours.initial(start).items()}
    loss = ((at.tanh(X @ params["W"] + params["b"]) - Y) ** 2).mean()
    grads = dict(zip(params, aot.grad(loss, list(params.values())), strict=True))
    after, kept = ours.update(params, grads, state)
    updates = [(params[key], after[key]) for key in params] + [(state[key], kept[key]) for key in state]
    step = aot.function([], loss, updates=updates, name=f"torch_{name}")

    W, b = (torch.tensor(x, requires_grad=True) for x in start.values())
    optimizer = getattr(torch.optim, theirs)([W, b], **options)
    for _ in range(STEPS):
        found = step()
        optimizer.zero_grad()
        cost = ((torch.tanh(torch.tensor(X) @ W + b) - torch.tensor(Y)) ** 2).mean()
        cost.backward()
        optimizer.step()
        np.testing.assert_allclose(found, cost.item(), rtol=CLOSE[dtype])
    assert abs(params["W"].get_value() - start["W"]).max() > 1e-3
    for ours_, theirs_ in ((params["W"], W), (params["b"], b)):
        value = theirs_.detach().numpy()
        np.testing.assert_allclose(ours_.get_value(), value, rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.parametrize(
    ("rule", "theirs", "options"),
    [
        ("momentum:learning_rate=0.01,nesterov=true", "SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
        ("adamw:learning_rate=0.003,weight_decay=0.1", "AdamW", {"lr": 0.003, "weight_decay": 0.1}),
    ],
)
def test_an_onnx_model_trains_as_in_torch(rule: str, theirs: str, options: dict[str, Any]) -> None:
    """All layers of a network of convolutions that PyTorch exported, by `--train`, in float32."""
    import torch

    pytest.importorskip("onnx", reason="no onnx: pip install 'aotensor[onnx]'")
    path = Path(__file__).parents[2] / "examples" / "onnx_models" / "digits.onnx"
    (f,) = load_model(str(path), ["*.weight", "*.bias"]).functions
    training = wanted_training("loss=cross_entropy", rule, "*.weight,*.bias")
    assert training is not None
    step, _ = with_steps([f], training)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(256, 10),
    )  # fmt: skip
    values = {x.name: x for x in f.state.values()}
    model.load_state_dict({name: torch.tensor(x.get_value()) for name, x in values.items()})
    optimizer = getattr(torch.optim, theirs)(model.parameters(), **options)
    k = np.arange(16 * 64)
    images, classes = (k * k % 17 / 16).astype("float32").reshape(16, 1, 8, 8), np.arange(16) * 3 % 10
    losses = []
    for _ in range(STEPS):
        losses.append(float(step(images, classes)["loss"]))
        optimizer.zero_grad()
        cost = torch.nn.functional.cross_entropy(model(torch.tensor(images)), torch.tensor(classes))
        cost.backward()
        optimizer.step()
        np.testing.assert_allclose(losses[-1], cost.item(), rtol=1e-5)
    assert losses[-1] < losses[0] / 2
    for name, x in model.state_dict().items():
        np.testing.assert_allclose(values[name].get_value(), x.numpy(), rtol=1e-6, atol=1e-6, err_msg=name)

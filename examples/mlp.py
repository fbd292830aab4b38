"""Handwritten digits with a small neural network: the whole training step is one compiled function.

    python examples/mlp.py

The parameters and their velocities are shared variables; `train` returns the loss of a minibatch and updates them by
stochastic gradient descent with momentum. `predict` reads the same parameters.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import aotensor as aot
import aotensor.tensor as at

Array: TypeAlias = NDArray[np.float32]

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
PIXELS, HIDDEN, CLASSES = 64, 64, 10
BATCH, EPOCHS = 50, 20
RATE, MOMENTUM = np.float32(0.05), np.float32(0.9)

rng = np.random.default_rng(0)
W1 = aot.shared(rng.normal(scale=(2 / PIXELS) ** 0.5, size=(PIXELS, HIDDEN)).astype("float32"), name="W1")
b1 = aot.shared(np.zeros(HIDDEN, "float32"), name="b1")
W2 = aot.shared(rng.normal(scale=(2 / HIDDEN) ** 0.5, size=(HIDDEN, CLASSES)).astype("float32"), name="W2")
b2 = aot.shared(np.zeros(CLASSES, "float32"), name="b2")
parameters = [W1, b1, W2, b2]
velocities = [aot.shared(np.zeros_like(v.get_value()), name=f"velocity_{v.name}") for v in parameters]

images = at.matrix("images", dtype="float32", shape=("batch", PIXELS))
targets = at.matrix("targets", dtype="float32", shape=("batch", CLASSES))  # one-hot rows
hidden = at.maximum(images @ W1 + b1, 0)
log_p = at.log_softmax(hidden @ W2 + b2, axis=1)
loss = -(targets * log_p).sum(axis=1).mean()

steps = []
for parameter, velocity, derivative in zip(parameters, velocities, aot.grad(loss, parameters), strict=True):
    faster = MOMENTUM * velocity - RATE * derivative
    steps += [(velocity, faster), (parameter, parameter + faster)]
train = aot.function([images, targets], {"loss": loss}, updates=steps, name="train")
predict = aot.function([images], at.argmax(log_p, axis=1), name="predict")


def read_data() -> tuple[Array, NDArray[np.int64]]:
    """Pixels from 0 to 1, and digits.   images: (1797, 64), digits: (1797,)"""
    table = np.loadtxt(DATA, delimiter=",")
    return (table[:, :-1] / 16).astype("float32"), table[:, -1].astype("int64")


def main() -> None:
    pixels, digits = read_data()
    one_hot = np.eye(CLASSES, dtype="float32")[digits]
    order = np.random.default_rng(1).permutation(len(digits))
    fit, test = order[:1500], order[1500:]
    print(f"digits: {len(fit)} images to fit, {len(test)} to test, {PIXELS}-{HIDDEN}-{CLASSES} network")
    print(f"accuracy before: {np.mean(predict(pixels[test]) == digits[test]):.4f}")
    best = float("inf")
    for epoch in range(1, EPOCHS + 1):
        fit = np.random.default_rng(epoch).permutation(fit)
        batches = [(pixels[rows], one_hot[rows]) for rows in fit.reshape(-1, BATCH)]
        start = perf_counter()
        losses = [train(*batch)["loss"] for batch in batches]
        best = min(best, perf_counter() - start)
        print(f"epoch {epoch:2}: loss {np.mean(losses):.4f}")
    print(f"accuracy after: {np.mean(predict(pixels[test]) == digits[test]):.4f}")
    print(f"time of a step in the fastest epoch: {1e6 * best / len(batches):.0f} us")


if __name__ == "__main__":
    main()

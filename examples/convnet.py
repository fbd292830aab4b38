"""Handwritten digits with a small convolutional network: the whole training step is one compiled function.

    python examples/convnet.py

Two convolutions of 3 × 3 with bias and tanh, each with the mean of 2 × 2 behind it, then a product: the gradients of
all parameters are convolutions again. `sharpness` goes one order further: the change of the gradient along a direction.
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
SIDE, FIRST, SECOND, CLASSES = 8, 8, 16, 10
BATCH, EPOCHS = 50, 25
RATE, MOMENTUM = np.float32(0.05), np.float32(0.9)

rng = np.random.default_rng(0)


def drawn(name: str, *shape: int) -> aot.Variable:
    """Parameters whose products are as large as what they are multiplied by."""
    scale = (1 / np.prod(shape[1:])) ** 0.5
    return aot.shared(rng.normal(scale=scale, size=shape).astype("float32"), name=name)


W1, W2, W3 = drawn("W1", FIRST, 1, 3, 3), drawn("W2", SECOND, FIRST, 3, 3), drawn("W3", CLASSES, SECOND * 4)
b1, b2, b3 = (aot.shared(np.zeros(n, "float32"), name=f"b{k}") for k, n in ((1, FIRST), (2, SECOND), (3, CLASSES)))
parameters = [W1, b1, W2, b2, W3, b3]
velocities = [aot.shared(np.zeros_like(v.get_value()), name=f"velocity_{v.name}") for v in parameters]

images = at.tensor("images", dtype="float32", shape=("batch", 1, SIDE, SIDE))
targets = at.matrix("targets", dtype="float32", shape=("batch", CLASSES))  # one-hot rows
first = at.avg_pool2d(at.tanh(at.conv2d(images, W1, padding=1) + b1[None, :, None, None]), 2)
second = at.avg_pool2d(at.tanh(at.conv2d(first, W2, padding=1) + b2[None, :, None, None]), 2)
log_p = at.log_softmax(second.flatten(2) @ W3.T + b3, axis=1)
loss = -(targets * log_p).sum(axis=1).mean()

gradients = aot.grad(loss, parameters)
steps = []
for parameter, velocity, derivative in zip(parameters, velocities, gradients, strict=True):
    faster = MOMENTUM * velocity - RATE * derivative
    steps += [(velocity, faster), (parameter, parameter + faster)]
train = aot.function([images, targets], {"loss": loss}, updates=steps, name="train")
predict = aot.function([images], at.argmax(log_p, axis=1), name="predict")

direction = at.tensor("direction", dtype="float32", shape=(SECOND, FIRST, 3, 3))
along = aot.gradient.Rop(gradients[2], W2, direction)
sharpness = aot.function([images, targets, direction], {"gradient": gradients[2], "along": along}, name="sharpness")


def read_data() -> tuple[Array, NDArray[np.int64]]:
    """Pixels from 0 to 1, and digits.   images: (1797, 1, 8, 8), digits: (1797,)"""
    table = np.loadtxt(DATA, delimiter=",")
    return (table[:, :-1] / 16).astype("float32").reshape(-1, 1, SIDE, SIDE), table[:, -1].astype("int64")


def main() -> None:
    pixels, digits = read_data()
    one_hot = np.eye(CLASSES, dtype="float32")[digits]
    order = np.random.default_rng(1).permutation(len(digits))
    fit, test = order[:1500], order[1500:]
    print(f"digits: {len(fit)} images to fit, {len(test)} to test")
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

    v = np.random.default_rng(2).normal(size=W2.get_value().shape).astype("float32")
    given = pixels[:200], one_hot[:200], v
    found, before, step = sharpness(*given)["along"], W2.get_value(), np.float32(1e-2)
    sides = []
    for sign in (1, -1):
        W2.set_value(before + sign * step * v)
        sides.append(sharpness(*given)["gradient"].astype("float64"))
    W2.set_value(before)
    difference = (sides[0] - sides[1]) / (2 * float(step))
    error = np.linalg.norm(found - difference) / np.linalg.norm(difference)
    print(f"change of the gradient: {np.linalg.norm(found):.3e}, by differences off by {error:.1e} of it")


if __name__ == "__main__":
    main()

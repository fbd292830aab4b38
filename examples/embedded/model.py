"""A logistic loss and its gradient, of a batch that a microcontroller holds."""

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import grad

X = at.matrix("X", dtype="float32", shape=(8, 3))
y = at.vector("y", dtype="float32", shape=(8,))
w = at.vector("w", dtype="float32", shape=(3,))
loss = at.softplus(-y * (X @ w)).mean()

logistic = aot.function([X, y, w], {"loss": loss, "grad": grad(loss, w)}, name="logistic")

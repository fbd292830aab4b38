"""Ten steps of each optimiser beside those of optax, an implementation by others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="no jax: pip install 'aotensor[jax]'")
optax = pytest.importorskip("optax", reason="no optax: pip install optax")

import aotensor as aot  # noqa: E402
import aotensor.tensor as at  # noqa: E402

jax.config.update("jax_enable_x64", True)

PAIRS: dict[str, tuple[at.training.Optimizer, Any]] = {
    "sgd": (at.training.sgd(0.1), optax.sgd(0.1)),
    "momentum": (at.training.momentum(0.1, decay=0.8), optax.sgd(0.1, momentum=0.8)),
    "nesterov": (at.training.momentum(0.1, decay=0.8, nesterov=True), optax.sgd(0.1, momentum=0.8, nesterov=True)),
    "adam": (at.training.adam(0.05, b2=0.99), optax.adam(0.05, b2=0.99)),
    "adamw": (at.training.adamw(0.05, weight_decay=0.1), optax.adamw(0.05, weight_decay=0.1)),
    "lion": (at.training.lion(0.02, b2=0.95), optax.lion(0.02, b2=0.95, weight_decay=0.0)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_ten_steps_are_those_of_optax(name: str) -> None:
    ours, theirs = PAIRS[name]
    start = np.linspace(-1.0, 2.0, 7)
    w = aot.shared(start, name="w", shape=(7,))
    state = {key: aot.shared(x, name=key.replace(".", "_")) for key, x in ours.initial({"w": start}).items()}
    loss = (at.cosh(w) * np.arange(1.0, 8.0)).sum()
    after, kept = ours.update({"w": w}, {"w": aot.grad(loss, w)}, state)
    f = aot.function([], loss, updates=[(w, after["w"]), *((state[key], kept[key]) for key in state)], name=name)
    values, memory = jax.numpy.asarray(start), theirs.init(jax.numpy.asarray(start))
    for _ in range(10):
        f.reference()
        changes, memory = theirs.update(jax.numpy.sinh(values) * np.arange(1.0, 8.0), memory, values)
        values = optax.apply_updates(values, changes)
    np.testing.assert_allclose(w.get_value(), values, rtol=1e-10)

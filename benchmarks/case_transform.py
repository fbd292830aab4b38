"""(n) The mean spectrum of real signals, |rfft(x)|² over a batch, with its gradient: transforms forth and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from contenders import Array, Contender, Model, value_and_gradient


class Transform(Model):
    tolerance = 1e-11
    without: ClassVar = {
        "PyTensor Numba": "its transform is real pairs, by NumPy",
        "PyTensor C": "its transform is real pairs, by NumPy",
    }

    def __init__(self, batch: int, n: int = 1024) -> None:
        self.n = n
        self.title = f"(n) mean of log(1 + |rfft|²), {batch}x{n}"
        self.values = {"x": np.random.default_rng(0).normal(size=(batch, n))}

    def reference(self) -> list[Array]:
        (x,) = self.values.values()
        spectrum = np.fft.rfft(x)
        power = 1 + np.abs(spectrum) ** 2
        pulled = spectrum / power
        pulled[:, 1 : (self.n + 1) // 2] /= 2  # irfft takes these twice
        gradient = 2 * self.n / power.size * np.fft.irfft(pulled, self.n)
        return [np.log(power).mean(), gradient]

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        x = at.matrix("x", dtype="float64", shape=("batch", self.n))
        spectrum = at.rfft(x)
        loss = at.log1p(at.sqr(spectrum.real) + at.sqr(spectrum.imag)).mean()
        return aot.function([x], {"loss": loss, "gradient": aot.grad(loss, x)}, name="transform")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def loss(x: Any) -> Any:
            spectrum = jax.numpy.fft.rfft(x)
            return jax.numpy.log1p(spectrum.real**2 + spectrum.imag**2).mean()

        return lambda x: jax.value_and_grad(loss)(x)

    def torch(self, torch: Any) -> Callable[..., Any]:
        def loss(x: Any) -> Any:
            spectrum = torch.fft.rfft(x)
            return torch.log1p(spectrum.real**2 + spectrum.imag**2).mean()

        return value_and_gradient(torch, loss, [0])

    def numpy(self) -> Contender:
        return self.reference

"""(l) Convolutions in float32: images and signals by filters, with bias and relu, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import ONNX_PEERS, Absent, Array, Contender, Model, value_and_gradient
from onnx_models import Node, model_of

NAMES = ("x", "w", "b")


class Convolution(Model):
    """y = relu(x * w + b), zeros around; or Σ y² and its gradients.   extents, window: along each axis"""

    tolerance = 2e-5

    def __init__(self, samples: int, channels: int, extents: tuple[int, ...], filters: int, is_gradient: bool) -> None:
        self.rank, self.is_gradient, self.window = len(extents), is_gradient, 3 if len(extents) == 2 else 5
        size = "x".join(map(str, extents))
        what = "gradient of " if is_gradient else ""
        self.title = f"(l) {what}conv{self.rank}d {samples}x{channels}x{size} -> {filters} float32"
        rng = np.random.default_rng(0)
        x = rng.normal(size=(samples, channels, *extents)).astype("float32")
        w = rng.normal(size=(filters, channels, *[self.window] * self.rank)).astype("float32")
        w /= np.float32(w[0].size ** 0.5)
        self.values = {"x": x, "w": w, "b": rng.normal(size=filters).astype("float32")}
        self.products = 2.0 * x.size * w[:, 0].size * (3 if is_gradient else 1)

    def reference(self) -> list[Array]:
        return self._by_numpy(*(x.astype("float64") for x in self.values.values()))

    def _by_numpy(self, x: Array, w: Array, b: Array) -> list[Array]:
        axes = tuple(range(2, x.ndim))
        wide = np.pad(x, [(0, 0), (0, 0), *[(self.window // 2,) * 2] * self.rank])
        windows = np.lib.stride_tricks.sliding_window_view(wide, w.shape[2:], axes)
        taps = "kl"[: self.rank]
        y = np.maximum(np.einsum(f"nc...{taps},oc{taps}->no...", windows, w, optimize=True) + self._along(b), 0)
        if not self.is_gradient:
            return [y]
        g = 2 * y
        for_w = np.einsum(f"nc...{taps},no...->oc{taps}", windows, g, optimize=True)
        spread = np.zeros_like(wide)
        for k in np.ndindex(*w.shape[2:]):
            part = (slice(None), slice(None), *(slice(i, i + n) for i, n in zip(k, x.shape[2:], strict=True)))
            spread[part] += np.einsum("no...,oc->nc...", g, w[(slice(None), slice(None), *k)], optimize=True)
        inside = (slice(None), slice(None), *[slice(self.window // 2, -(self.window // 2))] * self.rank)
        return [np.asarray((y**2).sum()), spread[inside], for_w, g.sum(axis=(0, *axes))]

    def _along(self, b: Any) -> Any:
        return b.reshape((1, -1, *[1] * self.rank))

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        x, w, b = inputs = [at.tensor(name, "float32", _shape(name, v)) for name, v in self.values.items()]
        convolved = (at.conv1d if self.rank == 1 else at.conv2d)(x, w, padding="same")
        y = at.relu(convolved + self._along(b))
        loss = (y**2).sum()
        gradients = dict(zip(("grad_x", "grad_w", "grad_b"), aot.grad(loss, inputs), strict=True))
        return aot.function(inputs, {"loss": loss, **gradients} if self.is_gradient else {"y": y}, name="convolution")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def value(x: Any, w: Any, b: Any) -> Any:
            y = jax.lax.conv_general_dilated(x, w, (1,) * self.rank, "SAME")
            return jax.numpy.maximum(y + self._along(b), 0)

        def both(*inputs: Any) -> Any:
            loss, gradients = jax.value_and_grad(lambda *a: (value(*a) ** 2).sum(), argnums=(0, 1, 2))(*inputs)
            return (loss, *gradients)

        return both if self.is_gradient else lambda *inputs: (value(*inputs),)

    def torch(self, torch: Any) -> Callable[..., Any]:
        convolved = torch.nn.functional.conv1d if self.rank == 1 else torch.nn.functional.conv2d

        def value(x: Any, w: Any, b: Any) -> Any:
            return torch.relu(convolved(x, w, b, padding="same"))

        if not self.is_gradient:
            return lambda *inputs: [value(*inputs)]
        return value_and_gradient(torch, lambda *inputs: (value(*inputs) ** 2).sum(), by=range(3))

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        if not hasattr(pt.tensor, "conv"):
            raise Absent("since PyTensor 3 it has no convolution over channels")
        inputs = [pt.tensor.tensor(dtype="float32", shape=(None,) * x.ndim) for x in self.values.values()]
        x, w, b = inputs
        wide, kernel = (x, w) if self.rank == 2 else (x[:, :, None], w[:, :, None])
        half = (0, self.window // 2) if self.rank == 1 else (self.window // 2,) * 2
        y = pt.tensor.conv.abstract_conv.conv2d(wide, kernel, border_mode=half, filter_flip=False)
        y = pt.tensor.maximum((y if self.rank == 2 else y[:, :, 0]) + self._along(b), 0)
        loss = (y**2).sum()
        return inputs, [loss, *pt.grad(loss, inputs)] if self.is_gradient else [y]

    def numpy(self) -> Contender:
        return lambda: self._by_numpy(*self.values.values())


class FixedConvolution(Convolution):
    """y = relu(x * w + b) of one signal or image, with constant filters."""

    peers = ONNX_PEERS

    def __init__(self, channels: int, extents: tuple[int, ...], filters: int) -> None:
        super().__init__(1, channels, extents, filters, is_gradient=False)
        size = "x".join(map(str, extents))
        self.title = f"(l) conv{self.rank}d 1x{channels}x{size} -> {filters}, constant filters, float32"
        self.fixed = self.values.pop("w"), self.values.pop("b")

    def reference(self) -> list[Array]:
        return self._by_numpy(*(x.astype("float64") for x in (*self.values.values(), *self.fixed)))

    def aotensor(self, aot: Any) -> Any:
        at, (x_value,) = aot.tensor, self.values.values()
        x, (w, b) = at.tensor("x", "float32", x_value.shape), (at.constant(v) for v in self.fixed)
        convolved = (at.conv1d if self.rank == 1 else at.conv2d)(x, w, padding="same")
        y = at.relu(convolved + self._along(b))
        return aot.function([x], {"y": y}, name="convolution")

    def jax(self, jax: Any) -> Callable[..., Any]:
        whole = super().jax(jax)
        return lambda x: whole(x, *self.fixed)

    def torch(self, torch: Any) -> Callable[..., Any]:
        whole, fixed = super().torch(torch), [torch.from_numpy(v) for v in self.fixed]
        return lambda x: whole(x, *fixed)

    def onnx(self, onnx: Any) -> bytes:
        pads = [self.window // 2] * (2 * self.rank)
        nodes: list[Node] = [("Conv", "xwb", "c", {"pads": pads}), ("Relu", "c", "y", {})]
        return model_of(onnx, nodes, dict(zip("wb", self.fixed, strict=True)), self.values, ["y"])

    def numpy(self) -> Contender:
        return lambda: self._by_numpy(*self.values.values(), *self.fixed)


def _shape(name: str, value: Array) -> tuple[int | str, ...]:
    """The filters are known, the batch is not."""
    return ("batch", *value.shape[1:]) if name == "x" else value.shape

"""(q) A recurrent voice detector, one frame of 32 ms at 16 kHz: spectrum, convolutions, an LSTM cell, a probability.

The layers and extents are those of small voice detectors as packages ship them; weights are random and constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from contenders import ONNX_PEERS, Array, Contender, Model
from onnx_models import Node, model_of

FRAME: Final = 576
WINDOW: Final = 256
BINS: Final = WINDOW // 2 + 1
STATE: Final = 128
LAYERS: Final = ((BINS, 128, 1), (128, 64, 2), (64, 64, 2), (64, STATE, 1))
"""Of each convolution of three taps: channels, filters, stride."""
_EXTENTS: Final = (4, 4, 2, 1, 1)
"""Positions before, between and after the convolutions."""


class Voice(Model):
    """Probability of speech and the next state of the cell, from a frame and the state."""

    tolerance = 2e-5
    peers = ONNX_PEERS

    def __init__(self) -> None:
        self.title = "(q) voice detector, one frame, float32"
        rng = np.random.default_rng(0)
        self.values = {
            "sound": _noise(rng, 0.3, 1, FRAME), "h": _noise(rng, 0.1, 1, STATE), "c": _noise(rng, 0.1, 1, STATE)
        }  # fmt: skip
        self.weights = _weights(rng)
        self.products = 2.0 * (2 * BINS * WINDOW * _EXTENTS[0] + 2 * 4 * STATE * STATE + STATE)
        self.products += sum(6.0 * c * f * n for (c, f, _), n in zip(LAYERS, _EXTENTS[1:], strict=True))

    def reference(self) -> list[Array]:
        wide = {name: x.astype("float64") for name, x in self.weights.items()}
        return _detected(_Numpy(), *(x.astype("float64") for x in self.values.values()), wide)

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        inputs = [at.tensor(name, "float32", x.shape) for name, x in self.values.items()]
        weights = {name: at.constant(x) for name, x in self.weights.items()}
        outputs = _detected(_Aotensor(at), *inputs, weights)
        return aot.function(inputs, dict(zip(("p", "h_next", "c_next"), outputs, strict=True)), name="voice")

    def jax(self, jax: Any) -> Callable[..., Any]:
        return lambda *inputs: tuple(_detected(_Jax(jax), *inputs, self.weights))

    def torch(self, torch: Any) -> Callable[..., Any]:
        weights = {name: torch.from_numpy(x) for name, x in self.weights.items()}
        return lambda *inputs: _detected(_Torch(torch), *inputs, weights)

    def onnx(self, onnx: Any) -> bytes:
        """The cell is an LSTM node, whose gates are in the order input, output, forget, cell."""
        order = [0, 3, 1, 2]
        w = {name: x for name, x in self.weights.items() if name not in ("W", "R", "bias")}
        for name in ("W", "R", "bias"):
            gates = np.split(self.weights[name], 4)
            w[name] = np.concatenate([gates[k] for k in order])[None]
        w["biases"] = np.concatenate([w.pop("bias"), np.zeros((1, 4 * STATE), "float32")], axis=1)
        whole = {"one": [1], "low": [0], "half": [BINS], "high": [2 * BINS], "channels": [1],
                 "pads": [0, 0, 0, 0, 0, WINDOW // 4]}  # fmt: skip
        w |= {name: np.array(x, "int64") for name, x in whole.items()}
        nodes: list[Node] = [
            ("Unsqueeze", ["sound", "one"], "wave", {}),
            ("Pad", ["wave", "pads"], "wide", {"mode": "reflect"}),
            ("Conv", ["wide", "basis"], "spectrum", {"strides": [WINDOW // 2]}),
            ("Slice", ["spectrum", "low", "half", "channels"], "re", {}),
            ("Slice", ["spectrum", "half", "high", "channels"], "im", {}),
            ("Mul", ["re", "re"], "re2", {}),
            ("Mul", ["im", "im"], "im2", {}),
            ("Add", ["re2", "im2"], "power", {}),
            ("Sqrt", ["power"], "x0", {}),
        ]
        for k, (_, _, stride) in enumerate(LAYERS):
            nodes.append(("Conv", [f"x{k}", f"w{k}", f"b{k}"], f"y{k}", {"strides": [stride], "pads": [1, 1]}))
            nodes.append(("Relu", [f"y{k}"], f"x{k + 1}", {}))
        nodes += [
            ("Transpose", [f"x{len(LAYERS)}"], "steps", {"perm": [2, 0, 1]}),
            ("Unsqueeze", ["h", "low"], "h0", {}),
            ("Unsqueeze", ["c", "low"], "c0", {}),
            ("LSTM", ["steps", "W", "R", "biases", "", "h0", "c0"], "all h1 c1", {"hidden_size": STATE}),
            ("Squeeze", ["h1", "low"], "h_next", {}),
            ("Squeeze", ["c1", "low"], "c_next", {}),
            ("Relu", ["h_next"], "lit", {}),
            ("MatMul", ["lit", "out"], "score", {}),
            ("Add", ["score", "out_bias"], "shifted", {}),
            ("Sigmoid", ["shifted"], "p", {}),
        ]
        return model_of(onnx, nodes, w, self.values, ["p", "h_next", "c_next"])

    def numpy(self) -> Contender:
        return lambda: _detected(_Numpy(), *self.values.values(), self.weights)


def _noise(rng: np.random.Generator, scale: float, *shape: int) -> Array:
    return (scale * rng.normal(size=shape)).astype("float32")


def _weights(rng: np.random.Generator) -> dict[str, Array]:
    """Filters, biases and matrices by name; the first convolution has cosines and sines under a Hann window."""
    t = np.arange(WINDOW)
    angles = 2 * np.pi * np.arange(BINS)[:, None] * t / WINDOW
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * t / WINDOW)
    found = {"basis": (hann * np.concatenate([np.cos(angles), -np.sin(angles)])).astype("float32")[:, None]}
    for k, (channels, filters, _) in enumerate(LAYERS):
        found |= {
            f"w{k}": _noise(rng, (3 * channels) ** -0.5, filters, channels, 3),
            f"b{k}": _noise(rng, 0.1, filters),
        }
    scale = STATE**-0.5
    found |= {"W": _noise(rng, scale, 4 * STATE, STATE), "R": _noise(rng, scale, 4 * STATE, STATE)}
    found |= {"bias": _noise(rng, 0.1, 4 * STATE), "out": _noise(rng, scale, STATE, 1), "out_bias": _noise(rng, 0.1, 1)}
    return found


def _detected(f: Any, sound: Any, h: Any, c: Any, w: Mapping[str, Any]) -> list[Any]:
    """Probability, next h, next c.   f: functions of a framework. Gates: input, forget, cell, output."""
    n = WINDOW // 4
    wide = f.joined([sound, sound[:, FRAME - 1 - n : FRAME - 1][:, f.backwards]], 1)  # reflected at the end
    spectrum = f.convolved(wide[:, None], w["basis"], WINDOW // 2, 0)
    re, im = spectrum[:, :BINS], spectrum[:, BINS:]
    x = (re * re + im * im) ** 0.5
    for k, (_, _, stride) in enumerate(LAYERS):
        x = f.relu(f.convolved(x, w[f"w{k}"], stride, 1) + w[f"b{k}"][:, None])
    gates = x[:, :, 0] @ w["W"].T + h @ w["R"].T + w["bias"]
    i, forget, cell, o = (gates[:, STATE * k : STATE * (k + 1)] for k in range(4))
    c_next = f.sigmoid(forget) * c + f.sigmoid(i) * f.tanh(cell)
    h_next = f.sigmoid(o) * f.tanh(c_next)
    return [f.sigmoid(f.relu(h_next) @ w["out"] + w["out_bias"]), h_next, c_next]


class _Numpy:
    backwards = slice(None, None, -1)
    joined, tanh = staticmethod(np.concatenate), staticmethod(np.tanh)

    def convolved(self, x: Array, w: Array, stride: int, half: int) -> Array:
        wide = np.pad(x, [(0, 0), (0, 0), (half, half)])
        windows = np.lib.stride_tricks.sliding_window_view(wide, w.shape[2], 2)[:, :, ::stride]
        return np.einsum("ncpk,ock->nop", windows, w, optimize=True)

    def relu(self, x: Array) -> Array:
        return np.maximum(x, 0)

    def sigmoid(self, x: Array) -> Array:
        return 1 / (1 + np.exp(-x))


class _Aotensor:
    backwards = slice(None, None, -1)

    def __init__(self, at: Any) -> None:
        self.joined, self.tanh, self.relu, self.sigmoid, self.conv1d = (
            at.concatenate, at.tanh, at.relu, at.sigmoid, at.conv1d
        )  # fmt: skip

    def convolved(self, x: Any, w: Any, stride: int, half: int) -> Any:
        return self.conv1d(x, w, stride=stride, padding=half)


class _Jax:
    backwards = slice(None, None, -1)

    def __init__(self, jax: Any) -> None:
        self.lax, self.joined, self.tanh = jax.lax, jax.numpy.concatenate, jax.numpy.tanh
        self.relu, self.sigmoid = jax.nn.relu, jax.nn.sigmoid

    def convolved(self, x: Any, w: Any, stride: int, half: int) -> Any:
        return self.lax.conv_general_dilated(x, w, (stride,), [(half, half)])


class _Torch:
    def __init__(self, torch: Any) -> None:
        self.backwards = torch.arange(WINDOW // 4 - 1, -1, -1)
        self.joined, self.tanh, self.relu, self.sigmoid = torch.cat, torch.tanh, torch.relu, torch.sigmoid
        self.conv1d = torch.nn.functional.conv1d

    def convolved(self, x: Any, w: Any, stride: int, half: int) -> Any:
        return self.conv1d(x, w, stride=stride, padding=half)

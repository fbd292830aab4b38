"""(d) Recurrent networks over 100 steps, loss and gradients: an LSTM on a batch in float32, a plain one in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from contenders import Array, Model, value_and_gradient
from scipy.special import expit


class Lstm(Model):
    """Mean square of (last state)·V - y. The inputs of all gates of all steps are one product in front of the loop."""

    tolerance = 5e-5
    without: ClassVar = {"torch compiled": "its compiler takes neither its op for sequences nor loops"}
    parameters = ("W", "U", "b", "V")

    def __init__(self, steps: int = 100, batch: int = 16, features: int = 32, hidden: int = 64) -> None:
        self.title = f"(d) LSTM {steps} steps, batch {batch}, {features}-{hidden}, float32"
        self.steps, self.batch, self.features, self.hidden = steps, batch, features, hidden
        self.products = 2.0 * steps * batch * 4 * hidden * (2 * features + 3 * hidden)
        rng = np.random.default_rng(0)
        shapes = {
            "X": (steps, batch, features), "y": (batch,),
            "W": (features, 4 * hidden), "U": (hidden, 4 * hidden), "b": (4 * hidden,), "V": (hidden,),
        }  # fmt: skip
        scale = {"W": features**-0.5, "U": hidden**-0.5, "V": hidden**-0.5}
        self.values = {
            name: (scale.get(name, 1.0) * rng.normal(size=shape)).astype("float32") for name, shape in shapes.items()
        }

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        inputs = [at.tensor(name, dtype="float32", shape=x.shape) for name, x in self.values.items()]
        X, y, W, U, b, V = inputs

        def run(step: Callable[..., Any], gates: Any, start: Any) -> Any:
            states, _ = aot.scan(lambda g, h, c: step(h, c, g), sequences=[gates], outputs_info=[start, start])
            return states[0][-1]

        loss = self._loss(at, at.sigmoid, run, X, y, W, U, b, V)
        derivatives = aot.grad(loss, [W, U, b, V])
        outputs = {"loss": loss} | {f"grad_{name}": g for name, g in zip(self.parameters, derivatives, strict=True)}
        return aot.function(inputs, outputs, name="lstm")

    def jax(self, jax: Any) -> Callable[..., Any]:
        def run(step: Callable[..., Any], gates: Any, start: Any) -> Any:
            return jax.lax.scan(lambda state, g: (step(*state, g), None), (start, start), gates)[0][0]

        def loss(parameters: list[Any], X: Any, y: Any) -> Any:
            return self._loss(jax.numpy, jax.nn.sigmoid, run, X, y, *parameters)

        def flat(X: Any, y: Any, *parameters: Any) -> Any:
            value, derivatives = jax.value_and_grad(loss)(list(parameters), X, y)
            return (value, *derivatives)

        return flat

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        inputs = [pt.tensor.tensor(dtype="float32", shape=x.shape) for x in self.values.values()]
        X, y, W, U, b, V = inputs

        def run(step: Callable[..., Any], gates: Any, start: Any) -> Any:
            states = pt.scan(
                lambda g, h, c: step(h, c, g), sequences=[gates], outputs_info=[start, start], return_updates=False
            )
            return states[0][-1]

        loss = self._loss(pt.tensor, pt.tensor.sigmoid, run, X, y, W, U, b, V)
        return inputs, [loss, *pt.grad(loss, [W, U, b, V])]

    def torch(self, torch: Any) -> Callable[..., Any]:
        """The loss by PyTorch's LSTM op for whole sequences, which orders the gates differently."""
        n = self.hidden
        order = torch.from_numpy(np.r_[n : 2 * n, :n, 2 * n : 4 * n])

        def loss(X: Any, y: Any, W: Any, U: Any, b: Any, V: Any) -> Any:
            start = torch.zeros((1, self.batch, n), dtype=X.dtype)
            weights = [W.T[order], U.T[order], b[order], torch.zeros_like(b)]
            _, h, _ = torch.lstm(X, (start, start), weights, True, 1, 0.0, True, False, False)
            return ((h[0] @ V - y) ** 2).mean()

        return value_and_gradient(torch, loss, by=range(2, 6))

    def _loss(
        self, np: Any, sigmoid: Callable[[Any], Any], run: Callable[..., Any],
        X: Any, y: Any, W: Any, U: Any, b: Any, V: Any,
    ) -> Any:  # fmt: skip
        """The loss, by functions that aotensor, JAX and PyTensor all have."""
        n = self.hidden
        gates = (X.reshape((self.steps * self.batch, self.features)) @ W + b).reshape((self.steps, self.batch, 4 * n))

        def step(h: Any, c: Any, g: Any) -> tuple[Any, Any]:
            z = g + h @ U
            c = sigmoid(z[:, :n]) * c + sigmoid(z[:, n : 2 * n]) * np.tanh(z[:, 2 * n : 3 * n])
            return sigmoid(z[:, 3 * n :]) * np.tanh(c), c

        h = run(step, gates, np.zeros((self.batch, n), dtype="float32"))
        return ((h @ V - y) ** 2).mean()

    def reference(self) -> list[Array]:
        X, y, W, U, b, V = (x.astype("float64") for x in self.values.values())
        n = self.hidden
        h = c = np.zeros((self.batch, n))
        tape = []
        for x in X:
            z = x @ W + b + h @ U
            f, i, o = (expit(z[:, k * n : (k + 1) * n]) for k in (0, 1, 3))
            g = np.tanh(z[:, 2 * n : 3 * n])
            following = f * c + i * g
            tape.append((x, h, c, f, i, g, o, np.tanh(following)))
            h, c = o * np.tanh(following), following
        error = h @ V - y
        dh, dc = np.outer(2 * error / self.batch, V), np.zeros_like(h)
        dW, dU, db = np.zeros_like(W), np.zeros_like(U), np.zeros_like(b)
        for x, before, c, f, i, g, o, t in reversed(tape):
            dc = dc + dh * o * (1 - t * t)
            dz = np.hstack([dc * c * f * (1 - f), dc * g * i * (1 - i), dc * i * (1 - g * g), dh * t * o * (1 - o)])
            dW, dU, db = dW + x.T @ dz, dU + before.T @ dz, db + dz.sum(axis=0)
            dh, dc = dz @ U.T, dc * f
        return [np.mean(error**2), dW, dU, db, 2 * h.T @ error / self.batch]


class Rnn(Model):
    """loss = Σ_t (h_t·v - y_t)² for h_t = tanh(U·h_{t-1} + w·x_t + b), one sequence of numbers."""

    tolerance = 1e-10
    without: ClassVar = {"torch compiled": "its compiler unrolls the loop, for two minutes"}
    parameters = ("w", "U", "b", "v")

    def __init__(self, steps: int = 100, hidden: int = 32) -> None:
        self.title = f"(d) RNN {steps} steps, {hidden} states, float64"
        rng = np.random.default_rng(0)
        shapes = {"x": steps, "y": steps, "w": hidden, "U": (hidden, hidden), "b": hidden, "v": hidden}
        self.values = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        self.values["U"] /= hidden**0.5
        self.hidden = hidden

    def aotensor(self, aot: Any) -> Any:
        at = aot.tensor
        inputs = [at.tensor(name, dtype="float64", shape=x.shape) for name, x in self.values.items()]
        x, y, w, U, b, v = inputs
        h, _ = aot.scan(lambda x, h: at.tanh(U @ h + w * x + b), sequences=[x], outputs_info=[at.zeros((self.hidden,))])
        loss = ((h @ v - y) ** 2).sum()
        derivatives = aot.grad(loss, [w, U, b, v])
        outputs = {"loss": loss} | {f"grad_{name}": g for name, g in zip(self.parameters, derivatives, strict=True)}
        return aot.function(inputs, outputs, name="rnn")

    def jax(self, jax: Any) -> Callable[..., Any]:
        jnp = jax.numpy

        def loss(parameters: list[Any], x: Any, y: Any) -> Any:
            w, U, b, v = parameters

            def step(h: Any, x: Any) -> Any:
                h = jnp.tanh(U @ h + w * x + b)
                return h, h

            h = jax.lax.scan(step, jnp.zeros(self.hidden), x)[1]
            return ((h @ v - y) ** 2).sum()

        def flat(x: Any, y: Any, *parameters: Any) -> Any:
            value, derivatives = jax.value_and_grad(loss)(list(parameters), x, y)
            return (value, *derivatives)

        return flat

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        inputs = [pt.tensor.tensor(dtype="float64", shape=x.shape) for x in self.values.values()]
        x, y, w, U, b, v = inputs
        h = pt.scan(
            lambda x, h: pt.tensor.tanh(U @ h + w * x + b),
            sequences=[x], outputs_info=[pt.tensor.zeros((self.hidden,))], return_updates=False,
        )  # fmt: skip
        loss = ((h @ v - y) ** 2).sum()
        return inputs, [loss, *pt.grad(loss, [w, U, b, v])]

    def torch(self, torch: Any) -> Callable[..., Any]:
        def loss(x: Any, y: Any, w: Any, U: Any, b: Any, v: Any) -> Any:
            start, nothing = torch.zeros((1, 1, self.hidden), dtype=x.dtype), torch.zeros_like(b)
            weights = [w[:, None], U, b, nothing]
            h, _ = torch.rnn_tanh(x[:, None, None], start, weights, True, 1, 0.0, True, False, False)
            return ((h[:, 0] @ v - y) ** 2).sum()

        return value_and_gradient(torch, loss, by=range(2, 6))

    def casadi(self, ca: Any) -> Any:
        x, y, w, U, b, v = (ca.MX.sym(name, *a.shape) for name, a in self.values.items())
        at, h = ca.SX.sym("x"), ca.SX.sym("h", self.hidden)
        sw, sU, sb = (ca.SX.sym(name, *self.values[name].shape) for name in ("w", "U", "b"))
        step = ca.Function("step", [h, at, sw, sU, sb], [ca.tanh(sU @ h + sw * at + sb)])
        states = step.mapaccum("states", len(self.values["x"]))(
            ca.MX.zeros(self.hidden), x.T, *(ca.repmat(p, 1, len(self.values["x"])) for p in (w, U, b))
        )
        loss = ca.sumsqr(states.T @ v - y)
        return ca.Function("rnn", [x, y, w, U, b, v], [loss, *(ca.gradient(loss, p) for p in (w, U, b, v))])

    def reference(self) -> list[Array]:
        x, y, w, U, b, v = self.values.values()
        states = [np.zeros(self.hidden)]
        for number in x:
            states.append(np.tanh(U @ states[-1] + w * number + b))
        error = np.stack(states[1:]) @ v - y
        dw, dU, db, dh = np.zeros_like(w), np.zeros_like(U), np.zeros_like(b), np.zeros_like(w)
        for t in reversed(range(len(x))):
            dz = (dh + 2 * error[t] * v) * (1 - states[t + 1] ** 2)
            dw, dU, db = dw + dz * x[t], dU + np.outer(dz, states[t]), db + dz
            dh = U.T @ dz
        return [np.sum(error**2), dw, dU, db, 2 * np.stack(states[1:]).T @ error]

"""Functions of libraries as operators of JAX and PyTorch: values, gradients, and what is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from needs import path_of

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor_runtime import Library
from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError
from aotensor_runtime.frameworks.derivative import differentiable

RNG = np.random.default_rng(0)
X, LABELS, W = RNG.normal(size=(7, 3)), np.sign(RNG.normal(size=7)), RNG.normal(size=3)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    x, y = at.matrix("X", dtype="float64", shape=("n", "p")), at.vector("y", dtype="float64", shape=("n",))
    w, i = at.vector("w", dtype="float64", shape=("p",)), at.scalar("i", dtype="int64")
    u, b = at.vector("u", dtype="float32", shape=("k",)), at.vector("b", dtype="bool", shape=("k",))
    S, count = sp.csr_matrix("S", dtype="float64"), aot.shared(0.0, name="count")
    loss = at.softplus(-y * (x @ w)).mean() + w[i] * 0.5
    both = aot.grad(loss, [x, w])
    functions = [
        aot.function([x, y, w, i], {"loss": loss, "grad_w": both[1], "grad_X": both[0]}, name="logistic"),
        aot.function([u, b], [u[:, None] * u[None, :], b], name="tables"),
        aot.function([u], (u * u).sum(), name="single"),
        aot.function([u], {"value": u.sum(), "slope": 2 * u}, name="named"),
        aot.function([S], S.sum(), name="sparse"),
        aot.function([u], u.sum() + count, updates={count: count + 1}, name="counting"),
        aot.function([b], at.nonzero(b)[0], name="positions"),
        aot.function([u], {"value": 2 * u, "grad_u": u}, name="vectorial"),
        aot.function([w], {"value": (w @ w), "grad_w": at.cast(w, "float32")}, name="narrow"),
    ]
    return aot.compile(functions, tmp_path_factory.mktemp("frameworks"), name="frameworks").load()


def value(x: Any, y: Any, w: Any, i: int) -> float:
    return float(np.logaddexp(0, -y * (x @ w)).mean() + 0.5 * w[i])


def by_differences(f: Callable[[Any], float], at_point: Any) -> Any:
    flat = [
        (f(at_point + h.reshape(at_point.shape)) - f(at_point - h.reshape(at_point.shape))) / 2e-6
        for h in 1e-6 * np.eye(at_point.size)
    ]
    return np.array(flat).reshape(at_point.shape)


def test_torch(library: Library) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from aotensor_runtime.frameworks.torch import _MADE, operator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = operator(library.logistic)
        x, y, i = (torch.tensor(a) for a in (X, LABELS, np.int64(1)))
        w = torch.tensor(W, requires_grad=True)
        assert float(call(x, y, w, i)) == pytest.approx(value(X, LABELS, W, 1), rel=1e-13)
        (2 * call(x, y, 3 * w, i)).backward()
        np.testing.assert_allclose(w.grad, 2 * by_differences(lambda w: value(X, LABELS, 3 * w, 1), W), rtol=1e-7)
        x.requires_grad_()
        (slope,) = torch.autograd.grad(call(x.T.contiguous().T, y, w, i), x)  # strided
        np.testing.assert_allclose(slope, by_differences(lambda x: value(x, LABELS, W, 1), X), rtol=1e-6, atol=1e-9)
        torch.library.opcheck(
            next(reversed(_MADE.values()))[1], ([x.detach(), y, w.detach(), i],),
            test_utils=("test_schema", "test_faketensor"),
        )  # fmt: skip
        with pytest.raises(ArgumentTypeError, match=r"does not contain its second derivatives"):
            torch.autograd.grad(torch.autograd.grad(call(x, y, w, i), w, create_graph=True)[0].sum(), w)
        with pytest.raises(ArgumentTypeError, match=r"no output that is the derivative by y"):
            call(x, y.clone().requires_grad_(), w, i)
        with pytest.raises(ArgumentTypeError, match=r"w is float64, not torch.float32"):
            call(x, y, w.float(), i)
        with pytest.raises(ArgumentValueError, match=r"axis 0 of w has 2 elements, expected 3"):
            call(x, y, w[:2], i)
        with pytest.raises(IndexError, match=r"index 7 is out of range"):
            call(x, y, w, i + 6)
        u, none = torch.arange(3, dtype=torch.float32), torch.empty(0)
        assert operator(library.single)(u) == 5 and operator(library.single)(none) == 0
        assert operator(library.tables, "out0")(u, u > 0).shape == (3, 3)
        assert operator(library.tables, "out1")(u, u > 0).tolist() == [False, True, True]
        assert operator(library.named, "value", {"u": "slope"})(u.requires_grad_()).grad_fn is not None
        assert operator(library.logistic).__doc__ == library.logistic.__doc__


def test_torch_keeps_it_whole(library: Library) -> None:
    """In one graph, without a break."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from aotensor_runtime.frameworks.torch import operator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call, (x, y, i) = operator(library.logistic), (torch.tensor(a) for a in (X, LABELS, np.int64(1)))
        w = torch.tensor(W, requires_grad=True)
        compiled = torch.compile(lambda w: call(x, y, w, i) * 2, backend="aot_eager", fullgraph=True)
        (found,) = torch.autograd.grad(compiled(w), w)
    np.testing.assert_allclose(found, 2 * library.logistic(X, LABELS, W, 1)["grad_w"])


def test_jax(library: Library) -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    path_of("cc")
    from aotensor_runtime.frameworks.jax import operator

    call = operator(library.logistic)
    with jax.enable_x64(True):
        assert call(X, LABELS, W, 1) == pytest.approx(value(X, LABELS, W, 1), rel=1e-13)
        found = jax.jit(jax.value_and_grad(lambda w: call(X, LABELS, 3 * w, 1) ** 2))(W)
        wanted = by_differences(lambda w: value(X, LABELS, 3 * w, 1) ** 2, W)
        assert found[0] == pytest.approx(value(X, LABELS, 3 * W, 1) ** 2)
        np.testing.assert_allclose(found[1], wanted, rtol=1e-7)
        slope = jax.grad(call)(X, LABELS, W, 1)
        np.testing.assert_allclose(slope, by_differences(lambda x: value(x, LABELS, W, 1), X), rtol=1e-6, atol=1e-9)
        several = jax.vmap(jax.grad(lambda w: call(X, LABELS, w, 1)))(np.stack([W, 2 * W]))
        np.testing.assert_allclose(several[1], library.logistic(X, LABELS, 2 * W, 1)["grad_w"])
        assert "custom_call" in jax.jit(lambda w: call(X, LABELS, w, 1)).lower(W).as_text()
        with pytest.raises(ArgumentTypeError, match=r"no output that is the derivative by y"):
            jax.grad(call, argnums=1)(X, LABELS, W, 1)
        with pytest.raises(ArgumentValueError, match=r"axis 0 of w has 2 elements, expected 3"):
            call(X, LABELS, W[:2], 1)
        with pytest.raises(ArgumentTypeError, match=r"w is float64, not float32"):
            call(X, LABELS, W.astype("float32"), 1)
        with pytest.raises(ArgumentTypeError, match=r"expected 4 arguments"):
            call(X, LABELS, W)
        with pytest.raises(Exception, match=r"index 7 is out of range"):
            jax.block_until_ready(call(X, LABELS, W, 7))
        with pytest.raises(ValueError, match=r"cannot be differentiated"):
            jax.hessian(lambda w: call(X, LABELS, w, 1))(W)
        u = np.arange(3, dtype="float32")
        assert operator(library.single)(u) == 5 and operator(library.single)(u[:0]) == 0
        assert operator(library.tables, "out1")(u, u > 0).tolist() == [False, True, True]
        np.testing.assert_array_equal(operator(library.tables, "out0")(u, u > 0), np.outer(u, u))
        named = operator(library.named, "value", {"u": "slope"})
        assert jax.grad(lambda u: 3 * named(u))(u).tolist() == [0, 6, 12]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("sparse", {}, "inputs or outputs include sparse matrices"),
        ("counting", {}, "has shared variables"),
        ("positions", {}, "known only after a call"),
        ("tables", {}, "value= must name the output to differentiate: out0, out1"),
        ("named", {"value": "nothing"}, "has no output 'nothing'"),
        ("named", {"gradients": {"x": "slope"}}, "named has no input 'x'"),
        ("named", {"gradients": {"u": "grad_u"}}, "has no output 'grad_u'"),
        ("vectorial", {}, "only a real scalar can be differentiated"),
        ("narrow", {}, "grad_w, the derivative with respect to w, must have"),
    ],
)
def test_refused(library: Library, name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message):
        differentiable(library[name], **options)

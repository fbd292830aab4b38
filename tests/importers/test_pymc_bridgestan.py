"""Models of PyMC and densities of JAX by BridgeStan's symbols, beside what these frameworks compute."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pm = pytest.importorskip("pymc", reason="no PyMC: pip install 'aotensor[pymc]'")
jax = pytest.importorskip("jax", reason="no JAX: pip install 'aotensor[jax]'")

sys.path.insert(0, str(Path(__file__).parents[1] / "interfaces"))

from bridgestan_client import Client, Failed  # noqa: E402

import aotensor as aot  # noqa: E402
from aotensor.importers.jax import from_jax  # noqa: E402
from aotensor.importers.pymc import compile_logp, slices  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")

RNG = np.random.default_rng(3)


def hierarchical() -> Any:
    """Logistic regression with groups and a matrix of coefficients; all data are pm.Data."""
    with pm.Model() as model:
        x, trials = pm.Data("x", RNG.normal(size=60)), pm.Data("trials", RNG.integers(5, 20, 60))
        group, hits = pm.Data("group", np.arange(60) % 6), pm.Data("hits", RNG.integers(0, 5, 60))
        mu, tau = pm.Normal("mu", 0, 2), pm.HalfNormal("tau", 1.0)
        a, c = pm.Normal("a", mu, tau, shape=6), pm.Normal("c", 0, 1, shape=(2, 3))
        eta = pm.Deterministic("eta", a[:2] + mu)
        pm.Binomial("obs", trials, logit_p=a[group] + c[0, group // 2] * x + eta[0], observed=hits)
    return model


def correlated() -> Any:
    with pm.Model() as model:
        chol, _, _ = pm.LKJCholeskyCov("chol", n=3, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
        width = pm.Uniform("width", 0.0, pm.HalfNormal("top", 1.0) + 1.0)
        pm.MvNormal("y", pm.Normal("mu", 0, width, shape=3), chol=chol, observed=RNG.normal(size=(9, 3)))
    return model


@pytest.mark.parametrize("make", [hierarchical, correlated])
def test_models_of_pymc(make: Any, tmp_path: Path) -> None:
    model = make()
    client = Client(compile_logp(model, tmp_path, name="model", abi="bridgestan", opt_level=0).library)
    parts = slices(model)
    q = 0.3 * RNG.normal(size=parts[-1].stop)
    # BridgeStan's vectors have the first index fastest
    point = {x.name: q[x.start : x.stop].reshape(x.shape, order="F") for x in parts}
    modes = {jacobian: model.compile_logp(jacobian=jacobian, mode="FAST_COMPILE") for jacobian in (True, False)}
    for jacobian, logp in modes.items():
        assert client.log_density(q, jacobian) == pytest.approx(logp(point), rel=1e-12)
    value, gradient, other, hessian = np.zeros(1), np.zeros(len(q)), np.zeros(len(q)), np.zeros((len(q),) * 2)
    client.call("bs_log_density_gradient", True, True, q, value, gradient)
    slope = np.zeros(len(q))
    theirs = model.compile_dlogp(mode="FAST_COMPILE")(point)
    start = 0
    for x in parts:
        size = x.stop - x.start
        slope[x.start : x.stop] = theirs[start : start + size].reshape(x.shape).ravel(order="F")
        start += size
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-10)
    client.call("bs_log_density_hessian", True, True, q, value, other, hessian)
    moved = 1e-5 * np.eye(len(q))[0]
    ends = np.zeros((2, len(q)))
    for end, shifted in zip(ends, (q + moved, q - moved), strict=True):
        client.call("bs_log_density_gradient", True, True, shifted, value, end)
    np.testing.assert_allclose(hessian[0], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-6)  # of differences
    chosen = [*model.free_RVs, *model.deterministics]
    values = model.compile_fn(model.replace_rvs_by_values(chosen), inputs=model.value_vars, mode="FAST_COMPILE")(point)
    theta, back = np.zeros(client.count("bs_param_num", True, False)), np.zeros(len(q))
    client.call("bs_param_constrain", True, False, q, theta, None)
    by_name = dict(zip([x.name for x in chosen], values, strict=True))
    names = list(
        dict.fromkeys(label.partition(".")[0] for label in client.text("bs_param_names", True, False).split(","))
    )
    np.testing.assert_allclose(theta, np.concatenate([by_name[name].ravel(order="F") for name in names]), rtol=1e-12)
    client.call("bs_param_unconstrain", theta, back)
    np.testing.assert_allclose(back, q, rtol=1e-12, atol=1e-13)


def test_data_of_pymc_are_data(tmp_path: Path) -> None:
    with pm.Model() as model:
        x = pm.Data("x", np.array([1.0, 2.0, 4.0]))
        pm.Normal("y", pm.Normal("μ", 0, 1), 1.0, observed=x)
    library = compile_logp(model, tmp_path, name="m", abi="bridgestan", opt_level=0).library
    q = np.array([0.5])
    for values in ([1.0, 2.0, 4.0], [3.0]):
        model.set_data("x", np.array(values))
        expected = model.compile_logp(mode="FAST_COMPILE")({"μ": 0.5})
        assert Client(library, json.dumps({"x": values})).log_density(q) == pytest.approx(expected, rel=1e-13)
    back = np.zeros(1)
    Client(library).call("bs_param_unconstrain_json", json.dumps({"μ": 0.25}), back)
    assert back[0] == 0.25
    with pytest.raises(Failed, match="parameters: μ is missing"):
        Client(library).call("bs_param_unconstrain_json", "{}", back)


def test_a_density_of_jax(tmp_path: Path) -> None:
    def logp(theta: Any, y: Any) -> Any:
        return -(((y - theta[0]) / theta[1]) ** 2).sum() - y.shape[0] * jax.numpy.log(theta[1])

    with jax.enable_x64(True):
        double = jax.numpy.float64
        specs = jax.ShapeDtypeStruct((2,), double), jax.ShapeDtypeStruct((4,), double)
        parameters = {"mean": aot.Parameter(), "width": aot.Parameter(lower=0.0)}
        f = from_jax(logp, *specs, parameters=parameters)
    client = Client(aot.compile(f, tmp_path, abi="bridgestan", opt_level=0).library, '{"y": [1, 2, 3, 4]}')
    width = np.exp(0.7)
    expected = -(((np.arange(1, 5) - 0.5) / width) ** 2).sum() - 4 * 0.7
    assert client.log_density(np.array([0.5, 0.7]), False) == pytest.approx(expected, rel=1e-13)
    assert client.log_density(np.array([0.5, 0.7]), True) == pytest.approx(expected + 0.7, rel=1e-13)

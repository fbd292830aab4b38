"""Models of PyMC as libraries, beside what PyMC itself computes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pm = pytest.importorskip("pymc", reason="no PyMC: pip install 'aotensor[pymc]'")

import pytensor.tensor  # noqa: E402
from pytensor import gradient  # noqa: E402
from pytensor.compile.builders import OpFromGraph  # noqa: E402

from aotensor.errors import GraphTypeError, GraphValueError  # noqa: E402
from aotensor.importers.pymc import compile_logp, logp_functions, slices  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")


MODELS = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "pymc_models.py"))["MODELS"]
eight_schools = MODELS["eight_schools"]


def counties() -> Any:
    """Varying intercepts and slopes of counties, as Gelman and Hill (2006); data like theirs."""
    rng = np.random.default_rng(5)
    county, floor = rng.integers(0, 12, size=90), rng.integers(0, 2, size=90).astype(float)
    with pm.Model(coords={"county": range(12)}) as model:
        place, ground = pm.Data("place", county), pm.Data("ground", floor)
        mu, spread = pm.Normal("mu", 0.0, 10.0, shape=2), pm.Exponential("spread", 0.5, shape=2)
        intercept = pm.Normal("intercept", mu[0], spread[0], dims="county")
        slope = pm.Normal("slope", mu[1], spread[1], dims="county")
        share = pm.Dirichlet("share", np.ones(3))
        noise = pm.StudentT("noise", nu=4, mu=share[0], sigma=1.0)
        width = pm.Uniform("width", 0.1, 5.0)
        observed = 1.5 - 0.7 * floor + rng.normal(size=90) * 0.7
        pm.Normal("y", intercept[place] + slope[place] * ground + 0.01 * noise, width, observed=observed)
    return model


def point_of(model: Any, q: Any) -> dict[str, Any]:
    return {part.name: q[part.start : part.stop].reshape(part.shape) for part in slices(model)}


@pytest.mark.parametrize(
    "make",
    [
        eight_schools,
        *(MODELS[name] for name in ("radon", "mauna_loa")),
        MODELS["lip_cancer"],
        counties,
    ],
)
def test_densities_and_gradients_are_pymcs(make: Any, tmp_path: Path) -> None:
    model = make()
    lib = compile_logp(model, tmp_path, name="model", opt_level=0).load()
    logp, dlogp = model.compile_logp(mode="FAST_COMPILE"), model.compile_dlogp(mode="FAST_COMPILE")
    rng = np.random.default_rng(0)
    closeness = 1e-9 if make.__name__ == "mauna_loa" else 1e-12  # the covariance is close to singular far out
    for scale in (0.0, 1.0, 3.0):
        q = scale * rng.normal(size=slices(model)[-1].stop)
        point = point_of(model, q)
        both = lib.dlogp(q)
        assert np.isclose(lib.logp(q), logp(point), rtol=closeness)
        assert both["logp"] == lib.logp(q)
        assert np.allclose(both["dlogp"], dlogp(point), rtol=10 * closeness, atol=10 * closeness)
    found, chosen = lib.constrain(q), [*model.free_RVs, *model.deterministics]
    theirs = model.compile_fn(model.replace_rvs_by_values(chosen), inputs=model.value_vars, mode="FAST_COMPILE")(point)
    assert list(found) == [x.name for x in chosen]
    for name, value in zip(found, theirs, strict=True):
        assert np.allclose(found[name], value, rtol=1e-12), name


def test_a_prior_of_correlations_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A rewrite of PyTensor that needs extents finds them, and prints no failure."""
    with pm.Model() as model:
        chol, _, _ = pm.LKJCholeskyCov("chol", n=3, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
        pm.MvNormal("y", np.zeros(3), chol=chol, observed=np.ones((4, 3)))
    capfd.readouterr()
    found = compile_logp(model, tmp_path).load().dlogp(np.linspace(-1, 1, 6))
    assert "Rewrite failure" not in "".join(capfd.readouterr())
    point = {model.value_vars[0].name: np.linspace(-1, 1, 6)}
    np.testing.assert_allclose(found["logp"], model.compile_logp()(point), rtol=1e-12)
    np.testing.assert_allclose(found["dlogp"], model.compile_dlogp()(point), rtol=1e-10)


def test_correlations_as_a_vector_or_a_matrix(tmp_path: Path) -> None:
    """Inside of the positive definite matrices as PyMC has it, outside no density."""
    with pm.Model() as model:
        cov = pm.LKJCorr("c", n=3, eta=2.0, return_matrix=True)
        pm.MvNormal("y", np.zeros(3), cov=cov, observed=np.ones((4, 3)))
    lib, name = compile_logp(model, tmp_path, opt_level=0).load(), model.value_vars[0].name
    for q in ([0.0, 0.0, 0.0], [0.3, -0.5, 0.2], [4.0, -4.0, 4.0]):
        found, point = lib.dlogp(np.array(q)), {name: np.array(q)}
        np.testing.assert_allclose(found["logp"], model.compile_logp(mode="FAST_COMPILE")(point), rtol=1e-12)
        if q[0] < 4:
            dlogp = model.compile_dlogp(mode="FAST_COMPILE")(point)
            np.testing.assert_allclose(found["dlogp"], dlogp, rtol=1e-10, atol=1e-14)
    assert found["logp"] == -np.inf


def test_header_and_docstring_say_what_is_where(tmp_path: Path) -> None:
    made = compile_logp(eight_schools(), tmp_path, name="schools", opt_level=0)
    wanted = "q[0:1] mu; q[1:2] tau_log__; q[2:10] z [8]"
    assert wanted in re.sub(r"\s+\*?\s*", " ", made.header.read_text())
    assert wanted in made.load().dlogp.__doc__ and wanted in made.load().manifest.function("logp").doc


def test_data_can_be_inputs(tmp_path: Path) -> None:
    with pm.Model() as model:
        x = pm.Data("x", np.array([1.0, 2.0, 4.0]))
        mu = pm.Normal("mu", 0, 1)
        pm.Potential("fit", -(((x - mu) ** 2).sum()))
    lib = compile_logp(model, tmp_path, name="m", data="inputs", opt_level=0).load()
    for values in ([1.0, 2.0, 4.0], [3.0]):
        model.set_data("x", np.array(values))
        assert np.isclose(lib.logp(np.array([0.5]), x=values), model.compile_logp(mode="FAST_COMPILE")({"mu": 0.5}))


def test_parameters_outside_give_no_density(tmp_path: Path) -> None:
    with pm.Model() as model:
        width = pm.Normal("width", 0, 1)
        pm.Normal("y", 0, width, observed=1.0)
    lib = compile_logp(model, tmp_path, name="m", opt_level=0).load()
    assert lib.logp(np.array([-1.0])) == -np.inf and np.isfinite(lib.logp(np.array([1.0])))


def test_ops_that_control_derivatives_outlive_rewrites() -> None:
    """Their rewrites would remove the cuts, take equal clips for one, and inline the graph without its rule."""
    a = pytensor.tensor.dscalar("a")
    rule = {"pullback" if hasattr(gradient, "pullback") else "lop_overrides": lambda i, o, g: [100 * g[0] * i[0]]}
    square = OpFromGraph([a], [a**2], **rule)
    within = OpFromGraph([a], [square(a) * 3.0])
    with pm.Model() as model:
        x = pm.Flat("x")
        cut, clips = gradient.disconnected_grad(x) * x, gradient.grad_clip(x, -1, 1) ** 2
        wide, scaled = gradient.grad_clip(x, -3, 3) ** 2, gradient.grad_scale(x, 5.0) + gradient.grad_scale(x, 7.0)
        pm.Potential("p", cut + clips + wide + scaled + square(x) + within(x))
    found = logp_functions(model)[1](np.array([2.0]))
    assert found["logp"] == 4 + 4 + 4 + 2 + 2 + 4 + 12 and found["dlogp"].tolist() == [2 + 1 + 3 + 12 + 200 + 600]


def test_what_is_refused(tmp_path: Path) -> None:
    with pm.Model() as model:
        pm.Poisson("k", 3.0)
    with pytest.raises(GraphTypeError, match="discrete free variables: k"):
        compile_logp(model, tmp_path)
    with pytest.raises(GraphTypeError, match=r"expected a pymc\.Model"):
        compile_logp("model", tmp_path)
    with pytest.raises(GraphValueError, match="data must be"):
        compile_logp(eight_schools(), tmp_path, data="somewhere")


def test_the_example_finds_the_posterior(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Means of a long run of PyMC's own sampler: 4.4 and 3.6."""
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "eight_schools.py"), run_name="__main__")
    means = {
        name: float(mean) for name, mean in re.findall(r"^(\w+): ([\d.]+)$", capsys.readouterr().out, re.MULTILINE)
    }
    assert means["mu"] == pytest.approx(4.4, abs=0.5) and means["tau"] == pytest.approx(3.6, abs=0.5)


def test_errors_name_lines_of_the_model(tmp_path: Path) -> None:
    """Not those of PyMC, nor of functools, through which it calls densities."""
    with pm.Model() as model:
        x = pm.Data("x", np.ones(4))
        pm.Normal("y", pm.Normal("mu", 0, 1) + x, 1, observed=np.ones(4))
    lib = compile_logp(model, tmp_path, data="inputs", opt_level=0).load()
    with pytest.raises(ValueError, match=r"at test_pymc\.py:\d+: extents along axis 0 differ: x_0 = 5 and 4"):
        lib.logp(np.zeros(1), x=np.ones(5))

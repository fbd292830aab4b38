"""Models of posteriordb beside CmdStan's gradients, and the transforms beside their definitions."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from tools.judges.__main__ import main
from tools.judges.posteriordb.command import Row, relative
from tools.judges.posteriordb.data import Recorded, load, recorded
from tools.judges.posteriordb.models import CLOSE, KINDS, LOOSE, density
from tools.judges.posteriordb.page import page
from tools.judges.posteriordb.parameters import Parameters

import aotensor as aot
import aotensor.tensor as at

FOLDER = Path(os.environ.get("AOTENSOR_JUDGES", "."))
COMPILED = ("eight_schools_centered", "blr", "Mt_model", "hmm_drive_0", "normal_mixture_k", "gp_regr", "garch11")


def test_the_factor_of_a_correlation_matrix() -> None:
    n = 4
    q = at.vector("q", shape=(6,))
    parameters = Parameters(q)
    factor = parameters.correlation_factor(n)
    lower = factor[tuple(np.tril_indices(n, -1))]
    f = aot.function([q], [factor, parameters.terms[0], at.jacobian(lower, q)], mode="FAST_COMPILE")
    found, change, slope = f(np.random.default_rng(0).normal(size=6))
    np.testing.assert_allclose((found @ found.T).diagonal(), 1.0, rtol=1e-14)
    assert not np.triu(found, 1).any()
    assert change == pytest.approx(np.linalg.slogdet(slope)[1], rel=1e-12)


@pytest.mark.parametrize("shape", [(), (2,)])
def test_simplexes(shape: tuple[int, ...]) -> None:
    n = 5
    count = (n - 1) * int(np.prod(shape, dtype=int))
    q = at.vector("q", shape=(count,))
    parameters = Parameters(q)
    x = parameters.simplex(n, *shape)
    free = x[..., :-1].ravel()
    f = aot.function([q], [x, parameters.terms[0], at.jacobian(free, q)], mode="FAST_COMPILE")
    found, change, slope = f(np.random.default_rng(1).normal(size=count))
    np.testing.assert_allclose(found.sum(axis=-1), 1.0, rtol=1e-14)
    assert (found > 0).all()
    assert change == pytest.approx(np.linalg.slogdet(slope)[1], rel=1e-12)


@pytest.mark.needs("judges")
@pytest.mark.parametrize("name", [name for models in KINDS.values() for name in models])
def test_gradients_are_cmdstans(name: str) -> None:
    one = recorded(FOLDER)[name]
    assert relative(_gradient(one, "FAST_COMPILE"), one.gradient) < (LOOSE[name].close if name in LOOSE else CLOSE)


@pytest.mark.needs("judges")
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_gradients_are_cmdstans(name: str) -> None:
    one = recorded(FOLDER)[name]
    assert relative(_gradient(one, "FAST_RUN"), one.gradient) < CLOSE


@pytest.mark.needs("judges")
def test_pools_of_soil_are_an_exponential() -> None:
    """Where CmdStan integrates loosely: the closed form of a linear equation, differentiated by complex steps."""
    one = recorded(FOLDER)["soil_incubation"]
    wanted = [_soil(one.point + 1e-30j * np.eye(6)[k]).imag / 1e-30 for k in range(6)]
    assert relative(_gradient(one, "FAST_COMPILE"), wanted) < 1e-8  # integrated to 1e-10


def _soil(q: np.ndarray) -> complex:
    """The log density of soil_incubation, of complex unconstrained values."""
    d = load(FOLDER, "soil_carbon")
    k1, k2, a21, a12 = np.exp(q[:4])
    share, sigma = 1 / (1 + np.exp(-q[4])), np.exp(q[5])
    rates = np.array([[-k1, a12 * k2], [a21 * k1, -k2]])
    start = d.totalC_t0 * np.array([share, 1 - share])
    mean = np.array([d.totalC_t0 - (expm(rates * t) @ start).sum() for t in d.ts])
    value = 9 * np.log(share) - 0.5 * (np.exp(q[:4]) ** 2).sum() - np.log(1 + sigma**2)
    value += q[:4].sum() + np.log(share * (1 - share)) + q[5]
    return complex(value - (0.5 * ((d.eCO2mean - mean) / sigma) ** 2 + q[5]).sum())


def _gradient(one: Recorded, mode: str) -> np.ndarray:
    q, value = density(one.model, one, FOLDER)
    found: np.ndarray = aot.function([q], aot.grad(value, q), mode=mode)(one.point)
    return found


@pytest.mark.needs("judges")
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["posteriordb", "--data", str(FOLDER), "--models", "kidscore_momiq"]) == 0
    assert "kidscore_momiq: gradient" in capsys.readouterr().out


def test_the_page() -> None:
    ours = {"call": 1e-6, "compile": 0.5, "cold": 1.5, "bytes": 2048}
    rows = [
        Row("regressions", "blr", 6, ours, {"call": 4e-6, "cold": 0.5}, 1e-15, 1e-14, 0.0),
        Row("regressions", "broken", 2, {"failed": "no rule"}),
        Row("series", "arK", 7, ours, {}, 1e-3),
    ]
    text = page(rows, ["nn_rbm1bJ100"])
    assert "1 of 3 models are right" in text
    assert "| blr | 6 | 1.0e-15 | 1.0e-14 | 0.0e+00 | 1.00 | 4.00 | 4.00 | 0.50 | 1.50 | 0.50 | 2 |" in text
    assert "| arK | 7 | 1.0e-03 | not measured" in text
    assert "- broken: no rule." in text
    assert "nn_rbm1bJ100: not written" in text


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["posteriordb", "--data", str(tmp_path)])
    assert "AOTENSOR_JUDGES" in capsys.readouterr().err


def test_a_model_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "stanli").mkdir()
    with gzip.open(tmp_path / "stanli" / "corpus-refs.json.gz", "wt") as file:
        file.write(json.dumps({"blr": {"data": "sblrc", "point": 0, "values": ["0", "1", "2"]}}))
    with pytest.raises(SystemExit, match="there is no model blur"):
        main(["posteriordb", "--data", str(tmp_path), "--models", "blur"])

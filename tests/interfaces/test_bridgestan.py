"""BridgeStan's symbols beside NumPy, without BridgeStan."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from bridgestan_client import Client, Failed
from regression_model import regression
from scipy.special import expit

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.verification.compilation import check_symbols
from aotensor_runtime.container import Container

RNG = np.random.default_rng(4)
DATA = {
    "X": RNG.normal(size=(5, 2)).tolist(),
    "y": RNG.normal(size=5).tolist(),
    "group": [0, 1, 2, 1, 0],
    "scale": 0.5,
}
Q = RNG.normal(size=14)
LABELS = [f"effects.{i}.{j}" for j in (1, 2, 3) for i in (1, 2)] + ["sigma", "rate", "drop"]


def constrained(q: np.ndarray) -> tuple[np.ndarray, float]:
    """All parameters by the formulas of Stan's reference manual, and the sum of the log Jacobians."""
    sigma, rate, drop = np.exp(q[6]), -1 + 3 * expit(q[7]), 1 - np.exp(q[8])
    cuts = np.cumsum([q[9], np.exp(q[10]), np.exp(q[11])])
    a, b = q[12] / np.sqrt(2), q[13] / np.sqrt(6)
    shares = np.exp([a + b, b - a, -2 * b])
    shares /= shares.sum()
    jacobian = q[6] + np.log(3 * expit(q[7]) * expit(-q[7])) + q[8] + q[10] + q[11]
    jacobian += np.log(shares).sum() + 0.5 * np.log(3)
    return np.concatenate([q[:6], [sigma, rate, drop], cuts, shares]), jacobian


def expected(q: np.ndarray, jacobian: bool = True, data: dict[str, object] = DATA) -> float:
    theta, change = constrained(q)
    X, y, group = (np.array(data[name]) for name in ("X", "y", "group"))
    effects = theta[:6].reshape(2, 3, order="F")
    sigma, rate, drop, cuts, shares = theta[6], theta[7], theta[8], theta[9:12], theta[12:]
    mean = (X * effects[:, group].T).sum(axis=1) + data["scale"] * rate
    value = -0.5 * (((y - mean) / sigma) ** 2).sum() - len(y) * np.log(sigma) - 0.5 * (effects**2).sum()
    value += -sigma - drop**2 - 0.5 * (cuts**2).sum() + 2 * np.log(shares).sum() + np.log(rate)
    return float(value + (change if jacobian else 0.0))


@pytest.fixture
def client(regression_library: Path) -> Client:
    return Client(regression_library, json.dumps(DATA))


def test_what_a_model_says_of_itself(client: Client) -> None:
    names = [*LABELS, *(f"{name}.{k}" for name in ("cuts", "shares") for k in (1, 2, 3))]
    assert client.text("bs_name") == "regression"
    assert "STAN_THREADS=true" in client.text("bs_model_info")
    assert client.text("bs_param_names", True, True).split(",") == names
    assert client.text("bs_param_unc_names").split(",") == names[:-1]
    assert (client.count("bs_param_num", False, False), client.count("bs_param_unc_num")) == (15, 14)


@pytest.mark.unlimited("the library is made for the other tests, too", "ci")
def test_values_and_derivatives(client: Client) -> None:
    q = np.abs(Q)
    assert client.log_density(q) == pytest.approx(expected(q), rel=1e-12)
    assert client.log_density(q, jacobian=False) == pytest.approx(expected(q, jacobian=False), rel=1e-12)
    value, gradient, hessian, product, other = np.zeros(1), np.zeros(14), np.zeros((14, 14)), np.zeros(14), np.zeros(14)
    client.call("bs_log_density_gradient", False, True, q, value, gradient)
    steps = 1e-5 * np.eye(14)
    by_differences = [(expected(q + h) - expected(q - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-7, atol=1e-8)  # of central differences
    client.call("bs_log_density_hessian", False, True, q, value, other, hessian)
    rows = []
    for h in steps:
        ends = np.zeros((2, 14))
        for k, point in enumerate((q + h, q - h)):
            client.call("bs_log_density_gradient", False, True, point, value, ends[k])
        rows.append((ends[0] - ends[1]) / 2e-5)
    np.testing.assert_allclose(hessian, rows, rtol=1e-6, atol=1e-7)  # of central differences
    assert np.array_equal(other, gradient)
    client.call("bs_log_density_hessian_vector_product", False, True, q, np.arange(14.0), value, product)
    np.testing.assert_allclose(product, hessian @ np.arange(14.0), rtol=1e-12)
    assert value[0] == pytest.approx(expected(q), rel=1e-12)


def test_parameters_both_ways(client: Client) -> None:
    theta, back = np.zeros(15), np.zeros(14)
    client.call("bs_param_constrain", True, False, Q, theta, None)
    np.testing.assert_allclose(theta, constrained(Q)[0], rtol=1e-14)
    client.call("bs_param_unconstrain", theta, back)
    np.testing.assert_allclose(back, Q, rtol=1e-12, atol=1e-14)
    given = {"effects": theta[:6].reshape(2, 3, order="F").tolist(), "sigma": theta[6], "rate": theta[7]}
    given |= {"drop": theta[8], "cuts": theta[9:12].tolist(), "shares": theta[12:].tolist()}
    client.call("bs_param_unconstrain_json", json.dumps(given), back)
    np.testing.assert_allclose(back, Q, rtol=1e-12, atol=1e-14)


def test_first_points_are_random_where_nothing_is_given(client: Client) -> None:
    rng = client.random(7)
    points = [client.initialize(rng, '{"sigma": 3.0}') for _ in range(200)]
    np.testing.assert_allclose([point[6] for point in points], np.log(3.0), rtol=1e-15)
    others = np.delete(points, 6, axis=1)
    assert np.abs(others).max() < 2.0
    assert np.abs(others[:, :6].mean(axis=0)).max() < 0.4  # five standard deviations of a mean of 200
    assert np.array_equal(client.initialize(client.random(3)), client.initialize(client.random(3)))


def test_other_data_and_threads(regression_library: Path, client: Client, tmp_path: Path) -> None:
    longer = {**DATA, "X": np.ones((9, 2)).tolist(), "y": [1.0] * 9, "group": [2] * 9}
    path = tmp_path / "data.json"
    path.write_text(json.dumps(longer))
    other = Client(regression_library, str(path))
    q = np.abs(Q)
    assert other.log_density(q) == pytest.approx(expected(q, data=longer), rel=1e-12)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: (client if k % 2 else other).log_density(q), range(200)))
    assert set(found) == {client.log_density(q), other.log_density(q)}


def changed(**values: object) -> str:
    return json.dumps({**DATA, **values})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "data: X is missing"),
        ("", "data: X is missing"),
        ("{", "data: not a JSON object: unexpected end of text at byte 1"),
        ('{"X": [1, 2,, 3]}', "data: not a JSON object: unexpected character at byte 12"),
        ('{"X": 01}', "unexpected character at byte 6"),
        ('{"X": "a\nb"}', "unexpected character at byte 8"),
        ("[1]", "unexpected character at byte 0"),
        ("{} {}", "unexpected character at byte 3"),
        ("[" * 500, "unexpected character at byte 0"),
        ('{"X":' + "[" * 500, "unexpected character at byte 104"),
        ("no/such/file.json", "cannot read the file no/such/file.json"),
        (changed(y=[1.0, 2.0]), "dim n of y is 2, but X has n = 5"),
        (changed(X=[[1, 2], [3]]), "data: X: rows of different lengths"),
        (changed(X=[[1, 2, 3]]), "data: X: extent 1 is 3, expected 2"),
        (changed(X=[1, 2]), "data: X: expected an array of rank 2"),
        (changed(y=["a"]), "data: y: expected numbers"),
        (changed(y=[None]), "data: y: expected numbers"),
        (changed(y=[{}]), "data: y: expected an array of rank 1"),
        (changed(group=[0, 1.5, 0, 0, 0]), "data: group: expected integers"),
        (changed(group=[0, 1 << 40, 0, 0, 0]), "data: group: a number is out of range"),
        (changed(scale=[1.0]), "data: scale: expected an array of rank 0"),
        (changed(scale=7).replace("7}", "1e999}"), "data: scale: a number is out of range"),
    ],
)
def test_data_that_do_not_fit(regression_library: Path, data: str | None, message: str) -> None:
    with pytest.raises(Failed, match=re.escape(message)):
        Client(regression_library, data)


def test_json_of_any_form(regression_library: Path) -> None:
    forms = changed(scale="-Infinity").replace('"scale"', '"\\u0073cale"').replace(" ", "\n\t ")
    assert Client(regression_library, forms).log_density(np.abs(Q)) == -np.inf
    assert np.isnan(Client(regression_library, changed(scale=float("nan"))).log_density(np.abs(Q)))


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("bs_log_density", (True, True, None, np.zeros(1)), "log_density: theta_unc is NULL"),
        ("bs_log_density", (True, True, Q, None), "log_density: the result is NULL"),
        ("bs_log_density", (True, True, np.where(np.arange(14) == 7, np.nan, Q), Q), "theta_unc[7] (rate) is nan"),
        ("bs_log_density_gradient", (True, True, Q, np.zeros(1), None), "grad is NULL"),
        ("bs_log_density_hessian", (True, True, Q, np.zeros(1), np.zeros(14), None), "hessian is NULL"),
        ("bs_param_constrain", (False, True, Q, np.zeros(15), None), "include_gq=true but rng=nullptr"),
        ("bs_param_constrain", (True, False, Q * np.inf, np.zeros(15), None), "(effects.1.1) is infinite"),
        ("bs_param_unconstrain", (-np.ones(15), np.zeros(14)), "no finite unconstrained value of sigma"),
        ("bs_param_unconstrain_json", ('{"effects": 1}', np.zeros(14)), "effects: expected an array of rank 2"),
        ("bs_param_unconstrain_json", ("{}", np.zeros(14)), "parameters: effects is missing"),
        ("bs_param_unconstrain_json", (None, np.zeros(14)), "json is NULL"),
    ],
)
def test_bad_arguments_give_messages(client: Client, name: str, given: tuple[object, ...], message: str) -> None:
    with pytest.raises(Failed, match=re.escape(message)):
        client.call(name, *given)
    with pytest.raises(Failed, match=r"the model is NULL|include_gq|expected|missing|NULL|is infinite"):
        client.call(name, *given, model=None)


def test_no_first_point(client: Client) -> None:
    with pytest.raises(Failed, match="no point of finite log density in 3 tries"):
        client.initialize(client.random(), '{"rate": -0.5}', tries=3)


def test_the_library_says_what_it_exports(regression_library: Path) -> None:
    data = regression_library.read_bytes()
    manifest = Container(data).manifest()
    (interface,) = manifest.interfaces
    assert (interface.name, interface.version) == ("bridgestan", "2.9.0")
    assert {"bs_log_density_hessian", "bs_param_initialize", "bs_name_R", "bs_major_version"} <= {*interface.symbols}
    assert "exported" in check_symbols(data, manifest)
    header = regression_library.with_name("regression.h").read_text()
    assert "Interface bridgestan 2.9.0" in header
    assert "bs_param_unc_num" in header


def test_functions_that_are_no_densities(tmp_path: Path) -> None:
    x = at.vector("x", shape=(2,))
    plain = aot.function([x], x.sum(), name="plain")
    with pytest.raises(GraphValueError, match="expected one log density with parameters, found none"):
        aot.compile(plain, tmp_path, abi="bridgestan")
    with pytest.raises(GraphValueError, match=r"abi 'stan' is unknown"):
        aot.compile(plain, tmp_path, abi="stan")
    wrong = aot.function([x], x.sum(), name="wrong", parameters={"a": aot.Parameter(3)})
    with pytest.raises(GraphTypeError, match=r"its parameters make x float64\[3\]"):
        aot.compile(wrong, tmp_path, abi="bridgestan")
    several = aot.function([x], [x.sum(), x], name="several", parameters={"a": aot.Parameter(2)})
    with pytest.raises(GraphValueError, match="several has 2 outputs"):
        aot.compile(several, tmp_path, abi="bridgestan")
    taken = aot.function([x], x.sum(), name="bs_name", parameters={"a": aot.Parameter(2)})
    with pytest.raises(GraphValueError, match="the interface bridgestan exports 'bs_name'"):
        aot.compile(taken, tmp_path, abi="bridgestan")


@pytest.mark.parametrize(
    "wrong",
    [{"lower": 2.0, "upper": 1.0}, {"constraint": "round"}, {"constraint": "simplex"}, {"lower": float("nan")}],
)
def test_parameters_that_there_are_not(wrong: dict[str, float]) -> None:
    with pytest.raises(GraphValueError, match="Parameter: "):
        aot.Parameter(**wrong)


def test_parameters_change_nothing_of_the_function() -> None:
    f = regression()
    assert f.parameters["effects"].size == 6
    assert "regression(" in repr(f)


@pytest.mark.level("ci", "compiles a second library, 6 s of processor time")
def test_linear_algebra_comes_from_the_library(tmp_path: Path) -> None:
    """Cholesky factors, determinants and systems on all sides, beside SciPy's LAPACK in our own call."""
    x = at.vector("x", shape=(3,))
    a = at.as_tensor(np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])) + at.outer(x, x)
    factor, b = at.cholesky(a), at.as_tensor(np.arange(6.0).reshape(3, 2))
    logp = at.linalg.det(a) + (at.solve_triangular(factor, b, lower=True) ** 2).sum()
    logp = logp + at.linalg.slogdet(a + at.outer(x, at.as_tensor(np.arange(3.0))))[1]
    f = aot.function([x], logp, name="normal", parameters={"x": aot.Parameter(3)})
    own = aot.function([x], [logp, aot.grad(logp, x)], name="own")
    made = aot.compile([f, own], tmp_path, abi="bridgestan", opt_level=1)
    client, (value, slope) = Client(made.library), made.load().own(Q[:3])
    found, first = np.zeros(1), np.zeros(3)
    client.call("bs_log_density_gradient", True, True, Q[:3], found, first)
    np.testing.assert_allclose(found[0], value, rtol=1e-13)
    np.testing.assert_allclose(first, slope, rtol=1e-11)
    assert not hasattr(client.lib, "bs_log_density_hessian")  # which needs singular values

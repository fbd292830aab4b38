"""The tool that differentiates the programs of the tests of JAX, PyTensor and autograd: verdicts, pages, samples."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.gradient_tests.__main__ import load, main
from tools.gradient_tests.compare import difference, narrowest
from tools.gradient_tests.page import page

CHECKOUTS = {
    "autograd": "AOTENSOR_AUTOGRAD_CHECKOUT", "jax": "AOTENSOR_JAX_CHECKOUT", "pytensor": "AOTENSOR_PYTENSOR_CHECKOUT",
}  # fmt: skip
"""Framework → environment variable that names a checkout."""
SAMPLES = {
    "autograd": ("test_scipy", "beta or gamma_ or mvn_logpdf or solve_sylvester"),
    "jax": ("custom_linear_solve", "lu or iterative"),
    "pytensor": ("test_special", "Softmax"),
}

OF_JAX = """
import jax, jax.numpy as jnp, numpy as np
from jax._src import test_util as jtu
from jax.test_util import check_grads

@jax.custom_jvp
def odd(x):
    return jnp.sin(x)

odd.defjvps(lambda t, y, x: 5.0 * t * x)

@jax.custom_vjp
def untrue(x):
    return 2.0 * x

untrue.defvjp(lambda x: (3.0 * x, None), lambda kept, g: (g,))

def test_odd():
    check_grads(odd, (np.array([0.3, 1.0]),), 2, ["fwd", "rev"])
    assert jax.grad(lambda x, n: jnp.sum(odd(x)) * n, argnums=0)(np.array([0.3, 1.0]), 2) is not None

def test_untrue():
    jax.vjp(lambda x: untrue(x) ** 2, 2.0)

def test_complex():
    jax.jit(jax.grad(lambda x: x))(1.0)
    jax.jvp(lambda z: z * z, (1.0 + 2.0j,), (1.0 + 0.0j,))

def test_integers():
    jax.vjp(lambda n: n * 2, 3)

class Compiled(jtu.JaxTestCase):
    def test_values(self):
        self._CompileAndCheck(lambda n, z: {"a": n // 2, "b": z * n[0]}, lambda: [np.arange(3), np.array([1.0 + 2.0j])])
        self._CompileAndCheck(lambda x: x.astype("int4"), lambda: [np.arange(3)])
"""
OF_PYTENSOR = """
import numpy as np, pytensor.tensor as pt
from pytensor.gradient import verify_grad

def test_products():
    verify_grad(lambda x, y: pt.dot(x, y) * pt.exp(x[0, 0]), [np.eye(2), np.ones((2, 3))], rng=None)

def test_fails_itself():
    verify_grad(lambda x: x.sum(dims="a"), [np.eye(2)])
"""
OF_AUTOGRAD = """
import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.extend import defvjp, primitive
from autograd.scipy import special, stats
from autograd.test_util import check_grads, combo_check

@primitive
def untrue(x):
    return 2.0 * x

defvjp(untrue, lambda ans, x: lambda g: 3.0 * g)

def test_numpy():
    combo_check(np.linalg.solve, [0, 1])([np.eye(2) + 0.1], [np.ones(2), np.ones((2, 3))])
    check_grads(lambda x: np.real(np.fft.fft(x * (1 + 2j))))(npr.randn(4) + 1j)

def test_scipy():
    combo_check(stats.t.logpdf, [0, 1])([npr.randn(3)], [np.array([2.5])])
    check_grads(lambda d: special.gammaln(d["a"]) * np.array([d["b"], 1.0, d["b"]]))({"a": npr.rand(3) + 1, "b": 2.0})

def test_derivatives_within():
    check_grads(lambda x: grad(lambda y: np.sum(np.sin(y) ** 2 + np.mean(y)))(x))(npr.randn(3))

def test_untrue():
    check_grads(lambda x: untrue(x) ** 2, order=1)(1.5)

def test_refused():
    check_grads(lambda x: special.y0(x), modes=["rev"])(1.5)
"""


def _checkout(folder: Path, name: str, text: str) -> Path:
    path = folder / "tests" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


def test_programs_of_jax_are_compared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    folder = _checkout(tmp_path, "custom_api_test.py", OF_JAX)
    assert main(["jax", str(folder), "--only", "custom_api"]) == 1
    assert "test_untrue: vjp: first: " in capfd.readouterr().out
    lines = load(folder, "custom_api_test.py")
    found = [(line["test"].rpartition("::")[2], line["what"], line["verdict"]) for line in lines]
    assert found == [
        ("test_odd", "check_grads", "same"), ("test_odd", "grad", "same"), ("test_untrue", "vjp", "wrong"),
        ("test_complex", "jvp", "same"), ("test_integers", "vjp", "nothing"), ("test_values", "jit", "same"),
        ("test_values", "jit", "refused"),
    ]  # fmt: skip
    assert lines[0]["orders"] == "value, first, forward, second"
    text = page("jax", {"custom_api_test.py": lines})
    assert "4 programs agree" in text and "| `custom_api_test.py` | 4 | 1 | 1 | 1 |" in text and "`test_untrue`" in text


def test_programs_of_autograd_are_compared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("autograd", reason="autograd is not installed")
    folder = _checkout(tmp_path, "test_scipy.py", OF_AUTOGRAD)
    assert main(["autograd", str(folder), "--only", "test_scipy"]) == 1
    assert "test_untrue: check_grads: first: 13.5" in capfd.readouterr().out
    lines = load(folder, "test_scipy.py")
    assert [(line["test"].rpartition("::")[2], line["verdict"]) for line in lines] == [
        ("test_numpy", "same"), ("test_numpy", "same"), ("test_numpy", "same"), ("test_scipy", "same"),
        ("test_scipy", "same"), ("test_derivatives_within", "same"), ("test_untrue", "wrong"),
        ("test_refused", "refused"),
    ]  # fmt: skip
    assert lines[2]["orders"] == "value, first, second" and lines[5]["orders"] == "value, first, forward, second"
    text = page("autograd", {"test_scipy.py": lines})
    assert "6 programs agree" in text and "scipy.special.y0 does not accept symbolic variables" in text


def test_programs_of_pytensor_are_compared(tmp_path: Path) -> None:
    pytest.importorskip("pytensor", reason="PyTensor is not installed")
    folder = _checkout(tmp_path, "test_gradient.py", OF_PYTENSOR)
    assert main(["pytensor", str(folder), "--only", "test_gradient"]) == 0
    lines = load(folder, "test_gradient.py")
    assert [(line["verdict"], line["orders"]) for line in lines] == [("same", "value, first, second"), ("nothing", "")]


@pytest.mark.level("ci", "runs tests of another project")
@pytest.mark.parametrize("framework", CHECKOUTS)
def test_a_sample_of_their_own_tests(framework: str) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    if not (folder := os.environ.get(CHECKOUTS[framework])):
        pytest.skip(f"{CHECKOUTS[framework]} names no checkout of {framework}")
    only, test = SAMPLES[framework]
    assert main([framework, folder, "--only", only, "--test", test]) == 0


def test_arguments_that_do_not_fit_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["jax", str(tmp_path)], "has no folder tests: a checkout of jax is expected"),
        (["jax", str(tmp_path), "--only", "nn", "--write"], "leave out --only and --test"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wanted", "found", "text", "undefined"),
    [
        ([1.0, np.nan], [1.0, 2.0], "", 1),
        ([1.0, 2.0], [1.0, np.nan], "nan instead of 2 at [1], 1 of 2", 0),
        ([1e8, 0.0], [1e8, 1e-3], "", 0),
        ([np.inf], [np.inf], "", 0),
        ([[1.0]], [1.0], "shape [1] instead of [1, 1]", 0),
    ],
)
def test_differences(wanted: Any, found: Any, text: str, undefined: int) -> None:
    assert difference(wanted, found, narrowest(["float64", "int32"])) == (text, undefined)
    assert json.dumps(narrowest(["float64", "bfloat16"])) == "0.2"

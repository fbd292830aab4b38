"""`--abi`: compiled, shown, checked, refused."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Call

MODEL = """import aotensor as aot
import aotensor.tensor as at

x = at.vector("x", shape=(2,))
parameters = {"a": aot.Parameter(), "b": aot.Parameter(lower=0.0)}
density = aot.function([x], -0.5 * (x**2).sum(), name="density", parameters=parameters)
"""


def test_libraries_with_interfaces(call: Call, tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(MODEL)
    options = ("--abi", "casadi", "--abi", "bridgestan", "-O", "0", "--cpu", "generic")
    assert call("compile", model, "-o", tmp_path, *options).code == 0
    library = tmp_path / "libdensity.so"
    shown = call("inspect", library).out
    assert "interface casadi" in shown and "interface bridgestan" in shown
    tree = json.loads(call("inspect", library, "--json").out)
    assert [x["name"] for x in tree["interfaces"]] == ["casadi", "bridgestan"]
    assert {"density_sparsity_in", "bs_log_density_hessian", "density_typed"} <= {*tree["symbols"]}
    checked = call("verify", library)
    assert checked.code == 0, checked.out


PROGRAM = """import aotensor as aot
import aotensor.tensor as at

x = at.vector("x", shape=(2,))
rosenbrock = aot.nlp(x, (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, x.sum())
"""


def test_a_nonlinear_program_of_a_model_file(call: Call, tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(PROGRAM)
    answer = call("compile", f"{model}:rosenbrock", "-o", tmp_path, "--abi", "ipopt", "-O", "0", "--cpu", "generic")
    assert answer.code == 0, answer.err
    library = tmp_path / "librosenbrock.so"
    assert "#define ROSENBROCK_HESS_L_OUT_NNZ 3" in library.with_name("rosenbrock.h").read_text()
    shown = call("inspect", library).out
    assert "interface ipopt" in shown and "rosenbrock_hess_l(x: float64[2], sigma: float64, lam: float64[1])" in shown
    checked = call("verify", library)
    assert checked.code == 0, checked.out
    timed = call("bench", f"{model}:rosenbrock", "--seconds", "0.01", "--no-limits", "--threads", "1")
    assert timed.code == 0 and "rosenbrock_hess_l" in timed.out


RESIDUAL = """import aotensor as aot
import aotensor.tensor as at

x, seen = at.vector("x", shape=(2,)), at.vector("seen", shape=(2,))
error = aot.function([aot.In(x, manifold="sphere"), aot.In(seen, data=True)], at.exp(x) - seen, name="error")
"""


def test_a_residual_of_a_model_file(call: Call, tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(RESIDUAL)
    answer = call("compile", model, "-o", tmp_path, "--abi", "ceres", "-O", "0", "--cpu", "generic")
    assert answer.code == 0, answer.err
    library, header = tmp_path / "liberror.so", (tmp_path / "error_ceres.h").read_text()
    assert str(tmp_path / "error_ceres.h") in answer.out and "class error_cost_function" in header
    shown = call("inspect", library).out
    assert "interface ceres" in shown and "error(x: float64[2] (sphere), seen: float64[2] (data))" in shown
    checked = call("verify", library)
    assert checked.code == 0, checked.out
    only = call("compile", model, "--abi", "ceres", "--emit", "ceres", "-O", "0", "--cpu", "generic")
    assert only.out == header
    refused = call("compile", model, "--emit", "ceres", "-O", "0")
    assert refused.code == 2 and "not compiled for Ceres" in refused.err
    assert call("doctor").out.count("abi ceres") == 1


def test_a_model_for_fmi(call: Call, tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(PROGRAM.replace("aot.nlp(x, ", "aot.function([x], ").replace(", x.sum())", ", name='rosenbrock')"))
    assert call("compile", model, "-o", tmp_path, "--abi", "fmi", "-O", "0", "--cpu", "generic").code == 0
    library = tmp_path / "librosenbrock.so"
    shown = call("inspect", library).out
    assert "interface fmi" in shown and "rosenbrock_adjoint(x: float64[2], seed_0: float64)" in shown
    checked = call("verify", library)
    assert checked.code == 0, checked.out
    assert call("package", library, "--fmu", "-o", tmp_path).out == f"{tmp_path / 'rosenbrock.fmu'}\n"
    assert "\nabi fmi " in call("doctor").out


def test_what_is_refused(call: Call, tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(MODEL.replace(", parameters=parameters", ""))
    answer = call("compile", model, "-o", tmp_path, "--abi", "stan")
    assert answer.code == 2 and "'bridgestan', 'casadi'" in answer.err
    answer = call("compile", model, "-o", tmp_path, "--abi", "bridgestan")
    assert answer.code == 3 and "expected one log density with parameters, found none" in answer.err
    answer = call("compile", model, "-o", tmp_path, "--abi", "casadi", "--target", "wasm32-wasi", "--emit", "obj")
    assert answer.code == 2 and "the interface casadi needs addresses of 64 bits" in answer.err
    assert call("doctor").out.count("abi ") >= 2

"""Programs that nobody here wrote load our libraries: BridgeStan's class, R's `.C`, a C program by its names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from needs import path_of
from test_bridgestan import DATA, Q, constrained, expected

import aotensor as aot
import aotensor.tensor as at

C_PROGRAM = """
#include <stdbool.h>
#include <stdio.h>
typedef struct bs_model bs_model;
extern const int bs_major_version;
bs_model *bs_model_construct(const char *data, unsigned int seed, char **error_msg);
void bs_model_destruct(bs_model *m);
void bs_free_error_msg(char *error_msg);
int bs_param_num(const bs_model *m, bool include_tp, bool include_gq);
int bs_log_density(const bs_model *m, bool propto, bool jacobian, const double *q, double *lp, char **error_msg);
int main(int argc, char **argv) {
  char *error = NULL;
  double q[14] = {0}, lp = 0;
  bs_model *model = bs_model_construct(argc > 1 ? argv[1] : NULL, 1, &error);
  if (!model) {
    printf("%s\\n", error);
    bs_free_error_msg(error);
    return 1;
  }
  int code = bs_log_density(model, true, false, q, &lp, &error);
  printf("%d %d %d %.10f\\n", bs_major_version, bs_param_num(model, false, false), code, lp);
  bs_model_destruct(model);
  return 0;
}
"""

R_PROGRAM = """
dyn.load(commandArgs(TRUE)[1])
made <- .C("bs_model_construct_R", commandArgs(TRUE)[2], 1L, model = raw(8), message = "", address = raw(8))
q <- rep(0, 14)
found <- .C("bs_log_density_R", made$model, 0L, 1L, q, value = 0, code = 0L, message = "", address = raw(8))
names <- .C("bs_param_unc_names_R", made$model, names = "")$names
cat(sprintf("%d %.10f %s\\n", found$code, found$value, substr(names, 1, 11)))
bad <- .C("bs_model_construct_R", "{", 1L, model = raw(8), message = "", address = raw(8))
cat(bad$message, "\\n")
"""

JSON = '{"X": [[1, 2]], "y": [3], "group": [0], "scale": 1}'
ONE = {"X": [[1, 2]], "y": [3], "group": [0], "scale": 1.0}


@pytest.mark.needs("cc")
def test_a_program_of_c(regression_library: Path, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(C_PROGRAM)
    where = [f"-L{regression_library.parent}", "-lregression", f"-Wl,-rpath,{regression_library.parent}"]
    command = [path_of("cc"), "-Wall", "-Werror", "main.c", "-o", "main", *where]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    done = subprocess.run(["./main", JSON], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"2 15 0 {expected(np.zeros(14), False, ONE):.10f}\n"
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "construct: data: X is missing\n"


@pytest.mark.needs("R")
def test_r(regression_library: Path, tmp_path: Path) -> None:
    (tmp_path / "main.R").write_text(R_PROGRAM)
    command = [path_of("R"), "main.R", str(regression_library), JSON]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    value = f"{expected(np.zeros(14), True, ONE):.10f}"
    message = "construct: data: not a JSON object: unexpected end of text at byte 1"
    assert done.stdout == f"0 {value} effects.1.1\n{message} \n"


@pytest.mark.needs("bridgestan")
def test_the_class_of_bridgestan(regression_library: Path) -> None:
    bridgestan = pytest.importorskip("bridgestan")
    model = bridgestan.StanModel(str(regression_library), DATA, warn=False)
    q = np.abs(Q)
    theta = model.param_constrain(q, include_gq=True, rng=model.new_rng(1))
    np.testing.assert_allclose(theta, constrained(q)[0], rtol=1e-14)
    np.testing.assert_allclose(model.param_unconstrain(theta), q, rtol=1e-12)
    value, slope, curvature = model.log_density_hessian(q)
    assert value == pytest.approx(expected(q), rel=1e-12)
    assert np.array_equal(slope, model.log_density_gradient(q)[1])
    _, product = model.log_density_hessian_vector_product(q, np.eye(14)[3])
    np.testing.assert_allclose(product, curvature[3], rtol=1e-12, atol=1e-15)
    assert np.isfinite(model.log_density(model.param_initialize(model.new_rng(2), {"rate": 1.0})))
    with pytest.raises(RuntimeError, match="data: X is missing"):
        bridgestan.StanModel(str(regression_library), warn=False)


@pytest.mark.needs("nutpie")
def test_nutpie_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gamma and a normal distribution. nutpie has no public way to give it a library: its build step is a stub."""
    nutpie, bridgestan = pytest.importorskip("nutpie"), pytest.importorskip("bridgestan")
    x, rate = at.vector("x", shape=(2,)), at.scalar("rate")
    logp = -0.5 * ((x - 3.0) ** 2).sum() + 2.0 * at.log(rate) - 4.0 * rate
    f = aot.function([x, rate], logp, name="two", parameters={"x": aot.Parameter(2), "rate": aot.Parameter(lower=0.0)})
    library = str(aot.compile(f, tmp_path, abi="bridgestan", opt_level=0).library)
    monkeypatch.setattr(bridgestan, "compile_model", lambda *_, **__: library)
    model = nutpie.compile_stan_model(code="")
    found = nutpie.sample(model, draws=1000, tune=300, chains=4, seed=5, progress_bar=False).posterior
    # mean and deviation of a gamma distribution with shape 3 and rate 4, and of normal ones; five standard errors
    for name, mean, deviation in (("rate", 0.75, 3**0.5 / 4), ("x", 3.0, 1.0)):
        assert abs(float(found[name].mean()) - mean) < 5 * deviation / 1500**0.5
        assert abs(float(found[name].std()) - deviation) < 0.1 * deviation

"""Ipopt's C interface: callbacks by ctypes, Ipopt itself from C and from Python, and what is refused."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.sparse
from ipopt_client import Problem
from needs import path_of
from nonlinear_programs import SOLUTION, START, control, hock_schittkowski_71

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.errors import AotensorError, GraphTypeError, GraphValueError, NullTypeGradError
from aotensor.gradient import undefined_grad
from aotensor.verification.compilation import check_symbols
from aotensor_runtime.container import Container

STEPS = 20
C_PROGRAM = r"""
#include <IpStdCInterface.h>
#include <stdio.h>
#include "hs71.h"
int main(int argc, char **argv) {
  double c = 1, x[] = {1, 5, 5, 1}, low[] = {1, 1, 1, 1}, high[] = {5, 5, 5, 5}, f = 0;
  double g_low[] = {25, 40}, g_high[] = {2e19, 40};
  const double *parameters[] = {&c};
  aotensor_ipopt_problem *p = hs71_ipopt_problem(parameters);
  IpoptProblem nlp = CreateIpoptProblem(p->n, low, high, p->m, g_low, g_high, p->nele_jac, p->nele_hess,
                                        p->index_style, p->eval_f, p->eval_g, p->eval_grad_f, p->eval_jac_g, p->eval_h);
  AddIpoptStrOption(nlp, "derivative_test", "second-order");
  AddIpoptNumOption(nlp, "tol", 1e-10);
  if (argc > 1) AddIpoptStrOption(nlp, "linear_solver", argv[1]);
  enum ApplicationReturnStatus status = IpoptSolve(nlp, x, NULL, &f, NULL, NULL, NULL, p);
  printf("\nstatus %d\nx %.9f %.9f %.9f %.9f\n", status, x[0], x[1], x[2], x[3]);
  FreeIpoptProblem(nlp);
  hs71_ipopt_free(p);
  return 0;
}
"""
LARGE = r"""
#include <IpStdCInterface.h>
#include <stdio.h>
#include "vdp.h"
static double x[VDP_IPOPT_N], low[VDP_IPOPT_N], high[VDP_IPOPT_N], g[VDP_IPOPT_M];
int main(int argc, char **argv) {
  double h = 10.0 * 2 / VDP_IPOPT_M, f = 0;
  const double *parameters[] = {&h};
  for (int k = 0; k < VDP_IPOPT_N; k++) high[k] = k < 2 * VDP_IPOPT_N / 3 ? 2e19 : 0.8, low[k] = -high[k];
  low[0] = high[0] = 0, low[1] = high[1] = 1;
  aotensor_ipopt_problem *p = vdp_ipopt_problem(parameters);
  IpoptProblem nlp = CreateIpoptProblem(p->n, low, high, p->m, g, g, p->nele_jac, p->nele_hess, p->index_style,
                                        p->eval_f, p->eval_g, p->eval_grad_f, p->eval_jac_g, p->eval_h);
  AddIpoptNumOption(nlp, "bound_relax_factor", 0);
  AddIpoptNumOption(nlp, "tol", 1e-10);  /* the barrier of 66,668 bounds would cost 6e-6 with its own 1e-8 */
  FILE *file = argc > 1 ? fopen("start", "rb") : NULL;
  if (file) {
    if (fread(x, sizeof(double), VDP_IPOPT_N, file) != VDP_IPOPT_N || fclose(file)) return 2;
    AddIpoptNumOption(nlp, "mu_init", 1e-5);
  }
  printf("status %d", IpoptSolve(nlp, x, NULL, &f, NULL, NULL, NULL, p));
  printf("f %.12f\n", f);
  file = fopen("solution", "wb");
  return fwrite(x, sizeof(double), VDP_IPOPT_N, file) == VDP_IPOPT_N ? fclose(file) : 1;
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> aot.driver.artifact.Artifact:
    programs = [hock_schittkowski_71(), control(STEPS)]
    return aot.compile(programs, tmp_path_factory.mktemp("ipopt"), abi="ipopt", opt_level=0)


def test_callbacks_have_the_values_of_the_program(made: aot.driver.artifact.Artifact) -> None:
    program, h, rng = control(STEPS), np.array(0.5), np.random.default_rng(1)
    problem = Problem(made.library, "vdp", h)
    n, m, jacobian, hessian = problem.public_sizes
    assert (n, m) == (program.n, program.m)
    x, lam, f, g, slope = rng.normal(size=n), rng.normal(size=m), np.zeros(1), np.zeros(m), np.zeros(n)
    assert problem.call("eval_f", x, 1, f) == problem.call("eval_g", x, 0, m, g) == 1
    assert problem.call("eval_grad_f", x, 0, slope) == 1
    np.testing.assert_allclose(f[0], program.f.reference(x, h), rtol=1e-13)
    np.testing.assert_allclose(g, program.g.reference(x, h), atol=1e-13)
    np.testing.assert_allclose(slope, program.grad_f.reference(x, h), rtol=1e-13)
    values = np.zeros(jacobian)
    i, j = problem.structure("eval_jac_g")
    assert problem.call("eval_jac_g", x, 0, m, jacobian, None, None, values) == 1
    found = scipy.sparse.coo_matrix((values, (i, j)), (m, n)).toarray()
    np.testing.assert_allclose(found, program.jac_g.reference(x, h).toarray(), atol=1e-13)
    values = np.zeros(hessian)
    i, j = problem.structure("eval_h")
    assert problem.call("eval_h", x, 0, ctypes.c_double(2.0), m, lam, 1, hessian, None, None, values) == 1
    found = scipy.sparse.coo_matrix((values, (i, j)), (n, n)).toarray()
    np.testing.assert_allclose(found, program.hess_l.reference(x, h, 2.0, lam).toarray(), atol=1e-13)


def test_a_point_is_evaluated_once_and_parameters_may_change(made: aot.driver.artifact.Artifact) -> None:
    c, f, slope = np.array(1.0), np.zeros(1), np.zeros(4)
    problem = Problem(made.library, "hs71", c)
    assert problem.call("eval_f", START, 1, f) == 1 and f[0] == 16.0
    c[...] = 3.0
    # 256: only the low byte of a bool counts
    assert problem.call("eval_f", START, 256, f) == 1 and f[0] == 16.0
    assert problem.call("eval_grad_f", START, 0, slope) == 1 and slope[2] == 4.0
    assert problem.call("eval_f", START, 1, f) == 1 and f[0] == 26.0


def test_wrong_calls_return_false_and_say_why(made: aot.driver.artifact.Artifact) -> None:
    problem, f = Problem(made.library, "hs71", np.array(1.0)), np.zeros(1)
    assert problem.call("eval_f", None, 1, f) == 0 and problem.public.message == b"x is NULL"
    assert problem.call("eval_jac_g", None, 1, 2, 7, f, f, None) == 0
    assert problem.public.message == b"the number of stored entries is not that of this program"
    rows, values = np.zeros(10, "int32"), np.zeros(10)
    for name, given in (
        ("eval_f", (START, 1, None)), ("eval_g", (START, 1, 2, None)), ("eval_grad_f", (START, 1, None)),
        ("eval_h", (START, 1, ctypes.c_double(1.0), 2, None, 1, 10, rows, rows, values)),
    ):  # fmt: skip
        assert problem.call(name, *given) == 0 and problem.public.message == b"an array is NULL"
    assert problem.call("eval_jac_g", None, 1, 2, 8, rows, None, None) == 0
    assert problem.public.message == b"the memory for rows or columns is NULL"
    problem.public.n = 3
    assert problem.call("eval_f", START, 1, f) == 0
    assert problem.public.message == b"n is not the number of variables of this program"
    create = problem.lib.hs71_ipopt_problem
    create.restype = ctypes.c_void_p
    assert create(None) is None and create((ctypes.c_void_p * 1)(None)) is None
    problem.lib.hs71_ipopt_free(None)


def test_a_check_that_fails_is_the_message(tmp_path: Path) -> None:
    x, k = at.vector("x", shape=(3,)), at.vector("k", shape=(1,))
    picked = at.take(x, at.cast(k, "int64")[0])
    made = aot.compile(aot.nlp(x, picked**2, p=k, name="pick"), tmp_path, abi="ipopt", opt_level=0)
    k0, f = np.array([1.0]), np.zeros(1)
    problem = Problem(made.library, "pick", k0)
    assert problem.call("eval_f", np.arange(3.0), 1, f) == 1 and f[0] == 1.0 and problem.public.m == 0
    k0[0] = 5.0
    assert problem.call("eval_f", np.arange(3.0), 1, f) == 0 and b"out of range" in problem.public.message


def test_the_library_exports_what_it_says(made: aot.driver.artifact.Artifact) -> None:
    data = made.library.read_bytes()
    manifest = Container(data).manifest()
    assert "exported" in check_symbols(data, manifest)
    (interface,) = manifest.interfaces
    assert interface.name == "ipopt" and "vdp_eval_h" in interface.symbols
    assert "#define VDP_IPOPT_N 63\n#define VDP_IPOPT_M 40" in made.header.read_text()


def test_without_second_derivatives_there_is_no_hessian(tmp_path: Path) -> None:
    x, z = at.vector("x", shape=(4,)), at.vector("z", shape=(4,))
    once = aot.OpFromGraph([z], [z**3], lop_overrides=lambda given, _, g: [g[0] * undefined_grad(3 * given[0] ** 2)])
    program = aot.nlp(x, once(x).sum(), name="once")
    with pytest.raises(NullTypeGradError):
        program.hess_l.reference(START, 1.0, [])
    with pytest.warns(UserWarning, match="nlp once: hess_l is left out: .*undefined"):
        library = aot.compile(program, tmp_path, abi="ipopt", opt_level=0).library
    problem, slope = Problem(library, "once"), np.zeros(4)
    assert problem.public.eval_h is None and problem.public.nele_hess == 0 and problem.public.eval_jac_g
    assert not hasattr(problem.lib, "once_eval_h") and not hasattr(problem.lib, "once_hess_l")
    assert problem.call("eval_grad_f", START, 1, slope) == 1 and np.array_equal(slope, 3 * START**2)


X = at.vector("x", shape=(2,))
REFUSED: list[tuple[Callable[[], Any], type[AotensorError], str]] = [
    (lambda: aot.function([X], X.sum(), name="f"), GraphValueError, "there is no nonlinear program among f"),
    (lambda: aot.nlp(at.fvector("z"), 1.0), GraphValueError, "needs the extents of z"),
    (lambda: aot.nlp(at.vector("z", dtype="float32", shape=(2,)), 1.0), GraphTypeError, "z in x of nlp is float32"),
    (lambda: aot.nlp(X, X.sum(), p=at.lscalar("k")), GraphTypeError, "k in p of nlp is int64, not a dense float64"),
    (lambda: aot.nlp(X, X.sum() * aot.shared(2.0, "s")), GraphValueError, "nlp has shared variables, s"),
    (lambda: aot.nlp(at.vector("z", shape=(0,)), 1.0), GraphValueError, "x of nlp has 0 elements"),
    (
        lambda: [aot.nlp(X, X.sum(), name="p"), aot.function([X], X, name="p_eval_f")],
        GraphValueError,
        "the interface ipopt exports 'p_eval_f'",
    ),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_is_refused(make: Callable[[], Any], error: type[AotensorError], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        aot.compile(make(), tmp_path, abi="ipopt", opt_level=0)


def solved(made: aot.driver.artifact.Artifact, folder: Path, *flags: str, options: tuple[str, ...] = ()) -> str:
    """What the program of 20 lines prints, built with some Ipopt."""
    (folder / "client.c").write_text(C_PROGRAM)
    command = [path_of("cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "client.c", f"-I{made.library.parent}"]
    command += [str(made.library), *flags, "-lm", f"-Wl,-rpath,{made.library.parent}", "-o", "client"]
    subprocess.run(command, check=True, cwd=folder)
    return subprocess.run(["./client", *options], check=True, cwd=folder, capture_output=True, text=True).stdout


def check_solved(text: str) -> None:
    assert "No errors detected by derivative checker." in text and "status 0" in text
    np.testing.assert_allclose([float(x) for x in text.split("\nx ")[1].split()], SOLUTION, atol=2e-8)


@pytest.mark.needs("ipopt")
def test_a_program_of_c_with_debians_ipopt(made: aot.driver.artifact.Artifact, tmp_path: Path) -> None:
    check_solved(solved(made, tmp_path, "-isystem", "/usr/include/coin", "-lipopt"))


@pytest.mark.needs("ipopt", "c++")
def test_the_header_fits_the_types_of_ipopt(made: aot.driver.artifact.Artifact, tmp_path: Path) -> None:
    kinds = {"f": "Eval_F_CB", "g": "Eval_G_CB", "grad_f": "Eval_Grad_F_CB", "jac_g": "Eval_Jac_G_CB", "h": "Eval_H_CB"}
    lines = ["#include <IpStdCInterface.h>", '#include "hs71.h"']
    lines += [f"{kind} own_{name} = vdp_eval_{name};" for name, kind in kinds.items()]
    lines += [
        f"{kind} of_{name}(aotensor_ipopt_problem *p) {{ return p->eval_{name}; }}" for name, kind in kinds.items()
    ]
    (tmp_path / "types.cpp").write_text("\n".join(lines) + "\n")
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-isystem", "/usr/include/coin", "-fsyntax-only"]
    command = [path_of("c++"), *flags, f"-I{made.library.parent}", "types.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.needs("casadi")
def test_the_same_program_with_ipopt_3_14(made: aot.driver.artifact.Artifact, tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi")
    place = Path(casadi.__file__).parent
    flags = ("-isystem", str(place / "include" / "coin-or"), str(place / "libipopt.so.3"))
    linked = (f"-Wl,-rpath,{place}", f"-Wl,-rpath-link,{place}")
    check_solved(solved(made, tmp_path, *flags, *linked, options=("mumps",)))


@pytest.mark.needs("cyipopt")
def test_cyipopt_solves_it(made: aot.driver.artifact.Artifact) -> None:
    cyipopt, lib, c = pytest.importorskip("cyipopt"), made.load(), 1.0
    patterns = hock_schittkowski_71()

    class Program:
        objective = staticmethod(lambda x: lib.hs71_f(x, c))
        gradient = staticmethod(lambda x: lib.hs71_grad_f(x, c))
        constraints = staticmethod(lambda x: lib.hs71_g(x, c))
        jacobian = staticmethod(lambda x: lib.hs71_jac_g(x, c).data)
        hessian = staticmethod(lambda x, lam, sigma: lib.hs71_hess_l(x, c, sigma, lam).data)
        jacobianstructure = staticmethod(lambda: (patterns.jac_g_pattern.rows, patterns.jac_g_pattern.indices))
        hessianstructure = staticmethod(lambda: (patterns.hess_l_pattern.rows, patterns.hess_l_pattern.indices))

    bounds = {"lb": np.ones(4), "ub": np.full(4, 5.0), "cl": [25.0, 40.0], "cu": [2e19, 40.0]}
    solver = cyipopt.Problem(n=4, m=2, problem_obj=Program(), **bounds)
    solver.add_option("tol", 1e-10)
    solver.add_option("print_level", 0)
    x, info = solver.solve(START)
    assert info["status"] == 0
    np.testing.assert_allclose(x, SOLUTION, atol=2e-8)


def optimal_cost(h: float) -> float:
    """The least cost of the program `control` with steps of h, up to O(h²), from the conditions of Pontryagin.

    The program counts the first and the last point as a whole step, but the first control steers for half a step only:
    its cost is h/2 of what it is at the ends more than the integral, with half of the first control's square.
    """

    def slope(_: Any, state: Any) -> Any:
        a, b, p, q, _ = state
        u = np.clip(-p / 2, -0.8, 0.8)
        return (1 - b**2) * a - b + u, a, -2 * a - p * (1 - b**2) - q, 2 * p * a * b + p - 2 * b, a**2 + b**2 + u**2

    def ends(first: Any, last: Any) -> Any:
        return first[0], first[1] - 1, last[2], last[3], first[4]

    t = np.linspace(0, 10, 201)
    guess = np.stack([0 * t, np.exp(-t), 0 * t, 0 * t, 0 * t])
    found = scipy.integrate.solve_bvp(slope, ends, t, guess, tol=1e-7, max_nodes=10_000)
    assert found.success, found.message
    (a, b, p, _, _), (*last, _, _, cost) = found.sol(0), found.sol(10)
    return float(cost + h / 2 * (a**2 + b**2 + p**2 / 8 + np.square(last).sum()))


def steered(steps: int, folder: Path, start: Array | None = None) -> Array:
    """The solution by Debian's Ipopt: its states and controls, whose cost and constraints NumPy has checked.

    start: of another number of steps, interpolated;  → (steps + 1, 3)
    """
    made = aot.compile(control(steps), folder, abi="ipopt", opt_level=1)
    (folder / "large.c").write_text(LARGE)
    flags = ["-isystem", "/usr/include/coin", f"-I{folder}", str(made.library), "-lipopt", f"-Wl,-rpath,{folder}"]
    subprocess.run([path_of("cc"), "-O1", "large.c", *flags, "-o", "large"], check=True, cwd=folder)
    grid = np.linspace(0, 1, steps + 1)
    if start is not None:
        given = [np.interp(grid, np.linspace(0, 1, len(start)), column) for column in start.T]
        np.concatenate([np.stack(given[:2], 1).ravel(), given[2]]).tofile(folder / "start")
    command = ["./large", *["start"] * (start is not None)]
    found = subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True).stdout
    assert "status 0" in found, found
    x, h = np.fromfile(folder / "solution"), 10 / steps
    (a, b), u = x[: 2 * steps + 2].reshape(-1, 2).T, x[2 * steps + 2 :]
    for z, dz in ((a, (1 - b**2) * a - b + u), (b, a)):
        assert np.abs(np.diff(z) - h / 2 * (dz[1:] + dz[:-1])).max() < 1e-8
    assert a[0] == 0 and b[0] == 1 and np.abs(u).max() < 0.8 + 1e-7
    cost = h * (a**2 + b**2 + u**2).sum()
    assert float(found.split("f ")[-1]) == pytest.approx(cost, abs=1e-10)
    assert cost == pytest.approx(optimal_cost(h), abs=h**2 + 1e-6)
    return np.stack([a, b, u], 1)


@pytest.mark.needs("ipopt")
def test_a_large_problem(tmp_path: Path) -> None:
    assert steered(1000, tmp_path).shape == (1001, 3)


@pytest.mark.needs("ipopt")
@pytest.mark.level("ci", "compiles a second program, 9 s of processor time")
@pytest.mark.unlimited("the one problem of 100,002 variables")
def test_a_problem_of_100_002_variables(tmp_path: Path) -> None:
    """It starts from a solution with steps of 0.05, interpolated: 13 iterations instead of 44."""
    folders = [tmp_path / "coarse", tmp_path / "fine"]
    for folder in folders:
        folder.mkdir()
    assert steered(33_333, folders[1], steered(200, folders[0])).size == 100_002

"""Column-major inputs and outputs: typed entry, uniform entry, Python, what is recorded and what is refused."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError
from aotensor.verification.answers import Answers
from aotensor.verification.limits import Limits
from aotensor.verification.values import check_compiled, check_interpreted
from aotensor_runtime.errors import ArgumentValueError, OutOfMemory
from aotensor_runtime.manifest import Manifest

Array = np.ndarray[Any, np.dtype[Any]]
A, B, v = at.matrix("A", shape=("n", "p")), at.matrix("B", shape=("p", 3)), at.vector("v", shape=("n",))
T, Z = at.tensor3("T", shape=("n", 2, None)), at.matrix("Z", dtype="complex64", shape=("n", None))
N, P, Q = 4, 5, 3


def column_major() -> aot.Function:
    inputs = [aot.In(A, layout="F"), B, v, aot.In(T, layout="F"), aot.In(Z, layout="F")]
    outputs = {"C": aot.Out(A @ B, layout="F"), "r": v @ A, "S": aot.Out(T * 2 + v[:, None, None], layout="F")}
    return aot.function(inputs, outputs | {"P": at.exp(A) + v[:, None], "Y": aot.Out(Z * 2j, layout="F")}, name="f")


def arguments() -> list[Array]:
    rng = np.random.default_rng(3)
    shapes = (N, P), (P, 3), (N,), (N, 2, Q)
    return [*map(rng.normal, [0.0] * 4, [1.0] * 4, shapes), (rng.normal(size=(N, 2)) + 1j).astype("complex64")]


def expected(a: Array, b: Array, x: Array, t: Array, z: Array) -> dict[str, Array]:
    return {"C": a @ b, "r": x @ a, "S": 2 * t + x[:, None, None], "P": np.exp(a) + x[:, None], "Y": 2j * z}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> aot.driver.artifact.Artifact:
    return aot.compile(column_major(), tmp_path_factory.mktemp("layouts"), opt_level=0)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_python_passes_any_layout(made: aot.driver.artifact.Artifact, order: Any) -> None:
    given = arguments()
    given = [x[::-1] for x in given] if order == "strided" else [np.array(x, order=order) for x in given]
    found = made.load().f(*given)
    for key, wanted in expected(*given).items():
        np.testing.assert_allclose(found[key], wanted, rtol=1e-6 if key == "Y" else 1e-14)
        assert found[key].flags["F_CONTIGUOUS" if key in "CSY" else "C_CONTIGUOUS"]


def test_typed_entry(made: aot.driver.artifact.Artifact) -> None:
    given = [np.asfortranarray(x) if k != 1 else x for k, x in enumerate(arguments())]
    wanted = expected(*given)
    found = {key: np.zeros_like(x, order="F" if key in "CSY" else "C") for key, x in wanted.items()}
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*given, *found.values())]
    entry = ctypes.CDLL(str(made.library)).f
    assert entry(*map(ctypes.c_int64, (N, P, Q, 2)), *pointers, None) == 0
    for key, x in wanted.items():
        np.testing.assert_allclose(found[key], x, rtol=1e-6 if key == "Y" else 1e-14)


def test_header_and_manifest(made: aot.driver.artifact.Artifact) -> None:
    header, spec = made.header.read_text(), made.load().manifest.function("f")
    assert "A  in  float64[n, p]  column-major" in header and "S  out float64[n, 2, T_2]  column-major" in header
    assert "f(int64_t n, int64_t p, int64_t T_2, int64_t Z_1, const double *A" in header
    assert [x.layout for x in spec.inputs] == ["F", "C", "C", "F", "F"]
    assert [x.layout for x in spec.outputs] == ["F", "C", "F", "C", "F"]
    text = made.load().manifest.to_json()
    assert Manifest.from_json(text).to_json() == text and text.count('"layout"') == 6


def test_wrong_extents_are_those_of_the_caller(made: aot.driver.artifact.Artifact) -> None:
    given = arguments()
    given[3] = given[3][:, :1]
    with pytest.raises(ArgumentValueError, match="extent 1 of T is 1, expected 2"):
        made.load().f(*given)


def test_all_stages_agree() -> None:
    build = Build([f := column_major()], None, Options(opt_level=0))
    answers = Answers(f, 2, 0, Limits())
    for stage in ("tensor", "tensor-opt"):
        assert check_interpreted(answers, build, stage, None) == "2 samples agree"
    assert check_compiled(answers, build, None) == "2 samples agree"


def test_without_a_heap(tmp_path: Path) -> None:
    f = aot.function([aot.In(A, layout="F"), B], aot.Out(at.exp(A) @ B, layout="F"), name="h")
    lib, (a, b, *_) = aot.compile(f, tmp_path, malloc=False, opt_level=0).load(), arguments()
    np.testing.assert_allclose(lib.h(a, b), np.exp(a) @ b, rtol=1e-13)
    with pytest.raises(OutOfMemory, match="out is not column-major, and the library allocates no memory"):
        lib.h(a, b, out=np.zeros((N, 3)))


def test_bound_calls(made: aot.driver.artifact.Artifact) -> None:
    a, b, x, t, z = arguments()
    a, t, z = map(np.asfortranarray, (a, t, z))
    call = made.load().f.bind(A=a, B=b, v=x, T=t, Z=z)
    a[0] = 7.0
    call()
    np.testing.assert_allclose(call.outputs["C"], a @ b, rtol=1e-14)
    with pytest.raises(ArgumentValueError, match="A is not column-major, so it cannot be bound"):
        made.load().f.bind(A=np.ascontiguousarray(a), B=b, v=x, T=t, Z=z)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphValueError, match="layout must be 'C' or 'F', not 'R'"):
        aot.In(A, layout="R")
    with pytest.raises(GraphTypeError, match="layout='F' is supported only for dense arrays"):
        aot.In(sp.csr_matrix("M"), layout="F")
    f = aot.function([A], aot.Out(A[A[:, 0] > 0], layout="F"), name="some")
    with pytest.raises(UnsupportedError, match="the extents of output out depend on values, so it has no layout 'F'"):
        aot.compile(f, tmp_path, opt_level=0)
    t, y = at.scalar("t"), at.vector("y", shape=(2,))
    M = at.matrix("M", shape=(2, 2))
    g = aot.function([t, y, aot.In(M, layout="F")], t * (M @ y), name="g")
    with pytest.raises(GraphValueError, match="abi sundials: M of g is column-major"):
        aot.compile(g, tmp_path, abi="sundials", opt_level=0)

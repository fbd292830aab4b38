"""The typed entry for callers that are not Python: addresses, signatures, callbacks of SciPy."""

from __future__ import annotations

import ctypes
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from scipy import integrate, ndimage

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.codegen.header import header_text
from aotensor_runtime import Library, load
from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError, LibraryError
from aotensor_runtime.typed.pointer import EntryPointer

DOUBLES = ctypes.POINTER(ctypes.c_double)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    x = at.vector("x", dtype="float64", shape=("n",))
    t, a, k = at.scalar("t", dtype="float64"), at.scalar("a", dtype="float64"), at.scalar("k", dtype="int8")
    window, flags = at.vector("window", dtype="float64", shape=(9,)), at.vector("flags", dtype="bool", shape=("n",))
    A, count = sp.csr_matrix("A", dtype="float32"), aot.shared(0.0, name="count")
    functions = [
        aot.function([x], {"y": at.exp(x).sum(), "g": aot.grad(at.exp(x).sum(), x)}, name="value"),
        aot.function([t, a, x], at.exp(-a * t) * (x * at.sin(t)).sum(), name="damped"),
        aot.function([window], at.sort(window)[4], name="median"),
        aot.function([A, flags, k], [2 * A, k * flags], name="mixed"),
        aot.function([t], t + count, updates={count: count + 1}, name="counting"),
        aot.function([x, k], x[k], name="pick"),
    ]
    folder = tmp_path_factory.mktemp("pointer")
    return aot.compile(functions, folder, name="pointers", prefix="my_").load()


def doubles(array: np.ndarray[Any, Any]) -> Any:
    return array.ctypes.data_as(DOUBLES)


def test_signatures(library: Library) -> None:
    pointer = library.value.pointer
    assert pointer.argtypes == (ctypes.c_int64, DOUBLES, DOUBLES, DOUBLES, ctypes.c_void_p)
    assert pointer.declaration == (
        "int32_t my_value(int64_t n, const double *x, double *y, double *g, void *workspace);"
    )
    assert pointer.cffi == "int32_t (*)(int64_t, const double *, double *, double *, void *)"
    assert int(pointer) == pointer.address > 0 and f"{pointer.address:#x}" in repr(pointer)
    kinds = [getattr(kind, "_type_", None) for kind in library.mixed.pointer.argtypes]
    assert [getattr(kind, "__name__", kind) for kind in kinds] == [
        "Context", "l", "l", "l", "Sparse", "c_ubyte", "c_byte", "Sparse", "c_byte", "P",
    ]  # fmt: skip
    assert library.mixed.pointer.cffi == (
        "int32_t (*)(void *, int64_t, int64_t, int64_t, const void *, const uint8_t *, const int8_t *, void *, "
        "int8_t *, void *)"
    )


def test_declarations_are_those_of_the_header(library: Library) -> None:
    header = re.sub(r"\s+", " ", header_text(library.manifest))
    for name in library:
        assert library[name].pointer.declaration.replace("( ", "(") in header.replace("( ", "(")


def test_by_ctypes(library: Library) -> None:
    for n in (0, 1, 7):
        x, y, g = np.linspace(0, 1, n), np.empty(()), np.empty(n)
        assert library.value.pointer.function(n, doubles(x), doubles(y), doubles(g), None) == 0
        np.testing.assert_allclose(y, np.exp(x).sum())
        np.testing.assert_allclose(g, np.exp(x))
    x, k, out = np.arange(3.0), np.array(5, "int8"), np.empty(())
    status = library.pick.pointer.function(
        3, doubles(x), k.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)), doubles(out), None
    )
    assert status >= 1000  # the check of the index
    with pytest.raises(ctypes.ArgumentError):
        library.value.pointer.function(3, x, doubles(out), doubles(x), None)


def test_by_cffi(library: Library) -> None:
    cffi = pytest.importorskip("cffi", reason="cffi is not installed")
    ffi = cffi.FFI()
    for name in library:
        ffi.cast(library[name].pointer.cffi, int(library[name].pointer))
    value, x, y, g = (
        ffi.cast(library.value.pointer.cffi, int(library.value.pointer)),
        np.ones(3),
        np.empty(()),
        np.empty(3),
    )
    assert value(3, *(ffi.from_buffer("double[]", array) for array in (x, y, g)), ffi.NULL) == 0
    assert y == pytest.approx(3 * np.e) and scipy.LowLevelCallable(value).signature.startswith("int32_t (int64_t, ")


def test_from_code_that_numba_compiles(library: Library) -> None:
    numba = pytest.importorskip("numba", reason="numba is not installed")
    value = library.value.pointer.function

    def total(x: np.ndarray[Any, Any], workspace: np.ndarray[Any, Any], repeat: int) -> float:
        y, g, all_of_them = np.empty(1), np.empty(x.size), 0.0
        for _ in range(repeat):
            if value(x.size, x.ctypes, y.ctypes, g.ctypes, workspace.ctypes) != 0:
                return -1.0
            all_of_them += y[0]
        return all_of_them

    compiled = numba.njit(total)
    workspace = np.empty(library.value.workspace_bytes(n=5), "uint8")
    assert compiled(np.ones(5), workspace, 3) == pytest.approx(15 * np.e)
    assert compiled.nopython_signatures


def test_scipy_takes_the_pointer(library: Library) -> None:
    assert scipy.LowLevelCallable(library.value.pointer.function).signature.startswith("int (long, double *")


def test_it_outlives_the_library(tmp_path: Path) -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    pointer: EntryPointer = aot.compile(aot.function([x], x + 1, name="f"), tmp_path).load().f.pointer
    given, out = np.ones(2), np.empty(2)
    assert pointer.function(2, doubles(given), doubles(out), None) == 0 and out.tolist() == [2, 2]


def test_integrals(library: Library) -> None:
    x = np.arange(4.0)
    call = library.damped.low_level_callable(x=x)
    expected = integrate.quad(lambda t: np.exp(-0.5 * t) * 6 * np.sin(t), 0, 3)[0]
    assert integrate.quad(call, 0, 3, args=(0.5,))[0] == pytest.approx(expected, rel=1e-12)
    assert call.signature == "double (int, double *, void *)"
    both = integrate.nquad(call, [[0, 3], [0, 1]])[0]
    reference = integrate.dblquad(lambda t, a: np.exp(-a * t) * 6 * np.sin(t), 0, 1, 0, 3)[0]
    assert both == pytest.approx(reference, rel=1e-10)
    x[:] = 0  # fixed inputs are bound: what is written to them is seen
    assert integrate.quad(call, 0, 3, args=(0.5,))[0] == 0


def test_filters(library: Library, rng: np.random.Generator) -> None:
    image = rng.normal(size=(20, 31))
    found = ndimage.generic_filter(image, library.median.low_level_callable("filter"), size=3)
    np.testing.assert_array_equal(found, ndimage.median_filter(image, size=3))
    with pytest.raises(RuntimeError, match="error in filter function"):  # 25 numbers, and it takes nine
        ndimage.generic_filter(image, library.median.low_level_callable("filter"), size=5)


def test_a_call_that_fails_gives_nan(library: Library) -> None:
    call = library.median.low_level_callable()  # takes nine numbers, and an integral of one passes one
    with pytest.warns(integrate.IntegrationWarning):
        assert np.isnan(integrate.quad(call, 0, 1)[0])


def test_what_no_callback_can_be_made_of(library: Library) -> None:
    with pytest.raises(ArgumentTypeError, match="damped: x is float64\\[n\\], whose size is not known"):
        library.damped.low_level_callable()
    with pytest.raises(ArgumentTypeError, match="pick: k is int8, and callbacks of SciPy receive float64"):
        library.pick.low_level_callable(x=np.ones(3))
    with pytest.raises(
        ArgumentTypeError, match="value: callbacks of SciPy must return one float64 number, and this returns float64"
    ):
        library.value.low_level_callable(x=np.ones(3))
    with pytest.raises(ArgumentTypeError, match="counting: it updates shared variables"):
        library.counting.low_level_callable()
    with pytest.raises(ArgumentValueError, match="form must be 'integrand' or 'filter', not 'quad'"):
        library.damped.low_level_callable("quad")
    with pytest.raises(ArgumentTypeError, match="'z'"):
        library.damped.low_level_callable(z=1.0, x=np.ones(2))


def test_a_pickled_library_points_to_its_own(library: Library) -> None:
    again = pickle.loads(pickle.dumps(library))
    assert again.value.pointer.declaration == library.value.pointer.declaration
    assert load(library.path or "").value.pointer.address == library.value.pointer.address


def test_without_scipy(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "scipy", None)
    with pytest.raises(LibraryError, match="low_level_callable needs SciPy"):
        library.median.low_level_callable()

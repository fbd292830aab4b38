"""Calls from Python: positions, names, layouts, conversions, results; and the words of every refusal."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import aotensor_runtime as runtime
from aotensor_runtime import fast

X = np.arange(6.0).reshape(2, 3)
W = np.array([1.0, 10.0, 100.0])


@pytest.fixture(params=["plain objects", "descriptors"])
def lib(request: pytest.FixtureRequest, lib: runtime.Library, monkeypatch: pytest.MonkeyPatch) -> runtime.Library:
    """The library, called in both ways: through object layouts, and as on a Python whose layout is unknown."""
    if request.param == "descriptors":
        monkeypatch.setattr("aotensor_runtime.call.probe", lambda: None)
    return lib


def test_both_ways_are_taken(lib: runtime.Library) -> None:
    lib.scale(W)
    assert (lib.scale._fast is fast.no_fast_call) == (lib.scale._fast((W,)) is None)


def test_results_by_kind(lib: runtime.Library) -> None:
    both = lib.affine(X, W, 1.0)
    assert list(both) == ["y", "total"]
    np.testing.assert_array_equal(both["y"], X @ W + 1)
    assert both["total"].shape == () and both["total"] == (X @ W + 1).sum()
    assert isinstance(lib.join(W, W), list)
    assert lib.plus(1.0, 2.0).shape == ()
    assert lib.touch(1.0) == []


def test_arguments_by_name(lib: runtime.Library) -> None:
    np.testing.assert_array_equal(lib.affine(b=1.0, w=W, X=X)["y"], lib.affine(X, W, b=1.0)["y"])


@pytest.mark.parametrize(
    "x",
    [
        X[::-1],
        X[:, ::-1],
        np.asfortranarray(X),
        np.broadcast_to(W, (4, 3)),
        np.arange(24.0).reshape(4, 6)[::2, 1::2],
        X.astype(">f8"),
        np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view("f8").reshape(2, 3),
        np.zeros(2, dtype=[("pad", "i1"), ("x", "f8", 3)])["x"],
        np.zeros((0, 3)),
        np.zeros((3, 0)),
        np.zeros((0, 3))[:, ::-1],
    ],
    ids=["rows back", "columns back", "fortran", "stride 0", "slices", "swapped", "unaligned", "odd strides",
         "no rows", "no columns", "no rows, back"],
)  # fmt: skip
def test_layouts(lib: runtime.Library, x: np.ndarray[Any, Any]) -> None:
    w = W[: x.shape[1]]
    result = lib.affine(x, w, 2.0)
    np.testing.assert_array_equal(result["y"], x @ w + 2)
    assert result["y"].dtype == np.float64 and result["y"].flags.c_contiguous


def test_higher_rank_copies_keep_order(lib: runtime.Library) -> None:
    flags = np.array([[True, False], [False, False], [True, True]]).T
    np.testing.assert_array_equal(lib.logic(flags), ~flags)


@pytest.mark.parametrize(
    "x",
    [[1, 2, 3], (1, 2, 3), np.arange(3), np.arange(3, dtype="uint8"), [True, False, True], np.float32([1, 2, 3]), []],
)
def test_values_that_widen(lib: runtime.Library, x: Any) -> None:
    np.testing.assert_array_equal(lib.scale(x), 2 * np.asarray(x, dtype=float))


def test_longlong_is_int64(lib: runtime.Library) -> None:
    x = np.arange(3, dtype="float32")
    assert lib.pick(x, np.array(2, dtype=np.longlong)) == 2


def test_python_float_into_float32_must_be_exact(lib: runtime.Library) -> None:
    assert lib.pick([0.5, 0.25], 1) == np.float32(0.25)
    assert np.isnan(lib.pick([float("nan")], 0)) and np.isinf(lib.pick([float("inf")], 0))
    with pytest.raises(runtime.ArgumentTypeError, match="does not fit float32 exactly"):
        lib.pick([0.1], 0)
    with pytest.raises(runtime.ArgumentTypeError, match="does not fit float32 exactly"):
        lib.pick([1e300], 0)


def test_subclasses_are_arrays(lib: runtime.Library) -> None:
    class Labelled(np.ndarray[Any, Any]):
        pass

    result = lib.scale(W.view(Labelled))
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, 2 * W)


def test_results_alias_nothing(lib: runtime.Library) -> None:
    x = np.ones(3)
    first, second = lib.scale(x), lib.scale(x)
    first[:] = 9
    assert second.tolist() == [2, 2, 2] and x.tolist() == [1, 1, 1]
    assert first.flags.owndata and first.flags.writeable


def test_sizes_that_only_the_library_knows(lib: runtime.Library) -> None:
    assert lib.ramp(3)[0].tolist() == [[0], [1], [2]]
    assert lib.ramp(0)[0].shape == (0, 1) and lib.ramp(0)[0].dtype == np.int64
    both, total = lib.join(W, 2 * W)
    np.testing.assert_array_equal(both, [*W, *(2 * W)])
    np.testing.assert_array_equal(total, 3 * W)


REFUSALS: list[tuple[Callable[[runtime.Library], object], type[Exception], str]] = [
    (lambda lib: lib.scale(), TypeError, "scale: missing x\nhint: call scale(x)"),
    (lambda lib: lib.affine(X), TypeError, "affine: missing w, b\nhint: call affine(X, w, b)"),
    (lambda lib: lib.scale(W, W), TypeError, "scale accepts 1 argument, found 2\nhint: call scale(x)"),
    (lambda lib: lib.plus(1, 2, 3), TypeError, "plus accepts 2 arguments, found 3\nhint: call plus(a, b)"),
    (lambda lib: lib.scale(y=W), TypeError, "scale has no input 'y'\nhint: call scale(x)"),
    (lambda lib: lib.scale(W, x=W), TypeError, "scale: input 'x' is given twice\nhint: call scale(x)"),
    (lambda lib: lib.scale(1.0), TypeError, "scale: x has rank 0, expected 1"),
    (lambda lib: lib.scale(X), TypeError, "scale: x has rank 2, expected 1"),
    (lambda lib: lib.scale(W * 1j), TypeError,
     ("scale: x has dtype complex128, expected float64\n"
      "hint: pass its real part, .real, or its size, abs(x)")),
    (lambda lib: lib.scale(["a"]), TypeError, "scale: x does not hold real numbers (dtype <U1)"),
    (lambda lib: lib.scale(None), TypeError, "scale: x: NoneType None is neither a number nor an array"),
    (lambda lib: lib.plus(Decimal(1), 2), TypeError,
     "plus: a: Decimal Decimal('1') is neither a number nor an array\nhint: pass float(x), if it is a number"),
    (lambda lib: lib.plus(2**70, 2), TypeError, "plus: a: an integer of 71 bits does not fit 64"),
    (lambda lib: lib.pick(W, 0), TypeError,
     "pick: x has dtype float64, expected float32\nhint: convert it with .astype('float32')"),
    (lambda lib: lib.pick([1], 0.0), TypeError, "pick: i = 0.0 has dtype float64, expected int64"),
    (lambda lib: lib.pick([1], 2**63), TypeError, "pick: i = 9223372036854775808 does not fit int64 exactly"),
    (lambda lib: lib.logic(np.zeros((2, 3), int)), TypeError, "logic: flags has dtype int64, expected bool"),
    (lambda lib: lib.logic(np.zeros((2, 4), bool)), ValueError, "logic: extent 1 of flags is 4, expected 3"),
    (lambda lib: lib.affine(X, W[:2], 0.0), ValueError, "affine: dim p of w is 2, but X has p = 3"),
    (lambda lib: lib.join(W, W[:1]), ValueError, "join: extent 0 of b is 1, but a has 3"),
    (lambda lib: lib.pick([1, 2], 2), IndexError, "pick: index 2 is out of range for x of extent 2"),
    (lambda lib: lib.pick([1, 2], -1), IndexError, "pick: index -1 is out of range for x of extent 2"),
    (lambda lib: lib.ramp(-4), ValueError, "ramp: k is -4, it must not be negative"),
    (lambda lib: lib.ramp(2**60), ValueError, "ramp: out is too large to address"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), REFUSALS)
def test_refusals(
    lib: runtime.Library, call: Callable[[runtime.Library], object], kind: type[Exception], text: str
) -> None:
    with pytest.raises(runtime.ArgumentError) as caught:
        call(lib)
    assert isinstance(caught.value, kind)
    assert str(caught.value) == text


def test_out_of_memory(lib: runtime.Library) -> None:
    with pytest.raises((runtime.OutOfMemory, MemoryError)):
        lib.ramp(2**58)


def test_blas_table_is_filled_when_it_is_needed(lib: runtime.Library) -> None:
    pytest.importorskip("scipy")
    assert lib.has_blas(1.0)
    assert lib.has_blas(x=1)


def test_dgemm_of_the_table_multiplies() -> None:
    pytest.importorskip("scipy")
    from aotensor_runtime.blas import blas_table

    kinds = [ctypes.c_char_p, ctypes.c_char_p, *[ctypes.c_void_p] * 11]
    dgemm = ctypes.CFUNCTYPE(None, *kinds)(blas_table().dgemm)
    a, b, c = np.asfortranarray(X), np.asfortranarray(X.T @ X), np.zeros((2, 3), order="F")
    m, n, k, one, zero = (np.array(v, t) for v, t in ((2, "i4"), (3, "i4"), (3, "i4"), (1.0, "f8"), (0.0, "f8")))
    places = [v.ctypes.data for v in (m, n, k, one, a, m, b, k, zero, c, m)]
    dgemm(b"N", b"N", *places)
    np.testing.assert_allclose(c, X @ (X.T @ X))


def test_function_describes_itself(lib: runtime.Library) -> None:
    assert repr(lib.affine) == "<function affine(X, w, b) of library handmade>"
    assert lib.affine.__doc__ == "y = X w + b, and its sum."
    assert lib.affine.spec.dims == ("n", "p")

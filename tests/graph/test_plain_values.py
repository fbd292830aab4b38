"""What is no plain array of numbers, wherever values come in: the right thing, or an error that says what to do."""

from __future__ import annotations

import decimal
import fractions
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import AotensorError

MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


class ArrayLike:
    """As of pandas, or of another library: it has an `__array__`, and nothing else of NumPy's."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array([1.0, 2.0])


class Broken:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise RuntimeError("the file is closed")


FINE: dict[str, Any] = {
    "list": [1.0, 2.0],
    "nested": [np.float64(1.0), 2.0],
    "strided": np.arange(4.0)[1:3],
    "big-endian": np.array([1.0, 2.0], ">f8"),
    "read-only": np.broadcast_to(np.float64(1.0), (2,)),
    "array-like": ArrayLike(),
}
LOST: dict[str, Any] = {
    "masked": MASKED,
    "masked-none": np.ma.array([1.0, 2.0]),
    "masked-inside": [MASKED[0], np.ma.masked],
    "masked-list": [np.ma.array(1.0, mask=True), 2.0],
    "longdouble": np.array([1.0, 2.0], np.longdouble),
    "objects": np.array([1.0, None]),
    "none": [1.0, None],
    "decimal": [decimal.Decimal("1.1"), decimal.Decimal(2)],
    "fraction": [fractions.Fraction(1, 3), 1],
    "text": ["1", "2"],
    "bytes": np.array([b"1", b"2"]),
    "dates": np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"),
    "times": np.array([1, 2], "timedelta64[s]"),
    "structured": np.zeros(2, [("a", "f8"), ("b", "i4")]),
    "record": np.zeros(2, [("a", "f8")]).view(np.recarray),
    "ragged": [[1.0], [2.0, 3.0]],
    "large": [2**64, 1],
    "rounded": [2**63, -1],
    "symbol": at.dvector("s"),
    "symbols": [at.dscalar("s"), 1.0],
    "sparse": scipy.sparse.csr_array(np.eye(2)),
    "dict": {"a": 1.0},
    "set": {1.0, 2.0},
    "broken": Broken(),
    "nothing": None,
    "function": math.sin,
}
X = at.dvector("x")
F = aot.function([X], X * 2, name="twice")

DOORS: dict[str, Callable[[Any], Any]] = {
    "constant": lambda value: at.constant(value).eval(),
    "constant-dtype": lambda value: at.constant(value, dtype="float64").eval(),
    "operand": lambda value: (at.zeros((2,)) + value).eval(),
    "reflected": lambda value: at.add(value, at.zeros((2,))).eval(),
    "as_tensor": lambda value: at.as_tensor(value).eval(),
    "shared": lambda value: aot.shared(value).get_value(),
    "set_value": lambda value: _set(value),
    "call": lambda value: F(value) / 2,
    "call-by-name": lambda value: F(x=value) / 2,
    "reference": lambda value: F.reference(value) / 2,
    "eval": lambda value: X.eval({X: value}),
    "downcast": lambda value: aot.function([X], X, allow_input_downcast=True).reference(value),
    "givens": lambda value: aot.function([], X * 1.0, givens={X: value}).reference(),
    "in-strict": lambda value: aot.function([aot.In(X, strict=False)], X).reference(value),
}
OWN_MEANING = {
    *((name, door) for name in ("symbol", "symbols") for door in ("operand", "reflected", "as_tensor", "givens")),
    *(("sparse", door) for door in ("operand", "reflected", "shared")),
    *(("longdouble", door) for door in ("constant-dtype", "downcast")),
}
"""Where a symbol, a sparse matrix or rounding is what is asked for."""


def _set(value: Any) -> Any:
    s = aot.shared(np.zeros(2))
    s.set_value(value)
    return s.get_value()


@pytest.mark.shows("tensor/1-TensorType")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", FINE)
def test_what_loses_nothing_is_taken(name: str, door: str) -> None:
    np.testing.assert_array_equal(DOORS[door](FINE[name]), np.asarray(FINE[name]))


@pytest.mark.shows("tensor/1-TensorType")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", LOST)
def test_what_would_be_lost_is_refused(name: str, door: str) -> None:
    if (name, door) in OWN_MEANING:
        return
    with pytest.raises(AotensorError) as found:
        DOORS[door](LOST[name])
    assert isinstance(found.value, TypeError | ValueError)
    assert "array(" not in found.value.diagnostic.title or len(found.value.diagnostic.title) < 160


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", ["masked", "masked-none", "masked-inside", "masked-list"])
def test_a_mask_is_never_dropped(name: str, door: str) -> None:
    with pytest.raises(AotensorError, match="masked array") as found:
        DOORS[door](LOST[name])
    assert "filled" in (found.value.diagnostic.hint or "")


def test_bound_functions_refuse_masks_too(tmp_path: Path) -> None:
    f = aot.compile(F, tmp_path).load()["twice"]
    with pytest.raises(AotensorError, match="masked array"):
        f.bind(x=MASKED)
    with pytest.raises(AotensorError, match="masked array"):
        f.bind(x=np.zeros(2), out=np.ma.zeros(2))


def test_a_np_matrix_is_an_array_as_a_value_but_no_operand() -> None:
    """Its `*` is a product of matrices; which one is meant, only the user knows."""
    m, x = np.ones((2, 2)).view(np.matrix), at.dmatrix("x")
    np.testing.assert_array_equal(aot.function([x], x * x)(m), np.ones((2, 2)))
    for build in (lambda: m * x, lambda: x * m, lambda: at.constant(m), lambda: m @ x):
        with pytest.raises(TypeError, match=r"np\.matrix"):
            build()


@pytest.mark.shows("tensor/1-constant")
@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, "int64"), (300, "int8"), (-1, "uint8"), (2, "bool"), (math.nan, "int64"), (1e300, "float32")],
)
def test_a_constant_does_not_change_its_value_for_a_dtype(value: Any, dtype: str) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        at.constant(value, dtype=dtype)


@pytest.mark.shows("tensor/1-constant")
@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2.0, "int8"), (255, "uint8"), (0.1, "float32"), (True, "bool"), (math.inf, "float32"), (2**53 + 1, "float64")],
)
def test_a_constant_takes_a_dtype_that_holds_it(value: Any, dtype: str) -> None:
    found = at.constant(value, dtype=dtype)
    assert found.dtype == dtype
    assert found.data == np.dtype(dtype).type(value)


@pytest.mark.parametrize("dtype", ["canard", None, 7, "clongdouble", "datetime64[s]", object, [("a", int)]])
def test_what_is_no_dtype_is_refused(dtype: Any) -> None:
    for build in (lambda: X.astype(dtype), lambda: at.cast(X, dtype)):
        with pytest.raises(AotensorError, match="dtype") as found:
            build()
        assert "float64" in (found.value.diagnostic.hint or "")

"""What the case tables cannot hold of creation ops and symbols: types, names, wrong programs."""

from __future__ import annotations

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor.config import config
from aotensor.errors import DisconnectedInputError, GraphTypeError, GraphValueError, UnsupportedError
from aotensor.gradient import grad


@pytest.mark.shows("tensor/1-tensor")
def test_symbols_have_the_types_of_their_names() -> None:
    assert str(at.scalar("x").type) == "float64"
    assert str(at.row("x").type) == "float64[1, ?]"
    assert str(at.col("x").type) == "float64[?, 1]"
    assert str(at.tensor3("x", dtype="int8").type) == "int8[?, ?, ?]"
    assert str(at.matrix("x", shape=("n", 3)).type) == "float64[n, 3]"
    assert str(at.tensor("x", dtype="bool", shape=(2, None)).type) == "bool[2, ?]"
    assert [at.bvector().dtype, at.wvector().dtype, at.ivector().dtype] == ["int8", "int16", "int32"]
    assert [at.lvector().dtype, at.fvector().dtype, at.dvector().dtype] == ["int64", "float32", "float64"]


def test_symbols_without_a_dtype_are_floatX(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "floatX", "float32")
    assert {at.vector().dtype, at.zeros(2).dtype, at.eye(2).dtype, at.arange(0.5, 2).dtype} == {"float32"}


@pytest.mark.shows("tensor/1-plurals")
def test_plurals_take_names_or_a_count() -> None:
    assert [x.name for x in at.scalars("a", "b")] == ["a", "b"]
    assert [x.name for x in at.vectors("ab")] == ["a", "b"]
    assert [x.name for x in at.dmatrices("alpha beta")] == ["alpha", "beta"]
    assert [x.name for x in at.fscalars(2)] == [None, None]
    assert [x.dtype for x in at.scalars("a b", dtype="int8")] == ["int8", "int8"]
    with pytest.raises(GraphTypeError):
        at.scalars("a", 2)


@pytest.mark.shows("tensor/1-tensor")
def test_wrong_symbols_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="is not supported"):
        at.vector("z", dtype="clongdouble")
    with pytest.raises(GraphTypeError, match="shape must have 2 dims, found 1"):
        at.matrix("x", shape=(3,))
    with pytest.raises(GraphValueError, match="must have extent 1, found 2"):
        at.row("x", shape=(2, 3))
    with pytest.raises(GraphTypeError, match="name must be a str or None"):
        at.tensor(3)  # type: ignore[arg-type]


def test_known_extents_are_in_the_type() -> None:
    x = at.matrix("x", shape=("n", 4))
    n = at.lscalar("n")
    assert at.zeros((2, n)).type.shape == (2, None)
    assert at.zeros(x.shape).type.shape == ("n", 4)
    assert at.zeros_like(x).type.shape == ("n", 4)
    assert at.arange(7).type.shape == (7,)
    assert at.arange(x.shape[0]).type.shape == ("n",)
    assert at.eye(3, 5).type.shape == (3, 5)
    assert at.diag(at.matrix("x", shape=(3, 5)), 4).type.shape == (1,)
    assert at.diag(at.vector("x", shape=(3,)), -2).type.shape == (5, 5)


@pytest.mark.shows("tensor/1-zeros")
def test_nothing_flows_through_a_shape() -> None:
    x = at.vector("x")
    for unread in (at.zeros_like(x), at.ones_like(x), at.alloc(1.0, x.shape[0]), at.full_like(x, 3)):
        with pytest.raises(DisconnectedInputError):
            grad(unread.sum(), x)
    assert grad(at.second(x, 2.0).sum(), x).eval({x: np.ones(2)}).tolist() == [0, 0]


@pytest.mark.parametrize(
    "build",
    [
        lambda: at.zeros(-1),
        lambda: at.eye(2, -3),
        lambda: at.alloc(np.zeros(3), 4),
        lambda: at.alloc(np.zeros((3, 4)), 4),
        lambda: at.arange(1, 2, 0),
        lambda: at.arange(0.0, np.inf),
        lambda: at.diagonal(np.zeros((2, 2)), 0, 1, 1),
        lambda: at.diagonal(np.zeros((2, 2)), 0, 0, 2),
    ],
)
def test_wrong_sizes_are_value_errors(build: object) -> None:
    with pytest.raises(GraphValueError):
        build()  # type: ignore[operator]


@pytest.mark.parametrize(
    "build",
    [
        lambda: at.zeros(2.5),
        lambda: at.zeros((at.dscalar("n"), 2)),
        lambda: at.arange(at.vector("x")),
        lambda: at.diag(at.scalar("x")),
        lambda: at.tril(at.vector("x")),
        lambda: at.eye(3, k=at.dscalar("k")),
        lambda: at.identity_like(at.vector("x")),
    ],
)
def test_wrong_kinds_are_type_errors(build: object) -> None:
    with pytest.raises(GraphTypeError):
        build()  # type: ignore[operator]


def test_run_time_extents_are_checked() -> None:
    n, v = at.lscalar("n"), at.vector("v")
    with pytest.raises(GraphValueError, match="extent -2 is negative"):
        at.zeros(n).eval({n: -2})
    with pytest.raises(GraphValueError, match="extents 1 and 3 along axis 0 differ"):
        at.alloc(v, n).eval({n: 3, v: np.zeros(1)})
    with pytest.raises(GraphValueError, match="step must not be 0"):
        at.arange(0, 5, n).eval({n: 0})


def test_names_of_users_are_sorted_and_documented() -> None:
    assert at.__all__ == sorted(set(at.__all__))
    undocumented = [name for name in at.__all__ if callable(getattr(at, name)) and not getattr(at, name).__doc__]
    assert not undocumented

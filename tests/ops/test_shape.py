"""Shape ops: result types, what is known when the graph is built, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError, UnsupportedError
from aotensor.graph.variable import Constant, Variable
from aotensor.ops.shape.broadcast import specify_broadcastable, specify_shape
from aotensor.ops.shape.extents import Shape, ShapeI
from aotensor.ops.shape.join import join, split, stack
from aotensor.ops.shape.rearrange import pad, repeat


def symbol(*dims: Any, dtype: str = "float64") -> Variable:
    return Variable(TensorType(dtype, dims), name="x")


def test_an_extent_is_cheap() -> None:
    x = symbol("n", 3, None)
    assert isinstance(x.shape.owner.op, Shape)
    assert isinstance(x.shape[0].owner.op, ShapeI)
    assert x.shape[0].owner.inputs[0] is x
    assert isinstance(x.shape[1], Constant)
    assert isinstance(x.shape[-1].owner.op, ShapeI)
    assert x.shape[1:].owner.inputs[0] is x
    assert x.shape.dtype == x.size.dtype == "int64"
    assert isinstance(symbol(2, 3).size, Constant)
    with pytest.raises(IndexError):
        x.shape[3]


def test_what_reshape_knows() -> None:
    x = symbol("n", 3, "k")
    n = x.shape[0]
    assert x.reshape((n, -1)).type.shape == ("n", None)
    assert symbol("n", 3, 4).reshape((-1, 4)).type.shape == (None, 4)
    assert symbol("n", 3).reshape((3, -1)).type.shape == (3, "n")
    y = symbol("n", 3, 4)
    assert y.reshape((y.shape[0], -1)).type.shape == ("n", 12)
    z = symbol(None, 6)
    assert z.reshape((z.shape[0], 2, -1)).type.shape == (None, 2, 3)
    assert symbol(4, 6).reshape((-1, 8)).type.shape == (3, 8)
    assert x.reshape(x.shape) is x
    assert x.flatten().ndim == 1
    assert x.flatten(2).type.shape == ("n", None)


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda: symbol(2, 3).reshape((4, 2)), ValueError, "6 elements do not fit a shape of 8"),
        (lambda: symbol(2, 3).reshape((-1, 4)), ValueError, "6 elements"),
        (lambda: symbol(None).reshape((-1, -1)), ValueError, "only one extent can be −1"),
        (lambda: symbol(None).reshape((-1, 0)), ValueError, "cannot be computed"),
        (lambda: symbol(None).reshape((2.5,)), TypeError, "integer scalar"),
        (lambda: symbol(None).reshape(symbol(None, dtype="int64")), TypeError, "known length"),
        (lambda: at.reshape(symbol(None), (2, 3), ndim=3), ValueError, "the shape has 2 extents, but ndim is 3"),
        (lambda: symbol(2, 3).flatten(3), ValueError, "to the rank 2, found 3"),
        (lambda: symbol(2, 3).dimshuffle(0), ValueError, "only extent 1 can be dropped"),
        (lambda: symbol(2, 3).dimshuffle(0, 0, 1), ValueError, "twice"),
        (lambda: symbol(2, 3).dimshuffle(0, 1, "y"), TypeError, "'x'"),
        (lambda: symbol(2, 3).dimshuffle(0, 2), ValueError, "out of range"),
        (lambda: symbol(2, 3).transpose(0, 0), ValueError, "not a permutation"),
        (lambda: symbol(2).mT, TypeError, "two axes"),
        (lambda: symbol(2, 3).squeeze(1), ValueError, "extent 3"),
        (lambda: at.moveaxis(symbol(2, 3), [0, 1], [0]), ValueError, "equal numbers of axes"),
        (lambda: specify_shape(symbol(2, 3), (2, 4)), ValueError, "extent 3 along axis 1 instead of 4"),
        (lambda: specify_shape(symbol(2, 3), (2,)), TypeError, "expected rank 1, found rank 2"),
        (lambda: join(0, symbol(2), symbol(2, 3)), TypeError, "must have the same rank"),
        (lambda: join(0, symbol(2, 3), symbol(2, 4)), ValueError, "axis 1 differ, 3 and 4"),
        (lambda: join(0, symbol(), symbol()), TypeError, "no axis"),
        (lambda: join(2, symbol(2, 3), symbol(2, 3)), ValueError, "out of range"),
        (lambda: join(0), ValueError, "expected at least one tensor"),
        (lambda: split(symbol(5), [2, 2]), ValueError, "parts of 4 in all for an extent of 5"),
        (lambda: split(symbol(5), [2, 3], 3), ValueError, "2 extents, but n_splits is 3"),
        (lambda: split(symbol(5), [6, -1]), ValueError, "negative"),
        (lambda: pad(symbol(2), 1, mode="median"), UnsupportedError, "mode 'median' is not supported"),
        (lambda: repeat(symbol(2), [1.0, 2.0]), TypeError, "repeats must be integers"),
        (lambda: repeat(symbol(2), [[1, 2]]), ValueError, "repeats must be a scalar or a vector"),
        (lambda: repeat(symbol(2), [1, 2, 3]), ValueError, "extent 3 along axis 0 instead of 2"),
        (lambda: pad(symbol(2), -1), ValueError, "non-negative"),
        (lambda: pad(symbol(2), ((1, 2), (3, 4))), ValueError, "rank 1"),
    ],
)
def test_what_is_refused_when_built(build: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build()


@pytest.mark.parametrize(
    ("build", "value", "text"),
    [
        (lambda x: x.reshape((4, 2)), np.zeros((2, 3)), "6 elements do not fit a shape of 8"),
        (lambda x: x.reshape((-1, 4)), np.zeros((2, 3)), "6 elements"),
        (lambda x: x.reshape((x.shape[0] - 5, -1)), np.zeros((3, 3)), "negative"),
        (lambda x: x.reshape((x.shape[0] * 1, -1)), np.zeros((0, 3)), "cannot be computed"),
        (lambda x: x.squeeze(0), np.zeros((2, 3)), "axis 0 has extent 2"),
        (lambda x: specify_shape(x, (3, None)), np.zeros((2, 3)), "extent 2 along axis 0 instead of 3"),
        (lambda x: specify_broadcastable(x, 1), np.zeros((2, 3)), "extent 3 along axis 1 instead of 1"),
        (lambda x: join(0, x, x.T), np.zeros((2, 3)), "axis 1 differ, 2 and 3"),
        (lambda x: split(x, [1, 2])[0], np.zeros((2, 3)), "parts of 3 in all for an extent of 2"),
        (lambda x: split(x, [3, x.shape[1] - 4])[0], np.zeros((2, 3)), "negative"),
    ],
)
def test_what_is_refused_at_run_time(build: Any, value: Any, text: str) -> None:
    x = symbol(None, None)
    with pytest.raises(ValueError, match=text):
        build(x).eval({x: value})


def test_joined_types() -> None:
    assert join(0, symbol(2, 3), symbol(4, 3)).type.shape == (6, 3)
    assert join(0, symbol(2, "k"), symbol(None, 3)).type.shape == (None, 3)
    assert join(1, symbol("n", 3), symbol(None, 2)).type.shape == ("n", 5)
    assert stack([symbol("n"), symbol("n")], axis=1).type.shape == ("n", 2)
    assert [part.type.shape for part in split(symbol("n", 5), [2, 3], axis=1)] == [("n", 2), ("n", 3)]
    assert specify_shape(symbol("n", None), (None, 3)).type.shape == ("n", 3)


def test_errors_name_op_and_operands() -> None:
    with pytest.raises(GraphTypeError) as caught:
        join(0, symbol(2), symbol(2, 3))
    assert str(caught.value).startswith("join: all tensors must have the same rank\n  x: float64[2]   made at ")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x, n: at.arange(n - 1), lambda x, n: np.arange(n - 1)),
        (lambda x, n: at.arange(n - 1, -1, -1), lambda x, n: np.arange(n - 1, -1, -1)),
        (lambda x, n: at.zeros((n + 1, 2 * n)), lambda x, n: np.zeros((n + 1, 2 * n))),
        (lambda x, n: x[n // 2 :], lambda x, n: x[n // 2 :]),
        (lambda x, n: x[: n - 3], lambda x, n: x[: n - 3]),
        (lambda x, n: x.reshape((n // 2, 2)), lambda x, n: x.reshape(n // 2, 2)),
        *(
            (lambda x, n, mode=mode: pad(x, (2, 3), mode=mode), lambda x, n, mode=mode: np.pad(x, (2, 3), mode))
            for mode in ("constant", "edge", "wrap", "reflect", "symmetric")
        ),
    ],
)
def test_extents_computed_from_static_extents_are_static(build: Any, expected: Any) -> None:
    value = np.linspace(0.0, 1.0, 12)
    x = symbol(12)
    found, wanted = build(x, x.shape[0]), expected(value, 12)
    assert found.type.shape == wanted.shape
    np.testing.assert_array_equal(found.eval({x: value}), wanted)


def test_extents_that_need_a_value_stay_open() -> None:
    x, k = symbol(12), Variable(TensorType("int64"), name="k")
    assert at.arange(x.shape[0] - k).type.shape == (None,)
    assert at.zeros(x.shape[0] ** (k - k)).type.shape == (None,)
    assert at.arange(at.argmax(x) + x.shape[0]).type.shape == (None,)

"""Indexing: what is known when the graph is built, what is refused, and agreement with NumPy on random windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aotensor as aot
import aotensor.tensor as at
import aotensor.tensor.ops as ops
from aotensor.core.types import TensorType
from aotensor.errors import UnsupportedError
from aotensor.graph.variable import Variable
from aotensor.graph.vectorize import vectorize_graph
from aotensor.ops.updates import inc_subtensor, set_subtensor


def symbol(*dims: Any, dtype: str = "float64") -> Variable:
    return Variable(TensorType(dtype, dims), name="x")


def test_what_a_window_knows() -> None:
    x = symbol("n", 7, None)
    k = at.lscalar("k")
    assert x[0].type.shape == (7, None)
    assert x[:, 1:].type.shape == ("n", 6, None)
    assert x[::-1].type.shape == ("n", 7, None)
    assert x[1:].type.shape == (None, 7, None)
    assert x[..., :k].type.shape == ("n", 7, None)
    assert x[:, ::-2, 0].type.shape == ("n", 4)
    assert x[None, :, None, 3].type.shape == (1, "n", 1, None)
    i = at.ivector("i")
    assert x[[0, 1]].type.shape == (2, 7, None)
    assert x[:, i].type.shape == ("n", None, None)
    assert x[[[0], [1]], [1, 2, 3]].type.shape == (2, 3, None)
    assert x[[1, 2], :, 0].type.shape == (2, 7)
    assert x[0, :, [1, 2]].type.shape == (2, 7)
    assert x[[1, 2], None, 1:].type.shape == (2, 1, 6, None)


@pytest.mark.shows("tensor/6-rules")
@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda x: x[:, 7], IndexError, "index 7 is out of range for axis 1 of extent 7"),
        (lambda x: x[0, -8], IndexError, "index -8"),
        (lambda x: x[0, 0, 0], IndexError, "3 indices for a tensor of rank 2"),
        (lambda x: x[..., ..., 0], IndexError, "one ellipsis"),
        (lambda x: x[1.0], TypeError, "an integer, a slice"),
        (lambda x: x[True], TypeError, "an integer, a slice"),
        (lambda x: x["n"], TypeError, "an integer, a slice"),
        (lambda x: x[at.dscalar("k")], TypeError, "integer scalar"),
        (lambda x: x[at.scalar("k", dtype="bool")], TypeError, "integer scalar"),
        (lambda x: x[1:2.0], TypeError, "an integer, a slice"),
        (lambda x: x[::0], ValueError, "step of a slice is 0"),
        (lambda x: x[:, np.array([True])], IndexError, "extents of the mask and of axis 1 differ: 1 and 7"),
        (lambda x: x[at.tensor("m", dtype="bool", shape=(None, 3))], IndexError, "and of axis 1 differ: 3 and 7"),
        (lambda x: x[0, x > 0], IndexError, "3 indices for a tensor of rank 2"),
        (lambda x: x[True], TypeError, "an integer, a slice"),
        (lambda x: x[x[0, 0] > 0], TypeError, "must be an integer scalar, not bool"),
        (lambda x: x[x > 0].set(np.zeros((2, 2))), ValueError, "the value has rank 2, more than the 1 axes"),
        (lambda x: at.take(x, [True]), TypeError, "an integer, a slice"),
        (lambda x: at.permute_row_elements(x, [0, 1]), ValueError, "must have equal extents"),
        (lambda x: at.permute_row_elements(x, x), TypeError, "the permutation must hold integers"),
        (lambda x: at.permute_row_elements(x, 0), ValueError, "expected a tensor with rows, found a scalar"),
        (lambda x: at.inverse_permutation(0), ValueError, "expected a tensor with rows, found a scalar"),
        (lambda x: at.ravel_multi_index([x], (7,)), TypeError, "positions must be integers"),
        (
            lambda x: at.ravel_multi_index([at.vector("k", dtype="uint64")], (7,)),
            TypeError,
            "positions must be integers",
        ),
        (lambda x: at.ravel_multi_index([0, 1], (7,)), ValueError, "2 tensors of positions and 1 modes for 1 axes"),
        (lambda x: at.ravel_multi_index([0], (7,), mode="fold"), ValueError, "mode must be one of"),
        (lambda x: at.unravel_index(0, (7,), order="K"), ValueError, "order must be one of 'C', 'F'"),
        (lambda x: at.unravel_index(0, ()), ValueError, "the shape is empty"),
        (lambda x: at.choose([0], [x, x], mode="fold"), ValueError, "mode must be one of"),
        (lambda x: at.compress(x, x), ValueError, "the condition must be a vector"),
        (lambda x: ops.CAReduce(at.sub), ValueError, "scalar_op must be one of add, mul"),
        (lambda x: ops.ScalarFromTensor()(x), TypeError, "expected a scalar, found rank 2"),
        (lambda x: ops.AdvancedSubtensor1()(x, [[0]]), TypeError, "the row indices must be a vector"),
        (lambda x: at.nonzero(x[0, 0]), ValueError, "expected a tensor with axes, found a scalar"),
        (lambda x: at.flatnonzero(x[0, 0]), ValueError, "expected a tensor with axes, found a scalar"),
        (lambda x: at.where(x > 0, x), TypeError, "give both x and y, or neither"),
        (lambda x: vectorize_graph(x[x > 0], {x: at.dtensor3()}), UnsupportedError, "the number of positions differs"),
        (lambda x: x[[0.0, 1.0]], TypeError, "an integer, a slice"),
        (lambda x: x[[0], 1.0], TypeError, "an integer, a slice"),
        (lambda x: x[[0], at.dscalar("k")], TypeError, "integer scalar"),
        (lambda x: x[[0, 1], [0, 1, 2]], IndexError, "extents 2 and 3 do not broadcast along axis 0 of the indices"),
        (lambda x: x[[0], [1], [2]], IndexError, "3 indices for a tensor of rank 2"),
        (lambda x: (x[[0]] * 2).inc(1), TypeError, "expected x\\[index\\]"),
        (lambda x: x[[0, 1]].set(np.zeros((3, 7))), ValueError, "2 and 3|3 and 2"),
        (lambda x: at.cast(x, "int32")[[0]].inc(at.dscalar("y")), TypeError, "without losing its fraction"),
        (lambda x: at.cast(x, "int32")[[0]].inc(at.dscalar("y"), True), TypeError, "without losing its fraction"),
        (lambda x: at.take(x, [0.5]), TypeError, "an integer, a slice"),
        (lambda x: at.take(x, [0], mode="nearest"), ValueError, "mode must be one of 'raise', 'clip', 'wrap'"),
        (lambda x: at.take(x, at.vector("k", dtype="uint64"), mode="clip"), TypeError, "integers, not uint64"),
        (lambda x: at.take(x, [0], axis=2), ValueError, "axis 2 is out of range"),
        (lambda x: at.take_along_axis(x, [0], 0), ValueError, "indices must have the rank of arr, 2, found 1"),
        (lambda x: x[:: at.dscalar("k")], TypeError, "an index must be an integer scalar"),
        (lambda x: inc_subtensor(x, 1.0), TypeError, "expected x\\[index\\]"),
        (lambda x: set_subtensor(x.T, 1.0), TypeError, "expected x\\[index\\]"),
        (lambda x: x[0].set(np.zeros((2, 7))), ValueError, "the value has rank 2, more than the 1 axes"),
        (lambda x: x[0].set(np.zeros(6)), ValueError, "6 and 7|7 and 6"),
        (lambda x: x[0, 1:2].set(np.zeros(3)), ValueError, "extent 3 along an axis where x"),
        (lambda x: at.cast(x, "int32")[0].set(1.5), TypeError, "does not fit"),
        (lambda x: at.cast(x, "int32")[0].set(at.dscalar("y")), TypeError, "without losing its fraction"),
    ],
)
def test_what_is_refused_when_built(build: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        build(symbol(None, 7))


@pytest.mark.shows("tensor/6-rules")
def test_what_is_refused_at_run_time() -> None:
    x, y, k = symbol(None, None), at.dvector("y"), at.lscalar("k")
    with pytest.raises(IndexError, match="index 2 is out of range for axis 0 of extent 2"):
        x[2].eval({x: np.zeros((2, 3))})
    with pytest.raises(IndexError, match="index -4 is out of range for axis 1 of extent 3"):
        x[0, k].eval({x: np.zeros((2, 3)), k: -4})
    with pytest.raises(ValueError, match="a value of extent 2 for axis 0 of a window of extent 3"):
        x[0].set(y).eval({x: np.zeros((2, 3)), y: np.zeros(2)})


def test_a_value_of_extent_1_does_not_broadcast_at_run_time() -> None:
    x, y = symbol(None), at.dvector("y")
    with pytest.raises(ValueError, match="a value of extent 1"):
        x[:].set(y).eval({x: np.zeros(3), y: np.zeros(1)})


BOUNDS = st.none() | st.integers(-9, 9)


@given(BOUNDS, BOUNDS, st.sampled_from([None, 1, 2, 3, -1, -2, -4]), st.integers(0, 6), st.booleans())
def test_windows_agree_with_numpy(start: int | None, stop: int | None, step: int | None, n: int, static: bool) -> None:
    values = np.arange(float(n))
    x = symbol(n if static else None)
    symbols = {at.lscalar(name): bound for name, bound in (("a", start), ("b", stop)) if bound is not None}
    limits = iter(symbols)
    first, last = (None if bound is None else next(limits) for bound in (start, stop))
    feed = {x: values, **symbols}
    for window, given_values in ((slice(start, stop, step), {x: values}), (slice(first, last, step), feed)):
        np.testing.assert_array_equal(x[window].eval(given_values), values[slice(start, stop, step)])
        expected = values.copy()
        expected[slice(start, stop, step)] = -1
        np.testing.assert_array_equal(x[window].set(-1.0).eval(given_values), expected)


@pytest.mark.parametrize(
    ("build", "is_set"),
    [
        (lambda x, k: x[k], None),
        (lambda x, k: x[:, k], None),
        (lambda x, k: x[1:, k, ::-2], None),
        (lambda x, k: x[k, :, 1], None),
        (lambda x, k: x[k, k - 1], None),
        (lambda x, k: x[1:, k], True),
        (lambda x, k: x[k, :, 1], False),
        (lambda x, k: x[k], True),
    ],
)
@pytest.mark.parametrize("both", [True, False], ids=["all", "positions"])
def test_positions_that_differ_by_sample(build: Any, is_set: bool | None, both: bool) -> None:
    """A batch of positions, of a tensor that is batched too or not, against the samples one by one."""
    x, k = at.dtensor3("x"), at.lscalar("k")
    window = build(x, k)
    output = window if is_set is None else (set_subtensor if is_set else inc_subtensor)(window, 7.0)
    xs, ks = at.TensorType("float64", (None,) * 4), at.TensorType("int64", (None,))
    many, places = Variable(xs), Variable(ks)
    batch = vectorize_graph(output, {x: many, k: places} if both else {k: places})
    rng = np.random.default_rng(0)
    values, positions = rng.normal(size=(3, 2, 2, 4)), np.array([1, 0, -1])
    found = batch.eval({many: values, places: positions} if both else {x: values[0], places: positions})
    for sample, place in enumerate(positions):
        alone = output.eval({x: values[sample if both else 0], k: place})
        np.testing.assert_array_equal(found[sample], alone)


def test_slices_that_differ_by_sample_are_refused() -> None:
    x, k, many = at.dvector("x"), at.lscalar("k"), at.lvector("k")
    for build in (lambda: x[:k], lambda: x[::k], lambda: x[k:].set(0.0)):
        with pytest.raises(UnsupportedError, match="differs from sample to sample"):
            vectorize_graph(build(), {k: many})


def test_ranges_of_one_length_make_a_batch() -> None:
    start, stop, step = at.lscalar("start"), at.lscalar("stop"), at.dscalar("step")
    starts, stops, steps = at.lvector("starts"), at.lvector("stops"), at.dvector("steps")
    whole = vectorize_graph(at.arange(start, stop), {start: starts, stop: stops})
    f = aot.function([starts, stops], whole, name="ranges")
    for call in (f, f.reference):
        np.testing.assert_array_equal(call(np.array([0, 5]), np.array([3, 8])), [[0, 1, 2], [5, 6, 7]])
        with pytest.raises(ValueError, match="extent 3 along axis 0 instead of 4"):
            call(np.array([0, 5]), np.array([3, 9]))
    down = vectorize_graph(at.arange(start, stop, step), {stop: stops, step: steps})
    found = down.eval({start: 1, stops: [0, -3], steps: [-0.5, -2.0]})
    np.testing.assert_array_equal(found, [[1.0, 0.5], [1.0, -1.0]])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_sums_at_indices_of_any_dtype(dtype: str) -> None:
    """Also where the extent is not a number of that dtype; negative indices count from the end."""
    i, x, c = at.vector("i", dtype=dtype), at.vector("x"), at.vector("c")
    gradient = aot.grad((x[i] * c).sum(), x)
    limits, terms = np.iinfo(dtype), np.arange(1.0, 7)
    for extent in (100, 200, 40_000):
        last, first = min(extent - 1, int(limits.max)), max(-extent, int(limits.min))
        indices = np.array([0, last, min(0, max(first, -1)), last, first, 1], dtype=dtype)
        wanted = np.zeros(extent)
        np.add.at(wanted, indices.astype(np.int64), terms)
        np.testing.assert_array_equal(gradient.eval({i: indices, x: np.zeros(extent), c: terms}), wanted)

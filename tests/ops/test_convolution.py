"""Convolutions larger than a row of the tables: chunks, threads, second derivatives; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import signal

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError
from aotensor.gradient import Lop, Rop, grad

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"padding": 1},
    "strided": {"padding": ((2, 0), (1, 3)), "stride": (2, 3), "groups": 2},
}


def derivatives(options: dict[str, Any], dtype: str) -> aot.Function:
    """Value, both gradients, and, for float64, how these change along directions: nothing is known of the extents."""
    x, w, dx, dw = (at.tensor(name, dtype, (None,) * 4) for name in ("x", "w", "dx", "dw"))
    y = at.conv2d(x, w, **options)
    gradients = grad(at.sum(at.sin(y)), [x, w])
    changes = [Rop(g, [x, w], [dx, dw]) for g in gradients] if dtype == "float64" else [at.sum(dx), at.sum(dw)]
    return aot.function([x, w, dx, dw], [y, *gradients, *changes], name=f"conv_{dtype}_{options['padding'] == 1:d}")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    x = at.tensor("x", "float64", (None, 3, None, None))
    w = at.tensor("w", "float64", (3, 1, 3, 3))
    y = at.relu(at.conv2d(x, w, padding=1, groups=3) + 0.5)
    functions = [derivatives(OPTIONS["plain"], "float32"), derivatives(OPTIONS["strided"], "float64")]
    functions.append(aot.function([x, w], [y, *grad(at.sum(y**2), [x, w])], name="by_channel"))
    a, v = at.dvectors("a", "v")
    functions.append(aot.function([a, v], [at.convolve(a, v, mode) for mode in ("full", "same", "valid")], name="line"))
    return functions, aot.compile(functions, Path(tmp_path_factory.mktemp("conv")), name="convolutions").load()


def drawn(rng: np.random.Generator, dtype: str, groups: int) -> list[np.ndarray[Any, Any]]:
    shapes = [(3, 6, 19, 70), (26, 6 // groups, 3, 3)] * 2
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


@pytest.mark.shows("tensor/7-conv-threads")
@pytest.mark.parametrize("number", [0, 1])
def test_value_gradients_and_their_changes(library: Any, number: int, rng: np.random.Generator) -> None:
    functions, loaded = library
    f, g = functions[number], loaded.functions[functions[number].name]
    arrays = drawn(rng, "float64" if number else "float32", 2 if number else 1)
    found, rtol = g(*arrays), 1e-11 if number else 2e-4
    for one, wanted in zip(found, f.reference(*arrays), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=rtol, atol=rtol * np.abs(wanted).max())
    reordered = [np.asfortranarray(x) for x in arrays]
    for others in (g(*arrays, num_threads=2), g(*arrays, num_threads=7), g(*reordered)):
        assert [x.tobytes() for x in others] == [x.tobytes() for x in found]


def test_by_channel_and_lines(library: Any, rng: np.random.Generator) -> None:
    functions, loaded = library
    x, w = rng.normal(size=(2, 3, 33, 40)), rng.normal(size=(3, 1, 3, 3))
    found = loaded.functions["by_channel"](x, w)
    for n, c in np.ndindex(2, 3):
        wanted = np.maximum(signal.correlate2d(x[n, c], w[c, 0], "same") + 0.5, 0)
        np.testing.assert_allclose(found[0][n, c], wanted, rtol=1e-12, atol=1e-13)
    for one, wanted in zip(found, functions[2].reference(x, w), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-11, atol=1e-11)
    for n, m in ((1, 1), (2, 7), (300, 41), (41, 300)):
        a, v = rng.normal(size=n), rng.normal(size=m)
        for one, mode in zip(loaded.functions["line"](a, v), ("full", "same", "valid"), strict=True):
            np.testing.assert_allclose(one, np.convolve(a, v, mode), rtol=1e-12, atol=1e-12)


@pytest.mark.shows("tensor/7-conv-errors")
def test_what_is_known_only_at_run_time(library: Any) -> None:
    functions, loaded = library
    ones = {k: np.ones(k) for k in (0, 3)}
    for call in (loaded.functions["line"], functions[3].reference):
        with pytest.raises(ValueError, match="an empty operand has no convolution"):
            call(ones[3], ones[0])
    x, w = np.ones((1, 2, 3, 3), "float32"), np.ones((1, 2, 6, 1), "float32")
    for call in (loaded.functions[functions[0].name], functions[0].reference):
        with pytest.raises(ValueError, match="windows are larger than the input with its padding"):
            call(x, w, x, w)
        with pytest.raises(ValueError, match="channels of the input and those of the filters differ"):
            call(x, w[:, :1], x, w)
    strided, x = functions[1].name, np.ones((1, 5, 4, 4))
    for call in (loaded.functions[strided], functions[1].reference):
        with pytest.raises(ValueError, match="channels of the input and those of all groups differ"):
            call(x, np.ones((2, 2, 1, 1)), x, np.ones((2, 2, 1, 1)))
        with pytest.raises(ValueError, match="reshape"):
            call(x[:, :4], np.ones((3, 2, 1, 1)), x[:, :4], np.ones((3, 2, 1, 1)))


IMAGE, FILTERS = np.ones((1, 4, 5, 5)), np.ones((6, 2, 3, 3))
REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda: at.conv2d(IMAGE[0], FILTERS), GraphTypeError, "conv2d: input has rank 3, not 4"),
    (lambda: at.conv1d(IMAGE[0], FILTERS), GraphTypeError, "conv1d: filters has rank 4, not 3"),
    (lambda: at.conv2d(IMAGE > 0, FILTERS), GraphTypeError, "conv2d: input is bool"),
    (lambda: at.conv2d(IMAGE, FILTERS), GraphValueError, "the input has 4 channels, the filters are for 2"),
    (lambda: at.conv2d(IMAGE, FILTERS, groups=3), GraphValueError, "4 input channels do not divide into 3 groups"),
    (lambda: at.conv2d(IMAGE, FILTERS[:5], groups=2), GraphValueError, "5 filters do not divide into 2 groups"),
    (lambda: at.conv2d(IMAGE, FILTERS, groups=0), GraphValueError, "groups must be at least 1, found 0"),
    (lambda: at.conv2d(IMAGE, FILTERS, groups=2, stride=0), GraphValueError, "stride must be at least 1, found 0"),
    (lambda: at.conv2d(IMAGE, FILTERS, groups=2, stride=(1, 2, 3)), GraphValueError, "3 numbers of stride for 2 axes"),
    (lambda: at.conv2d(IMAGE, FILTERS, groups=2, dilation=3), GraphValueError, "larger than the input .* 7 to 5"),
    (lambda: at.conv2d(IMAGE, FILTERS, groups=2, padding=-1), GraphValueError, "padding is -1, which is negative"),
    (lambda: at.conv2d(IMAGE, FILTERS, groups=2, padding="full"), GraphValueError, "padding must be 'valid', 'same'"),
    (lambda: at.conv2d(IMAGE, FILTERS, groups=2, padding=((1, 2),)), GraphValueError, "1 pairs of padding for 2 axes"),
    (lambda: at.conv2d(IMAGE, FILTERS, groups=2, padding=(1, (1, 2))), GraphTypeError, r"\(before, after\), not 1"),
    (lambda: at.conv2d(IMAGE, FILTERS, 2, "same", groups=2), GraphValueError, "no meaning for a stride of 2"),
    (lambda: at.conv2d(IMAGE, at.tensor4("w"), padding="same"), GraphValueError, "needs filters of known extents"),
    (lambda: at.max_pool2d(IMAGE[0, 0, 0], 2), GraphTypeError, "max_pool2d: the input has rank 1, not at least 2"),
    (lambda: at.max_pool2d(IMAGE > 0, 2), GraphTypeError, "the input must be a number type, not bool"),
    (lambda: at.max_pool1d(at.zvector("z"), 2), GraphTypeError, "complex numbers have no order"),
    (lambda: at.avg_pool2d(IMAGE, 6), GraphValueError, "avg_pool2d: the windows are larger than the input"),
    (lambda: at.avg_pool2d(IMAGE, 2, padding=2), GraphValueError, "more than half a window of 2"),
    (lambda: at.convolve(IMAGE, [1.0]), GraphTypeError, "convolve: both operands must be vectors"),
    (lambda: at.convolve([1.0], [2.0], "half"), GraphValueError, "mode must be 'full', 'same' or 'valid', not 'half'"),
    (lambda: at.correlate([1.0], np.zeros(0)), GraphValueError, "correlate: an empty operand has no convolution"),
    (lambda: at.convolve2d(FILTERS[0, 0], FILTERS[0, 0], boundary="wrap"), UnsupportedError, "boundary 'wrap'"),
    (lambda: at.convolve2d(FILTERS[0, 0], FILTERS[0, 0], fillvalue=1.0), UnsupportedError, "fillvalue 1.0 is not 0"),
    (
        lambda: at.convolve2d(np.ones((2, 5)), np.ones((3, 3)), "valid"),
        GraphValueError,
        "neither matrix holds",
    ),
]


@pytest.mark.shows("tensor/7-conv-errors")
@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_does_not_fit_is_named(number: int) -> None:
    build, kind, message = REFUSED[number]
    with pytest.raises(kind, match=message):
        build()


def test_a_sum_of_products_says_its_work() -> None:
    x, w = at.tensor("x", "float32", ("n", 8, 10, 10)), at.tensor("w", "float32", (16, 8, 3, 3))
    y = at.conv2d(x, w)
    assert Lop(y.sum(), w, at.constant(1.0)).ndim == 4
    f = aot.function([x, w], y, name="work")
    assert f.cost(n=5).flops == 2 * 5 * 16 * 8 * 9 * 64


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_results_have_the_dtype_of_the_input(dtype: str) -> None:
    x, w = at.tensor("x", dtype=dtype, shape=(1, 2, 6)), at.tensor("w", dtype=dtype, shape=(3, 2, 2))
    pools = [at.avg_pool1d(x, 3), at.avg_pool1d(x, 3, 1, 1, count_include_pad=False), at.max_pool1d(x, 2)]
    assert {y.dtype for y in (at.conv1d(x, w), *pools)} == {dtype}


@pytest.mark.parametrize(
    "shapes", [((0, 3, 5, 5), (4, 3, 3, 3)), ((2, 0, 5, 5), (4, 0, 3, 3)), ((2, 3, 5, 5), (0, 3, 3, 3))]
)
def test_derivatives_of_empty_batches_and_channels(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, w = at.tensor4("x"), at.tensor4("w")
    y = (at.conv2d(x, w) ** 2).sum()
    f = aot.function([x, w], [y, grad(y, x), grad(y, w)], name="empty")
    image, kernel = (np.ones(shape) for shape in shapes)
    for found in (f(image, kernel), f.reference(image, kernel)):
        for value, wanted in zip(found, (np.zeros(()), np.zeros_like(image), np.zeros_like(kernel)), strict=True):
            np.testing.assert_array_equal(value, wanted)


@pytest.mark.parametrize(("stride", "dilation", "selects"), [(16, 1, 1), (16, 3, 21), (5, 2, 29), (7, 6, 8)])
def test_filters_by_remainder_are_progressions(stride: int, dilation: int, selects: int) -> None:
    """Which tap a remainder modulo the stride begins with is arithmetic, and no choice between all of them."""
    rng = np.random.default_rng(0)
    x, w = at.tensor("x", shape=(1, 2, 90)), at.constant(rng.normal(size=(3, 2, 18 if dilation == 1 else 9)))
    y = at.conv1d(x, w, stride=stride, dilation=dilation)
    f = aot.function([x], grad((y * y).sum(), x), name="strided")
    value = rng.normal(size=(1, 2, 90))
    np.testing.assert_allclose(f(value), f.reference(value), rtol=1e-12, atol=1e-13)
    assert f.ir("tensor").count("arith.select") <= selects

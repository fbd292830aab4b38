"""Sparse Jacobians and Hessians: patterns from the graph, colours, values against the dense ones, compiled code."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import DisconnectedInputError, GraphValueError, UnsupportedError
from aotensor.gradient import grad, hessian, jacobian
from aotensor.gradient.sparsity.coloring import color_columns, color_stars, readable_entries
from aotensor.gradient.sparsity.structure import structure_of
from aotensor.graph.sparse_type import scipy_sparse
from aotensor.graph.variable import Constant, Variable
from aotensor.ops.elementwise.base import Elementwise

ss: Any = scipy_sparse()
PLACES = np.array([0, 3, 3, 1])
TABLE = np.random.default_rng(1).normal(size=(4, 6))
CHAIN = np.diag(np.arange(1.0, 7)) - np.diag(np.ones(5), 1)  # 11 numbers other than 0
MATRIX = ss.random(5, 6, 0.4, random_state=1, format="csr")

# name: extents of x, the expression, how many entries the Jacobian has
ROWS: dict[str, tuple[tuple[int, ...], Callable[[Any], Variable], int]] = {
    "square": ((6,), lambda x: x**2, 6),
    "to a scalar": ((6,), lambda x: (x**2).sum(), 6),
    "from a scalar": ((), lambda x: at.stack([x, x * x]), 2),
    "neighbours": ((6,), lambda x: x[1:] * x[:-1], 10),
    "turned around": ((6,), lambda x: x[::-1] * 2 + x**2, 12),
    "gathered": ((6,), lambda x: at.sin(x[PLACES]), 4),
    "set": ((6,), lambda x: at.set_subtensor(x[1:3], x[4:] ** 2), 6),
    "set to a constant": ((6,), lambda x: at.set_subtensor(x[PLACES], 7.0), 3),
    "increased": ((6,), lambda x: at.inc_subtensor(x[PLACES], x[:4] ** 2), 9),
    "joined": ((6,), lambda x: at.concatenate([x[:2] ** 2, at.ones((2,)), x[3:]]), 5),
    "stacked": ((6,), lambda x: at.stack([x, x[::-1] ** 2]), 12),
    "split": ((6,), lambda x: at.split(x, [2, 4], 2)[1] ** 2, 4),
    "sums of columns": ((3, 4), lambda x: (x**2).sum(0), 12),
    "sums of rows": ((3, 4), lambda x: x.sum(1), 12),
    "transposed": ((3, 4), lambda x: x.T * 2, 12),
    "products": ((3, 4), lambda x: x.prod(1), 12),
    "largest": ((3, 4), lambda x: x.max(0), 12),
    "softmax": ((3, 4), lambda x: at.softmax(x, axis=1), 48),
    "running sum": ((3, 4), lambda x: at.cumsum(x, axis=1), 3 * 10),
    "running sum along the first axis": ((3, 4), lambda x: at.cumsum(x**2, axis=0), 4 * 6),
    "running product": ((3, 4), lambda x: at.cumprod(x, axis=1), 3 * 10),
    "running sum from behind": ((5,), lambda x: at.cumsum(x[::-1])[::-1], 15),
    "gradient of a running sum": ((4,), lambda x: aot.grad((at.cumsum(x**2) ** 2).sum(), x), 16),
    "gradient of a running product": ((4,), lambda x: aot.grad(at.cumprod(x[:2]).sum() + at.cumsum(x[2:])[0], x), 2),
    "running sum of whole numbers": ((4,), lambda x: at.cast(at.cumsum(x, dtype="int64"), "float64"), 0),
    "running sum of nothing": ((0,), lambda x: at.cumsum(x), 0),
    "sorted": ((3, 4), lambda x: at.sort(x, axis=1), 48),
    "a dense matrix": ((6,), lambda x: at.dot(TABLE, x), 24),
    "zeros of a constant": ((6,), lambda x: at.dot(CHAIN, x**2), 11),
    "a sparse matrix": ((6,), lambda x: sp.dot(sp.as_sparse(MATRIX), x) ** 2, MATRIX.nnz),
    "values of a sparse matrix": (
        (MATRIX.nnz,),
        lambda x: sp.dot(sp.CSR(x, MATRIX.indices, MATRIX.indptr, np.array(MATRIX.shape)), np.ones(6)),
        MATRIX.nnz,
    ),
    "a product of matrices": ((3, 4), lambda x: x @ TABLE, 72),
    "a product of vectors": ((6,), lambda x: x @ at.sin(x), 6),
    "a product of vectors times one": ((6,), lambda x: (x @ at.sin(x)) * x + (x @ CHAIN[0]), 36),
    "a Gram matrix": ((3, 4), lambda x: x @ x.T, 60),
    "to a diagonal": ((6,), lambda x: at.diag(x), 6),
    "of a diagonal": ((3, 3), lambda x: at.diag(x) ** 2, 3),
    "a triangle": ((3, 3), lambda x: at.tril(x), 6),
    "a choice": ((6,), lambda x: at.switch(x > 0, x, x[::-1]), 12),
    "rounded": ((6,), lambda x: at.round(x) * x, 6),
    "repeated": ((6,), lambda x: at.repeat(x, 2), 12),
    "tiled": ((6,), lambda x: at.tile(x, 2), 12),
    "rolled": ((6,), lambda x: at.roll(x, 1) - x, 12),
    "an outer product": ((3,), lambda x: at.outer(x, x), 15),
    "an inverse": ((3, 3), lambda x: at.inv(x + 5 * at.eye(3)), 81),
    "a broadcast": ((3, 4), lambda x: x * x[:, :1], 21),
    "centred": ((3, 4), lambda x: x - x.mean(0), 36),
    "norms": ((6,), lambda x: at.sqrt((x.reshape((3, 2)) ** 2).sum(1)), 6),
    "other floats": ((6,), lambda x: at.cast(at.cast(x, "float32") * 2, "float64"), 6),
    "second output": ((3, 4), lambda x: at.max_and_argmax(x, axis=1)[0], 12),
    "places in pairs": ((3, 4), lambda x: x[[0, 2], [1, 3]], 2),
    "nothing in": ((0,), lambda x: x**2, 0),
    "nothing out": ((6,), lambda x: x[:0] ** 2, 0),
    "no influence": ((6,), lambda x: at.zeros((3,)), 0),
    "a step function": ((6,), lambda x: at.floor(x), 6),
    "a constant choice": ((6,), lambda x: at.switch(TABLE[0] > 0, x, x[::-1] * x[0]), 7),
    "constant zeros": ((6,), lambda x: x[:1] * CHAIN[0] + CHAIN[1] * (x[1:2] * x), 5),
    "quotients of zeros": ((6,), lambda x: CHAIN[0] / x, 2),
    "a convolution": ((6,), lambda x: at.convolve(x, [1.0, -2.0, 1.0], mode="valid"), 12),
    "zeros of filters": ((6,), lambda x: at.convolve(x, [1.0, 0.0, 1.0], mode="full"), 12),
    "a convolution of both": ((6,), lambda x: at.convolve(x[:3] ** 2, x[3:]), 18),
    "strides and channels": (
        (1, 2, 4, 4),
        lambda x: at.conv2d(x, np.ones((3, 2, 2, 2)), stride=2, padding=((1, 0), (0, 0))),
        3 * 2 * (2 * 2 + 2 * 4),
    ),
    "filters by groups": ((4, 1, 2), lambda x: at.conv1d(TABLE[None], x, groups=4), 4 * 5 * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_agrees_with_the_dense_one(name: str) -> None:
    shape, expression, entries = ROWS[name]
    x = at.tensor("x", dtype="float64", shape=shape)
    y = expression(x)
    sparse = jacobian(y, x, sparse=True, disconnected_inputs="ignore")
    f = aot.function([x], [sparse, jacobian(y, x, disconnected_inputs="ignore")], on_unused_input="ignore")
    for seed in range(2):
        value = np.random.default_rng(seed).normal(size=shape)
        found, dense = f.reference(value)
        assert found.format == "csr"
        assert found.shape == (math.prod(int(n or 0) for n in y.static_shape), value.size)
        assert found.nnz == entries
        np.testing.assert_allclose(found.toarray(), np.reshape(dense, found.shape), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["set", "joined", "a sparse matrix", "values of a sparse matrix", "a Gram matrix"])
def test_compiled(name: str) -> None:
    shape, expression, entries = ROWS[name]
    x = at.tensor("x", dtype="float64", shape=shape)
    f = aot.function([x], jacobian(expression(x), x, sparse=True), on_unused_input="ignore")
    value = np.random.default_rng(0).normal(size=shape)
    found, expected = f(value), f.reference(value)
    assert found.nnz == entries
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-13)


def test_a_loop_and_an_op_without_a_rule_depend_on_everything() -> None:
    x = at.dvector("x", shape=(4,))
    steps = aot.scan(lambda a, s: a * s, sequences=[x], outputs_info=[at.constant(1.0)], return_updates=False)
    f = aot.function([x], [jacobian(steps, x, sparse=True), jacobian(steps, x)])
    found, dense = f(np.array([2.0, 3.0, 0.5, -1.0]))
    assert found.nnz == 16
    np.testing.assert_allclose(found.toarray(), dense)


def test_entries_of_a_sum_of_two_patterns_depend_on_one_of_each() -> None:
    sparse = scipy_sparse()
    rng = np.random.default_rng(0)
    m, q = (sparse.csr_matrix(np.where(rng.random((4, 5)) < 0.4, 1.0, 0.0)) for _ in range(2))
    x = at.vector("x", dtype="float64", shape=(m.nnz,))
    total = sp.csm_data(sp.CSR(x, m.indices, m.indptr, m.shape) + sp.constant(q))
    stored = m.toarray()[(m + q).toarray() != 0]
    expected = np.zeros((len(stored), m.nnz), bool)
    expected[np.flatnonzero(stored), np.arange(m.nnz)] = True
    np.testing.assert_array_equal(structure_of(total, x).toarray(), expected)


def test_several_variables_and_containers() -> None:
    v, s = at.dvector("v", shape=(3,)), at.dscalar("s")
    first, second = jacobian(v**2 * s, (v, s), sparse=True)
    f = aot.function([v, s], [first, second])
    of_v, of_s = f(np.array([1.0, 2.0, 3.0]), 10.0)
    np.testing.assert_allclose(of_v.toarray(), np.diag([20.0, 40.0, 60.0]))
    np.testing.assert_allclose(of_s.toarray(), [[1], [4], [9]])
    held = jacobian(v * at.sin(v), v, [at.sin(v)], sparse=True)
    np.testing.assert_allclose(held.eval({v: np.zeros(3)}).toarray(), np.zeros((3, 3)))


def test_disconnected_and_discrete() -> None:
    v, w, k = at.dvector("v", shape=(3,)), at.dvector("w", shape=(2,)), at.ivector("k", shape=(3,))
    with pytest.raises(DisconnectedInputError):
        jacobian(v**2, w, sparse=True)
    nothing = jacobian(v**2, w, disconnected_inputs="ignore", sparse=True).eval({v: np.ones(3)})
    assert (nothing.shape, nothing.nnz) == ((3, 2), 0)
    of_integers = jacobian(v * k, k, sparse=True).eval({v: np.arange(3.0), k: np.ones(3, "int32")})
    assert of_integers.shape == (3, 3)
    np.testing.assert_array_equal(of_integers.toarray(), jacobian(v * k, k).eval({v: np.arange(3.0), k: [1, 1, 1]}))


# --- colours ---------------------------------------------------------------------------------------------------------


def number_of_colors(expression: Variable, x: Variable) -> int:
    return int(color_columns(structure_of(expression, x)).max(initial=-1)) + 1


def test_colors_of_known_patterns() -> None:
    x = at.dvector("x", shape=(40,))
    assert number_of_colors(at.sin(x), x) == 1
    assert number_of_colors(x[2:] - 2 * x[1:-1] + x[:-2], x) == 3
    points, cameras = at.dvector("p", shape=(30,)), at.dvector("c", shape=(8,))
    camera, point = np.divmod(np.arange(20), 10)
    seen = cameras.reshape((2, 4))[camera].prod(1) * points.reshape((10, 3))[point].prod(1)
    assert number_of_colors(seen, points) == 3
    assert number_of_colors(seen, cameras) == 4
    arrow = at.concatenate([x[:1] * x[1:], (x**2).sum().reshape((1,))])
    assert number_of_colors(arrow, x) == 40  # of its columns: the last row has an entry in each of them
    assert number_of_colors(x.sum().reshape((1,)), x) == 40


def test_fewer_rows_than_columns_are_swept_from_behind() -> None:
    """One row that depends on everything is one sweep backward."""
    x = at.dvector("x", shape=(50,))
    f = aot.function([x], jacobian((x**3).sum().reshape((1,)), x, sparse=True))
    assert not re.search(r"tensor<50x50x", f.ir("tensor-opt"))
    value = np.arange(50.0)
    np.testing.assert_allclose(f(value).toarray(), 3 * value[None] ** 2)


def test_one_full_row_costs_one_color() -> None:
    """The rows are swept instead: the full one alone, the others as without it."""
    x = at.dvector("x", shape=(20000,))
    arrow = at.concatenate([x[1:] * x[:-1], (x**2).sum().reshape((1,))])
    assert int(color_columns(structure_of(arrow, x).T.tocsr()).max()) + 1 == 3
    assert number_of_colors(arrow, x) == 20000
    value = np.linspace(0, 1, 20000)
    found = jacobian(arrow, x, sparse=True).eval({x: value})
    np.testing.assert_array_equal(found.data[-20000:], 2 * value)
    np.testing.assert_array_equal(found.data[: 2 * 19999 : 2], value[1:])


@st.composite
def patterns(draw: st.DrawFn) -> Any:
    shape = draw(st.integers(0, 7)), draw(st.integers(0, 7))
    bits = draw(st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    return ss.csr_matrix(np.array(bits, bool).reshape(shape))


@given(patterns())
@settings(max_examples=150, deadline=None)
def test_columns_of_one_color_share_no_row(pattern: Any) -> None:
    colors = color_columns(pattern)
    assert colors.shape == (pattern.shape[1],)
    assert sorted(set(colors.tolist())) == list(range(int(colors.max(initial=-1)) + 1))
    count = int(colors.max(initial=-1)) + 1
    seeds = (colors[:, None] == np.arange(count)).astype(int)
    assert (pattern.toarray().astype(int) @ seeds).max(initial=0) <= 1


@given(patterns())
@settings(max_examples=150, deadline=None)
def test_stars_show_every_entry(half: Any) -> None:
    n = min(half.shape)
    square = half[:n, :n]
    pattern = ss.csr_matrix((square + square.T).astype(bool))
    pattern.sort_indices()
    colors = color_stars(pattern)
    neighbours = pattern.toarray() & ~np.eye(n, dtype=bool)
    assert not any(colors[i] == colors[j] for i, j in zip(*np.nonzero(neighbours), strict=True))
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    values = np.random.default_rng(0).integers(1, 99, (n, n))
    matrix = np.where(pattern.toarray(), values + values.T, 0)
    compressed = matrix @ (colors[:, None] == np.arange(int(colors.max(initial=-1)) + 1)).astype(int)
    row, color = readable_entries(pattern, colors)
    np.testing.assert_array_equal(compressed[row, color], matrix[rows, pattern.indices])


def _stars_by_definition(pattern: Any) -> list[int]:
    """The greedy star colouring, with all paths of four enumerated."""
    near = [set(row.nonzero()[0]) - {i} for i, row in enumerate(pattern.toarray())]
    colors = [-1] * len(near)
    for v in sorted(range(len(near)), key=lambda i: -len(near[i])):
        taken = {colors[w] for w in near[v]}
        for w in near[v]:
            for x in near[w] - {v}:
                if colors[w] < 0 or any(colors[y] == colors[w] for y in near[x] - {w}):
                    taken.add(colors[x])
        colors[v] = next(color for color in range(len(near)) if color not in taken)
    return colors


@pytest.mark.parametrize("density", [0.05, 0.15, 0.4])
def test_stars_are_those_of_the_definition(density: float) -> None:
    for seed in range(20):
        half = ss.random(30, 30, density, random_state=seed, format="csr")
        pattern = (half + half.T).astype(bool).tocsr()
        assert color_stars(pattern).tolist() == _stars_by_definition(pattern)


def test_a_row_of_many_entries_costs_no_more_than_its_entries() -> None:
    n = 50000  # pairs of neighbours of the last row: 10⁹
    tips = ss.csr_matrix(np.ones((1, n)))
    pattern = ss.bmat([[ss.identity(n), tips.T], [tips, ss.identity(1)]], format="csr").astype(bool)
    assert color_stars(pattern).tolist() == [1] * n + [0]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_empty_and_full_patterns(n: int) -> None:
    empty, full = ss.csr_matrix((3, n), dtype=bool), ss.csr_matrix(np.ones((3, n), bool))
    assert color_columns(empty).tolist() == [0] * n
    assert sorted(color_columns(full).tolist()) == list(range(n))
    assert color_stars(ss.csr_matrix((n, n), dtype=bool)).tolist() == [0] * n
    assert sorted(color_stars(ss.csr_matrix(np.ones((n, n), bool))).tolist()) == list(range(n))


# --- Hessians --------------------------------------------------------------------------------------------------------

BAND = 2 * np.eye(12) - np.eye(12, k=1) - np.eye(12, k=-1)
COSTS: dict[str, tuple[Callable[[Any], Variable], int]] = {
    "separable": (lambda x: (x**4).sum(), 1),
    "a chain": (lambda x: ((x[1:] - x[:-1] ** 2) ** 2).sum(), 3),
    "an arrow": (lambda x: (x[0] * x[1:] ** 2).sum(), 2),
    "full": (lambda x: at.exp(x.sum()), 12),
    "a quadratic form": (lambda x: x @ at.dot(BAND, x), 3),
    "a square of a product": (lambda x: (x @ at.sin(x)) ** 2, 12),
    "linear": (lambda x: 2 * x.sum(), 1),
}


@pytest.mark.parametrize("name", COSTS)
def test_hessian(name: str) -> None:
    cost, colors = COSTS[name]
    x = at.dvector("x", shape=(12,))
    sparse = hessian(cost(x), x, sparse=True)
    f = aot.function([x], [sparse, hessian(cost(x), x)], on_unused_input="ignore")
    value = np.random.default_rng(3).normal(size=12) / 4
    for found, dense in (f.reference(value), f(value)):
        np.testing.assert_allclose(found.toarray(), dense, rtol=1e-12, atol=1e-13)
    pattern = structure_of(grad(cost(x), x), x)
    assert int(color_stars(pattern).max()) + 1 == colors


def test_hessian_of_a_constant_part() -> None:
    x, w = at.dvector("x", shape=(3,)), at.dvector("w", shape=(3,))
    derivative = w * x
    held = hessian((x**2 * derivative).sum(), x, [derivative], sparse=True).eval({x: np.ones(3), w: np.arange(3.0)})
    np.testing.assert_allclose(held.toarray(), 2 * np.diag(np.arange(3.0)))


# --- patterns that are given, and what is refused --------------------------------------------------------------------


def test_given_pattern() -> None:
    x = at.dvector("x", shape=(4,))
    pattern = ss.coo_matrix(
        ([0.0, 1, 1, 1, 1], ([0, 1, 2, 3, 3], [0, 1, 2, 3, 3])), shape=(4, 4)
    )  # values do not count
    f = aot.function([x], jacobian(at.cumsum(x) - at.cumsum(x) + x**2, x, sparse=True, pattern=pattern))
    found = f(np.arange(4.0))
    assert found.nnz == 4
    np.testing.assert_allclose(found.toarray(), np.diag(2 * np.arange(4.0)))
    diagonal = hessian((x**2).sum() + 0 * x.prod(), x, sparse=True, pattern=ss.identity(4, format="csc"))
    assert diagonal.eval({x: np.ones(4)}).nnz == 4


def test_what_is_made_of_seeds_alone_is_computed_once() -> None:
    x = at.dvector("x", shape=(6,))
    slopes = jacobian(at.as_tensor(CHAIN) @ x, x, sparse=True)
    assert isinstance(sp.csm_data(slopes).owner.inputs[0].owner.inputs[0], Constant)
    assert np.array_equal(slopes.eval({x: np.ones(6)}).toarray(), CHAIN)
    moved = jacobian(at.sin(x[1:]) - 2.0 * x[:-1], x, sparse=True)
    values = np.random.default_rng(1).normal(size=6)
    expected = np.eye(5, 6, 1) * np.cos(values) - 2.0 * np.eye(5, 6)
    np.testing.assert_allclose(moved.eval({x: values}).toarray(), expected, rtol=1e-15)


def test_refused() -> None:
    x, y = at.dvector("x", shape=(4,)), at.dvector("y")
    with pytest.raises(GraphValueError, match=r"the sparsity of a Jacobian needs the extents of y") as error:
        jacobian(y**2, y, sparse=True)
    assert "give it shape=(numbers), or pass pattern=" in str(error.value)
    with pytest.raises(GraphValueError, match="needs the extents of y"):
        jacobian(x * y, x, sparse=True)
    with pytest.raises(GraphValueError, match="needs the extents of y") as error:
        jacobian(y**2, y, sparse=True, pattern=ss.identity(4, format="csr"))
    assert "give it shape=(numbers)" in str(error.value)
    with pytest.raises(GraphValueError, match=r"pattern must have the shape of the Jacobian, \(4, 4\), found \(3, 4\)"):
        jacobian(x**2, x, sparse=True, pattern=ss.csr_matrix((3, 4)))
    with pytest.raises(UnsupportedError, match="pattern must be a SciPy sparse matrix"):
        jacobian(x**2, x, sparse=True, pattern=np.eye(4))


def test_no_dense_array_is_made() -> None:
    """Neither the Jacobian nor a matrix of seeds of its size exists at run time."""
    x = at.dvector("x", shape=(120,))
    y = at.sin(x[1:]) * x[:-1]
    f = aot.function([x], jacobian(y, x, sparse=True))
    # the bool matrix at the boundary carries the extents alone and has no memory
    shapes = re.findall(r"tensor<((?:\d+x)+)(?!i1>)", f.ir("tensor-opt"))
    sizes = [math.prod(map(int, shape.split("x")[:-1])) for shape in shapes]
    assert max(sizes) <= 3 * 120
    value = np.random.default_rng(0).normal(size=120)
    expected: Any = ss.diags([np.sin(value[1:]), np.cos(value[1:]) * value[:-1]], [0, 1], shape=(119, 120))
    np.testing.assert_allclose(f(value).toarray(), expected.toarray(), rtol=1e-12)


def test_every_elementwise_op_keeps_the_diagonal() -> None:
    x = at.dvector("x", shape=(5,))
    y = at.tanh(at.exp(x) + x**2)
    assert y.owner is not None
    assert isinstance(y.owner.op, Elementwise)
    np.testing.assert_array_equal(structure_of(y, x).toarray(), np.eye(5, dtype=bool))

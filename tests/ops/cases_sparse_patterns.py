"""Patterns of compressed matrices: transposed, compared, united, multiplied; values follow, with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from case import Case, slope

import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.sparse.compressed_axes import TakePresent
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import Compressed
from aotensor.sparse.patterns import canonical, compress, on_intersection, on_union, other_format, positions_in
from aotensor.sparse.patterns_product import product_pattern, product_values
from aotensor.sparse.sample import densified, sample_at
from aotensor.sparse.sparse_product import sparse_product

Pattern = tuple[str, Sequence[int], Sequence[int], tuple[int, int]]

SORTED: Pattern = ("csr", [0, 2, 1, 0, 1, 3], [0, 2, 3, 3, 6], (4, 5))
SHUFFLED: Pattern = ("csr", [2, 0, 2, 1, 3, 0, 1, 0], [0, 3, 4, 4, 8], (4, 5))
OTHER: Pattern = ("csr", [1, 2, 4, 3, 0, 1, 4], [0, 2, 3, 4, 7], (4, 5))
COLUMNS: Pattern = ("csc", [3, 0, 1, 3, 0, 2], [0, 1, 3, 4, 4, 6], (4, 5))
TALL: Pattern = ("csr", [0, 2, 1, 2, 0, 0, 1], [0, 2, 3, 4, 5, 7], (5, 3))
TALL_COLUMNS: Pattern = ("csc", [4, 0, 3, 1, 0, 2], [0, 3, 4, 6], (5, 3))
EMPTY: Pattern = ("csr", [], [0, 0, 0, 0, 0], (4, 5))
FLAT: Pattern = ("csc", [], [0], (4, 0))
VOID: Pattern = ("csr", [], [0], (0, 4))


def _matrix(pattern: Pattern, data: Any, dtype: str = "int32") -> Variable:
    format, indices, indptr, shape = pattern
    make = sp.CSR if format == "csr" else sp.CSC
    return make(data, np.array(indices, dtype), np.array(indptr, dtype), np.array(shape))  # type: ignore[no-any-return]


def _known(pattern: Pattern, data: Any, dtype: str = "int32") -> Compressed:
    """In parts that are known to be sorted."""
    return replace(parts_of(_matrix(pattern, data, dtype)), is_canonical=True)


def _dense(p: Compressed) -> Variable:
    return densified(p)


def _numpy(pattern: Pattern, data: np.ndarray) -> np.ndarray:
    format, indices, indptr, shape = pattern
    dense = np.zeros(shape if format == "csr" else shape[::-1], data.dtype)
    np.add.at(dense, (np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.array(indices, int)), data)
    return dense if format == "csr" else dense.T


def _data(pattern: Pattern, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    values = np.random.default_rng(seed).uniform(0.5, 1.5, len(pattern[1]))
    return values.astype(dtype) if dtype[0] == "f" else (10 * values).astype(dtype)


def _places(pattern: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each entry, in the order of the data."""
    format, indices, indptr, _ = pattern
    slices, within = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.array(indices, int)
    return (slices, within) if format == "csr" else (within, slices)


def _one(
    name: str,
    pattern: Pattern,
    build: Callable[[Compressed], Any],
    formula: Callable[[np.ndarray], Any] | None = None,
    dtype: str = "int32",
    **more: Any,
) -> Case:
    """A row for one matrix.   formula: the value, of the dense matrix"""
    if formula is not None:
        more["expected"] = lambda data: formula(_numpy(pattern, data))
    return Case(
        id=f"pattern-{name}",
        build=lambda data: build(parts_of(_matrix(pattern, data, dtype))),
        inputs=[_data(pattern, dtype=more.pop("values", "float64"))],
        **more,
    )


def _two(
    name: str,
    left: Pattern,
    right: Pattern,
    build: Callable[[Compressed, Compressed], Any],
    formula: Callable[..., Any] | None = None,
    **more: Any,
) -> Case:
    """A row for two matrices.   formula: the value, of both dense matrices"""
    if formula is not None:
        more["expected"] = lambda x, y: formula(_numpy(left, x), _numpy(right, y))
    dtypes, values = more.pop("indices", ("int32", "int32")), more.pop("values", ("float64", "float64"))
    return Case(
        id=f"pattern-{name}",
        build=lambda x, y: build(_known(left, x, dtypes[0]), _known(right, y, dtypes[1])),
        inputs=[_data(left, 1, values[0]), _data(right, 2, values[1])],
        **more,
    )


def _product(name: str, left: Pattern, right: Pattern, **more: Any) -> Case:
    return _two(name, left, right, lambda p, q: _dense(sparse_product(p, q)), np.matmul, **more)


def _both(name: str, left: Pattern, right: Pattern, **more: Any) -> Case:
    """A row for exp(p)·q at the entries that both have; those of p may repeat."""

    def expected(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        places, q, stored = _places(left), _numpy(right, y), _numpy(right, np.ones(len(y)))
        dense = np.zeros(left[3])
        np.add.at(dense, places, np.exp(x) * q[places] * (stored[places] != 0))
        return dense

    return _two(name, left, right, _intersection, expected=expected, **more)


def _looked_up(
    name: str, left: Pattern, right: Pattern, build: Callable[[Compressed, Compressed], Any], **more: Any
) -> Case:
    """A row for each entry of p times that of q at its place."""
    expected = lambda x, y: x * _numpy(right, y)[_places(left)]  # noqa: E731
    return _two(name, left, right, build, expected=expected, **more)


def _in_order(p: Compressed) -> Variable:
    """The sorted matrix by its values, squared, each with the column that it is in."""
    q = canonical(p)
    return q.data**2 * (q.indices + 1)


def _ordered(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """What `_in_order` gives for the product of OTHER and TALL."""
    return np.asarray((P @ Q)[STORED] ** 2 * (STORED[1] + 1))


def _negated(p: Compressed) -> Compressed:
    """Not what the op has made, but the same pattern."""
    return replace(p, data=-p.data)


def _sampled(p: Compressed, q: Compressed) -> Variable:
    """p·q at some places, of which one is none of the product."""
    indices, indptr = (at.as_tensor(np.array(x, "int32")) for x in ([0, 1, 0, 2], [0, 2, 2, 3, 4]))
    return product_values(p, q, indices, indptr)


def _derivatives(p: Compressed, q: Compressed) -> list[Variable]:
    """Gradients of Σ (p·q)², which depend on both: their derivatives are second ones."""
    product = sparse_product(p, q)
    return grad((product.data**2).sum(), [p.data, q.data])


def _union_sum(p: Compressed, q: Compressed) -> Variable:
    p, q = on_union(p, q)
    return _dense(replace(p, data=p.data + 2 * q.data))


def _weighted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x + 2 * y


def _union_max(p: Compressed, q: Compressed) -> Variable:
    p, q = on_union(p, q)
    return _dense(replace(p, data=at.exp(p.data) * at.sin(q.data)))


def _intersection(p: Compressed, q: Compressed) -> Variable:
    p, q = on_intersection(p, q)
    return _dense(replace(p, data=at.exp(p.data) * q.data))


def _found(p: Compressed, q: Compressed) -> Variable:
    return TakePresent()(q.data, positions_in(p, q)) * p.data


def _sample_of_duplicates(p: Compressed, q: Compressed) -> Variable:
    return sample_at(matrix_of(replace(q, is_canonical=False)), matrix_of(p)) * p.data


STORED = np.nonzero(_numpy(OTHER, np.ones(7)) @ _numpy(TALL, np.ones(7)))
"""Rows and columns of the product of OTHER and TALL, in order."""
SAMPLED = [0, 0, 2, 3], [0, 1, 0, 2]
"""Row and column of what `_sampled` reads."""


def _slopes(cost: Callable[..., Any]) -> Callable[..., Any]:
    """The derivatives by the data of OTHER and of TALL of a function of the dense product."""
    of_data = lambda x, y: cost(_numpy(OTHER, x) @ _numpy(TALL, y))  # noqa: E731
    return lambda x, y: (slope(of_data)(x, y), slope(of_data, 1)(x, y))


WHOLE = _numpy(SHUFFLED, _data(SHUFFLED))
FIXED = _numpy(SORTED, _data(SORTED))

CASES = [
    _one("other-format", SORTED, lambda p: _dense(other_format(p)), expected=FIXED),
    _one("other-format-data", SORTED, lambda p: other_format(p).data, expected=FIXED.T[FIXED.T != 0]),
    _one("other-format-shuffled", SHUFFLED, lambda p: _dense(other_format(p)), expected=WHOLE),
    _one(
        "other-format-indices",
        SHUFFLED,
        lambda p: [other_format(p).indices, other_format(p).indptr],
        wrt=(),
        expected=([0, 3, 3, 1, 3, 0, 0, 3], [0, 3, 5, 7, 8, 8]),
    ),
    _one("other-format-columns", COLUMNS, lambda p: _dense(other_format(p)), np.asarray, dtype="int64"),
    _one("other-format-empty", EMPTY, lambda p: _dense(other_format(p)), np.asarray),
    _one("other-format-flat", FLAT, lambda p: _dense(other_format(p)), np.asarray),
    _one("canonical", SHUFFLED, lambda p: canonical(p).data ** 2, expected=WHOLE[WHOLE != 0] ** 2),
    _one("canonical-dense", SHUFFLED, lambda p: _dense(canonical(p)), dtype="int64", expected=WHOLE),
    _one(
        "canonical-float32",
        SHUFFLED,
        lambda p: at.exp(canonical(p).data),
        lambda x: np.exp(x[x != 0]),
        values="float32",
    ),
    _one("canonical-empty", EMPTY, lambda p: _dense(canonical(p)), np.asarray),
    _one("canonical-flat", FLAT, lambda p: canonical(p).data, expected=np.zeros(0)),
    _one("compress", SHUFFLED, lambda p: _dense(compress(p, at.eq(p.indices % 2, 0))), lambda x: x * [1, 0, 1, 0, 1]),
    _one("compress-none", SORTED, lambda p: _dense(compress(p, p.indices < 0)), expected=np.zeros((4, 5))),
    _one("compress-by-value", SORTED, lambda p: _dense(compress(p, p.data > 1)), lambda x: x * (x > 1), ragged=True),
    _looked_up("positions", SORTED, OTHER, _found),
    _looked_up("positions-unsorted", SHUFFLED, OTHER, _found),
    _looked_up("positions-other-format", SORTED, COLUMNS, _found, indices=("int32", "int64")),
    _looked_up("positions-in-nothing", SORTED, EMPTY, _found),
    _looked_up("positions-of-nothing", EMPTY, SORTED, _found),
    _both("intersection", SORTED, OTHER),
    _both("intersection-int64", OTHER, SORTED, indices=("int64", "int32")),
    _both("intersection-shuffled", SHUFFLED, OTHER),
    _both("intersection-other-format", COLUMNS, OTHER),
    _both("intersection-with-nothing", EMPTY, OTHER),
    _both("intersection-of-nothing", FLAT, FLAT),
    _both("intersection-same", SORTED, SORTED),
    _two("union", SORTED, OTHER, _union_sum, _weighted),
    _two("union-nonlinear", SORTED, OTHER, _union_max, lambda x, y: np.exp(x) * np.sin(y)),
    _two("union-int64", SORTED, OTHER, _union_sum, _weighted, indices=("int64", "int32")),
    _two("union-other-format", COLUMNS, OTHER, _union_sum, _weighted),
    _two("union-with-nothing", EMPTY, OTHER, _union_sum, _weighted),
    _two("union-of-nothing", FLAT, FLAT, _union_sum, _weighted),
    _two("union-same", SORTED, SORTED, _union_sum, _weighted),
    _two("union-int", SORTED, OTHER, _union_sum, _weighted, values=("int8", "int8"), wrt=()),
    _product("product", SORTED, TALL),
    _product("product-columns", COLUMNS, TALL_COLUMNS),
    _product("product-csr-csc", OTHER, TALL_COLUMNS),
    _product("product-csc-csr", COLUMNS, TALL),
    _product("product-int64", OTHER, TALL, indices=("int64", "int32")),
    _product("product-float32", OTHER, TALL, values=("float32", "float32")),
    _product("product-mixed", OTHER, TALL, values=("float32", "float64")),
    _product("product-int", OTHER, TALL, values=("int16", "int16"), wrt=()),
    _product("product-empty", EMPTY, TALL),
    _product("product-void", VOID, SORTED),
    _product("product-flat", ("csr", [], [0, 0, 0], (2, 0)), ("csr", [], [0], (0, 3))),
    _two(
        "product-shuffled",
        SHUFFLED,
        TALL,
        lambda p, q: _dense(sparse_product(replace(p, is_canonical=False), q)),
        np.matmul,
    ),
    _two("product-in-order", OTHER, TALL, lambda p, q: _in_order(sparse_product(p, q)), _ordered),
    _two("product-sorted", OTHER, TALL, lambda p, q: _in_order(_negated(sparse_product(p, q))), _ordered),
    _two(
        "product-of-products",
        OTHER,
        COLUMNS,
        lambda p, q: _dense(sparse_product(sparse_product(p, q.transposed), q)),
        lambda x, y: x @ y.T @ y,
    ),
    _two(
        "product-pattern",
        OTHER,
        TALL,
        product_pattern,
        wrt=(),
        expected=(STORED[1], np.append(0, np.cumsum(np.bincount(STORED[0])))),
    ),
    _two("product-sampled", OTHER, TALL, _sampled, lambda x, y: (x @ y)[SAMPLED]),
    _two("product-derivatives", OTHER, TALL, _derivatives, expected=_slopes(np.square)),
    _two(
        "product-derivatives-of-values",
        OTHER,
        TALL,
        lambda p, q: grad((_sampled(p, q) ** 3).sum(), [p.data, q.data]),
        expected=_slopes(lambda x: x[SAMPLED] ** 3),
    ),
    _looked_up("sample-sparse", SORTED, OTHER, lambda p, q: sample_at(matrix_of(q), matrix_of(p)) * p.data),
    _looked_up("sample-sparse-columns", SORTED, COLUMNS, lambda p, q: sample_at(matrix_of(q), matrix_of(p)) * p.data),
    _looked_up("sample-duplicates", SORTED, SHUFFLED, _sample_of_duplicates),
]

"""Patterns of compressed matrices: transposed, compared, united, multiplied; values follow, with derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from case import Case

import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.sparse.compressed import TakePresent
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import Parts
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


def _known(pattern: Pattern, data: Any, dtype: str = "int32") -> Parts:
    """In parts that are known to be sorted."""
    return replace(parts_of(_matrix(pattern, data, dtype)), is_canonical=True)


def _dense(p: Parts) -> Variable:
    return densified(p)


def _numpy(pattern: Pattern, data: np.ndarray) -> np.ndarray:
    format, indices, indptr, shape = pattern
    dense = np.zeros(shape if format == "csr" else shape[::-1], data.dtype)
    np.add.at(dense, (np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.array(indices, int)), data)
    return dense if format == "csr" else dense.T


def _data(pattern: Pattern, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    values = np.random.default_rng(seed).uniform(0.5, 1.5, len(pattern[1]))
    return values.astype(dtype) if dtype[0] == "f" else (10 * values).astype(dtype)


def _one(name: str, pattern: Pattern, build: Callable[[Parts], Any], dtype: str = "int32", **more: Any) -> Case:
    return Case(
        id=f"pattern-{name}",
        build=lambda data: build(parts_of(_matrix(pattern, data, dtype))),
        inputs=[_data(pattern, dtype=more.pop("values", "float64"))],
        **more,
    )


def _two(name: str, left: Pattern, right: Pattern, build: Callable[[Parts, Parts], Any], **more: Any) -> Case:
    dtypes, values = more.pop("indices", ("int32", "int32")), more.pop("values", ("float64", "float64"))
    return Case(
        id=f"pattern-{name}",
        build=lambda x, y: build(_known(left, x, dtypes[0]), _known(right, y, dtypes[1])),
        inputs=[_data(left, 1, values[0]), _data(right, 2, values[1])],
        **more,
    )


def _product(name: str, left: Pattern, right: Pattern, **more: Any) -> Case:
    values = more.get("values", ("float64", "float64"))
    expected = _numpy(left, _data(left, 1, values[0])) @ _numpy(right, _data(right, 2, values[1]))
    return _two(name, left, right, lambda p, q: _dense(sparse_product(p, q)), expected=expected, **more)


def _in_order(p: Parts) -> Variable:
    """The sorted matrix by its values, squared, each with the column that it is in."""
    q = canonical(p)
    return q.data**2 * (q.indices + 1)


def _negated(p: Parts) -> Parts:
    """Not what the op has made, but the same pattern."""
    return replace(p, data=-p.data)


def _sampled(p: Parts, q: Parts) -> Variable:
    """p·q at some places, of which one is none of the product."""
    indices, indptr = (at.as_tensor(np.array(x, "int32")) for x in ([0, 1, 0, 2], [0, 2, 2, 3, 4]))
    return product_values(p, q, indices, indptr)


def _derivatives(p: Parts, q: Parts) -> list[Variable]:
    """Gradients of Σ (p·q)², which depend on both: their derivatives are second ones."""
    product = sparse_product(p, q)
    return grad((product.data**2).sum(), [p.data, q.data])


def _union_sum(p: Parts, q: Parts) -> Variable:
    p, q = on_union(p, q)
    return _dense(replace(p, data=p.data + 2 * q.data))


def _union_max(p: Parts, q: Parts) -> Variable:
    p, q = on_union(p, q)
    return _dense(replace(p, data=at.exp(p.data) * at.sin(q.data)))


def _intersection(p: Parts, q: Parts) -> Variable:
    p, q = on_intersection(p, q)
    return _dense(replace(p, data=at.exp(p.data) * q.data))


def _found(p: Parts, q: Parts) -> Variable:
    return TakePresent()(q.data, positions_in(p, q)) * p.data


def _sample_of_duplicates(p: Parts, q: Parts) -> Variable:
    return sample_at(matrix_of(replace(q, is_canonical=False)), matrix_of(p)) * p.data


WHOLE = _numpy(SHUFFLED, _data(SHUFFLED))
FIXED = _numpy(SORTED, _data(SORTED))

CASES = [
    _one("other-format", SORTED, lambda p: _dense(other_format(p)), expected=FIXED),
    _one("other-format-data", SORTED, lambda p: other_format(p).data, expected=FIXED.T[FIXED.T != 0]),
    _one("other-format-shuffled", SHUFFLED, lambda p: _dense(other_format(p)), expected=WHOLE),
    _one("other-format-indices", SHUFFLED, lambda p: [other_format(p).indices, other_format(p).indptr], wrt=()),
    _one("other-format-columns", COLUMNS, lambda p: _dense(other_format(p)), dtype="int64"),
    _one("other-format-empty", EMPTY, lambda p: _dense(other_format(p))),
    _one("other-format-flat", FLAT, lambda p: _dense(other_format(p))),
    _one("canonical", SHUFFLED, lambda p: canonical(p).data ** 2, expected=WHOLE[WHOLE != 0] ** 2),
    _one("canonical-dense", SHUFFLED, lambda p: _dense(canonical(p)), dtype="int64", expected=WHOLE),
    _one("canonical-float32", SHUFFLED, lambda p: at.exp(canonical(p).data), values="float32"),
    _one("canonical-empty", EMPTY, lambda p: _dense(canonical(p))),
    _one("canonical-flat", FLAT, lambda p: canonical(p).data),
    _one("compress", SHUFFLED, lambda p: _dense(compress(p, at.eq(p.indices % 2, 0)))),
    _one("compress-none", SORTED, lambda p: _dense(compress(p, p.indices < 0)), expected=np.zeros((4, 5))),
    _one("compress-by-value", SORTED, lambda p: _dense(compress(p, p.data > 1)), ragged=True),
    _two("positions", SORTED, OTHER, _found),
    _two("positions-unsorted", SHUFFLED, OTHER, _found),
    _two("positions-other-format", SORTED, COLUMNS, _found, indices=("int32", "int64")),
    _two("positions-in-nothing", SORTED, EMPTY, _found, expected=np.zeros(6)),
    _two("positions-of-nothing", EMPTY, SORTED, _found),
    _two("intersection", SORTED, OTHER, _intersection),
    _two("intersection-int64", OTHER, SORTED, _intersection, indices=("int64", "int32")),
    _two("intersection-shuffled", SHUFFLED, OTHER, _intersection),
    _two("intersection-other-format", COLUMNS, OTHER, _intersection),
    _two("intersection-with-nothing", EMPTY, OTHER, _intersection, expected=np.zeros((4, 5))),
    _two("intersection-of-nothing", FLAT, FLAT, _intersection),
    _two("intersection-same", SORTED, SORTED, _intersection),
    _two("union", SORTED, OTHER, _union_sum),
    _two("union-nonlinear", SORTED, OTHER, _union_max),
    _two("union-int64", SORTED, OTHER, _union_sum, indices=("int64", "int32")),
    _two("union-other-format", COLUMNS, OTHER, _union_sum),
    _two("union-with-nothing", EMPTY, OTHER, _union_sum),
    _two("union-of-nothing", FLAT, FLAT, _union_sum),
    _two("union-same", SORTED, SORTED, _union_sum),
    _two("union-int", SORTED, OTHER, _union_sum, values=("int8", "int8"), wrt=()),
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
    _two("product-shuffled", SHUFFLED, TALL, lambda p, q: _dense(sparse_product(replace(p, is_canonical=False), q))),
    _two("product-in-order", OTHER, TALL, lambda p, q: _in_order(sparse_product(p, q))),
    _two("product-sorted", OTHER, TALL, lambda p, q: _in_order(_negated(sparse_product(p, q)))),
    _two("product-of-products", OTHER, COLUMNS, lambda p, q: _dense(sparse_product(sparse_product(p, q.turned), q))),
    _two("product-pattern", OTHER, TALL, product_pattern, wrt=()),
    _two("product-sampled", OTHER, TALL, _sampled),
    _two("product-derivatives", OTHER, TALL, _derivatives),
    _two(
        "product-derivatives-of-values", OTHER, TALL, lambda p, q: grad((_sampled(p, q) ** 3).sum(), [p.data, q.data])
    ),
    _two("sample-sparse", SORTED, OTHER, lambda p, q: sample_at(matrix_of(q), matrix_of(p)) * p.data),
    _two("sample-sparse-columns", SORTED, COLUMNS, lambda p, q: sample_at(matrix_of(q), matrix_of(p)) * p.data),
    _two("sample-duplicates", SORTED, SHUFFLED, _sample_of_duplicates),
]

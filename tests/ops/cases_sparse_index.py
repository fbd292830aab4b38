"""Rows for windows and elements of sparse matrices: the matrix is made of a vector of data inside of each row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from case import Case
from cases_sparse_products import stored, unstored
from scipy.sparse import csc_matrix, csr_matrix

import aotensor.sparse as sp
from aotensor.graph.variable import Variable
from aotensor.sparse.sample import sample_at

DENSE = np.array([[0, 1, 0, 2, 0], [3, 0, 0, 4, 5], [0, 0, 0, 0, 0], [6, 7, 8, 0, 0]], dtype=float)
PATTERN = csr_matrix(DENSE)
"""4 × 5, with an empty row; 8 stored entries."""
FULL = csr_matrix(np.arange(1.0, 21.0).reshape(4, 5))
UNSORTED: tuple[list[int], list[int]] = ([3, 1, 3, 4, 0, 3, 2, 0, 1, 0], [0, 3, 6, 6, 10])
"""indices and indptr of 4 × 5: slices out of order, places (0, 3), (3, 0) twice."""

Index = Any


def made(data: Variable, format: str, dtype: str = "int32") -> Variable:
    """The matrix of that pattern with these data."""
    pattern = PATTERN.asformat(format)
    indices, indptr = (np.asarray(x, dtype) for x in (pattern.indices, pattern.indptr))
    return sp.CSM(format)(data, indices, indptr, np.array(PATTERN.shape))  # type: ignore[no-any-return]


def _values(data: np.ndarray, format: str, index: Index) -> np.ndarray:
    """x[index] of the dense matrix of `made`."""
    return np.asarray(unstored(format, data, DENSE != 0)[index])


def data_of(x: Variable) -> Variable:
    """The stored values."""
    return sp.CSMProperties()(x)[0]  # type: ignore[no-any-return]


def window(
    id: str,
    index: Callable[..., Index],
    *symbols: Any,
    shows: str = "get_item_2d",
    elsewhere: bool = False,
    **options: Any,
) -> list[Case]:
    """Rows for x[index(*symbols)] in both formats: its data, or its values at places of another pattern."""
    rows, columns = DENSE[index(*map(_concrete, symbols))].shape
    checkered = csr_matrix(np.add.outer(np.arange(rows), np.arange(columns)) % 2).astype(float)

    def sampled(x: Variable, format: str) -> Variable:
        found: Variable = sample_at(x, sp.constant(checkered.asformat(format)))
        return found

    def expected(data: np.ndarray, *at: Any, format: str) -> np.ndarray:
        place = index(*map(_concrete, at))
        return stored(format, _values(data, format, place), (checkered.toarray() if elsewhere else DENSE[place]) != 0)

    what, taken = ("elsewhere", sampled) if elsewhere else ("data", lambda x, format: data_of(x))
    return [
        Case(
            id=f"sparse_window-{id}-{what}-{format}",
            build=lambda data, *at, format=format: taken(made(data, format)[index(*at)], format),
            inputs=lambda rng: [rng.normal(size=8), *map(np.asarray, symbols)],
            expected=partial(expected, format=format),
            wrt=(0,),
            shows=(f"sparse/8-{shows}",),
            **options,
        )
        for format in ("csr", "csc")
    ]


def _concrete(x: Any) -> Any:
    return int(x) if np.ndim(x) == 0 else np.asarray(x)


def elements(id: str, index: Callable[..., Index], *symbols: Any, shows: str, **options: Any) -> list[Case]:
    """Rows for dense elements of x, in both formats."""
    return [
        Case(
            id=f"sparse_elements-{id}-{format}",
            build=lambda data, *at, format=format: made(data, format)[index(*at)],
            inputs=lambda rng: [rng.normal(size=8), *map(np.asarray, symbols)],
            expected=lambda data, *at, format=format: _values(data, format, index(*map(_concrete, at))),
            wrt=(0,),
            shows=(f"sparse/8-{shows}",),
            **options,
        )
        for format in ("csr", "csc")
    ]


def unsorted(id: str, build: Callable[[Variable], Variable], formula: Callable[[np.ndarray], Any]) -> Case:
    """A row for a matrix with places out of order and twice.   formula: of the dense matrix"""
    return Case(
        id=f"sparse_window-unsorted-{id}",
        build=lambda data: build(sp.CSR(data, *UNSORTED, (4, 5))),
        inputs=lambda rng: [rng.normal(size=10)],
        expected=lambda data: formula(csr_matrix((data, *UNSORTED), (4, 5)).toarray()),
        shows=("sparse/0-unsorted", "sparse/0-duplicates"),
    )


ROWS, COLUMNS = np.array([3, 0, 3, -2]), np.array([4, 0, 0, -2, 1])
CASES: list[Case] = [
    *window("rows", lambda: np.s_[1:4]),
    *window("both", lambda: np.s_[1:, 1:4]),
    *window("steps", lambda: np.s_[::2, 1::3]),
    *window("steps", lambda: np.s_[::2, 1::3], elsewhere=True),
    *window("backwards", lambda: np.s_[::-1, ::-2]),
    *window("backwards", lambda: np.s_[::-1, ::-2], elsewhere=True),
    *window("clipped", lambda: np.s_[-9:9, 2:99]),
    *window("no-columns", lambda: np.s_[:, 3:1]),
    *window("no-rows", lambda: np.s_[9:, 1:], elsewhere=True),
    *window("symbolic", lambda a, b, s: np.s_[a:b, a : b + 1 : s], 1, 3, 2),
    *window("symbolic-backwards", lambda a, b, s: np.s_[b:a:s, b:a:s], 0, 3, -1),
    *window("list", lambda: np.s_[ROWS], shows="get_item_list"),
    *window("columns", lambda: np.s_[:, COLUMNS], shows="get_item_list"),
    *window("list-and-slice", lambda: np.s_[ROWS, 1:4], shows="get_item_list", elsewhere=True),
    *window("slice-and-list", lambda: np.s_[::-1, COLUMNS], shows="get_item_list"),
    *window("vector", lambda r: np.s_[r], ROWS, ragged=True, shows="get_item_list"),
    *window("columns-vector", lambda c: np.s_[1:, c], COLUMNS.astype("int8"), ragged=True, shows="get_item_list"),
    *window("mask", lambda: np.s_[np.array([True, False, True, True])], shows="get_item_list"),
    *window("columns-mask", lambda: np.s_[:, np.array([True, False, True, True, False])], shows="get_item_list"),
    *elements("scalar", lambda: np.s_[1, 3], shows="get_item_scalar"),
    *elements("absent", lambda: np.s_[2, 2], shows="get_item_scalar"),
    *elements("negative", lambda: np.s_[-1, -4], shows="get_item_scalar"),
    *elements("symbolic-scalar", lambda i, j: np.s_[i, j], np.int64(3), np.int8(-3), shows="get_item_scalar"),
    *elements("lists", lambda: np.s_[[0, 3, 3, -3, 2], [1, 0, 0, -1, 2]], shows="get_item_2lists"),
    *elements("vectors", lambda r, c: np.s_[r, c], [0, 3, 3], [3, 2, 2], ragged=True, shows="get_item_2lists"),
    *elements("mask", lambda: np.s_[DENSE > 3], shows="get_item_2lists"),
    *elements("empty-lists", lambda: np.s_[[], []], shows="get_item_2lists"),
    unsorted("rows", lambda x: sample_at(x[::-1], sp.constant(FULL)), lambda x: x[::-1].ravel()),
    unsorted(
        "columns",
        lambda x: sample_at(x[:, [4, 3, 0, 3, 0]], sp.constant(FULL)),
        lambda x: x[:, [4, 3, 0, 3, 0]].ravel(),
    ),
    unsorted(
        "mask", lambda x: sample_at(x[:, 1:4], sp.constant(csc_matrix(FULL[:, 1:4]))), lambda x: x[:, 1:4].T.ravel()
    ),
    unsorted("element", lambda x: x[0, 3], lambda x: x[0, 3]),
    unsorted("elements", lambda x: x[[0, 3, 0], [3, 0, 2]], lambda x: x[[0, 3, 0], [3, 0, 2]]),
]

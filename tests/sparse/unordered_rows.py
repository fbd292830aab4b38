"""Sparse programs beside the same formula on dense matrices, and structures with their entries in any order.

A formula is NumPy on the dense matrix, written for complex numbers too, so that its derivatives come by the complex
step without any rounding of a difference. It knows nothing of entries but `stored`, the mask of the places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.graph.variable import Variable

ROWS, COLUMNS = 3, 4
SHAPE: Final = (ROWS, COLUMNS)
ENTRIES: Final[dict[str, list[tuple[int, int]]]] = {
    "sorted": [(0, 0), (0, 2), (1, 1), (1, 3), (2, 0), (2, 1), (2, 2)],
    "unsorted": [(2, 2), (0, 2), (1, 3), (2, 0), (1, 1), (0, 0), (2, 1)],
    "repeated": [(0, 0), (0, 0), (0, 2), (1, 1), (1, 3), (1, 3), (1, 3), (2, 1)],
    "repeated-unsorted": [(0, 2), (1, 3), (0, 0), (2, 1), (1, 1), (0, 2), (1, 3), (0, 0), (2, 1), (1, 3)],
}
"""The places of a matrix, in the order in which they are stored within their slices."""


@dataclass(frozen=True)
class Structure:
    """indices and indptr of places in their order, and where they lie."""

    format: str
    places: tuple[tuple[int, int], ...]
    indices: Array
    indptr: Array
    shape: tuple[int, int]

    @staticmethod
    def from_entries(format: str, entries: list[tuple[int, int]], shape: tuple[int, int]) -> Structure:
        """The compressed form; entries of one slice keep their order."""
        axis = 0 if format == "csr" else 1
        places = tuple(sorted(entries, key=lambda place: place[axis]))
        counts = np.bincount([place[axis] for place in places], minlength=shape[axis])
        indices = np.array([place[1 - axis] for place in places], "int32")
        return Structure(format, places, indices, np.append(0, np.cumsum(counts)).astype("int32"), shape)

    def dense(self, data: Array) -> Array:
        """The matrix of these data, complex or real."""
        result = np.zeros(self.shape, data.dtype)
        for place, number in zip(self.places, data, strict=True):
            result[place] += number
        return result

    @property
    def stored(self) -> Array:
        """Where an entry is."""
        return self.dense(np.ones(len(self.places))) > 0


@dataclass(frozen=True, kw_only=True)
class Row:
    """program(matrix, *others) in sparse terms, formula(dense, *others, stored) in dense ones.

    others: further operands; an array is dense, a list of places is a second matrix with its entries in that order, of
    `other_shape`. positive: the data have no zero, for functions that have a pole or an edge there. rtol: of solutions.
    """

    id: str
    program: Callable[..., Variable]
    formula: Callable[..., Array]
    others: tuple[Any, ...] = ()
    other_shape: tuple[int, int] = SHAPE
    positive: bool = False
    rtol: float = 1e-12
    formats: tuple[str, ...] = ("csr", "csc")


def _structured(f: Callable[..., Any]) -> Callable[..., Array]:
    """f at the places that are stored, 0 elsewhere."""
    return lambda x, *rest, stored: np.where(stored, f(np.where(stored, x, 0.5), *rest), 0)


def _plain(f: Callable[..., Any]) -> Callable[..., Array]:
    return lambda *xs, stored: np.asarray(f(*xs))


def _by_sign(x: Array) -> Array:
    return np.asarray(np.where(np.real(x) < 0, -x, x))


def _smaller(x: Array, y: Array) -> Array:
    return np.asarray(np.where(np.real(x) <= np.real(y), x, y))


def _larger(x: Array, y: Array) -> Array:
    return np.asarray(np.where(np.real(x) >= np.real(y), x, y))


def _along(best: Callable[..., Any], x: Array, axis: int | None) -> Array:
    """The largest or least element along an axis, by its real part."""
    flat = x.ravel() if axis is None else np.moveaxis(x, axis, -1)
    at_best = best(np.real(flat), axis=-1)
    return np.asarray(np.take_along_axis(flat, np.expand_dims(at_best, -1), -1)[..., 0])


def _step(f: Callable[[Array], Array]) -> Callable[..., Array]:
    return _structured(lambda x: f(np.real(x)) + 0 * x)


def _solution(x: Variable, y: Variable) -> Variable:
    twos = sp.square_diagonal(np.full(ROWS, 2.0), x.format)
    return sp.solve(sp.true_dot(x, x.T) + twos, y, tol=1e-13)


DENSE: Final = np.array([[0.3, -1.2, 0.7, 2.0], [1.1, 0.4, -0.6, 0.9], [-0.8, 1.5, 0.2, -1.0]])
VECTOR: Final = np.array([0.6, -1.1, 0.8, 1.7])
COLUMN: Final = np.array([1.2, -0.7, 0.5])
RIGHT: Final = np.array([[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5], [1.0, -0.5]])
LEFT: Final = np.array([[1.0, -0.5, 2.0], [0.25, 1.5, -1.0]])
SECOND: Final = [(2, 3), (0, 2), (1, 1), (0, 0), (2, 3), (0, 2), (2, 1)]
"""Places of a second matrix of the same extents: unsorted, two of them twice."""
FACTOR: Final = [(3, 1), (0, 1), (1, 0), (3, 1), (2, 0), (0, 0)]
"""Places of a 4×2 matrix, the same."""

FUNCTIONS: Final[dict[str, Callable[[Array], Array]]] = {
    "structured_sigmoid": lambda x: 1 / (1 + np.exp(-x)), "structured_exp": np.exp, "structured_log": np.log,
    "sin": np.sin, "arcsin": np.arcsin, "tan": np.tan, "arctan": np.arctan, "sinh": np.sinh, "arcsinh": np.arcsinh,
    "tanh": np.tanh, "arctanh": np.arctanh, "log1p": np.log1p, "expm1": np.expm1, "sqr": np.square, "sqrt": np.sqrt,
    "deg2rad": lambda x: x * (np.pi / 180), "rad2deg": lambda x: x * (180 / np.pi), "conj": lambda x: x,
}  # fmt: skip
STEPS: Final = {"ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "rint": np.rint, "sign": np.sign}

_ELEMENTS = [
    *(Row(id=name, program=getattr(sp, name), formula=_structured(f), positive=True) for name, f in FUNCTIONS.items()),
    *(Row(id=name, program=getattr(sp, name), formula=_step(f), positive=True) for name, f in STEPS.items()),
    Row(id="abs", program=sp.abs, formula=_structured(_by_sign), positive=True),
    Row(id="structured_elemwise", program=lambda x: sp.structured_elemwise(at.cosh)(lambda y: None)(x),
        formula=_structured(np.cosh)),
    Row(id="structured_pow", program=sp.structured_pow, formula=_structured(np.power), others=(np.array(1.5),),
        positive=True),
    Row(id="structured_minimum", program=sp.structured_minimum, formula=_structured(_smaller), others=(np.array(0.3),)),
    Row(id="structured_maximum", program=sp.structured_maximum, formula=_structured(_larger), others=(np.array(0.3),)),
    Row(id="structured_add", program=sp.structured_add, formula=_structured(np.add), others=(np.array(0.3),)),
    Row(id="neg", program=sp.neg, formula=_plain(np.negative)),
    Row(id="power", program=lambda x: x**3, formula=_plain(lambda x: x**3)),
    Row(id="fcast", program=lambda x: sp.cast(sp.cast(x, "float64") * 2, "float64"), formula=_plain(lambda x: 2 * x)),
]  # fmt: skip
_PAIRS = [
    Row(id="add_s_s", program=lambda x, y: x + y, formula=_plain(np.add), others=(SECOND,)),
    Row(id="sub", program=lambda x, y: x - y, formula=_plain(np.subtract), others=(SECOND,)),
    Row(id="add_s_s_data", program=lambda x: sp.add_s_s_data(x, sp.neg(sp.sqr(x))), formula=_plain(lambda x: x - x**2)),
    Row(id="mul_s_s", program=lambda x, y: x * y, formula=_plain(np.multiply), others=(SECOND,)),
    Row(id="add_s_d", program=sp.add_s_d, formula=_plain(np.add), others=(DENSE,)),
    Row(id="add-of-itself", program=lambda x: x + x * x, formula=_plain(lambda x: x + x * x)),
    Row(id="mul_s_d", program=sp.mul_s_d, formula=_plain(np.multiply), others=(DENSE,)),
    Row(id="mul_s_v", program=sp.mul_s_v, formula=_plain(np.multiply), others=(VECTOR,)),
    Row(id="mul-scalar", program=sp.mul, formula=_plain(np.multiply), others=(np.array(1.5),)),
    Row(id="div-dense", program=lambda x, y: x / y, formula=_plain(np.divide), others=(DENSE,)),
    Row(id="div-scalar", program=lambda x, y: x / y, formula=_plain(np.divide), others=(np.array(1.5),)),
    Row(id="structured_add_s_v", program=sp.structured_add_s_v, others=(VECTOR,),
        formula=lambda x, v, stored: np.where(stored, x + v, 0)),
    Row(id="col_scale", program=sp.col_scale, formula=_plain(np.multiply), others=(VECTOR,)),
    Row(id="row_scale", program=sp.row_scale, formula=_plain(lambda x, v: x * v[:, None]), others=(COLUMN,)),
]  # fmt: skip
_PRODUCTS = [
    *(
        row
        for name in ("dot", "structured_dot", "true_dot")
        for op in [getattr(sp, name)]
        for row in (
            Row(id=f"{name}-matrix", program=op, formula=_plain(np.matmul), others=(RIGHT,)),
            Row(id=f"{name}-from-matrix", program=lambda x, y, op=op: op(y, x), others=(LEFT,),
                formula=_plain(lambda x, y: y @ x)),
            Row(id=f"{name}-sparse", program=op, formula=_plain(np.matmul), others=(FACTOR,), other_shape=(4, 2)),
            Row(id=f"{name}-transposed", program=lambda x, op=op: op(x, x.T), formula=_plain(lambda x: x @ x.T)),
        )
    ),
    *(
        row
        for name in ("dot", "structured_dot")
        for op in [getattr(sp, name)]
        for row in (
            Row(id=f"{name}-vector", program=op, formula=_plain(np.matmul), others=(VECTOR,)),
            Row(id=f"{name}-from-vector", program=lambda x, y, op=op: op(y, x), others=(COLUMN,),
                formula=_plain(lambda x, y: y @ x)),
        )
    ),
    Row(id="sampling_dot", program=lambda x, d, e: sp.sampling_dot(d, e, x), others=(LEFT.T, RIGHT),
        formula=_plain(lambda x, d, e: x * (d @ e.T))),
    Row(id="structured_dot_grad", program=lambda x, d, g: sp.structured_dot_grad(x, d, g), others=(RIGHT, LEFT.T),
        formula=lambda x, d, g, stored: np.where(stored, g @ d.T, 0)),
    Row(id="usmm", program=lambda x, a, y, z: sp.usmm(a, x, y, z), others=(np.array(1.5), RIGHT, LEFT.T),
        formula=_plain(lambda x, a, y, z: a * (x @ y) + z)),
    Row(id="usmm-from-left", program=lambda x, y, z: sp.usmm(1.5, y, x, z), others=(LEFT, DENSE[:2]),
        formula=_plain(lambda x, y, z: 1.5 * (y @ x) + z)),
    Row(id="solve", others=(COLUMN,), rtol=1e-7, program=_solution,
        formula=_plain(lambda x, y: np.linalg.solve(x @ x.T + 2 * np.eye(3), y))),
]  # fmt: skip
_PARTS = [
    Row(id="dense_from_sparse", program=sp.dense_from_sparse, formula=_plain(np.array)),
    Row(id="dense_from_sparse-regular", program=lambda x: sp.dense_from_sparse(x, structured=False),
        formula=_plain(np.array)),
    Row(id="transpose", program=sp.transpose, formula=_plain(np.transpose)),
    Row(id="csr_from_dense", program=lambda x: sp.csr_from_dense(x.toarray()), formula=_plain(np.array), positive=True),
    Row(id="csc_from_dense", program=lambda x: sp.csc_from_dense(x.toarray()), formula=_plain(np.array), positive=True),
    Row(id="ensure_sorted_indices", program=sp.ensure_sorted_indices, formula=_plain(np.array)),
    Row(id="remove0", program=sp.remove0, formula=_plain(np.array), positive=True),
    Row(id="clean", program=sp.clean, formula=_plain(np.array), positive=True),
    Row(id="get_item_scalar", program=lambda x: x[1, 3], formula=_plain(lambda x: x[1, 3])),
    Row(id="get_item_2d", program=lambda x: x[::-1, 3:0:-1], formula=_plain(lambda x: x[::-1, 3:0:-1])),
    Row(id="get_item_list", program=lambda x: x[[2, 0, 2]], formula=_plain(lambda x: x[[2, 0, 2]])),
    Row(id="get_item_columns", program=lambda x: x[:, [3, 1, 3]], formula=_plain(lambda x: x[:, [3, 1, 3]])),
    Row(id="get_item_2lists", program=lambda x: x[[1, 0, 1, 2], [3, 1, 3, 2]],
        formula=_plain(lambda x: x[[1, 0, 1, 2], [3, 1, 3, 2]])),
    Row(id="diag", program=sp.diag, formula=_plain(np.diagonal)),
    Row(id="diag-offset", program=lambda x: sp.diag(x, 1), formula=_plain(lambda x: np.diagonal(x, 1))),
    Row(id="trace", program=lambda x: x.trace(), formula=_plain(np.trace)),
    Row(id="hstack", program=lambda x, y: sp.hstack([x, y, x], format="csr"), others=(SECOND,),
        formula=_plain(lambda x, y: np.hstack([x, y, x]))),
    Row(id="vstack", program=lambda x, y: sp.vstack([x, y, x]), others=(SECOND,),
        formula=_plain(lambda x, y: np.vstack([x, y, x]))),
    Row(id="block_diag", program=lambda x, y: sp.block_diag(x, y), others=(FACTOR,), other_shape=(4, 2),
        formula=_plain(lambda x, y: np.block([[x, np.zeros((3, 2))], [np.zeros((4, 4)), y]]))),
    Row(id="construct_sparse_from_list", formula=_plain(lambda x: np.stack([x[1], 0 * x[1], x[0] + x[2]])),
        program=lambda x: sp.construct_sparse_from_list(np.zeros(SHAPE), x.toarray(), np.array([2, 0, 2]))),
    Row(id="square_diagonal", program=lambda x: sp.square_diagonal(sp.csm_data(sp.clean(x)), x.format), positive=True,
        formula=lambda x, stored: np.diag(x[stored]), formats=("csr",)),
    Row(id="sp_ones_like", program=lambda x: x * sp.sp_ones_like(x), formula=_plain(np.array)),
    Row(id="csm_properties", formula=_plain(lambda x: 2 * x), program=lambda x: sp.CSM(x.format)(
        2 * sp.csm_data(x), sp.csm_indices(x), sp.csm_indptr(x), sp.csm_shape(x))),
    *(Row(id=f"sp_sum-{axis}", program=lambda x, axis=axis: sp.sp_sum(x, axis=axis),
          formula=_plain(lambda x, axis=axis: np.sum(x, axis))) for axis in (None, 0, 1)),
    *(Row(id=f"sp_sum-structured-{axis}", program=lambda x, axis=axis: sp.sp_sum(x, axis=axis, sparse_grad=True),
          formula=_plain(lambda x, axis=axis: np.sum(x, axis))) for axis in (None, 0, 1)),
    *(Row(id=f"mean-{axis}", program=lambda x, axis=axis: x.mean(axis),
          formula=_plain(lambda x, axis=axis: np.mean(x, axis))) for axis in (None, 0, 1)),
    *(Row(id=f"max-{axis}", program=lambda x, axis=axis: x.max(axis), positive=True,
          formula=_plain(lambda x, axis=axis: _along(np.argmax, x, axis))) for axis in (None, 0, 1)),
    *(Row(id=f"min-{axis}", program=lambda x, axis=axis: (-x).min(axis), positive=True,
          formula=_plain(lambda x, axis=axis: _along(np.argmin, -x, axis))) for axis in (None, 0, 1)),
]  # fmt: skip


def _column_sums(x: Variable) -> Variable:
    return sp.sp_sum(x, axis=0, sparse_grad=True)


_TOGETHER = [
    Row(id="two-uses", program=lambda x, y: sp.structured_dot(x, y) + sp.structured_dot(sp.sqr(x), y), others=(RIGHT,),
        formula=_plain(lambda x, y: (x + x**2) @ y)),
    Row(id="two-kinds", program=lambda x, y: sp.structured_dot(x, y) + sp.dot(x, y), others=(RIGHT,),
        formula=_plain(lambda x, y: 2 * (x @ y))),
    Row(id="with-its-transpose", program=lambda x, y: sp.structured_dot(x, sp.structured_dot(x.T, y)), others=(COLUMN,),
        formula=_plain(lambda x, y: x @ (x.T @ y))),
    Row(id="product-of-sorted", program=lambda x, y: sp.structured_dot(sp.ensure_sorted_indices(x), y), others=(RIGHT,),
        formula=_plain(np.matmul)),
    Row(id="data-of-sorted", program=lambda x: sp.csm_data(sp.ensure_sorted_indices(x)).sum(), formula=_plain(np.sum)),
    Row(id="sums-of-two", program=lambda x: _column_sums(x) + _column_sums(sp.sqr(x)),
        formula=_plain(lambda x: (x + x**2).sum(0))),
    Row(id="sums-of-rows", program=lambda x: _column_sums(x[[2, 0, 2]]), formula=_plain(lambda x: x[[2, 0, 2]].sum(0))),
    Row(id="sums-of-stacked", program=lambda x: _column_sums(sp.hstack([x, x.copy()])),
        formula=_plain(lambda x: np.hstack([x, x]).sum(0))),
    Row(id="sums-of-transposed", program=lambda x: _column_sums(-x.T), formula=_plain(lambda x: -x.sum(1))),
    Row(id="functions-of-transposed", program=lambda x: sp.structured_exp(x.T),
        formula=lambda x, stored: np.where(stored.T, np.exp(x.T), 0)),
]  # fmt: skip

TABLE: Final = [*_ELEMENTS, *_PAIRS, *_PRODUCTS, *_PARTS, *_TOGETHER]

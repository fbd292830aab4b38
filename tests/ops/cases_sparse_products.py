"""Products with a sparse operand, in terms of its data and of the dense operand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from case import Case, slope

import aotensor.sparse as sp
from aotensor.core.types import Array
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.reduce.sums import sum as sum_over

DENSE = np.array([[0.0, 1.0, 0.0, -2.0], [2.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0]])
MASK = np.array([[0, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 0]], bool)
"""What is stored: one zero is, and one row and no column is empty."""

RIGHT = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0], [-2.0, 1.0]])
LEFT = np.array([[1.0, -1.0, 2.0], [0.5, 3.0, 1.0]])
Program = Callable[..., Variable]


def pattern(format: str, mask: Array, index_dtype: str = "int32") -> tuple[Array, Array]:
    """indices and indptr of the places that are marked."""
    slices = mask if format == "csr" else mask.T
    indices = np.concatenate([np.flatnonzero(row) for row in slices]) if slices.size else np.zeros(0)
    indptr = np.concatenate([[0], np.cumsum(slices.sum(axis=1))])
    return indices.astype(index_dtype), indptr.astype(index_dtype)


def stored(format: str, dense: Array, mask: Array) -> Array:
    """The data that go with `pattern`."""
    return dense[mask] if format == "csr" else dense.T[mask.T]


def unstored(format: str, data: Array, mask: Array) -> Array:
    """The dense matrix that `stored` takes data from."""
    dense = np.zeros(mask.shape if format == "csr" else mask.T.shape, data.dtype)
    dense[mask if format == "csr" else mask.T] = data
    return dense if format == "csr" else dense.T


def on_data(
    id: str,
    program: Program,
    *operands: Any,
    format: str = "csr",
    dense: Array = DENSE,
    mask: Array = MASK,
    formula: Callable[..., Any] | None = None,
    **options: Any,
) -> Case:
    """A row for a program of a sparse matrix, which is made of its data inside, and of dense operands.

    formula: the value, or the tuple of all, of the dense matrix and the operands
    """
    indices, indptr = pattern(format, mask, options.pop("index_dtype", "int32"))
    dtype = options.pop("dtype", "float64")

    def build(data: Variable, *rest: Variable) -> Variable:
        return program(sp.CSM(format)(data, indices, indptr, np.array(mask.shape)), *rest)

    if formula is not None:
        options["expected"] = lambda data, *rest: formula(unstored(format, data, mask), *rest)
    inputs = [stored(format, dense, mask).astype(dtype), *operands]
    return Case(id=f"sparse-{id}-{format}", build=build, inputs=inputs, **options)


def both(id: str, program: Program, *operands: Any, **options: Any) -> list[Case]:
    """The row in both formats."""
    return [on_data(id, program, *operands, format=format, **options) for format in ("csr", "csc")]


def _derivative(program: Program) -> Program:
    """The gradient of the sum of cubes with respect to the last operand: its derivatives are second ones."""
    return lambda *xs: grad(sum_over(program(*xs) ** 3), xs[-1])


def _second(id: str, program: Program, *operands: Any, formula: Callable[..., Any], **options: Any) -> list[Case]:
    """Rows for the derivative of the sum of cubes with respect to the last operand."""
    derivative = slope(lambda *xs: formula(*xs) ** 3, len(operands))
    return both(id, _derivative(program), *operands, formula=derivative, **options)


def _shapes(op: Any, name: str) -> list[Case]:
    """Vectors and matrices on both sides, dtypes, empty extents and second derivatives of one product."""
    right, left, narrow = RIGHT[:, 0], LEFT[0], DENSE.astype("float32")

    return [
        *both(f"{name}-matrix", op, RIGHT, expected=DENSE @ RIGHT),
        *both(f"{name}-vector", op, right, expected=DENSE @ right),
        *both(f"{name}-from-matrix", lambda A, x: op(x, A), LEFT, expected=LEFT @ DENSE),
        *both(f"{name}-from-vector", lambda A, x: op(x, A), left, expected=left @ DENSE),
        *both(f"{name}-float32", op, RIGHT.astype("float32"), dense=narrow, dtype="float32", expected=DENSE @ RIGHT),
        *both(f"{name}-int64-indices", op, RIGHT, index_dtype="int64", expected=DENSE @ RIGHT),
        *both(f"{name}-static", op, RIGHT, dims=[(5,), (4, 2)], expected=DENSE @ RIGHT),
        *both(f"{name}-nothing-stored", op, right, mask=np.zeros((3, 4), bool), expected=np.zeros(3)),
        *both(f"{name}-no-rows", op, RIGHT, mask=MASK[:0], dense=DENSE[:0], expected=np.zeros((0, 2))),
        *both(f"{name}-no-columns", op, right[:0], mask=MASK[:, :0], dense=DENSE[:, :0], expected=np.zeros(3)),
        *both(f"{name}-no-result-columns", op, RIGHT[:, :0], expected=np.zeros((3, 0))),
    ]


def _sums(op: Any, name: str) -> list[Case]:
    """Rows whose derivatives add sparse matrices up, or are zeros."""
    right = RIGHT[:, 0]
    return [
        *_second(f"{name}-second", op, RIGHT, formula=np.matmul),
        *_second(f"{name}-second-vector", op, right, formula=np.matmul),
        *_second(f"{name}-second-from-left", lambda A, x: op(x, A), LEFT, formula=lambda A, x: x @ A),
        *both(
            f"{name}-mixed", op, right.astype("float32"), dtype="int32", wrt=(1,), expected=DENSE.astype(int) @ right
        ),
    ]


def _ints(op: Any, name: str) -> list[Case]:
    counts, right = np.abs(DENSE).astype("int16"), np.arange(8).reshape(4, 2)
    rows = [
        both(f"{name}-{dtype}", op, right.astype(dtype), dense=counts, dtype=dtype, expected=counts @ right, wrt=())
        for dtype in ("int8", "uint16", "int64")
    ]
    return [row for pair in rows for row in pair]


UNSORTED = np.array([3, 1, 3, 0, 3, 0]), np.array([0, 3, 6, 6])
"""indices and indptr of a matrix with its entries in any order, some of them twice."""


def _unsorted(op: Any, name: str) -> Case:
    indices, indptr = UNSORTED
    data = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    full = np.array([[0.0, 2, 0, 4], [10, 0, 0, 5], [0, 0, 0, 0]])
    return Case(
        id=f"sparse-{name}-unsorted",
        build=lambda data, y: op(sp.CSR(data, indices, indptr, (3, 4)), y),
        inputs=[data, RIGHT],
        expected=full @ RIGHT,
    )


NARROW = np.array([[1.0, 2.0], [3.0, 4.0], [-1.0, 0.5]])
"""Rows for sampling: one for each of the matrix."""

FIT = {"csr": pattern("csr", MASK), "csc": pattern("csc", MASK)}


def _dense(A: Variable) -> Variable:
    """A sparse matrix as a dense one, by a product."""
    return sp.dot(A, np.eye(4, dtype=A.dtype))


def _sampling() -> list[Case]:
    sampled = (NARROW @ RIGHT.T) * DENSE
    program: Program = lambda A, d, e: _dense(sp.sampling_dot(d, e, A))  # noqa: E731
    shorts = [x.astype("float32") for x in (NARROW, RIGHT)]
    return [
        *both("sampling-dot", program, NARROW, RIGHT, expected=sampled),
        *(
            on_data("sampling-dot-data", lambda A, d, e: sp.csm_data(sp.sampling_dot(d, e, A)), NARROW, RIGHT,
                    format=format, expected=stored(format, sampled, MASK))
            for format in ("csr", "csc")
        ),
        *both("sampling-dot-second", lambda A, d, e: grad(sum_over(program(A, d, e) ** 3), d), NARROW, RIGHT,
              formula=slope(lambda A, d, e: ((d @ e.T) * A) ** 3, 1)),
        *both("sampling-dot-float32", program, *shorts, dense=DENSE.astype("float32"), dtype="float32",
              expected=sampled),
        *both("sampling-dot-mixed", program, *shorts, dtype="int32", wrt=(1, 2),
              expected=(NARROW @ RIGHT.T) * DENSE.astype(int)),
        *both("sampling-dot-nothing-stored", program, NARROW, RIGHT, mask=np.zeros((3, 4), bool),
              expected=np.zeros((3, 4))),
        *both("sampling-dot-no-inner", program, NARROW[:, :0], RIGHT[:, :0], expected=np.zeros((3, 4))),
        *both("sampling-dot-int", program, NARROW.astype("int8"), RIGHT.astype("int8"), dense=DENSE.astype("int8"),
              dtype="int8", wrt=(), formula=lambda A, d, e: (d @ e.T) * A),
        *both("sampling-dot-no-rows", program, NARROW[:0], RIGHT, mask=MASK[:0], dense=DENSE[:0],
              expected=np.zeros((0, 4))),
    ]  # fmt: skip


def _data_gradients() -> list[Case]:
    return [
        *[
            Case(
                id=f"sparse-structured-dot-grad-{format}",
                build=lambda d, ct, op=op, format=format: op(*FIT[format], d, ct),
                inputs=[RIGHT, NARROW],
                expected=stored(format, NARROW @ RIGHT.T, MASK),
            )
            for format, op in (("csr", sp.sdg_csr), ("csc", sp.sdg_csc))
        ],
        *both(
            "structured-dot-grad-of-matrix",
            lambda A, d, ct: _dense(sp.structured_dot_grad(A, d, ct)),
            RIGHT,
            NARROW,
            wrt=(1, 2),
            formula=lambda A, d, ct: np.where(MASK, ct @ d.T, 0),
        ),
    ]


def _usmm_of(A: Array, alpha: Array, y: Array, z: Array) -> Any:
    return alpha * (A @ y) + z


def _usmm() -> list[Case]:
    alpha, z, left = np.array(-1.5), NARROW, LEFT
    product = DENSE @ RIGHT
    indices, indptr = pattern("csc", MASK)
    vectors = stored("csc", DENSE, MASK)

    def by_vectors(alpha: Variable, data: Variable, y: Variable, z: Variable) -> Variable:
        return sp.UsmmCscDense()(alpha, data, indices, indptr, 3, y, z)  # type: ignore[no-any-return]

    return [
        *both("usmm", lambda A, *rest: sp.usmm(rest[0], A, *rest[1:]), alpha, RIGHT, z, expected=z - 1.5 * product),
        *both("usmm-number", lambda A, y, z: sp.usmm(2, A, y, z), RIGHT, z, expected=z + 2 * product),
        *both(
            "usmm-alpha-matrix",
            lambda A, *rest: sp.usmm(rest[0], A, *rest[1:]),
            [[2.0]],
            RIGHT,
            z,
            expected=z + 2 * product,
        ),
        *both(
            "usmm-from-left",
            lambda A, a, x, z: sp.usmm(a, x, A, z),
            alpha,
            left,
            RIGHT.T,
            expected=RIGHT.T - 1.5 * (left @ DENSE),
        ),
        *both("usmm-vector", lambda A, a, y, z: sp.usmm(a, A, y, z), alpha, RIGHT[:, 0], z[:, 0], formula=_usmm_of),
        *both("usmm-row", lambda A, a, y, z: sp.usmm(a, A, y, z), alpha, RIGHT, z[:1], expected=z[:1] - 1.5 * product),
        *both(
            "usmm-float32",
            lambda A, y, z: sp.usmm(0.5, A, y, z),
            RIGHT.astype("float32"),
            z.astype("float32"),
            dtype="float32",
            expected=z + 0.5 * product,
        ),
        *(
            case
            for name, position in (("second", 2), ("second-alpha", 1))
            for case in both(
                f"usmm-{name}",
                lambda *xs, position=position: grad(sum_over(sp.usmm(xs[1], xs[0], *xs[2:]) ** 3), xs[position]),
                alpha,
                RIGHT,
                z,
                formula=slope(lambda *xs: _usmm_of(*xs) ** 3, position),
            )
        ),
        Case(
            id="sparse-usmm-csc-dense", build=by_vectors, inputs=[alpha, vectors, RIGHT, z], expected=z - 1.5 * product
        ),
    ]


OTHER = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, -1.0], [0.0, 0.0, 0.0], [4.0, 0.0, 0.5]])
OTHER_MASK = np.array([[1, 0, 1], [0, 1, 1], [0, 1, 0], [1, 0, 1]], bool)
"""A second factor: a row of it stores a zero only."""


def _pairs(id: str, op: Program, **options: Any) -> list[Case]:
    """A row for a function of two sparse matrices, in all combinations of formats."""
    rows = []
    for first in ("csr", "csc"):
        for second in ("csr", "csc"):
            indices, indptr = pattern(second, OTHER_MASK)

            def program(
                A: Variable, other: Variable, second: str = second, indices: Array = indices, indptr: Array = indptr
            ) -> Variable:
                return op(A, sp.CSM(second)(other, indices, indptr, (4, 3)))

            other = stored(second, OTHER, OTHER_MASK)
            rows.append(on_data(f"{id}-{second}", program, other, format=first, **options))
    return rows


def _data(id: str, op: Program) -> list[Case]:
    """Rows for the values of a product, in any order within a slice, at the places of the product of the patterns."""
    product, places = DENSE @ OTHER, MASK @ OTHER_MASK

    def in_order(format: str, data: Array) -> Array:
        starts = pattern(format, places)[1]
        return np.concatenate([np.sort(part) for part in np.split(data, starts[1:-1])])

    def identities(format: str) -> Any:
        expected = in_order(format, stored(format, product, places))
        return lambda A, B, data: [(in_order(format, data), expected)]

    cases = _pairs(id, lambda A, B: sp.csm_data(op(A, B)))
    return [replace(case, identities=identities(case.id[-3:])) for case in cases]


def _sparse_sparse() -> list[Case]:
    product = DENSE @ OTHER
    weights = np.arange(9.0).reshape(3, 3)

    def as_tensor(op: Any) -> Program:
        return lambda A, B: sp.dense_from_sparse(op(A, B))

    return [
        *_pairs("dot-sparse", sp.dot, expected=product),
        *_pairs("structured-dot-sparse", as_tensor(sp.structured_dot), expected=product),
        *_pairs("true-dot-sparse", as_tensor(sp.true_dot), expected=product),
        *_data("structured-dot-sparse-data", sp.structured_dot),
        *_data("true-dot-sparse-data", sp.true_dot),
        *_pairs("usmm-sparse", lambda A, B: sp.usmm(2.0, A, B, weights), expected=2 * product + weights),
        *both("true-dot", lambda A, y: sp.dense_from_sparse(sp.true_dot(A, y)), RIGHT, expected=DENSE @ RIGHT),
        *(
            on_data(
                f"true-dot-{name}",
                lambda *xs, op=op: sp.csm_data(op(*xs)),
                operand,
                format=format,
                expected=stored(format, value, places),
            )
            for name, op, operand, value, places in (
                ("data", sp.true_dot, RIGHT, DENSE @ RIGHT, MASK @ np.ones((4, 2), bool)),
                ("from-left", lambda A, x: sp.true_dot(x, A), LEFT, LEFT @ DENSE, np.ones((2, 3), bool) @ MASK),
            )
            for format in ("csr", "csc")
        ),
        *both(
            "true-dot-sparse-grad",
            lambda A, y: sp.dense_from_sparse(sp.true_dot(A, y, False)),
            RIGHT,
            wrt=(0,),
            expected=DENSE @ RIGHT,
        ),
        *_second("true-dot-second", lambda A, y: sp.dense_from_sparse(sp.true_dot(A, y)), RIGHT, formula=np.matmul),
        *both(
            "true-dot-no-columns",
            lambda A, y: sp.dense_from_sparse(sp.true_dot(A, y)),
            RIGHT[:, :0],
            expected=np.zeros((3, 0)),
        ),
    ]


def _showing(row: str, cases: list[Case]) -> list[Case]:
    """The cases, which show a row of the table of products."""
    return [replace(case, shows=(f"sparse/7-{row}",)) for case in cases]


_DOT = [*_shapes(sp.dot, "dot"), *_sums(sp.dot, "dot"), *_ints(sp.dot, "dot"), _unsorted(sp.dot, "dot")]
_STRUCTURED = [
    *_shapes(sp.structured_dot, "structured-dot"),
    *_sums(sp.structured_dot, "structured-dot"),
    *_ints(sp.structured_dot, "structured-dot"),
    _unsorted(sp.structured_dot, "structured-dot"),
]

CASES: list[Case] = [
    *_showing("dot", _DOT),
    *_showing(
        "dot", both("dot-sparse-grad", lambda A, y: sp.dot(A, y, sparse_grad=True), RIGHT, expected=DENSE @ RIGHT)
    ),
    *_showing("structured_dot", _STRUCTURED),
    *_showing("sampling_dot", _sampling()),
    *_showing("structured_dot_grad", _data_gradients()),
    *_showing("usmm", _usmm()),
    *_sparse_sparse(),
]

"""Sums, products, scales, reductions: rows from data on constant patterns, and dense operands, to a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case import Case, kink, slope, value
from cases_sparse_convert import DATA, csc, csr, dense_of

import aotensor.sparse as sp
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.reduce.sums import sum as sum_over

OTHER = np.array([1.0, 2.5, -3.0, 4.0])
PATTERN = [0, 2, 1, 2], [0, 1, 2, 3, 4]
DENSE = np.arange(12.0).reshape(4, 3) - 4.5
VECTOR, ROW, COLUMN = np.array([2.0, -1.0, 0.5]), DENSE[1:2], DENSE[:, :1]
OPERANDS = {"matrix": DENSE, "row": ROW, "column": COLUMN, "vector": VECTOR, "scalar": np.array(1.5)}
INTS = np.array([1, -2, 3, 4, 5], "int8")
FIRST, SECOND = dense_of(DATA), dense_of(OTHER, *PATTERN)


def other(data: Variable) -> Variable:
    """csr of 4×3, sorted, with another pattern than that of DATA."""
    return csr(data, *PATTERN, (4, 3))


def other_csc(data: Variable) -> Variable:
    """The same pattern as csc."""
    return sp.CSC(data, np.array([0, 2, 1, 3], "int32"), np.array([0, 1, 2, 4], "int32"), (4, 3))


def _other_dense(data: np.ndarray) -> np.ndarray:
    """The matrix of `other`."""
    return dense_of(data, *PATTERN)


def _csc_dense(data: np.ndarray) -> np.ndarray:
    """The matrix of `other_csc`."""
    return dense_of(data, [0, 2, 1, 3], [0, 1, 2, 4], (3, 4)).T


def _derivative(build: Callable[..., Any], position: int = 0) -> Callable[..., Any]:
    """The gradient of the sum of squares for one operand: its own derivatives are second ones."""
    return lambda *xs: grad(sum_over(build(*xs) ** 2), xs[position])


def _with_grads(
    id: str,
    build: Callable[..., Variable],
    inputs: list[Any],
    formula: Callable[..., Any],
    second: bool = True,
    **options: Any,
) -> list[Case]:
    """A row for the value and its derivatives; if `second`, one for the derivative of every operand and its own.

    formula: the value of dense matrices, an analytic function of the inputs
    """
    return [Case(id=id, build=build, inputs=inputs, expected=formula, **options)] + [
        Case(
            id=f"{id}-derivative{position}",
            build=_derivative(build, position),
            inputs=inputs,
            expected=slope(lambda *xs: formula(*xs) ** 2, position),
            **options,
        )
        for position in range(len(inputs) if second else 0)
    ]


def _pair(id: str, f: Callable[..., Any], combine: Callable[..., Any], slug: str) -> list[Case]:
    """Two sparse matrices of different patterns, in every mixture of formats, and of one pattern."""
    shows, is_product = (f"sparse/5-{slug}",), combine is np.multiply
    return [
        *_with_grads(id, lambda a, b: f(csr(a), other(b)).toarray(), [DATA, OTHER],
                      lambda a, b: combine(dense_of(a), _other_dense(b)), shows=shows),
        *_with_grads(f"{id}-csr-csc", lambda a, b: f(csr(a), other_csc(b)).toarray(), [DATA, OTHER],
                      lambda a, b: combine(dense_of(a), _csc_dense(b)), shows=shows, second=is_product),
        *_with_grads(f"{id}-csc-csr", lambda a, b: f(other_csc(b), csr(a)).toarray(), [DATA, OTHER],
                      lambda a, b: combine(_csc_dense(b), dense_of(a)), shows=shows, second=False),
        *_with_grads(f"{id}-same", lambda a, b: f(other(a), other(b)).toarray(), [OTHER, OTHER[::-1].copy()],
                      lambda a, b: combine(_other_dense(a), _other_dense(b)), shows=shows, second=is_product),
        *_with_grads(f"{id}-itself", lambda a: (lambda x: f(x, x))(csr(a)).toarray(), [DATA],
                      lambda a: combine(dense_of(a), dense_of(a)), shows=shows, second=is_product),
        *_with_grads(f"{id}-duplicates", lambda a, b: f(csr(a, [2, 1, 1], [0, 1, 3], (2, 3)),
                                                        csr(b, [1, 1], [0, 1, 2], (2, 3))).toarray(),
                      [np.array([1.0, 2, 3]), np.array([5.0, 7])],
                      lambda a, b: combine(dense_of(a, [2, 1, 1], [0, 1, 3], (2, 3)),
                                           dense_of(b, [1, 1], [0, 1, 2], (2, 3))),
                      shows=(*shows, "sparse/0-duplicates"), second=is_product),
        Case(id=f"{id}-no-entries", build=lambda a, b: f(csr(a, [], [0] * 5, (4, 3)), other(b)).toarray(),
             inputs=[np.zeros(0), OTHER], expected=combine(0 * SECOND, SECOND), shows=("sparse/0-empty",)),
        Case(id=f"{id}-no-rows", build=lambda a, b: f(csr(a, [], [0], (0, 3)), csc(b, [], [0] * 4, (0, 3))).toarray(),
             inputs=[np.zeros(0), np.zeros(0)], expected=np.zeros((0, 3)), shows=("sparse/0-empty",)),
        value(f"{id}-int8-float32", lambda a, b: f(csr(a), other(b)).toarray(), [INTS, OTHER.astype("float32")],
              combine(dense_of(INTS), SECOND).astype("float32"), shows=("sparse/0-promotion",)),
        Case(id=f"{id}-of-int8", build=lambda a, b: f(csr(a), other(b)).toarray(), inputs=[INTS, OTHER], wrt=(1,),
             expected=combine(dense_of(INTS), SECOND)),
    ]  # fmt: skip


PAIRS = [
    *_pair("add-s-s", sp.add, np.add, "add_s_s"),
    *_pair("sub-s-s", sp.sub, np.subtract, "sub"),
    *_pair("mul-s-s", sp.mul, np.multiply, "mul_s_s"),
]


def _beside(id: str, f: Callable[..., Any], combine: Callable[..., Any], slug: str) -> list[Case]:
    """A sparse matrix with dense operands of every shape, in both formats."""
    shows, is_product = (f"sparse/5-{slug}",), combine is np.multiply
    return [
        row
        for name, d in OPERANDS.items()
        for row in _with_grads(f"{id}-{name}", lambda a, d: sp.dense_from_sparse(f(csr(a), d)), [DATA, d],
                                lambda a, d: combine(dense_of(a), d), shows=shows,
                                second=name == "matrix" or is_product)
    ] + [
        *_with_grads(f"{id}-csc", lambda a, d: sp.dense_from_sparse(f(csc(a), d)), [DATA, DENSE.T.copy()],
                      lambda a, d: combine(dense_of(a).T, d), shows=shows, second=is_product),
        *_with_grads(f"{id}-csc-vector", lambda a, d: sp.dense_from_sparse(f(csc(a), d)), [DATA, DENSE[:, 0].copy()],
                      lambda a, d: combine(dense_of(a).T, d), shows=shows, second=False),
        value(f"{id}-int8", lambda a, d: sp.dense_from_sparse(f(csr(a), d)), [INTS, DENSE.astype("float32")],
              combine(dense_of(INTS), DENSE.astype("float32")), shows=("sparse/0-promotion",)),
        Case(id=f"{id}-no-columns", build=lambda a, d: sp.dense_from_sparse(f(csr(a, [], [0] * 3, (2, 0)), d)),
             inputs=[np.zeros(0), np.zeros((2, 0))], expected=np.zeros((2, 0)), shows=("sparse/0-empty",)),
    ]  # fmt: skip


def _at_entries(combine: Callable[..., Any]) -> Callable[..., Any]:
    """A function at stored entries of the first operand, which are those of FIRST; zero elsewhere."""

    def combined(x: Any, d: Any) -> Any:
        stored = dense_of(np.ones(5))
        mask = stored if x.shape == stored.shape else stored.T if x.shape == stored.T.shape else np.zeros(x.shape)
        return np.where(mask != 0, combine(x, d), 0)

    return combined


BESIDE = [
    *_beside("add-s-d", sp.add, np.add, "add_s_d"),
    *_beside("sub-s-d", sp.sub, np.subtract, "sub"),
    *_beside("rsub-s-d", lambda x, d: d - x, lambda x, d: d - x, "sub"),
    *_beside("mul-s-d", sp.mul, np.multiply, "mul_s_d"),
    *_beside("div-s-d", lambda x, d: x / d, _at_entries(np.divide), "operators"),
    *_with_grads("mul-s-v", lambda a, v: sp.mul_s_v(csr(a), v).toarray(), [DATA, VECTOR], lambda a, v: dense_of(a) * v,
                  shows=("sparse/5-mul_s_v",)),
    *_with_grads("structured-add-s-v", lambda a, v: sp.structured_add_s_v(csr(a), v).toarray(), [DATA, VECTOR],
                  lambda a, v: _at_entries(np.add)(dense_of(a), v), shows=("sparse/5-structured_add_s_v",)),
    *_with_grads("structured-add-s-v-csc", lambda a, v: sp.structured_add_s_v(csc(a), v).toarray(),
                  [DATA, DENSE[:, 0].copy()], lambda a, v: _at_entries(np.add)(dense_of(a).T, v),
                  shows=("sparse/5-structured_add_s_v",)),
    *_with_grads("col-scale", lambda a, v: sp.col_scale(csr(a), v).toarray(), [DATA, VECTOR],
                  lambda a, v: dense_of(a) * v, shows=("sparse/5-col_scale",)),
    *_with_grads("col-scale-csc", lambda a, v: sp.col_scale(csc(a), v).toarray(), [DATA, DENSE[:, 0].copy()],
                  lambda a, v: dense_of(a).T * v, shows=("sparse/5-col_scale",)),
    *_with_grads("row-scale", lambda a, v: sp.row_scale(csr(a), v).toarray(), [DATA, DENSE[:, 0].copy()],
                  lambda a, v: dense_of(a) * v[:, None], shows=("sparse/5-row_scale",)),
    *_with_grads("row-scale-csc", lambda a, v: sp.row_scale(csc(a), v).toarray(), [DATA, VECTOR],
                  lambda a, v: dense_of(a).T * v[:, None], shows=("sparse/5-row_scale",)),
    value("col-scale-float32", lambda a, v: sp.col_scale(csr(a), v).toarray(), [DATA.astype("float32"), VECTOR],
          FIRST * VECTOR, shows=("sparse/5-col_scale",)),
    *_with_grads("add-s-s-data", lambda a, b: sp.add_s_s_data(other(a), other(b)).toarray(), [OTHER, OTHER**2],
                  lambda a, b: _other_dense(a) + _other_dense(b), shows=("sparse/5-add_s_s_data",)),
    value("mul-s-d-at-nothing", lambda a, d: (csr(a) * d).toarray(),
          [DATA, np.where(dense_of(np.ones(5)) != 0, 2.0, np.nan)], 2 * FIRST, shows=("sparse/0-structural-zeros",)),
    value("builtin-sum", lambda a: sum([csr(a), csr(a), csr(a)]).toarray(), [DATA], 3 * FIRST, shows=("sparse/5-add",)),
    value("mul-s-d-literal", lambda a: (2 * csr(a)).toarray(), [INTS], dense_of((2 * INTS).astype("int8")),
          shows=("sparse/5-mul",)),
]  # fmt: skip


def _sums(format: str, make: Callable[..., Any]) -> list[Case]:
    def whole(data: np.ndarray) -> np.ndarray:
        return dense_of(data) if format == "csr" else dense_of(data).T

    shows = ("sparse/10-sp_sum",)
    rows = []
    for axis, name in ((None, "all"), (0, "rows"), (-1, "columns")):
        for structured in (False, True):
            rows += _with_grads(
                f"sp-sum-{format}-{name}{'-structured' if structured else ''}",
                lambda a, axis=axis, structured=structured: sp.sp_sum(make(a), axis, sparse_grad=structured),
                [DATA],
                lambda a, axis=axis: whole(a).sum(axis),
                shows=shows,
                second=axis == 0,
            )
        rows.append(Case(id=f"sp-mean-{format}-{name}", build=lambda a, axis=axis: make(a).mean(axis), inputs=[DATA],
                         expected=whole(DATA).mean(axis), shows=("sparse/10-others",)))  # fmt: skip
        for kind in ("max", "min"):
            distinct = np.array([1.0, -2.0, 3.0, 0.5, -4.0])
            known = whole(distinct)
            rows.append(Case(id=f"sp-{kind}-{format}-{name}", inputs=[distinct], shows=("sparse/10-others",),
                             build=lambda a, axis=axis, kind=kind: getattr(make(a), kind)(axis),
                             expected=getattr(known, kind)(axis)))  # fmt: skip
    return rows


FULL = [0, 1, 0, 1], [0, 2, 4]
"""A 2×2 matrix with every place stored."""

SUMS = [
    *_sums("csr", csr),
    *_sums("csc", csc),
    Case(id="sp-sum-keepdims", build=lambda a: sp.sp_sum(csr(a), 0, keepdims=True), inputs=[DATA],
         expected=FIRST.sum(0, keepdims=True), shows=("sparse/10-sp_sum",)),
    Case(id="sp-sum-keepdims-all", build=lambda a: csc(a).sum(keepdims=True), inputs=[DATA], expected=[[FIRST.sum()]]),
    value("sp-sum-int8", lambda a: csr(a).sum(axis=1), [np.full(5, 100, "int8")], np.array([100, 200, 0, 200]),
          shows=("sparse/10-sp_sum",)),
    value("sp-sum-duplicates", lambda a: csr(a, [1, 1, 0], [0, 3], (1, 3)).sum(axis=0), [np.array([1.0, 2, 4])],
          [4.0, 3, 0]),
    value("sp-sum-empty", lambda a: csr(a, [], [0], (0, 3)).sum(axis=0), [np.zeros(0)], np.zeros(3),
          shows=("sparse/0-empty",)),
    *[
        Case(id=f"sp-{kind}-full-{name}", inputs=[np.array([-1.0, -2, -4, -3])], shows=("sparse/10-others",),
             build=lambda a, axis=axis, kind=kind: getattr(csr(a, *FULL, (2, 2)), kind)(axis),
             expected=getattr(np.array([[-1.0, -2], [-4, -3]]), kind)(axis))
        for kind in ("max", "min") for axis, name in ((None, "all"), (0, "rows"), (1, "columns"))
    ],
    *[
        value(f"sp-{kind}-nan", lambda a, kind=kind: getattr(csr(a), kind)(1), [np.array([1, np.nan, 3, -1, -2])],
              [1 if kind == "max" else 0, np.nan, 0, 0 if kind == "max" else -2])
        for kind in ("max", "min")
    ],
    kink("sp-max-tie", lambda a: csr(a).max(), [[3.0, 1, 3, 2, -1]], 3.0, x0=[1, 0, 1, 0, 0]),
    value("sp-max-int8-keepdims", lambda a: csr(a).max(1, keepdims=True), [INTS], [[1], [3], [0], [5]]),
    value("sp-min-no-entries", lambda a: csr(a, [], [0] * 3, (2, 3)).min(0), [np.zeros(0)], np.zeros(3)),
]  # fmt: skip

CASES = [*PAIRS, *BESIDE, *SUMS]

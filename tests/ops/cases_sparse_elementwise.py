"""Structured functions, sign and comparisons: rows from a data vector on a constant pattern to a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case import Case, kink, slope, value
from cases_sparse_convert import DATA, INDICES, INDPTR, csc, csr, dense_of

import aotensor.sparse as sp
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.special import softplus
from aotensor.ops.reduce.sums import sum as sum_over

RULE = "sparse/6-rule"
HALVES = np.array([0.5, -0.25, 0.75, 0.125, 0.3])
STEPS = np.array([0.25, -1.25, 2.75, 0.125, -0.3])
POSITIVE = np.array([0.5, 1.25, 2.0, 0.75, 3.5])

UNARY: dict[str, tuple[Any, np.ndarray, str]] = {
    "structured_sigmoid": (lambda a: 1 / (1 + np.exp(-a)), HALVES, "structured_sigmoid"),
    "structured_exp": (np.exp, HALVES, "structured_exp"),
    "structured_log": (np.log, POSITIVE, "structured_log"),
    "log1p": (np.log1p, HALVES, "log1p-expm1"),
    "expm1": (np.expm1, HALVES, "log1p-expm1"),
    "sqr": (np.square, HALVES, "sqr"),
    "sqrt": (np.sqrt, POSITIVE, "sqrt"),
    "abs": (np.abs, HALVES, "abs"),
    "rad2deg": (lambda a: a * (180 / np.pi), HALVES, "degrees"),
    "deg2rad": (lambda a: a * (np.pi / 180), HALVES, "degrees"),
    **{
        name: (getattr(np, name), HALVES, "trigonometric")
        for name in ("sin", "arcsin", "tan", "arctan", "sinh", "arcsinh", "tanh", "arctanh")
    },
    **{name: (getattr(np, name), STEPS, "ceil-floor-trunc") for name in ("ceil", "floor", "trunc")},
    "rint": (np.rint, STEPS, "rint"),
    "sign": (np.sign, HALVES, "sign"),
}
"""Name → (NumPy's function, data away from kinks, row of the surface)."""


def _derivative(build: Callable[..., Variable]) -> Callable[..., Variable]:
    """The gradient of the sum of squares: its own derivatives are second ones."""
    return lambda x, *rest: grad(sum_over(build(x, *rest) ** 2), x)


def _analytic(function: Any) -> Any:
    """The function for complex steps: |a| is √a² where a is not 0."""
    return {np.abs: lambda a: np.sqrt(a * a)}.get(function, function)


def _unary(name: str, function: Any, data: np.ndarray, slug: str) -> list[Case]:
    """A function of the entries, and its derivative where that varies."""
    f, id = getattr(sp, name), f"structured-{name.removeprefix('structured_')}"
    options: dict[str, Any] = {
        "inputs": [data],
        "shows": (RULE, "sparse/4-abs" if slug == "abs" else f"sparse/6-{slug}"),
    }
    rows = [Case(id=id, build=lambda data: f(csr(data)).toarray(), expected=dense_of(function(data)), **options)]
    if slug not in ("ceil-floor-trunc", "rint", "sign"):
        rows.append(Case(id=f"{id}-derivative", build=_derivative(lambda data: f(csc(data)).toarray()),
                         expected=slope(lambda data: _analytic(function)(data) ** 2), **options))  # fmt: skip
    return rows


STRUCTURED = [row for name, columns in UNARY.items() for row in _unary(name, *columns)]


def _binary(name: str, function: Any, data: np.ndarray, s: float) -> list[Case]:
    """A function of the matrix and a scalar, and the derivatives of both."""

    def applied(data: Variable, s: Variable) -> Variable:
        found: Variable = getattr(sp, f"structured_{name}")(csr(data), s).toarray()
        return found

    def squared(data: np.ndarray, s: np.ndarray) -> Any:
        return function(data, s) ** 2

    shows = (RULE, f"sparse/6-structured_{name}")
    return [
        Case(id=f"structured-{name}", build=applied, inputs=[data, s], expected=dense_of(function(data, s)),
             shows=shows),
        Case(id=f"structured-{name}-derivative", build=_derivative(applied), inputs=[data, s], shows=shows,
             expected=slope(squared)),
        Case(id=f"structured-{name}-derivative-of-scalar", inputs=[data, s], shows=shows,
             build=lambda data, s: grad(sum_over(applied(data, s) ** 2), s), expected=slope(squared, 1)),
    ]  # fmt: skip


KINK = [1.0, 2.0, 3.0, 4.0, 5.0]
WITH_SCALAR = [
    *_binary("pow", np.power, POSITIVE, 1.5),
    *_binary("minimum", np.minimum, POSITIVE, 1.0),
    *_binary("maximum", np.maximum, POSITIVE, 1.0),
    *_binary("add", np.add, HALVES, 2.0),
    kink("structured-minimum-tie", lambda data, s: sp.structured_minimum(csr(data), s).toarray(), [KINK, 2],
         dense_of(np.minimum(KINK, 2)), x0=[1, 1, 0, 0, 0], x1=3),
    kink("structured-maximum-tie", lambda data, s: sp.structured_maximum(csr(data), s).toarray(), [KINK, 2],
         dense_of(np.maximum(KINK, 2)), x0=[0, 1, 1, 1, 1], x1=1),
    kink("structured-pow-zero", lambda data, s: sp.structured_pow(csr(data), s).toarray(), [[0.0, 1, 1, 1, 1], 2],
         dense_of(np.array([0.0, 1, 1, 1, 1])), x0=[0, 2, 2, 2, 2], x1=0),
    kink("structured-abs-zero", lambda data: sp.abs(csr(data)).toarray(), [[0.0, 1, -1, 2, -2]],
         dense_of(np.array([0.0, 1, 1, 2, 2])), x0=[0, 1, -1, 1, -1]),
    Case(id="structured-pow-literal", build=lambda data: (csr(data) ** 3).toarray(), inputs=[HALVES],
         expected=dense_of(HALVES**3), shows=("sparse/5-operators",)),
    Case(id="structured-pow-float32", build=lambda data: sp.structured_pow(csr(data), 2.5).toarray(),
         inputs=[POSITIVE.astype("float32")], expected=dense_of(POSITIVE.astype("float32") ** np.float32(2.5)),
         rtol=1e-14, shows=(RULE,)),
]  # fmt: skip

OTHERS = [
    Case(id="structured-of-own", shows=("sparse/6-structured_elemwise",),
         build=lambda data: sp.structured_elemwise(softplus)(lambda x: None)(csr(data)).toarray(), inputs=[HALVES],
         expected=dense_of(np.log1p(np.exp(HALVES)))),
    value("structured-exp-of-duplicates",
          lambda data: sp.structured_exp(csr(data, [1, 1, 0], [0, 3], (1, 3))).toarray(),
          [np.array([1.0, 2.0, 0.0])], [[1.0, np.exp(3.0), 0.0]], shows=("sparse/0-duplicates", RULE)),
    Case(id="structured-sqr-of-duplicates", shows=("sparse/0-duplicates",),
         build=lambda data: sp.sqr(csr(data, [1, 1, 0], [0, 3], (1, 3))).toarray(), inputs=[np.array([1.0, 2.0, 4.0])],
         expected=[[16, 9, 0]]),
    Case(id="structured-chain", build=lambda data: (-sp.sin(sp.structured_exp(csr(data)))).toarray(), inputs=[HALVES],
         expected=-dense_of(np.sin(np.exp(HALVES)))),
    value("structured-sqr-int8", lambda data: sp.sqr(csr(data)).toarray(), [np.array([1, -2, 3, 4, 5], "int8")],
          dense_of(np.array([1, 4, 9, 16, 25], "int8")), shows=(RULE,)),
    value("structured-sin-int8", lambda data: sp.sin(csr(data)).toarray(), [np.array([1, -2, 3, 4, 5], "int8")],
          dense_of(np.sin(np.array([1, -2, 3, 4, 5], "float32"))), rtol=1e-14, shows=(RULE,)),
    Case(id="structured-no-entries", build=lambda data: sp.structured_exp(csr(data, [], [0, 0], (1, 3))).toarray(),
         inputs=[np.zeros(0)], expected=np.zeros((1, 3)), shows=("sparse/0-empty",)),
    Case(id="structured-exp-int64-indices", inputs=[HALVES], expected=dense_of(np.exp(HALVES)),
         build=lambda data: sp.structured_exp(
             sp.CSR(data, np.array(INDICES, "int64"), np.array(INDPTR, "int64"), (4, 3))).toarray()),
    Case(id="sparse-neg-csr", build=lambda data: (-csr(data)).toarray(), inputs=[DATA], expected=-dense_of(DATA),
         shows=("sparse/4-neg",)),
    Case(id="sparse-neg-csc", build=lambda data: sp.neg(csc(data)).toarray() ** 2, inputs=[DATA],
         expected=dense_of(DATA).T ** 2, shows=("sparse/4-neg",)),
    value("sparse-neg-uint8", lambda data: (-csr(data)).toarray(), [np.array([1, 2, 3, 4, 5], "uint8")],
          dense_of(np.array([255, 254, 253, 252, 251], "uint8")), shows=("sparse/4-neg",)),
]  # fmt: skip

# --- comparisons -----------------------------------------------------------------------------------------------------

OTHER = np.array([1.0, 2.5, -3.0, 0.0])
OTHER_INDICES, OTHER_INDPTR = [0, 2, 1, 2], [0, 1, 2, 3, 4]
FIRST, SECOND = dense_of(DATA), dense_of(OTHER, OTHER_INDICES, OTHER_INDPTR)
TURNED = [2, 0, 1], [0, 1, 2, 3], (3, 4)
"""csr of the shape that csc has."""


def _comparison(name: str, function: Callable[..., Any]) -> list[Case]:
    """All kinds of operands. The derivatives by dense ones are zero, not missing."""
    f = getattr(sp, name)

    def expected(*operands: Any) -> Any:
        return function(*operands).astype("uint8")

    shows = ("sparse/4-comparisons",)
    return [
        value(f"sparse-{name}-sparse", lambda a, b: f(csr(a), csr(b, OTHER_INDICES, OTHER_INDPTR, (4, 3))).toarray(),
              [DATA, OTHER], expected(FIRST, SECOND), ragged=True, shows=shows),
        value(f"sparse-{name}-csc", lambda a, b: f(csc(a), csr(b, *TURNED)).toarray(), [DATA, OTHER[:3]],
              expected(FIRST.T, dense_of(OTHER[:3], *TURNED)), ragged=True, shows=shows),
        Case(id=f"sparse-{name}-dense", build=lambda a, b: f(csr(a), b), inputs=[DATA, SECOND],
             expected=expected(FIRST, SECOND), numeric=False, shows=shows),
        value(f"dense-{name}-sparse", lambda a, b: f(b, csr(a)), [DATA, SECOND], expected(SECOND, FIRST), shows=shows),
        value(f"sparse-{name}-scalar", lambda a: f(csr(a), 1), [DATA], expected(FIRST, 1), shows=shows),
    ]  # fmt: skip


COMPARED = [
    row
    for name, function in (
        ("eq", np.equal),
        ("neq", np.not_equal),
        ("lt", np.less),
        ("gt", np.greater),
        ("le", np.less_equal),
        ("ge", np.greater_equal),
    )
    for row in _comparison(name, function)
]

CASES = [*STRUCTURED, *WITH_SCALAR, *OTHERS, *COMPARED]

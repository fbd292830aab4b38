"""Ops of PyTensor as functions of arrays, with the points at which their derivatives are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
import pytensor.scalar as scalars
import pytensor.scalar.math as scalar_math
import pytensor.tensor as pt
from pytensor.tensor import special
from pytensor.tensor.elemwise import Elemwise

import aotensor.importers.pytensor.table  # noqa: F401
from aotensor.importers.pytensor.elementwise import SCALAR_OPS

INF, NAN = np.inf, np.nan
LINE: Final = (-INF, -40.0, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 40.0, INF, NAN)
"""Points of functions of one number."""
PLANE: Final = (-INF, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, INF, NAN)
"""Coordinates of functions of two."""
SPACE: Final = (-1.0, 0.0, 0.5, 2.0)
"""Coordinates of functions of three and more."""
ROWS: Final = np.array(
    [
        [1.0, 3.0, 3.0, 2.0],
        [2.0, 2.0, 2.0, 2.0],
        [0.0, 2.0, 3.0, 4.0],
        [0.0, 2.0, 0.0, 4.0],
        [-0.0, 0.0, -0.0, 0.0],
        [-1.0, 0.0, 1.0, -1.0],
        [INF, 1.0, INF, 2.0],
        [-INF, 1.0, 2.0, -INF],
        [-INF, -INF, -INF, -INF],
        [NAN, 1.0, NAN, 2.0],
        [1000.0, 1000.0, -1000.0, 0.0],
    ]
)
"""Rows of reductions along the last axis."""
MATRICES: Final = np.array(
    [[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 5.0]], [[4.0, -1.0], [-1.0, 4.0]]]
)
"""Symmetric matrices, one of them with equal eigenvalues."""


@dataclass(frozen=True)
class Case:
    """A function of arrays.   family: heading of the page; values: one array per input, with all points"""

    family: str
    name: str
    build: Callable[..., Any]
    values: tuple[Any, ...]

    @property
    def is_elementwise(self) -> bool:
        return self.family == "Elementwise"


def cases() -> Iterator[Case]:
    """Every op of the importer's table that has a floating result."""
    yield from _elementwise()
    for name, build in _ROWS.items():
        yield Case("Along an axis", name, build, (ROWS,))
    for name, build in _MATRICES.items():
        yield Case("Matrices", name, build, (MATRICES,))
    yield from _windows()


def _elementwise() -> Iterator[Case]:
    found: dict[str, Any] = {}
    for module in (scalars, scalar_math):
        for value in vars(module).values():
            kind = type(value).__name__
            if isinstance(value, scalars.ScalarOp) and kind in SCALAR_OPS:
                found.setdefault(kind, value)
    for kind in sorted(found):
        if kind in (*_COMPLEX, *_INTEGERS):
            continue
        op = found[kind]
        count = _COUNTS.get(kind, op.nin if op.nin > 0 else 2)
        grid = {1: LINE, 2: PLANE}.get(count, SPACE)
        points = np.array(list(product(grid, repeat=count))).T
        points = points[:, _POINTS[kind](*points)] if kind in _POINTS else points
        yield Case("Elementwise", kind, Elemwise(op), tuple(points))
    points = np.array(list(product(SPACE, repeat=3))).T
    yield Case("Elementwise", "Switch", lambda c, a, b: pt.switch(c > 0, a, b), tuple(points))
    for order in (0, 1, 2):
        yield Case("Elementwise", f"PolyGamma of order {order}", _polygamma(order), (np.array(LINE),))
    yield Case("Elementwise", "sqrt of sqr", lambda x: pt.sqrt(pt.sqr(x)), (np.array(LINE),))
    yield Case("Elementwise", "relu", lambda x: pt.maximum(x, 0.0), (np.array(LINE),))
    yield Case("Elementwise", "masked log", lambda x: pt.switch(x > 0, pt.log(x), 0.0), (np.array(LINE),))


def _polygamma(order: int) -> Callable[[Any], Any]:
    return lambda x: pt.polygamma(np.int64(order), x)


_COMPLEX: Final = ("Real", "Imag", "Angle", "Conj", "Complex", "ComplexFromPolar")
"""Ops on complex numbers, whose derivatives follow the convention of docs/complex.md."""
_INTEGERS: Final = ("AND", "OR", "XOR", "Invert", "PolyGamma")
"""Ops that take integers alone, or beside other operands."""
_COUNTS: Final = {"BetaIncInv": 3}
"""Numbers of operands that PyTensor does not tell."""
_POINTS: Final[dict[str, Callable[..., Any]]] = {
    "BetaInc": lambda a, b, x: (a > 0) & (b > 0) & (a != 1) & (b != 1) & (x >= 0) & (x <= 1),
    "BetaIncInv": lambda a, b, x: (a > 0) & (b > 0) & (x > 0) & (x < 1),
    "GammaInc": lambda k, x: (k > 0) & (k < 2) & (x >= 0),
    "GammaIncC": lambda k, x: (k > 0) & (k < 2) & (x >= 0),
    "GammaIncInv": lambda k, p: (k > 0) & (k <= 2) & (p >= 0) & (p <= 1),
    "GammaIncCInv": lambda k, p: (k > 0) & (k <= 2) & (p >= 0) & (p <= 1),
    "GammaL": lambda k, x: (k > 0) & (k <= 2) & (x >= 0),
    "GammaU": lambda k, x: (k > 0) & (k <= 2) & (x >= 0),
    "Hyp2F1": lambda a, b, c, z: (a != 0) & (a != 2) & (b > 0) & (b < 2) & (c > 0) & (c < 2) & (z < 1),
    **dict.fromkeys(("Jv", "Iv", "Ive", "Kve"), lambda order, x: np.isfinite(order)),
}
"""Op → the points at which PyTensor computes something."""

_ROWS: Final[dict[str, Callable[..., Any]]] = {
    "Sum": lambda x: pt.sum(x, axis=-1),
    "Prod": lambda x: pt.prod(x, axis=-1),
    "ProdWithoutZeros": lambda x: pt.prod(x, axis=-1, no_zeros_in_input=True),
    "Max": lambda x: pt.max(x, axis=-1),
    "Min": lambda x: pt.min(x, axis=-1),
    "Max over all": lambda x: pt.max(x[:3]),
    "ptp": lambda x: pt.ptp(x, axis=-1),
    "max_and_argmax": lambda x: pt.max_and_argmax(x, axis=-1)[0],
    "mean": lambda x: pt.mean(x, axis=-1),
    "var": lambda x: pt.var(x, axis=-1),
    "std": lambda x: pt.std(x, axis=-1),
    "CumOp of add": lambda x: pt.cumsum(x, axis=-1),
    "CumOp of mul": lambda x: pt.cumprod(x, axis=-1),
    "SortOp": lambda x: pt.sort(x, axis=-1),
    "median": lambda x: pt.median(x, axis=-1) if hasattr(pt, "median") else pt.sort(x, axis=-1)[..., 1],
    "Softmax": lambda x: special.softmax(x, axis=-1),
    "LogSoftmax": lambda x: special.log_softmax(x, axis=-1),
    "logsumexp": lambda x: pt.logsumexp(x, axis=-1),
    "norm": lambda x: pt.sqrt(pt.sum(pt.sqr(x), axis=-1)),
    "logaddexp": lambda x: pt.logaddexp(x[..., 0], x[..., 1]),
    "diff": lambda x: pt.diff(x, axis=-1),
}
_MATRICES: Final[dict[str, Callable[..., Any]]] = {
    "Det": pt.linalg.det,
    "SLogDet": lambda a: pt.linalg.slogdet(a)[1],
    "Cholesky": pt.linalg.cholesky,
    "MatrixInverse": pt.linalg.inv,
    "MatrixPinv": pt.linalg.pinv,
    "Eigh": lambda a: pt.stack([pt.linalg.eigh(a[k])[0] for k in range(2)]),
    "SVD": lambda a: pt.linalg.svd(a, compute_uv=False),
    "Expm": pt.linalg.expm,
    "Solve": lambda a: pt.linalg.solve(a, a[::-1]),
    "SolveTriangular": lambda a: pt.linalg.solve_triangular(a, a[::-1], lower=True),
    "CholeskySolve": lambda a: pt.linalg.cho_solve((a, True), a[::-1]),
    "KroneckerProduct": lambda a: pt.linalg.kron(a[0], a[3]),
    "Dot": lambda a: pt.dot(a[0], a[3]),
    "Matmul": lambda a: pt.matmul(a, a),
    "trace": lambda a: pt.linalg.trace(a[0]),
}


def _windows() -> Iterator[Case]:
    x, y, twice = np.array([1.0, 2.0, 2.0, 0.0]), np.array([5.0, 6.0]), np.array([1, 1])
    family = "Elements and shapes"
    yield Case(family, "Subtensor", lambda x: x[::-2], (x,))
    yield Case(family, "AdvancedSubtensor1, repeated", lambda x: x[np.array([1, 1, 3])], (x,))
    yield Case(family, "IncSubtensor", lambda x, y: x[1:3].inc(y), (x, y))
    yield Case(family, "IncSubtensor that sets", lambda x, y: x[1:3].set(y), (x, y))
    yield Case(family, "AdvancedIncSubtensor1, repeated", lambda x, y: x[twice].inc(y), (x, y))
    yield Case(family, "AdvancedIncSubtensor1 that sets, repeated", lambda x, y: x[twice].set(y), (x, y))
    yield Case(family, "Repeat", lambda x: pt.repeat(x, 2), (x,))
    yield Case(family, "ExtractDiag", lambda x: pt.diagonal(pt.outer(x, x)), (x,))
    yield Case(family, "FillDiagonal", lambda x: pt.fill_diagonal(pt.outer(x, x), x[0]), (x,))
    yield Case(family, "Join", lambda x, y: pt.concatenate([x, y, x]), (x, y))
    yield Case(family, "Split", lambda x: pt.split(x, [1, 3], n_splits=2)[1], (x,))
    yield Case(family, "Alloc", lambda x: pt.alloc(x[0], 3), (x,))
    yield Case(family, "Reshape", lambda x: x.reshape((2, 2)), (x,))
    yield Case(family, "DimShuffle", lambda x: x.dimshuffle("x", 0), (x,))
    yield Case(family, "Choose", lambda x, y: pt.choose(np.array([0, 1]), [x[:2], y]), (x, y))
    yield Case(family, "Convolve1d", lambda x, y: pt.signal.convolve1d(x, y, mode="full"), (x, y))
    yield Case(family, "pad with its edges", lambda x: pt.pad(x, 1, mode="edge"), (x,))
    yield Case(family, "Einsum", lambda x, y: pt.einsum("i,j->ij", x, y), (x, y))

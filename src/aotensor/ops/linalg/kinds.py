"""Kinds of aot.lapack that whole ops are lowered to: their NumPy reference and the extents of their results.

Operands and results are in the order of LAPACK: the rows are the columns of the matrix, but for
`pivoted_qr`. A complex matrix of m rows and n columns is n rows of 2·m numbers, real and imaginary parts interleaved.
Kinds of both have the option `is_complex`.

kind                          operands → results
schur                         A → T, Z                 A = Z·T·Zᴴ, T of a complex matrix is triangular; that of a real
                                                       one has blocks of two for pairs of complex eigenvalues
sorted_schur                  A → T, Z, c              the same where those of the eigenvalues that `sort` takes come
                                                       first: c is 1 for these, 0 for others
qz                            A, B → S, T, α, β, Q, Z  A = Q·S·Zᴴ and B = Q·T·Zᴴ, S of real matrices with blocks of two;
                                                       α is complex; `sort`: which eigenvalues come first; "": any
triangular_sylvester          T, S, F → X              op(T)·X + X·op(S) = F of Schur forms; `is_left_adjoint`,
                                                       `is_right_adjoint`: op conjugates and transposes
eig                           A → w, V                 A·V = V·diag(w), as LAPACK scales V; both are complex
complex_eigh                  A → w, V                 of the lower triangle of a Hermitian A; w is real
complex_svd, complex_full_svd A → U, s, Vᴴ             min(m, n) columns and rows of vectors, or all
complex_lu                    A → F, p                 row k is swapped with row p[k], in order, counted from 1
complex_qr                    A → Q, R, (p)            A[:, p] = Q·R if it `is_pivoted`; `is_complete`: Q is square
pivoted_qr                    A → Q, R, p              the same of real matrices, row by row
triangular_sqrt               T → R                    R·R = T of a complex triangular T; `is_real`: fails at
triangular_log                T → L                    eigenvalues on the negative axis
stable_subspace               H, J → U                 half of the vectors: where H·v = λ·J·v with |λ| < 1
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array
from aotensor.ops.linalg.matrices import scipy_linalg

Result: TypeAlias = "tuple[Sequence[Array], int]"
Core: TypeAlias = tuple[Any, ...]


@frozen_dataclass
class Arithmetic:
    """Arithmetic on extents for shape functions: on static dims that may be unknown, or on run-time extents."""

    half: Callable[[Any], Any]
    twice: Callable[[Any], Any]
    least: Callable[[Any, Any], Any]


@frozen_dataclass
class Kind:
    """shapes(arithmetic, options, *cores of operands) → cores of the results; meaning(*matrices, **options) → Result.

    integers: results that are int32.
    """

    shapes: Callable[..., Sequence[Core]]
    meaning: Callable[..., Result]
    integers: tuple[int, ...] = ()


# --- layouts ---------------------------------------------------------------------------------------------------------


def as_complex(x: Array) -> Array:
    """The complex matrix whose columns are rows of pairs, as LAPACK orders them; a vector of pairs gives a vector."""
    kind = np.complex64 if x.dtype == np.float32 else np.complex128
    return np.ascontiguousarray(x).view(kind).T


def as_pairs(z: Array) -> Array:
    """Rows of pairs from the columns of a complex matrix: the inverse of as_complex."""
    transposed = np.ascontiguousarray(z.T)
    return transposed.view(np.float32 if transposed.dtype == np.complex64 else np.float64)


def _layout(is_complex: bool) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """The functions from LAPACK's order to matrices and back."""
    return (as_complex, as_pairs) if is_complex else (np.transpose, np.transpose)


def exactly(fn: Callable[[Array], Any], x: Array) -> Array:
    """fn(x) for a function of SciPy, in float64 or complex128, without its warnings about the condition of x."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(fn(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)))


def _results_if_finite(
    fn: Callable[[], Sequence[Array]], x: Array, shapes: Sequence[tuple[int, ...]], *others: Array
) -> Result:
    """The results of `fn`; nan if x or another operand is not finite, a failure if LAPACK does not converge."""
    if all(np.isfinite(given).all() for given in (x, *others)):
        try:
            return fn(), 0
        except np.linalg.LinAlgError:
            return [np.full(shape, np.nan, x.dtype) for shape in shapes], 1
    return [np.full(shape, np.nan, x.dtype) for shape in shapes], 0


# --- meanings --------------------------------------------------------------------------------------------------------


def _schur(a: Array, is_complex: bool) -> Result:
    read, write = _layout(is_complex)
    return _results_if_finite(lambda: [write(x) for x in scipy_linalg().schur(read(a))], a, [a.shape] * 2)


def _sorted_schur(a: Array, is_complex: bool, sort: str) -> Result:
    n, (read, write) = len(a), _layout(is_complex)

    def decomposed() -> Sequence[Array]:
        t, z, count = scipy_linalg().schur(read(a), sort=sort)
        return [write(t), write(z), np.arange(n) < count]

    (t, z, chosen), failed = _results_if_finite(decomposed, a, [a.shape, a.shape, (n,)])
    return [t, z, np.nan_to_num(chosen).astype(np.int32)], failed


def sorted_pencil(a: Array, b: Array, sort: str) -> Sequence[Array]:
    """aa, bb, α, β, q, z of two matrices of one dtype, sorted as SciPy's ordqz has it, or not at all for "".

    Raises: LinAlgError where the iteration does not converge, or eigenvalues cannot be sorted.
    """
    if not a.size:
        return [a, b, np.empty(0, np.result_type(a, np.complex64)), np.empty(0, a.dtype), a, b]
    chosen = sort or (lambda alpha, _: np.zeros(alpha.shape, bool))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", scipy_linalg().LinAlgWarning)
        try:
            return scipy_linalg().ordqz(a, b, sort=chosen)  # type: ignore[no-any-return]
        except (ValueError, scipy_linalg().LinAlgWarning) as error:
            raise np.linalg.LinAlgError from error


def _qz(a: Array, b: Array, is_complex: bool, sort: str) -> Result:
    n, (read, write) = len(a), _layout(is_complex)

    def decomposed() -> Sequence[Array]:
        s, t, alpha, *rest = sorted_pencil(read(a), read(b), sort)
        return [write(s), write(t), as_pairs(alpha), *map(write, rest)]

    scales = ((1 + is_complex) * n,)
    return _results_if_finite(decomposed, a, [a.shape, a.shape, (2 * n,), scales, a.shape, a.shape], b)


def _sylvester(t: Array, s: Array, f: Array, is_left_adjoint: bool, is_right_adjoint: bool) -> Array:
    trsyl = scipy_linalg().get_lapack_funcs("trsyl", (t, s, f))
    x, scale, _ = trsyl(t, s, f, trana="NC"[is_left_adjoint], tranb="NC"[is_right_adjoint])
    return np.asarray(x / scale)


def _triangular_sylvester(t: Array, s: Array, f: Array, is_complex: bool, **options: bool) -> Result:
    read, write = _layout(is_complex)
    return [write(_sylvester(read(t), read(s), read(f), **options))], 0


def _eig(a: Array, is_complex: bool) -> Result:
    n, (read, _) = len(a), _layout(is_complex)
    kind = np.result_type(a.dtype, np.complex64)
    return _results_if_finite(
        lambda: [as_pairs(x.astype(kind)) for x in scipy_linalg().eig(read(a))], a, [(2 * n,), (n, 2 * n)]
    )


def _complex_eigh(a: Array) -> Result:
    n = len(a)
    read = np.tril(np.ones((n, n), bool)).T.repeat(2, axis=-1)
    z = as_complex(np.where(read, a, 0).astype(a.dtype))

    def decomposed() -> Sequence[Array]:
        w, v = np.linalg.eigh(z)
        return [w, as_pairs(v)]

    return _results_if_finite(decomposed, np.where(read, a, 0).astype(a.dtype), [(n,), a.shape])


def _complex_svd(a: Array, is_full: bool = False) -> Result:
    n, m = a.shape[0], a.shape[1] // 2
    k = min(m, n)
    width, height = (m, n) if is_full else (k, k)

    def decomposed() -> Sequence[Array]:
        u, s, vt = np.linalg.svd(as_complex(a), full_matrices=is_full)
        return [as_pairs(u), s, as_pairs(vt)]

    return _results_if_finite(decomposed, a, [(width, 2 * m), (k,), (n, 2 * height)])


def _complex_full_svd(a: Array) -> Result:
    return _complex_svd(a, True)


def _complex_lu(a: Array) -> Result:
    factors, pivots, failed = scipy_linalg().get_lapack_funcs("getrf", (as_complex(a),))(as_complex(a))
    return [as_pairs(factors), (pivots + 1).astype(np.int32)], failed


def _complex_qr(a: Array, is_complete: bool, is_pivoted: bool) -> Result:
    q, r, *order = _qr(as_complex(a), is_complete, is_pivoted)
    return [as_pairs(q), as_pairs(r), *(p.astype(np.int32) for p in order)], 0


def _pivoted_qr(a: Array, is_complete: bool) -> Result:
    q, r, order = _qr(a, is_complete, True)
    return [q, r, order.astype(np.int32)], 0


def _qr(a: Array, is_complete: bool, is_pivoted: bool) -> Sequence[Array]:
    mode = "full" if is_complete else "economic"
    return scipy_linalg().qr(a, mode=mode, pivoting=is_pivoted, check_finite=False)  # type: ignore[no-any-return]


def _triangular_sqrt(t: Array, is_real: bool) -> Result:
    given = as_complex(t)
    root = _root(given)
    failed = _first(~np.isfinite(root[:, k]).all() and not np.isnan(given[:, k]).any() for k in range(len(root)))
    return [as_pairs(root)], (_first_on_axis(given) if is_real else 0) or failed


def _root(t: Array) -> Array:
    root = np.zeros_like(t)
    with np.errstate(all="ignore"):
        for j in range(len(t)):
            root[j, j] = np.sqrt(t[j, j])
            for i in reversed(range(j)):
                rest = t[i, j] - root[i, i + 1 : j] @ root[i + 1 : j, j]
                root[i, j] = rest / (root[i, i] + root[j, j]) if rest != 0 else 0
    return root


def _triangular_log(t: Array, is_real: bool) -> Result:
    given = as_complex(t)
    failed = (_first_on_axis(given) if is_real else 0) or _first(x == 0 for x in np.diagonal(given))
    if failed or not np.isfinite(given).all():
        return [np.full_like(t, np.nan)], failed
    return [as_pairs(exactly(scipy_linalg().logm, given).astype(given.dtype))], 0


def _first_on_axis(t: Array) -> int:
    values = np.diagonal(t)
    limit = 16 * np.finfo(t.dtype).eps * np.abs(values).max(initial=0)
    return _first(x.real < -limit and abs(x.imag) <= limit for x in values)


def _first(flags: Any) -> int:
    return next((k + 1 for k, is_bad in enumerate(flags) if is_bad), 0)


def _stable_subspace(h: Array, j: Array) -> Result:
    n = len(h) // 2

    def subspace() -> Sequence[Array]:
        *_, alpha, beta, _, z = sorted_pencil(h.T, j.T, "iuc")
        if np.count_nonzero(np.abs(alpha) < np.abs(beta)) != n:
            raise np.linalg.LinAlgError
        pivots = np.abs(np.diagonal(scipy_linalg().lu_factor(z[:n, :n])[0]))
        if pivots.min() <= np.finfo(h.dtype).eps * pivots.max():
            raise np.linalg.LinAlgError
        return [z[:, :n].T]

    return _results_if_finite(subspace, h, [(n, 2 * n)])


# --- shapes ----------------------------------------------------------------------------------------------------------


def _like(count: int) -> Callable[..., Sequence[Core]]:
    return lambda _, __, a, *others: [a] * count


def _eig_shapes(by: Arithmetic, _: Any, a: Core) -> Sequence[Core]:
    return [(by.twice(a[0]),), (a[0], by.twice(a[0]))]


def _sorted_schur_shapes(_: Arithmetic, __: Any, a: Core) -> Sequence[Core]:
    return [a, a, (a[0],)]


def _qz_shapes(by: Arithmetic, options: Mapping[str, bool], a: Core, b: Core) -> Sequence[Core]:
    values, scales = (a[1], a[1]) if options["is_complex"] else (by.twice(a[0]), a[0])
    return [a, b, (values,), (scales,), a, b]


def _svd_shapes(by: Arithmetic, is_full: bool, a: Core) -> Sequence[Core]:
    columns, rows = a[0], by.half(a[1])
    k = by.least(rows, columns)
    return [(rows if is_full else k, a[1]), (k,), (columns, by.twice(columns if is_full else k))]


def _complex_qr_shapes(by: Arithmetic, options: Mapping[str, bool], a: Core) -> Sequence[Core]:
    rows = by.half(a[1])
    k = rows if options["is_complete"] else by.least(rows, a[0])
    return [(k, a[1]), (a[0], by.twice(k)), (a[0],)][: 2 + options["is_pivoted"]]


def _pivoted_qr_shapes(by: Arithmetic, options: Mapping[str, bool], a: Core) -> Sequence[Core]:
    k = a[0] if options["is_complete"] else by.least(*a)
    return [(a[0], k), (k, a[1]), (a[1],)]


KINDS: Final[Mapping[str, Kind]] = {
    "complex_eigh": Kind(lambda _, __, a: [a[:1], a], _complex_eigh),
    "complex_full_svd": Kind(lambda by, _, a: _svd_shapes(by, True, a), _complex_full_svd),
    "complex_lu": Kind(lambda _, __, a: [a, a[:1]], _complex_lu, integers=(1,)),
    "complex_qr": Kind(_complex_qr_shapes, _complex_qr, integers=(2,)),
    "complex_svd": Kind(lambda by, _, a: _svd_shapes(by, False, a), _complex_svd),
    "eig": Kind(_eig_shapes, _eig),
    "pivoted_qr": Kind(_pivoted_qr_shapes, _pivoted_qr, integers=(2,)),
    "qz": Kind(_qz_shapes, _qz),
    "schur": Kind(_like(2), _schur),
    "sorted_schur": Kind(_sorted_schur_shapes, _sorted_schur, integers=(2,)),
    "stable_subspace": Kind(lambda by, _, h, j: [(by.half(h[0]), h[1])], _stable_subspace),
    "triangular_log": Kind(_like(1), _triangular_log),
    "triangular_sqrt": Kind(_like(1), _triangular_sqrt),
    "triangular_sylvester": Kind(lambda _, __, t, s, f: [f], _triangular_sylvester),
}

"""Kinds of aot.lapack that ops on whole matrices expand to: their NumPy reference and the extents of their results.

Every kind accepts real and complex matrices. In IR a complex matrix has a third axis, (m, n, 2), of real and imaginary
parts, and the operation the option `is_complex`. Kinds that are `by_columns` store matrices as LAPACK does, transposed.

kind                  operands → results
complete_qr, qr       A → Q, R                 A = Q·R, Q square, or with min(m, n) columns
eig                   A → w, V                 A·V = V·diag(w), as LAPACK scales V; both are complex
eigh                  A → w, Vᴴ                of one triangle of a Hermitian A; `is_lower`: which one. w is real
full_svd, svd         A → U, s, Vᴴ             all columns and rows of vectors, or min(m, n); s is real
lu                    A → F, p                 A = L·U·Pᵀ: L = tril(F), U = triu(F, 1) + 1; column k is swapped with
                                               column p[k], in order, counted from 1
pivoted_qr            A → Q, R, p              A[:, p] = Q·R; `is_complete`: Q is square
qz                    A, B → S, T, α, β, Q, Z  A = Q·S·Zᴴ and B = Q·T·Zᴴ, S of real matrices with blocks of two;
                                               α is complex; `sort`: which eigenvalues come first; "": any
schur                 A → T, Z                 A = Z·T·Zᴴ, T of a complex matrix is triangular; that of a real
                                               one has blocks of two for pairs of complex eigenvalues
sorted_schur          A → T, Z, c              the same where those of the eigenvalues that `sort` takes come
                                               first: c is 1 for these, 0 for others
stable_subspace       H, J → U                 half of the vectors: where H·v = λ·J·v with |λ| < 1
triangular_log        T → L                    exp(L) = T of a complex triangular T; `is_real`: fails at eigenvalues
                                               on the negative axis
triangular_sqrt       T → R                    R·R = T, as before
triangular_sylvester  T, S, F → X              op(T)·X + X·op(S) = F of Schur forms; `is_left_adjoint`,
                                               `is_right_adjoint`: op conjugates and transposes

Signs of real eigenvectors and singular vectors of `eigh` and `svd` are those of `ops.linalg.signs`; phases of complex
ones are open. Every meaning returns its results and a failure: 0, or LAPACK's info.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array
from aotensor.errors import InternalError
from aotensor.ops.linalg.matrices import scipy_linalg
from aotensor.ops.linalg.signs import paired_phases, phases_of

Result: TypeAlias = "tuple[Sequence[Array], int]"
Core: TypeAlias = tuple[Any, ...]


@frozen_dataclass
class Arithmetic:
    """Arithmetic on extents for shape functions: on static dims that may be unknown, or on run-time extents."""

    half: Callable[[Any], Any]
    least: Callable[[Any, Any], Any]


@frozen_dataclass
class Kind:
    """shapes(arithmetic, options, *extents of operands) → extents of results; meaning(*matrices, **options) → Result.

    letters: the dtype of each result: x as the operands, r real, c complex, i int32. by_columns: stored transposed.
    is_square: the operand must be square, which compiled code tests.
    """

    shapes: Callable[..., Sequence[Core]]
    meaning: Callable[..., Result]
    letters: str
    by_columns: bool = False
    is_square: bool = False

    def results(
        self, by: Arithmetic, options: Mapping[str, bool | str], dtype: str, *operands: Core
    ) -> list[tuple[str, Core]]:
        """The dtypes and extents of the results in IR, from the extents of the operands there."""
        pair, order = (2,) if options.get("is_complex") else (), -1 if self.by_columns else 1
        rank = len(operands[0]) - 2 - len(pair)
        cores = self.shapes(by, options, *(x[rank : rank + 2][::order] for x in operands))
        parts = {"x": pair, "c": (2,)}
        return [
            ("int32" if letter == "i" else dtype, (*operands[0][:rank], *core[::order], *parts.get(letter, ())))
            for letter, core in zip(self.letters, cores, strict=True)
        ]


def evaluate(
    meaning: Callable[..., Result],
    operands: Sequence[Array],
    results: Sequence[Array],
    options: Mapping[str, Any],
    by_columns: bool = False,
    erases: bool = False,
) -> int:
    """Fill the results for every matrix of the batch; return the first failure.

    erases: results of a matrix that fails are nan. Raises: InternalError if a result has other extents than expected.
    """
    options = dict(options)
    is_complex, failure = bool(options.pop("is_complex", False)), 0
    if is_complex:
        operands = [_as_complex(x) for x in operands]
    for entry in np.ndindex(operands[0].shape[:-2]):
        found, failed = meaning(*(x[entry].T if by_columns else x[entry] for x in operands), **options)
        failure = failure or failed
        for result, one in zip(results, found, strict=True):
            value = np.asarray(one).T if by_columns else np.asarray(one)
            if np.iscomplexobj(value):
                value = np.stack([value.real, value.imag], axis=-1)
            if value.shape not in ((), result[entry].shape):
                raise InternalError(f"a kind of aot.lapack gives {value.shape}, expected {result[entry].shape}")
            result[entry] = np.nan if failed and erases and result.dtype.kind == "f" else value
    return failure


def _as_complex(x: Array) -> Array:
    """The complex array whose parts are the last axis of x."""
    return np.ascontiguousarray(x).view(np.result_type(x, np.complex64))[..., 0]


def exactly(fn: Callable[[Array], Any], x: Array) -> Array:
    """fn(x) for a function of SciPy, in float64 or complex128, without its warnings about the condition of x."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(fn(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)))


def _results_if_finite(fn: Callable[[], Sequence[Array]], count: int, *read: Array) -> Result:
    """The results of `fn`; nan if an array that it reads is not finite, a failure if LAPACK does not converge."""
    if not all(np.isfinite(x).all() for x in read):
        return [np.asarray(np.nan)] * count, 0
    try:
        return fn(), 0
    except np.linalg.LinAlgError:
        return [np.asarray(np.nan)] * count, 1


# --- meanings --------------------------------------------------------------------------------------------------------


def _schur(a: Array) -> Result:
    return _results_if_finite(lambda: scipy_linalg().schur(a), 2, a)


def _sorted_schur(a: Array, sort: str) -> Result:
    def decomposed() -> Sequence[Array]:
        t, z, count = scipy_linalg().schur(a, sort=sort)
        return [t, z, np.arange(len(a)) < count]

    (t, z, chosen), failed = _results_if_finite(decomposed, 3, a)
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


def _qz(a: Array, b: Array, sort: str) -> Result:
    def decomposed() -> Sequence[Array]:
        s, t, alpha, *rest = sorted_pencil(a, b, sort)
        return [s, t, alpha.astype(np.result_type(a, np.complex64)), *rest]

    return _results_if_finite(decomposed, 6, a, b)


def _triangular_sylvester(t: Array, s: Array, f: Array, is_left_adjoint: bool, is_right_adjoint: bool) -> Result:
    trsyl = scipy_linalg().get_lapack_funcs("trsyl", (t, s, f))
    x, scale, _ = trsyl(t, s, f, trana="NC"[is_left_adjoint], tranb="NC"[is_right_adjoint])
    return [x / scale], 0


def _eig(a: Array) -> Result:
    kind = np.result_type(a, np.complex64)
    return _results_if_finite(lambda: [x.astype(kind) for x in scipy_linalg().eig(a)], 2, a)


def _eigh(a: Array, is_lower: bool) -> Result:
    triangle = np.tril(a) if is_lower else np.triu(a)

    def decomposed() -> Sequence[Array]:
        w, v = np.linalg.eigh(triangle, "L" if is_lower else "U")
        return [w, (v * phases_of(v)).conj().T]

    return _results_if_finite(decomposed, 2, triangle)


def _svd(a: Array, is_full: bool = False) -> Result:
    def decomposed() -> Sequence[Array]:
        u, s, vh = np.linalg.svd(a, full_matrices=is_full)
        left, right = paired_phases(u, vh)
        return [u * left, s, vh * right[:, None]]

    return _results_if_finite(decomposed, 3, a)


def _full_svd(a: Array) -> Result:
    return _svd(a, is_full=True)


def _lu(a: Array) -> Result:
    if not a.size:
        return [a.copy(), np.zeros(len(a), np.int32)], 0
    factors, pivots, failed = scipy_linalg().get_lapack_funcs("getrf", (a,))(a.T)
    return [factors.T, (pivots + 1).astype(np.int32)], failed


def _qr(a: Array) -> Result:
    return np.linalg.qr(a), 0


def _complete_qr(a: Array) -> Result:
    return np.linalg.qr(a, mode="complete"), 0


def _pivoted_qr(a: Array, is_complete: bool) -> Result:
    mode = "full" if is_complete else "economic"
    q, r, order = scipy_linalg().qr(a, mode=mode, pivoting=True, check_finite=False)
    return [q, r, order.astype(np.int32)], 0


def _triangular_sqrt(t: Array, is_real: bool) -> Result:
    root = _root(t)
    failed = _first(~np.isfinite(root[:, k]).all() and not np.isnan(t[:, k]).any() for k in range(len(root)))
    return [root], (_first_on_axis(t) if is_real else 0) or failed


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
    failed = (_first_on_axis(t) if is_real else 0) or _first(x == 0 for x in np.diagonal(t))
    if failed or not np.isfinite(t).all():
        return [np.asarray(np.nan)], failed
    return [exactly(scipy_linalg().logm, t).astype(t.dtype)], 0


def _first_on_axis(t: Array) -> int:
    values = np.diagonal(t)
    limit = 16 * np.finfo(t.dtype).eps * np.abs(values).max(initial=0)
    return _first(x.real < -limit and abs(x.imag) <= limit for x in values)


def _first(flags: Any) -> int:
    return next((k + 1 for k, is_bad in enumerate(flags) if is_bad), 0)


def _stable_subspace(h: Array, j: Array) -> Result:
    n = len(h) // 2

    def subspace() -> Sequence[Array]:
        *_, alpha, beta, _, z = sorted_pencil(h, j, "iuc")
        if np.count_nonzero(np.abs(alpha) < np.abs(beta)) != n:
            raise np.linalg.LinAlgError
        pivots = np.abs(np.diagonal(scipy_linalg().lu_factor(z[:n, :n])[0]))
        if pivots.min() <= np.finfo(h.dtype).eps * pivots.max():
            raise np.linalg.LinAlgError
        return [z[:, :n]]

    return _results_if_finite(subspace, 1, h)


# --- shapes ----------------------------------------------------------------------------------------------------------


def _like(count: int) -> Callable[..., Sequence[Core]]:
    return lambda _, __, a, *others: [a] * count


def _svd_shapes(by: Arithmetic, is_full: bool, a: Core) -> Sequence[Core]:
    k = by.least(*a)
    return [(a[0], a[0] if is_full else k), (k,), (a[1] if is_full else k, a[1])]


def _qr_shapes(by: Arithmetic, is_complete: bool, a: Core) -> list[Core]:
    k = a[0] if is_complete else by.least(*a)
    return [(a[0], k), (k, a[1])]


_WHOLE: Final[Mapping[str, Kind]] = {
    "complete_qr": Kind(lambda by, _, a: _qr_shapes(by, True, a), _complete_qr, "xx"),
    "eig": Kind(lambda _, __, a: [a[:1], a], _eig, "cc", by_columns=True),
    "eigh": Kind(lambda _, __, a: [a[:1], a], _eigh, "rx", is_square=True),
    "full_svd": Kind(lambda by, _, a: _svd_shapes(by, True, a), _full_svd, "xrx"),
    "lu": Kind(lambda _, __, a: [a, a[:1]], _lu, "xi", is_square=True),
    "pivoted_qr": Kind(lambda by, options, a: [*_qr_shapes(by, options["is_complete"], a), a[1:]], _pivoted_qr, "xxi"),
    "qr": Kind(lambda by, _, a: _qr_shapes(by, False, a), _qr, "xx"),
    "qz": Kind(lambda _, __, a, b: [a, b, a[:1], a[:1], a, b], _qz, "xxcxxx", by_columns=True),
    "schur": Kind(_like(2), _schur, "xx", by_columns=True),
    "sorted_schur": Kind(lambda _, __, a: [a, a, a[:1]], _sorted_schur, "xxi", by_columns=True),
    "stable_subspace": Kind(lambda by, _, h, j: [(h[0], by.half(h[1]))], _stable_subspace, "x", by_columns=True),
    "svd": Kind(lambda by, _, a: _svd_shapes(by, False, a), _svd, "xrx"),
    "triangular_log": Kind(_like(1), _triangular_log, "x", by_columns=True),
    "triangular_sqrt": Kind(_like(1), _triangular_sqrt, "x", by_columns=True),
    "triangular_sylvester": Kind(lambda _, __, t, s, f: [f], _triangular_sylvester, "x", by_columns=True),
}

PARTS: Final[Mapping[str, tuple[str, int]]] = {
    "eig": ("eigvals", 0),
    "eigh": ("eigvalsh", 0),
    "full_svd": ("singular_values", 1),
    "qr": ("qr_r", 1),
    "svd": ("singular_values", 1),
}
"""Kind → the kind that computes one of its results alone, and the number of that result."""


def _part(whole: Kind, number: int) -> Kind:
    """The kind that computes result `number` of another kind."""

    def meaning(*operands: Array, **options: bool) -> Result:
        results, failed = whole.meaning(*operands, **options)
        return [results[number]], failed

    return Kind(lambda *given: [whole.shapes(*given)[number]], meaning, whole.letters[number], whole.by_columns)


KINDS: Final[Mapping[str, Kind]] = {
    **_WHOLE,
    **{part: _part(_WHOLE[name], number) for name, (part, number) in PARTS.items()},
}

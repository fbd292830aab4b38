"""Products, Fourier transforms, factorisations, triangular systems."""

from __future__ import annotations

from string import ascii_letters
from typing import Any

import aotensor.tensor as at
from aotensor.importers.lax.table import Context, Equation, rule


@rule("dot_general", note="in the dtype of the result; `precision` changes nothing, products are never less precise")
def _dot_general(context: Context, equation: Equation, x: at.Variable, y: at.Variable) -> at.Variable:
    (summed_x, summed_y), (batch_x, batch_y) = equation.params["dimension_numbers"]
    names = iter(ascii_letters)
    of_x = [next(names) for _ in range(x.ndim)]
    shared = dict(zip(map(int, (*batch_y, *summed_y)), map(int, (*batch_x, *summed_x)), strict=True))
    of_y = [of_x[shared[d]] if d in shared else next(names) for d in range(y.ndim)]
    batch = [of_x[int(d)] for d in batch_x]
    free_x = [name for d, name in enumerate(of_x) if d not in shared.values()]
    free_y = [name for d, name in enumerate(of_y) if d not in shared]
    dtype = str(equation.outvars[0].aval.dtype)
    spec = f"{''.join(of_x)},{''.join(of_y)}->{''.join([*batch, *free_x, *free_y])}"
    return at.einsum(spec, at.cast(x, dtype), at.cast(y, dtype))


@rule("fft")
def _fft(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    kind = int(equation.params["fft_type"])
    lengths = context.extents(equation.params["fft_lengths"])
    *others, last = range(x.ndim - len(lengths), x.ndim)
    one: Any
    match kind:
        case 0 | 1:
            one = at.fft if kind == 0 else at.ifft
            for axis in (*others, last):
                x = one(x, axis=axis)
            return x
        case 2:
            x = at.rfft(x, axis=last)
            for axis in others:
                x = at.fft(x, axis=axis)
            return x
        case _:
            for axis in others:
                x = at.ifft(x, axis=axis)
            return at.irfft(x, n=lengths[-1], axis=last)


@rule("cholesky", note="nan where the matrix is not positive definite")
def _cholesky(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    return at.cholesky(x, on_error="nan")


def _is_oblong(equation: Equation) -> str:
    rows, columns = equation.invars[0].aval.shape[-2:]
    return "" if rows == columns else "its matrix is not square"


@rule("lu", check=_is_oblong, note="of square matrices")
def _lu(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    factors, pivots = at.lu_factor(x)
    positions, *_ = at.lu(x, p_indices=True)
    return [factors, pivots, at.argsort(positions, axis=-1)]


@rule("qr")
def _qr(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    mode = "complete" if equation.params["full_matrices"] else "reduced"
    return list(at.qr(x, mode=mode, pivoting=bool(equation.params.get("pivoting"))))


def _is_sorted(equation: Equation) -> str:
    return (
        "sorted eigenvalues are not supported; JAX does not implement them either"
        if equation.params.get("sort_eig_vals")
        else ""
    )


@rule("schur", check=_is_sorted, note="in LAPACK's order; without a gradient, as in JAX")
def _schur(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    """The Schur form: real for a real matrix; JAX itself makes it complex by rotations on request."""
    factors = at.schur(x, "complex" if x.dtype.startswith("complex") else "real")
    return list(factors) if equation.params["compute_schur_vectors"] else [factors[0]]


def _is_subset(equation: Equation) -> str:
    return (
        "a subset of the values and vectors is not supported"
        if equation.params.get("subset_by_index") is not None
        else ""
    )


_SIGNS = "vectors up to their signs: the first component that is not small is positive"


@rule("svd", check=_is_subset, note=_SIGNS)
def _svd(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    if not equation.params["compute_uv"]:
        return [at.svd(x, compute_uv=False)]
    u, s, vt = at.svd(x, full_matrices=bool(equation.params["full_matrices"]))
    return [s, u, vt]


@rule("eigh", check=_is_subset, note=_SIGNS)
def _eigh(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    w, v = at.eigh(x, UPLO="L" if equation.params["lower"] else "U")
    return [v, w]


def _has_left_vectors(equation: Equation) -> str:
    return "left eigenvectors are not supported" if equation.params["compute_left_eigenvectors"] else ""


@rule("eig", check=_has_left_vectors, note="vectors of norm 1, up to their phases; not the left ones")
def _eig(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    return list(at.eig(x)) if equation.params["compute_right_eigenvectors"] else [at.eigvals(x)]


@rule("triangular_solve", note="a zero on the diagonal gives nan")
def _triangular_solve(context: Context, equation: Equation, a: at.Variable, b: at.Variable) -> at.Variable:
    """Solve op(a)·x = b, or x·op(a) = b as op(a)ᵀ·xᵀ = bᵀ."""
    params = equation.params
    is_left, is_transposed = bool(params["left_side"]), bool(params["transpose_a"])
    if params["conjugate_a"] and a.dtype.startswith("complex"):
        a = at.conj(a)
    found = at.solve_triangular(
        a, b if is_left else at.matrix_transpose(b), trans=int(is_transposed == is_left),
        lower=bool(params["lower"]), unit_diagonal=bool(params["unit_diagonal"]), b_ndim=2, on_error="nan",
    )  # fmt: skip
    return found if is_left else at.matrix_transpose(found)

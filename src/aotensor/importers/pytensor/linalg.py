"""Products, linear algebra with tridiagonal systems, Fourier transforms; Blockwise applies any of it to batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import aotensor as aot
import aotensor.tensor as at
from aotensor.importers.base import Unsuited
from aotensor.importers.check import checked
from aotensor.importers.pytensor.axes import along_axis
from aotensor.importers.pytensor.rules import Walk, integer_of, rows, rule, rule_of

rows({
    **dict.fromkeys(("Dot", "Dot22"), lambda op, x, y: at.dot(x, y)),
    "Dot22Scalar": lambda op, x, y, factor: factor * at.dot(x, y),
    "Gemv": lambda op, y, alpha, a, x, beta: beta * y + alpha * at.dot(a, x),
    "Gemm": lambda op, z, alpha, x, y, beta: beta * z + alpha * at.dot(x, y),
    "Ger": lambda op, a, alpha, x, y: a + alpha * at.outer(x, y),
    "BatchedDot": lambda op, x, y: at.batched_dot(x, y),
    "KroneckerProduct": lambda op, a, b: at.kron(a, b),
    "BlockDiagonal": lambda op, *matrices: at.block_diag(*matrices),
    "Cholesky": lambda op, a: at.cholesky(a, lower=op.lower, on_error="nan"),  # as PyTensor has it
    "PosDefMatrix": lambda op, a: at.all(at.isfinite(at.diag(at.cholesky(a, lower=False, on_error="nan")))),  # PyMC's
    "CholeskySolve": lambda op, c, b: at.cho_solve((c, op.lower), b, b_ndim=op.b_ndim),
    "LUFactor": lambda op, a: at.lu_factor(a),
    "LU": lambda op, a: at.lu(a, permute_l=op.permute_l, p_indices=op.p_indices),
    "MatrixInverse": lambda op, a: at.inv(a),
    "MatrixPinv": lambda op, a: at.pinv(a, hermitian=op.hermitian),
    "Det": lambda op, a: at.det(a),
    "SLogDet": lambda op, a: at.slogdet(a),
    "Expm": lambda op, a: at.expm(a),
    "Eig": lambda op, a: at.eig(a),
    "TRSYL": lambda op, a, b, c: at.solve_sylvester(a, b, c),
    "SolveSylvester": lambda op, a, b, q: at.solve_sylvester(a, b, q),
    "Eigh": lambda op, *matrices: at.eigh(matrices[0], _triangle(op), *matrices[1:]),
    "Eigvalsh": lambda op, *matrices: at.eigvalsh(matrices[0], _triangle(op), *matrices[1:]),
    "SVD": lambda op, a: at.svd(a, full_matrices=op.full_matrices, compute_uv=op.compute_uv),
    "TensorInv": lambda op, a: at.tensorinv(a, op.ind),
    "TensorSolve": lambda op, a, b: at.tensorsolve(a, b, op.axes),
})  # fmt: skip


@rule("Solve")
def solve(walk: Walk, node: Any, a: Any, b: Any) -> Any:
    """x with a·x = b; nan if a is singular, as in PyTensor."""
    op = node.op
    known = {"gen": "gen", "sym": "sym", "her": "sym", "pos": "pos", "tridiagonal": "gen", "banded": "gen"}
    return at.solve(a, b, assume_a=known[op.assume_a], lower=op.lower, b_ndim=op.b_ndim, on_error="nan")


@rule("SolveTriangular")
def solve_triangular(walk: Walk, node: Any, a: Any, b: Any) -> Any:
    """x with a·x = b for a triangular a; nan if a is singular."""
    op = node.op
    options = {"lower": op.lower, "unit_diagonal": op.unit_diagonal, "b_ndim": op.b_ndim}
    return at.solve_triangular(a, b, trans=getattr(op, "trans", 0), on_error="nan", **options)


@rule("PivotToPermutations")
def pivots_to_permutation(walk: Walk, node: Any, pivots: Any) -> Any:
    """The permutation after swapping row k with row pivots[k], for k in order."""

    def swap(k: Any, pivot: Any, order: Any) -> Any:
        other = order[pivot]
        moved = at.set_subtensor(order[pivot], order[k])
        return at.set_subtensor(moved[k], other)

    places = at.arange(pivots.shape[0])
    found = aot.reduce(swap, [places, at.cast(pivots, "int64")], places, return_updates=False)
    return found if node.op.inverse else at.argsort(found)


def _triangle(op: Any) -> str:
    side = getattr(op, "UPLO", None)
    return side if side is not None else "L" if op.lower else "U"


@rule("QR")
def qr(walk: Walk, node: Any, a: Any) -> Any:
    """QR factors, by mode (in mode "r", r has as many rows as the matrix), or LAPACK's reflectors and their factors,
    and r.
    """
    op = node.op
    if op.mode == "raw":
        return _reflectors(node, a)
    modes = {"full": "complete", "economic": "reduced", "r": "complete"}
    if op.mode not in modes:
        raise Unsuited(f"its mode is {op.mode!r}, which is not supported")
    found = at.qr(a, mode=modes[op.mode], pivoting=bool(op.pivoting))
    if op.mode == "r":
        return found[1:] if op.pivoting else found[1]
    return found


def _reflectors(node: Any, a: Any) -> list[Any]:
    """[h, tau, r], and the order of the columns with pivoting: q is the product of all 1 − tau·v·vᵀ, v in h below the
    diagonal, 1 on it, and r is there above.   Source: LAPACK's geqr2 and larfg.
    """
    if a.dtype.startswith("complex"):
        raise Unsuited("its mode is 'raw', which is not supported for complex matrices")
    m, n = a.static_shape
    if m is not None and n is not None and m != n:
        raise Unsuited("its mode is 'raw' and its matrix is not square; PyTensor infers a wrong shape for it")
    order = at.qr(a, pivoting=True)[2:] if node.op.pivoting else []
    h = at.take(a, order[0], axis=1) if order else a
    rows, columns = at.arange(h.shape[0]), at.arange(h.shape[1])
    taus = at.zeros((at.minimum(h.shape[0], h.shape[1]),), h.dtype)

    def step(j: Any, h: Any, taus: Any) -> list[Any]:
        alpha, below = h[j, j], at.switch(at.gt(rows, j), h[:, j], 0)
        rest = at.sqrt(at.sum(at.sqr(below)))
        is_done = at.eq(rest, 0)
        beta = at.switch(is_done, alpha, at.switch(at.lt(alpha, 0), 1, -1) * at.hypot(alpha, rest))
        tau = at.switch(is_done, 0, (beta - alpha) / at.switch(is_done, 1, beta))
        v = at.switch(at.eq(rows, j), 1, below / at.switch(is_done, 1, alpha - beta))
        later = at.switch(at.gt(columns, j), h - tau * at.outer(v, at.dot(v, h)), h)
        own = at.switch(at.lt(rows, j), h[:, j], at.switch(at.eq(rows, j), beta, v))
        found = at.switch(at.eq(columns, j), own[:, None], later)
        return [at.cast(found, h.dtype), at.set_subtensor(taus[j], at.cast(tau, h.dtype))]

    h, taus = aot.reduce(step, at.arange(taus.shape[0]), [h, taus], return_updates=False)
    return [h, taus, at.triu(h[: h.shape[1]]), *order]


@rule("Schur")
def schur(walk: Walk, node: Any, a: Any) -> Any:
    """The factors of the Schur decomposition; PyTensor does not return the number of sorted eigenvalues."""
    return at.schur(a, _output(node), sort=node.op.sort)[:2]


@rule("QZ")
def qz(walk: Walk, node: Any, a: Any, b: Any) -> Any:
    """The generalised Schur factors of two matrices, optionally sorted, optionally with eigenvalues."""
    factors = at.ordqz(a, b, node.op.sort, _output(node))
    return factors if node.op.return_eigenvalues else [*factors[:2], *factors[4:]]


def _output(node: Any) -> str:
    return "complex" if node.outputs[0].type.dtype.startswith("complex") else "real"


@rule("Lstsq")
def lstsq(walk: Walk, node: Any, a: Any, b: Any, rcond: Any) -> Any:
    """Least squares, for a constant `rcond`."""
    data = getattr(rcond, "data", None)
    if data is None:
        raise Unsuited("its rcond is not a constant")
    return at.lstsq(a, b, float(data))


@rule("Blockwise")
def blockwise(walk: Walk, node: Any, *inputs: Any) -> Any:
    """The core op, vectorized over the batch.

    An input whose batch dims are all statically 1 is the same for all; another that has 1 somewhere is repeated.
    """
    op = node.op
    rank = op.batch_ndim(node)
    core_node = op.core_op.make_node(*(_core(x, rank) for x in node.inputs))
    if rule_of(op.core_op) is None:
        raise Unsuited("")
    single = [all(extent == 1 for extent in x.static_shape[:rank]) for x in inputs]
    whole = [at.squeeze(x, tuple(range(rank))) if one else x for x, one in zip(inputs, single, strict=True)]
    if rank and not all(single):
        whole = _common_batch(whole, single, rank)
    symbols = [
        x if one else at.tensor(dtype=x.dtype, shape=x.static_shape[rank:])
        for x, one in zip(whole, single, strict=True)
    ]
    outputs = walk.inner(core_node.inputs, core_node.outputs, symbols)
    if all(single):
        return [at.expand_dims(y, tuple(range(rank))) if rank else y for y in outputs]
    batched = at.vectorize_graph(outputs, {s: x for s, x, one in zip(symbols, whole, single, strict=True) if not one})
    return [
        y if y.ndim == old.ndim else at.alloc(y, *_batch_extents(whole, single, rank), *_extents(y, range(y.ndim)))
        for y, old in zip(batched, node.outputs, strict=True)
    ]


def _core(x: Any, rank: int) -> Any:
    """A variable of PyTensor for one sample; constants keep their value, which may be an option."""
    if hasattr(x, "data") and all(extent == 1 for extent in x.type.shape[:rank]):
        return x.type.clone(shape=x.type.shape[rank:]).make_constant(x.data.reshape(x.data.shape[rank:]))
    return x.type.clone(shape=x.type.shape[rank:])()


def _batch_extents(whole: list[Any], single: list[bool], rank: int) -> list[Any]:
    several = [x for x, one in zip(whole, single, strict=True) if not one]
    chosen = [next((x for x in several if x.static_shape[axis] != 1), several[0]) for axis in range(rank)]
    return [extent for axis, x in enumerate(chosen) for extent in _extents(x, [axis])]


def _common_batch(whole: list[Any], single: list[bool], rank: int) -> list[Any]:
    extents = _batch_extents(whole, single, rank)

    def spread(x: Any) -> Any:
        is_short = any(x.static_shape[axis] == 1 != extents[axis] for axis in range(rank))
        return at.alloc(x, *extents, *_extents(x, range(rank, x.ndim))) if is_short else x

    return [x if one else spread(x) for x, one in zip(whole, single, strict=True)]


def _extents(x: Any, axes: Iterable[int]) -> list[Any]:
    """The extents of x along axes: numbers if they are static, else scalars."""
    return [x.shape[axis] if x.static_shape[axis] is None else x.static_shape[axis] for axis in axes]


# --- tridiagonal matrices, row by row; as LAPACK's gttrf and gtts2 --------------------------------------------------


@rule("LUFactorTridiagonal")
def factors(walk: Walk, node: Any, below: Any, diagonal: Any, above: Any) -> list[Any]:
    """LAPACK's gttrf: the factors of L, the three diagonals of U, and pivots: the row, from 1, that each row was
    exchanged with.
    """
    dtype = node.outputs[0].type.dtype
    dl, d, du = (at.cast(x, dtype) for x in (below, diagonal, above))

    def step(lower: Any, next_d: Any, next_u: Any, d: Any, u: Any) -> list[Any]:
        is_swapped = at.gt(_size(lower), _size(d))
        pivot, other = at.switch(is_swapped, lower, d), at.switch(is_swapped, d, lower)
        factor = at.switch(at.eq(pivot, 0), other, other / at.switch(at.eq(pivot, 0), 1, pivot))
        u, rest = at.switch(is_swapped, next_d, u), at.switch(is_swapped, u, next_d)
        far = at.switch(is_swapped, next_u, 0 * next_u)
        following = at.switch(is_swapped, -factor * next_u, next_u)
        return [rest - factor * u, following, factor, pivot, u, far, is_swapped]

    wide = _padded(du, 0, 2)
    sequences, initial = [_padded(dl, 0, 1), _padded(d[1:], 0, 1), wide[1:]], [d[0], wide[0]]
    *_, factor, pivot, u, far, is_swapped = aot.scan(step, sequences, [*initial, *[None] * 5], return_updates=False)
    n = d.shape[0]
    rows = 1 + at.arange(n) + at.cast(is_swapped, "int64")
    return [factor[: n - 1], pivot, u[: n - 1], far[: at.maximum(n - 2, 0)], at.cast(rows, "int32")]


@rule("SolveLUFactorTridiagonal")
def solution(walk: Walk, node: Any, dl: Any, d: Any, du: Any, du2: Any, rows: Any, b: Any) -> Any:
    """x of a·x = b, or aᵀ·x = b, by the factors of `LUFactorTridiagonal`."""
    dtype = node.outputs[0].type.dtype
    dl, d, du, du2, b = (at.cast(x, dtype) for x in (dl, d, du, du2, b))
    is_swapped = at.gt(rows, 1 + at.arange(d.shape[0]))
    solve = _of_transposed if node.op.transposed else _of_plain
    return solve(dl, d, du, du2, is_swapped, b)


def _of_plain(dl: Any, d: Any, du: Any, du2: Any, is_swapped: Any, b: Any) -> Any:
    def forward(factor: Any, swaps: Any, following: Any, here: Any) -> list[Any]:
        y, other = at.switch(swaps, following, here), at.switch(swaps, here, following)
        return [other - factor * y, y]

    sequences = [_padded(dl, 0, 1), is_swapped, _padded(b[1:], 0, 1)]
    _, y = aot.scan(forward, sequences, [b[0], None], return_updates=False)
    return _by_triangle([y, d, _padded(du, 0, 1), _padded(du2, 0, 2)], go_backwards=True)


def _of_transposed(dl: Any, d: Any, du: Any, du2: Any, is_swapped: Any, b: Any) -> Any:
    def backward(factor: Any, swaps: Any, before: Any, here: Any) -> list[Any]:
        made = before - factor * here
        return [at.switch(swaps, here, made), at.switch(swaps, made, here)]

    z = _by_triangle([b, d, _padded(du, 1, 0), _padded(du2, 2, 0)], go_backwards=False)
    swaps = at.concatenate([at.zeros((1,), "bool"), is_swapped[:-1]])
    sequences = [_padded(dl, 1, 0), swaps, _padded(z[:-1], 1, 0)]
    _, x = aot.scan(backward, sequences, [z[-1], None], go_backwards=True, return_updates=False)
    return x[::-1]


def _by_triangle(rows: list[Any], go_backwards: bool) -> Any:
    """Solve with a banded triangle by a scan over (values, pivots, two more diagonals): subtract two solved terms,
    divide by the pivot.
    """

    def step(y: Any, pivot: Any, near: Any, far: Any, last: Any, second: Any) -> list[Any]:
        return [(y - near * last - far * second) / pivot, last]

    nothing = at.zeros_like(rows[0][0])
    x, _ = aot.scan(step, rows, [nothing, nothing], go_backwards=go_backwards, return_updates=False)
    return x[::-1] if go_backwards else x


def _size(x: Any) -> Any:
    """|x|; for complex numbers |re| + |im|, as LAPACK compares pivots."""
    return at.abs(at.real(x)) + at.abs(at.imag(x)) if x.dtype.startswith("complex") else at.abs(x)


def _padded(x: Any, before: int, behind: int) -> Any:
    """x with rows of zeros before and after."""
    shape = [x.shape[axis] for axis in range(1, x.ndim)]
    parts = [at.zeros([before, *shape], x.dtype), x, at.zeros([behind, *shape], x.dtype)]
    return at.concatenate(parts, axis=0)


@rule("RFFTOp")
def rfft(walk: Walk, node: Any, x: Any, extents: Any) -> Any:
    """Real and imaginary parts along a new last axis, over all axes but the first."""
    *others, last = _lengths(walk, node, x.ndim - 1)
    found = at.rfft(x, last, axis=-1)
    for axis, n in enumerate(others, 1):
        found = at.fft(found, n, axis=axis)
    return at.stack([at.real(found), at.imag(found)], axis=-1)


@rule("IRFFTOp")
def irfft(walk: Walk, node: Any, x: Any, extents: Any) -> Any:
    """The inverse of `RFFTOp` times its lengths: PyTensor leaves the division to another op."""
    found = at.complex(x[..., 0], x[..., 1])
    *others, last = _lengths(walk, node, x.ndim - 2)
    for axis, n in enumerate(others, 1):
        found = at.ifft(found, n, axis=axis, norm="forward")
    return at.irfft(found, last, axis=-1, norm="forward")


def _lengths(walk: Walk, node: Any, rank: int) -> list[Any]:
    """The length of each transform: numbers if they are static, else scalars."""
    found = walk.extents(node.inputs[1])
    listed = found if isinstance(found, list) else [found[k] for k in range(rank)]
    if len(listed) != rank:
        raise Unsuited(f"it has {len(listed)} lengths for {rank} axes")
    return [n if known is None else known for n, known in ((n, integer_of(n)) for n in listed)]


@rule("Fourier")
def fourier(walk: Walk, node: Any, x: Any, n: Any, axis: Any) -> Any:
    """The complex Fourier transform along one axis, truncated or zero-padded to a length; axis and length may be
    computed.
    """
    length: Any = integer_of(n)
    if length is None:
        length = checked("the length of a transform must be at least 1", n, at.ge(n, 1))
    return along_axis(node, x, axis, lambda values, k: at.fft(at.cast(values, node.outputs[0].dtype), length, axis=k))

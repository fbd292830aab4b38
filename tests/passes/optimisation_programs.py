"""Small programs in which one optimisation each shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.graph.variable import Variable
from aotensor.ops.scan.rewrite.checkpoint import Checkpoints
from aotensor.sparse.sample import sample_at


def function(inputs: Sequence[Variable], *outputs: Variable) -> aot.Function:
    """A function of the name that rows expect."""
    return aot.function(list(inputs), list(outputs), name="f", on_unused_input="ignore")


def vectors(names: str, dtype: str = "float64") -> list[Any]:
    """Vectors of one extent."""
    return [at.vector(name, dtype=dtype, shape=("n",)) for name in names]


def matrix(name: str, *shape: str | int) -> Any:
    """A float64 matrix, of unknown extents or those given."""
    return at.matrix(name, dtype="float64", shape=shape or ("m", "n"))


def csr(name: str = "A") -> Any:
    """A sparse matrix with named extents."""
    return sp.csr_matrix(name, dtype="float64", shape=("m", "n"))


def chain() -> aot.Function:
    """Elementwise work and a sum."""
    (x,) = vectors("x")
    return function([x], (at.sin(x) * x + 1.0).sum())


def linear_model() -> aot.Function:
    """A sum of squares with its gradient: one sweep over the rows."""
    X, (w,), (y,) = matrix("X"), vectors("w"), [at.vector("y", dtype="float64", shape=("m",))]
    loss = ((X @ w - y) ** 2).sum()
    return function([X, w, y], loss, aot.grad(loss, w))


def logistic() -> aot.Function:
    """The same with elementary functions of single rows."""
    X, (w,), (y,) = matrix("X"), vectors("w"), [at.vector("y", dtype="float64", shape=("m",))]
    loss = at.softplus(-y * (X @ w)).sum()
    return function([X, w, y], loss, aot.grad(loss, w))


def stacked() -> aot.Function:
    """Two rows of three columns each, one of which is computed once for both."""
    a, b = vectors("ab")
    shared = at.exp(a)
    return function([a, b], at.stack([at.stack([a * b, shared, b], axis=1), at.stack([shared, b, a], axis=1)], axis=1))


def of_matrices(build: Any) -> Any:
    """A program that is one formula of a batch of square matrices."""
    return lambda: function([a := at.tensor3("a", shape=("b", "n", "n"))], build(a))


def images() -> aot.Function:
    """A few samples of much work each."""
    x = at.tensor3("x", shape=("n", 64, 64))
    return function([x], at.exp(x).sum(axis=2))


def of_vector(build: Any) -> Any:
    """A program that is one formula of a vector."""

    def make() -> aot.Function:
        (x,) = vectors("x")
        return function([x], build(x))

    return make


def stencil_gradient() -> aot.Function:
    """The sum of products of neighbours: its gradient is a sum of two windows of zeros."""
    (x,) = vectors("x")
    return function([x], aot.grad((x[1:] * x[:-1]).sum(), x))


def sweeps_gradient() -> aot.Function:
    """Two sweeps that leave the border as it is: each cotangent is one with zeros inside, and windows of it."""
    (x,) = vectors("x")
    end = x
    for _ in range(2):
        end = at.set_subtensor(end[1:-1], end[:-2] + end[2:])
    return function([x], aot.grad((end**2).sum(), x))


def two_sweeps() -> aot.Function:
    """Each row takes from the one above it, twice."""
    x = once = matrix("x")
    for _ in range(2):
        once = at.set_subtensor(once[1:], once[:-1] * 0.5)
    return function([x], once)


def of_matrix(build: Any) -> Any:
    """A program that is one formula of a matrix."""

    def make() -> aot.Function:
        x = matrix("x")
        return function([x], build(x))

    return make


def of_sparse(build: Any) -> Any:
    """A program of a sparse matrix, and of dense ones beside it."""

    def make() -> aot.Function:
        given = [csr(), matrix("D"), *vectors("v"), matrix("E", "n", "k"), at.dscalar("s"), csr("B")]
        return function(given, build(*given))

    return make


def complex_product() -> aot.Function:
    """A product of a sparse matrix and a vector, both complex."""
    A, v = sp.csr_matrix("A", dtype="complex128", shape=("m", "n")), at.zvector("v", shape=("n",))
    return function([A, v], A @ v)


def of_blocks(build: Any) -> Any:
    """A program of a matrix in rows of blocks, and a dense one."""

    def make() -> aot.Function:
        given = [sp.bsr_matrix("B", dtype="float64", blocksize=(2, 2)), matrix("D")]
        return function(given, build(*given))

    return make


def recurrent() -> aot.Function:
    """Loss and gradient of a recurrent net."""
    x, h, w, u = at.dtensor3("x"), at.dmatrix("h"), at.dmatrix("w"), at.dmatrix("u")
    states = aot.scan(lambda row, old: at.tanh(row @ u + old @ w), x, h, return_updates=False)
    loss = at.sqr(states).sum()
    return function([x, h, w, u], loss, aot.grad(loss, w), aot.grad(loss, u))


def checkpointed_loop() -> Any:
    """Loss and gradient of 100 steps, of which ten states are stored."""
    x = at.dvector("x")
    states = aot.scan(lambda old: at.sin(old) * x, None, x, n_steps=100, return_updates=False)
    return function([x], aot.grad(states[-1].sum(), x)).checkpointed(Checkpoints(1))


def batch_of_states() -> aot.Function:
    """The states of a net on many samples, which need nothing of each other."""
    x, h, w = at.dtensor3("x"), at.dmatrix("h"), at.dmatrix("w")
    return function([x, h, w], aot.scan(lambda row, old: at.tanh(row + old @ w), x, h, return_updates=False))


def last_state() -> aot.Function:
    """Of all states only the last is read."""
    (x,), h = vectors("x"), at.dscalar("h")
    return function([x, h], states(x, h)[-1])


def states(x: Any, h: Any, step: Any = lambda row, old: at.tanh(row * old)) -> Any:
    """The states of a loop over the elements of x."""
    return aot.scan(step, x, h, return_updates=False)


def work_behind() -> aot.Function:
    """A product of the states that no later step needs."""
    x, h, w, v = at.dtensor3("x"), at.dmatrix("h"), at.dmatrix("w"), at.dmatrix("v")

    def step(row: Any, old: Any) -> Any:
        new = at.tanh(row + old @ w)
        return new, new @ v

    return function([x, h, w, v], *aot.scan(step, x, [h, None], return_updates=False))


def two_windows() -> aot.Function:
    """Zeros with one half set and zeros with the other one, beside a loop."""
    (x,), h = vectors("x"), at.dscalar("h")
    a, b = (at.vector(name, shape=(4,), dtype="float64") for name in "ab")
    halves = at.set_subtensor(at.zeros(8)[:4], a) + at.set_subtensor(at.zeros(8)[4:], b)
    return function([x, h, a, b], states(x, h), halves)


def two_equal_loops() -> aot.Function:
    """Loops over values that are computed twice."""
    (x,), h = vectors("x"), at.dscalar("h")
    return function([x, h], states(at.exp(x), h), states(at.exp(x), h) * 2.0)


def mapped() -> aot.Function:
    x = matrix("x")
    return function([x], aot.map(lambda row: at.exp(row), x)[0])


def choice() -> aot.Function:
    c, x = at.scalar("c", dtype="bool"), matrix("x")
    return function([c, x], aot.ifelse(c, at.exp(x).sum(), at.sin(x).sum()))


def invariant() -> aot.Function:
    (x,), s = vectors("x"), at.dscalar("s")
    return function([x, s], x * at.exp(at.full_like(x, s)))


def eigenvalues() -> aot.Function:
    x = matrix("x", 4, 4)
    return function([x], at.linalg.eigh(x)[0])


def mixture(p: str | int = 8, k: str | int = 4) -> aot.Function:
    """Distances of rows from those of a matrix, which is small unless p and k are names."""
    X, mu = matrix("X", "n", p), matrix("mu", k, p)
    return function([X, mu], (mu**2).sum(axis=1), ((X[:, None, :] - mu[None, :, :]) ** 2).sum(axis=2))


def mixture_gradient() -> aot.Function:
    """Rows through small matrices, less a mean each, as in a mixture with full covariances."""
    X, mu = at.matrix("X", dtype="float64", shape=("n", 10)), at.matrix("mu", dtype="float64", shape=(4, 10))
    Q = at.tensor3("Q", dtype="float64", shape=(4, 10, 10))
    whitened = (Q * (X[:, None, :] - mu)[:, :, None, :]).sum(axis=3)
    loss = at.logsumexp(-0.5 * (whitened**2).sum(axis=2), axis=1).sum()
    return function([X, mu, Q], *aot.grad(loss, [mu, Q]))


def sampled_products() -> aot.Function:
    A, D, E = csr(), matrix("D", "m", "k"), matrix("E", "n", "k")
    return function([A, D, E], sample_at(D @ E.T, A))


def sampled_model() -> aot.Function:
    A, D, E = csr(), matrix("D", "m", "k"), matrix("E", "n", "k")
    loss = (sample_at(D @ E.T, A) ** 2).sum()
    return function([A, D, E], loss, aot.grad(loss, D))


def sparse_model() -> aot.Function:
    A, (v,), (y,) = csr(), vectors("v"), [at.vector("y", dtype="float64", shape=("m",))]
    loss = ((A @ v - y) ** 2).sum()
    return function([A, v, y], loss, aot.grad(loss, v))


def sparse_square() -> aot.Function:
    """A sparse matrix times itself: rows are counted in `.extents` and in the kernel, and then filled."""
    x = sp.csr_matrix("x", dtype="float64", shape=("n", "n"))
    return aot.function([x], sp.true_dot(x, x), name="f")


def sparse_sum() -> aot.Function:
    """Two sparse matrices of which each has entries that the other one has not."""
    x, y = (sp.csr_matrix(name, dtype="float64", shape=("n", "m")) for name in "xy")
    return aot.function([x, y], x + y, name="f")


def sparse_times_dense(columns: str | int = "k") -> aot.Function:
    A, E = csr(), matrix("E", "n", columns)
    return function([A, E], A @ E)


def scattered() -> aot.Function:
    A, D = csr(), matrix("D", "m", "k")
    return function([A, D], A.T @ D)


def by_group(term: Any) -> Any:
    """Terms that read the element of a group, their sum, and their sums by group."""

    def make() -> aot.Function:
        (y,), a, groups = vectors("y"), at.vector("a", dtype="float64", shape=("k",)), at.lvector("g", shape=("n",))
        terms = term(y, a[groups])
        return function([y, a, groups], terms.sum(), at.inc_subtensor(at.zeros_like(a)[groups], terms))

    return make


def joined() -> aot.Function:
    x, y = vectors("xy")
    return function([x, y], at.concatenate([at.exp(x), at.sin(y)]))


def factor() -> aot.Function:
    x = matrix("x", "n", "n")
    return function([x], at.linalg.cholesky(x * 2.0))


def checked() -> aot.Function:
    x, y, z = at.dvector("x"), at.dvector("y"), at.dvector("z")
    return function([x, y, z], x + y + z)


def checked_apart() -> aot.Function:
    """Between two checks there is a division, which must not run before the first one has passed."""
    x, y, k = at.dvector("x"), at.dvector("y"), at.lscalar("k")
    return function([x, y, k], at.reshape(x + y, (x.shape[0] // k, k)))


def product() -> aot.Function:
    x, y = matrix("x"), matrix("y", "n", "k")
    return function([x, y], x @ y)


def small_product(extent: int = 3) -> aot.Function:
    x, y = matrix("x", extent, extent), matrix("y", extent, extent)
    return function([x, y], x @ y)


def two_buffers() -> aot.Function:
    x = matrix("x", "n", "n")
    return function([x], (x @ x) @ (x @ at.exp(x)) @ x)


def four_buffers() -> aot.Function:
    """The same, but that the first buffer is read last: all are needed at one time."""
    x = matrix("x", "n", "n")
    e = at.exp(x)
    return function([x], (x @ x) @ (x @ e) @ e)


def two_vectors(is_compared: bool = True) -> aot.Function:
    """Exponentials of two vectors, whose extents a sum compares."""
    x, y = at.vector("x", shape=("n",)), at.vector("y", shape=("m",))
    return function([x, y], at.exp(x), at.exp(y), *([x + y] if is_compared else []))


def two_products() -> aot.Function:
    """Sums along the rows of a matrix, and down its columns of rows that are scaled by functions."""
    X, (w,), (y,) = matrix("X"), vectors("w"), [at.vector("y", dtype="float64", shape=("m",))]
    scale = at.exp(y)
    return function([X, w, y], scale, X @ w, X.T @ scale)


def kept_and_scaled() -> aot.Function:
    """Two sums down the columns, of values of rows that are both kept for a block of them."""
    X, (w,) = matrix("X"), vectors("w")
    rows = X @ w
    return function([X, w], X.T @ at.sigmoid(rows), X.T @ rows)


def many_functions(x: Any) -> Any:
    """So many elementary functions of one number that LLVM would take long to find vectors."""
    for _ in range(12):
        x = at.exp(-x * x) + at.tanh(x)
    return x


def sines(x: Any, count: int) -> Any:
    """So many sines, one of the other."""
    for _ in range(count):
        x = at.sin(x)
    return x


def sines_of_a_number() -> aot.Function:
    x = at.dscalar("x")
    return function([x], sines(x, 80))


def narrow_sum() -> aot.Function:
    (x,) = vectors("x", "float32")
    return function([x], at.exp(x * x + 1).sum())


def known(extent: int = 1000) -> aot.Function:
    x = at.vector("x", dtype="float64", shape=(extent,))
    return function([x], x * 2.0)


def ten_columns() -> aot.Function:
    x, w = matrix("x", "n", 10), matrix("w", 9, 10)
    return function([x, w], at.sqr(x[:, None, :] - w))


def many_loops() -> aot.Function:
    """Running sums, each a loop of its own, of what is scaled by sums of rows."""
    x = y = matrix("x", "n", "n")
    for _ in range(9):
        y = at.cumsum(y * y.sum(axis=1), axis=1)
    return function([x], y)


def choice_of_rows() -> aot.Function:
    """Rows that are compared with those of a small matrix, which is negated as well."""
    x, w = matrix("x", "n", 10), matrix("w", 9, 10)
    rows = x[:, None, :]
    return function([x, w], at.switch(at.gt(rows, w), rows, -w).sum(axis=2))


def small_factors() -> aot.Function:
    """Factors of a batch of small matrices."""
    x = at.tensor("x", shape=("k", 3, 3))
    return function([x], at.cholesky(x + 9.0 * at.eye(3)))

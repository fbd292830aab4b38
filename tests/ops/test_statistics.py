"""Arguments that do not go: functions of order, counts, grids, groups of axes and samples name what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import AotensorError
from aotensor.graph.walk import leaves

X, M, K = at.vector("x"), at.matrix("M"), at.lvector("k")
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: at.linspace(0, 1, -1), ValueError, "linspace: num is -1"),
    (lambda: at.linspace(0, 1, 2.5), TypeError, "linspace: num must be an integer scalar"),
    (lambda: at.linspace(0, X, 3, axis=2), ValueError, "axis"),
    (lambda: at.geomspace(0.0, 1.0), ValueError, "geomspace: start is 0"),
    (lambda: at.meshgrid(M), TypeError, "meshgrid: expected vectors and scalars"),
    (lambda: at.meshgrid(X, indexing="kl"), ValueError, "meshgrid: indexing must be one of 'xy', 'ij', not 'kl'"),
    (lambda: at.mgrid[0:], TypeError, "mgrid: expected slices with a stop"),
    (lambda: at.eye(3, k=0.5), TypeError, "eye: k must be an integer scalar"),
    (lambda: at.tril(X, at.lscalar("k")), TypeError, "tril: expected a rank of at least 2"),
    (lambda: at.searchsorted(M, X), TypeError, "expected a sorted vector to search in"),
    (lambda: at.searchsorted(X, X, "middle"), ValueError, "searchsorted: side must be one of"),
    (lambda: at.bincount(X), TypeError, "bincount: x must hold integers, not float64"),
    (lambda: at.bincount(K, minlength=-1), ValueError, "bincount: minlength is -1"),
    (lambda: at.bincount(K, M), TypeError, "bincount: weights must be a vector"),
    (lambda: at.bincount([-1]), ValueError, "bincount: x has an element that is not at least 0"),
    (lambda: at.histogram(X, 0), ValueError, "histogram: bins must be at least 1, found 0"),
    (lambda: at.histogram(X, "auto"), TypeError, "histogram: bins must be a number or a vector"),
    (lambda: at.histogram(X, 3, (2, 1)), ValueError, "with low <= high"),
    (lambda: at.histogram(X, 3, (0, np.inf)), ValueError, "two finite numbers"),
    (lambda: at.histogram(X, [3.0, 1.0]), ValueError, "edges that do not ascend"),
    (lambda: at.histogram(M, weights=X), ValueError, "the shapes differ"),
    (lambda: at.argtopk(X, 1, idx_dtype="float32"), TypeError, "idx_dtype cannot be 'float32'"),
    (lambda: at.interp(X, X, X, left=X), TypeError, "interp: left must be a number"),
    (lambda: at.interp(X, M, X), TypeError, "interp: xp must be a vector"),
    (lambda: at.interp(X, X, X, period=0), ValueError, "interp: period must not be 0"),
    (lambda: at.quantile(X, 1.5), ValueError, "quantile: q has an element that is not at least 0 and at most 1"),
    (lambda: at.percentile(X, 50, method="best"), ValueError, "percentile: method must be one of"),
    (lambda: at.quantile(X, 0.5, axis=1), ValueError, "axis 1"),
    (lambda: at.topk(at.vector(shape=(3,)), 4), ValueError, "topk: kth is 4, but axis 0 has 3 elements"),
    (lambda: at.argtopk(X, 0), ValueError, "argtopk: kth is 0"),
    (lambda: at.sort(X, kind="slow"), ValueError, "sort: kind must be one of"),
    (lambda: at.largest(), TypeError, "largest: expected a tensor"),
    (lambda: at.ceil_intdiv(X, 2), TypeError, "ceil_intdiv: expected integers, found float64"),
    (lambda: at.isposinf(at.zvector()), TypeError, "isposinf: complex numbers have no sign"),
    (lambda: at.mean(X, acc_dtype="int64"), TypeError, "mean: acc_dtype must be a floating dtype, not int64"),
    (lambda: at.tril_indices_from(X), TypeError, "tril_indices_from: expected a matrix"),
    (lambda: at.partition(X, ()), ValueError, "partition: kth is empty"),
    (lambda: at.argpartition(X, 1.5), TypeError, "argpartition: kth must be an int or a sequence of ints"),
    (lambda: at.partition(at.vector(shape=(3,)), 3), IndexError, "partition: kth is 3, but axis 0 has 3 elements"),
    (lambda: at.average(M, 0, M[None]), TypeError, "average: weights must have the shape of a"),
    (lambda: at.cov(M[None]), TypeError, "cov: expected a vector or a matrix"),
    (lambda: at.cov(M, fweights=X), TypeError, "cov: fweights must be integers"),
    (lambda: at.cov(M, aweights=M), TypeError, "cov: aweights must be a vector"),
    (lambda: at.unique(M, axis=2), ValueError, "axis 2"),
    (lambda: at.join_dims(M, 1, 2), ValueError, "join_dims: no 2 axes from 1 on"),
    (lambda: at.split_dims(at.vector(shape=(6,)), (4, 2)), ValueError, "6 elements do not fit a shape of 8"),
    (lambda: at.pack(M, keep_axes=1), ValueError, "pack: axes 1 are not the first and the last ones"),
    (lambda: at.pack(X, keep_axes=(0, 1)), ValueError, "pack: tensor 0 has rank 1"),
    (lambda: at.unpack(M, [(2,)]), TypeError, "unpack: rank 2"),
    (lambda: at.vectorize(at.dot, "m,n"), ValueError, "vectorize: the signature must be like"),
    (lambda: at.vectorize(at.dot, "(n),(n)->()")(X), TypeError, "vectorize: 1 arguments"),
    (lambda: at.vectorize(at.dot, "(n),(n)->(n)")(X, X), TypeError, "vectorize: result 0 has rank 0"),
    (lambda: at.vectorize(at.dot, "(m,n),(n)->(m)")(X, X), TypeError, "vectorize: argument 0 has rank 1"),
    (lambda: at.vectorize(lambda x: None)(X), TypeError, "vectorize: the function must return a tensor or a list"),
    (lambda: at.tensorinv(M, 0), ValueError, "tensorinv: ind must be positive, found 0"),
    (lambda: at.tensorsolve(X, M), TypeError, "tensorsolve: a must have at least the rank of b"),
    (lambda: at.lstsq(M[None], X), TypeError, "lstsq: expected a matrix"),
]


@pytest.mark.shows("tensor/4-arguments")
@pytest.mark.parametrize(("call", "error", "text"), WRONG, ids=range(len(WRONG)))
def test_what_is_refused_when_built(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as found:
        call()
    assert isinstance(found.value, AotensorError)


LATE: list[tuple[Callable[[], Any], list[Any], str]] = [
    (lambda: at.linspace(0.0, 1.0, K[0]), [[-3]], "linspace: num has an element"),
    (lambda: at.cov(M, fweights=K), [np.ones((1, 2)), [1, -2]], "cov: fweights has an element"),
    (lambda: at.bincount(K), [[2, -1]], "bincount: x has an element"),
    (lambda: at.bincount([1], minlength=K[0]), [[-1]], "bincount: minlength has an element"),
    (lambda: at.histogram([1.0], K[0])[0], [[0]], "histogram: bins has an element"),
    (lambda: at.histogram(X, 2, weights=K)[0], [[1.0, 2.0], [1]], "extents"),
    (lambda: at.interp(0.5, X, K), [[0.0, 1.0], [1, 2, 3]], "extents"),
    (lambda: at.histogram(X[:1], X)[0], [[2.0, 1.0]], "histogram: bins are edges that do not ascend"),
    (lambda: at.histogram(X)[0], [[2.0, np.nan]], "histogram: the range has an element that is not finite"),
    (lambda: at.quantile(X, X), [[0.5, -0.5]], "quantile: q has an element"),
    (lambda: at.topk(X, 3), [[1.0, 2.0]], "3 elements are wanted of an extent of 2"),
    (lambda: at.partition(X, 2), [[1.0, 2.0]], "index 2"),
    (lambda: at.median(X), [np.zeros(0)], "median: axis 0 is empty"),
    (lambda: at.pad(X, 1, "edge"), [np.zeros(0)], "pad: axis 0 is empty"),
    (lambda: at.norm(M, ord=2), [np.zeros((2, 0))], "norm: axis 1 is empty"),
    (lambda: at.interp(X, X[:0], X[:0]), [[1.0]], "interp: xp: axis 0 is empty"),
    (lambda: at.tensorinv(M, 1), [np.ones((2, 3))], "extent"),
    (lambda: at.vectorize(at.dot, "(m,n),(n)->(m)")(M, X), [np.ones((2, 3)), np.ones(2)], "extent"),
]


@pytest.mark.shows("tensor/4-arguments")
def test_what_is_refused_at_run_time() -> None:
    """By the reference, and by compiled code, one library for all."""
    for call, values, text in LATE:
        y = call()
        f = aot.function([x for x in (M, X, K) if x in leaves([y])], y)
        for run in (f, f.reference):
            with pytest.raises((ValueError, IndexError), match=text):
                run(*map(np.asarray, values))

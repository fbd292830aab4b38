"""Split equals whole over the table of cases, to rounding; and to the last bit for any engine."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from splitting.cases import CASES, REFUSED, N, Names, arrays, symbols

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import CrossingError, GraphTypeError, GraphValueError
from aotensor.gradient import hessian
from aotensor.graph.walk import leaves
from aotensor_runtime.rounds import Serial, SplitFunction, Threads
from aotensor_runtime.sparse.values import Compressed


@cache
def function_of(name: str) -> aot.Function:
    """The whole function of a case."""
    known = symbols()
    outputs = CASES[name](Names(known))
    used = set(leaves(outputs))
    return aot.function([x for x in known.values() if x in used], outputs, name=name)


@cache
def split_of(name: str) -> aot.Rounds:
    """Its rounds."""
    return aot.split(function_of(name), over="n")


def dense(x: Any) -> Any:
    return x.toarray() if hasattr(x, "toarray") else x


def by_reference(rounds: aot.Rounds) -> SplitFunction:
    """The rounds on the reference of each function, which takes no time to compile."""

    def called(f: aot.Function) -> Any:
        def call(num_threads: int | None = None, **values: Any) -> Any:
            with np.errstate(all="ignore"):
                return f.reference(
                    **{key: x.to_scipy() if isinstance(x, Compressed) else x for key, x in values.items()}
                )

        arguments = [SimpleNamespace(name=name, default=None) for name in f.arguments]
        return SimpleNamespace(call=call, spec=SimpleNamespace(arguments=arguments))

    class Library(dict[str, Any]):
        data, weights = repr(rounds).encode(), None

    class Callable(SimpleNamespace):
        def __call__(self, **values: Any) -> Any:
            return self.call(**values)

    library = Library({f.name: Callable(**vars(called(f))) for f in rounds.functions})
    return SplitFunction(library, rounds.protocol)  # type: ignore[arg-type]


COMPILED = ("logistic", "sparse", "extrema")


@pytest.mark.parametrize("name", [*CASES, *(f"{name}, compiled" for name in COMPILED)])
def test_split_equals_whole(name: str) -> None:
    name, _, is_compiled = name.partition(", ")
    f, split = function_of(name), split_of(name)
    rounds = split.library if is_compiled else by_reference(split)
    values = {key: x for key, x in arrays().items() if key in f.arguments}
    with np.errstate(all="ignore"):
        whole = f.reference(**values)
    for chunk_rows in (5, N):
        found = rounds(chunk_rows=chunk_rows, **values)
        for expected, x in zip(whole, found, strict=True):
            np.testing.assert_allclose(
                dense(x), dense(expected), rtol=2e-6 if "float32" in str(x.dtype) else 1e-10, atol=1e-12
            )
            assert x.dtype == expected.dtype and x.shape == expected.shape


@pytest.mark.parametrize("name", ["logistic", "sparse"])
def test_threads_give_the_same_bits(name: str) -> None:
    rounds = split_of(name)
    values = {key: x for key, x in arrays(1, 101).items() if key in rounds.function.arguments}
    with Serial() as serial, Threads(3) as threads:
        one, other = rounds(serial, chunk_rows=7, **values), rounds(threads, chunk_rows=7, **values)
    for x, y in zip(one, other, strict=True):
        assert dense(x).tobytes() == dense(y).tobytes()


@pytest.mark.parametrize("name", REFUSED)
def test_crossing_values_are_refused(name: str) -> None:
    make, reason = REFUSED[name]
    known = symbols()
    output = make(Names(known))
    f = aot.function(leaves_of(output), output)
    with pytest.raises(CrossingError, match=r"cases\.py:\d+: .* cannot be split over n") as caught:
        aot.split(f, over="n")
    assert reason in str(caught.value)


def leaves_of(output: Any) -> list[Any]:
    return [x for x in leaves([output]) if not hasattr(x, "data")]


def test_nan_and_infinity() -> None:
    x, w = symbols()["X"], symbols()["w"]
    z = x @ w
    f = aot.function(
        [x, w], [z.max(), at.argmax(z), aot.grad(z.max(), w), at.logsumexp(x, axis=0), z.sum()], name="special"
    )
    values = arrays()
    for place, value in ((3, np.nan), (17, np.inf), (4, -np.inf)):
        bad = values["X"].copy()
        bad[place, 0] = bad[20, 1] = value
        with np.errstate(all="ignore"):
            whole = f.reference(bad, values["w"])
        for expected, found in zip(
            whole, by_reference(aot.split(f, "n"))(X=bad, w=values["w"], chunk_rows=6), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_matrices_come_out_as_those_of_scipy() -> None:
    s = symbols()["S"]
    f, matrix = aot.function([s], s * 2, name="doubled"), arrays()["S"]
    found, whole = by_reference(aot.split(f, "n"))(S=matrix, chunk_rows=6), f.reference(matrix)
    assert type(found) is type(whole)
    assert abs(found - whole).max() == 0


def test_no_rows_and_one_row() -> None:
    f, rounds = function_of("means"), by_reference(split_of("means"))
    for n in (0, 1):
        values = {key: x for key, x in arrays(0, n).items() if key in f.arguments}
        with np.errstate(all="ignore"):
            whole = f.reference(**values)
        for expected, found in zip(whole, rounds(**values), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_dim_must_be_there_once() -> None:
    f = function_of("global")
    with pytest.raises(GraphValueError, match="none of the inputs has a dim 'm'"):
        aot.split(f, over="m")
    with pytest.raises(GraphTypeError, match="f must be a Function"):
        aot.split(3, over="n")  # type: ignore[arg-type]


def test_shared_variables_are_refused() -> None:
    """What is set later would not be seen."""
    state, rows = aot.shared(np.ones(2), name="state"), at.matrix("rows", shape=("n", 2))
    with pytest.raises(GraphValueError, match="keep the present value of the shared variable state"):
        aot.split(aot.function([rows], (rows @ state).sum(), name="held"), over="n")


def test_a_mean_needs_one_round_and_a_softmax_three() -> None:
    assert [len(split_of(name).protocol.rounds) for name in ("logistic", "softmax")] == [1, 4]


def test_a_hessian_needs_one_round() -> None:
    """Its identity matrix has an extent that an input has: it waits for no value."""
    x, w = symbols()["X"], symbols()["w"]
    split = aot.split(aot.function([x, w], hessian(at.softplus(x @ w).sum(), w), name="hessian"), over="n")
    assert len(split.protocol.rounds) == 1
    values = {key: value for key, value in arrays().items() if key in ("X", "w")}
    np.testing.assert_allclose(by_reference(split)(chunk_rows=5, **values), split.function.reference(**values))

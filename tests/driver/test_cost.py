"""What a call will cost: operations that are known, bytes, workspace, a time that grows, and wrong sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.api.cost.cost import Machine
from aotensor.errors import GraphTypeError, GraphValueError


@pytest.fixture(scope="module")
def logistic() -> aot.Function:
    X = at.matrix("X", dtype="float64", shape=("n", "p"))
    w = at.vector("w", dtype="float64", shape=("p",))
    loss = at.softplus(X @ w).mean()
    return aot.function([X, w], [loss, aot.grad(loss, w)], name="logistic")


def dot() -> aot.Function:
    x, y = (at.vector(name, dtype="float64", shape=("n",)) for name in "xy")
    return aot.function([x, y], at.dot(x, y), name="dot")


def added() -> aot.Function:
    x, y = (at.vector(name, dtype="float64", shape=("n",)) for name in "xy")
    return aot.function([x, y], x + y, name="added")


def spmm() -> aot.Function:
    A = sp.csr_matrix("A", dtype="float64", shape=("m", "n"))
    x = at.matrix("x", dtype="float64", shape=("n", 16))
    return aot.function([A, x], sp.structured_dot(A, x), name="spmm")


def product() -> aot.Function:
    x, y = (at.matrix(name, dtype="float64", shape=shape) for name, shape in (("x", ("m", "k")), ("y", ("k", "n"))))
    return aot.function([x, y], x @ y, name="product")


@pytest.mark.parametrize(
    ("make", "sizes", "flops", "bytes"),
    [
        (dot, {"n": 1000}, 2000, 16_008),
        (added, {"n": 1000}, 1000, 24_000),
        (added, {"n": 0}, 0, 0),
        (spmm, {"m": 100, "n": 50, "A_nnz": 700}, 32 * 700, 8 * (700 + 50 * 16 + 100 * 16) + 4 * (700 + 101)),
        (spmm, {"m": 0, "n": 50, "A_nnz": 0}, 0, None),
        (product, {"m": 30, "k": 40, "n": 50}, 2 * 30 * 40 * 50, 8 * (30 * 40 + 40 * 50 + 30 * 50)),
    ],
)
def test_what_is_known(
    make: Callable[[], aot.Function], sizes: dict[str, int], flops: float, bytes: float | None
) -> None:
    cost = make().cost(**sizes, num_threads=1)
    assert cost.flops == flops and cost.is_exact
    assert bytes is None or cost.bytes == bytes
    assert cost.sizes == sizes and cost.threads == 1 and cost.seconds > 0


def test_time_grows_with_sizes_and_says_what_bounds_it(logistic: aot.Function) -> None:
    small, large = (logistic.cost(n=n, p=100, num_threads=1) for n in (1000, 1_000_000))
    assert 100 * small.seconds < large.seconds
    assert logistic.cost(n=1, p=1, num_threads=1).bound == "call"
    assert large.bound in ("memory", "loads")
    assert small.flops is not None and large.flops is not None and 900 < large.flops / small.flops < 1100


def test_the_workspace_is_that_of_the_library(logistic: aot.Function, tmp_path: Path) -> None:
    library = aot.compile(logistic, tmp_path).load()
    assert logistic.cost(n=10_000, p=100).workspace == library["logistic"].workspace_bytes(n=10_000, p=100) > 0


def test_each_kind_of_work_takes_time() -> None:
    from aotensor.api.cost.limits import Limits

    machine = Machine(Limits(1e10, 1e11, 1e11, 1e8), ((1e3, 1e11), (1e8, 1e10)), ((1e4, 1e9), (1e8, 1e8)), 1e-7)
    nothing = machine.times(0.0, 0.0, {})
    assert set(nothing.values()) == {0.0}
    for kind, name in (("f64", "arithmetic"), ("bytes", "loads"), ("gathers", "places"), ("lapack", "arithmetic")):
        found = machine.times(0.0, 0.0, {kind: 1e9})
        assert found[name] > 0 and sum(found.values()) == found[name]
    assert machine.times(0.0, 1e8, {"gathers": 1e6})["places"] == pytest.approx(1e-2)
    assert machine.times(0.0, 1e3, {"gathers": 1e6})["places"] == pytest.approx(1e-3)
    assert machine.times(1e8, 0.0, {})["memory"] == pytest.approx(1e-2)


def test_what_depends_on_values_is_a_lower_bound() -> None:
    A, B = (sp.csr_matrix(name, dtype="float64", shape=("n", "n")) for name in "AB")
    f = aot.function([A, B], sp.dot(A, B), name="f")
    cost = f.cost(n=100, A_nnz=500, B_nnz=500)
    assert not cost.is_exact and "at least" in str(cost)


def test_it_shows_itself(logistic: aot.Function) -> None:
    cost = logistic.cost(n=1000, p=10, num_threads=1)
    assert "n=1000, p=10" in str(cost) and "1 thread," in str(cost) and f"bound by {cost.bound}" in str(cost)
    assert "<table" in cost._repr_html_() and "logistic" in cost._repr_html_()
    tree = json.loads(json.dumps(cost.to_json()))
    assert tree["sizes"] == {"n": 1000, "p": 10} and tree["flops"] == cost.flops


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ({"n": 1}, GraphValueError, "logistic: the cost depends on the dims p"),
        ({"n": 1, "p": 2, "q": 3}, GraphValueError, "logistic has no dim q"),
        ({"n": -1, "p": 2}, GraphValueError, "the extent n is negative"),
        ({"n": 1.5, "p": 2}, GraphTypeError, "n must be an extent, a whole number, not 1.5"),
        ({"n": True, "p": 2}, GraphTypeError, "n must be an extent, a whole number, not True"),
        ({"n": 1, "p": 2, "num_threads": 0}, GraphValueError, "num_threads must be a number from 1"),
    ],
)
def test_wrong_sizes(logistic: aot.Function, sizes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        logistic.cost(**sizes)


def test_numpy_integers_are_extents(logistic: aot.Function) -> None:
    assert logistic.cost(n=np.int64(10), p=np.int32(3)).sizes == {"n": 10, "p": 3}  # type: ignore[arg-type]


def test_windows_in_fewer_elements_than_they_take_are_nothing() -> None:
    x = at.vector("x", shape=("n",))
    f = aot.function([x], x[2:] * x[1:-1] + x[:-2], name="f")
    assert f.cost(n=0, num_threads=1).flops == 0 < (f.cost(n=100, num_threads=1).flops or 0)

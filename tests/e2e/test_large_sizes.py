"""Sizes that 63 bits do not count: refused, whatever a product or a sum of them wraps to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.core.types import MAX_ELEMENTS
from aotensor.errors import GraphValueError
from aotensor.graph.variable import Variable
from aotensor.ops.ranges import range_length

V, LARGEST = np.arange(6.0), 2**63 - 1
WRAPPING = (6 + 2**64) // 11
"""11 times this is 6 in 64 bits."""

PROGRAMS: dict[str, Callable[..., Variable]] = {
    "reshape": lambda x, a, b: at.reshape(x, (a, b))[:, :3].sum(axis=1),
    "reshape-three": lambda x, a, b: at.reshape(x, (a, b, 1))[:2],
    "alloc": lambda x, a, b: at.alloc(x[0], a, b).sum(),
    "alloc-part": lambda x, a, b: at.alloc(x[0], a, b)[:1, :1],
    "alloc-known": lambda x, a, b: at.alloc(x[0], a, 4, b)[:1, 0, :1],
    "broadcast": lambda x, a, b: at.broadcast_to(x, (a, b, 6)).sum(),
    "tile": lambda x, a, b: at.tile(x, (a, b))[:1, :1],
    "repeat": lambda x, a, b: at.repeat(at.repeat(x, a), b)[:1],
    "outer": lambda x, a, b: at.outer(at.arange(a), at.arange(b)).sum() + x[0],
    "join": lambda x, a, b: at.concatenate([at.zeros(a), at.zeros(b), x])[:1],
    "flat": lambda x, a, b: at.alloc(x[0], a, b).flatten()[:1],
    "sums": lambda x, a, b: at.alloc(x[0], a, b).sum(axis=0)[:1],
    "scan": lambda x, a, b: aot.scan(lambda y: y + 1, outputs_info=[at.zeros(a)], n_steps=b)[0][:1, :1] + x[0],
}
SIZES = [(11, WRAPPING), (WRAPPING, 11), (2**32, 2**32), (2**62, 4), (2**62, 2**62), (LARGEST, LARGEST), (2**60, 1)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_and_sums_of_sizes_do_not_wrap(name: str) -> None:
    x, a, b = at.vector("x"), at.lscalar("a"), at.lscalar("b")
    f = aot.function([x, a, b], PROGRAMS[name](x, a, b), name="sized")
    np.testing.assert_array_equal(f(V, 2, 3), f.reference(V, 2, 3))
    for sizes in SIZES:
        with pytest.raises((ValueError, MemoryError), match=r"too many|do not fit|too large to address|no memory"):
            f(V, *sizes)


@pytest.mark.parametrize("bounds", [(0, 10, LARGEST), (-LARGEST - 1, LARGEST, LARGEST), (0, -5, -LARGEST - 1),
                                    (LARGEST - 2, LARGEST, 5), (LARGEST, -LARGEST, -LARGEST), (3, 3, -1)])  # fmt: skip
def test_ranges_near_the_ends_of_int64(bounds: tuple[int, int, int]) -> None:
    given = [at.lscalar(name) for name in ("start", "stop", "step")]
    f = aot.function(given, at.arange(*given), name="ranged")
    np.testing.assert_array_equal(f(*bounds), np.array(list(range(*bounds)), "int64"))
    np.testing.assert_array_equal(f.reference(*bounds), np.array(list(range(*bounds)), "int64"))


@pytest.mark.parametrize("bounds", [(-LARGEST - 1, LARGEST, 1), (0, LARGEST, 2), (LARGEST, -LARGEST - 1, -1)])
def test_ranges_that_are_too_long(bounds: tuple[int, int, int]) -> None:
    given = [at.lscalar(name) for name in ("start", "stop", "step")]
    f = aot.function(given, at.arange(*given)[:1], name="ranged")
    assert range_length(*bounds) > MAX_ELEMENTS
    with pytest.raises(ValueError, match="elements or more are too many"):
        f(*bounds)


def test_types_have_a_largest_size() -> None:
    for shape in ((2**40, 2**40), (2**60,), (0, 2**31, 2**31), (2**32, "n", 2**32)):
        with pytest.raises(GraphValueError, match="too large"):
            at.tensor("x", dtype="float64", shape=shape)
    with pytest.raises(GraphValueError, match=r"alloc: float64\[1099511627776, 1099511627776\] is too large"):
        at.zeros((2**40, 2**40))
    x = at.tensor("x", dtype="float64", shape=(2**30, 2**29))
    with pytest.raises(GraphValueError, match="too large"):
        at.outer(x[:, 0], x[:, 0]) @ x[:, :3]
    assert at.tensor("x", dtype="float64", shape=(2**30, 2**29, None)).ndim == 3


def test_one_element_as_many() -> None:
    """An array that NumPy repeats by strides of 0 is copied, if at all."""
    x = at.tensor("x", dtype="int8", shape=("n", "m"))
    f = aot.function([x], x[:1, :1], name="first")
    for shape in ((2**31, 2**31), (2**61, 1)):
        with pytest.raises((ValueError, MemoryError), match="x"):
            f(np.broadcast_to(np.int8(1), shape))


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_sparse_matrices_have_a_largest_size(format: str) -> None:
    """Positions in the flat matrix are int64 numbers: rows times columns must not wrap."""
    A = sp.matrix(format, "A", dtype="float64", index_dtype="int64")
    f = aot.function([A], sp.sp_sum(A), name="total")

    def matrix(minor: int) -> Any:
        shape = (3, minor) if format == "csr" else (minor, 3)
        kind: Any = ss.csr_array if format == "csr" else ss.csc_array
        return kind((np.ones(2), np.array([0, minor - 1]), np.array([0, 1, 2, 2])), shape=shape)

    assert f(matrix(2**58)) == 2.0
    with pytest.raises(ValueError, match="total: A is too large to address"):
        f(matrix(2**59))

"""Sparse arguments are looked at on several cores: the same answer and the same message for every number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
import aotensor_runtime as runtime
from aotensor.codegen.targets.linkage import read_linkage
from aotensor_runtime.elf import ElfFile

THREADS = (1, 2, 3, 7)
DTYPES = ("int32", "int64")


@pytest.fixture(scope="module", params=[True, False], ids=["threads", "no threads"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> runtime.Library:
    """Products by matrices with indices of either width."""
    functions = []
    for kind in DTYPES:
        A = sp.csr_matrix("A", shape=("n", "p"), index_dtype=kind)
        functions.append(aot.function([A, x := at.vector("x", shape=("p",))], A @ x, name=f"product_{kind}"))
    folder = tmp_path_factory.mktemp("products")
    return aot.compile(functions, folder, name="products", threads=request.param).load()


def random(n: int, p: int, count: int, kind: str = "int32") -> Any:
    rng = np.random.default_rng(7)
    places = np.unique(rng.integers(0, n * p, count)) if count else np.zeros(0, "int64")
    found = ss.csr_array((rng.normal(size=len(places)), (places // p, places % p)), (n, p))
    found.indices, found.indptr = found.indices.astype(kind), found.indptr.astype(kind)
    return found


def answer(library: runtime.Library, A: Any, kind: str, count: int) -> Any:
    """The product, or what is said instead."""
    f = library.functions[f"product_{kind}"]
    try:
        return f(A, np.arange(float(A.shape[1])), num_threads=count).tobytes()
    except (IndexError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


SHAPES = [(1, 5, 0), (1, 1, 1), (3, 3, 9), (300_000, 7, 3), (5, 400_000, 300_000), (60_000, 500, 400_000)]
"""Rows, columns, entries: few, many empty rows, a few heavy rows, many short ones."""


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("is_sorted", [True, False], ids=["sorted", "one row is not"])
def test_what_is_valid(library: runtime.Library, shape: tuple[int, int, int], kind: str, is_sorted: bool) -> None:
    A = random(*shape, kind=kind)
    x = np.arange(float(A.shape[1]))
    expected = A @ x
    if not is_sorted:
        longest = int(np.argmax(np.diff(A.indptr)))
        row = slice(A.indptr[longest], A.indptr[longest + 1])
        A.indices[row], A.data[row] = A.indices[row][::-1].copy(), A.data[row][::-1].copy()
    first, *others = (answer(library, A, kind, count) for count in THREADS)
    assert others == [first] * len(others)
    np.testing.assert_allclose(np.frombuffer(first), expected, rtol=1e-12, atol=1e-9 * np.abs(expected).max(initial=1))


def _index(*places: int) -> Callable[[Any], None]:
    def damage(A: Any) -> None:
        A.indices[list(places)] = A.shape[1] + 3

    return damage


def _pointer(place: int, value: int) -> Callable[[Any], None]:
    def damage(A: Any) -> None:
        A.indptr[place] = value

    return damage


DAMAGE: list[tuple[Callable[[Any], None], str]] = [
    (_index(0), "IndexError: product: A: row 0 has column 503, but there are 500 columns"),
    (_index(-1), "IndexError: product: A: row 59999 has column 503, but there are 500 columns"),
    (_index(390_000, 200_000, 200_001), "IndexError: product: A: row ROW has column 503, but there are 500 columns"),
    (_pointer(30_000, 2**31 - 1), "ValueError: product: A: indptr decreases at row 30000, from 2147483647 to NEXT"),
    (_pointer(45_000, -(2**31)), "ValueError: product: A: indptr decreases at row 44999, from BEFORE to -2147483648"),
    (_pointer(0, 1), "ValueError: product: A: indptr starts with 1, expected 0"),
    (_pointer(-1, 5), "ValueError: product: A: indptr ends with 5, but there are COUNT stored entries"),
]


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize(("damage", "text"), DAMAGE)
def test_the_first_fault_is_told(library: runtime.Library, damage: Callable[[Any], None], text: str, kind: str) -> None:
    A = random(60_000, 500, 400_000, kind)
    words = {
        "product": f"product_{kind}", "ROW": np.searchsorted(A.indptr, 200_000, "right") - 1, "COUNT": A.nnz,
        "NEXT": A.indptr[30_001], "BEFORE": A.indptr[44_999],
    }  # fmt: skip
    damage(A)
    if A.indptr[-1] == 5:  # what falls comes before what does not fit
        text = f"ValueError: product: A: indptr decreases at row 59999, from {A.indptr[-2]} to 5"
    for word, value in words.items():
        text = text.replace(word, str(value))
    found = {answer(library, A, kind, count) for count in THREADS}
    assert found == {"Argument" + text}


def test_a_library_without_threads_wants_none(library: runtime.Library, request: pytest.FixtureRequest) -> None:
    wanted = {name for name in read_linkage(ElfFile(library.data)).undefined if name.startswith("pthread_")}
    assert bool(wanted) == (request.node.callspec.params["library"])

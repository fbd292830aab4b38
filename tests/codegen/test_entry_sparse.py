"""Sparse matrices as C passes them: structs and arrays, what is refused before any kernel, canonical form, results."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss
from sparse_harness import sparse_library

from aotensor.codegen.library import write_library
from aotensor_runtime.abi import CANONICAL, DTYPE_CODES, Array, Context, Sparse, Status

AnyArray = np.ndarray[Any, np.dtype[Any]]
ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
)


@pytest.fixture(scope="module")
def dll(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path, _ = write_library(sparse_library(), tmp_path_factory.mktemp("matrices"))
    return ctypes.CDLL(str(path))


class Struct:
    """An aotensor_sparse with the arrays that it points to, which may be spoilt before the call."""

    def __init__(self, matrix: Any) -> None:
        self.data, self.indices, self.indptr = matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()
        self.c = Sparse(
            self.data.ctypes.data, self.indices.ctypes.data, self.indptr.ctypes.data, len(self.data),
            (ctypes.c_int64 * 2)(*matrix.shape),
            DTYPE_CODES[self.data.dtype.name], DTYPE_CODES[self.indices.dtype.name],
        )  # fmt: skip

    @property
    def address(self) -> Any:
        return ctypes.byref(self.c)


def matrix() -> Any:
    """4 × 5 with an empty row."""
    return ss.csr_matrix(np.array([[0, 1.0, 0, 2, 0], [0, 0, 0, 0, 0], [3, 0, 4, 0, 5], [0, 0, 6, 0, 0]]))


def product(dll: ctypes.CDLL, a: Struct, dims: tuple[int, int] = (4, 5)) -> tuple[int, AnyArray]:
    x, y = np.arange(1.0, 6.0), np.full(4, -1.0)
    n, p = map(ctypes.c_int64, dims)
    status = dll.product(n, p, a.address, ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), None)
    return status, y


def test_typed(dll: ctypes.CDLL) -> None:
    status, y = product(dll, Struct(matrix()))
    assert status == 0 and y.tolist() == (matrix() @ np.arange(1.0, 6.0)).tolist()


def test_workspace_counts_entries(dll: ctypes.CDLL) -> None:
    dll.product_workspace.restype = ctypes.c_int64
    sizes = [ctypes.c_int64(n) for n in (4, 5, 6)]
    assert dll.product_workspace(*sizes) == 6 + (4 + 1) + 64  # this kernel wants A_nnz + A_indptr_0 bytes
    assert dll.product_workspace(ctypes.c_int64(4), ctypes.c_int64(5), ctypes.c_int64(-1)) == -1


def _write(which: str, place: int, value: int) -> Callable[[Struct], None]:
    def change(a: Struct) -> None:
        getattr(a, which)[place] = value

    return change


def _field(name: str, value: Any) -> Callable[[Struct], None]:
    return lambda a: setattr(a.c, name, value)


def _shape(rows: int, columns: int) -> Callable[[Struct], None]:
    return lambda a: setattr(a.c, "shape", (rows, columns))


MALFORMED = [
    (_write("indptr", 0, 1), Status.BAD_STRUCTURE, "A: indptr starts with 1, expected 0"),
    (_write("indptr", 0, -1), Status.BAD_STRUCTURE, "A: indptr starts with -1, expected 0"),
    (_write("indptr", 4, 5), Status.BAD_STRUCTURE, "A: indptr ends with 5, but there are 6 stored entries"),
    (_write("indptr", 4, 7), Status.BAD_STRUCTURE, "A: indptr ends with 7, but there are 6 stored entries"),
    (_write("indptr", 2, 0), Status.BAD_STRUCTURE, "A: indptr decreases at row 1, from 2 to 0"),
    (_write("indptr", 2, 2**31 - 1), Status.BAD_STRUCTURE, "A: indptr decreases at row 2, from 2147483647 to 5"),
    (_write("indptr", 1, -(2**31)), Status.BAD_STRUCTURE, "A: indptr decreases at row 0, from 0 to -2147483648"),
    (_write("indices", 2, 5), Status.BAD_INDEX, "A: row 2 has column 5, but there are 5 columns"),
    (_write("indices", 0, -1), Status.BAD_INDEX, "A: row 0 has column -1, but there are 5 columns"),
    (_write("indices", 5, 2**31 - 1), Status.BAD_INDEX, "A: row 3 has column 2147483647, but there are 5 columns"),
    (_write("indices", 5, -(2**31)), Status.BAD_INDEX, "A: row 3 has column -2147483648, but there are 5 columns"),
]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        *((change, status) for change, status, _ in MALFORMED),
        (_field("nnz", -1), Status.NEGATIVE),
        (_field("nnz", 2**61), Status.TOO_LARGE),
        (_field("nnz", 5), Status.BAD_STRUCTURE),
        (_field("data", None), Status.NULL_POINTER),
        (_field("indices", None), Status.NULL_POINTER),
        (_field("indptr", None), Status.NULL_POINTER),
        (_field("dtype", DTYPE_CODES["float32"]), Status.WRONG_DTYPE),
        (_field("index_dtype", DTYPE_CODES["int64"]), Status.WRONG_DTYPE),
        (_shape(3, 5), Status.WRONG_EXTENT),
        (_shape(4, 6), Status.WRONG_EXTENT),
        (_shape(-4, 5), Status.WRONG_EXTENT),
    ],
)
def test_typed_refusals(dll: ctypes.CDLL, change: Callable[[Struct], None], status: int) -> None:
    a = Struct(matrix())
    change(a)
    found, y = product(dll, a)
    assert found == status and (y == -1).all()


def test_other_typed_refusals(dll: ctypes.CDLL) -> None:
    assert product(dll, Struct(matrix()), (-4, 5))[0] == Status.NEGATIVE
    y = np.zeros(4)
    address = ctypes.c_void_p(y.ctypes.data)
    assert dll.product(ctypes.c_int64(4), ctypes.c_int64(5), None, address, address, None) == Status.NULL_POINTER


def _context(flags: int = 0) -> tuple[Context, Any]:
    text = ctypes.create_string_buffer(200)
    context = Context(ctypes.sizeof(Context), flags=flags)
    context.message, context.message_size = ctypes.addressof(text), 200
    return context, text


def _array(keep: list[Any], data: AnyArray | None, shape: tuple[int, ...], dtype: str) -> Array:
    extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    keep += [data, extents]
    address = None if data is None else data.ctypes.data
    return Array(address, ctypes.addressof(extents), None, len(shape), DTYPE_CODES[dtype])


def uniform(dll: ctypes.CDLL, a: Struct, flags: int = 0, pointers: int = 5) -> tuple[int, str, AnyArray]:
    keep: list[Any] = []
    x, y = np.arange(1.0, 6.0), np.full(4, -1.0)
    inputs = (Array * 5)(
        _array(keep, None, (4, 5), "bool"),
        *(_array(keep, part, (len(part),), part.dtype.name) for part in (a.data, a.indices)),
        _array(keep, a.indptr, (pointers,), "int32"),
        _array(keep, x, (5,), "float64"),
    )
    outputs = (Array * 1)(_array(keep, y, (4,), "float64"))
    context, text = _context(flags)
    status = dll.product_call(ctypes.byref(context), inputs, outputs)
    return status, text.value.decode(), y


def test_uniform(dll: ctypes.CDLL) -> None:
    status, text, y = uniform(dll, Struct(matrix()))
    assert (status, text) == (0, "") and y.tolist() == (matrix() @ np.arange(1.0, 6.0)).tolist()


@pytest.mark.parametrize(("change", "status", "text"), MALFORMED)
def test_uniform_refusals(dll: ctypes.CDLL, change: Callable[[Struct], None], status: int, text: str) -> None:
    a = Struct(matrix())
    change(a)
    found, message, y = uniform(dll, a)
    assert (found, message) == (status, f"product: {text}") and (y == -1).all()


def test_lengths_that_do_not_go_together(dll: ctypes.CDLL) -> None:
    a = Struct(matrix())
    text = "product: A.indptr has 4 elements, expected 5 for 4 rows"
    assert uniform(dll, a, pointers=4)[:2] == (Status.WRONG_EXTENT, text)
    a.indices = a.indices[:5]
    text = "product: dim A_nnz of A.indices is 5, but A.data has A_nnz = 6"
    assert uniform(dll, a)[:2] == (Status.WRONG_EXTENT, text)


def test_who_says_canonical_is_believed(dll: ctypes.CDLL) -> None:
    a = Struct(matrix())
    a.indptr[0] = 1  # a wrong one that this kernel survives
    assert uniform(dll, a, CANONICAL)[0] == 0
    assert uniform(dll, a)[0] == Status.BAD_STRUCTURE


PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)

ORDERS: dict[str, Callable[[int], list[int]]] = {
    "backwards": lambda count: list(range(count))[::-1],
    "twice": lambda count: [*range(count), *range(count)],
    "the last one only": lambda count: [count - 1],
    "none": lambda count: [],
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("is_valid", [True, False], ids=["valid", "damaged"])
def test_threads_of_the_caller_look_at_large_matrices(
    dll: ctypes.CDLL, order: Callable[[int], list[int]], is_valid: bool
) -> None:
    n, p, count = 50_000, 5, 250_000
    indices, indptr = np.tile(np.arange(5, dtype="int32"), n), np.arange(0, count + 1, 5, dtype="int32")
    x, y, keep = np.ones(p), np.full(n, -1.0), list[Any]()
    if not is_valid:
        indices[[200_003, 100_002]] = 5
    asked: list[int] = []

    def run(_: int, chunks: int, task: int, argument: int) -> None:
        asked.append(chunks)
        for k in order(chunks):
            TASK(task)(argument, k)

    context, text = _context()
    callback = PARALLEL(run)
    context.num_threads, context.parallel_for = 4, ctypes.cast(callback, ctypes.c_void_p).value
    inputs = (Array * 5)(
        _array(keep, None, (n, p), "bool"),
        _array(keep, np.ones(count), (count,), "float64"),
        _array(keep, indices, (count,), "int32"),
        _array(keep, indptr, (n + 1,), "int32"),
        _array(keep, x, (p,), "float64"),
    )
    outputs = (Array * 1)(_array(keep, y, (n,), "float64"))
    status = dll.product_call(ctypes.byref(context), inputs, outputs)
    assert asked == [4]
    if is_valid:
        assert status == 0 and (y == 5).all()
    else:
        assert (status, text.value.decode()) == (
            Status.BAD_INDEX, "product: A: row 20000 has column 5, but there are 5 columns",
        )  # fmt: skip
        assert (y == -1).all()


class Memory:
    """An allocator that remembers what it was asked for."""

    def __init__(self, limit: int = 10) -> None:
        self.blocks: dict[int, AnyArray] = {}
        self.limit = limit
        self.callback = ALLOCATE(self._give)

    def _give(self, _: int, number: int, size: int, shape: Any) -> int | None:
        if len(self.blocks) == self.limit:
            return None
        block = np.zeros(size, "u1")
        self.blocks[number] = block
        assert shape[0] * (8 if number == 1 else 4) == size
        return int(block.ctypes.data)


def twice(dll: ctypes.CDLL, a: Struct, result: Sparse, memory: Memory | None) -> tuple[int, str, float]:
    context, text = _context()
    if memory is not None:
        context.allocate = ctypes.cast(memory.callback, ctypes.c_void_p).value
    total = ctypes.c_double(-1)
    n, p = a.c.shape
    sizes = ctypes.c_int64(n), ctypes.c_int64(p)
    address = ctypes.byref(result)
    status = dll.twice(ctypes.byref(context), *sizes, a.address, address, ctypes.byref(total), None)
    return status, text.value.decode(), total.value


def _as_scipy(s: Sparse) -> Any:
    rows, columns = s.shape
    parts = (
        np.ctypeslib.as_array((kind * count).from_address(place)) if count else np.zeros(0, kind)
        for place, count, kind in (
            (s.data, s.nnz, ctypes.c_double),
            (s.indices, s.nnz, ctypes.c_int32),
            (s.indptr, rows + 1, ctypes.c_int32),
        )
    )
    return ss.csr_matrix(tuple(parts), shape=(rows, columns))


def test_typed_sparse_output(dll: ctypes.CDLL) -> None:
    memory, result = Memory(), Sparse(data=1, indices=1)  # what stands there is overwritten
    status, _, total = twice(dll, Struct(matrix()), result, memory)
    assert status == 0 and total == 21
    assert sorted(memory.blocks) == [1, 2, 3]
    assert (result.nnz, tuple(result.shape)) == (6, (4, 5))
    assert (result.dtype, result.index_dtype) == (DTYPE_CODES["float64"], DTYPE_CODES["int32"])
    assert abs(_as_scipy(result) - 2 * matrix()).max() == 0


def test_typed_sparse_output_without_entries(dll: ctypes.CDLL) -> None:
    for shape in ((3, 2), (0, 2), (0, 0), (2, 0)):
        memory, result = Memory(), Sparse()
        status, _, total = twice(dll, Struct(ss.csr_matrix(shape)), result, memory)
        assert (status, total, result.nnz, tuple(result.shape)) == (0, 0, 0, shape)
        assert sorted(memory.blocks) == [3] and result.data is None


def test_typed_sparse_output_in_two_steps(dll: ctypes.CDLL) -> None:
    result, a = Sparse(), Struct(matrix())
    status, text, total = twice(dll, a, result, None)
    needed = "twice: output S.indptr has no data, and the context has no allocate"
    assert (status, text, total) == (Status.OUTPUTS_NEEDED, needed, -1)
    assert result.nnz == 6 and tuple(result.shape) == (4, 5)
    rooms = np.zeros(6), np.zeros(6, "i4"), np.zeros(5, "i4")
    result.data, result.indices, result.indptr = (room.ctypes.data for room in rooms)
    assert twice(dll, a, result, None)[0] == 0
    assert abs(_as_scipy(result) - 2 * matrix()).max() == 0
    result.nnz = 7
    text = "twice: output S has room for 7 stored entries, expected 6"
    assert twice(dll, a, result, None)[:2] == (Status.WRONG_EXTENT, text)
    result.nnz, result.data = 6, None
    assert twice(dll, a, result, None)[:2] == (Status.NULL_POINTER, "twice: S.data is NULL")


def test_typed_sparse_output_without_memory(dll: ctypes.CDLL) -> None:
    for limit in range(3):
        status, text, total = twice(dll, Struct(matrix()), Sparse(), Memory(limit))
        assert status == Status.NO_MEMORY and total == -1
        assert text.startswith("twice: no memory for ") and text.endswith(
            f"of S.{('data', 'indices', 'indptr')[limit]}"
        )


def _shuffled(rng: np.random.Generator, shape: tuple[int, int], longest: int) -> Any:
    """A matrix with entries in any order, some of them several times; the values are whole numbers."""
    counts = rng.integers(0, longest + 1, shape[0]) if shape[1] else np.zeros(shape[0], int)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype("i4")
    indices = rng.integers(0, max(shape[1], 1), indptr[-1]).astype("i4")
    return ss.csr_matrix((rng.integers(-9, 9, indptr[-1]).astype(float), indices, indptr), shape=shape)


@pytest.mark.parametrize(("shape", "longest"), [((1, 3), 2), ((5, 4), 3), ((9, 2), 17), ((40, 300), 100), ((3, 0), 4)])
def test_entries_in_any_order(dll: ctypes.CDLL, rng: np.random.Generator, shape: tuple[int, int], longest: int) -> None:
    for _ in range(20):
        given, result, memory = _shuffled(rng, shape, longest), Sparse(), Memory()
        a = Struct(given)
        assert twice(dll, a, result, memory)[0] == 0
        expected = given.copy()
        expected.sum_duplicates()
        found = _as_scipy(result)
        assert found.indices.tolist() == expected.indices.tolist()
        assert found.indptr.tolist() == expected.indptr.tolist()
        assert found.data.tolist() == (2 * expected.data).tolist()
        assert a.data.tolist() == given.data.tolist() and a.indices.tolist() == given.indices.tolist()

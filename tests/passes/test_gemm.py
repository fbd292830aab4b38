"""The built-in matrix product: every shape and transpose, on vectors of every length, with BLAS and without."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from aotensor.codegen.blas_call import define_blas_calls
from aotensor.codegen.emit import emit_module
from aotensor.codegen.llvm import binding
from aotensor.codegen.machine import Machine
from aotensor.ir.loop_builder import memref_type_of
from aotensor.ir.types import element_type, i1, i8
from aotensor.passes.gemm.dispatch import BLAS_PREFIX, add_gemm_kernels
from aotensor_runtime.abi import Blas, context
from aotensor_runtime.blas import blas_table

MLIR_OPT = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
SUFFIXES = {"float32": "f32", "float64": "f64"}
SIZES = (0, 1, 2, 3, 7, 16, 17, 100, 129, 300)
LARGEST_OF_MANY = 100_000  # multiply-adds of one product, where there are hundreds
BIG = (130, 130, 130)  # more multiply-adds than BLAS is asked for

FLAGS = ((False, False), (False, True), (True, False), (True, True))  # transpose A, transpose B

Matrix = np.ndarray[Any, np.dtype[Any]]


def declared(*dtypes: str) -> ModuleOp:
    """A module that calls the product, and the function that tries BLAS: `@product.f64`, `@blas.f64`."""
    module = ModuleOp([])
    for dtype in dtypes:
        suffix, matrix = SUFFIXES[dtype], memref_type_of(element_type(dtype), [None, None])
        arguments = [i1, i1, matrix, matrix, matrix, memref_type_of(i8, [1])]
        module.body.block.add_op(func.FuncOp.external(f"aot_gemm.{suffix}", arguments, []))
        targets = {f"product.{suffix}": (f"aot_gemm.{suffix}", []), f"blas.{suffix}": (f"{BLAS_PREFIX}.{suffix}", [i1])}
        for symbol, (callee, results) in targets.items():
            op = func.FuncOp(symbol, (arguments, results))
            b = Builder(InsertPoint.at_end(op.body.block))
            call = b.insert(func.CallOp(callee, list(op.body.block.args), results))
            b.insert(func.ReturnOp(*call.results))
            module.body.block.add_op(op)
    return module


def defined(*dtypes: str, vector_bytes: int = 32) -> ModuleOp:
    module = declared(*dtypes)
    add_gemm_kernels(module, vector_bytes)
    module.verify()
    return module


class Product:
    """The compiled product: `c = multiply(a, b, transpose_a, transpose_b)`."""

    def __init__(self, width: int) -> None:
        machine = Machine.host()
        exported = [f"{name}.{suffix}" for name in ("product", "blas") for suffix in SUFFIXES.values()]
        module = emit_module(defined(*SUFFIXES, vector_bytes=width), machine, exported=exported)
        define_blas_calls(module)
        self._engine = binding.create_mcjit_compiler(machine.optimise(module), machine.target_machine())
        self._engine.finalize_object()
        matrix = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
        signature = [ctypes.c_bool, ctypes.c_bool, *matrix * 3, ctypes.c_void_p]
        results = {"product": None, "blas": ctypes.c_bool}
        self.functions = {
            symbol: ctypes.CFUNCTYPE(results[symbol.split(".")[0]], *signature)(
                self._engine.get_function_address(symbol)
            )
            for symbol in exported
        }

    def __call__(self, a: Matrix, b: Matrix, transpose_a: bool, transpose_b: bool, blas: Blas | None = None) -> Matrix:
        shape = a.shape[1 if transpose_a else 0], b.shape[0 if transpose_b else 1]
        return self.into(np.full(shape, np.nan, a.dtype), a, b, transpose_a, transpose_b, blas)

    def into(self, c: Matrix, a: Matrix, b: Matrix, *flags: bool | Blas | None) -> Matrix:
        transpose_a, transpose_b, blas = flags
        function = self.functions[f"product.{SUFFIXES[a.dtype.name]}"]
        function(transpose_a, transpose_b, *memref(a), *memref(b), *memref(c), address(blas))
        return c


def memref(x: Matrix) -> tuple[int | None, int, int]:
    assert x.flags.c_contiguous
    return x.ctypes.data if x.size else None, *x.shape


def address(blas: Any) -> int | None:
    """Of a context that has the table, which keeps it."""
    if blas is None:
        return None
    blas.context = context(ctypes.addressof(blas))
    return ctypes.addressof(blas.context)


@cache
def compiled(width: int) -> Product:
    return Product(width)


@pytest.fixture(params=[16, 32, 64])
def multiply(request: pytest.FixtureRequest) -> Product:
    return compiled(request.param)


@pytest.fixture
def native() -> Product:
    return compiled(Machine.host().vector_bits // 8)


def integers(rng: np.random.Generator, dtype: str, shape: tuple[int, int], is_transposed: bool) -> Matrix:
    """Small integers, whose products and sums every dtype has exactly."""
    return rng.integers(-8, 9, shape[::-1] if is_transposed else shape).astype(dtype)


def operands(
    rng: np.random.Generator, dtype: str, extents: tuple[int, int, int], flags: tuple[bool, bool]
) -> tuple[Matrix, Matrix, Matrix]:
    """A and B as stored, and op(A)·op(B)."""
    m, n, k = extents
    a, b = integers(rng, dtype, (m, k), flags[0]), integers(rng, dtype, (k, n), flags[1])
    return a, b, (a.T if flags[0] else a) @ (b.T if flags[1] else b)


def cases(largest: int) -> Iterator[tuple[tuple[int, int, int], tuple[bool, bool]]]:
    for m, n, k in product(SIZES, repeat=3):
        if m * n * k <= largest:
            yield from (((m, n, k), flags) for flags in FLAGS)


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SUFFIXES)
def test_all_shapes_and_transposes(multiply: Product, rng: np.random.Generator, dtype: str) -> None:
    for extents, flags in cases(LARGEST_OF_MANY):
        a, b, expected = operands(rng, dtype, extents, flags)
        np.testing.assert_array_equal(multiply(a, b, *flags), expected, err_msg=f"{extents} {flags}")


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("extents", [(300, 129, 300), (129, 300, 1030), (13, 200, 1030), (500, 10, 600), (10, 500, 600),
                                     (2, 3100, 40), (250, 3100, 5)])  # fmt: skip
@pytest.mark.parametrize("dtype", SUFFIXES)
def test_several_blocks(
    multiply: Product, rng: np.random.Generator, dtype: str, extents: tuple[int, int, int], flags: tuple[bool, bool]
) -> None:
    a, b, expected = operands(rng, dtype, extents, flags)
    np.testing.assert_array_equal(multiply(a, b, *flags), expected)


@pytest.mark.parametrize("extents", [(40, 50, 700), (200, 90, 700), (1, 60, 700), (60, 1, 700), (7, 9, 31)])
@pytest.mark.parametrize("dtype", SUFFIXES)
def test_rounding(multiply: Product, rng: np.random.Generator, dtype: str, extents: tuple[int, int, int]) -> None:
    """|fl(A·B) − A·B| ≤ k·u·|A|·|B|, whatever the order of summation (Higham 2002, section 3.5)."""
    m, n, k = extents
    for transpose_a, transpose_b in FLAGS:
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        left, right = (np.ascontiguousarray(x.T) if flag else x for x, flag in ((a, transpose_a), (b, transpose_b)))
        exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
        bound = 1.01 * k * np.finfo(dtype).eps / 2 * (np.abs(a).astype(np.longdouble) @ np.abs(b))
        assert np.all(np.abs(multiply(left, right, transpose_a, transpose_b) - exact) <= bound)


@pytest.mark.parametrize("extents", [(5, 7, 9), (100, 20, 300), (150, 130, 150), (1, 30, 60), (30, 1, 60), (6, 90, 90)])
@pytest.mark.parametrize("dtype", SUFFIXES)
def test_same_bits_wherever_the_operands_lie(
    native: Product, rng: np.random.Generator, dtype: str, extents: tuple[int, int, int]
) -> None:
    def moved(x: Matrix, offset: int) -> Matrix:
        room = np.empty(x.size + offset, x.dtype)
        room[offset:] = x.ravel()
        return room[offset:].reshape(x.shape)

    m, n, k = extents
    for flags in FLAGS:
        a = rng.standard_normal((k, m) if flags[0] else (m, k)).astype(dtype)
        b = rng.standard_normal((n, k) if flags[1] else (k, n)).astype(dtype)
        first = native(a, b, *flags)
        for offset in (1, 2, 5):
            np.testing.assert_array_equal(native(moved(a, offset), moved(b, 3 * offset), *flags), first)


@pytest.mark.parametrize("extents", [(3, 5, 7), (17, 33, 200), (129, 131, 140), (1, 33, 20), (33, 1, 20), (0, 4, 3)])
def test_nothing_else_is_written(multiply: Product, rng: np.random.Generator, extents: tuple[int, int, int]) -> None:
    m, n, _ = extents
    margin = 64  # elements, more than one vector
    for dtype, flags in product(SUFFIXES, FLAGS):
        a, b, expected = operands(rng, dtype, extents, flags)
        before = a.copy(), b.copy()
        room = np.full(m * n + 2 * margin, 77.0, dtype)
        multiply.into(room[margin : margin + m * n].reshape(m, n), a, b, *flags, None)
        np.testing.assert_array_equal(room[margin : margin + m * n].reshape(m, n), expected)
        assert np.all(room[:margin] == 77.0) and np.all(room[margin + m * n :] == 77.0)
        np.testing.assert_array_equal(a, before[0])
        np.testing.assert_array_equal(b, before[1])


@pytest.mark.parametrize("extents", [(4, 6, 5), (40, 33, 300), (140, 130, 150)])
def test_nan_and_infinity_stay_in_their_rows(
    native: Product, rng: np.random.Generator, extents: tuple[int, int, int]
) -> None:
    m, _, k = extents
    for flags in FLAGS:
        a, b, expected = operands(rng, "float64", extents, flags)
        index = (k // 2, m - 1) if flags[0] else (m - 1, k // 2)
        a[index] = np.nan
        result = native(a, b, *flags)
        assert np.all(np.isnan(result[m - 1]))
        np.testing.assert_array_equal(result[: m - 1], expected[: m - 1])


# --- BLAS ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SUFFIXES)
def test_blas_of_scipy(native: Product, rng: np.random.Generator, dtype: str) -> None:
    table = blas_table()
    assert table.sgemm and table.dgemm
    function = native.functions[f"blas.{SUFFIXES[dtype]}"]
    for extents, flags in cases(5_000):
        if 0 not in extents:
            a, b, expected = operands(rng, dtype, extents, flags)
            c = np.full(expected.shape, np.nan, dtype)
            assert function(*flags, *memref(a), *memref(b), *memref(c), address(table))
            np.testing.assert_array_equal(c, expected, err_msg=f"{extents} {flags}")


class RecordingBlas:
    """A table whose dgemm notes its arguments and writes 1 to the first element of C."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        double, integer = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int32)
        letters = [ctypes.POINTER(ctypes.c_char)] * 2
        kinds: list[Any] = [*letters, *[integer] * 3, double, double, integer, double, integer, double, double, integer]

        def dgemm(*arguments: Any) -> None:
            pointers = {6, 8, 11}
            values = [ctypes.cast(x, ctypes.c_void_p).value if i in pointers else x[0] for i, x in enumerate(arguments)]
            self.calls.append(tuple(values))
            arguments[11][0] = 1.0

        self._entry = ctypes.CFUNCTYPE(None, *kinds)(dgemm)
        self.table = Blas(struct_size=ctypes.sizeof(Blas), dgemm=ctypes.cast(self._entry, ctypes.c_void_p).value)


def test_blas_gets_the_operands_exchanged(native: Product) -> None:
    recorder = RecordingBlas()
    function = native.functions["blas.f64"]
    c = np.zeros((2, 3))
    for transpose_a, transpose_b in FLAGS:
        a, b = np.zeros((5, 2) if transpose_a else (2, 5)), np.zeros((3, 5) if transpose_b else (5, 3))
        assert function(transpose_a, transpose_b, *memref(a), *memref(b), *memref(c), address(recorder.table))
        letters = [b"T" if flag else b"N" for flag in (transpose_b, transpose_a)]
        matrices = [b.ctypes.data, b.shape[1], a.ctypes.data, a.shape[1], 0.0, c.ctypes.data, 3]
        assert recorder.calls[-1] == (*letters, 3, 2, 5, 1.0, *matrices)


def test_blas_is_asked_for_big_products_only(native: Product, rng: np.random.Generator) -> None:
    recorder = RecordingBlas()
    for extents, count in (((16, 16, 16), 0), (BIG, 1), ((1 << 16, 2, 0), 1), ((300, 300, 100), 2)):
        a, b, expected = operands(rng, "float64", extents, (False, False))
        c = native(a, b, False, False, recorder.table)
        assert len(recorder.calls) == count
        if extents == (16, 16, 16):
            np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("spoil", [
    lambda table: None,
    lambda table: Blas(struct_size=Blas.dgemm.offset + 7, dgemm=table.dgemm),
    lambda table: Blas(struct_size=0, dgemm=table.dgemm),
    lambda table: Blas(struct_size=ctypes.sizeof(Blas), sgemm=table.dgemm),
])  # fmt: skip
def test_without_blas_the_own_kernel_serves(
    native: Product, rng: np.random.Generator, spoil: Callable[[Blas], Blas | None]
) -> None:
    recorder = RecordingBlas()
    table = spoil(recorder.table)
    a, b, expected = operands(rng, "float64", BIG, (False, True))
    assert not native.functions["blas.f64"](
        False, True, *memref(a), *memref(b), *memref(np.empty(BIG[:2])), address(table)
    )
    np.testing.assert_array_equal(native(a, b, False, True, table), expected)
    assert not recorder.calls


def test_a_table_that_ends_behind_the_function_is_enough(native: Product) -> None:
    recorder = RecordingBlas()
    recorder.table.struct_size = Blas.dgemm.offset + 8
    x = np.zeros((2, 2))
    assert native.functions["blas.f64"](False, False, *memref(x) * 3, address(recorder.table))


@pytest.mark.parametrize("position", range(6))
def test_extents_beyond_32_bits_are_not_for_blas(native: Product, position: int) -> None:
    recorder = RecordingBlas()
    extents = [2] * 6
    extents[position] = 1 << 31
    matrices = [[None, *extents[i : i + 2]] for i in (0, 2, 4)]
    flat = [x for matrix in matrices for x in matrix]
    assert not native.functions["blas.f64"](False, False, *flat, address(recorder.table))
    assert not recorder.calls


# --- form ------------------------------------------------------------------------------------------------------------


def test_only_what_is_declared_is_defined() -> None:
    module = defined("float32")
    names = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    assert not any(name.endswith(".f64") for name in names)
    assert not names["aot_gemm.f32"].is_declaration and names["aot_blas_gemm.f32"].is_declaration
    text = str(module)
    add_gemm_kernels(module)
    assert str(module) == text
    empty = ModuleOp([])
    add_gemm_kernels(empty)
    assert not list(empty.ops)


def test_same_text_every_time() -> None:
    assert str(defined("float64")) == str(defined("float64"))


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt is not installed")
@pytest.mark.parametrize("width", [16, 32, 64])
def test_upstream_accepts_the_module(width: int) -> None:
    assert MLIR_OPT is not None
    text = str(defined(*SUFFIXES, vector_bytes=width))
    done = subprocess.run([MLIR_OPT], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("dtype", "cpu", "width", "fused"),
    [("float32", "icelake-server", 64, 24), ("float64", "skylake-avx512", 64, 24), ("float64", "haswell", 32, 12)],
)
def test_the_tile_stays_in_registers(dtype: str, cpu: str, width: int, fused: int) -> None:
    """The innermost loop is one FMA per vector of the tile, and loads; nothing goes by way of the stack."""
    machine = Machine.parse("x86_64-unknown-linux-gnu", cpu)
    module = emit_module(defined(dtype, vector_bytes=width), machine, exported=[f"product.{SUFFIXES[dtype]}"])
    define_blas_calls(module)
    loops = innermost_loops(machine.assembly(machine.optimise(module)))
    tile = min((body for body in loops if body.count("vfmadd") == fused), key=len)
    assert "rsp" not in tile and "rbp" not in tile
    assert not re.search(r"vmov\w+\s+%.mm\d+, %.mm\d+", tile)


def innermost_loops(assembly: str) -> Iterator[str]:
    """From a label to a jump back to it, where no other label stands between."""
    lines = assembly.splitlines()
    labels = {line.split(":")[0]: number for number, line in enumerate(lines) if line.startswith(".LBB")}
    for number, line in enumerate(lines):
        jump = re.fullmatch(r"\s+j\w+\s+(\.LBB\w+)", line)
        start = labels.get(jump.group(1), number) if jump else number
        body = lines[start + 1 : number]
        if start < number and not any(text.startswith(".LBB") for text in body):
            yield "\n".join(body)

"""The built-in matrix product: every shape and transpose, on vectors of every length, with BLAS and without."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from gemm_harness import (
    FLAGS,
    LARGEST_OF_MANY,
    SMALL,
    SUFFIXES,
    TARGET,
    Matrix,
    Product,
    cases,
    compiled,
    defined,
    operands,
)
from needs import NEEDS
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp

from aotensor.codegen.calls.blas import define_blas_calls
from aotensor.codegen.emit import emit_module
from aotensor.codegen.machine import Machine
from aotensor.ir.upstream import ParallelOp
from aotensor.passes.gemm.dispatch import add_gemm_kernels

MLIR_OPT = NEEDS["mlir-opt"].path


@pytest.fixture(params=[16, 32, 64])
def multiply(request: pytest.FixtureRequest) -> Product:
    return compiled(request.param)


@pytest.fixture
def native() -> Product:
    return compiled(Machine.host().vector_bits // 8)


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SUFFIXES)
def test_all_shapes_and_transposes(multiply: Product, rng: np.random.Generator, dtype: str) -> None:
    for extents, flags in cases(LARGEST_OF_MANY):
        a, b, expected = operands(rng, dtype, extents, flags)
        np.testing.assert_array_equal(multiply(a, b, *flags), expected, err_msg=f"{extents} {flags}")


BLOCKS = (
    (300, 129, 300), (129, 300, 1030), (13, 200, 1030), (500, 10, 600), (10, 500, 600), (2, 3100, 40), (250, 3100, 5),
    (16, 64, 259), (61, 63, 500), (129, 10, 256), (6, 701, 602),
)  # fmt: skip


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("extents", BLOCKS)
@pytest.mark.parametrize("dtype", SUFFIXES)
def test_several_blocks(
    multiply: Product, rng: np.random.Generator, dtype: str, extents: tuple[int, int, int], flags: tuple[bool, bool]
) -> None:
    a, b, expected = operands(rng, dtype, extents, flags)
    packed = compiled(multiply.width, replace(TARGET, direct_row=0))
    np.testing.assert_array_equal(multiply(a, b, *flags), expected)
    np.testing.assert_array_equal(packed(a, b, *flags), expected)


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("dtype", SUFFIXES)
def test_small_blocks_and_chunks(rng: np.random.Generator, dtype: str, width: int) -> None:
    packed, in_place = (compiled(width, replace(SMALL, direct_row=row)) for row in (0, 1 << 20))
    for extents in ((300, 129, 100), (129, 300, 41), (301, 70, 30), (160, 200, 1), (97, 131, 16), (300, 300, 0)):
        for flags in FLAGS:
            a, b, expected = operands(rng, dtype, extents, flags)
            for multiply in (packed, in_place):
                np.testing.assert_array_equal(multiply(a, b, *flags), expected, err_msg=f"{extents} {flags}")


@pytest.mark.parametrize("dtype", SUFFIXES)
def test_chunks_change_no_bits(native: Product, rng: np.random.Generator, dtype: str) -> None:
    width = Machine.host().vector_bits // 8
    many, one = (compiled(width, replace(TARGET, chunk_work=work)) for work in (1, 1 << 60))
    for m, n, k in ((300, 500, 700), (129, 3100, 300), (1000, 64, 200), (150, 130, 150), (6, 901, 500)):
        for flags in FLAGS:
            a = rng.standard_normal((k, m) if flags[0] else (m, k)).astype(dtype)
            b = rng.standard_normal((n, k) if flags[1] else (k, n)).astype(dtype)
            assert many(a, b, *flags).tobytes() == one(a, b, *flags).tobytes() == native(a, b, *flags).tobytes()


@pytest.mark.parametrize("dtype", SUFFIXES)
def test_without_memory_for_panels(rng: np.random.Generator, dtype: str) -> None:
    multiply = compiled(32, SMALL, has_memory=False)
    for extents in ((150, 140, 130), (20, 300, 400)):
        for flags in FLAGS:
            a, b, expected = operands(rng, dtype, extents, flags)
            np.testing.assert_array_equal(multiply(a, b, *flags), expected, err_msg=f"{extents} {flags}")


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


MOVED = (
    (5, 7, 9), (100, 20, 300), (150, 130, 150), (1, 30, 60), (30, 1, 60), (6, 90, 90), (260, 256, 250), (131, 260, 700),
)  # fmt: skip


@pytest.mark.parametrize("extents", MOVED)
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


@pytest.mark.parametrize(
    ("extents", "packed"),
    [
        ((256, 256, 250), {"unaligned"}),
        ((256, 256, 700), {"aligned", "unaligned"}),  # in two panels: its bits must not depend on where it lies
        ((300, 250, 250), {"aligned", "unaligned"}),  # rows that begin anywhere
        ((256, 32, 250), set()),  # packing would cost more
    ],
)
@pytest.mark.parametrize("width", [32, 64])
def test_products_of_unaligned_rows_are_packed(
    rng: np.random.Generator, width: int, extents: tuple[int, int, int], packed: set[str]
) -> None:
    """A kernel that packs asks for memory, which is refused here; refusals are counted."""
    multiply = compiled(width, has_memory=False)
    assert multiply.refusals is not None
    a, b, expected = operands(rng, "float64", extents, (False, False))
    room = np.empty(b.size + 16)
    start = -room.ctypes.data % 64 // 8
    found = set()
    for name, offset in (("aligned", 0), ("unaligned", 2)):
        before, placed = multiply.refusals.value, room[start + offset :][: b.size].reshape(b.shape)
        placed[...] = b
        np.testing.assert_array_equal(multiply(a, placed, False, False), expected)
        if multiply.refusals.value > before:
            found.add(name)
    assert found == packed


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


@pytest.mark.parametrize(("width", "rows"), [(16, 6), (32, 6), (64, 8)])
def test_chunks_of_rows_are_whole_tiles(width: int, rows: int) -> None:
    """Else the last tile of each chunk would compute rows of the one before it again: half of them, in chunks of 8."""
    steps = [
        loop.step.owner
        for loop in defined("float64", vector_bytes=width).walk()
        if isinstance(loop, ParallelOp) and "@aot_gemm_direct" in str(loop)
    ]
    factors = {x.owner.value.value.data for op in steps for x in op.operands if isinstance(x.owner, arith.ConstantOp)}
    assert len(steps) == 1 and factors == {rows}


def test_rows_of_several_panels_are_packed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many panels of 8 columns, two vectors of AVX each, as are fetched ahead side by side, in one loop."""

    def longest() -> int:
        runs = re.findall(r"scf\.for [^{]*\{[^{}]*\}", str(defined("float64")))
        return max(one.count("vector.store") for one in runs if "func.call" not in one)

    together = longest()
    monkeypatch.setattr("aotensor.passes.gemm.pack._TOGETHER", 1)
    assert (together, longest()) == (16, 4)  # 4: of a block that is transposed


def test_same_text_every_time() -> None:
    assert str(defined("float64")) == str(defined("float64"))


@pytest.mark.needs("mlir-opt")
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
    exported = [f"product.{SUFFIXES[dtype]}"]
    module = emit_module(defined(dtype, vector_bytes=width), machine, exported=exported, threads=False)
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

"""The built-in matrix product against NumPy's BLAS on one thread: GFLOP/s, the best of many short runs.

    python benchmarks/gemm.py [m n k]...        e.g. 512 512 512 128 256 784

Results are compared with NumPy's before they are timed. The two take turns, so that other load falls on both.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # read when NumPy is imported

import numpy as np  # noqa: E402
from xdsl.builder import Builder  # noqa: E402
from xdsl.dialects import func  # noqa: E402
from xdsl.dialects.builtin import ModuleOp  # noqa: E402
from xdsl.rewriter import InsertPoint  # noqa: E402

from aotensor.codegen.calls.blas import define_blas_calls  # noqa: E402
from aotensor.codegen.emit import emit_module  # noqa: E402
from aotensor.codegen.llvm import binding  # noqa: E402
from aotensor.codegen.machine import Machine  # noqa: E402
from aotensor.ir.loop_builder import LoopBuilder, memref_type_of  # noqa: E402
from aotensor.ir.scalar_builder import Scalar  # noqa: E402
from aotensor.ir.types import element_type, i1, i8, index  # noqa: E402
from aotensor.passes.gemm.dispatch import add_gemm_kernels  # noqa: E402

SECONDS: Final = 1.0  # per row of the table
SAMPLE: Final = 0.0005  # seconds per timed run
DEFAULT: Final = (
    (512, 512, 512), (128, 256, 784), (128, 784, 256), (1000, 1000, 1000), (100, 100, 100), (64, 64, 64), (32, 32, 32),
    (8, 8, 8), (5000, 10, 100), (10, 500, 500), (1, 500, 2000), (2000, 1, 500),
)  # fmt: skip

Matrix = np.ndarray[Any, np.dtype[Any]]


def repeated_product(dtype: str) -> ModuleOp:
    """@repeat(times, transpose_a, transpose_b, A, B, C, blas): the product many times by one call from Python."""
    symbol, matrix = f"aot_gemm.f{8 * np.dtype(dtype).itemsize}", memref_type_of(element_type(dtype), [None, None])
    arguments = [i1, i1, matrix, matrix, matrix, memref_type_of(i8, [1])]
    op = func.FuncOp("repeat", ([index, *arguments], []))
    b = LoopBuilder(Builder(InsertPoint.at_end(op.body.block)))
    times, *operands = op.body.block.args

    def step(_: Scalar, __: list[Scalar]) -> tuple[()]:
        b.builder.insert(func.CallOp(symbol, operands, []))
        return ()

    b.loop(0, Scalar(times, "index"), (), step)
    b.builder.insert(func.ReturnOp())
    return ModuleOp([func.FuncOp.external(symbol, arguments, []), op])


class Product:
    """The product of one dtype, compiled for this machine; without a BLAS table, so that our kernels run."""

    def __init__(self, dtype: str) -> None:
        machine, module = Machine.host(), repeated_product(dtype)
        add_gemm_kernels(module, machine.vector_bits // 8)
        emitted = emit_module(module, machine, exported=["repeat"], threads=False)
        define_blas_calls(emitted)
        self._engine = binding.create_mcjit_compiler(machine.optimise(emitted), machine.target_machine())
        self._engine.finalize_object()
        matrix = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_bool, ctypes.c_bool, *matrix * 3, ctypes.c_void_p)
        self._repeat = prototype(self._engine.get_function_address("repeat"))

    def bind(self, a: Matrix, b: Matrix, c: Matrix, transpose_a: bool, transpose_b: bool) -> Callable[[int], None]:
        """A function that computes C = op(A)·op(B) as many times as it is told."""
        flat = [x for array in (a, b, c) for x in (array.ctypes.data, *array.shape)]
        return lambda times: self._repeat(times, transpose_a, transpose_b, *flat, None)


def best_seconds(functions: list[Callable[[int], None]], guess: float) -> list[float]:
    """Seconds per repetition of each function."""
    times = max(1, int(SAMPLE / guess))
    best = [float("inf")] * len(functions)
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for number, function in enumerate(functions):
            start = time.perf_counter()
            function(times)
            best[number] = min(best[number], (time.perf_counter() - start) / times)
    return best


def compare(multiply: Product, dtype: str, m: int, n: int, k: int, transpose_a: bool, transpose_b: bool) -> str:
    """One row of the table."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((k, m) if transpose_a else (m, k)).astype(dtype)
    b = rng.standard_normal((n, k) if transpose_b else (k, n)).astype(dtype)
    left, right = a.T if transpose_a else a, b.T if transpose_b else b
    ours, theirs = np.empty((m, n), dtype), np.empty((m, n), dtype)

    def numpy_product(times: int) -> None:
        for _ in range(times):
            np.matmul(left, right, out=theirs)

    own = multiply.bind(a, b, ours, transpose_a, transpose_b)
    own(1)
    numpy_product(1)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=k * float(np.finfo(dtype).eps) * 10)
    flops = 2.0 * m * n * k
    seconds = best_seconds([own, numpy_product], flops / 30e9)
    speeds = [flops / s / 1e9 for s in seconds]
    letters = "".join("T" if flag else "N" for flag in (transpose_a, transpose_b))
    size = f"{m}x{n}x{k}"
    return f"{dtype:8} {size:>15} {letters} {speeds[0]:8.1f} {speeds[1]:8.1f} {seconds[0] / seconds[1]:7.2f}"


def main(arguments: list[str]) -> None:
    numbers = [int(x) for x in arguments]
    shapes = [tuple(numbers[i : i + 3]) for i in range(0, len(numbers), 3)] or DEFAULT
    print(f"{'dtype':8} {'m x n x k':>15} op {'own':>8} {'numpy':>8} {'time':>7}    GFLOP/s; time: own / numpy")
    for dtype in ("float32", "float64"):
        multiply = Product(dtype)
        for m, n, k in shapes:
            for transpose_a, transpose_b in ((False, False), (False, True), (True, False), (True, True)):
                print(compare(multiply, dtype, m, n, k, transpose_a, transpose_b), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Scalar functions from module text through expand-math, the emitter and LLVM to calls on arrays, and their errors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import mpmath as mp
import numpy as np
from loaded import address_of, loaded
from numpy.typing import NDArray

from aotensor.codegen.emit import emit_module
from aotensor.codegen.machine import Machine
from aotensor.ir.context import parse_module
from aotensor.passes.expand_math import expand_math
from aotensor.passes.functions.vectorize_functions import vectorize_functions
from aotensor.passes.scalar_math.table import FUNCTIONS, function_named

Array = NDArray[Any]
DTYPES: Final = ("float32", "float64")
WIDE: Final[dict[str, type]] = {"float32": np.float64, "float64": np.longdouble}


def loop(name: str, dtype: str) -> str:
    """A function `<name>_<dtype>(x0, ..., out)` that applies the scalar function to every element."""
    function = function_named(name)
    assert function is not None
    kind, operands = f"f{dtype[5:]}", range(function.operands)
    inputs = "".join(f"%x{k}: memref<?x{kind}>, " for k in operands)
    loads = "\n".join(f"    %a{k} = memref.load %x{k}[%i] : memref<?x{kind}>" for k in operands)
    arguments, kinds = ", ".join(f"%a{k}" for k in operands), ", ".join(kind for _ in operands)
    return f"""
func.func @{name}_{dtype}({inputs}%out: memref<?x{kind}>) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %out, %zero : memref<?x{kind}>
  scf.for %i = %zero to %n step %one {{
{loads}
    %r = func.call @aot.{name}.{kind}({arguments}) : ({kinds}) -> {kind}
    memref.store %r, %out[%i] : memref<?x{kind}>
  }}
  func.return
}}
func.func private @aot.{name}.{kind}({kinds}) -> {kind}
"""


class Library:
    """Compiled loops over scalar functions, for this machine or, with cpu="generic", for the least of its family.

    has_blocks: compute functions with parameters for blocks of elements, on vectors.
    """

    def __init__(self, names: Sequence[str], cpu: str = "host", has_blocks: bool = False) -> None:
        module = parse_module("".join(loop(name, dtype) for name in names for dtype in DTYPES), "scalar_math")
        machine = Machine.parse(cpu=cpu)
        if has_blocks:
            vectorize_functions(module, machine.facts)
        expand_math(module, machine.facts)
        if not has_blocks:  # xDSL takes comparisons of vectors for those of numbers
            module.verify()
        self.text = str(module)
        symbols = {f"{name}_{dtype}" for name in names for dtype in DTYPES}
        self._machine, self._optimised = machine, machine.optimise(emit_module(module, machine, exported=symbols))
        self._library = loaded(self._optimised, machine, list(symbols))

    @cached_property
    def assembly(self) -> str:
        """What LLVM makes of it, as text."""
        return self._machine.assembly(self._optimised)

    def __call__(self, name: str, *operands: Array) -> Array:
        """The function on arrays of one length and dtype."""
        result = np.empty_like(operands[0])
        address = address_of(self._library, f"{name}_{result.dtype.name}")
        pairs = [item for array in (*operands, result) for item in (array.ctypes.data, array.size)]
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_int64] * (len(pairs) // 2))(address)(*pairs)
        return result


@cache
def library(cpu: str) -> Library:
    """All functions that exist in both dtypes and are inlined, compiled once."""
    plain = (name for name, x in FUNCTIONS.items() if x.dtypes == DTYPES and not x.is_called)
    return Library(list(plain), cpu)


@dataclass(frozen=True)
class Case:
    """How a function is checked: bound in ulp, reference on a wider dtype, where to look closely."""

    bound: float
    reference: Callable[..., Array]
    ranges: tuple[tuple[float, float], ...] = ()
    exact: Callable[..., Any] | None = None  # the same in mpmath

    def points(self, dtype: str, count: int, rng: np.random.Generator) -> Array:
        """Random patterns, random sizes, the close ranges, and the corners of the format with their neighbours."""
        patterns = rng.integers(0, 2 ** (8 * np.dtype(dtype).itemsize), count, dtype=f"u{np.dtype(dtype).itemsize}")
        sizes = np.exp2(rng.uniform(-70, 12, count)) * rng.choice([-1, 1], count)
        close = [rng.uniform(low, high, count) for low, high in ((-4.0, 4.0), (-100.0, 100.0), *self.ranges)]
        ends = np.array([end for pair in self.ranges for end in pair] + [1.0, -1.0, 2.0, 0.5], dtype)
        return np.concatenate(
            [patterns.view(dtype), *(x.astype(dtype) for x in (sizes, *close)), *around(ends), *around(corners(dtype))]
        )


def corners(dtype: str) -> Array:
    """±0, ±∞, nan, and the largest, the least normal and the least number, with both signs."""
    info = np.finfo(dtype)
    sizes = [0.0, np.inf, info.max, info.tiny, info.smallest_subnormal]
    return np.array([*sizes, *(-x for x in sizes), np.nan], dtype)


def around(x: Array) -> list[Array]:
    """The numbers themselves and eight neighbours on each side."""
    bits = x.view(f"u{x.dtype.itemsize}")
    return [(bits + np.array(step, np.int8).astype(bits.dtype)).view(x.dtype) for step in range(-8, 9)]


def ulps(found: Array, expected: Array) -> Array:
    """|found − expected| in units of the last place of `expected`, which has a wider dtype; nan matches nan only."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(found.dtype)
        size = np.where(np.isfinite(rounded), np.abs(rounded), np.finfo(found.dtype).max)
        error = np.abs(found.astype(expected.dtype) - expected) / np.spacing(size).astype(expected.dtype)
    same = (np.isnan(found) & np.isnan(expected)) | ((found == rounded) & ~np.isfinite(rounded))
    return np.where(same, 0.0, np.where(np.isnan(error), np.inf, error)).astype(np.float64)


def multiprecision(function: Callable[..., Any], *operands: Array) -> Array:
    """A function of mpmath on float64 arrays, as long doubles; infinite and complex results become nan."""

    def one(*values: float) -> np.longdouble:
        result = function(*(mp.mpf(float(v)) for v in values))
        if isinstance(result, mp.mpc) or not mp.isfinite(result):
            return np.longdouble(np.nan)
        return np.longdouble(mp.nstr(result, 25))

    with mp.workprec(160):
        return np.array([one(*values) for values in zip(*operands, strict=True)], np.longdouble)

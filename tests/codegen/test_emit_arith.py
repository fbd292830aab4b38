"""Numbers: every arith operation, the math intrinsics, and all dtypes against NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emit_harness import MLIR_TYPES, Compiled, apply, emitted, parse
from xdsl.builder import Builder, InsertPoint
from xdsl.dialects import arith, func, scf
from xdsl.dialects import memref as mr
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region

from aotensor.codegen.emit import emit_module
from aotensor.codegen.machine import Machine
from aotensor.core import dtypes
from aotensor.core.types import cast_array
from aotensor.errors import InternalError
from aotensor.ir.scalar_builder import Scalar, ScalarBuilder
from aotensor.ir.types import element_type, index, memref_type

FLOATS = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SPECIALS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-30, -1e30, np.inf, -np.inf, np.nan]


def integers(dtype: str, seed: int = 0) -> np.ndarray:
    """Bounds, small numbers and random ones."""
    info = np.iinfo(dtype)
    random = np.random.default_rng(seed).integers(info.min, info.max, 40, dtype=dtype, endpoint=True)
    return np.concatenate([np.array([info.min, info.max, 0, 1, 2, 7, info.max - 1, info.max // 2], dtype), random])


def float_pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(np.array(SPECIALS, dtype), np.array(SPECIALS, dtype))
    return x.ravel().copy(), y.ravel().copy()


ANY_SIGN: dict[str, Callable[..., Any]] = {
    "addi": np.add, "subi": np.subtract, "muli": np.multiply,
    "andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
@pytest.mark.parametrize("name", [*ANY_SIGN, "div", "rem", "min", "max", "shl", "shr"])
def test_integers(name: str, dtype: str) -> None:
    kind, sign = MLIR_TYPES[dtype], "ui" if dtype in UNSIGNED else "si"
    x, y = integers(dtype, 1), integers(dtype, 2)[::-1].copy()
    info = np.iinfo(dtype)
    if name in ("div", "rem"):
        y = np.where((y == 0) | ((x == info.min) & (y == -1 if sign == "si" else False)), 3, y).astype(dtype)
    if name in ("shl", "shr"):
        y = (y % info.bits).astype(dtype)
    verb = name if name in ANY_SIGN else {"shl": "shli", "shr": f"shr{sign}"}.get(name, name + sign)
    with np.errstate(over="ignore"):
        expected = {
            **ANY_SIGN, "min": np.minimum, "max": np.maximum, "shl": np.left_shift, "shr": np.right_shift,
            "div": lambda x, y: np.array([_truncated(int(a), int(b)) for a, b in zip(x, y, strict=True)], dtype),
            "rem": np.fmod,
        }[name](x, y)  # fmt: skip
    np.testing.assert_array_equal(apply(f"%r = arith.{verb} %a0, %a1 : {kind}", [x, y], dtype), expected)


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("name", ["floordivsi", "ceildivsi"])
def test_rounded_division(name: str) -> None:
    x = np.repeat(np.arange(-7, 8), 6).astype("int32")
    y = np.tile([-3, -2, -1, 1, 2, 3], 15).astype("int32")
    expected = x // y if name == "floordivsi" else -(-x // y)
    np.testing.assert_array_equal(apply(f"%r = arith.{name} %a0, %a1 : i32", [x, y], "int32"), expected)


def test_unsigned_division_rounded_up() -> None:
    x, y = np.array([0, 1, 2, 3, 255, 254], "uint8"), np.array([1, 2, 2, 2, 255, 255], "uint8")
    np.testing.assert_array_equal(apply("%r = arith.ceildivui %a0, %a1 : i8", [x, y], "uint8"), [0, 1, 1, 2, 1, 1])


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_upper_half_of_a_product(dtype: str) -> None:
    kind, sign = MLIR_TYPES[dtype], "ui" if dtype in UNSIGNED else "si"
    bits = np.iinfo(dtype).bits
    x, y = integers(dtype, 3), integers(dtype, 4)
    expected = np.array([(int(a) * int(b)) >> bits for a, b in zip(x, y, strict=True)], dtype)
    body = f"%low, %r = arith.mul{sign}_extended %a0, %a1 : {kind}"
    np.testing.assert_array_equal(apply(body, [x, y], dtype), expected)


def test_carry() -> None:
    x, y = np.array([250, 250, 0], "uint8"), np.array([5, 6, 0], "uint8")
    body = "%s, %r = arith.addui_extended %a0, %a1 : i8, i1"
    np.testing.assert_array_equal(apply(body, [x, y], "bool"), [False, True, False])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
@pytest.mark.parametrize("predicate", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_integer_comparison(predicate: str, dtype: str) -> None:
    x, y = integers(dtype, 5), integers(dtype, 6)
    y[::3] = x[::3]
    prefix = "" if predicate in ("eq", "ne") else "u" if dtype in UNSIGNED else "s"
    result = apply(f"%r = arith.cmpi {prefix}{predicate}, %a0, %a1 : {MLIR_TYPES[dtype]}", [x, y], "bool")
    np.testing.assert_array_equal(result, getattr(operator, predicate)(x, y))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("predicate", arith.CMPF_COMPARISON_OPERATIONS)
def test_float_comparison(predicate: str, dtype: str) -> None:
    x, y = float_pairs(dtype)
    result = apply(f"%r = arith.cmpf {predicate}, %a0, %a1 : {MLIR_TYPES[dtype]}", [x, y], "bool")
    unordered = np.isnan(x) | np.isnan(y)
    plain = {"false": np.zeros_like(unordered), "true": ~np.zeros_like(unordered), "ord": ~unordered, "uno": unordered}
    if predicate in plain:
        expected = plain[predicate]
    else:
        holds = getattr(operator, predicate[1:])(x, y) & ~unordered
        expected = holds | unordered if predicate[0] == "u" else holds
    np.testing.assert_array_equal(result, expected)


FLOAT_BINARY: dict[str, Callable[..., Any]] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum, "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "math.copysign": np.copysign,
}  # fmt: skip
FLOAT_UNARY: dict[str, Callable[..., Any]] = {
    "arith.negf": np.negative, "math.sqrt": np.sqrt, "math.floor": np.floor, "math.ceil": np.ceil,
    "math.trunc": np.trunc, "math.roundeven": np.rint, "math.absf": np.abs,
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_floats(name: str, dtype: str) -> None:
    x, y = float_pairs(dtype)
    with np.errstate(all="ignore"):
        expected = FLOAT_BINARY[name](x, y)
    result = apply(f"%r = {name} %a0, %a1 : {MLIR_TYPES[dtype]}", [x, y], dtype)
    np.testing.assert_array_equal(result, expected)
    with_known_type = ~np.isnan(expected) & ~(
        (x == 0) & (y == 0) & name.startswith("arith.m")
    )  # max(0, -0) may be either in NumPy
    np.testing.assert_array_equal(np.signbit(result[with_known_type]), np.signbit(expected[with_known_type]))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FLOAT_UNARY)
def test_float_functions(name: str, dtype: str) -> None:
    x = np.array([*SPECIALS, 1.5, 2.5, -0.4, 1e10], dtype)
    with np.errstate(all="ignore"):
        expected = FLOAT_UNARY[name](x)
    result = apply(f"%r = {name} %a0 : {MLIR_TYPES[dtype]}", [x], dtype)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result[~np.isnan(x)]), np.signbit(expected[~np.isnan(x)]))


def test_fma_rounds_once() -> None:
    x = np.array([1 + 2.0**-30])
    result = apply("%r = math.fma %a0, %a0, %a1 : f64", [x, -(x * x)], "float64")
    assert result[0] == 2.0**-60


@pytest.mark.parametrize(("name", "expected"), [("ctpop", [0, 1, 8]), ("ctlz", [8, 7, 0]), ("cttz", [8, 0, 0])])
def test_bit_counts(name: str, expected: list[int]) -> None:
    x = np.array([0, 1, 255], "uint8")
    np.testing.assert_array_equal(apply(f"%r = math.{name} %a0 : i8", [x], "uint8"), expected)


def test_bitcast_and_select() -> None:
    x = np.array([1.5, -0.0, np.nan])
    np.testing.assert_array_equal(apply("%r = arith.bitcast %a0 : f64 to i64", [x], "int64"), x.view("int64"))
    flags = np.array([True, False, True])
    np.testing.assert_array_equal(
        apply("%r = arith.select %a0, %a1, %a2 : f64", [flags, x, x + 1], "float64"), [1.5, 1, np.nan]
    )


def test_any_byte_but_zero_is_true() -> None:
    x = np.array([0, 1, 2, 255], "uint8").view("bool")
    np.testing.assert_array_equal(
        apply("%c = arith.constant true\n%r = arith.andi %a0, %c : i1", [x], "bool").view("uint8"), [0, 1, 1, 1]
    )


@pytest.mark.parametrize("flags", ["reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "fast"])
def test_fast_math_flags_one_to_one(flags: str) -> None:
    text = (
        f"func.func @f(%x: f64) -> f64 {{\n  %r = arith.mulf %x, %x fastmath<{flags}> : f64\n  func.return %r : f64\n}}"
    )
    assert f"fmul {flags} double" in emitted(text)


def test_overflow_flags() -> None:
    text = (
        "func.func @f(%x: i32) -> i32 {\n  %r = arith.addi %x, %x overflow<nsw, nuw> : i32\n  func.return %r : i32\n}"
    )
    assert "add nsw nuw i32" in emitted(text)


@pytest.mark.parametrize("name", ["exp", "log1p", "erf", "tanh", "sin"])
def test_other_math_is_our_bug(name: str) -> None:
    module = parse(f"func.func @kernel(%x: f64) -> f64 {{\n  %r = math.{name} %x : f64\n  func.return %r : f64\n}}")
    with pytest.raises(InternalError, match=rf"math\.{name} has no LLVM intrinsic"):
        emit_module(module, Machine.host())


@pytest.mark.parametrize("source", dtypes.ALL)
def test_casts_of_the_scalar_builder(source: str) -> None:
    """Every dtype to every dtype."""
    is_float = dtypes.is_float(source)
    with np.errstate(over="ignore"):
        values = np.array([*SPECIALS, 300.7, -300.7, 1e9, -1e20, 1e20]).astype(source) if is_float else None
    x = values if values is not None else np.array([True, False]) if source == "bool" else integers(source)
    for target in dtypes.ALL:
        result = np.zeros(len(x), target)
        Compiled(_cast_module(source, target)).f(x, result)
        with np.errstate(over="ignore"):
            expected = _saturated(x, target) if is_float else cast_array(x, target)
        if dtypes.is_half(target):  # nan of ml_dtypes does not equal itself there
            result, expected = result.astype("float32"), expected.astype("float32")
        np.testing.assert_array_equal(result, expected, err_msg=target)


@pytest.mark.shows("tensor/0-half-rounding")
@pytest.mark.parametrize("dtype", dtypes.HALVES)
@pytest.mark.parametrize("features", [None, "-f16c"], ids=["native", "by integers"])
@np.errstate(over="ignore", invalid="ignore")
def test_halves_are_rounded_once(dtype: str, features: str | None) -> None:
    """All of them, and what lies between and beside two of them, with and without instructions of the CPU."""
    if features and not Machine.host().triple.startswith("x86_64"):
        pytest.skip("a feature of x86-64: other CPUs have the instructions, or go by integers anyway")
    machine = Machine.parse(features=features)
    assert machine.has_half or features
    every = np.arange(1 << 16).astype(np.uint16).view(dtype)
    finite = every[np.isfinite(every.astype(float))].astype(float)
    middles = (finite + np.concatenate([finite[1:], finite[:1]])) / 2
    beside = np.concatenate([finite, middles, np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf), [1e300]])
    single = beside.astype(np.float32)
    sides = [single, np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf))]
    given = {
        (dtype, "float32"): every,
        (dtype, "float64"): every,
        ("float64", dtype): beside,
        ("float32", dtype): np.concatenate([*sides, np.array([np.nan, np.inf, -np.inf], "float32")]),
    }
    for (source, target), x in given.items():
        result, expected = np.zeros(len(x), target), cast_array(x, target)
        Compiled(_cast_module(source, target), machine=machine).f(x, result)
        is_nan, bits = np.isnan(expected.astype(float)), f"u{expected.itemsize}"
        np.testing.assert_array_equal(is_nan, np.isnan(result.astype(float)))
        np.testing.assert_array_equal(result.view(bits)[~is_nan], expected.view(bits)[~is_nan], err_msg=source)


def _saturated(x: np.ndarray, target: str) -> np.ndarray:
    if dtypes.is_float(target) or target == "bool":
        with np.errstate(over="ignore"):
            return cast_array(x, target)
    info = np.iinfo(target)
    whole = [
        0 if np.isnan(v) else info.max if v == np.inf else info.min if v == -np.inf else int(v) for v in x.astype(float)
    ]
    return np.array([min(max(v, info.min), info.max) for v in whole], target)


def _cast_module(source: str, target: str) -> ModuleOp:
    inputs = [memref_type(source, [None]), memref_type(target, [None])]
    block = Block(arg_types=inputs)
    b = Builder(InsertPoint.at_end(block))
    zero, one = (b.insert(arith.ConstantOp.from_int_and_width(k, index)).result for k in (0, 1))
    extent = b.insert(mr.DimOp(block.args[0], zero)).result
    body = Block(arg_types=[index])
    inner = Builder(InsertPoint.at_end(body))
    value = inner.insert(mr.LoadOp.get(block.args[0], [body.args[0]])).res
    assert value.type == element_type(source)
    converted = ScalarBuilder(inner).cast(Scalar(value, source), target)
    inner.insert(mr.StoreOp.get(converted.ssa, block.args[1], [body.args[0]]))
    inner.insert(scf.YieldOp())
    b.insert(scf.ForOp(zero, extent, one, [], Region(body)))
    b.insert(func.ReturnOp())
    return ModuleOp([func.FuncOp("f", (inputs, []), Region(block))])

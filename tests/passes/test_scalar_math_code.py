"""What expand-math leaves behind: definitions, errors, and code that a compiler can vectorise."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from needs import NEEDS
from scalar_math_harness import Library, library

from aotensor.codegen.machine import Machine
from aotensor.errors import InternalError
from aotensor.ir.context import parse_module
from aotensor.passes.expand_math import expand_math
from aotensor.passes.scalar_math.table import define
from aotensor.passes.target import Target

MLIR_OPT = NEEDS["mlir-opt"].path
MATH_NAMES = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "erf", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
)  # fmt: skip


def expanded(body: str) -> str:
    """The module of one function of %x : f64 after the pass."""
    module = parse_module(f"func.func @f(%x: f64) -> f64 {{\n{body}\n  func.return %y : f64\n}}", "test")
    expand_math(module)
    module.verify()
    return str(module)


@pytest.mark.parametrize("name", MATH_NAMES)
def test_operations_of_the_math_dialect_become_calls(name: str) -> None:
    text = expanded(f"  %y = math.{name} %x : f64")
    (called,) = re.findall(r"func.call @(aot\.\w+\.f64)\(%x\)", text)
    assert f"func.func private @{called}(" in text
    assert f"math.{name} " not in text


@pytest.mark.parametrize("name", ["sqrt", "floor", "ceil", "trunc", "roundeven", "absf"])
def test_what_llvm_can_do_stays(name: str) -> None:
    assert f"%y = math.{name} %x" in expanded(f"  %y = math.{name} %x : f64")


def test_tables_in_registers_are_declared_where_the_machine_has_them() -> None:
    text = "func.func @f(%x: f64, %v: vector<8xf64>) -> (f64, vector<8xf64>) {\n  %y = math.exp %x : f64\n"
    text += "  %w = math.exp %v : vector<8xf64>\n  func.return %y, %w : f64, vector<8xf64>\n}"
    module = parse_module(text, "test")
    expand_math(module, Target(has_tables=True))
    for lanes in ("", ".x8"):
        kind, bits = ("vector<8xf64>", "vector<8xi64>") if lanes else ("f64", "i64")
        assert f"func.func private @aot.sixteenth_power.f64{lanes}({bits}) -> {kind}\n" in str(module)
        assert f"func.func private @aot.scaled.f64{lanes}({kind}, {kind}) -> {kind}\n" in str(module)


@pytest.mark.parametrize("name", ["exp", "exp2", "softplus"])
def test_numbers_and_lanes_of_vectors_get_the_same_bits(name: str) -> None:
    """The table in registers and that in memory; loops of 7 have no vectors, those of 4000 have."""
    x = np.random.default_rng(0).uniform(-800.0, 30.0, 4000)
    whole = library("host")(name, x)
    parts = np.concatenate([library("host")(name, x[k : k + 7]) for k in range(0, 4000, 7)])
    np.testing.assert_array_equal(whole.view(np.uint64), parts.view(np.uint64))


def test_operations_of_two_operands() -> None:
    text = expanded("  %z = math.atan2 %x, %x : f64\n  %y = math.powf %x, %z : f64")
    assert "func.call @aot.arctan2.f64(%x, %x)" in text
    assert "func.call @aot.pow.f64(%x, %z)" in text


def test_functions_that_functions_call_are_defined_too() -> None:
    text = expanded("  %y = math.sin %x : f64")
    assert text.index("private @aot.sin.f64") < text.index("private @aot.far_angle.f64")
    assert text.count("func.func private @aot.") == 2


def test_the_pass_is_deterministic_and_has_no_effect_twice() -> None:
    body = "  %a = math.tanh %x : f64\n  %b = math.exp %a : f64\n  %y = math.tanh %b : f64"
    text = expanded(body)
    assert text == expanded(body)
    module = parse_module(text, "again")
    expand_math(module)
    assert str(module) == text


def test_a_declaration_that_nothing_calls_goes() -> None:
    module = parse_module(
        "func.func private @aot.softplus.f64(f64) -> f64\nfunc.func private @other(f64) -> f64", "declarations"
    )
    expand_math(module)
    assert "softplus" not in str(module)
    assert "@other" in str(module)


def test_unknown_functions_are_refused() -> None:
    with pytest.raises(InternalError, match=r"no scalar function aot\.nothing\.f64"):
        expanded("  %y = func.call @aot.nothing.f64(%x) : (f64) -> f64")
    for symbol in ("exp", "aot.exp", "aot.exp.f16", "aot.far_angle.f32", "other.exp.f64"):
        with pytest.raises(InternalError, match="no scalar function"):
            define(symbol)


def test_upstream_accepts_every_function() -> None:
    if MLIR_OPT is None:
        pytest.skip("mlir-opt is missing: Debian has it in mlir-22-tools, `.ci/run` installs it")
    done = subprocess.run([MLIR_OPT], input=library("host").text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("cpu", ["host", "generic"])
def test_no_library_function_is_called(cpu: str) -> None:
    """Not even on a machine without fused multiply-add and rounding instructions."""
    called = set(re.findall(r"\bcallq?\s+\*?([\w.@]+)", library(cpu).assembly)) | set(
        re.findall(r"^\s+bl\s+([\w.]+)", library(cpu).assembly, re.MULTILINE)
    )
    assert {symbol for symbol in called if not symbol.startswith("aot.")} == set()


@pytest.mark.parametrize("name", ["exp", "log", "log1p", "expm1", "tanh", "sigmoid", "softplus", "pow", "erf", "sin"])
def test_loops_vectorise(name: str) -> None:
    machine = Machine.host()
    if not machine.triple.startswith("x86_64") or "+avx2" not in machine.features:
        pytest.skip("looks at the registers of AVX2")
    assert re.search(r"[yz]mm\d", Library([name]).assembly)

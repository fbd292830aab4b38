"""Functions, branches and loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from emit_harness import Compiled, emitted, parse

from aotensor.codegen.emit import emit_module
from aotensor.codegen.machine import Machine
from aotensor.errors import InternalError

LEVELS = [0, 3]


@pytest.mark.parametrize("level", LEVELS)
def test_nested_sum(level: int) -> None:
    f = Compiled(
        """
func.func @f(%x: memref<?x?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?x?xf64>
  %m = memref.dim %x, %c1 : memref<?x?xf64>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) {
    %q = scf.for %j = %c0 to %m step %c1 iter_args(%t = %s) -> (f64) {
      %v = memref.load %x[%i, %j] : memref<?x?xf64>
      %u = arith.addf %t, %v : f64
      scf.yield %u : f64
    }
    scf.yield %q : f64
  }
  func.return %r : f64
}""",
        level,
    ).f
    x = np.arange(15.0).reshape(3, 5)
    assert f(x) == x.sum()
    for shape in [(0, 5), (3, 0), (1, 1), (0, 0)]:
        assert f(np.ones(shape)) == math.prod(shape)


@pytest.mark.parametrize("level", LEVELS)
def test_several_carried_values_swap(level: int) -> None:
    """Fibonacci: the yield permutes what the loop carries."""
    f = Compiled(
        """
func.func @f(%n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = arith.constant 0 : i64
  %b = arith.constant 1 : i64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (i64, i64) {
    %z = arith.addi %x, %y : i64
    scf.yield %y, %z : i64, i64
  }
  func.return %r#0 : i64
}""",
        level,
    ).f
    assert [f(n) for n in range(10)] == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


@pytest.mark.parametrize(("lower", "upper", "step"), [(0, 10, 3), (-5, 5, 2), (4, 4, 1), (5, 3, 1), (0, 1, 100)])
@pytest.mark.parametrize("kind", ["index", "i32"])
def test_bounds(kind: str, lower: int, upper: int, step: int) -> None:
    template = """
func.func @f({arguments}) -> {kind} {{
  {constants}
  %zero = arith.constant 0 : {kind}
  %r = scf.for %i = %l to %u step %s iter_args(%t = %zero) -> ({kind}) {loop} {{
    %v = arith.addi %t, %i : {kind}
    scf.yield %v : {kind}
  }}
  func.return %r : {kind}
}}"""
    loop = "" if kind == "index" else f": {kind}"
    numbers = {"l": lower, "u": upper, "s": step}
    constants = "\n".join(f"  %{name} = arith.constant {value} : {kind}" for name, value in numbers.items())
    arguments = ", ".join(f"%{name}: {kind}" for name in numbers)
    known = template.format(kind=kind, loop=loop, constants=constants, arguments="")
    unknown = template.format(kind=kind, loop=loop, constants="", arguments=arguments)
    expected = sum(range(lower, upper, step))
    assert Compiled(known).f() == expected
    assert Compiled(unknown).f(lower, upper, step) == expected


@pytest.mark.parametrize("level", LEVELS)
def test_if(level: int) -> None:
    f = Compiled(
        """
func.func @f(%x: f64, %out: memref<f64>) -> f64 {
  %zero = arith.constant 0.0 : f64
  %ten = arith.constant 10.0 : f64
  %positive = arith.cmpf ogt, %x, %zero : f64
  scf.if %positive {
    memref.store %x, %out[] : memref<f64>
  }
  %r = scf.if %positive -> (f64) {
    %big = arith.cmpf ogt, %x, %ten : f64
    %s = scf.if %big -> (f64) {
      scf.yield %ten : f64
    } else {
      scf.yield %x : f64
    }
    scf.yield %s : f64
  } else {
    %n = arith.negf %x : f64
    scf.yield %n : f64
  }
  func.return %r : f64
}""",
        level,
    ).f
    out = np.array(-1.0)
    assert [f(x, out) for x in (-3.0, 0.0, 4.0, 40.0)] == [3.0, 0.0, 4.0, 10.0]
    assert out == 40.0


@pytest.mark.parametrize("level", LEVELS)
def test_while(level: int) -> None:
    """Greatest common divisor; what leaves the loop differs in number from what it carries."""
    f = Compiled(
        """
func.func @f(%a: i64, %b: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %r = scf.while (%x = %a, %y = %b) : (i64, i64) -> i64 {
    %more = arith.cmpi ne, %y, %zero : i64
    %next = scf.if %more -> (i64) {
      %q = arith.remsi %x, %y : i64
      scf.yield %q : i64
    } else {
      scf.yield %x : i64
    }
    memref.store %y, %keep[] : memref<i64>
    scf.condition(%more) %next : i64
  } do {
  ^bb0(%rest: i64):
    %y2 = memref.load %keep[] : memref<i64>
    scf.yield %y2, %rest : i64, i64
  }
  func.return %r : i64
}""".replace("%r = scf.while", "%keep = memref.alloca() : memref<i64>\n  %r = scf.while"),
        level,
    ).f
    for a, b in [(12, 18), (7, 0), (0, 7), (1071, 462)]:
        assert f(a, b) == math.gcd(a, b)


@pytest.mark.parametrize("level", LEVELS)
def test_calls(level: int) -> None:
    """A private function with a strided argument, a scalar function, a function of libm."""
    text = """
func.func private @cos(f64) -> f64
func.func private @aot.twice.f64(%x: f64) -> f64 {
  %y = arith.addf %x, %x : f64
  func.return %y : f64
}
func.func private @scale(%x: memref<?x?xf64, strided<[?, ?], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf64, strided<[?, ?], offset: ?>>
  %m = memref.dim %x, %c1 : memref<?x?xf64, strided<[?, ?], offset: ?>>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x?xf64, strided<[?, ?], offset: ?>>
      %w = func.call @aot.twice.f64(%v) : (f64) -> f64
      memref.store %w, %x[%i, %j] : memref<?x?xf64, strided<[?, ?], offset: ?>>
    }
  }
  func.return
}
func.func @f(%x: memref<4x6xf64>, %a: f64) -> f64 {
  %v = memref.subview %x[1, 2][2, 2][2, 3] : memref<4x6xf64> to memref<2x2xf64, strided<[12, 3], offset: 8>>
  %s = "memref.cast"(%v) : (memref<2x2xf64, strided<[12, 3], offset: 8>>) -> memref<?x?xf64, strided<[?, ?], offset: ?>>
  func.call @scale(%s) : (memref<?x?xf64, strided<[?, ?], offset: ?>>) -> ()
  %c = func.call @cos(%a) : (f64) -> f64
  func.return %c : f64
}"""
    x = np.arange(24.0).reshape(4, 6)
    expected = x.copy()
    expected[1::2, 2::3] *= 2
    assert Compiled(text, level).f(x, 0.5) == pytest.approx(math.cos(0.5), rel=1e-15)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("level", LEVELS)
def test_carried_buffers(level: int) -> None:
    """Two buffers are swapped on every turn; an if chooses between buffers."""
    f = Compiled(
        """
func.func @f(%a: memref<?xi64>, %b: memref<?xi64>, %n: index, %flag: i1) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (memref<?xi64>, memref<?xi64>) {
    %v = memref.load %x[%c0] : memref<?xi64>
    %w = arith.addi %v, %v : i64
    memref.store %w, %y[%c0] : memref<?xi64>
    scf.yield %y, %x : memref<?xi64>, memref<?xi64>
  }
  %q = scf.if %flag -> (memref<?xi64>) {
    scf.yield %r#0 : memref<?xi64>
  } else {
    scf.yield %r#1 : memref<?xi64>
  }
  %z = memref.load %q[%c0] : memref<?xi64>
  func.return %z : i64
}""",
        level,
    ).f
    for n in range(5):
        assert f(np.array([3]), np.array([0]), n, True) == 3 * 2**n


def test_visibility_and_attributes() -> None:
    text = """
func.func private @inner(%x: f64) -> f64 {
  func.return %x : f64
}
func.func private @aot.id.f64(%x: f64) -> f64 {
  func.return %x : f64
}
func.func @kernel(%x: memref<?xf64>, %y: memref<3xf64>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xf64>
  memref.store %v, %y[%c0] : memref<3xf64>
  func.return
}"""
    llvm = str(emit_module(parse(text), Machine.host()))
    assert 'define internal double @"inner"(double %".1") noinline nounwind' in llvm
    assert 'define internal double @"aot.id.f64"(double %".1") alwaysinline nounwind' in llvm
    kernel = next(line for line in llvm.splitlines() if '@"kernel"' in line)
    assert kernel.startswith('define hidden void @"kernel"(')
    assert kernel.count("noalias") == 2 and kernel.count("readonly") == 1 and kernel.count("i64") == 1
    assert "nonnull" not in kernel
    assert 'define void @"kernel"(' in emitted(text)


PRINTED = """
func.func @f(%v: vector<4xf32>) {
  "vector.print"(%v) : (vector<4xf32>) -> ()
  func.return
}"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func private @aot.f.f64(f64) -> f64", "aot.f.f64 has no body"),
        ("func.func private @f() -> (f64, f64)", "f must return one scalar"),
        ("func.func private @f() -> memref<3xf64>", "f must return one scalar"),
        ("func.func private @f(%x: tensor<3xf64>) {\n  func.return\n}", "no LLVM type for tensor"),
        ("func.func private @f(%x: f80) {\n  func.return\n}", "no LLVM type for f80"),
        (PRINTED, "no LLVM IR for"),
    ],
)  # fmt: skip
def test_what_the_loop_form_does_not_allow(text: str, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        emit_module(parse(text), Machine.host())

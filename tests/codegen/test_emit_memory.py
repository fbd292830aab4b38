"""Buffers, views of them, and vectors."""

from __future__ import annotations

import numpy as np
import pytest
from emit_harness import Compiled, emitted

LEVELS = [0, 3]


@pytest.mark.parametrize("level", LEVELS)
def test_views_of_a_workspace(level: int) -> None:
    """x + 1 goes through one view, its square through another, of another element type."""
    f = Compiled(
        """
func.func @f(%x: memref<?xf32>, %w: memref<?xi8>, %out: memref<?xf64>, %shift: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = memref.view %w[%c0][%n] {scope = 0 : i64} : memref<?xi8> to memref<?xf32>
  %b = memref.view %w[%shift][%n] {scope = 1 : i64} : memref<?xi8> to memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %u = arith.addf %v, %one : f32
    memref.store %u, %a[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %a[%i] : memref<?xf32>
    %u = arith.extf %v : f32 to f64
    %s = arith.mulf %u, %u : f64
    memref.store %s, %b[%i] : memref<?xf64>
  }
  "memref.copy"(%b, %out) : (memref<?xf64>, memref<?xf64>) -> ()
  func.return
}""",
        level,
    ).f
    for n in (0, 1, 37):
        x, out = np.arange(n, dtype="float32"), np.zeros(n)
        f(x, np.zeros(12 * n + 64, "int8"), out, (4 * n + 63) // 64 * 64)
        np.testing.assert_array_equal(out, (x + 1.0) ** 2)


SUBVIEW = """
func.func @f(%x: memref<?x?xi32>, %out: memref<?x?xi32>, %o: index, %p: index, %s: index, %t: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %out, %c0 : memref<?x?xi32>
  %m = memref.dim %out, %c1 : memref<?x?xi32>
  %v = memref.subview %x[%o, %p][%n, %m][%s, %t] : memref<?x?xi32> to memref<?x?xi32, strided<[?, ?], offset: ?>>
  "memref.copy"(%v, %out) : (memref<?x?xi32, strided<[?, ?], offset: ?>>, memref<?x?xi32>) -> ()
  func.return
}"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "index",
    [
        np.s_[:, :], np.s_[2:, 1:5], np.s_[::3, ::2], np.s_[::-1, :], np.s_[5::-2, 6::-3],
        np.s_[3:3, :], np.s_[7:, 3:], np.s_[2:3, 4:5],
    ],
)  # fmt: skip
def test_subview(index: tuple[slice, slice], level: int) -> None:
    x = np.arange(56, dtype="int32").reshape(7, 8)
    expected = x[index]
    (o, _, s), (p, _, t) = (part.indices(n) for part, n in zip(index, x.shape, strict=True))
    out = np.zeros(expected.shape, "int32")
    Compiled(SUBVIEW, level).f(x, out, o, p, s, t)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("level", LEVELS)
def test_subview_that_drops_axes(level: int) -> None:
    f = Compiled(
        """
func.func @f(%x: memref<?x1x?xf64>, %row: index, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %out, %c0 : memref<?xf64>
  %v = memref.subview %x[%row, 0, 0][1, 1, %m][1, 1, 1] : memref<?x1x?xf64> to memref<?xf64, strided<[1], offset: ?>>
  %w = memref.subview %v[0][%m][1] : memref<?xf64, strided<[1], offset: ?>> to memref<?xf64, strided<[1], offset: ?>>
  "memref.copy"(%w, %out) : (memref<?xf64, strided<[1], offset: ?>>, memref<?xf64>) -> ()
  func.return
}""",
        level,
    ).f
    x, out = np.arange(12.0).reshape(3, 1, 4), np.zeros(4)
    f(x, 2, out)
    np.testing.assert_array_equal(out, x[2, 0])


@pytest.mark.parametrize("level", LEVELS)
def test_write_through_views(level: int) -> None:
    """The transpose of a part, written through a reinterpreted, an expanded and a collapsed view."""
    f = Compiled(
        """
func.func @f(%x: memref<?x6xf64>, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %n = memref.dim %x, %c0 : memref<?x6xf64>
  %e = memref.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 3] : memref<?x6xf64> into memref<?x2x3xf64>
  %k = memref.collapse_shape %e [[0, 1], [2]] : memref<?x2x3xf64> into memref<?x3xf64>
  %flat = memref.collapse_shape %k [[0, 1]] : memref<?x3xf64> into memref<?xf64>
  %t = memref.reinterpret_cast %flat to offset: [1], sizes: [3, %n], strides: [2, 6]
    : memref<?xf64> to memref<3x?xf64, strided<[2, 6], offset: 1>>
  %o = memref.expand_shape %out [[0, 1]] output_shape [3, %n] : memref<?xf64> into memref<3x?xf64>
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %v = memref.load %t[%i, %j] : memref<3x?xf64, strided<[2, 6], offset: 1>>
      memref.store %v, %o[%i, %j] : memref<3x?xf64>
    }
  }
  func.return
}""",
        level,
    ).f
    x = np.arange(24.0).reshape(4, 6)
    out = np.zeros(12)
    f(x, out)
    np.testing.assert_array_equal(out.reshape(3, 4), x[:, 1::2].T)


@pytest.mark.parametrize("level", LEVELS)
def test_reinterpret_begins_at_the_underlying_memref(level: int) -> None:
    """Its offset counts from where the memref begins, not from where the view begins."""
    f = Compiled(
        """
func.func @f(%x: memref<8xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %v = memref.subview %x[4][4][1] : memref<8xf64> to memref<4xf64, strided<[1], offset: 4>>
  %r = memref.reinterpret_cast %v to offset: [1], sizes: [2], strides: [1]
    : memref<4xf64, strided<[1], offset: 4>> to memref<2xf64, strided<[1], offset: 1>>
  %y = memref.load %r[%c0] : memref<2xf64, strided<[1], offset: 1>>
  func.return %y : f64
}""",
        level,
    ).f
    assert f(np.arange(8.0)) == 1.0


@pytest.mark.parametrize("level", LEVELS)
def test_storage(level: int) -> None:
    """Heap and stack: sums of each row gathered in a buffer, partial sums in another."""
    text = """
func.func @f(%x: memref<?x4xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?x4xf64>
  %rows = memref.alloc(%n) : memref<?xf64>
  %aligned = memref.alloc(%n) {alignment = 64 : i64} : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %part = memref.alloca() {alignment = 32 : i64} : memref<4xf64>
    memref.store %zero, %rows[%i] : memref<?xf64>
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xf64>
      memref.store %v, %part[%j] : memref<4xf64>
    }
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %part[%j] : memref<4xf64>
      %s = memref.load %rows[%i] : memref<?xf64>
      %t = arith.addf %s, %v : f64
      memref.store %t, %rows[%i] : memref<?xf64>
    }
  }
  "memref.copy"(%rows, %aligned) : (memref<?xf64>, memref<?xf64>) -> ()
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) {
    %v = memref.load %aligned[%i] : memref<?xf64>
    %t = arith.addf %s, %v : f64
    scf.yield %t : f64
  }
  memref.dealloc %rows : memref<?xf64>
  memref.dealloc %aligned : memref<?xf64>
  func.return %r : f64
}"""
    x = np.arange(4000.0).reshape(1000, 4)
    assert Compiled(text, level).f(x) == x.sum()
    entry, loops = emitted(text).split("loop:", 1)
    assert "alloca" in entry and "alloca" not in loops


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("kind", "literal", "dtype", "values"),
    [
        ("f64", "dense<[1.5, -2.0, 0.25]>", "float64", [1.5, -2.0, 0.25]),
        ("f32", "dense<3.0>", "float32", [3.0, 3.0, 3.0]),
        ("i16", "dense<[1, -2, 300]>", "int16", [1, -2, 300]),
        ("i1", "dense<[true, false, true]>", "bool", [True, False, True]),
    ],
)
def test_constant_globals(kind: str, literal: str, dtype: str, values: list[float], level: int) -> None:
    out = np.zeros(3, dtype)
    Compiled(
        f"""
"memref.global"() <{{
  sym_name = "table", sym_visibility = "private", type = memref<3x{kind}>, constant,
  initial_value = {literal} : tensor<3x{kind}>
}}> : () -> ()
func.func @f(%out: memref<3x{kind}>) {{
  %t = memref.get_global @table : memref<3x{kind}>
  "memref.copy"(%t, %out) : (memref<3x{kind}>, memref<3x{kind}>) -> ()
  func.return
}}""",
        level,
    ).f(out)
    np.testing.assert_array_equal(out, np.array(values, dtype))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("kind", "dtype"), [("f64", "float64"), ("f32", "float32"), ("i32", "int32"), ("i8", "int8")])
def test_vectors_in_memory(kind: str, dtype: str, level: int) -> None:
    """out = x · 3 + y in vectors of four, from any element on."""
    multiply, add = ("mulf", "addf") if kind[0] == "f" else ("muli", "addi")
    three = "3.0" if kind[0] == "f" else "3"
    f = Compiled(
        f"""
func.func @f(%x: memref<?xKIND>, %y: memref<?xKIND>, %out: memref<?xKIND>, %from: index) {{
  %c4 = arith.constant 4 : index
  %three = arith.constant {three} : KIND
  %dense = arith.constant dense<{three}> : vector<4xKIND>
  %pad = arith.constant {three.replace("3", "0")} : KIND
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xKIND>
  %k = vector.broadcast %three : KIND to vector<4xKIND>
  scf.for %i = %from to %n step %c4 {{
    %u = vector.load %x[%i] : memref<?xKIND>, vector<4xKIND>
    %v = vector.transfer_read %y[%i], %pad {{in_bounds = [true]}} : memref<?xKIND>, vector<4xKIND>
    %s = arith.{multiply} %u, %k : vector<4xKIND>
    %t = arith.{add} %s, %v : vector<4xKIND>
    %d = arith.{multiply} %t, %dense : vector<4xKIND>
    vector.store %d, %out[%i] : memref<?xKIND>, vector<4xKIND>
    vector.transfer_write %t, %out[%i] {{in_bounds = [true]}} : vector<4xKIND>, memref<?xKIND>
  }}
  func.return
}}""".replace("KIND", kind),
        level,
    ).f
    x, y, out = np.arange(17).astype(dtype), np.arange(17)[::-1].astype(dtype), np.zeros(17, dtype)
    f(x, y, out, 1)
    np.testing.assert_array_equal(out[1:], (x * 3 + y)[1:])
    assert out[0] == 0


@pytest.mark.parametrize("level", LEVELS)
def test_vectors_of_bools(level: int) -> None:
    """A bool is a byte in memory in vectors too."""
    f = Compiled(
        """
func.func @f(%x: memref<4xi1>, %y: memref<4xi1>, %out: memref<4xi1>) {
  %c0 = arith.constant 0 : index
  %mask = arith.constant dense<[true, true, true, false]> : vector<4xi1>
  %u = vector.load %x[%c0] : memref<4xi1>, vector<4xi1>
  %v = vector.load %y[%c0] : memref<4xi1>, vector<4xi1>
  %a = arith.xori %u, %v : vector<4xi1>
  %b = arith.andi %a, %mask : vector<4xi1>
  vector.store %b, %out[%c0] : memref<4xi1>, vector<4xi1>
  func.return
}""",
        level,
    ).f
    out = np.zeros(4, "uint8").view("bool")
    f(np.array([1, 255, 0, 1], "uint8").view("bool"), np.array([0, 1, 2, 0], "uint8").view("bool"), out)
    np.testing.assert_array_equal(out.view("uint8"), [1, 0, 1, 0])


@pytest.mark.parametrize("level", LEVELS)
def test_lanes(level: int) -> None:
    """Reverse, replace a lane, take one, see the bits."""
    f = Compiled(
        """
func.func @f(%x: memref<4xf64>, %k: index, %bits: memref<4xi64>) -> f64 {
  %c0 = arith.constant 0 : index
  %ten = arith.constant 10.0 : f64
  %v = vector.load %x[%c0] : memref<4xf64>, vector<4xf64>
  %r = vector.shuffle %v, %v [3, 2, 1, 4] : vector<4xf64>, vector<4xf64>
  %i = vector.insert %ten, %r [2] : f64 into vector<4xf64>
  %j = vector.insert %ten, %i [%k] : f64 into vector<4xf64>
  %f = vector.fma %j, %v, %v : vector<4xf64>
  %b = vector.bitcast %f : vector<4xf64> to vector<4xi64>
  vector.store %b, %bits[%c0] : memref<4xi64>, vector<4xi64>
  %e = vector.extract %f[%k] : f64 from vector<4xf64>
  %s = vector.extract %f[1] : f64 from vector<4xf64>
  %t = arith.addf %e, %s : f64
  func.return %t : f64
}""",
        level,
    ).f
    x, bits = np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4, "int64")
    lanes = np.array([4.0, 3.0, 10.0, 10.0]) * x + x
    assert f(x, 3, bits) == lanes[3] + lanes[1]
    np.testing.assert_array_equal(bits.view("float64"), lanes)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["i32", "i64"])
def test_reads_under_a_mask(level: int, kind: str) -> None:
    """Lanes that the mask leaves out read nothing, wherever they point, and keep what they are given."""
    f = Compiled(
        """
func.func @f(%x: memref<?x3xf64>, %at: memref<?xKIND>, %row: index, %p: index, %n: index, %out: memref<4xf64>) {
  %c0 = arith.constant 0 : index
  %far = arith.constant 1000000000 : KIND
  %seven = arith.constant 7.0 : f64
  %k = vector.broadcast %far : KIND to vector<4xKIND>
  %s = vector.broadcast %seven : f64 to vector<4xf64>
  %m = vector.create_mask %n : vector<4xi1>
  %i = vector.maskedload %at[%p], %m, %k : memref<?xKIND>, vector<4xi1>, vector<4xKIND> into vector<4xKIND>
  %v = vector.gather %x[%row, %c0][%i], %m, %s
    : memref<?x3xf64>, vector<4xKIND>, vector<4xi1>, vector<4xf64> into vector<4xf64>
  vector.store %v, %out[%c0] : memref<4xf64>, vector<4xf64>
  func.return
}""".replace("KIND", kind),
        level,
    ).f  # fmt: skip
    x, at = np.arange(6.0).reshape(2, 3), np.array([2, 0, 1, 1, 2, 0], kind.replace("i", "int"))
    for p, n in ((0, 4), (2, 4), (3, 3), (5, 1), (6, 0), (6, -3), (2, 9)):
        out = np.zeros(4)
        f(x, at, 1, p, n, out)
        count = min(max(n, 0), 4)
        np.testing.assert_array_equal(out, [*x[1, at[p : p + count]], *[7.0] * (4 - count)])


REDUCTIONS = {
    "add": np.sum, "mul": np.prod, "minnumf": np.min, "maxnumf": np.max, "minimumf": np.min, "maximumf": np.max,
    "minsi": np.min, "maxsi": np.max, "minui": np.min, "maxui": np.max,
    "and": np.bitwise_and.reduce, "or": np.bitwise_or.reduce, "xor": np.bitwise_xor.reduce,
}  # fmt: skip


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions(kind: str, accumulate: bool) -> None:
    element = "f64" if kind.endswith("f") else "i32"
    for each in {element, "f64"} if kind in ("add", "mul") else {element}:
        f = Compiled(
            f"""
func.func @f(%x: memref<4xKIND>, %a: KIND) -> KIND {{
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<4xKIND>, vector<4xKIND>
  %r = vector.reduction <{kind}>, %v {", %a" if accumulate else ""} : vector<4xKIND> into KIND
  func.return %r : KIND
}}""".replace("KIND", each)
        ).f
        x = np.array([5, 3, 6, 4]).astype("float64" if each == "f64" else "int32")
        assert f(x, 7) == REDUCTIONS[kind](np.append(x, x.dtype.type(7)) if accumulate else x)


@pytest.mark.parametrize("level", LEVELS)
def test_a_buffer_that_grows(level: int) -> None:
    """out[i] = i, by way of a buffer that doubles until it has room for all; −1 where there is no memory for it."""
    f = Compiled(
        """
func.func @f(%n: index, %size: index, %out: memref<?xf64>) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = memref.alloc(%c1) {grows = 0 : i64} : memref<?xf64>
  %k, %room, %all = scf.while (%i = %c0, %r = %c1, %b = %one)
      : (index, index, memref<?xf64>) -> (index, index, memref<?xf64>) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i, %r, %b : index, index, memref<?xf64>
  } do {
  ^bb0(%i: index, %r: index, %b: memref<?xf64>):
    %is_full = arith.cmpi sge, %i, %r : index
    %step = arith.muli %r, %size : index
    %larger = arith.select %is_full, %step, %r : index
    %moved = memref.realloc %b(%larger) {grows = 0 : i64} : memref<?xf64> to memref<?xf64>
    %whole = arith.index_cast %i : index to i64
    %value = arith.sitofp %whole : i64 to f64
    memref.store %value, %moved[%i] : memref<?xf64>
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %larger, %moved : index, index, memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    %value = memref.load %all[%i] : memref<?xf64>
    memref.store %value, %out[%i] : memref<?xf64>
  }
  memref.dealloc %all {grows = 0 : i64} : memref<?xf64>
  %status = arith.constant 0 : i32
  func.return %status : i32
}""",
        level,
    ).f
    out = np.zeros(100)
    assert f(100, 2, out) == 0
    np.testing.assert_array_equal(out, np.arange(100.0))
    assert f(100, 2**60, out) == -1

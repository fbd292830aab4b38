// RUN: canonicalize

// x·1, x/1, x − 0 and −(−x) are x, for nan and signed zeros too.
// CHECK-LABEL: func.func @exact
// CHECK-NEXT: func.return %x, %x, %x, %x : f64, f64, f64, f64
func.func @exact(%x: f64) -> (f64, f64, f64, f64) attributes {dims = [[]]} {
  %one = arith.constant 1.0 : f64
  %zero = arith.constant 0.0 : f64
  %a = arith.mulf %one, %x : f64
  %b = arith.divf %x, %one : f64
  %c = arith.subf %x, %zero : f64
  %n = arith.negf %x : f64
  %d = arith.negf %n : f64
  func.return %a, %b, %c, %d : f64, f64, f64, f64
}

// x + 0 is not x for −0, and x·0 is not 0 for nan.
// CHECK-LABEL: func.func @not_exact
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK: func.return
func.func @not_exact(%x: f64) -> (f64, f64) attributes {dims = [[]]} {
  %zero = arith.constant 0.0 : f64
  %a = arith.addf %x, %zero : f64
  %b = arith.mulf %x, %zero : f64
  func.return %a, %b : f64, f64
}

// What nothing uses goes, a check stays.
// CHECK-LABEL: func.func @dead
// CHECK-NOT: math.exp
// CHECK: aot.check
// CHECK-NEXT: func.return
func.func @dead(%x: f64, %n: index, %m: index) -> f64 attributes {dims = [[], [], []]} {
  %e = math.exp %x : f64
  %f = arith.addf %e, %x : f64
  %ok = arith.cmpi eq, %n, %m : index
  aot.check 1 "value" "extents differ", %ok, %n, %m
  func.return %x : f64
}

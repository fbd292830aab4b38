// RUN: stabilize

// CHECK-LABEL: func.func @quotients
// CHECK-NEXT: %[[A:.*]] = func.call @aot.sigmoid.f64(%x)
// CHECK-NEXT: %[[B:.*]] = func.call @aot.sigmoid.f64(%x)
// CHECK-NEXT: func.return %[[A]], %[[B]]
func.func @quotients(%x: f64) -> (f64, f64) attributes {dims = [[]]} {
  %one = arith.constant 1.0 : f64
  %n = arith.negf %x : f64
  %f = math.exp %n : f64
  %d = arith.addf %one, %f : f64
  %y = arith.divf %one, %d : f64
  %e = math.exp %x : f64
  %c = arith.addf %e, %one : f64
  %z = arith.divf %e, %c : f64
  func.return %y, %z : f64, f64
}

// The derivative of log(sigmoid(x)) as the chain rule has it, (g/s)·s·(1 − s).
// CHECK-LABEL: func.func @derivative_of_log_sigmoid
// CHECK-NOT: arith.divf
// CHECK: %[[N:.*]] = arith.negf %x
// CHECK: %[[T:.*]] = func.call @aot.sigmoid.f64(%[[N]])
// CHECK: %[[Y:.*]] = arith.mulf %g, %[[T]]
// CHECK: func.return %[[Y]]
func.func @derivative_of_log_sigmoid(%x: f64, %g: f64) -> f64 attributes {dims = [[], []]} {
  %one = arith.constant 1.0 : f64
  %zero = arith.constant 0.0 : f64
  %nan = arith.constant 0x7FF8000000000000 : f64
  %s = func.call @aot.sigmoid.f64(%x) : (f64) -> f64
  %q = arith.divf %g, %s : f64
  %outside = arith.cmpf olt, %s, %zero : f64
  %guarded = arith.select %outside, %nan, %q : f64
  %a = arith.mulf %guarded, %s : f64
  %t = arith.subf %one, %s : f64
  %y = arith.mulf %a, %t : f64
  func.return %y : f64
}

// s·(1 − s) is harmless as it is, and a second sigmoid would cost as much again.
// CHECK-LABEL: func.func @derivative_of_sigmoid
// CHECK-COUNT-1: func.call @aot.sigmoid.f64
// CHECK-NOT: func.call
// CHECK: func.return
func.func @derivative_of_sigmoid(%x: f64) -> f64 attributes {dims = [[]]} {
  %one = arith.constant 1.0 : f64
  %s = func.call @aot.sigmoid.f64(%x) : (f64) -> f64
  %t = arith.subf %one, %s : f64
  %y = arith.mulf %s, %t : f64
  func.return %y : f64
}

// Another constant than 1, another argument: left alone.
// CHECK-LABEL: func.func @no_sigmoid
// CHECK-NOT: func.call
// CHECK: func.return
func.func @no_sigmoid(%x: f64, %y: f64) -> (f64, f64) attributes {dims = [[], []]} {
  %one = arith.constant 1.0 : f64
  %two = arith.constant 2.0 : f64
  %e = math.exp %x : f64
  %a = arith.addf %two, %e : f64
  %p = arith.divf %one, %a : f64
  %f = math.exp %y : f64
  %b = arith.divf %f, %e : f64
  func.return %p, %b : f64, f64
}

func.func private @aot.sigmoid.f64(f64) -> f64

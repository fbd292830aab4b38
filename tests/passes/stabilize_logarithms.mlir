// RUN: stabilize

// CHECK-LABEL: func.func @log_of_one_plus
// CHECK-NEXT: %[[Y:.*]] = math.log1p %x
// CHECK-NEXT: func.return %[[Y]]
func.func @log_of_one_plus(%x: f64) -> f64 attributes {dims = [[]]} {
  %one = arith.constant 1.0 : f64
  %a = arith.addf %x, %one : f64
  %y = math.log %a : f64
  func.return %y : f64
}

// CHECK-LABEL: func.func @log_of_one_minus
// CHECK: %[[N:.*]] = arith.negf %x
// CHECK: math.log1p %[[N]]
func.func @log_of_one_minus(%x: f64) -> f64 attributes {dims = [[]]} {
  %one = arith.constant 1.0 : f64
  %a = arith.subf %one, %x : f64
  %y = math.log %a : f64
  func.return %y : f64
}

// CHECK-LABEL: func.func @log_of_another_sum
// CHECK: arith.addf
// CHECK: math.log %
func.func @log_of_another_sum(%x: f64) -> f64 attributes {dims = [[]]} {
  %two = arith.constant 2.0 : f64
  %a = arith.addf %x, %two : f64
  %y = math.log %a : f64
  func.return %y : f64
}

// CHECK-LABEL: func.func @softplus_twice
// CHECK-NEXT: %[[A:.*]] = func.call @aot.softplus.f32(%x)
// CHECK-NEXT: %[[B:.*]] = func.call @aot.softplus.f32(%x)
// CHECK-NEXT: func.return %[[A]], %[[B]]
func.func @softplus_twice(%x: f32) -> (f32, f32) attributes {dims = [[]]} {
  %one = arith.constant 1.0 : f32
  %e = math.exp %x : f32
  %a = arith.addf %one, %e : f32
  %y = math.log %a : f32
  %z = math.log1p %e : f32
  func.return %y, %z : f32, f32
}

// log(sigmoid(−x)) and log(1 − sigmoid(x)) are both −softplus(x).
// CHECK-LABEL: func.func @log_of_sigmoid
// CHECK-NEXT: %[[A:.*]] = func.call @aot.softplus.f64(%x)
// CHECK-NEXT: %[[B:.*]] = arith.negf %[[A]]
// CHECK-NEXT: %[[C:.*]] = func.call @aot.softplus.f64(%x)
// CHECK-NEXT: %[[D:.*]] = arith.negf %[[C]]
// CHECK-NEXT: func.return %[[B]], %[[D]]
func.func @log_of_sigmoid(%x: f64) -> (f64, f64) attributes {dims = [[]]} {
  %one = arith.constant 1.0 : f64
  %n = arith.negf %x : f64
  %s = func.call @aot.sigmoid.f64(%n) : (f64) -> f64
  %y = math.log %s : f64
  %t = func.call @aot.sigmoid.f64(%x) : (f64) -> f64
  %d = arith.subf %one, %t : f64
  %z = math.log %d : f64
  func.return %y, %z : f64, f64
}

// CHECK-LABEL: func.func @differences_of_exponentials
// CHECK: %[[A:.*]] = math.expm1 %x
// CHECK: %[[B:.*]] = math.expm1 %x
// CHECK: %[[C:.*]] = arith.negf %[[B]]
// CHECK: %[[D:.*]] = func.call @aot.log1mexp.f64(%x)
// CHECK: func.return %[[A]], %[[C]], %[[D]]
func.func @differences_of_exponentials(%x: f64) -> (f64, f64, f64) attributes {dims = [[]]} {
  %one = arith.constant 1.0 : f64
  %minus = arith.constant -1.0 : f64
  %e = math.exp %x : f64
  %a = arith.addf %e, %minus : f64
  %b = arith.subf %one, %e : f64
  %c = math.log %b : f64
  func.return %a, %b, %c : f64, f64, f64
}

func.func private @aot.sigmoid.f64(f64) -> f64

// Functions that are called for the first time are declared.
// CHECK: func.func private @aot.softplus.f32(f32) -> f32
// CHECK: func.func private @aot.log1mexp.f64(f64) -> f64

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

// A quotient by a power of two is a product, as long as both powers are normal numbers; by any other number it is not.
// CHECK-LABEL: func.func @powers_of_two
// CHECK: [[QUARTER:%\S+]] = arith.constant 2.500000e-01 : f64
// CHECK: arith.mulf %x, [[QUARTER]] fastmath<contract> : f64
// CHECK: arith.constant -5.000000e-01 : f32
// CHECK: arith.mulf %y, {{.*}} : f32
// CHECK: arith.divf %x, {{.*}} : f64
// CHECK: arith.divf %y, {{.*}} : f32
// CHECK: arith.divf %x, {{.*}} : f64
// CHECK: func.return
func.func @powers_of_two(%x: f64, %y: f32) -> (f64, f32, f64, f32, f64) attributes {dims = [[], []]} {
  %four = arith.constant 4.0 : f64
  %a = arith.divf %x, %four fastmath<contract> : f64
  %minus_two = arith.constant -2.0 : f32
  %b = arith.divf %y, %minus_two : f32
  %three = arith.constant 3.0 : f64
  %c = arith.divf %x, %three : f64
  %large = arith.constant 1.7014118346046923e+38 : f32
  %d = arith.divf %y, %large : f32
  %zero = arith.constant 0.0 : f64
  %e = arith.divf %x, %zero : f64
  func.return %a, %b, %c, %d, %e : f64, f32, f64, f32, f64
}

// A power whose exponent is half a small odd number is a product with a square root, of inf for −inf and of 0 for −0; other
// exponents stay.
// CHECK-LABEL: func.func @half_powers
// CHECK: arith.cmpf oeq, %x, {{.*}} : f64
// CHECK: [[X:%\S+]] = arith.select {{.*}}, {{.*}}, %x : f64
// CHECK: [[Z:%\S+]] = arith.addf [[X]], {{.*}} fastmath<contract> : f64
// CHECK: [[R:%\S+]] = math.sqrt [[Z]] fastmath<contract> : f64
// CHECK: arith.mulf [[Z]], [[R]] fastmath<contract> : f64
// CHECK: math.powf %x
// CHECK-NOT: math.powf
// CHECK: func.return
func.func @half_powers(%x: f64) -> (f64, f64) attributes {dims = [[]]} {
  %half = arith.constant 1.5 : f64
  %a = math.powf %x, %half fastmath<contract> : f64
  %third = arith.constant 0.3 : f64
  %b = math.powf %x, %third : f64
  func.return %a, %b : f64, f64
}

// RUN: expand-math

// CHECK-LABEL: func.func @f
// CHECK: func.call @aot.exp.f64
// CHECK: func.call @aot.exp.f32
// CHECK: math.sqrt
// CHECK: math.absf
// CHECK: func.call @aot.sigmoid.f64
func.func @f(%x: f64, %y: f32) -> (f64, f32) {
  %a = math.exp %x : f64
  %b = math.exp %y : f32
  %c = math.sqrt %a : f64
  %d = math.absf %c : f64
  %e = func.call @aot.sigmoid.f64(%d) : (f64) -> f64
  func.return %e, %b : f64, f32
}

// A declaration gives way to its definition; each function is defined once and has arithmetic only.
func.func private @aot.sigmoid.f64(f64) -> f64

// CHECK-NOT: func.func private @aot.sigmoid.f64(f64)
// CHECK: func.func private @aot.exp.f64(%{{.*}}: f64) -> f64 {
// CHECK-NOT: math.exp
// CHECK: func.func private @aot.exp.f32(%{{.*}}: f32) -> f32 {
// CHECK-NOT: math.exp
// CHECK: func.func private @aot.sigmoid.f64(%{{.*}}: f64) -> f64 {
// CHECK-NOT: math.exp

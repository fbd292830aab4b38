// RUN: outline

// In a kernel of many loops a long one is a function: buffers are its arguments, views and constants are made anew.
// CHECK-LABEL: func.func @f.kernel(
// CHECK: %[[OFFSET:[0-9a-z_]+]] = arith.muli
// CHECK: %[[SUM:[0-9a-z_]+]] = func.call @f.loops0(%{{.*}}) : ({{.*}}) -> f64
// CHECK: memref.store %[[SUM]], %y
// CHECK-COUNT-16: scf.for
// CHECK-LABEL: func.func private @f.loops0(
// CHECK-SAME: memref<?xf64>
// CHECK-SAME: memref<?xi8>
// CHECK-SAME: ) -> f64 attributes {outlined, apart} {
// CHECK: %[[VIEW:[0-9a-z_]+]] = memref.view %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}][%{{[a-z0-9_]+}}] {scope = 0 : i64}
// CHECK: %[[TOTAL:[0-9a-z_]+]] = scf.for
// CHECK: memref.store %{{[a-z0-9_]+}}, %[[VIEW]]
// CHECK: func.return %[[TOTAL]] : f64
// A short kernel stays one.
// CHECK-LABEL: func.func @g.kernel(
// CHECK: scf.for
// CHECK-NOT: func.func private
func.func @f.kernel(%x: memref<?xf64>, %y: memref<1xf64>, %workspace: memref<?xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %offset = arith.muli %n, %c8 : index
  %t = memref.view %workspace[%offset][%n] {scope = 0 : i64} : memref<?xi8> to memref<?xf64>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) {
    %v0 = memref.load %x[%i] : memref<?xf64>
    %a1 = arith.mulf %v0, %v0 : f64
    %a2 = arith.mulf %a1, %v0 : f64
    %a3 = arith.mulf %a2, %v0 : f64
    %a4 = arith.mulf %a3, %v0 : f64
    %a5 = arith.mulf %a4, %v0 : f64
    %a6 = arith.mulf %a5, %v0 : f64
    %a7 = arith.mulf %a6, %v0 : f64
    %a8 = arith.mulf %a7, %v0 : f64
    %a9 = arith.mulf %a8, %v0 : f64
    %a10 = arith.mulf %a9, %v0 : f64
    %a11 = arith.mulf %a10, %v0 : f64
    %a12 = arith.mulf %a11, %v0 : f64
    %a13 = arith.mulf %a12, %v0 : f64
    %a14 = arith.mulf %a13, %v0 : f64
    %a15 = arith.mulf %a14, %v0 : f64
    %a16 = arith.mulf %a15, %v0 : f64
    %a17 = arith.mulf %a16, %v0 : f64
    %a18 = arith.mulf %a17, %v0 : f64
    %a19 = arith.mulf %a18, %v0 : f64
    %a20 = arith.mulf %a19, %v0 : f64
    %a21 = arith.mulf %a20, %v0 : f64
    %a22 = arith.mulf %a21, %v0 : f64
    %a23 = arith.mulf %a22, %v0 : f64
    memref.store %a23, %t[%i] : memref<?xf64>
    %r = arith.addf %s, %a23 : f64
    scf.yield %r : f64
  }
  memref.store %sum, %y[%c0] : memref<1xf64>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf64>
  }
  func.return
}
func.func @g.kernel(%x: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %x[%i] : memref<?xf64>
  }
  func.return
}

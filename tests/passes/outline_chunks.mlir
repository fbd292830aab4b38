// RUN: outline-chunks

// A chunk is a call: what it needs are arguments, views of the workspace are made anew, and it is told its lane.
// CHECK-LABEL: func.func @f.kernel(
// CHECK: scf.parallel (%[[START:[0-9a-z_]+]]) = (%{{[a-z0-9_]+}}) to (%{{[a-z0-9_]+}}) step (%{{[a-z0-9_]+}}) {
// CHECK-NEXT: %[[LANE:[0-9a-z_]+]] = arith.divui %[[START]], %{{[a-z0-9_]+}} {lane} : index
// CHECK-NEXT: func.call @f.chunk0(%{{.*}}, %[[START]], %[[LANE]])
// CHECK-NEXT: scf.reduce
// CHECK-LABEL: func.func private @f.chunk0(
// CHECK-SAME: %[[FIRST:[a-z0-9_]+]]: index, %[[SLOT:[a-z0-9_]+]]: index) attributes {outlined, apart} {
// CHECK: %[[OFFSET:[0-9a-z_]+]] = arith.muli %[[SLOT]], %{{[a-z0-9_]+}} : index
// CHECK: memref.view %{{[a-z0-9_]+}}[%[[OFFSET]]][%{{[a-z0-9_]+}}] {scope = 0 : i64}
// CHECK: scf.for
func.func @f.kernel(%x: memref<?xf64>, %workspace: memref<?xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf64>
  %bytes = arith.muli %n, %c8 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c8) {
    %lane = arith.divui %i, %c8 {lane} : index
    %offset = arith.muli %lane, %bytes : index
    %t = memref.view %workspace[%offset][%n] {scope = 0 : i64} : memref<?xi8> to memref<?xf64>
    scf.for %k = %c0 to %n step %c1 {
      memref.store %zero, %t[%k] : memref<?xf64>
    }
    %v = memref.load %t[%i] : memref<?xf64>
    memref.store %v, %x[%i] : memref<?xf64>
    scf.reduce
  }
  func.return
}

// So it is in `.extents`, whose memory is its own.
// CHECK-LABEL: func.func @f.extents(
// CHECK: scf.parallel
// CHECK: func.call @f.extents.chunk0(
// CHECK-LABEL: func.func private @f.extents.chunk0(
// CHECK: memref.store
func.func @f.extents(%n: index, %detail: memref<4xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i64
  %t = memref.alloc(%n) : memref<?xi64>
  scf.parallel (%i) = (%c0) to (%n) step (%c8) {
    scf.for %k = %i to %n step %c1 {
      memref.store %one, %t[%k] : memref<?xi64>
    }
    scf.reduce
  }
  memref.dealloc %t : memref<?xi64>
  func.return
}

// Chunks that do nothing, as those of sums over an empty axis, need no function and no loop.
// CHECK-LABEL: func.func @empty.kernel(
// CHECK-NOT: scf.parallel
// CHECK: func.return
func.func @empty.kernel(%n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c8) {
    scf.reduce
  }
  func.return
}

// RUN: plan-memory

// Two buffers of one size that are never alive together share a slot; a third that overlaps both has its own.
// CHECK-LABEL: func.func @f.kernel
// CHECK-SAME: %[[WORKSPACE:[0-9a-z]+]]: memref<?xi8>, %detail
// CHECK-NOT: memref.alloc
// CHECK: %[[A:.*]] = memref.view %[[WORKSPACE]][%[[P:.*]]][%{{.*}}] {scope = 0 : i64}
// CHECK: memref.view %[[WORKSPACE]][%[[Q:.*]]][%{{.*}}] {scope = 1 : i64}
// CHECK: memref.view %[[WORKSPACE]][%[[P]]][%{{.*}}] {scope = 0 : i64}
// CHECK-NOT: memref.dealloc
func.func @f.kernel(%x: memref<?xf64>, %y: memref<?xf64>, %workspace: memref<?xi8>, %detail: memref<4xi64>, %blas: memref<1xi8>) -> i32 attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %a = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf64>
    memref.store %v, %a[%i] : memref<?xf64>
  }
  %b = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %a[%i] : memref<?xf64>
    memref.store %v, %b[%i] : memref<?xf64>
  }
  %c = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %b[%i] : memref<?xf64>
    memref.store %v, %c[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %c[%i] : memref<?xf64>
    %w = memref.load %b[%i] : memref<?xf64>
    %s = arith.addf %v, %w : f64
    memref.store %s, %y[%i] : memref<?xf64>
  }
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// The size of the workspace stands behind the extents of the outputs.
// CHECK-LABEL: func.func @f.extents
// CHECK: memref.store %{{.*}}, %extents[%{{.*}}] : memref<?xi64>
// A size that does not fit 63 bits becomes 2^62, which no machine can allocate.
// CHECK: %[[LARGEST:.*]] = arith.constant 4611686018427387904 : index
// CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[LARGEST]] : index
// CHECK: %[[BYTES:.*]] = arith.index_cast %[[SAFE]] : index to i64
// CHECK: memref.store %[[BYTES]], %extents[%{{.*}}] : memref<?xi64>
// CHECK: func.return
func.func @f.extents(%x: memref<?xf64>, %extents: memref<?xi64>, %detail: memref<4xi64>, %blas: memref<?xi8>) -> i32 attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %size = arith.index_cast %n : index to i64
  memref.store %size, %extents[%c0] : memref<?xi64>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// What chunks need in `.extents` is allocated in front of their loop, and freed behind it: a part for each lane.
// CHECK-LABEL: func.func @g.extents
// CHECK: %[[LANES:.*]] = memref.alloc(%{{.*}}) : memref<?xi8>
// CHECK-NEXT: scf.parallel
// CHECK-NEXT: arith.divui %{{.*}}, %{{.*}} {lane} : index
// CHECK: %[[T:.*]] = memref.view %[[LANES]][%{{.*}}][%{{.*}}] {scope = 0 : i64}
// CHECK: memref.store %{{.*}}, %[[T]]
// CHECK: memref.dealloc %[[LANES]]
func.func @g.extents(%x: memref<?xi64>, %extents: memref<?xi64>, %detail: memref<4xi64>, %context: memref<1xi8>) -> i32 attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, %c0 : memref<?xi64>
  scf.parallel (%i) = (%c0) to (%n) step (%c8) {
    %t = memref.alloc(%n) : memref<?xi64>
    scf.for %k = %c0 to %n step %c1 {
      %v = memref.load %x[%k] : memref<?xi64>
      memref.store %v, %t[%k] : memref<?xi64>
    }
    scf.reduce
  }
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// Chunks of two loops whose buffers are equal have the same lanes, as one loop is over before the other begins. Extents
// that are computed twice are one: both loops have the same number of chunks, and one product is the size of all.
// CHECK-LABEL: func.func @h.kernel
// CHECK-SAME: %[[MEMORY:[0-9a-z]+]]: memref<?xi8>, %detail
// CHECK: arith.muli %{{.*}}, %n : index
// CHECK-NOT: arith.muli %{{.*}}, %n : index
// CHECK: scf.parallel
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %[[SIZE:.*]] : index
// CHECK: memref.view %[[MEMORY]][%[[FIRST]]][%{{.*}}] {scope = 1 : i64}
// CHECK: scf.parallel
// CHECK: %[[SECOND:.*]] = arith.muli %{{.*}}, %[[SIZE]] : index
// CHECK: memref.view %[[MEMORY]][%[[SECOND]]][%{{.*}}] {scope = 1 : i64}
// CHECK-NOT: memref.alloc
func.func @h.kernel(%x: memref<?xf64>, %y: memref<?xf64>, %workspace: memref<?xi8>, %detail: memref<4xi64>, %blas: memref<1xi8>) -> i32 attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %two = arith.constant 2 : index
  %size = arith.muli %two, %n : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %t = memref.alloc(%size) : memref<?xf64>
    %v = memref.load %x[%i] : memref<?xf64>
    memref.store %v, %t[%i] : memref<?xf64>
    %w = memref.load %t[%i] : memref<?xf64>
    memref.store %w, %y[%i] : memref<?xf64>
    scf.reduce
  }
  %again = arith.constant 2 : index
  %other = arith.muli %again, %n : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %t = memref.alloc(%other) : memref<?xf64>
    %v = memref.load %y[%i] : memref<?xf64>
    memref.store %v, %t[%i] : memref<?xf64>
    %w = memref.load %t[%i] : memref<?xf64>
    memref.store %w, %y[%i] : memref<?xf64>
    scf.reduce
  }
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
func.func @h.extents(%x: memref<?xf64>, %extents: memref<?xi64>, %detail: memref<4xi64>, %blas: memref<?xi8>) -> i32 attributes {dims = [["n"]]} {
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// CHECK-LABEL: func.func @f.workspace_bytes(%n: index) -> i64

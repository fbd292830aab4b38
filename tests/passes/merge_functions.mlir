// RUN: merge-functions

// Functions that differ in names and numbers of scopes only are one; both chunks call it. Coefficients are arguments,
// constants before the loop.
// CHECK-LABEL: func.func @f.kernel(
// CHECK: %[[TWO:[0-9a-z_]+]] = arith.constant 2.0
// CHECK: func.call @f.chunk0(%[[TWO]], %x, %workspace
// CHECK: func.call @f.chunk0(%{{.*}}, %y, %workspace
// CHECK: %[[THREE:[0-9a-z_]+]] = arith.constant 3.0
// CHECK-NEXT: scf.parallel
// CHECK-NEXT: func.call @f.chunk0(%[[THREE]], %y, %workspace
// CHECK: func.call @f.chunk3(%y, %workspace
// CHECK-LABEL: func.func private @f.chunk0(%{{.*}}: f64, %x: memref
// CHECK-NOT: arith.constant 2.0
// CHECK-NOT: @f.chunk1
// CHECK-NOT: @f.chunk2
// A divisor is no coefficient: LLVM may know the code of its reciprocal.
// CHECK-LABEL: func.func private @f.chunk3(
func.func @f.kernel(%x: memref<?xf64>, %y: memref<?xf64>, %workspace: memref<?xi8>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c8) {
    func.call @f.chunk0(%x, %workspace, %c0, %i) : (memref<?xf64>, memref<?xi8>, index, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c8) {
    func.call @f.chunk1(%y, %workspace, %c8, %i) : (memref<?xf64>, memref<?xi8>, index, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c8) {
    func.call @f.chunk2(%y, %workspace, %c8, %i) : (memref<?xf64>, memref<?xi8>, index, index) -> ()
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c8) {
    func.call @f.chunk3(%y, %workspace, %c8, %i) : (memref<?xf64>, memref<?xi8>, index, index) -> ()
    scf.reduce
  }
  func.return
}

func.func private @f.chunk0(%x: memref<?xf64>, %w: memref<?xi8>, %o: index, %i: index) attributes {outlined, apart} {
  %c8 = arith.constant 8 : index
  %two = arith.constant 2.0 : f64
  %t = memref.view %w[%o][%c8] {scope = 3 : i64} : memref<?xi8> to memref<?xf64>
  %v = memref.load %x[%i] : memref<?xf64>
  %z = arith.mulf %v, %two : f64
  memref.store %z, %t[%i] : memref<?xf64>
  func.return
}

func.func private @f.chunk1(%y: memref<?xf64>, %w: memref<?xi8>, %p: index, %k: index) attributes {outlined, apart} {
  %c8 = arith.constant 8 : index
  %by = arith.constant 2.0 : f64
  %t = memref.view %w[%p][%c8] {scope = 7 : i64} : memref<?xi8> to memref<?xf64>
  %a = memref.load %y[%k] : memref<?xf64>
  %b = arith.mulf %a, %by : f64
  memref.store %b, %t[%k] : memref<?xf64>
  func.return
}

func.func private @f.chunk2(%y: memref<?xf64>, %w: memref<?xi8>, %p: index, %k: index) attributes {outlined, apart} {
  %c8 = arith.constant 8 : index
  %by = arith.constant 3.0 : f64
  %t = memref.view %w[%p][%c8] {scope = 7 : i64} : memref<?xi8> to memref<?xf64>
  %a = memref.load %y[%k] : memref<?xf64>
  %b = arith.mulf %a, %by : f64
  memref.store %b, %t[%k] : memref<?xf64>
  func.return
}

func.func private @f.chunk3(%y: memref<?xf64>, %w: memref<?xi8>, %p: index, %k: index) attributes {outlined, apart} {
  %c8 = arith.constant 8 : index
  %by = arith.constant 4.0 : f64
  %t = memref.view %w[%p][%c8] {scope = 7 : i64} : memref<?xi8> to memref<?xf64>
  %a = memref.load %y[%k] : memref<?xf64>
  %b = arith.divf %a, %by : f64
  memref.store %b, %t[%k] : memref<?xf64>
  func.return
}

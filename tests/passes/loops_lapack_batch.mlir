// RUN: canonicalize lower-to-nest..vectorize parallelize emit-loops

// A batch whose matrices may be small: chunks of matrices, all in one where they have so many rows that LAPACK has threads of
// its own, or few. Each has its own failure, of which the first one is found in order.
// CHECK-LABEL: func.func @factors.kernel
// CHECK: %[[LARGEST:.*]] = arith.constant 64 : index
// CHECK: %[[NOT_LARGE:[0-9]+]] = arith.cmpi sle, %{{.*}}, %[[LARGEST]] : index
// CHECK: %[[SMALL:[0-9]+]] = arith.andi %[[NOT_LARGE]], %{{.*}} : i1
// CHECK: %[[SIZE:[0-9]+]] = arith.select %[[SMALL]], %{{.*}}, %{{.*}} : index
// CHECK: %[[FAILURES:[0-9]+]] = memref.alloc(%[[COUNT:.*]]) : memref<?xi64>
// CHECK: scf.parallel (%[[START:[0-9]+]]) = (%{{.*}}) to (%[[COUNT]]) step (%[[SIZE]]) {
// CHECK: scf.for %[[ENTRY:.*]] = %[[START]] to %{{.*}} step %{{.*}} {
// CHECK: func.call @aot_lapack_potrf.f64(
// CHECK: memref.store %{{.*}}, %[[FAILURES]][%[[ENTRY]]]
// CHECK: scf.reduce
// CHECK: scf.for
// CHECK: memref.load %[[FAILURES]]
func.func @factors(%a: tensor<?x?x?xf64>) -> tensor<?x?x?xf64> attributes {dims = [["b", "n", "n"]]} {
  %axis = arith.constant 0 : index
  %row = arith.constant 1 : index
  %b = tensor.dim %a, %axis : tensor<?x?x?xf64>
  %n = tensor.dim %a, %row : tensor<?x?x?xf64>
  %l, %failure = aot.lapack "cholesky" %a[%b, %n, %n] {options = {nan_on_failure = true}} : tensor<?x?x?xf64> -> tensor<?x?x?xf64>
  func.return %l : tensor<?x?x?xf64>
}

// Matrices that are known to be large go one by one.
// CHECK-LABEL: func.func @large.kernel
// CHECK-NOT: scf.parallel
func.func @large(%a: tensor<?x65x65xf64>) -> tensor<?x65x65xf64> attributes {dims = [["b", "", ""]]} {
  %axis = arith.constant 0 : index
  %b = tensor.dim %a, %axis : tensor<?x65x65xf64>
  %l, %failure = aot.lapack "cholesky" %a[%b] {options = {nan_on_failure = true}} : tensor<?x65x65xf64> -> tensor<?x65x65xf64>
  func.return %l : tensor<?x65x65xf64>
}

// RUN: lower-to-nest..vectorize emit-loops

// Rows are added one after the other, in place where nobody else reads the destination: an index that repeats gets every
// term. The index is read once per row, counted from the start, and the loop over indices is not vectorised.
// CHECK-LABEL: func.func @add_rows.kernel
// CHECK-SAME: (%y: memref<?x?xf64>, %i: memref<?xi64>, %x: memref<?x?xf64>, %[[OUT:[0-9]+]]: memref<?x?xf64>
// CHECK-NOT: memref.alloc
// CHECK: memref.store %{{.*}}, %[[OUT]][
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: %[[FOUND:.*]] = memref.load %i[%[[ROW]]]
// CHECK: arith.cmpi slt
// CHECK: %[[INDEX:.*]] = arith.select
// CHECK: scf.for %[[K:.*]] =
// CHECK: %[[TERM:.*]] = memref.load %y[%[[ROW]], %[[K]]]
// CHECK: %[[OLD:.*]] = memref.load %[[OUT]][%[[INDEX]], %[[K]]]
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %[[TERM]]
// CHECK: memref.store %[[NEW]], %[[OUT]][%[[INDEX]], %[[K]]]
// CHECK: {novector}
func.func @add_rows(%y: tensor<?x?xf64>, %i: tensor<?xi64>, %x: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["k", "m"], ["k"], ["n", "m"]]} {
  %r = aot.scatter "add" 0 %y into %x[%i] {axes = array<i64: 0>} : tensor<?x?xf64> into tensor<?x?xf64> [tensor<?xi64>]
  func.return %r : tensor<?x?xf64>
}

// Two arrays of indices that broadcast: the extent of 1 is read at 0. The destination is filled in the output itself.
// CHECK-LABEL: func.func @put.kernel
// CHECK: %[[I:.*]] = memref.load %i[%{{.*}}, %{{[0-9]+}}]
// CHECK: %[[J:.*]] = memref.load %j[
// CHECK-NOT: arith.addf
// CHECK: memref.store
// CHECK: func.return
func.func @put(%y: tensor<?x?xf64>, %i: tensor<?x1xi64>, %j: tensor<?xi64>, %n: index) -> tensor<?x?xf64> attributes {dims = [["a", "b"], ["a", ""], ["b"], []]} {
  %zero = arith.constant 0.0 : f64
  %x = tensor.splat %zero[%n, %n] : tensor<?x?xf64>
  %r = aot.scatter "set" 0 %y into %x[%i, %j] {axes = array<i64: 0, 1>} : tensor<?x?xf64> into tensor<?x?xf64> [tensor<?x1xi64>, tensor<?xi64>]
  func.return %r : tensor<?x?xf64>
}

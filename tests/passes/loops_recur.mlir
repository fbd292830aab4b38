// RUN: lower-to-nest..vectorize emit-loops

// Many columns are computed row by row, from the row before; of few, the previous value stays in a register. The flags
// of the operation are those of its arithmetic.
// CHECK-LABEL: func.func @recur.kernel
// CHECK-SAME: (%a: memref<?x?xf64>, %c: memref<?x?xf64>, %[[OUT:[0-9a-z]+]]: memref<?x?xf64>
// CHECK: %[[LAST:[0-9]+]] = memref.load %[[OUT]][
// CHECK: %[[ROW:[0-9]+]] = arith.mulf %{{[0-9]+}}, %[[LAST]] : f64
// CHECK: arith.addf %[[ROW]], %{{[0-9]+}} : f64
// CHECK: } {parallel_accesses}
// CHECK: } else {
// CHECK: scf.for %[[J:.*]] =
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[Y:.*]] = %{{.*}}) -> (f64) {
// CHECK: %[[A:.*]] = memref.load %a[%[[K]], %[[J]]]
// CHECK: %[[P:.*]] = arith.mulf %[[A]], %[[Y]] : f64
// CHECK: %[[C:.*]] = memref.load %c[%[[K]], %[[J]]]
// CHECK: %[[R:.*]] = arith.addf %[[P]], %[[C]] : f64
// CHECK: memref.store %[[R]], %[[OUT]][%[[K]], %[[J]]]
// CHECK: scf.yield %[[R]]
func.func @recur(%a: tensor<?x?xf64>, %c: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["n", "m"], ["n", "m"]]} {
  %r = aot.recur 0 %a, %c {fastmath = #arith.fastmath<none>} : tensor<?x?xf64>
  func.return %r : tensor<?x?xf64>
}

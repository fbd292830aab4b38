// RUN: emit-loops

// Statements read and write buffers, loops are loops; the function gets its kernel and its calculation of the
// workspace.
// CHECK-LABEL: func.func @one.kernel(
// CHECK: scf.for %[[V5:[0-9]+]] = %[[V0:[0-9]+]] to %v_1 step %[[V1:[0-9]+]] {
// CHECK-NEXT: %[[V6:[0-9]+]] = memref.load %v[%[[V5]]] : memref<?xf64>
// CHECK-NEXT: %[[V7:[0-9]+]] = math.exp %[[V6]] fastmath<contract> : f64
// CHECK-NEXT: memref.store %[[V7]], %out[%[[V5]]] : memref<?xf64>
// CHECK-NEXT: } {parallel_accesses}
// CHECK-NEXT: %[[V8:[0-9]+]] = arith.constant 0 : i32
// CHECK-NEXT: func.return %[[V8]] : i32
func.func @one(%v: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["v_0"]], results = ["out"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %v, %0 : tensor<?xf64>
  %2 = arith.constant 0 : index
  %3 = tensor.dim %v, %2 : tensor<?xf64>
  %4 = nest.value[%1] output 0 : tensor<?xf64>
  nest.for %5 in %1 parallel {
    nest.do(%6 = %v[%5] : tensor<?xf64>) -> (%7 = %4[%5] : tensor<?xf64>) {
      %8 = math.exp %6 fastmath<contract> : f64
      nest.yield %8 : f64
    }
  }
  func.return %4 : tensor<?xf64>
}

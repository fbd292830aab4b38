// RUN: mark-independent

// Iterations that write elements of their own may run in any order.
// CHECK-LABEL: func.func @elementwise(
// CHECK: %[[V8:[0-9]+]] = nest.value[%[[V1:[0-9]+]], %[[V3:[0-9]+]]] output 0 : tensor<?x?xf64>
// CHECK-NEXT: %[[V9:[0-9]+]] = arith.muli %[[V1]], %[[V3]] : index
// CHECK-NEXT: %[[V10:[0-9]+]] = aot.reshape %x[%[[V9]]] : tensor<?x?xf64> -> tensor<?xf64>
// CHECK-NEXT: %[[V11:[0-9]+]] = aot.reshape %[[V8]][%[[V9]]] : tensor<?x?xf64> -> tensor<?xf64>
// CHECK-NEXT: nest.for %[[V12:[0-9]+]] in %[[V9]] parallel {
// CHECK-NEXT: nest.do(%[[V13:[0-9]+]] = %[[V10]][%[[V12]]] : tensor<?xf64>) -> (%[[V14:[0-9]+]] = %[[V11]][%[[V12]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V15:[0-9]+]] = math.exp %[[V13]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V15]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V8]] : tensor<?x?xf64>
func.func @elementwise(%x: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["x_0", "x_1"]], results = ["out0"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %x, %0 : tensor<?x?xf64>
  %2 = arith.constant 1 : index
  %3 = tensor.dim %x, %2 : tensor<?x?xf64>
  %4 = arith.constant 0 : index
  %5 = tensor.dim %x, %4 : tensor<?x?xf64>
  %6 = arith.constant 1 : index
  %7 = tensor.dim %x, %6 : tensor<?x?xf64>
  %8 = nest.value[%1, %3] output 0 : tensor<?x?xf64>
  %9 = arith.muli %1, %3 : index
  %10 = aot.reshape %x[%9] : tensor<?x?xf64> -> tensor<?xf64>
  %11 = aot.reshape %8[%9] : tensor<?x?xf64> -> tensor<?xf64>
  nest.for %12 in %9 {
    nest.do(%13 = %10[%12] : tensor<?xf64>) -> (%14 = %11[%12] : tensor<?xf64>) {
      %15 = math.exp %13 fastmath<contract> : f64
      nest.yield %15 : f64
    }
  }
  func.return %8 : tensor<?x?xf64>
}

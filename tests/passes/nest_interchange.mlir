// RUN: interchange

// The loops of a transposed product come in the order in which its matrix lies in memory.
// CHECK-LABEL: func.func @both(
// CHECK: %[[V9:[0-9]+]] = nest.value[%[[V1:[0-9]+]]] init %[[V8:[0-9]+]] : f64 : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V10:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.for %[[V11:[0-9]+]] in %[[V3:[0-9]+]] {
// CHECK-NEXT: nest.do(%[[V12:[0-9]+]] = %x[%[[V10]], %[[V11]]] : tensor<?x?xf64>, %[[V13:[0-9]+]] = %w[%[[V11]]] : tensor<?xf64>) -> (%[[V14:[0-9]+]] = %[[V9]][%[[V10]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V15:[0-9]+]] = arith.mulf %[[V12]], %[[V13]] fastmath<contract> : f64
// CHECK-NEXT: %[[V16:[0-9]+]] = arith.addf %[[V14]], %[[V15]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V16]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V17:[0-9]+]] = nest.value[%[[V1]]] : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V18:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%[[V19:[0-9]+]] = %[[V9]][%[[V18]]] : tensor<?xf64>) -> (%[[V20:[0-9]+]] = %[[V17]][%[[V18]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V21:[0-9]+]] = math.tanh %[[V19]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V21]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V22:[0-9]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[V23:[0-9]+]] = nest.value[%[[V3]]] init %[[V22]] : f64 : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V24:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.for %[[V25:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V26:[0-9]+]] = %[[V17]][%[[V24]]] : tensor<?xf64>, %[[V27:[0-9]+]] = %x[%[[V24]], %[[V25]]] : tensor<?x?xf64>) -> (%[[V28:[0-9]+]] = %[[V23]][%[[V25]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V29:[0-9]+]] = arith.mulf %[[V26]], %[[V27]] fastmath<contract> : f64
// CHECK-NEXT: %[[V30:[0-9]+]] = arith.addf %[[V28]], %[[V29]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V30]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V23]] : tensor<?xf64>
func.func @both(%x: tensor<?x?xf64>, %w: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["x_0", "x_1"], ["w_0"]], results = ["out0"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %x, %0 : tensor<?x?xf64>
  %2 = arith.constant 1 : index
  %3 = tensor.dim %x, %2 : tensor<?x?xf64>
  %4 = arith.constant 0 : index
  %5 = tensor.dim %x, %4 : tensor<?x?xf64>
  %6 = arith.constant 1 : index
  %7 = tensor.dim %x, %6 : tensor<?x?xf64>
  %8 = arith.constant 0.000000e+00 : f64
  %9 = nest.value[%1] init %8 : f64 : tensor<?xf64>
  nest.for %10 in %1 {
    nest.for %11 in %3 {
      nest.do(%12 = %x[%10, %11] : tensor<?x?xf64>, %13 = %w[%11] : tensor<?xf64>) -> (%14 = %9[%10] : tensor<?xf64>) {
        %15 = arith.mulf %12, %13 fastmath<contract> : f64
        %16 = arith.addf %14, %15 fastmath<reassoc,contract> : f64
        nest.yield %16 : f64
      }
    }
  }
  %17 = nest.value[%1] : tensor<?xf64>
  nest.for %18 in %1 {
    nest.do(%19 = %9[%18] : tensor<?xf64>) -> (%20 = %17[%18] : tensor<?xf64>) {
      %21 = math.tanh %19 fastmath<contract> : f64
      nest.yield %21 : f64
    }
  }
  %22 = arith.constant 0.000000e+00 : f64
  %23 = nest.value[%3] init %22 : f64 : tensor<?xf64>
  nest.for %24 in %3 {
    nest.for %25 in %1 {
      nest.do(%26 = %17[%25] : tensor<?xf64>, %27 = %x[%25, %24] : tensor<?x?xf64>) -> (%28 = %23[%24] : tensor<?xf64>) {
        %29 = arith.mulf %26, %27 fastmath<contract> : f64
        %30 = arith.addf %28, %29 fastmath<reassoc,contract> : f64
        nest.yield %30 : f64
      }
    }
  }
  func.return %23 : tensor<?xf64>
}

// RUN: assign-memory

// The exponentials are made in the output, and the quotients over them: what a statement reads for the last time,
// it may overwrite.
// CHECK-LABEL: func.func @normalised(
// CHECK: %[[V5:[0-9]+]] = nest.value[%[[V1:[0-9]+]]] output 0 : tensor<?xf64>
// CHECK-NEXT: %[[V6:[0-9]+]] = nest.value init %[[V4:[0-9]+]] : f64 : tensor<f64>
// CHECK-NEXT: nest.for %[[V7:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: %[[V8:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V9:[0-9]+]] = %v[%[[V7]]] : tensor<?xf64>) -> (%[[V10:[0-9]+]] = %[[V8]][] : tensor<f64>) {
// CHECK-NEXT: %[[V11:[0-9]+]] = math.exp %[[V9]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V11]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V12:[0-9]+]] = %[[V8]][] : tensor<f64>) -> (%[[V13:[0-9]+]] = %[[V5]][%[[V7]]] : tensor<?xf64>) {
// CHECK-NEXT: nest.yield %[[V12]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V14:[0-9]+]] = %[[V8]][] : tensor<f64>) -> (%[[V15:[0-9]+]] = %[[V6]][] : tensor<f64>) {
// CHECK-NEXT: %[[V16:[0-9]+]] = arith.addf %[[V15]], %[[V14]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V16]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V17:[0-9]+]] = tensor.extract %[[V6]][] : tensor<f64>
// CHECK-NEXT: %[[V18:[0-9]+]] = nest.value[%[[V1]]] over %[[V5]] : tensor<?xf64> : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V19:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%[[V20:[0-9]+]] = %[[V5]][%[[V19]]] : tensor<?xf64>) -> (%[[V21:[0-9]+]] = %[[V18]][%[[V19]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V22:[0-9]+]] = arith.divf %[[V20]], %[[V17]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V22]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V18]] : tensor<?xf64>
func.func @normalised(%v: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["v_0"]], results = ["out0"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %v, %0 : tensor<?xf64>
  %2 = arith.constant 0 : index
  %3 = tensor.dim %v, %2 : tensor<?xf64>
  %4 = arith.constant 0.000000e+00 : f64
  %5 = nest.value[%1] : tensor<?xf64>
  %6 = nest.value init %4 : f64 : tensor<f64>
  nest.for %7 in %1 {
    %8 = nest.value : tensor<f64>
    nest.do(%9 = %v[%7] : tensor<?xf64>) -> (%10 = %8[] : tensor<f64>) {
      %11 = math.exp %9 fastmath<contract> : f64
      nest.yield %11 : f64
    }
    nest.do(%12 = %8[] : tensor<f64>) -> (%13 = %5[%7] : tensor<?xf64>) {
      nest.yield %12 : f64
    }
    nest.do(%14 = %8[] : tensor<f64>) -> (%15 = %6[] : tensor<f64>) {
      %16 = arith.addf %15, %14 fastmath<reassoc,contract> : f64
      nest.yield %16 : f64
    }
  }
  %17 = tensor.extract %6[] : tensor<f64>
  %18 = nest.value[%1] : tensor<?xf64>
  nest.for %19 in %1 {
    nest.do(%20 = %5[%19] : tensor<?xf64>) -> (%21 = %18[%19] : tensor<?xf64>) {
      %22 = arith.divf %20, %17 fastmath<contract> : f64
      nest.yield %22 : f64
    }
  }
  func.return %18 : tensor<?xf64>
}

// RUN: strip-mine

// Dot products, elementary functions and sums into a gradient take turns over blocks of rows.
// CHECK-LABEL: func.func @both(
// CHECK: %[[V10:[0-9]+]] = nest.value[%[[V3:[0-9]+]]] : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V11:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do() -> (%[[V12:[0-9]+]] = %[[V10]][%[[V11]]] : tensor<?xf64>) {
// CHECK-NEXT: nest.yield %[[V9:[0-9]+]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V13:[0-9]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[V14:[0-9]+]] = arith.maxsi %[[V3]], %[[V13]] : index
// CHECK-NEXT: %[[V15:[0-9]+]] = arith.constant 4096 : index
// CHECK-NEXT: %[[V16:[0-9]+]] = arith.divsi %[[V15]], %[[V14]] : index
// CHECK-NEXT: %[[V17:[0-9]+]] = arith.constant 16 : index
// CHECK-NEXT: %[[V18:[0-9]+]] = arith.divsi %[[V16]], %[[V17]] : index
// CHECK-NEXT: %[[V19:[0-9]+]] = arith.constant 16 : index
// CHECK-NEXT: %[[V20:[0-9]+]] = arith.muli %[[V18]], %[[V19]] : index
// CHECK-NEXT: %[[V21:[0-9]+]] = arith.constant 1024 : index
// CHECK-NEXT: %[[V22:[0-9]+]] = arith.minsi %[[V20]], %[[V21]] : index
// CHECK-NEXT: %[[V23:[0-9]+]] = arith.constant 16 : index
// CHECK-NEXT: %[[V24:[0-9]+]] = arith.maxsi %[[V22]], %[[V23]] : index
// CHECK-NEXT: nest.for %[[V25:[0-9]+]] in %[[V1:[0-9]+]] step %[[V24]] {
// CHECK-NEXT: %[[V26:[0-9]+]] = arith.addi %[[V25]], %[[V24]] : index
// CHECK-NEXT: %[[V27:[0-9]+]] = arith.minsi %[[V26]], %[[V1]] : index
// CHECK-NEXT: %[[V28:[0-9]+]] = nest.value : tensor<1024xf64>
// CHECK-NEXT: %[[V29:[0-9]+]] = nest.value : tensor<1024xf64>
// CHECK-NEXT: nest.for %[[V30:[0-9]+]] = %[[V25]] to %[[V27]] {
// CHECK-NEXT: %[[V31:[0-9]+]] = arith.subi %[[V30]], %[[V25]] : index
// CHECK-NEXT: %[[V32:[0-9]+]] = nest.value init %[[V8:[0-9]+]] : f64 : tensor<f64>
// CHECK-NEXT: nest.for %[[V33:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V34:[0-9]+]] = %x[%[[V30]], %[[V33]]] : tensor<?x?xf64>, %[[V35:[0-9]+]] = %w[%[[V33]]] : tensor<?xf64>) -> (%[[V36:[0-9]+]] = %[[V32]][] : tensor<f64>) {
// CHECK-NEXT: %[[V37:[0-9]+]] = arith.mulf %[[V34]], %[[V35]] fastmath<contract> : f64
// CHECK-NEXT: %[[V38:[0-9]+]] = arith.addf %[[V36]], %[[V37]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V38]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V39:[0-9]+]] = %[[V32]][] : tensor<f64>) -> (%[[V40:[0-9]+]] = %[[V28]][%[[V31]]] : tensor<1024xf64>) {
// CHECK-NEXT: nest.yield %[[V39]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V41:[0-9]+]] = %[[V25]] to %[[V27]] {
// CHECK-NEXT: %[[V42:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: %[[V43:[0-9]+]] = arith.subi %[[V41]], %[[V25]] : index
// CHECK-NEXT: nest.do(%[[V44:[0-9]+]] = %[[V28]][%[[V43]]] : tensor<1024xf64>) -> (%[[V45:[0-9]+]] = %[[V42]][] : tensor<f64>) {
// CHECK-NEXT: %[[V46:[0-9]+]] = math.tanh %[[V44]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V46]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V47:[0-9]+]] = %[[V42]][] : tensor<f64>) -> (%[[V48:[0-9]+]] = %[[V29]][%[[V43]]] : tensor<1024xf64>) {
// CHECK-NEXT: nest.yield %[[V47]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V49:[0-9]+]] = %[[V25]] to %[[V27]] {
// CHECK-NEXT: %[[V50:[0-9]+]] = arith.subi %[[V49]], %[[V25]] : index
// CHECK-NEXT: nest.for %[[V51:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V52:[0-9]+]] = %[[V29]][%[[V50]]] : tensor<1024xf64>, %[[V53:[0-9]+]] = %x[%[[V49]], %[[V51]]] : tensor<?x?xf64>) -> (%[[V54:[0-9]+]] = %[[V10]][%[[V51]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V55:[0-9]+]] = arith.mulf %[[V52]], %[[V53]] fastmath<contract> : f64
// CHECK-NEXT: %[[V56:[0-9]+]] = arith.addf %[[V54]], %[[V55]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V56]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V10]] : tensor<?xf64>
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
  %9 = arith.constant 0.000000e+00 : f64
  %10 = nest.value[%3] : tensor<?xf64>
  nest.for %11 in %3 {
    nest.do() -> (%12 = %10[%11] : tensor<?xf64>) {
      nest.yield %9 : f64
    }
  }
  nest.for %13 in %1 {
    %14 = nest.value init %8 : f64 : tensor<f64>
    nest.for %15 in %3 {
      nest.do(%16 = %x[%13, %15] : tensor<?x?xf64>, %17 = %w[%15] : tensor<?xf64>) -> (%18 = %14[] : tensor<f64>) {
        %19 = arith.mulf %16, %17 fastmath<contract> : f64
        %20 = arith.addf %18, %19 fastmath<reassoc,contract> : f64
        nest.yield %20 : f64
      }
    }
    %21 = nest.value : tensor<f64>
    nest.do(%22 = %14[] : tensor<f64>) -> (%23 = %21[] : tensor<f64>) {
      %24 = math.tanh %22 fastmath<contract> : f64
      nest.yield %24 : f64
    }
    nest.for %25 in %3 {
      nest.do(%26 = %21[] : tensor<f64>, %27 = %x[%13, %25] : tensor<?x?xf64>) -> (%28 = %10[%25] : tensor<?xf64>) {
        %29 = arith.mulf %26, %27 fastmath<contract> : f64
        %30 = arith.addf %28, %29 fastmath<reassoc,contract> : f64
        nest.yield %30 : f64
      }
    }
  }
  func.return %10 : tensor<?xf64>
}

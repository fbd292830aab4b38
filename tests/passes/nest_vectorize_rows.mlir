// RUN: vectorize-rows

// Short sums over the entries of rows go by as many rows as a vector has lanes.
// CHECK-LABEL: func.func @spmv(
// CHECK: %[[V6:[0-9]+]] = nest.value[%[[V2:[0-9]+]]] output 0 : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V7:[0-9]+]] in %[[V2]] rows 8 {
// CHECK-NEXT: %[[V8:[0-9]+]] = nest.value init %[[V5:[0-9]+]] : f64 : tensor<f64>
// CHECK-NEXT: nest.entries %[[V9:[0-9]+]] of %[[V7]] in %A_indptr : tensor<?xi32> terms 128 {
// CHECK-NEXT: %[[V10:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V11:[0-9]+]] = %A_indices[%[[V9]]] : tensor<?xi32>) -> (%[[V12:[0-9]+]] = %[[V10]][] : tensor<f64>) {
// CHECK-NEXT: %[[V13:[0-9]+]] = arith.extsi %[[V11]] : i32 to i64
// CHECK-NEXT: %[[V14:[0-9]+]] = arith.index_cast %[[V13]] : i64 to index
// CHECK-NEXT: %[[V15:[0-9]+]] = tensor.extract %v[%[[V14]]] : tensor<?xf64>
// CHECK-NEXT: nest.yield %[[V15]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: %[[V16:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V17:[0-9]+]] = %A_data[%[[V9]]] : tensor<?xf64>, %[[V18:[0-9]+]] = %[[V10]][] : tensor<f64>) -> (%[[V19:[0-9]+]] = %[[V16]][] : tensor<f64>) {
// CHECK-NEXT: %[[V20:[0-9]+]] = arith.mulf %[[V17]], %[[V18]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V20]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V21:[0-9]+]] = %[[V16]][] : tensor<f64>) -> (%[[V22:[0-9]+]] = %[[V8]][] : tensor<f64>) {
// CHECK-NEXT: %[[V23:[0-9]+]] = arith.addf %[[V22]], %[[V21]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V23]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V24:[0-9]+]] = %[[V8]][] : tensor<f64>) -> (%[[V25:[0-9]+]] = %[[V6]][%[[V7]]] : tensor<?xf64>) {
// CHECK-NEXT: nest.yield %[[V24]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V6]] : tensor<?xf64>
func.func @spmv(%A: tensor<?x?xi1>, %A_data: tensor<?xf64>, %A_indices: tensor<?xi32>, %A_indptr: tensor<?xi32>, %v: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["A_0", "A_1"], ["A_nnz"], ["A_nnz"], ["A_indptr_0"], ["v_0"]], results = ["out"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %A_data, %0 : tensor<?xf64>
  %2 = tensor.dim %A, %0 : tensor<?x?xi1>
  %3 = arith.constant 0 : index
  %4 = tensor.dim %A, %3 : tensor<?x?xi1>
  %A_nnz = tensor.dim %A_data, %3 : tensor<?xf64>
  %5 = arith.constant 0.000000e+00 : f64
  %6 = nest.value[%2] output 0 : tensor<?xf64>
  nest.for %7 in %2 {
    %8 = nest.value init %5 : f64 : tensor<f64>
    nest.entries %9 of %7 in %A_indptr : tensor<?xi32> {
      %10 = nest.value : tensor<f64>
      nest.do(%11 = %A_indices[%9] : tensor<?xi32>) -> (%12 = %10[] : tensor<f64>) {
        %13 = arith.extsi %11 : i32 to i64
        %14 = arith.index_cast %13 : i64 to index
        %15 = tensor.extract %v[%14] : tensor<?xf64>
        nest.yield %15 : f64
      }
      %16 = nest.value : tensor<f64>
      nest.do(%17 = %A_data[%9] : tensor<?xf64>, %18 = %10[] : tensor<f64>) -> (%19 = %16[] : tensor<f64>) {
        %20 = arith.mulf %17, %18 fastmath<contract> : f64
        nest.yield %20 : f64
      }
      nest.do(%21 = %16[] : tensor<f64>) -> (%22 = %8[] : tensor<f64>) {
        %23 = arith.addf %22, %21 fastmath<reassoc,contract> : f64
        nest.yield %23 : f64
      }
    }
    nest.do(%24 = %8[] : tensor<f64>) -> (%25 = %6[%7] : tensor<?xf64>) {
      nest.yield %24 : f64
    }
  }
  func.return %6 : tensor<?xf64>
}

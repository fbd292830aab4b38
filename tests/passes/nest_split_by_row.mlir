// RUN: split-by-row

// A loop over all entries, whose statement asks for the slice of its entry, becomes loops over the slices and
// their entries.
// CHECK-LABEL: func.func @spmv(
// CHECK: %[[V5:[0-9]+]] = nest.value[%[[V1:[0-9]+]]] : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V6:[0-9]+]] in %[[V2:[0-9]+]] {
// CHECK-NEXT: nest.entries %[[V7:[0-9]+]] of %[[V6]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.do(%[[V8:[0-9]+]] = %A_indices[%[[V7]]] : tensor<?xi32>) -> (%[[V9:[0-9]+]] = %[[V5]][%[[V7]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V10:[0-9]+]] = arith.extsi %[[V8]] : i32 to i64
// CHECK-NEXT: %[[V11:[0-9]+]] = arith.index_cast %[[V10]] : i64 to index
// CHECK-NEXT: %[[V12:[0-9]+]] = tensor.extract %v[%[[V11]]] : tensor<?xf64>
// CHECK-NEXT: nest.yield %[[V12]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V13:[0-9]+]] = nest.value[%[[V1]]] : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V14:[0-9]+]] in %[[V2]] {
// CHECK-NEXT: nest.entries %[[V15:[0-9]+]] of %[[V14]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.do(%[[V16:[0-9]+]] = %A_data[%[[V15]]] : tensor<?xf64>, %[[V17:[0-9]+]] = %[[V5]][%[[V15]]] : tensor<?xf64>) -> (%[[V18:[0-9]+]] = %[[V13]][%[[V15]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V19:[0-9]+]] = arith.mulf %[[V16]], %[[V17]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V19]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V20:[0-9]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[V21:[0-9]+]] = nest.value[%[[V2]]] init %[[V20]] : f64 : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V22:[0-9]+]] in %[[V2]] {
// CHECK-NEXT: nest.entries %[[V23:[0-9]+]] of %[[V22]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.do(%[[V24:[0-9]+]] = %[[V13]][%[[V23]]] : tensor<?xf64>) -> (%[[V25:[0-9]+]] = %[[V21]][%[[V22]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V26:[0-9]+]] = arith.addf %[[V25]], %[[V24]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V26]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V21]] : tensor<?xf64>
func.func @spmv(%A: tensor<?x?xi1>, %A_data: tensor<?xf64>, %A_indices: tensor<?xi32>, %A_indptr: tensor<?xi32>, %v: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["A_0", "A_1"], ["A_nnz"], ["A_nnz"], ["A_indptr_0"], ["v_0"]], results = ["out"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %A_data, %0 : tensor<?xf64>
  %2 = tensor.dim %A, %0 : tensor<?x?xi1>
  %3 = arith.constant 0 : index
  %4 = tensor.dim %A, %3 : tensor<?x?xi1>
  %A_nnz = tensor.dim %A_data, %3 : tensor<?xf64>
  %5 = nest.value[%1] : tensor<?xf64>
  nest.for %6 in %1 {
    nest.do(%7 = %A_indices[%6] : tensor<?xi32>) -> (%8 = %5[%6] : tensor<?xf64>) {
      %9 = arith.extsi %7 : i32 to i64
      %10 = arith.index_cast %9 : i64 to index
      %11 = tensor.extract %v[%10] : tensor<?xf64>
      nest.yield %11 : f64
    }
  }
  %12 = nest.value[%1] : tensor<?xf64>
  nest.for %13 in %1 {
    nest.do(%14 = %A_data[%13] : tensor<?xf64>, %15 = %5[%13] : tensor<?xf64>) -> (%16 = %12[%13] : tensor<?xf64>) {
      %17 = arith.mulf %14, %15 fastmath<contract> : f64
      nest.yield %17 : f64
    }
  }
  %18 = arith.constant 0.000000e+00 : f64
  %19 = nest.value[%2] init %18 : f64 : tensor<?xf64>
  nest.for %20 in %2 {
    nest.entries %21 of %20 in %A_indptr : tensor<?xi32> {
      nest.do(%22 = %12[%21] : tensor<?xf64>) -> (%23 = %19[%20] : tensor<?xf64>) {
        %24 = arith.addf %23, %22 fastmath<reassoc,contract> : f64
        nest.yield %24 : f64
      }
    }
  }
  func.return %19 : tensor<?xf64>
}

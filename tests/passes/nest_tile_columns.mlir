// RUN: tile-columns

// Columns of a sum of rows go by pairs of vectors, vectors, and one by one, with the sums in registers.
// CHECK-LABEL: func.func @spmm(
// CHECK: %[[V10:[0-9]+]] = nest.value[%[[V4:[0-9]+]], %[[V3:[0-9]+]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.for %[[V11:[0-9]+]] in %[[V4]] {
// CHECK-NEXT: %[[V12:[0-9]+]] = arith.constant 8 : index
// CHECK-NEXT: %[[V13:[0-9]+]] = arith.constant 16 : index
// CHECK-NEXT: %[[V14:[0-9]+]] = arith.divsi %[[V3]], %[[V13]] : index
// CHECK-NEXT: %[[V15:[0-9]+]] = arith.muli %[[V14]], %[[V13]] : index
// CHECK-NEXT: nest.for %[[V16:[0-9]+]] in %[[V15]] step %[[V13]] {
// CHECK-NEXT: %[[V17:[0-9]+]] = arith.addi %[[V16]], %[[V12]] : index
// CHECK-NEXT: %[[V18:[0-9]+]] = nest.value init %[[V9:[0-9]+]] : f64 lanes 8 : tensor<8xf64>
// CHECK-NEXT: %[[V19:[0-9]+]] = nest.value init %[[V9]] : f64 lanes 8 : tensor<8xf64>
// CHECK-NEXT: nest.entries %[[V20:[0-9]+]] of %[[V11]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.for %[[V21:[0-9]+]] in %[[V12]] lanes 8 {
// CHECK-NEXT: %[[V22:[0-9]+]] = arith.addi %[[V16]], %[[V21]] : index
// CHECK-NEXT: %[[V23:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V24:[0-9]+]] = %A_indices[%[[V20]]] : tensor<?xi32>) -> (%[[V25:[0-9]+]] = %[[V23]][] : tensor<f64>) {
// CHECK-NEXT: %[[V26:[0-9]+]] = arith.extsi %[[V24]] : i32 to i64
// CHECK-NEXT: %[[V27:[0-9]+]] = arith.index_cast %[[V26]] : i64 to index
// CHECK-NEXT: %[[V28:[0-9]+]] = tensor.extract %X[%[[V27]], %[[V22]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.yield %[[V28]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: %[[V29:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V30:[0-9]+]] = %A_data[%[[V20]]] : tensor<?xf64>, %[[V31:[0-9]+]] = %[[V23]][] : tensor<f64>) -> (%[[V32:[0-9]+]] = %[[V29]][] : tensor<f64>) {
// CHECK-NEXT: %[[V33:[0-9]+]] = arith.mulf %[[V30]], %[[V31]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V33]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V34:[0-9]+]] = %[[V29]][] : tensor<f64>) -> (%[[V35:[0-9]+]] = %[[V18]][%[[V21]]] : tensor<8xf64>) {
// CHECK-NEXT: %[[V36:[0-9]+]] = arith.addf %[[V35]], %[[V34]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V36]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V37:[0-9]+]] in %[[V12]] lanes 8 {
// CHECK-NEXT: %[[V38:[0-9]+]] = arith.addi %[[V17]], %[[V37]] : index
// CHECK-NEXT: %[[V39:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V40:[0-9]+]] = %A_indices[%[[V20]]] : tensor<?xi32>) -> (%[[V41:[0-9]+]] = %[[V39]][] : tensor<f64>) {
// CHECK-NEXT: %[[V42:[0-9]+]] = arith.extsi %[[V40]] : i32 to i64
// CHECK-NEXT: %[[V43:[0-9]+]] = arith.index_cast %[[V42]] : i64 to index
// CHECK-NEXT: %[[V44:[0-9]+]] = tensor.extract %X[%[[V43]], %[[V38]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.yield %[[V44]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: %[[V45:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V46:[0-9]+]] = %A_data[%[[V20]]] : tensor<?xf64>, %[[V47:[0-9]+]] = %[[V39]][] : tensor<f64>) -> (%[[V48:[0-9]+]] = %[[V45]][] : tensor<f64>) {
// CHECK-NEXT: %[[V49:[0-9]+]] = arith.mulf %[[V46]], %[[V47]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V49]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V50:[0-9]+]] = %[[V45]][] : tensor<f64>) -> (%[[V51:[0-9]+]] = %[[V19]][%[[V37]]] : tensor<8xf64>) {
// CHECK-NEXT: %[[V52:[0-9]+]] = arith.addf %[[V51]], %[[V50]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V52]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V53:[0-9]+]] in %[[V12]] lanes 8 {
// CHECK-NEXT: %[[V54:[0-9]+]] = arith.addi %[[V16]], %[[V53]] : index
// CHECK-NEXT: nest.do(%[[V55:[0-9]+]] = %[[V18]][%[[V53]]] : tensor<8xf64>) -> (%[[V56:[0-9]+]] = %[[V10]][%[[V11]], %[[V54]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V55]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V57:[0-9]+]] in %[[V12]] lanes 8 {
// CHECK-NEXT: %[[V58:[0-9]+]] = arith.addi %[[V17]], %[[V57]] : index
// CHECK-NEXT: nest.do(%[[V59:[0-9]+]] = %[[V19]][%[[V57]]] : tensor<8xf64>) -> (%[[V60:[0-9]+]] = %[[V10]][%[[V11]], %[[V58]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V59]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V61:[0-9]+]] = arith.subi %[[V3]], %[[V15]] : index
// CHECK-NEXT: %[[V62:[0-9]+]] = arith.divsi %[[V61]], %[[V12]] : index
// CHECK-NEXT: %[[V63:[0-9]+]] = arith.muli %[[V62]], %[[V12]] : index
// CHECK-NEXT: %[[V64:[0-9]+]] = arith.addi %[[V15]], %[[V63]] : index
// CHECK-NEXT: nest.for %[[V65:[0-9]+]] = %[[V15]] to %[[V64]] step %[[V12]] {
// CHECK-NEXT: %[[V66:[0-9]+]] = nest.value init %[[V9]] : f64 lanes 8 : tensor<8xf64>
// CHECK-NEXT: nest.entries %[[V67:[0-9]+]] of %[[V11]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.for %[[V68:[0-9]+]] in %[[V12]] lanes 8 {
// CHECK-NEXT: %[[V69:[0-9]+]] = arith.addi %[[V65]], %[[V68]] : index
// CHECK-NEXT: %[[V70:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V71:[0-9]+]] = %A_indices[%[[V67]]] : tensor<?xi32>) -> (%[[V72:[0-9]+]] = %[[V70]][] : tensor<f64>) {
// CHECK-NEXT: %[[V73:[0-9]+]] = arith.extsi %[[V71]] : i32 to i64
// CHECK-NEXT: %[[V74:[0-9]+]] = arith.index_cast %[[V73]] : i64 to index
// CHECK-NEXT: %[[V75:[0-9]+]] = tensor.extract %X[%[[V74]], %[[V69]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.yield %[[V75]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: %[[V76:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V77:[0-9]+]] = %A_data[%[[V67]]] : tensor<?xf64>, %[[V78:[0-9]+]] = %[[V70]][] : tensor<f64>) -> (%[[V79:[0-9]+]] = %[[V76]][] : tensor<f64>) {
// CHECK-NEXT: %[[V80:[0-9]+]] = arith.mulf %[[V77]], %[[V78]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V80]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V81:[0-9]+]] = %[[V76]][] : tensor<f64>) -> (%[[V82:[0-9]+]] = %[[V66]][%[[V68]]] : tensor<8xf64>) {
// CHECK-NEXT: %[[V83:[0-9]+]] = arith.addf %[[V82]], %[[V81]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V83]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V84:[0-9]+]] in %[[V12]] lanes 8 {
// CHECK-NEXT: %[[V85:[0-9]+]] = arith.addi %[[V65]], %[[V84]] : index
// CHECK-NEXT: nest.do(%[[V86:[0-9]+]] = %[[V66]][%[[V84]]] : tensor<8xf64>) -> (%[[V87:[0-9]+]] = %[[V10]][%[[V11]], %[[V85]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V86]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V88:[0-9]+]] = %[[V64]] to %[[V3]] {
// CHECK-NEXT: nest.do() -> (%[[V89:[0-9]+]] = %[[V10]][%[[V11]], %[[V88]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V9]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.entries %[[V90:[0-9]+]] of %[[V11]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.for %[[V91:[0-9]+]] = %[[V64]] to %[[V3]] {
// CHECK-NEXT: %[[V92:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V93:[0-9]+]] = %A_indices[%[[V90]]] : tensor<?xi32>) -> (%[[V94:[0-9]+]] = %[[V92]][] : tensor<f64>) {
// CHECK-NEXT: %[[V95:[0-9]+]] = arith.extsi %[[V93]] : i32 to i64
// CHECK-NEXT: %[[V96:[0-9]+]] = arith.index_cast %[[V95]] : i64 to index
// CHECK-NEXT: %[[V97:[0-9]+]] = tensor.extract %X[%[[V96]], %[[V91]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.yield %[[V97]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: %[[V98:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V99:[0-9]+]] = %A_data[%[[V90]]] : tensor<?xf64>, %[[V100:[0-9]+]] = %[[V92]][] : tensor<f64>) -> (%[[V101:[0-9]+]] = %[[V98]][] : tensor<f64>) {
// CHECK-NEXT: %[[V102:[0-9]+]] = arith.mulf %[[V99]], %[[V100]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V102]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V103:[0-9]+]] = %[[V98]][] : tensor<f64>) -> (%[[V104:[0-9]+]] = %[[V10]][%[[V11]], %[[V91]]] : tensor<?x?xf64>) {
// CHECK-NEXT: %[[V105:[0-9]+]] = arith.addf %[[V104]], %[[V103]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V105]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V10]] : tensor<?x?xf64>
func.func @spmm(%A: tensor<?x?xi1>, %A_data: tensor<?xf64>, %A_indices: tensor<?xi32>, %A_indptr: tensor<?xi32>, %X: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["A_0", "A_1"], ["A_nnz"], ["A_nnz"], ["A_indptr_0"], ["X_0", "X_1"]], results = ["out"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %A_data, %0 : tensor<?xf64>
  %2 = arith.constant 1 : index
  %3 = tensor.dim %X, %2 : tensor<?x?xf64>
  %4 = tensor.dim %A, %0 : tensor<?x?xi1>
  %5 = arith.constant 0 : index
  %6 = tensor.dim %A, %5 : tensor<?x?xi1>
  %7 = arith.constant 1 : index
  %A_nnz = tensor.dim %A_data, %5 : tensor<?xf64>
  %8 = tensor.dim %X, %7 : tensor<?x?xf64>
  %9 = arith.constant 0.000000e+00 : f64
  %10 = nest.value[%4, %3] : tensor<?x?xf64>
  nest.for %11 in %4 {
    nest.for %12 in %3 {
      nest.do() -> (%13 = %10[%11, %12] : tensor<?x?xf64>) {
        nest.yield %9 : f64
      }
    }
    nest.entries %14 of %11 in %A_indptr : tensor<?xi32> {
      nest.for %15 in %3 {
        %16 = nest.value : tensor<f64>
        nest.do(%17 = %A_indices[%14] : tensor<?xi32>) -> (%18 = %16[] : tensor<f64>) {
          %19 = arith.extsi %17 : i32 to i64
          %20 = arith.index_cast %19 : i64 to index
          %21 = tensor.extract %X[%20, %15] : tensor<?x?xf64>
          nest.yield %21 : f64
        }
        %22 = nest.value : tensor<f64>
        nest.do(%23 = %A_data[%14] : tensor<?xf64>, %24 = %16[] : tensor<f64>) -> (%25 = %22[] : tensor<f64>) {
          %26 = arith.mulf %23, %24 fastmath<contract> : f64
          nest.yield %26 : f64
        }
        nest.do(%27 = %22[] : tensor<f64>) -> (%28 = %10[%11, %15] : tensor<?x?xf64>) {
          %29 = arith.addf %28, %27 fastmath<reassoc,contract> : f64
          nest.yield %29 : f64
        }
      }
    }
  }
  func.return %10 : tensor<?x?xf64>
}

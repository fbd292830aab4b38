// RUN: tile-columns

// Columns of a sum of rows go by pairs of vectors; the last pair or vector is under a mask, and one column alone is a sum.
// CHECK-LABEL: func.func @spmm(
// CHECK: %[[V10:[0-9]+]] = nest.value[%[[V4:[0-9]+]], %[[V3:[0-9]+]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.for %[[V11:[0-9]+]] in %[[V4]] {
// CHECK-NEXT: %[[V12:[0-9]+]] = arith.constant 16 : index
// CHECK-NEXT: %[[V13:[0-9]+]] = arith.divsi %[[V3]], %[[V12]] : index
// CHECK-NEXT: %[[V14:[0-9]+]] = arith.muli %[[V13]], %[[V12]] : index
// CHECK-NEXT: %[[V15:[0-9]+]] = arith.constant 8 : index
// CHECK-NEXT: nest.for %[[V16:[0-9]+]] in %[[V14]] step %[[V12]] {
// CHECK-NEXT: %[[V17:[0-9]+]] = arith.addi %[[V16]], %[[V15]] : index
// CHECK-NEXT: %[[V18:[0-9]+]] = nest.value init %[[V9:[0-9]+]] : f64 lanes 8 : tensor<8xf64>
// CHECK-NEXT: %[[V19:[0-9]+]] = nest.value init %[[V9]] : f64 lanes 8 : tensor<8xf64>
// CHECK-NEXT: nest.entries %[[V20:[0-9]+]] of %[[V11]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.for %[[V21:[0-9]+]] in %[[V15]] lanes 8 {
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
// CHECK-NEXT: nest.for %[[V37:[0-9]+]] in %[[V15]] lanes 8 {
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
// CHECK-NEXT: nest.for %[[V53:[0-9]+]] in %[[V15]] lanes 8 {
// CHECK-NEXT: %[[V54:[0-9]+]] = arith.addi %[[V16]], %[[V53]] : index
// CHECK-NEXT: nest.do(%[[V55:[0-9]+]] = %[[V18]][%[[V53]]] : tensor<8xf64>) -> (%[[V56:[0-9]+]] = %[[V10]][%[[V11]], %[[V54]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V55]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V57:[0-9]+]] in %[[V15]] lanes 8 {
// CHECK-NEXT: %[[V58:[0-9]+]] = arith.addi %[[V17]], %[[V57]] : index
// CHECK-NEXT: nest.do(%[[V59:[0-9]+]] = %[[V19]][%[[V57]]] : tensor<8xf64>) -> (%[[V60:[0-9]+]] = %[[V10]][%[[V11]], %[[V58]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V59]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V61:[0-9]+]] = arith.constant 7 : index
// CHECK-NEXT: %[[V62:[0-9]+]] = arith.addi %[[V3]], %[[V61]] : index
// CHECK-NEXT: %[[V63:[0-9]+]] = arith.subi %[[V62]], %[[V14]] : index
// CHECK-NEXT: %[[V64:[0-9]+]] = arith.divsi %[[V63]], %[[V12]] : index
// CHECK-NEXT: %[[V65:[0-9]+]] = arith.muli %[[V64]], %[[V12]] : index
// CHECK-NEXT: %[[V66:[0-9]+]] = arith.addi %[[V14]], %[[V65]] : index
// CHECK-NEXT: nest.for %[[V67:[0-9]+]] = %[[V14]] to %[[V66]] step %[[V12]] {
// CHECK-NEXT: %[[V68:[0-9]+]] = arith.addi %[[V67]], %[[V15]] : index
// CHECK-NEXT: %[[V69:[0-9]+]] = arith.subi %[[V3]], %[[V68]] : index
// CHECK-NEXT: %[[V70:[0-9]+]] = arith.minsi %[[V69]], %[[V15]] : index
// CHECK-NEXT: %[[V71:[0-9]+]] = nest.value init %[[V9]] : f64 lanes 8 : tensor<8xf64>
// CHECK-NEXT: %[[V72:[0-9]+]] = nest.value init %[[V9]] : f64 lanes 8 : tensor<8xf64>
// CHECK-NEXT: nest.entries %[[V73:[0-9]+]] of %[[V11]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.for %[[V74:[0-9]+]] in %[[V15]] lanes 8 {
// CHECK-NEXT: %[[V75:[0-9]+]] = arith.addi %[[V67]], %[[V74]] : index
// CHECK-NEXT: %[[V76:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V77:[0-9]+]] = %A_indices[%[[V73]]] : tensor<?xi32>) -> (%[[V78:[0-9]+]] = %[[V76]][] : tensor<f64>) {
// CHECK-NEXT: %[[V79:[0-9]+]] = arith.extsi %[[V77]] : i32 to i64
// CHECK-NEXT: %[[V80:[0-9]+]] = arith.index_cast %[[V79]] : i64 to index
// CHECK-NEXT: %[[V81:[0-9]+]] = tensor.extract %X[%[[V80]], %[[V75]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.yield %[[V81]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: %[[V82:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V83:[0-9]+]] = %A_data[%[[V73]]] : tensor<?xf64>, %[[V84:[0-9]+]] = %[[V76]][] : tensor<f64>) -> (%[[V85:[0-9]+]] = %[[V82]][] : tensor<f64>) {
// CHECK-NEXT: %[[V86:[0-9]+]] = arith.mulf %[[V83]], %[[V84]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V86]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V87:[0-9]+]] = %[[V82]][] : tensor<f64>) -> (%[[V88:[0-9]+]] = %[[V71]][%[[V74]]] : tensor<8xf64>) {
// CHECK-NEXT: %[[V89:[0-9]+]] = arith.addf %[[V88]], %[[V87]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V89]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V90:[0-9]+]] in %[[V70]] lanes 8 masked {
// CHECK-NEXT: %[[V91:[0-9]+]] = arith.addi %[[V68]], %[[V90]] : index
// CHECK-NEXT: %[[V92:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V93:[0-9]+]] = %A_indices[%[[V73]]] : tensor<?xi32>) -> (%[[V94:[0-9]+]] = %[[V92]][] : tensor<f64>) {
// CHECK-NEXT: %[[V95:[0-9]+]] = arith.extsi %[[V93]] : i32 to i64
// CHECK-NEXT: %[[V96:[0-9]+]] = arith.index_cast %[[V95]] : i64 to index
// CHECK-NEXT: %[[V97:[0-9]+]] = tensor.extract %X[%[[V96]], %[[V91]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.yield %[[V97]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: %[[V98:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V99:[0-9]+]] = %A_data[%[[V73]]] : tensor<?xf64>, %[[V100:[0-9]+]] = %[[V92]][] : tensor<f64>) -> (%[[V101:[0-9]+]] = %[[V98]][] : tensor<f64>) {
// CHECK-NEXT: %[[V102:[0-9]+]] = arith.mulf %[[V99]], %[[V100]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V102]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V103:[0-9]+]] = %[[V98]][] : tensor<f64>) -> (%[[V104:[0-9]+]] = %[[V72]][%[[V90]]] : tensor<8xf64>) {
// CHECK-NEXT: %[[V105:[0-9]+]] = arith.addf %[[V104]], %[[V103]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V105]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V106:[0-9]+]] in %[[V15]] lanes 8 {
// CHECK-NEXT: %[[V107:[0-9]+]] = arith.addi %[[V67]], %[[V106]] : index
// CHECK-NEXT: nest.do(%[[V108:[0-9]+]] = %[[V71]][%[[V106]]] : tensor<8xf64>) -> (%[[V109:[0-9]+]] = %[[V10]][%[[V11]], %[[V107]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V108]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V110:[0-9]+]] in %[[V70]] lanes 8 masked {
// CHECK-NEXT: %[[V111:[0-9]+]] = arith.addi %[[V68]], %[[V110]] : index
// CHECK-NEXT: nest.do(%[[V112:[0-9]+]] = %[[V72]][%[[V110]]] : tensor<8xf64>) -> (%[[V113:[0-9]+]] = %[[V10]][%[[V11]], %[[V111]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V112]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V114:[0-9]+]] = arith.subi %[[V3]], %[[V66]] : index
// CHECK-NEXT: %[[V115:[0-9]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[V116:[0-9]+]] = arith.constant 2 : index
// CHECK-NEXT: %[[V117:[0-9]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[V118:[0-9]+]] = arith.minsi %[[V114]], %[[V115]] : index
// CHECK-NEXT: %[[V119:[0-9]+]] = arith.maxsi %[[V118]], %[[V117]] : index
// CHECK-NEXT: %[[V120:[0-9]+]] = arith.subi %[[V116]], %[[V114]] : index
// CHECK-NEXT: %[[V121:[0-9]+]] = arith.maxsi %[[V120]], %[[V117]] : index
// CHECK-NEXT: %[[V122:[0-9]+]] = arith.muli %[[V119]], %[[V121]] : index
// CHECK-NEXT: %[[V123:[0-9]+]] = arith.addi %[[V66]], %[[V122]] : index
// CHECK-NEXT: nest.for %[[V124:[0-9]+]] = %[[V66]] to %[[V123]] {
// CHECK-NEXT: %[[V125:[0-9]+]] = nest.value init %[[V9]] : f64 : tensor<f64>
// CHECK-NEXT: nest.entries %[[V126:[0-9]+]] of %[[V11]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: %[[V127:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V128:[0-9]+]] = %A_indices[%[[V126]]] : tensor<?xi32>) -> (%[[V129:[0-9]+]] = %[[V127]][] : tensor<f64>) {
// CHECK-NEXT: %[[V130:[0-9]+]] = arith.extsi %[[V128]] : i32 to i64
// CHECK-NEXT: %[[V131:[0-9]+]] = arith.index_cast %[[V130]] : i64 to index
// CHECK-NEXT: %[[V132:[0-9]+]] = tensor.extract %X[%[[V131]], %[[V124]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.yield %[[V132]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: %[[V133:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V134:[0-9]+]] = %A_data[%[[V126]]] : tensor<?xf64>, %[[V135:[0-9]+]] = %[[V127]][] : tensor<f64>) -> (%[[V136:[0-9]+]] = %[[V133]][] : tensor<f64>) {
// CHECK-NEXT: %[[V137:[0-9]+]] = arith.mulf %[[V134]], %[[V135]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V137]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V138:[0-9]+]] = %[[V133]][] : tensor<f64>) -> (%[[V139:[0-9]+]] = %[[V125]][] : tensor<f64>) {
// CHECK-NEXT: %[[V140:[0-9]+]] = arith.addf %[[V139]], %[[V138]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V140]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V141:[0-9]+]] = %[[V125]][] : tensor<f64>) -> (%[[V142:[0-9]+]] = %[[V10]][%[[V11]], %[[V124]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V141]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V143:[0-9]+]] = %[[V123]] to %[[V3]] step %[[V15]] {
// CHECK-NEXT: %[[V144:[0-9]+]] = arith.subi %[[V3]], %[[V143]] : index
// CHECK-NEXT: %[[V145:[0-9]+]] = arith.minsi %[[V144]], %[[V15]] : index
// CHECK-NEXT: %[[V146:[0-9]+]] = nest.value init %[[V9]] : f64 lanes 8 : tensor<8xf64>
// CHECK-NEXT: nest.entries %[[V147:[0-9]+]] of %[[V11]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.for %[[V148:[0-9]+]] in %[[V145]] lanes 8 masked {
// CHECK-NEXT: %[[V149:[0-9]+]] = arith.addi %[[V143]], %[[V148]] : index
// CHECK-NEXT: %[[V150:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V151:[0-9]+]] = %A_indices[%[[V147]]] : tensor<?xi32>) -> (%[[V152:[0-9]+]] = %[[V150]][] : tensor<f64>) {
// CHECK-NEXT: %[[V153:[0-9]+]] = arith.extsi %[[V151]] : i32 to i64
// CHECK-NEXT: %[[V154:[0-9]+]] = arith.index_cast %[[V153]] : i64 to index
// CHECK-NEXT: %[[V155:[0-9]+]] = tensor.extract %X[%[[V154]], %[[V149]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.yield %[[V155]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: %[[V156:[0-9]+]] = nest.value : tensor<f64>
// CHECK-NEXT: nest.do(%[[V157:[0-9]+]] = %A_data[%[[V147]]] : tensor<?xf64>, %[[V158:[0-9]+]] = %[[V150]][] : tensor<f64>) -> (%[[V159:[0-9]+]] = %[[V156]][] : tensor<f64>) {
// CHECK-NEXT: %[[V160:[0-9]+]] = arith.mulf %[[V157]], %[[V158]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V160]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: nest.do(%[[V161:[0-9]+]] = %[[V156]][] : tensor<f64>) -> (%[[V162:[0-9]+]] = %[[V146]][%[[V148]]] : tensor<8xf64>) {
// CHECK-NEXT: %[[V163:[0-9]+]] = arith.addf %[[V162]], %[[V161]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V163]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V164:[0-9]+]] in %[[V145]] lanes 8 masked {
// CHECK-NEXT: %[[V165:[0-9]+]] = arith.addi %[[V143]], %[[V164]] : index
// CHECK-NEXT: nest.do(%[[V166:[0-9]+]] = %[[V146]][%[[V164]]] : tensor<8xf64>) -> (%[[V167:[0-9]+]] = %[[V10]][%[[V11]], %[[V165]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V166]] : f64
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

// RUN: rematerialize

// Rows of %D that are copied for the entries of %A are copied again for each reader, so that none is kept.
// CHECK-LABEL: func.func @again(
// CHECK: %[[V13:[0-9]+]] = nest.value[%[[V4:[0-9]+]], %[[V3:[0-9]+]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.for %[[V14:[0-9]+]] in %[[V1:[0-9]+]] {
// CHECK-NEXT: nest.entries %[[V15:[0-9]+]] of %[[V14]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.for %[[V16:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V17:[0-9]+]] = %D[%[[V14]], %[[V16]]] : tensor<?x?xf64>) -> (%[[V18:[0-9]+]] = %[[V13]][%[[V15]], %[[V16]]] : tensor<?x?xf64>) {
// CHECK-NEXT: nest.yield %[[V17]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V19:[0-9]+]] = nest.value[%[[V4]], %[[V5:[0-9]+]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.for %[[V20:[0-9]+]] in %[[V4]] {
// CHECK-NEXT: nest.for %[[V21:[0-9]+]] in %[[V5]] {
// CHECK-NEXT: nest.do(%[[V22:[0-9]+]] = %A_indices[%[[V20]]] : tensor<?xi32>) -> (%[[V23:[0-9]+]] = %[[V19]][%[[V20]], %[[V21]]] : tensor<?x?xf64>) {
// CHECK-NEXT: %[[V24:[0-9]+]] = arith.extsi %[[V22]] : i32 to i64
// CHECK-NEXT: %[[V25:[0-9]+]] = arith.index_cast %[[V24]] : i64 to index
// CHECK-NEXT: %[[V26:[0-9]+]] = tensor.extract %E[%[[V25]], %[[V21]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.yield %[[V26]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V27:[0-9]+]] = nest.value[%[[V4]], %[[V3]]] : tensor<?x?xf64>
// CHECK-NEXT: %[[V28:[0-9]+]] = nest.value[%[[V4]], %[[V5]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.for %[[V29:[0-9]+]] in %[[V4]] {
// CHECK-NEXT: nest.for %[[V30:[0-9]+]] in %[[V5]] {
// CHECK-NEXT: nest.do(%[[V31:[0-9]+]] = %A_indices[%[[V29]]] : tensor<?xi32>) -> (%[[V32:[0-9]+]] = %[[V28]][%[[V29]], %[[V30]]] : tensor<?x?xf64>) {
// CHECK-NEXT: %[[V33:[0-9]+]] = arith.extsi %[[V31]] : i32 to i64
// CHECK-NEXT: %[[V34:[0-9]+]] = arith.index_cast %[[V33]] : i64 to index
// CHECK-NEXT: %[[V35:[0-9]+]] = tensor.extract %E[%[[V34]], %[[V30]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.yield %[[V35]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V36:[0-9]+]] in %[[V4]] {
// CHECK-NEXT: nest.for %[[V37:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V38:[0-9]+]] = %[[V13]][%[[V36]], %[[V37]]] : tensor<?x?xf64>, %[[V39:[0-9]+]] = %[[V28]][%[[V36]], %[[V37]]] : tensor<?x?xf64>) -> (%[[V40:[0-9]+]] = %[[V27]][%[[V36]], %[[V37]]] : tensor<?x?xf64>) {
// CHECK-NEXT: %[[V41:[0-9]+]] = arith.mulf %[[V38]], %[[V39]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V41]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V42:[0-9]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[V43:[0-9]+]] = nest.value[%[[V4]]] init %[[V42]] : f64 : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V44:[0-9]+]] in %[[V4]] {
// CHECK-NEXT: nest.for %[[V45:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V46:[0-9]+]] = %[[V27]][%[[V44]], %[[V45]]] : tensor<?x?xf64>) -> (%[[V47:[0-9]+]] = %[[V43]][%[[V44]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V48:[0-9]+]] = arith.addf %[[V47]], %[[V46]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V48]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V49:[0-9]+]] = nest.value[%[[V4]]] : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V50:[0-9]+]] in %[[V4]] {
// CHECK-NEXT: nest.do(%[[V51:[0-9]+]] = %A_data[%[[V50]]] : tensor<?xf64>, %[[V52:[0-9]+]] = %[[V43]][%[[V50]]] : tensor<?xf64>) -> (%[[V53:[0-9]+]] = %[[V49]][%[[V50]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V54:[0-9]+]] = arith.mulf %[[V51]], %[[V52]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V54]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V55:[0-9]+]] = nest.value[%[[V4]]] : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V56:[0-9]+]] in %[[V4]] {
// CHECK-NEXT: nest.do(%[[V57:[0-9]+]] = %[[V49]][%[[V56]]] : tensor<?xf64>) -> (%[[V58:[0-9]+]] = %[[V55]][%[[V56]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V59:[0-9]+]] = arith.mulf %[[V12:[0-9]+]], %[[V57]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V59]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V60:[0-9]+]] = nest.value[%[[V4]]] : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V61:[0-9]+]] in %[[V4]] {
// CHECK-NEXT: nest.do(%[[V62:[0-9]+]] = %[[V55]][%[[V61]]] : tensor<?xf64>, %[[V63:[0-9]+]] = %A_data[%[[V61]]] : tensor<?xf64>) -> (%[[V64:[0-9]+]] = %[[V60]][%[[V61]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V65:[0-9]+]] = arith.mulf %[[V62]], %[[V63]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V65]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V66:[0-9]+]] = nest.value[%[[V4]], %[[V3]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.for %[[V67:[0-9]+]] in %[[V4]] {
// CHECK-NEXT: nest.for %[[V68:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V69:[0-9]+]] = %[[V60]][%[[V67]]] : tensor<?xf64>, %[[V70:[0-9]+]] = %[[V19]][%[[V67]], %[[V68]]] : tensor<?x?xf64>) -> (%[[V71:[0-9]+]] = %[[V66]][%[[V67]], %[[V68]]] : tensor<?x?xf64>) {
// CHECK-NEXT: %[[V72:[0-9]+]] = arith.mulf %[[V69]], %[[V70]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V72]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V73:[0-9]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[V74:[0-9]+]] = nest.value[%[[V6:[0-9]+]], %[[V3]]] init %[[V73]] : f64 : tensor<?x?xf64>
// CHECK-NEXT: nest.for %[[V75:[0-9]+]] in %[[V6]] {
// CHECK-NEXT: nest.entries %[[V76:[0-9]+]] of %[[V75]] in %A_indptr : tensor<?xi32> {
// CHECK-NEXT: nest.for %[[V77:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V78:[0-9]+]] = %[[V66]][%[[V76]], %[[V77]]] : tensor<?x?xf64>) -> (%[[V79:[0-9]+]] = %[[V74]][%[[V75]], %[[V77]]] : tensor<?x?xf64>) {
// CHECK-NEXT: %[[V80:[0-9]+]] = arith.addf %[[V79]], %[[V78]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V80]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V74]] : tensor<?x?xf64>
func.func @again(%A: tensor<?x?xi1>, %A_data: tensor<?xf64>, %A_indices: tensor<?xi32>, %A_indptr: tensor<?xi32>, %D: tensor<?x?xf64>, %E: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["A_0", "A_1"], ["A_nnz"], ["A_nnz"], ["A_indptr_0"], ["D_0", "D_1"], ["E_0", "E_1"]], results = ["out0"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %D, %0 : tensor<?x?xf64>
  %2 = arith.constant 1 : index
  %3 = tensor.dim %D, %2 : tensor<?x?xf64>
  %4 = tensor.dim %A_data, %0 : tensor<?xf64>
  %5 = tensor.dim %E, %2 : tensor<?x?xf64>
  %6 = tensor.dim %A, %0 : tensor<?x?xi1>
  %7 = arith.constant 0 : index
  %8 = tensor.dim %A, %7 : tensor<?x?xi1>
  %9 = arith.constant 1 : index
  %A_nnz = tensor.dim %A_data, %7 : tensor<?xf64>
  %10 = tensor.dim %D, %9 : tensor<?x?xf64>
  %11 = tensor.dim %E, %9 : tensor<?x?xf64>
  %12 = arith.constant 2.000000e+00 : f64
  %13 = nest.value[%4, %3] : tensor<?x?xf64>
  nest.for %14 in %1 {
    nest.entries %15 of %14 in %A_indptr : tensor<?xi32> {
      nest.for %16 in %3 {
        nest.do(%17 = %D[%14, %16] : tensor<?x?xf64>) -> (%18 = %13[%15, %16] : tensor<?x?xf64>) {
          nest.yield %17 : f64
        }
      }
    }
  }
  %19 = nest.value[%4, %5] : tensor<?x?xf64>
  nest.for %20 in %4 {
    nest.for %21 in %5 {
      nest.do(%22 = %A_indices[%20] : tensor<?xi32>) -> (%23 = %19[%20, %21] : tensor<?x?xf64>) {
        %24 = arith.extsi %22 : i32 to i64
        %25 = arith.index_cast %24 : i64 to index
        %26 = tensor.extract %E[%25, %21] : tensor<?x?xf64>
        nest.yield %26 : f64
      }
    }
  }
  %27 = nest.value[%4, %3] : tensor<?x?xf64>
  nest.for %28 in %4 {
    nest.for %29 in %3 {
      nest.do(%30 = %13[%28, %29] : tensor<?x?xf64>, %31 = %19[%28, %29] : tensor<?x?xf64>) -> (%32 = %27[%28, %29] : tensor<?x?xf64>) {
        %33 = arith.mulf %30, %31 fastmath<contract> : f64
        nest.yield %33 : f64
      }
    }
  }
  %34 = arith.constant 0.000000e+00 : f64
  %35 = nest.value[%4] init %34 : f64 : tensor<?xf64>
  nest.for %36 in %4 {
    nest.for %37 in %3 {
      nest.do(%38 = %27[%36, %37] : tensor<?x?xf64>) -> (%39 = %35[%36] : tensor<?xf64>) {
        %40 = arith.addf %39, %38 fastmath<reassoc,contract> : f64
        nest.yield %40 : f64
      }
    }
  }
  %41 = nest.value[%4] : tensor<?xf64>
  nest.for %42 in %4 {
    nest.do(%43 = %A_data[%42] : tensor<?xf64>, %44 = %35[%42] : tensor<?xf64>) -> (%45 = %41[%42] : tensor<?xf64>) {
      %46 = arith.mulf %43, %44 fastmath<contract> : f64
      nest.yield %46 : f64
    }
  }
  %47 = nest.value[%4] : tensor<?xf64>
  nest.for %48 in %4 {
    nest.do(%49 = %41[%48] : tensor<?xf64>) -> (%50 = %47[%48] : tensor<?xf64>) {
      %51 = arith.mulf %12, %49 fastmath<contract> : f64
      nest.yield %51 : f64
    }
  }
  %52 = nest.value[%4] : tensor<?xf64>
  nest.for %53 in %4 {
    nest.do(%54 = %47[%53] : tensor<?xf64>, %55 = %A_data[%53] : tensor<?xf64>) -> (%56 = %52[%53] : tensor<?xf64>) {
      %57 = arith.mulf %54, %55 fastmath<contract> : f64
      nest.yield %57 : f64
    }
  }
  %58 = nest.value[%4, %3] : tensor<?x?xf64>
  nest.for %59 in %4 {
    nest.for %60 in %3 {
      nest.do(%61 = %52[%59] : tensor<?xf64>, %62 = %19[%59, %60] : tensor<?x?xf64>) -> (%63 = %58[%59, %60] : tensor<?x?xf64>) {
        %64 = arith.mulf %61, %62 fastmath<contract> : f64
        nest.yield %64 : f64
      }
    }
  }
  %65 = arith.constant 0.000000e+00 : f64
  %66 = nest.value[%6, %3] init %65 : f64 : tensor<?x?xf64>
  nest.for %67 in %6 {
    nest.entries %68 of %67 in %A_indptr : tensor<?xi32> {
      nest.for %69 in %3 {
        nest.do(%70 = %58[%68, %69] : tensor<?x?xf64>) -> (%71 = %66[%67, %69] : tensor<?x?xf64>) {
          %72 = arith.addf %71, %70 fastmath<reassoc,contract> : f64
          nest.yield %72 : f64
        }
      }
    }
  }
  func.return %66 : tensor<?x?xf64>
}

// Rows of a stack are not copied again: no row is the whole of what the reader reads.
// CHECK-LABEL: func.func @rows_of_a_stack(
// CHECK-COUNT-2: nest.value
// CHECK-NOT: nest.value
// CHECK: func.return
func.func @rows_of_a_stack(%x: tensor<?xf64>, %p: tensor<?xi64>) -> tensor<2x?xf64> attributes {dims = [["n"], ["n"]]} {
  %axis = arith.constant 0 : index
  %two = arith.constant 2 : index
  %n = tensor.dim %x, %axis : tensor<?xf64>
  %y = nest.value[%n] : tensor<2x?xf64>
  nest.for %i in %n {
    nest.do(%a = %p[%i] : tensor<?xi64>) -> (%b = %y[0, %i] : tensor<2x?xf64>) {
      %c = arith.index_cast %a : i64 to index
      %d = tensor.extract %x[%c] : tensor<?xf64>
      nest.yield %d : f64
    }
  }
  nest.for %j in %n {
    nest.do(%e = %x[%j] : tensor<?xf64>) -> (%f = %y[1, %j] : tensor<2x?xf64>) {
      nest.yield %e : f64
    }
  }
  %z = nest.value[%n] : tensor<2x?xf64>
  nest.for %k in %two {
    nest.for %l in %n {
      nest.do(%g = %y[%k, %l] : tensor<2x?xf64>) -> (%h = %z[%k, %l] : tensor<2x?xf64>) {
        %q = arith.negf %g : f64
        nest.yield %q : f64
      }
    }
  }
  func.return %z : tensor<2x?xf64>
}

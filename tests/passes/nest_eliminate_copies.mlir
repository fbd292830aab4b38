// RUN: eliminate-copies

// Stacked columns, and stacks of such, are written where they belong; what two places want is copied from the original.
// CHECK-LABEL: func.func @f(
// CHECK: %[[V7:[0-9]+]] = nest.value[%[[V1:[0-9]+]]] : tensor<?x2x3xf64>
// CHECK-NEXT: nest.for %[[V8:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%[[V9:[0-9]+]] = %x[%[[V8]], 0] : tensor<?x3xf64>, %[[V10:[0-9]+]] = %x[%[[V8]], 1] : tensor<?x3xf64>, %[[V11:[0-9]+]] = %x[%[[V8]], 2] : tensor<?x3xf64>) -> (%[[V12:[0-9]+]] = %[[V7]][%[[V8]], 0, 0] : tensor<?x2x3xf64>) {
// CHECK-NEXT: %[[V13:[0-9]+]] = arith.mulf %[[V9]], %[[V10]] fastmath<contract> : f64
// CHECK-NEXT: %[[V14:[0-9]+]] = arith.addf %[[V13]], %[[V11]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V14]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[V15:[0-9]+]] = arith.sitofp %[[V5:[0-9]+]] : i8 to f64
// CHECK-NEXT: %[[V16:[0-9]+]] = nest.value[%[[V1]]] : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V17:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%[[V18:[0-9]+]] = %x[%[[V17]], 0] : tensor<?x3xf64>) -> (%[[V19:[0-9]+]] = %[[V16]][%[[V17]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V20:[0-9]+]] = arith.mulf %[[V15]], %[[V18]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V20]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V21:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%[[V22:[0-9]+]] = %[[V16]][%[[V21]]] : tensor<?xf64>) -> (%[[V23:[0-9]+]] = %[[V7]][%[[V21]], 0, 1] : tensor<?x2x3xf64>) {
// CHECK-NEXT: nest.yield %[[V22]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V24:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%[[V25:[0-9]+]] = %x[%[[V24]], 1] : tensor<?x3xf64>) -> (%[[V26:[0-9]+]] = %[[V7]][%[[V24]], 0, 2] : tensor<?x2x3xf64>) {
// CHECK-NEXT: nest.yield %[[V25]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V27:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%[[V28:[0-9]+]] = %x[%[[V27]], 0] : tensor<?x3xf64>) -> (%[[V29:[0-9]+]] = %[[V7]][%[[V27]], 1, 2] : tensor<?x2x3xf64>) {
// CHECK-NEXT: %[[V30:[0-9]+]] = arith.addf %[[V28]], %[[V6:[0-9]+]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V30]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V31:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%[[V32:[0-9]+]] = %[[V16]][%[[V31]]] : tensor<?xf64>) -> (%[[V33:[0-9]+]] = %[[V7]][%[[V31]], 1, 0] : tensor<?x2x3xf64>) {
// CHECK-NEXT: nest.yield %[[V32]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V34:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%[[V35:[0-9]+]] = %x[%[[V34]], 0] : tensor<?x3xf64>) -> (%[[V36:[0-9]+]] = %[[V7]][%[[V34]], 1, 1] : tensor<?x2x3xf64>) {
// CHECK-NEXT: nest.yield %[[V35]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V7]] : tensor<?x2x3xf64>

func.func @f(%x: tensor<?x3xf64>) -> tensor<?x2x3xf64> attributes {dims = [["n", ""]], results = ["z"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %x, %0 : tensor<?x3xf64>
  %2 = arith.constant 1 : index
  %3 = arith.constant 3 : index
  %4 = arith.constant 0 : index
  %n = tensor.dim %x, %4 : tensor<?x3xf64>
  %5 = arith.constant 1 : i8
  %6 = arith.constant 1.000000e+00 : f64
  %7 = nest.value[%1] : tensor<?xf64>
  nest.for %8 in %1 {
    nest.do(%9 = %x[%8, 0] : tensor<?x3xf64>, %10 = %x[%8, 1] : tensor<?x3xf64>, %11 = %x[%8, 2] : tensor<?x3xf64>) -> (%12 = %7[%8] : tensor<?xf64>) {
      %13 = arith.mulf %9, %10 fastmath<contract> : f64
      %14 = arith.addf %13, %11 fastmath<contract> : f64
      nest.yield %14 : f64
    }
  }
  %15 = nest.value[%1] : tensor<?x1xf64>
  nest.for %16 in %1 {
    nest.for %17 in %2 {
      nest.do(%18 = %7[%16] : tensor<?xf64>) -> (%19 = %15[%16, %17] : tensor<?x1xf64>) {
        nest.yield %18 : f64
      }
    }
  }
  %20 = arith.sitofp %5 : i8 to f64
  %21 = nest.value[%1] : tensor<?xf64>
  nest.for %22 in %1 {
    nest.do(%23 = %x[%22, 0] : tensor<?x3xf64>) -> (%24 = %21[%22] : tensor<?xf64>) {
      %25 = arith.mulf %20, %23 fastmath<contract> : f64
      nest.yield %25 : f64
    }
  }
  %26 = nest.value[%1] : tensor<?x1xf64>
  nest.for %27 in %1 {
    nest.for %28 in %2 {
      nest.do(%29 = %21[%27] : tensor<?xf64>) -> (%30 = %26[%27, %28] : tensor<?x1xf64>) {
        nest.yield %29 : f64
      }
    }
  }
  %31 = nest.value[%1] : tensor<?x1xf64>
  nest.for %32 in %1 {
    nest.for %33 in %2 {
      nest.do(%34 = %x[%32, 1] : tensor<?x3xf64>) -> (%35 = %31[%32, %33] : tensor<?x1xf64>) {
        nest.yield %34 : f64
      }
    }
  }
  %36 = nest.value[%1] : tensor<?x3xf64>
  nest.for %37 in %1 {
    nest.do(%38 = %15[%37, 0] : tensor<?x1xf64>) -> (%39 = %36[%37, 0] : tensor<?x3xf64>) {
      nest.yield %38 : f64
    }
  }
  nest.for %40 in %1 {
    nest.do(%41 = %26[%40, 0] : tensor<?x1xf64>) -> (%42 = %36[%40, 1] : tensor<?x3xf64>) {
      nest.yield %41 : f64
    }
  }
  nest.for %43 in %1 {
    nest.do(%44 = %31[%43, 0] : tensor<?x1xf64>) -> (%45 = %36[%43, 2] : tensor<?x3xf64>) {
      nest.yield %44 : f64
    }
  }
  %46 = nest.value[%1] : tensor<?x1x3xf64>
  nest.for %47 in %1 {
    nest.for %48 in %2 {
      nest.for %49 in %3 {
        nest.do(%50 = %36[%47, %49] : tensor<?x3xf64>) -> (%51 = %46[%47, %48, %49] : tensor<?x1x3xf64>) {
          nest.yield %50 : f64
        }
      }
    }
  }
  %52 = nest.value[%1] : tensor<?x1xf64>
  nest.for %53 in %1 {
    nest.for %54 in %2 {
      nest.do(%55 = %x[%53, 0] : tensor<?x3xf64>) -> (%56 = %52[%53, %54] : tensor<?x1xf64>) {
        nest.yield %55 : f64
      }
    }
  }
  %57 = nest.value[%1] : tensor<?xf64>
  nest.for %58 in %1 {
    nest.do(%59 = %x[%58, 0] : tensor<?x3xf64>) -> (%60 = %57[%58] : tensor<?xf64>) {
      %61 = arith.addf %59, %6 fastmath<contract> : f64
      nest.yield %61 : f64
    }
  }
  %62 = nest.value[%1] : tensor<?x1xf64>
  nest.for %63 in %1 {
    nest.for %64 in %2 {
      nest.do(%65 = %57[%63] : tensor<?xf64>) -> (%66 = %62[%63, %64] : tensor<?x1xf64>) {
        nest.yield %65 : f64
      }
    }
  }
  %67 = nest.value[%1] : tensor<?x3xf64>
  nest.for %68 in %1 {
    nest.do(%69 = %26[%68, 0] : tensor<?x1xf64>) -> (%70 = %67[%68, 0] : tensor<?x3xf64>) {
      nest.yield %69 : f64
    }
  }
  nest.for %71 in %1 {
    nest.do(%72 = %52[%71, 0] : tensor<?x1xf64>) -> (%73 = %67[%71, 1] : tensor<?x3xf64>) {
      nest.yield %72 : f64
    }
  }
  nest.for %74 in %1 {
    nest.do(%75 = %62[%74, 0] : tensor<?x1xf64>) -> (%76 = %67[%74, 2] : tensor<?x3xf64>) {
      nest.yield %75 : f64
    }
  }
  %77 = nest.value[%1] : tensor<?x1x3xf64>
  nest.for %78 in %1 {
    nest.for %79 in %2 {
      nest.for %80 in %3 {
        nest.do(%81 = %67[%78, %80] : tensor<?x3xf64>) -> (%82 = %77[%78, %79, %80] : tensor<?x1x3xf64>) {
          nest.yield %81 : f64
        }
      }
    }
  }
  %83 = nest.value[%1] : tensor<?x2x3xf64>
  nest.for %84 in %1 {
    nest.for %85 in %3 {
      nest.do(%86 = %46[%84, 0, %85] : tensor<?x1x3xf64>) -> (%87 = %83[%84, 0, %85] : tensor<?x2x3xf64>) {
        nest.yield %86 : f64
      }
    }
  }
  nest.for %88 in %1 {
    nest.for %89 in %3 {
      nest.do(%90 = %77[%88, 0, %89] : tensor<?x1x3xf64>) -> (%91 = %83[%88, 1, %89] : tensor<?x2x3xf64>) {
        nest.yield %90 : f64
      }
    }
  }
  func.return %83 : tensor<?x2x3xf64>
}

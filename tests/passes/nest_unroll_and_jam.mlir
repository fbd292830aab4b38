// RUN: unroll-and-jam

// Four rows go through the loop over the columns together: %w and the sums are read once for all.
// CHECK-LABEL: func.func @both(
// CHECK: %[[V10:[0-9]+]] = nest.value[%[[V3:[0-9]+]]] output 0 : tensor<?xf64>
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
// CHECK-NEXT: %[[V29:[0-9]+]] = nest.value over %[[V28]] : tensor<1024xf64> : tensor<1024xf64>
// CHECK-NEXT: nest.for %[[V30:[0-9]+]] = %[[V25]] to %[[V27]] jam 8 {
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
// CHECK-NEXT: nest.for %[[V49:[0-9]+]] = %[[V25]] to %[[V27]] jam 8 {
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
  %10 = nest.value[%3] output 0 : tensor<?xf64>
  nest.for %11 in %3 {
    nest.do() -> (%12 = %10[%11] : tensor<?xf64>) {
      nest.yield %9 : f64
    }
  }
  %13 = arith.constant 1 : index
  %14 = arith.maxsi %3, %13 : index
  %15 = arith.constant 4096 : index
  %16 = arith.divsi %15, %14 : index
  %17 = arith.constant 16 : index
  %18 = arith.divsi %16, %17 : index
  %19 = arith.constant 16 : index
  %20 = arith.muli %18, %19 : index
  %21 = arith.constant 1024 : index
  %22 = arith.minsi %20, %21 : index
  %23 = arith.constant 16 : index
  %24 = arith.maxsi %22, %23 : index
  nest.for %25 in %1 step %24 {
    %26 = arith.addi %25, %24 : index
    %27 = arith.minsi %26, %1 : index
    %28 = nest.value : tensor<1024xf64>
    %29 = nest.value over %28 : tensor<1024xf64> : tensor<1024xf64>
    nest.for %30 = %25 to %27 {
      %31 = arith.subi %30, %25 : index
      %32 = nest.value init %8 : f64 : tensor<f64>
      nest.for %33 in %3 {
        nest.do(%34 = %x[%30, %33] : tensor<?x?xf64>, %35 = %w[%33] : tensor<?xf64>) -> (%36 = %32[] : tensor<f64>) {
          %37 = arith.mulf %34, %35 fastmath<contract> : f64
          %38 = arith.addf %36, %37 fastmath<reassoc,contract> : f64
          nest.yield %38 : f64
        }
      }
      nest.do(%39 = %32[] : tensor<f64>) -> (%40 = %28[%31] : tensor<1024xf64>) {
        nest.yield %39 : f64
      }
    }
    nest.for %41 = %25 to %27 {
      %42 = nest.value : tensor<f64>
      %43 = arith.subi %41, %25 : index
      nest.do(%44 = %28[%43] : tensor<1024xf64>) -> (%45 = %42[] : tensor<f64>) {
        %46 = math.tanh %44 fastmath<contract> : f64
        nest.yield %46 : f64
      }
      nest.do(%47 = %42[] : tensor<f64>) -> (%48 = %29[%43] : tensor<1024xf64>) {
        nest.yield %47 : f64
      }
    }
    nest.for %49 = %25 to %27 {
      %50 = arith.subi %49, %25 : index
      nest.for %51 in %3 {
        nest.do(%52 = %29[%50] : tensor<1024xf64>, %53 = %x[%49, %51] : tensor<?x?xf64>) -> (%54 = %10[%51] : tensor<?xf64>) {
          %55 = arith.mulf %52, %53 fastmath<contract> : f64
          %56 = arith.addf %54, %55 fastmath<reassoc,contract> : f64
          nest.yield %56 : f64
        }
      }
    }
  }
  func.return %10 : tensor<?xf64>
}

// Rows with a nest of known extents each: four rows have a buffer of their own each, and read %q once.
// CHECK-LABEL: func.func @nests(
// CHECK: nest.for %{{[0-9a-z_]+}} in %n jam 4 {
// CHECK-NEXT: nest.value : tensor<10xf64>
// CHECK: nest.for %{{[0-9a-z_]+}} in %ten {
// CHECK-NOT: jam
// CHECK: func.return
func.func @nests(%x: tensor<?x10xf64>, %q: tensor<10x10xf64>, %n: index) -> f64 attributes {dims = [["n", ""], ["", ""], []], results = ["out0"]} {
  %zero = arith.constant 0.0 : f64
  %ten = arith.constant 10 : index
  %s = nest.value init %zero : f64 : tensor<f64>
  nest.for %i in %n {
    %w = nest.value : tensor<10xf64>
    nest.for %k in %ten {
      nest.do() -> (%o = %w[%k] : tensor<10xf64>) {
        nest.yield %zero : f64
      }
    }
    nest.for %j in %ten {
      nest.for %k in %ten {
        nest.do(%a = %q[%j, %k] : tensor<10x10xf64>, %b = %x[%i, %j] : tensor<?x10xf64>) -> (%o = %w[%k] : tensor<10xf64>) {
          %m = arith.mulf %a, %b fastmath<contract> : f64
          %t = arith.addf %o, %m fastmath<reassoc,contract> : f64
          nest.yield %t : f64
        }
      }
    }
    nest.for %k in %ten {
      nest.do(%a = %w[%k] : tensor<10xf64>) -> (%o = %s[] : tensor<f64>) {
        %m = arith.mulf %a, %a fastmath<contract> : f64
        %t = arith.addf %o, %m fastmath<reassoc,contract> : f64
        nest.yield %t : f64
      }
    }
  }
  %r = tensor.extract %s[] : tensor<f64>
  func.return %r : f64
}

// RUN: vectorize-known-trip-count

// Ten iterations are a vector of eight and one of two; sums are carried on from one to the next, as the loop around
// takes a sum, too.
// CHECK-LABEL: func.func @f(
// CHECK: nest.for %[[ROW:[0-9a-z_]+]] in %{{[0-9a-z_]+}} jam 4 {
// CHECK-NEXT: %[[SUM:[0-9a-z_]+]] = nest.value init
// CHECK-NEXT: %[[C8:[0-9a-z_]+]] = arith.constant 8 : index
// CHECK-NEXT: nest.for %[[I:[0-9a-z_]+]] in %[[C8]] lanes 8 parallel {
// CHECK: nest.do(%{{[0-9]+}} = %X[%[[ROW]], %[[I]]] : tensor<9x10xf64>, %{{[0-9]+}} = %w[%[[I]]] : tensor<10xf64>)
// CHECK: nest.do({{.*}}) -> (%{{[0-9]+}} = %[[SUM]][] : tensor<f64>) {
// CHECK: %[[C10:[0-9a-z_]+]] = arith.constant 10 : index
// CHECK-NEXT: nest.for %[[J:[0-9a-z_]+]] = %[[C8]] to %[[C10]] lanes 2 parallel {
// CHECK: nest.do(%{{[0-9]+}} = %X[%[[ROW]], %[[J]]] : tensor<9x10xf64>, %{{[0-9]+}} = %w[%[[J]]] : tensor<10xf64>)
// CHECK: nest.do({{.*}}) -> (%{{[0-9]+}} = %[[SUM]][] : tensor<f64>) {
// CHECK-NOT: nest.for
// Less than half of a vector, more than two, a long loop around or none: they stay as they are.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-4: nest.for %{{[0-9a-z_]+}} in %{{[0-9a-z_]+}} parallel {
// CHECK-NOT: lanes
func.func @f(%X: tensor<9x10xf64>, %w: tensor<10xf64>) -> f64 attributes {dims = [["", ""], [""]], results = ["out"]} {
  %1 = arith.constant 9 : index
  %2 = arith.constant 10 : index
  %5 = arith.constant 0.000000e+00 : f64
  %6 = nest.value init %5 : f64 : tensor<f64>
  nest.for %8 in %1 jam 4 {
    %9 = nest.value init %5 : f64 : tensor<f64>
    nest.for %10 in %2 parallel {
      %11 = nest.value : tensor<f64>
      nest.do(%12 = %X[%8, %10] : tensor<9x10xf64>, %13 = %w[%10] : tensor<10xf64>) -> (%14 = %11[] : tensor<f64>) {
        %15 = arith.mulf %12, %13 fastmath<contract> : f64
        nest.yield %15 : f64
      }
      nest.do(%16 = %11[] : tensor<f64>) -> (%17 = %9[] : tensor<f64>) {
        %18 = arith.addf %17, %16 fastmath<reassoc,contract> : f64
        nest.yield %18 : f64
      }
    }
    nest.do(%23 = %9[] : tensor<f64>) -> (%24 = %6[] : tensor<f64>) {
      %25 = arith.mulf %23, %23 fastmath<contract> : f64
      %26 = arith.addf %24, %25 fastmath<reassoc,contract> : f64
      nest.yield %26 : f64
    }
  }
  %27 = tensor.extract %6[] : tensor<f64>
  func.return %27 : f64
}
func.func @others(%A: tensor<9x3xf64>, %B: tensor<9x17xf64>, %c: tensor<10xf64>, %D: tensor<?x10xf64>) -> (tensor<9x3xf64>, tensor<9x17xf64>, tensor<10xf64>, tensor<?x10xf64>) attributes {dims = [["", ""], ["", ""], [""], ["n", ""]], results = ["a", "b", "c", "d"]} {
  %0 = arith.constant 0 : index
  %n = arith.constant 9 : index
  %m = tensor.dim %D, %0 : tensor<?x10xf64>
  %3 = arith.constant 3 : index
  %4 = arith.constant 17 : index
  %5 = arith.constant 10 : index
  %a = nest.value output 0 : tensor<9x3xf64>
  %b = nest.value output 1 : tensor<9x17xf64>
  %d = nest.value output 2 : tensor<10xf64>
  %e = nest.value[%m] output 3 : tensor<?x10xf64>
  nest.for %i in %n {
    nest.for %j in %3 parallel {
      nest.do(%x = %A[%i, %j] : tensor<9x3xf64>) -> (%y = %a[%i, %j] : tensor<9x3xf64>) {
        %z = arith.addf %x, %x : f64
        nest.yield %z : f64
      }
    }
    nest.for %k in %4 parallel {
      nest.do(%x = %B[%i, %k] : tensor<9x17xf64>) -> (%y = %b[%i, %k] : tensor<9x17xf64>) {
        %z = arith.addf %x, %x : f64
        nest.yield %z : f64
      }
    }
  }
  nest.for %l in %5 parallel {
    nest.do(%x = %c[%l] : tensor<10xf64>) -> (%y = %d[%l] : tensor<10xf64>) {
      %z = arith.addf %x, %x : f64
      nest.yield %z : f64
    }
  }
  nest.for %i in %m {
    nest.for %l in %5 parallel {
      nest.do(%x = %D[%i, %l] : tensor<?x10xf64>) -> (%y = %e[%i, %l] : tensor<?x10xf64>) {
        %z = arith.addf %x, %x : f64
        nest.yield %z : f64
      }
    }
  }
  func.return %a, %b, %d, %e : tensor<9x3xf64>, tensor<9x17xf64>, tensor<10xf64>, tensor<?x10xf64>
}

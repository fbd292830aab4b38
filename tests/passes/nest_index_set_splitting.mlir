// RUN: index-set-splitting

// Both loops of a window are split, the inner one where the condition on the rows holds; there is nothing on its left.
// CHECK-LABEL: func.func @window(
// CHECK: %[[HIGH:[0-9]+]] = arith.addi %s, %r : index
// CHECK-NEXT: %[[A:[0-9]+]] = arith.minsi %s, %n : index
// CHECK: %[[LOW:[0-9]+]] = arith.maxsi %[[A]], %{{[0-9]+}} : index
// CHECK-NEXT: %[[B:[0-9]+]] = arith.minsi %[[HIGH]], %n : index
// CHECK-NEXT: %[[END:[0-9]+]] = arith.maxsi %[[B]], %[[LOW]] : index
// CHECK-NEXT: nest.for %i = %{{[0-9]+}} to %[[LOW]] {
// CHECK: aot.extract_if
// CHECK: nest.for %{{[a-z0-9_]+}} = %[[LOW]] to %[[END]] {
// CHECK: nest.for %{{[a-z0-9_]+}} = %{{[0-9]+}} to %[[RIGHT:[0-9]+]] {
// CHECK-NOT: aot.extract_if
// CHECK: tensor.extract %v
// CHECK: nest.for %{{[a-z0-9_]+}} = %[[RIGHT]] to %m {
// CHECK: aot.extract_if
// CHECK: nest.for %{{[a-z0-9_]+}} = %[[END]] to %n {
// CHECK: aot.extract_if
func.func @window(%x: tensor<?x?xf64>, %v: tensor<?x?xf64>, %s: index) -> tensor<?x?xf64> attributes {dims = [["n", "m"], ["r", "q"], []], results = ["out0"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf64>
  %m = tensor.dim %x, %c1 : tensor<?x?xf64>
  %r = tensor.dim %v, %c0 : tensor<?x?xf64>
  %q = tensor.dim %v, %c1 : tensor<?x?xf64>
  %y = nest.value[%n, %m] output 0 : tensor<?x?xf64>
  nest.for %i in %n {
    nest.for %j in %m {
      nest.do(%a = %x[%i, %j] : tensor<?x?xf64>) -> (%o = %y[%i, %j] : tensor<?x?xf64>) {
        %k = arith.subi %i, %s : index
        %c = arith.cmpi ult, %k, %r : index
        %d = arith.cmpi ult, %j, %q : index
        %both = arith.andi %c, %d : i1
        %e = aot.extract_if %both, %v[%k, %j], %a : tensor<?x?xf64>
        nest.yield %e : f64
      }
    }
  }
  func.return %y : tensor<?x?xf64>
}

// A loop of few iterations stays whole.
// CHECK-LABEL: func.func @few(
// CHECK: nest.for
// CHECK-NOT: nest.for
// CHECK: func.return
func.func @few(%x: tensor<8xf64>, %v: tensor<6xf64>) -> tensor<8xf64> attributes {dims = [[""], [""]], results = ["out0"]} {
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %n = arith.constant 8 : index
  %y = nest.value output 0 : tensor<8xf64>
  nest.for %i in %n {
    nest.do(%a = %x[%i] : tensor<8xf64>) -> (%o = %y[%i] : tensor<8xf64>) {
      %k = arith.subi %i, %c1 : index
      %c = arith.cmpi ult, %k, %c6 : index
      %e = aot.extract_if %c, %v[%k], %a : tensor<6xf64>
      nest.yield %e : f64
    }
  }
  func.return %y : tensor<8xf64>
}

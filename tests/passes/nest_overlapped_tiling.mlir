// RUN: overlapped-tiling

// Two sweeps follow each other over tiles, and four rows are kept of what one hands on to the other. The first one computes
// a row in front of the tile for it, and one behind it, and stays a row ahead.
// CHECK-LABEL: func.func @sweeps(
// CHECK: nest.for %[[T:[0-9]+]] in %n step %[[TILE:[0-9]+]] {
// CHECK: %[[NEXT:[0-9]+]] = arith.addi %[[T]], %[[TILE]] : index
// CHECK-NEXT: %[[END:[0-9]+]] = arith.minsi %[[NEXT]], %n : index
// CHECK-NEXT: %[[M1:[0-9]+]] = arith.constant -1 : index
// CHECK-NEXT: %[[BEFORE:[0-9]+]] = arith.addi %[[T]], %[[M1]] : index
// CHECK-NEXT: %[[LOW:[0-9]+]] = arith.maxsi %[[BEFORE]], %{{[0-9]+}} : index
// CHECK: %[[BEHIND:[0-9]+]] = arith.addi %[[END]], %{{[0-9]+}} : index
// CHECK-NEXT: %[[HIGH:[0-9]+]] = arith.minsi %[[BEHIND]], %n : index
// CHECK: %v = nest.value[%m] folded : tensor<4x?xf64>
// CHECK: nest.for %[[S:[0-9]+]] = %[[LOW]] to %{{[0-9]+}} step %[[STEP:[0-9]+]] {
// CHECK-NEXT: %[[A:[0-9]+]] = arith.addi %[[S]], %[[STEP]] : index
// CHECK-NEXT: %[[B:[0-9]+]] = arith.minsi %[[A]], %[[HIGH]] : index
// CHECK-NEXT: %[[C:[0-9]+]] = arith.maxsi %[[S]], %[[LOW]] : index
// CHECK-NEXT: nest.for %i = %[[C]] to %[[B]] {
// CHECK: -> (%{{[0-9a-z]+}} = %v[%i, %j] : tensor<4x?xf64>)
// CHECK: %[[D:[0-9]+]] = arith.addi %[[S]], %{{[0-9]+}} : index
// CHECK: nest.for %i_1 = %{{[0-9]+}} to %{{[0-9]+}} {
// CHECK: aot.extract_if %{{[0-9a-z_]+}}, %v[%{{[0-9a-z_]+}}, %{{[0-9a-z_]+}}], %{{[0-9a-z_]+}} : tensor<4x?xf64>
func.func @sweeps(%x: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["n", "m"]], results = ["out0"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf64>
  %m = tensor.dim %x, %c1 : tensor<?x?xf64>
  %v = nest.value[%n, %m] : tensor<?x?xf64>
  nest.for %i in %n {
    nest.for %j in %m parallel {
      nest.do(%a = %x[%i, %j] : tensor<?x?xf64>) -> (%o = %v[%i, %j] : tensor<?x?xf64>) {
        %s = arith.addf %a, %a : f64
        nest.yield %s : f64
      }
    }
  }
  %y = nest.value[%n, %m] output 0 : tensor<?x?xf64>
  nest.for %i in %n {
    nest.for %j in %m parallel {
      nest.do(%a = %v[%i, %j] : tensor<?x?xf64>) -> (%o = %y[%i, %j] : tensor<?x?xf64>) {
        %up = arith.subi %i, %c1 : index
        %is_above = arith.cmpi ult, %up, %n : index
        %b = aot.extract_if %is_above, %v[%up, %j], %a : tensor<?x?xf64>
        %down = arith.addi %i, %c1 : index
        %is_below = arith.cmpi ult, %down, %n : index
        %c = aot.extract_if %is_below, %v[%down, %j], %b : tensor<?x?xf64>
        %s = arith.addf %b, %c : f64
        nest.yield %s : f64
      }
    }
  }
  func.return %y : tensor<?x?xf64>
}

// What a cache holds needs no tiles.
// CHECK-LABEL: func.func @small(
// CHECK-NOT: folded
func.func @small(%x: tensor<64x64xf64>) -> tensor<64x64xf64> attributes {dims = [["", ""]], results = ["out0"]} {
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %v = nest.value : tensor<64x64xf64>
  nest.for %i in %n {
    nest.for %j in %n parallel {
      nest.do(%a = %x[%i, %j] : tensor<64x64xf64>) -> (%o = %v[%i, %j] : tensor<64x64xf64>) {
        nest.yield %a : f64
      }
    }
  }
  %y = nest.value output 0 : tensor<64x64xf64>
  nest.for %i in %n {
    nest.for %j in %n parallel {
      nest.do(%a = %v[%i, %j] : tensor<64x64xf64>) -> (%o = %y[%i, %j] : tensor<64x64xf64>) {
        %up = arith.subi %i, %c1 : index
        %is_above = arith.cmpi ult, %up, %n : index
        %b = aot.extract_if %is_above, %v[%up, %j], %a : tensor<64x64xf64>
        nest.yield %b : f64
      }
    }
  }
  func.return %y : tensor<64x64xf64>
}

// A value that is also a result is needed whole.
// CHECK-LABEL: func.func @returned(
// CHECK-NOT: folded
func.func @returned(%x: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?x?xf64>) attributes {dims = [["n", "m"]], results = ["out0", "out1"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf64>
  %m = tensor.dim %x, %c1 : tensor<?x?xf64>
  %v = nest.value[%n, %m] output 0 : tensor<?x?xf64>
  nest.for %i in %n {
    nest.for %j in %m parallel {
      nest.do(%a = %x[%i, %j] : tensor<?x?xf64>) -> (%o = %v[%i, %j] : tensor<?x?xf64>) {
        nest.yield %a : f64
      }
    }
  }
  %y = nest.value[%n, %m] output 1 : tensor<?x?xf64>
  nest.for %i in %n {
    nest.for %j in %m parallel {
      nest.do(%a = %v[%i, %j] : tensor<?x?xf64>) -> (%o = %y[%i, %j] : tensor<?x?xf64>) {
        %up = arith.subi %i, %c1 : index
        %is_above = arith.cmpi ult, %up, %n : index
        %b = aot.extract_if %is_above, %v[%up, %j], %a : tensor<?x?xf64>
        nest.yield %b : f64
      }
    }
  }
  func.return %v, %y : tensor<?x?xf64>, tensor<?x?xf64>
}

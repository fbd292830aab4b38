// RUN: lower-to-nest

// Every linalg operation becomes a nest of its own around one statement; what it gives is a value with room for
// all of it.
// CHECK-LABEL: func.func @chain(
// CHECK: %p = nest.value[%[[V1:[0-9]+]]] : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V2:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%a = %x[%[[V2]]] : tensor<?xf64>) -> (%o = %p[%[[V2]]] : tensor<?xf64>) {
// CHECK-NEXT: %r = math.exp %a : f64
// CHECK-NEXT: nest.yield %r : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %y = nest.value[%[[V1]]] : tensor<?xf64>
// CHECK-NEXT: nest.for %[[V3:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%a_1 = %p[%[[V3]]] : tensor<?xf64>) -> (%o_1 = %y[%[[V3]]] : tensor<?xf64>) {
// CHECK-NEXT: %r_1 = math.tanh %a_1 : f64
// CHECK-NEXT: nest.yield %r_1 : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %s = nest.value init %zero : f64 : tensor<f64>
// CHECK-NEXT: nest.for %[[V4:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.do(%a_2 = %y[%[[V4]]] : tensor<?xf64>) -> (%o_2 = %s[] : tensor<f64>) {
// CHECK-NEXT: %r_2 = arith.addf %o_2, %a_2 : f64
// CHECK-NEXT: nest.yield %r_2 : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %total = tensor.extract %s[] : tensor<f64>
// CHECK-NEXT: func.return %total, %y : f64, tensor<?xf64>
func.func @chain(%x: tensor<?xf64>) -> (f64, tensor<?xf64>) attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %zero = arith.constant 0.000000e+00 : f64
  %e0 = tensor.empty(%n) : tensor<?xf64>
  %p = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = math.exp %a : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  %e1 = tensor.empty(%n) : tensor<?xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p : tensor<?xf64>) outs(%e1 : tensor<?xf64>) {
  ^bb0(%a_1: f64, %o_1: f64):
    %r_1 = math.tanh %a_1 : f64
    linalg.yield %r_1 : f64
  } -> tensor<?xf64>
  %start = tensor.splat %zero : tensor<f64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%y : tensor<?xf64>) outs(%start : tensor<f64>) {
  ^bb0(%a_2: f64, %o_2: f64):
    %r_2 = arith.addf %o_2, %a_2 : f64
    linalg.yield %r_2 : f64
  } -> tensor<f64>
  %total = tensor.extract %s[] : tensor<f64>
  func.return %total, %y : f64, tensor<?xf64>
}

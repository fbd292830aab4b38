// RUN: canonicalize

// A transpose becomes the index map of its reader.
// CHECK-LABEL: func.func @transposed_operand
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: ins(%x : tensor<?x?xf64>)
// CHECK: math.exp
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @transposed_operand(%x: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["n", "m"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf64>
  %m = tensor.dim %x, %c1 : tensor<?x?xf64>
  %e0 = tensor.empty(%m, %n) : tensor<?x?xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x?xf64>) outs(%e0 : tensor<?x?xf64>) {
  ^bb0(%a: f64, %o: f64):
    linalg.yield %a : f64
  } -> tensor<?x?xf64>
  %e1 = tensor.empty(%m, %n) : tensor<?x?xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<?x?xf64>) outs(%e1 : tensor<?x?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %b = math.exp %a : f64
    linalg.yield %b : f64
  } -> tensor<?x?xf64>
  func.return %r : tensor<?x?xf64>
}

// A tensor of one value becomes that value.
// CHECK-LABEL: func.func @filled_operand
// CHECK-SAME: (%x: tensor<?xf64>, %s: f64)
// CHECK: linalg.generic
// CHECK-SAME: ins(%x : tensor<?xf64>)
// CHECK: arith.mulf %{{.*}}, %s
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @filled_operand(%x: tensor<?xf64>, %s: f64) -> tensor<?xf64> attributes {dims = [["n"], []]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %e0 = tensor.empty(%n) : tensor<?xf64>
  %f = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e0 : tensor<?xf64>) {
  ^bb0(%o: f64):
    linalg.yield %s : f64
  } -> tensor<?xf64>
  %e1 = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %f : tensor<?xf64>, tensor<?xf64>) outs(%e1 : tensor<?xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %p = arith.mulf %a, %b : f64
    linalg.yield %p : f64
  } -> tensor<?xf64>
  func.return %r : tensor<?xf64>
}

// A broadcast that gives a loop its extent has to stay: nothing else does.
// CHECK-LABEL: func.func @broadcast_alone
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK: func.return
func.func @broadcast_alone(%x: tensor<?xf64>, %n: index) -> f64 attributes {dims = [["m"], []]} {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?xf64>
  %e0 = tensor.empty(%n, %m) : tensor<?x?xf64>
  %w = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?xf64>) outs(%e0 : tensor<?x?xf64>) {
  ^bb0(%a: f64, %o: f64):
    linalg.yield %a : f64
  } -> tensor<?x?xf64>
  %s = tensor.splat %zero : tensor<f64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%w : tensor<?x?xf64>) outs(%s : tensor<f64>) {
  ^bb0(%a: f64, %o: f64):
    %t = arith.addf %o, %a : f64
    linalg.yield %t : f64
  } -> tensor<f64>
  %v = tensor.extract %r[] : tensor<f64>
  func.return %v : f64
}

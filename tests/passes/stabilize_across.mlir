// RUN: stabilize canonicalize

// The exponential stands two operations before the logarithm, one of them transposed; it stays for its other reader.
// CHECK-LABEL: func.func @softplus_across
// CHECK: %[[E:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: ins(%x : tensor<?x?xf64>)
// CHECK: math.exp
// CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME: ins(%x : tensor<?x?xf64>)
// CHECK-NOT: math.log
// CHECK: func.call @aot.softplus.f64
// CHECK-NOT: linalg.generic
// CHECK: func.return %[[E]], %[[Y]]
func.func @softplus_across(%x: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?x?xf64>) attributes {dims = [["n", "m"]]} {
  %one = arith.constant 1.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf64>
  %m = tensor.dim %x, %c1 : tensor<?x?xf64>
  %e0 = tensor.empty(%n, %m) : tensor<?x?xf64>
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x?xf64>) outs(%e0 : tensor<?x?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %b = math.exp %a : f64
    linalg.yield %b : f64
  } -> tensor<?x?xf64>
  %e1 = tensor.empty(%m, %n) : tensor<?x?xf64>
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%e : tensor<?x?xf64>) outs(%e1 : tensor<?x?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %b = arith.addf %a, %one : f64
    linalg.yield %b : f64
  } -> tensor<?x?xf64>
  %e2 = tensor.empty(%m, %n) : tensor<?x?xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<?x?xf64>) outs(%e2 : tensor<?x?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %b = math.log %a : f64
    linalg.yield %b : f64
  } -> tensor<?x?xf64>
  func.return %e, %y : tensor<?x?xf64>, tensor<?x?xf64>
}

// exp(x)/s is no quotient to take apart where nothing says that s is not negative.
// CHECK-LABEL: func.func @unknown_denominator
// CHECK: arith.divf
// CHECK: math.log
// CHECK: func.return
func.func @unknown_denominator(%x: f64, %s: f64) -> f64 attributes {dims = [[], []]} {
  %e = math.exp %x : f64
  %q = arith.divf %e, %s : f64
  %y = math.log %q : f64
  func.return %y : f64
}

// The logarithm of a softmax: the sum of exponentials is not negative.
// CHECK-LABEL: func.func @log_softmax
// CHECK: %[[Z:.*]] = tensor.extract
// CHECK: linalg.generic
// CHECK-SAME: ins(%s, %x : tensor<f64>, tensor<?xf64>)
// CHECK: %[[L:.*]] = math.log
// CHECK-NEXT: arith.subf %{{.*}}, %[[L]]
// CHECK-NOT: arith.divf
// CHECK: func.return
func.func @log_softmax(%x: tensor<?xf64>) -> (tensor<?xf64>, f64) attributes {dims = [["n"]]} {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %e0 = tensor.empty(%n) : tensor<?xf64>
  %e = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %b = math.exp %a : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %start = tensor.splat %zero : tensor<f64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%e : tensor<?xf64>) outs(%start : tensor<f64>) {
  ^bb0(%a: f64, %o: f64):
    %t = arith.addf %o, %a : f64
    linalg.yield %t : f64
  } -> tensor<f64>
  %total = tensor.extract %s[] : tensor<f64>
  %e1 = tensor.empty(%n) : tensor<?xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%e, %s : tensor<?xf64>, tensor<f64>) outs(%e1 : tensor<?xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %q = arith.divf %a, %b : f64
    %r = math.log %q : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  func.return %y, %total : tensor<?xf64>, f64
}

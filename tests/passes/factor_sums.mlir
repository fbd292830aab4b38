// RUN: factor-sums

// The rows of %p are added before they are multiplied by %q; the sign between the two sums is that of the result.
// CHECK-LABEL: func.func @both_sums
// CHECK: %[[S:[a-z0-9_]+]] = tensor.splat %{{.*}} : tensor<4xf64>
// CHECK-NEXT: %[[F:[a-z0-9_]+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%p : tensor<?x4xf64>) outs(%[[S]] : tensor<4xf64>) {
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : f64
// CHECK: %[[P:[a-z0-9_]+]] = linalg.generic {{.*}}ins(%[[F]], %q : tensor<4xf64>, tensor<4x5xf64>)
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f64
// CHECK-NEXT: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : f64
// CHECK: %[[R:[a-z0-9_]+]] = linalg.generic {{.*}}ins(%[[P]] : tensor<5xf64>)
// CHECK: arith.negf
// CHECK-NOT: linalg.generic
// CHECK: func.return %[[R]]
func.func @both_sums(%p: tensor<?x4xf64>, %q: tensor<4x5xf64>, %n: index) -> tensor<5xf64> attributes {dims = [["n", ""], ["", ""], []]} {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty(%n) : tensor<?x4x5xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p, %q : tensor<?x4xf64>, tensor<4x5xf64>) outs(%e : tensor<?x4x5xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %m = arith.mulf %a, %b fastmath<contract> : f64
    linalg.yield %m : f64
  } -> tensor<?x4x5xf64>
  %z = tensor.splat %zero[%n] : tensor<?x5xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%t : tensor<?x4x5xf64>) outs(%z : tensor<?x5xf64>) {
  ^bb0(%a: f64, %o: f64):
    %m = arith.addf %o, %a fastmath<reassoc,contract> : f64
    linalg.yield %m : f64
  } -> tensor<?x5xf64>
  %f = tensor.empty(%n) : tensor<?x5xf64>
  %g = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<?x5xf64>) outs(%f : tensor<?x5xf64>) {
  ^bb0(%a: f64, %o: f64):
    %m = arith.negf %a {fastmath = #arith.fastmath<contract>} : f64
    linalg.yield %m : f64
  } -> tensor<?x5xf64>
  %y = tensor.splat %zero : tensor<5xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%g : tensor<?x5xf64>) outs(%y : tensor<5xf64>) {
  ^bb0(%a: f64, %o: f64):
    %m = arith.addf %o, %a fastmath<reassoc,contract> : f64
    linalg.yield %m : f64
  } -> tensor<5xf64>
  func.return %r : tensor<5xf64>
}

// A sum whose order is fixed stays.
// CHECK-LABEL: func.func @in_order
// CHECK: linalg.generic {{.*}}ins(%p, %q : tensor<?x4xf64>, tensor<4x5xf64>)
// CHECK: linalg.generic {{.*}}ins(%t : tensor<?x4x5xf64>)
// CHECK-NOT: linalg.generic
func.func @in_order(%p: tensor<?x4xf64>, %q: tensor<4x5xf64>, %n: index) -> tensor<5xf64> attributes {dims = [["n", ""], ["", ""], []]} {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty(%n) : tensor<?x4x5xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%p, %q : tensor<?x4xf64>, tensor<4x5xf64>) outs(%e : tensor<?x4x5xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %m = arith.mulf %a, %b : f64
    linalg.yield %m : f64
  } -> tensor<?x4x5xf64>
  %y = tensor.splat %zero : tensor<5xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>], iterator_types = ["reduction", "reduction", "parallel"]} ins(%t : tensor<?x4x5xf64>) outs(%y : tensor<5xf64>) {
  ^bb0(%a: f64, %o: f64):
    %m = arith.addf %o, %a : f64
    linalg.yield %m : f64
  } -> tensor<5xf64>
  func.return %r : tensor<5xf64>
}

// So does one whose product goes over no more than its factor: nothing is saved.
// CHECK-LABEL: func.func @as_many_terms
// CHECK: linalg.generic {{.*}}ins(%p, %q : tensor<?x4xf64>, tensor<4xf64>)
// CHECK-NOT: linalg.generic
func.func @as_many_terms(%p: tensor<?x4xf64>, %q: tensor<4xf64>) -> tensor<4xf64> attributes {dims = [["n", ""], [""]]} {
  %zero = arith.constant 0.0 : f64
  %y = tensor.splat %zero : tensor<4xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%p, %q : tensor<?x4xf64>, tensor<4xf64>) outs(%y : tensor<4xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %m = arith.mulf %a, %b fastmath<contract> : f64
    %s = arith.addf %o, %m fastmath<reassoc,contract> : f64
    linalg.yield %s : f64
  } -> tensor<4xf64>
  func.return %r : tensor<4xf64>
}

// A sum that no input varies along d0 is computed once; the copy is left for `canonicalize`.
// CHECK-LABEL: func.func @repeated
// CHECK: %[[S:[a-z0-9_]+]] = tensor.splat %{{.*}} : tensor<4xf64>
// CHECK-NEXT: %[[F:[a-z0-9_]+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%q : tensor<4x5xf64>) outs(%[[S]] : tensor<4xf64>) {
// CHECK: %[[R:[a-z0-9_]+]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[F]] : tensor<4xf64>)
// CHECK-NOT: linalg.generic
// CHECK: func.return %[[R]]
func.func @repeated(%q: tensor<4x5xf64>, %n: index) -> tensor<?x4xf64> attributes {dims = [["", ""], []]} {
  %zero = arith.constant 0.0 : f64
  %z = tensor.splat %zero[%n] : tensor<?x4xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%q : tensor<4x5xf64>) outs(%z : tensor<?x4xf64>) {
  ^bb0(%a: f64, %o: f64):
    %m = arith.addf %o, %a fastmath<reassoc,contract> : f64
    linalg.yield %m : f64
  } -> tensor<?x4xf64>
  func.return %s : tensor<?x4xf64>
}

// RUN: transpose-small-operands

// Ten terms for each of ten results, for every row of %x: %q is read with its axes exchanged, so that the results stand
// side by side, and so do the terms.
// CHECK-LABEL: func.func @short_sums
// CHECK: %[[Q:[a-z0-9_]+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%q : tensor<10x10xf64>)
// CHECK: %[[T:[a-z0-9_]+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d2, d1)>]{{.*}}ins(%[[Q]], %x : tensor<10x10xf64>, tensor<?x10xf64>)
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]{{.*}}ins(%[[T]] : tensor<?x10x10xf64>)
func.func @short_sums(%x: tensor<?x10xf64>, %q: tensor<10x10xf64>, %n: index) -> tensor<?x10xf64> attributes {dims = [["n", ""], ["", ""], []]} {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty(%n) : tensor<?x10x10xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %x : tensor<10x10xf64>, tensor<?x10xf64>) outs(%e : tensor<?x10x10xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %m = arith.mulf %a, %b fastmath<contract> : f64
    linalg.yield %m : f64
  } -> tensor<?x10x10xf64>
  %z = tensor.splat %zero[%n] : tensor<?x10xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%t : tensor<?x10x10xf64>) outs(%z : tensor<?x10xf64>) {
  ^bb0(%a: f64, %o: f64):
    %m = arith.addf %o, %a fastmath<reassoc,contract> : f64
    linalg.yield %m : f64
  } -> tensor<?x10xf64>
  func.return %s : tensor<?x10xf64>
}

// Sums of 100 terms are vectors of terms, and their lanes are added at the end.
// CHECK-LABEL: func.func @long_sums
// CHECK-NOT: affine_map<(d0, d1) -> (d1, d0)>
// CHECK: linalg.generic {{.*}}ins(%q, %x : tensor<10x100xf64>, tensor<?x100xf64>)
func.func @long_sums(%x: tensor<?x100xf64>, %q: tensor<10x100xf64>, %n: index) -> tensor<?x10xf64> attributes {dims = [["n", ""], ["", ""], []]} {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty(%n) : tensor<?x10x100xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%q, %x : tensor<10x100xf64>, tensor<?x100xf64>) outs(%e : tensor<?x10x100xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %m = arith.mulf %a, %b fastmath<contract> : f64
    linalg.yield %m : f64
  } -> tensor<?x10x100xf64>
  %z = tensor.splat %zero[%n] : tensor<?x10xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%t : tensor<?x10x100xf64>) outs(%z : tensor<?x10xf64>) {
  ^bb0(%a: f64, %o: f64):
    %m = arith.addf %o, %a fastmath<reassoc,contract> : f64
    linalg.yield %m : f64
  } -> tensor<?x10xf64>
  func.return %s : tensor<?x10xf64>
}

// RUN: lower-to-nest..vectorize emit-loops

// Loss and gradient of a linear model: every row of %x is read for both while it is in cache, in one loop over the rows.
// CHECK-LABEL: func.func @logistic.kernel
// CHECK-NOT: memref.load %x
// CHECK: {{^    }}%{{.*}} = scf.for {{.*}} -> (f64) {
// CHECK: memref.load %x
// CHECK: func.call @aot.softplus.f64
// CHECK: func.call @aot.sigmoid.f64
// CHECK: memref.load %x
// CHECK: {{^    [}]$}}
// CHECK-NOT: memref.load %x
// CHECK: func.return
func.func @logistic(%x: tensor<?x?xf64>, %w: tensor<?xf64>) -> (f64, tensor<?xf64>) attributes {dims = [["n", "m"], ["m"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf64>
  %m = tensor.dim %x, %c1 : tensor<?x?xf64>
  %zero = arith.constant 0.0 : f64
  %s0 = tensor.splat %zero[%n] : tensor<?xf64>
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %w : tensor<?x?xf64>, tensor<?xf64>) outs(%s0 : tensor<?xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %p = arith.mulf %a, %b : f64
    %r = arith.addf %o, %p : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  %e0 = tensor.empty(%n) : tensor<?xf64>
  %l = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%z : tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = func.call @aot.softplus.f64(%a) : (f64) -> f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  %s1 = tensor.splat %zero : tensor<f64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%l : tensor<?xf64>) outs(%s1 : tensor<f64>) {
  ^bb0(%a: f64, %o: f64):
    %r = arith.addf %o, %a : f64
    linalg.yield %r : f64
  } -> tensor<f64>
  %e1 = tensor.empty(%n) : tensor<?xf64>
  %d = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%z : tensor<?xf64>) outs(%e1 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = func.call @aot.sigmoid.f64(%a) : (f64) -> f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  %s2 = tensor.splat %zero[%m] : tensor<?xf64>
  %g = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %d : tensor<?x?xf64>, tensor<?xf64>) outs(%s2 : tensor<?xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %p = arith.mulf %a, %b : f64
    %r = arith.addf %o, %p : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  %loss = tensor.extract %s[] : tensor<f64>
  func.return %loss, %g : f64, tensor<?xf64>
}

func.func private @aot.softplus.f64(f64) -> f64
func.func private @aot.sigmoid.f64(f64) -> f64

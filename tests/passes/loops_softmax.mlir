// RUN: lower-to-nest..vectorize emit-loops

// The rows of a softmax: one loop over them, a row at most in memory, the result written where the caller wants it.
// CHECK-LABEL: func.func @softmax.kernel
// CHECK-SAME: (%x: memref<?x?xf64>, %[[Y:[0-9]+]]: memref<?x?xf64>
// CHECK-NOT: memref.alloc({{.*}}) : memref<?x?xf64>
// CHECK: {{^    }}scf.for %[[I:[0-9]+]] =
// CHECK: scf.for {{.*}} -> (f64)
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: memref.store %{{.*}}, %[[Y]][%[[I]], %{{.*}}] : memref<?x?xf64>
// CHECK: {{^    [}]$}}
// CHECK-NOT: scf.for
// CHECK: func.return
func.func @softmax(%x: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["n", "m"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf64>
  %m = tensor.dim %x, %c1 : tensor<?x?xf64>
  %zero = arith.constant 0.0 : f64
  %low = arith.constant 0xFFF0000000000000 : f64
  %s0 = tensor.splat %low[%n] : tensor<?xf64>
  %h = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf64>) outs(%s0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = arith.maximumf %o, %a : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  %e0 = tensor.empty(%n, %m) : tensor<?x?xf64>
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %h : tensor<?x?xf64>, tensor<?xf64>) outs(%e0 : tensor<?x?xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %d = arith.subf %a, %b : f64
    %r = math.exp %d : f64
    linalg.yield %r : f64
  } -> tensor<?x?xf64>
  %s1 = tensor.splat %zero[%n] : tensor<?xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<?x?xf64>) outs(%s1 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = arith.addf %o, %a : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  %e1 = tensor.empty(%n, %m) : tensor<?x?xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%e, %s : tensor<?x?xf64>, tensor<?xf64>) outs(%e1 : tensor<?x?xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %r = arith.divf %a, %b : f64
    linalg.yield %r : f64
  } -> tensor<?x?xf64>
  func.return %y : tensor<?x?xf64>
}

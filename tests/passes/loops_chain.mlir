// RUN: lower-to-nest..vectorize emit-loops

// An elementwise chain and its sum: one loop, nothing in memory but the input and the outputs.
// CHECK-LABEL: func.func @chain.kernel
// CHECK-SAME: (%x: memref<?xf64>, %[[SUM:[0-9]+]]: memref<f64>, %[[Y:[0-9]+]]: memref<?xf64>
// CHECK-NOT: memref.alloc
// CHECK: %[[S:.*]] = scf.for %[[I:.*]] = {{.*}} iter_args(%[[ACC:.*]] = {{.*}}) -> (f64) {
// CHECK: memref.load %x[%[[I]]]
// CHECK: %[[A:.*]] = math.exp
// CHECK-NEXT: %[[B:.*]] = math.tanh %[[A]]
// CHECK-DAG: memref.store %[[B]], %[[Y]][%[[I]]]
// CHECK-DAG: %[[NEXT:.*]] = arith.addf %[[ACC]], %[[B]]
// CHECK: scf.yield %[[NEXT]]
// CHECK-NOT: scf.for
// CHECK: memref.store %[[S]], %[[SUM]][]
// CHECK: func.return
func.func @chain(%x: tensor<?xf64>) -> (f64, tensor<?xf64>) attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %zero = arith.constant 0.0 : f64
  %e0 = tensor.empty(%n) : tensor<?xf64>
  %p = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = math.exp %a : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  %e1 = tensor.empty(%n) : tensor<?xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p : tensor<?xf64>) outs(%e1 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = math.tanh %a : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  %start = tensor.splat %zero : tensor<f64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%y : tensor<?xf64>) outs(%start : tensor<f64>) {
  ^bb0(%a: f64, %o: f64):
    %r = arith.addf %o, %a : f64
    linalg.yield %r : f64
  } -> tensor<f64>
  %total = tensor.extract %s[] : tensor<f64>
  func.return %total, %y : f64, tensor<?xf64>
}

// Reductions over different extents have nothing to share.
// CHECK-LABEL: func.func @separate.kernel
// CHECK-COUNT-2: {{^    }}%{{.*}} = scf.for
// CHECK-NOT: scf.for
// CHECK: func.return
func.func @separate(%x: tensor<?xf64>, %y: tensor<?xf64>) -> (f64, f64) attributes {dims = [["n"], ["m"]]} {
  %zero = arith.constant 0.0 : f64
  %s0 = tensor.splat %zero : tensor<f64>
  %s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<?xf64>) outs(%s0 : tensor<f64>) {
  ^bb0(%a: f64, %o: f64):
    %r = arith.addf %o, %a : f64
    linalg.yield %r : f64
  } -> tensor<f64>
  %s1 = tensor.splat %zero : tensor<f64>
  %t = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%y : tensor<?xf64>) outs(%s1 : tensor<f64>) {
  ^bb0(%a: f64, %o: f64):
    %r = arith.addf %o, %a : f64
    linalg.yield %r : f64
  } -> tensor<f64>
  %u = tensor.extract %s[] : tensor<f64>
  %v = tensor.extract %t[] : tensor<f64>
  func.return %u, %v : f64, f64
}

// RUN: lower-to-nest..vectorize emit-loops
// A loop of known extent never comes to stand around one of unknown extent: the distance of each row to 3 centres,
// whose logarithms were taken in a loop over the centres, needs no memory for all rows.

// CHECK-LABEL: func.func @distance.kernel
// CHECK:         %[[LOGS:[0-9]+]] = memref.alloc() : memref<3x4xf64>
// CHECK:         math.log
// CHECK-NOT:     memref.alloc({{.+}})
// CHECK:         scf.for %[[I:[0-9]+]] = %{{.*}} to %n
// CHECK:           scf.for %[[K:[0-9]+]] =
// CHECK:             scf.for %[[J:[0-9]+]] =
// CHECK:               memref.load %x[%[[I]], %[[J]]]
// CHECK:               memref.load %[[LOGS]][%[[K]], %[[J]]]
// CHECK:             memref.store %{{.*}}, %out[%[[I]], %[[K]]]
func.func @distance(%x: tensor<?x4xf64>, %m: tensor<3x4xf64>) -> tensor<?x3xf64>
    attributes {dims = [["n", ""], ["", ""]], results = ["out"]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf64>
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<3x4xf64>
  %logs = linalg.generic {indexing_maps = [affine_map<(k, j) -> (k, j)>, affine_map<(k, j) -> (k, j)>],
                          iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<3x4xf64>) outs(%e : tensor<3x4xf64>) {
  ^bb0(%a: f64, %_: f64):
    %b = math.log %a : f64
    linalg.yield %b : f64
  } -> tensor<3x4xf64>
  %f = tensor.empty(%n) : tensor<?x3x4xf64>
  %d = linalg.generic {indexing_maps = [affine_map<(i, k, j) -> (i, j)>, affine_map<(i, k, j) -> (k, j)>,
                                        affine_map<(i, k, j) -> (i, k, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %logs : tensor<?x4xf64>, tensor<3x4xf64>) outs(%f : tensor<?x3x4xf64>) {
  ^bb0(%a: f64, %b: f64, %_: f64):
    %c = arith.subf %a, %b : f64
    linalg.yield %c : f64
  } -> tensor<?x3x4xf64>
  %start = tensor.splat %zero[%n] : tensor<?x3xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, k, j) -> (i, k, j)>, affine_map<(i, k, j) -> (i, k)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%d : tensor<?x3x4xf64>) outs(%start : tensor<?x3xf64>) {
  ^bb0(%a: f64, %s: f64):
    %c = arith.mulf %a, %a : f64
    %t = arith.addf %s, %c fastmath<reassoc> : f64
    linalg.yield %t : f64
  } -> tensor<?x3xf64>
  func.return %r : tensor<?x3xf64>
}

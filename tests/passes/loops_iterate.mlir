// RUN: lower-to-nest..vectorize emit-loops

// A loop of scalars in a body, with all that it reads among its operands: it is copied into the loop nest as it is.
// CHECK-LABEL: func.func @halved.kernel
// CHECK: scf.for
// CHECK: %[[X:.*]] = memref.load
// CHECK: %[[LOOP:[a-z0-9_]+]], %{{[a-z0-9_]+}} = scf.while (%[[V:[a-z0-9_]+]] = %[[X]], %[[B:[a-z0-9_]+]] = %{{[a-z0-9_]+}}) : (f64, f64) -> (f64, f64) {
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %[[V]], %[[B]]
// CHECK: scf.condition(%[[ABOVE]]) %[[V]], %[[B]]
// CHECK: } do {
// CHECK: arith.mulf
// CHECK: scf.yield
// CHECK: %[[TWICE:.*]] = arith.addf %[[LOOP]], %[[LOOP]]
// CHECK: memref.store %[[TWICE]]
func.func @halved(%x: tensor<?xf64>, %bound: f64) -> tensor<?xf64> attributes {dims = [["n"], []]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %e0 = tensor.empty(%n) : tensor<?xf64>
  %h = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r, %s = scf.while (%v = %a, %b = %bound) : (f64, f64) -> (f64, f64) {
      %above = arith.cmpf ogt, %v, %b : f64
      scf.condition(%above) %v, %b : f64, f64
    } do {
    ^bb1(%v: f64, %b: f64):
      %half = arith.constant 5.000000e-01 : f64
      %next = arith.mulf %v, %half : f64
      scf.yield %next, %b : f64, f64
    }
    linalg.yield %r : f64
  } -> tensor<?xf64>
  %e1 = tensor.empty(%n) : tensor<?xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%h : tensor<?xf64>) outs(%e1 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %d = arith.addf %a, %a : f64
    linalg.yield %d : f64
  } -> tensor<?xf64>
  func.return %t : tensor<?xf64>
}

// RUN: lower-to-nest..vectorize emit-loops

// A check becomes a branch: the rest of the function stands where the check has passed, else its number is returned.
// CHECK-LABEL: func.func @checked.kernel
// CHECK-SAME: %[[DETAIL:[0-9a-z]+]]: memref<4xi64>
// CHECK: %[[OK:.*]] = arith.cmpi eq
// CHECK: %[[STATUS:.*]] = scf.if %[[OK]] -> (i32) {
// CHECK: scf.for
// CHECK: %[[FINE:.*]] = arith.constant 0 : i32
// CHECK: scf.yield %[[FINE]]
// CHECK: } else {
// CHECK: %[[BAD:.*]] = arith.constant 3 : i32
// CHECK-COUNT-2: memref.store %{{.*}}, %[[DETAIL]][
// CHECK: scf.yield %[[BAD]]
// CHECK: func.return %[[STATUS]]
func.func @checked(%x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["n"], ["m"]]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %m = tensor.dim %y, %c0 : tensor<?xf64>
  %ok = arith.cmpi eq, %n, %m : index
  aot.check 3 "value" "extents {found} and {expected} differ", %ok, %n, %m
  %e0 = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %y : tensor<?xf64>, tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %s = arith.addf %a, %b : f64
    linalg.yield %s : f64
  } -> tensor<?xf64>
  func.return %r : tensor<?xf64>
}

// An input that is an output is copied, a value returned twice is computed once.
// CHECK-LABEL: func.func @copies.kernel
// CHECK-SAME: (%x: memref<?xf64>, %[[A:[0-9]+]]: memref<?xf64>, %[[B:[0-9]+]]: memref<?xf64>, %[[C:[0-9]+]]: memref<?xf64>
// CHECK-COUNT-1: math.exp
// CHECK-NOT: math.exp
// CHECK: func.return
func.func @copies(%x: tensor<?xf64>) -> (tensor<?xf64>, tensor<?xf64>, tensor<?xf64>) attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %e0 = tensor.empty(%n) : tensor<?xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %s = math.exp %a : f64
    linalg.yield %s : f64
  } -> tensor<?xf64>
  func.return %y, %x, %y : tensor<?xf64>, tensor<?xf64>, tensor<?xf64>
}

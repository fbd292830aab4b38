// RUN: lower-to-nest..vectorize emit-loops

// One sweep that counts: each element stores its coordinates at the count so far, which only grows behind true ones. The
// vectors are as long as the count that was taken before, and the outputs receive them directly.
// CHECK-LABEL: func.func @positions.kernel
// CHECK-SAME: (%m: memref<?x?xi1>, %[[ROWS:[0-9a-z]+]]: memref<?xi64>, %[[COLUMNS:[0-9a-z]+]]: memref<?xi64>
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: %[[COUNT:.*]] = arith.index_cast %[[SUM]]
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[P:.*]] = %{{.*}}) -> (index) {
// CHECK: scf.for %[[J:.*]] = {{.*}} iter_args(%[[Q:.*]] = %[[P]]) -> (index) {
// CHECK: %[[SET:.*]] = memref.load %m[%[[I]], %[[J]]]
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[Q]], %[[COUNT]]
// CHECK: scf.if %[[MORE]] {
// CHECK: %[[ROW:.*]] = arith.index_cast %[[I]]
// CHECK: memref.store %[[ROW]], %[[ROWS]][%[[Q]]]
// CHECK: %[[COLUMN:.*]] = arith.index_cast %[[J]]
// CHECK: memref.store %[[COLUMN]], %[[COLUMNS]][%[[Q]]]
// CHECK: %[[ONE:.*]] = arith.extui %[[SET]]
// CHECK: arith.addi %[[Q]],
// CHECK: novector
func.func @positions(%m: tensor<?x?xi1>) -> (tensor<?xi64>, tensor<?xi64>) attributes {dims = [["n", "k"]]} {
  %zero = arith.constant 0 : i64
  %start = tensor.splat %zero : tensor<i64>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%m : tensor<?x?xi1>) outs(%start : tensor<i64>) {
  ^bb0(%a: i1, %o: i64):
    %b = arith.extui %a : i1 to i64
    %s = arith.addi %o, %b : i64
    linalg.yield %s : i64
  } -> tensor<i64>
  %n = tensor.extract %sum[] : tensor<i64>
  %count = arith.index_cast %n : i64 to index
  %rows, %columns = aot.nonzero %m[%count] : tensor<?x?xi1> -> tensor<?xi64>, tensor<?xi64>
  func.return %rows, %columns : tensor<?xi64>, tensor<?xi64>
}

// A check of a computed extent makes no promise to the loops in front of it: each vector keeps its own length.
// CHECK-LABEL: func.func @same.kernel
// CHECK: %[[N:.*]] = arith.index_cast
// CHECK: %[[SQUARES:.*]] = memref.alloc(%[[N]])
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]] step
// CHECK: scf.if
func.func @same(%m: tensor<?xi1>, %y: tensor<?xi64>) -> tensor<?xi64> attributes {dims = [["n"], ["k"]]} {
  %c0 = arith.constant 0 : index
  %k = tensor.dim %y, %c0 : tensor<?xi64>
  %zero = arith.constant 0 : i64
  %start = tensor.splat %zero : tensor<i64>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%m : tensor<?xi1>) outs(%start : tensor<i64>) {
  ^bb0(%a: i1, %o: i64):
    %b = arith.extui %a : i1 to i64
    %s = arith.addi %o, %b : i64
    linalg.yield %s : i64
  } -> tensor<i64>
  %n = tensor.extract %sum[] : tensor<i64>
  %count = arith.index_cast %n : i64 to index
  %rows = aot.nonzero %m[%count] : tensor<?xi1> -> tensor<?xi64>
  %running = aot.cumulate "add" 0 %rows : tensor<?xi64>
  %ok = arith.cmpi eq, %count, %k : index
  aot.check 1 "value" "extents {found} and {expected} differ", %ok, %count, %k
  %e = tensor.empty(%k) : tensor<?xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%running, %y : tensor<?xi64>, tensor<?xi64>) outs(%e : tensor<?xi64>) {
  ^bb0(%a: i64, %b: i64, %o: i64):
    %s = arith.addi %a, %b : i64
    linalg.yield %s : i64
  } -> tensor<?xi64>
  func.return %r : tensor<?xi64>
}

// What an output is sized by is compared with the size that it was given, before anything is written.
// CHECK-LABEL: func.func @sized.kernel
// CHECK-SAME: %[[OUT:[0-9a-z]+]]: memref<?xi64>, %{{[0-9a-z]+}}: memref<?xi8>, %[[DETAIL:[0-9a-z]+]]: memref<4xi64>
// CHECK: %[[COUNT:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[GIVEN:.*]] = memref.dim %[[OUT]],
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[COUNT]], %[[GIVEN]]
// CHECK: %[[STATUS:.*]] = scf.if %[[SAME]] -> (i32) {
// CHECK: scf.for
// CHECK: } else {
// CHECK-COUNT-2: memref.store %{{.*}}, %[[DETAIL]][
// CHECK: arith.constant 7 : i32
// CHECK: func.return %[[STATUS]]
func.func @sized(%m: tensor<?xi1>) -> tensor<?xi64> attributes {dims = [["n"]], sizes_check = 7 : i64} {
  %zero = arith.constant 0 : i64
  %start = tensor.splat %zero : tensor<i64>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%m : tensor<?xi1>) outs(%start : tensor<i64>) {
  ^bb0(%a: i1, %o: i64):
    %b = arith.extui %a : i1 to i64
    %s = arith.addi %o, %b : i64
    linalg.yield %s : i64
  } -> tensor<i64>
  %n = tensor.extract %sum[] : tensor<i64>
  %count = arith.index_cast %n : i64 to index
  %positions = aot.nonzero %m[%count] : tensor<?xi1> -> tensor<?xi64>
  func.return %positions : tensor<?xi64>
}

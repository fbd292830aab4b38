// RUN: scatter-to-reduction

// Rows added to a fill at the positions of one vector: negative ones are counted from the end, for both sums at once.
// CHECK-LABEL: func.func @two_sums
// CHECK: %[[N:[a-z0-9_]+]] = arith.index_cast %k : index to i64
// CHECK: %[[P:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%i : tensor<?xi64>)
// CHECK: %[[IS:[a-z0-9_]+]] = arith.cmpi slt, %[[IN:[a-z0-9_]+]], %{{[a-z0-9_]+}} : i64
// CHECK-NEXT: %[[END:[a-z0-9_]+]] = arith.addi %[[IN]], %[[N]] : i64
// CHECK-NEXT: arith.select %[[IS]], %[[END]], %[[IN]] : i64
// CHECK: %[[S:[a-z0-9_]+]] = tensor.splat %zero[%k] : tensor<?x3xf64>
// CHECK-NEXT: %[[X:[a-z0-9_]+]] = aot.sum_at %x at %[[P]] from %[[S]] {fastmath = #arith.fastmath<reassoc,contract>}
// CHECK: %s = tensor.splat
// CHECK-NEXT: %[[T:[a-z0-9_]+]] = tensor.splat %zero[%k] : tensor<?x3xf64>
// CHECK-NEXT: %[[Y:[a-z0-9_]+]] = aot.sum_at %y at %[[P]] from %[[T]]
// CHECK-NEXT: func.return %[[X]], %[[Y]]
func.func @two_sums(%x: tensor<?x3xf64>, %y: tensor<?x3xf64>, %i: tensor<?xi64>, %k: index) -> (tensor<?x3xf64>, tensor<?x3xf64>) attributes {dims = [["n", ""], ["n", ""], ["n"], []]} {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty(%k) : tensor<?x3xf64>
  %z = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x3xf64>) {
  ^bb0(%o: f64):
    linalg.yield %zero : f64
  } -> tensor<?x3xf64>
  %a = aot.scatter "add" 0 %x into %z[%i] {axes = array<i64: 0>, fastmath = #arith.fastmath<reassoc,contract>} : tensor<?x3xf64> into tensor<?x3xf64> [tensor<?xi64>]
  %s = tensor.splat %zero[%k] : tensor<?x3xf64>
  %b = aot.scatter "add" 0 %y into %s[%i] {axes = array<i64: 0>, fastmath = #arith.fastmath<reassoc,contract>} : tensor<?x3xf64> into tensor<?x3xf64> [tensor<?xi64>]
  func.return %a, %b : tensor<?x3xf64>, tensor<?x3xf64>
}

// Those that begin with a tensor, replace, or go along another axis stay.
// CHECK-LABEL: func.func @no_sums
// CHECK: aot.scatter "add" 0 %y into %x[%i]
// CHECK: aot.scatter "set" 0 %y into %s[%i]
// CHECK: aot.scatter "add" 1 %y into %s[%i]
// CHECK-NOT: aot.sum_at
// CHECK: func.return
func.func @no_sums(%x: tensor<4x4xf64>, %y: tensor<4x4xf64>, %i: tensor<4xi64>) -> (tensor<4x4xf64>, tensor<4x4xf64>, tensor<4x4xf64>) attributes {dims = [["", ""], ["", ""], [""]]} {
  %zero = arith.constant 0.0 : f64
  %s = tensor.splat %zero : tensor<4x4xf64>
  %a = aot.scatter "add" 0 %y into %x[%i] {axes = array<i64: 0>, fastmath = #arith.fastmath<reassoc,contract>} : tensor<4x4xf64> into tensor<4x4xf64> [tensor<4xi64>]
  %b = aot.scatter "set" 0 %y into %s[%i] {axes = array<i64: 0>} : tensor<4x4xf64> into tensor<4x4xf64> [tensor<4xi64>]
  %c = aot.scatter "add" 1 %y into %s[%i] {axes = array<i64: 1>, fastmath = #arith.fastmath<reassoc,contract>} : tensor<4x4xf64> into tensor<4x4xf64> [tensor<4xi64>]
  func.return %a, %b, %c : tensor<4x4xf64>, tensor<4x4xf64>, tensor<4x4xf64>
}

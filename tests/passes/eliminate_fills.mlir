// RUN: eliminate-fills

// Both columns are overwritten: nothing is left of the zeros.
// CHECK-LABEL: func.func @all_columns
// CHECK-NOT: linalg.generic
// CHECK: %[[E:[0-9]+]] = tensor.empty(%{{[0-9a-z]+}}) : tensor<?x2xf64>
// CHECK-NEXT: %[[A:[0-9a-z]+]] = tensor.insert_slice %a into %[[E]][0, 1]
// CHECK-NEXT: %[[B:[0-9a-z]+]] = tensor.insert_slice %b into %[[A]][0, 0]
// CHECK-NEXT: func.return %[[B]]
func.func @all_columns(%a: tensor<?x1xf64>, %b: tensor<?x1xf64>) -> tensor<?x2xf64> attributes {dims = [["n", ""], ["n", ""]]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %a, %c0 : tensor<?x1xf64>
  %e = tensor.empty(%n) : tensor<?x2xf64>
  %zeros = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x2xf64>) {
  ^bb0(%o: f64):
    linalg.yield %zero : f64
  } -> tensor<?x2xf64>
  %1 = tensor.insert_slice %a into %zeros[0, 1] [%n, 1] [1, 1] : tensor<?x1xf64> into tensor<?x2xf64>
  %2 = tensor.insert_slice %b into %1[0, 0] [%n, 1] [1, 1] : tensor<?x1xf64> into tensor<?x2xf64>
  func.return %2 : tensor<?x2xf64>
}

// The first row keeps the number of the fill, of its own extents.
// CHECK-LABEL: func.func @one_row_left
// CHECK: tensor.empty(%{{[0-9a-z]+}}) : tensor<2x?xf64>
// CHECK: linalg.generic {{.*}} outs(%{{[0-9]+}} : tensor<1x?xf64>)
// CHECK: linalg.yield %one : f64
// CHECK: tensor.insert_slice %{{[0-9]+}} into %{{[0-9]+}}[0, 0]
// CHECK: tensor.insert_slice %a into %{{[0-9]+}}[1, 0]
func.func @one_row_left(%a: tensor<1x?xf64>) -> tensor<2x?xf64> attributes {dims = [["", "n"]]} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %n = tensor.dim %a, %c1 : tensor<1x?xf64>
  %e = tensor.empty(%n) : tensor<2x?xf64>
  %ones = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<2x?xf64>) {
  ^bb0(%o: f64):
    linalg.yield %one : f64
  } -> tensor<2x?xf64>
  %1 = tensor.insert_slice %a into %ones[1, 0] [1, %n] [1, 1] : tensor<1x?xf64> into tensor<2x?xf64>
  func.return %1 : tensor<2x?xf64>
}

// One column of eight: one fill costs less than seven more stores.
// CHECK-LABEL: func.func @few_columns
// CHECK: linalg.generic {{.*}} outs(%e : tensor<?x8xf64>)
// CHECK: tensor.insert_slice %a into %zeros[0, 3]
func.func @few_columns(%a: tensor<?x1xf64>) -> tensor<?x8xf64> attributes {dims = [["n", ""]]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %a, %c0 : tensor<?x1xf64>
  %e = tensor.empty(%n) : tensor<?x8xf64>
  %zeros = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x8xf64>) {
  ^bb0(%o: f64):
    linalg.yield %zero : f64
  } -> tensor<?x8xf64>
  %1 = tensor.insert_slice %a into %zeros[0, 3] [%n, 1] [1, 1] : tensor<?x1xf64> into tensor<?x8xf64>
  func.return %1 : tensor<?x8xf64>
}

// The zeros have another reader, so they stay, and the columns get memory of their own.
// CHECK-LABEL: func.func @zeros_read_again
// CHECK: linalg.generic {{.*}} outs(%e : tensor<?x2xf64>)
// CHECK: tensor.empty(%{{[0-9a-z]+}}) : tensor<?x2xf64>
// CHECK-NEXT: tensor.insert_slice %a into %{{[0-9]+}}[0, 1]
func.func @zeros_read_again(%a: tensor<?x1xf64>, %b: tensor<?x1xf64>) -> (tensor<?x2xf64>, tensor<?x2xf64>) attributes {dims = [["n", ""], ["n", ""]]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %a, %c0 : tensor<?x1xf64>
  %e = tensor.empty(%n) : tensor<?x2xf64>
  %zeros = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x2xf64>) {
  ^bb0(%o: f64):
    linalg.yield %zero : f64
  } -> tensor<?x2xf64>
  %1 = tensor.insert_slice %a into %zeros[0, 1] [%n, 1] [1, 1] : tensor<?x1xf64> into tensor<?x2xf64>
  %2 = tensor.insert_slice %b into %1[0, 0] [%n, 1] [1, 1] : tensor<?x1xf64> into tensor<?x2xf64>
  func.return %2, %zeros : tensor<?x2xf64>, tensor<?x2xf64>
}

// A position that is only known in a call, and slices of two columns, are left to other passes.
// CHECK-LABEL: func.func @other_windows
// CHECK: linalg.generic
// CHECK: tensor.insert_slice %a into %zeros[0, %i]
// CHECK: tensor.insert_slice %b into %{{[0-9]+}}[0, 1]
func.func @other_windows(%a: tensor<?x1xf64>, %b: tensor<?x2xf64>, %i: index) -> tensor<?x3xf64> attributes {dims = [["n", ""], ["n", ""], []]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %a, %c0 : tensor<?x1xf64>
  %e = tensor.empty(%n) : tensor<?x3xf64>
  %zeros = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x3xf64>) {
  ^bb0(%o: f64):
    linalg.yield %zero : f64
  } -> tensor<?x3xf64>
  %1 = tensor.insert_slice %a into %zeros[0, %i] [%n, 1] [1, 1] : tensor<?x1xf64> into tensor<?x3xf64>
  %2 = tensor.insert_slice %b into %1[0, 1] [%n, 2] [1, 1] : tensor<?x2xf64> into tensor<?x3xf64>
  func.return %2 : tensor<?x3xf64>
}

// RUN: inline-slices

// Zeros with a window: each element is one of the window, or zero. A window of all columns has no condition on them.
// CHECK-LABEL: func.func @window_of_zeros
// CHECK: %[[R:[0-9]+]] = tensor.dim %v, %
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(
// CHECK: %[[I:[0-9]+]] = linalg.index 0 : index
// CHECK-NEXT: %[[K:[0-9]+]] = arith.subi %[[I]], %s : index
// CHECK-NEXT: %[[C:[0-9]+]] = arith.cmpi ult, %[[K]], %[[R]] : index
// CHECK-NEXT: %[[J:[0-9]+]] = linalg.index 1 : index
// CHECK-NEXT: %[[V:[0-9]+]] = aot.extract_if %[[C]], %v[%[[K]], %[[J]]], %zero : tensor<?x?xf64>
// CHECK-NEXT: linalg.yield %[[V]] : f64
// CHECK-NOT: tensor.insert_slice
// CHECK: func.return
func.func @window_of_zeros(%x: tensor<?x?xf64>, %v: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["n", "m"], ["r", "m"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?x?xf64>
  %m = tensor.dim %x, %c1 : tensor<?x?xf64>
  %r = tensor.dim %v, %c0 : tensor<?x?xf64>
  %s = arith.minsi %c1, %n : index
  %e0 = tensor.empty(%n, %m) : tensor<?x?xf64>
  %zeros = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e0 : tensor<?x?xf64>) {
  ^bb0(%o: f64):
    linalg.yield %zero : f64
  } -> tensor<?x?xf64>
  %w = tensor.insert_slice %v into %zeros[%s, 0] [%r, %m] [1, 1] : tensor<?x?xf64> into tensor<?x?xf64>
  func.return %w : tensor<?x?xf64>
}

// What is an argument has to be copied: the copy takes the window along, here of one number.
// CHECK-LABEL: func.func @number_into_argument
// CHECK: linalg.generic {{.*}} ins(%x : tensor<?xf64>)
// CHECK: arith.cmpi ult
// CHECK-NEXT: arith.select %{{[0-9]+}}, %zero, %{{[0-9]+}} : f64
// CHECK-NOT: tensor.insert_slice
// CHECK: func.return
func.func @number_into_argument(%x: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %r = arith.subi %n, %c1 : index
  %e0 = tensor.empty(%r) : tensor<?xf64>
  %zeros = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e0 : tensor<?xf64>) {
  ^bb0(%o: f64):
    linalg.yield %zero : f64
  } -> tensor<?xf64>
  %w = tensor.insert_slice %zeros into %x[%c1] [%r] [1] : tensor<?xf64> into tensor<?xf64>
  func.return %w : tensor<?xf64>
}

// Few elements of what is needed no longer are written where they belong.
// CHECK-LABEL: func.func @few_in_place
// CHECK: tensor.insert_slice
// CHECK-NEXT: func.return
func.func @few_in_place(%x: tensor<?xf64>, %v: tensor<2xf64>) -> tensor<?xf64> attributes {dims = [["n"], [""]]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %e0 = tensor.empty(%n) : tensor<?xf64>
  %e = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %b = math.exp %a : f64
    linalg.yield %b : f64
  } -> tensor<?xf64>
  %w = tensor.insert_slice %v into %e[1] [2] [1] : tensor<2xf64> into tensor<?xf64>
  func.return %w : tensor<?xf64>
}

// Every other element: no window of neighbours.
// CHECK-LABEL: func.func @strided
// CHECK: tensor.insert_slice
func.func @strided(%x: tensor<8xf64>, %v: tensor<4xf64>) -> tensor<8xf64> attributes {dims = [[""], [""]]} {
  %w = tensor.insert_slice %v into %x[0] [4] [2] : tensor<4xf64> into tensor<8xf64>
  func.return %w : tensor<8xf64>
}

// RUN: fold-constant-copies

// A transposed copy that a caller reads whole is stored in that order; its constant is read by nothing else, and leaves.
// CHECK-LABEL: func.func @transposed
// CHECK-NEXT: %[[T:[a-z0-9_]+]] = arith.constant dense<{{\[\[1.000000e\+00, 4.000000e\+00\], \[2.000000e\+00, 5.000000e\+00\], \[3.000000e\+00, 6.000000e\+00\]\]}}> : tensor<3x2xf64>
// CHECK-NOT: linalg.generic
// CHECK: func.return %[[T]]
func.func @transposed() -> tensor<3x2xf64> attributes {dims = []} {
  %w = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>
  %e = tensor.empty() : tensor<3x2xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<2x3xf64>) outs(%e : tensor<3x2xf64>) {
  ^bb0(%a: f64, %o: f64):
    linalg.yield %a : f64
  } -> tensor<3x2xf64>
  func.return %t : tensor<3x2xf64>
}

// Two directions of a constant, each transposed: together they are as large as it.
// CHECK-LABEL: func.func @directions
// CHECK-DAG: arith.constant dense<{{\[\[1, 3\], \[2, 4\]\]}}> : tensor<2x2xi32>
// CHECK-DAG: arith.constant dense<{{\[\[5, 7\], \[6, 8\]\]}}> : tensor<2x2xi32>
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @directions() -> (tensor<2x2xi32>, tensor<2x2xi32>) attributes {dims = []} {
  %w = arith.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>
  %e = tensor.empty() : tensor<2x2xi32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<2x2x2xi32>) outs(%e : tensor<2x2xi32>) {
  ^bb0(%a: i32, %o: i32):
    linalg.yield %a : i32
  } -> tensor<2x2xi32>
  %u = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (1, d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<2x2x2xi32>) outs(%e : tensor<2x2xi32>) {
  ^bb0(%a: i32, %o: i32):
    linalg.yield %a : i32
  } -> tensor<2x2xi32>
  func.return %t, %u : tensor<2x2xi32>, tensor<2x2xi32>
}

// A new axis before the others, and a dropped one: the elements stay in order.
// CHECK-LABEL: func.func @in_order
// CHECK: %[[W:[a-z0-9_]+]] = arith.constant dense<{{.*}}> : tensor<2x1x3xf32>
// CHECK: %[[R:[a-z0-9_]+]] = aot.reshape %[[W]][] : tensor<2x1x3xf32> -> tensor<1x2x3xf32>
// CHECK-NOT: linalg.generic
// CHECK: func.return %[[R]]
func.func @in_order() -> tensor<1x2x3xf32> attributes {dims = []} {
  %w = arith.constant dense<[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]> : tensor<2x1x3xf32>
  %e = tensor.empty() : tensor<1x2x3xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<2x1x3xf32>) outs(%e : tensor<1x2x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x2x3xf32>
  func.return %t : tensor<1x2x3xf32>
}

// One element for all, repeated along a new axis: three times as large, but small. A splat stays one.
// CHECK-LABEL: func.func @one_element
// CHECK: arith.constant dense<{{\[\[true, true\], \[true, true\], \[true, true\]\]|true}}> : tensor<3x2xi1>
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @one_element() -> tensor<3x2xi1> attributes {dims = []} {
  %w = arith.constant dense<true> : tensor<2xi1>
  %e = tensor.empty() : tensor<3x2xi1>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<2xi1>) outs(%e : tensor<3x2xi1>) {
  ^bb0(%a: i1, %o: i1):
    linalg.yield %a : i1
  } -> tensor<3x2xi1>
  func.return %t : tensor<3x2xi1>
}

// A constant of 2 MiB that something else reads in its own order would be stored twice.
// CHECK-LABEL: func.func @too_large
// CHECK: linalg.generic
// CHECK: func.return
func.func @too_large() -> (tensor<512x512xf64>, tensor<512x512xf64>) attributes {dims = []} {
  %w = arith.constant dense<1.5> : tensor<512x512xf64>
  %e = tensor.empty() : tensor<512x512xf64>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<512x512xf64>) outs(%e : tensor<512x512xf64>) {
  ^bb0(%a: f64, %o: f64):
    linalg.yield %a : f64
  } -> tensor<512x512xf64>
  func.return %t, %w : tensor<512x512xf64>, tensor<512x512xf64>
}

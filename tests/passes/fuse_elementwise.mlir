// RUN: fuse-elementwise

// What is read element by element joins its reader; a value that a sum needs, too, is a second result.
// CHECK-LABEL: func.func @f(
// CHECK: %[[A:[0-9]+]], %[[B:[0-9]+]] = linalg.generic {{.*}} ins(%x, %y : tensor<?xf64>, tensor<?xf64>) outs(%{{[0-9]+}}, %{{[0-9]+}} : tensor<?xf64>, tensor<?xf64>) {
// CHECK-NEXT: ^bb0(%[[X:[0-9]+]]: f64, %[[Y:[0-9]+]]: f64, %{{[0-9]+}}: f64, %{{[0-9]+}}: f64):
// CHECK-NEXT: %[[E:[0-9]+]] = math.exp %[[X]] : f64
// CHECK-NEXT: %[[P:[0-9]+]] = arith.mulf %[[E]], %[[Y]] : f64
// CHECK-NEXT: %[[S:[0-9]+]] = arith.addf %[[P]], %[[E]] : f64
// CHECK-NEXT: linalg.yield %[[P]], %[[S]] : f64, f64
// What needs the sum comes behind it, and stays an operation of its own.
// CHECK: iterator_types = ["reduction"]} ins(%[[A]] :
// CHECK: %[[LAST:[0-9]+]] = linalg.generic {{.*}} ins(%x : tensor<?xf64>)
// CHECK: func.return %[[B]], %[[LAST]]
func.func @f(%x: tensor<?xf64>, %y: tensor<?xf64>) -> (tensor<?xf64>, tensor<?xf64>) attributes {dims = [["n"], ["n"]]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %x, %0 : tensor<?xf64>
  %2 = tensor.empty(%1) : tensor<?xf64>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%2 : tensor<?xf64>) {
  ^bb0(%4: f64, %5: f64):
    %6 = math.exp %4 : f64
    linalg.yield %6 : f64
  } -> tensor<?xf64>
  %7 = tensor.empty(%1) : tensor<?xf64>
  %8 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%3, %y : tensor<?xf64>, tensor<?xf64>) outs(%7 : tensor<?xf64>) {
  ^bb0(%9: f64, %10: f64, %11: f64):
    %12 = arith.mulf %9, %10 : f64
    linalg.yield %12 : f64
  } -> tensor<?xf64>
  %13 = tensor.empty(%1) : tensor<?xf64>
  %14 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%8, %3 : tensor<?xf64>, tensor<?xf64>) outs(%13 : tensor<?xf64>) {
  ^bb0(%15: f64, %16: f64, %17: f64):
    %18 = arith.addf %15, %16 : f64
    linalg.yield %18 : f64
  } -> tensor<?xf64>
  %19 = arith.constant 0.0 : f64
  %20 = tensor.splat %19 : tensor<f64>
  %21 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%8 : tensor<?xf64>) outs(%20 : tensor<f64>) {
  ^bb0(%22: f64, %23: f64):
    %24 = arith.addf %23, %22 : f64
    linalg.yield %24 : f64
  } -> tensor<f64>
  %25 = tensor.extract %21[] : tensor<f64>
  %26 = tensor.empty(%1) : tensor<?xf64>
  %27 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%26 : tensor<?xf64>) {
  ^bb0(%28: f64, %29: f64):
    %30 = arith.mulf %25, %28 : f64
    linalg.yield %30 : f64
  } -> tensor<?xf64>
  func.return %14, %27 : tensor<?xf64>, tensor<?xf64>
}

// A value that is read transposed is complete first, and so is one that a gather reads.
// CHECK-LABEL: func.func @apart(
// CHECK-COUNT-3: linalg.generic
// CHECK: func.return
func.func @apart(%x: tensor<?x?xf64>, %k: index) -> tensor<?x?xf64> attributes {dims = [["n", "n"], []]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %x, %0 : tensor<?x?xf64>
  %2 = tensor.empty(%1, %1) : tensor<?x?xf64>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x?xf64>) outs(%2 : tensor<?x?xf64>) {
  ^bb0(%4: f64, %5: f64):
    %6 = arith.mulf %4, %4 : f64
    linalg.yield %6 : f64
  } -> tensor<?x?xf64>
  %7 = tensor.empty(%1, %1) : tensor<?x?xf64>
  %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%3, %3 : tensor<?x?xf64>, tensor<?x?xf64>) outs(%7 : tensor<?x?xf64>) {
  ^bb0(%9: f64, %10: f64, %11: f64):
    %12 = arith.addf %9, %10 : f64
    linalg.yield %12 : f64
  } -> tensor<?x?xf64>
  %13 = tensor.empty(%1, %1) : tensor<?x?xf64>
  %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<?x?xf64>) outs(%13 : tensor<?x?xf64>) {
  ^bb0(%15: f64, %16: f64):
    %17 = tensor.extract %8[%k, %k] : tensor<?x?xf64>
    %18 = arith.addf %15, %17 : f64
    linalg.yield %18 : f64
  } -> tensor<?x?xf64>
  func.return %14 : tensor<?x?xf64>
}

// RUN: value-numbering

// Two maxima of one tensor, with extents and starts that were made twice as well.
// CHECK-LABEL: func.func @two_maxima
// CHECK: linalg.generic {{.*}} ins(%x : tensor<?xf64>) outs(%s0 : tensor<f64>)
// CHECK: arith.maximumf
// CHECK-NOT: arith.maximumf
// CHECK: func.return %a, %a : tensor<f64>, tensor<f64>
func.func @two_maxima(%x: tensor<?xf64>) -> (tensor<f64>, tensor<f64>) attributes {dims = [["n"]]} {
  %low = arith.constant -1.0 : f64
  %s0 = tensor.splat %low : tensor<f64>
  %a = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<?xf64>) outs(%s0 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %m = arith.maximumf %out, %in : f64
    linalg.yield %m : f64
  } -> tensor<f64>
  %again = arith.constant -1.0 : f64
  %s1 = tensor.splat %again : tensor<f64>
  %b = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<?xf64>) outs(%s1 : tensor<f64>) {
  ^bb0(%in: f64, %out: f64):
    %m = arith.maximumf %out, %in : f64
    linalg.yield %m : f64
  } -> tensor<f64>
  func.return %a, %b : tensor<f64>, tensor<f64>
}

// Another start, another map, another body, other flags: none is another's.
// CHECK-LABEL: func.func @all_different
// CHECK-COUNT-5: linalg.generic
// CHECK: func.return
func.func @all_different(%x: tensor<4x4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) attributes {dims = [["", ""]]} {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %s0 = tensor.splat %zero : tensor<4xf64>
  %s1 = tensor.splat %one : tensor<4xf64>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf64>) outs(%s0 : tensor<4xf64>) {
  ^bb0(%in: f64, %out: f64):
    %m = arith.addf %out, %in : f64
    linalg.yield %m : f64
  } -> tensor<4xf64>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf64>) outs(%s1 : tensor<4xf64>) {
  ^bb0(%in: f64, %out: f64):
    %m = arith.addf %out, %in : f64
    linalg.yield %m : f64
  } -> tensor<4xf64>
  %c = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf64>) outs(%s0 : tensor<4xf64>) {
  ^bb0(%in: f64, %out: f64):
    %m = arith.addf %out, %in : f64
    linalg.yield %m : f64
  } -> tensor<4xf64>
  %d = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf64>) outs(%s0 : tensor<4xf64>) {
  ^bb0(%in: f64, %out: f64):
    %m = arith.addf %out, %out : f64
    linalg.yield %m : f64
  } -> tensor<4xf64>
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x4xf64>) outs(%s0 : tensor<4xf64>) {
  ^bb0(%in: f64, %out: f64):
    %m = arith.addf %out, %in fastmath<reassoc> : f64
    linalg.yield %m : f64
  } -> tensor<4xf64>
  func.return %a, %b, %c, %d, %e : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}

// Two fills stay two: tensors are built in each.
// CHECK-LABEL: func.func @fills
// CHECK-COUNT-2: linalg.generic
// CHECK: func.return
func.func @fills(%v: tensor<2xf64>) -> (tensor<4xf64>, tensor<4xf64>) attributes {dims = [[""]]} {
  %zero = arith.constant 0.0 : f64
  %e0 = tensor.empty() : tensor<4xf64>
  %a = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e0 : tensor<4xf64>) {
  ^bb0(%out: f64):
    linalg.yield %zero : f64
  } -> tensor<4xf64>
  %e1 = tensor.empty() : tensor<4xf64>
  %b = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e1 : tensor<4xf64>) {
  ^bb0(%out: f64):
    linalg.yield %zero : f64
  } -> tensor<4xf64>
  %x = tensor.insert_slice %v into %a[0] [2] [1] : tensor<2xf64> into tensor<4xf64>
  %y = tensor.insert_slice %v into %b[2] [2] [1] : tensor<2xf64> into tensor<4xf64>
  func.return %x, %y : tensor<4xf64>, tensor<4xf64>
}

// What has been checked is not checked again; another condition is.
// CHECK-LABEL: func.func @checked_twice
// CHECK: aot.check 1 "value" "first"
// CHECK-NOT: aot.check 2
// CHECK: aot.check 3 "value" "third"
func.func @checked_twice(%x: tensor<?xf64>) -> index attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %a = arith.cmpi slt, %n, %c3 : index
  aot.check 1 "value" "first", %a, %n, %c3
  %d0 = arith.constant 0 : index
  %d3 = arith.constant 3 : index
  %m = tensor.dim %x, %d0 : tensor<?xf64>
  %b = arith.cmpi slt, %m, %d3 : index
  aot.check 2 "value" "second", %b, %m, %d3
  %c = arith.cmpi sgt, %m, %d3 : index
  aot.check 3 "value" "third", %c, %m, %d3
  func.return %n : index
}

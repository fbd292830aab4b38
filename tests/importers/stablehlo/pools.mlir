module @jit_pools attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x6x7xf64>) -> (tensor<2x3x3x4xf64> {jax.result_info = "result[0]"}, tensor<2x3x3x7xf64> {jax.result_info = "result[1]"}, tensor<2x2x6x4xf64> {jax.result_info = "result[2]"}, tensor<2x1x4x4xf64> {jax.result_info = "result[3]"}, tensor<2x1x9x4xf64> {jax.result_info = "result[4]"}, tensor<2x2x6x4xi32> {jax.result_info = "result[5]"}) {
    %c = stablehlo.constant dense<-2147483648> : tensor<i32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = call @round(%arg0) : (tensor<2x3x6x7xf64>) -> tensor<2x3x6x7xf64>
    %1 = stablehlo.convert %0 : (tensor<2x3x6x7xf64>) -> tensor<2x3x6x7xi32>
    %2 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<f64>
    %3 = "stablehlo.reduce_window"(%arg0, %2) <{padding = dense<[[0, 0], [0, 0], [0, 1], [1, 1]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %12 = stablehlo.maximum %arg1, %arg2 : tensor<f64>
      stablehlo.return %12 : tensor<f64>
    }) : (tensor<2x3x6x7xf64>, tensor<f64>) -> tensor<2x3x3x4xf64>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<f64>
    %5 = "stablehlo.reduce_window"(%arg0, %4) <{padding = dense<[[0, 0], [0, 0], [1, 2], [2, 2]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 5, 5>, window_strides = array<i64: 1, 1, 2, 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %12 = stablehlo.minimum %arg1, %arg2 : tensor<f64>
      stablehlo.return %12 : tensor<f64>
    }) : (tensor<2x3x6x7xf64>, tensor<f64>) -> tensor<2x3x3x7xf64>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<f64>
    %7 = "stablehlo.reduce_window"(%arg0, %6) <{padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 2, 1, 1>, window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 1, 2>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %12 = stablehlo.add %arg1, %arg2 : tensor<f64>
      stablehlo.return %12 : tensor<f64>
    }) : (tensor<2x3x6x7xf64>, tensor<f64>) -> tensor<2x2x6x4xf64>
    %8 = "stablehlo.reduce_window"(%arg0, %cst) <{window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 1, 2>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %12 = stablehlo.multiply %arg1, %arg2 : tensor<f64>
      stablehlo.return %12 : tensor<f64>
    }) : (tensor<2x3x6x7xf64>, tensor<f64>) -> tensor<2x1x4x4xf64>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<f64>
    %10 = "stablehlo.reduce_window"(%arg0, %9) <{base_dilations = array<i64: 1, 1, 2, 1>, window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 1, 2>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %12 = stablehlo.add %arg1, %arg2 : tensor<f64>
      stablehlo.return %12 : tensor<f64>
    }) : (tensor<2x3x6x7xf64>, tensor<f64>) -> tensor<2x1x9x4xf64>
    %11 = "stablehlo.reduce_window"(%1, %c) <{padding = dense<[[0, 0], [0, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 1, 2>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %12 = stablehlo.maximum %arg1, %arg2 : tensor<i32>
      stablehlo.return %12 : tensor<i32>
    }) : (tensor<2x3x6x7xi32>, tensor<i32>) -> tensor<2x2x6x4xi32>
    return %3, %5, %7, %8, %10, %11 : tensor<2x3x3x4xf64>, tensor<2x3x3x7xf64>, tensor<2x2x6x4xf64>, tensor<2x1x4x4xf64>, tensor<2x1x9x4xf64>, tensor<2x2x6x4xi32>
  }
  func.func private @round(%arg0: tensor<2x3x6x7xf64>) -> tensor<2x3x6x7xf64> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<2x3x6x7xf64>
    return %0 : tensor<2x3x6x7xf64>
  }
}

module @jit_pooled attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x7x6xf64>) -> (tensor<f64> {jax.result_info = "result[0]"}, tensor<2x7x6xf64> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[0, 0], [1, 1], [0, 1]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 3, 2>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %11 = stablehlo.maximum %arg1, %arg2 : tensor<f64>
      stablehlo.return %11 : tensor<f64>
    }) : (tensor<2x7x6xf64>, tensor<f64>) -> tensor<2x4x6xf64>
    %2 = stablehlo.multiply %1, %1 : tensor<2x4x6xf64>
    %3 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f64>) -> tensor<2x4x6xf64>
    %4 = stablehlo.multiply %3, %1 : tensor<2x4x6xf64>
    %5 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x4x6xf64>, tensor<f64>) -> tensor<f64>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x6xf64>
    %7 = stablehlo.multiply %6, %4 : tensor<2x4x6xf64>
    %8 = stablehlo.pad %arg0, %cst_2, low = [0, 1, 0], high = [0, 1, 1], interior = [0, 0, 0] : (tensor<2x7x6xf64>, tensor<f64>) -> tensor<2x9x7xf64>
    %9 = "stablehlo.select_and_scatter"(%8, %7, %cst_0) <{window_dimensions = array<i64: 1, 3, 2>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %11 = stablehlo.compare GE, %arg1, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    }, {
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %11 = stablehlo.add %arg1, %arg2 : tensor<f64>
      stablehlo.return %11 : tensor<f64>
    }) : (tensor<2x9x7xf64>, tensor<2x4x6xf64>, tensor<f64>) -> tensor<2x9x7xf64>
    %10 = stablehlo.slice %9 [0:2, 1:8, 0:6] : (tensor<2x9x7xf64>) -> tensor<2x7x6xf64>
    return %5, %10 : tensor<f64>, tensor<2x7x6xf64>
  }
}

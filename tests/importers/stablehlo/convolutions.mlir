module @jit_convolutions attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x7x8xf64>, %arg1: tensor<4x6x3x2xf64>) -> (tensor<2x4x3x16xf64> {jax.result_info = "result[0]"}, tensor<2x4x5x5xf64> {jax.result_info = "result[1]"}, tensor<1x4x5x7xf64> {jax.result_info = "result[2]"}, tensor<2x4x7x8xf64> {jax.result_info = "result[3]"}, tensor<2x4x4xf64> {jax.result_info = "result[4]"}, tensor<2x5x7x4xf64> {jax.result_info = "result[5]"}, tensor<2x4xf64> {jax.result_info = "result[6]"}, tensor<2x6x7x8xf64> {jax.result_info = "result[7][0]"}, tensor<4x3x3x2xf64> {jax.result_info = "result[7][1]"}, tensor<4x36xf64> {jax.result_info = "result[8]"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x7x8xf64>, tensor<4x6x3x2xf64>) -> tensor<2x4x3x16xf64>
    %1 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[-1, 1], [0, -2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x7x8xf64>, tensor<4x6x3x2xf64>) -> tensor<2x4x5x5xf64>
    %2 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x6x7x8xf64>, tensor<4x6x3x2xf64>) -> tensor<1x4x5x7xf64>
    %3 = stablehlo.slice %arg1 [0:4, 0:3, 0:3, 0:2] : (tensor<4x6x3x2xf64>) -> tensor<4x3x3x2xf64>
    %4 = stablehlo.convolution(%arg0, %3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x7x8xf64>, tensor<4x3x3x2xf64>) -> tensor<2x4x7x8xf64>
    %5 = stablehlo.slice %arg0 [0:2, 0:6, 0:7, 0:1] : (tensor<2x6x7x8xf64>) -> tensor<2x6x7x1xf64>
    %6 = stablehlo.reshape %5 : (tensor<2x6x7x1xf64>) -> tensor<2x6x7xf64>
    %7 = stablehlo.slice %arg1 [0:4, 0:6, 0:3, 0:1] : (tensor<4x6x3x2xf64>) -> tensor<4x6x3x1xf64>
    %8 = stablehlo.reshape %7 : (tensor<4x6x3x1xf64>) -> tensor<4x6x3xf64>
    %9 = stablehlo.convolution(%6, %8) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x7xf64>, tensor<4x6x3xf64>) -> tensor<2x4x4xf64>
    %10 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x7x8xf64>, tensor<4x6x3x2xf64>) -> tensor<2x5x7x4xf64>
    %11 = stablehlo.slice %arg0 [0:2, 0:6, 0:1, 0:1] : (tensor<2x6x7x8xf64>) -> tensor<2x6x1x1xf64>
    %12 = stablehlo.reshape %11 : (tensor<2x6x1x1xf64>) -> tensor<2x6xf64>
    %13 = stablehlo.slice %arg1 [0:4, 0:6, 0:1, 0:1] : (tensor<4x6x3x2xf64>) -> tensor<4x6x1x1xf64>
    %14 = stablehlo.reshape %13 : (tensor<4x6x1x1xf64>) -> tensor<4x6xf64>
    %15 = stablehlo.convolution(%12, %14) dim_numbers = [b, f]x[o, i]->[b, f], window = {stride = [], pad = [], lhs_dilate = [], rhs_dilate = [], reverse = []} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6xf64>, tensor<4x6xf64>) -> tensor<2x4xf64>
    %16 = stablehlo.slice %arg1 [0:4, 0:3, 0:3, 0:2] : (tensor<4x6x3x2xf64>) -> tensor<4x3x3x2xf64>
    %17 = stablehlo.convolution(%arg0, %16) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x7x8xf64>, tensor<4x3x3x2xf64>) -> tensor<2x4x4x4xf64>
    %18 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<2x4x4x4xf64>
    %19 = stablehlo.multiply %18, %17 : tensor<2x4x4x4xf64>
    %20 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4x4x4xf64>
    %21 = stablehlo.multiply %20, %19 : tensor<2x4x4x4xf64>
    %22 = stablehlo.convolution(%arg0, %21) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {pad = [[1, 1], [0, 0]], rhs_dilate = [2, 2]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x6x7x8xf64>, tensor<2x4x4x4xf64>) -> tensor<4x3x3x2xf64>
    %23 = stablehlo.reshape %16 : (tensor<4x3x3x2xf64>) -> tensor<2x2x3x3x2xf64>
    %24 = stablehlo.transpose %23, dims = [1, 0, 2, 3, 4] : (tensor<2x2x3x3x2xf64>) -> tensor<2x2x3x3x2xf64>
    %25 = stablehlo.reshape %24 : (tensor<2x2x3x3x2xf64>) -> tensor<2x6x3x2xf64>
    %26 = stablehlo.reverse %25, dims = [2, 3] : tensor<2x6x3x2xf64>
    %27 = stablehlo.convolution(%21, %26) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x4x4x4xf64>, tensor<2x6x3x2xf64>) -> tensor<2x6x7x8xf64>
    %28 = stablehlo.transpose %arg1, dims = [1, 0, 2, 3] : (tensor<4x6x3x2xf64>) -> tensor<6x4x3x2xf64>
    %29 = stablehlo.reshape %28 : (tensor<6x4x3x2xf64>) -> tensor<4x36xf64>
    return %0, %1, %2, %4, %9, %10, %15, %27, %22, %29 : tensor<2x4x3x16xf64>, tensor<2x4x5x5xf64>, tensor<1x4x5x7xf64>, tensor<2x4x7x8xf64>, tensor<2x4x4xf64>, tensor<2x5x7x4xf64>, tensor<2x4xf64>, tensor<2x6x7x8xf64>, tensor<4x3x3x2xf64>, tensor<4x36xf64>
  }
}

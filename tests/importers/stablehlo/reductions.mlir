module @jit_reductions attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf64>) -> (tensor<f64> {jax.result_info = "result[0]"}, tensor<3xf64> {jax.result_info = "result[1]"}, tensor<4xf64> {jax.result_info = "result[2]"}, tensor<3xf64> {jax.result_info = "result[3]"}, tensor<f64> {jax.result_info = "result[4]"}, tensor<3xi64> {jax.result_info = "result[5]"}, tensor<4xi64> {jax.result_info = "result[6]"}, tensor<3xi1> {jax.result_info = "result[7]"}, tensor<4xi1> {jax.result_info = "result[8]"}, tensor<i64> {jax.result_info = "result[9]"}, tensor<4x3xf64> {jax.result_info = "result[10]"}, tensor<4x3xf64> {jax.result_info = "result[11]"}, tensor<4x3xf64> {jax.result_info = "result[12]"}, tensor<4x3xf64> {jax.result_info = "result[13]"}, tensor<4x3xf64> {jax.result_info = "result[14]"}, tensor<4x3xf64> {jax.result_info = "result[15]"}, tensor<f64> {jax.result_info = "result[16]"}, tensor<3xf64> {jax.result_info = "result[17]"}, tensor<4xf64> {jax.result_info = "result[18]"}, tensor<4x3xf64> {jax.result_info = "result[19]"}, tensor<3xf64> {jax.result_info = "result[20]"}, tensor<0x3xf64> {jax.result_info = "result[21]"}, tensor<4xi64> {jax.result_info = "result[22]"}, tensor<3xf64> {jax.result_info = "result[23]"}, tensor<4x3xi8> {jax.result_info = "result[24]"}, tensor<i1> {jax.result_info = "result[25]"}) {
    %cst = stablehlo.constant dense<1.200000e+01> : tensor<f64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %c_1 = stablehlo.constant dense<false> : tensor<i1>
    %cst_2 = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %cst_3 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.reduce(%arg0 init: %cst_5) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<f64>
    %1 = stablehlo.reduce(%arg0 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf64>, tensor<f64>) -> tensor<3xf64>
    %2 = stablehlo.reduce(%arg0 init: %cst_4) applies stablehlo.multiply across dimensions = [1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<4xf64>
    %3 = stablehlo.reduce(%arg0 init: %cst_3) applies stablehlo.maximum across dimensions = [0] : (tensor<4x3xf64>, tensor<f64>) -> tensor<3xf64>
    %4 = stablehlo.reduce(%arg0 init: %cst_2) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<f64>
    %5 = call @argmax(%arg0) : (tensor<4x3xf64>) -> tensor<3xi64>
    %6 = call @argmin(%arg0) : (tensor<4x3xf64>) -> tensor<4xi64>
    %7 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %8 = stablehlo.compare GT, %arg0, %7, FLOAT : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xi1>
    %9 = stablehlo.reduce(%8 init: %c_1) applies stablehlo.or across dimensions = [0] : (tensor<4x3xi1>, tensor<i1>) -> tensor<3xi1>
    %10 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %11 = stablehlo.compare GT, %arg0, %10, FLOAT : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xi1>
    %12 = stablehlo.reduce(%11 init: %c_0) applies stablehlo.and across dimensions = [1] : (tensor<4x3xi1>, tensor<i1>) -> tensor<4xi1>
    %13 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %14 = stablehlo.compare GT, %arg0, %13, FLOAT : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xi1>
    %15 = stablehlo.convert %14 : (tensor<4x3xi1>) -> tensor<4x3xi32>
    %16 = stablehlo.convert %15 : (tensor<4x3xi32>) -> tensor<4x3xi64>
    %17 = stablehlo.reduce(%16 init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xi64>, tensor<i64>) -> tensor<i64>
    %18 = call @cumsum(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
    %19 = call @cumsum_1(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
    %20 = call @cumprod(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
    %21 = call @cummax(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
    %22 = call @cummin(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
    %23 = call @cumlogsumexp(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
    %24 = stablehlo.reduce(%arg0 init: %cst_5) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<f64>
    %25 = stablehlo.divide %24, %cst : tensor<f64>
    %26 = call @_std(%arg0, %c) : (tensor<4x3xf64>, tensor<i64>) -> tensor<3xf64>
    %27 = stablehlo.reduce(%arg0 init: %cst_3) applies stablehlo.maximum across dimensions = [1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<4xf64>
    %28 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %29 = stablehlo.maximum %28, %27 : tensor<4xf64>
    %30 = stablehlo.is_finite %29 : (tensor<4xf64>) -> tensor<4xi1>
    %31 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %32 = stablehlo.select %30, %29, %31 : tensor<4xi1>, tensor<4xf64>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0] : (tensor<4xf64>) -> tensor<4x1xf64>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1] : (tensor<4x1xf64>) -> tensor<4x3xf64>
    %35 = stablehlo.subtract %arg0, %34 : tensor<4x3xf64>
    %36 = stablehlo.exponential %35 : tensor<4x3xf64>
    %37 = stablehlo.reduce(%36 init: %cst_5) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<4xf64>
    %38 = stablehlo.abs %37 : tensor<4xf64>
    %39 = stablehlo.log %38 : tensor<4xf64>
    %40 = stablehlo.add %39, %32 : tensor<4xf64>
    %41 = stablehlo.reduce(%arg0 init: %cst_3) applies stablehlo.maximum across dimensions = [1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<4xf64>
    %42 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %43 = stablehlo.maximum %42, %41 : tensor<4xf64>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0] : (tensor<4xf64>) -> tensor<4x1xf64>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1] : (tensor<4x1xf64>) -> tensor<4x3xf64>
    %46 = stablehlo.subtract %arg0, %45 : tensor<4x3xf64>
    %47 = stablehlo.exponential %46 : tensor<4x3xf64>
    %48 = stablehlo.reduce(%47 init: %cst_5) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf64>, tensor<f64>) -> tensor<4xf64>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0] : (tensor<4xf64>) -> tensor<4x1xf64>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1] : (tensor<4x1xf64>) -> tensor<4x3xf64>
    %51 = stablehlo.divide %47, %50 : tensor<4x3xf64>
    %52 = stablehlo.slice %arg0 [0:0, 0:3] : (tensor<4x3xf64>) -> tensor<0x3xf64>
    %53 = stablehlo.reduce(%52 init: %cst_3) applies stablehlo.maximum across dimensions = [0] : (tensor<0x3xf64>, tensor<f64>) -> tensor<3xf64>
    %54 = stablehlo.slice %arg0 [0:0, 0:3] : (tensor<4x3xf64>) -> tensor<0x3xf64>
    %55 = call @cummax_3(%54) : (tensor<0x3xf64>) -> tensor<0x3xf64>
    %56 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %57 = stablehlo.compare GT, %arg0, %56, FLOAT : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xi1>
    %58 = call @argmax_4(%57) : (tensor<4x3xi1>) -> tensor<4xi64>
    %59 = stablehlo.slice %arg0 [0:0, 0:3] : (tensor<4x3xf64>) -> tensor<0x3xf64>
    %60 = stablehlo.reduce(%59 init: %cst_5) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf64>, tensor<f64>) -> tensor<3xf64>
    %61 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %62 = stablehlo.compare GT, %arg0, %61, FLOAT : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xi1>
    %63 = stablehlo.convert %62 : (tensor<4x3xi1>) -> tensor<4x3xi8>
    %64 = call @cumsum_5(%63) : (tensor<4x3xi8>) -> tensor<4x3xi8>
    %65 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<4x3xf64>
    %66 = stablehlo.compare GT, %arg0, %65, FLOAT : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xi1>
    %67 = stablehlo.reduce(%66 init: %c_1) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x3xi1>, tensor<i1>) -> tensor<i1>
    return %0, %1, %2, %3, %4, %5, %6, %9, %12, %17, %18, %19, %20, %21, %22, %23, %25, %26, %40, %51, %53, %55, %58, %60, %64, %67 : tensor<f64>, tensor<3xf64>, tensor<4xf64>, tensor<3xf64>, tensor<f64>, tensor<3xi64>, tensor<4xi64>, tensor<3xi1>, tensor<4xi1>, tensor<i64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<f64>, tensor<3xf64>, tensor<4xf64>, tensor<4x3xf64>, tensor<3xf64>, tensor<0x3xf64>, tensor<4xi64>, tensor<3xf64>, tensor<4x3xi8>, tensor<i1>
  }
  func.func private @argmax(%arg0: tensor<4x3xf64>) -> tensor<3xi64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.iota dim = 0 : tensor<4x3xi64>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [0] : (tensor<4x3xf64>, tensor<4x3xi64>, tensor<f64>, tensor<i64>) -> (tensor<3xf64>, tensor<3xi64>)
     reducer(%arg1: tensor<f64>, %arg3: tensor<f64>) (%arg2: tensor<i64>, %arg4: tensor<i64>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f64>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i64>
      stablehlo.return %9, %10 : tensor<f64>, tensor<i64>
    }
    return %1#1 : tensor<3xi64>
  }
  func.func private @argmin(%arg0: tensor<4x3xf64>) -> tensor<4xi64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %0 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<4x3xf64>, tensor<4x3xi64>, tensor<f64>, tensor<i64>) -> (tensor<4xf64>, tensor<4xi64>)
     reducer(%arg1: tensor<f64>, %arg3: tensor<f64>) (%arg2: tensor<i64>, %arg4: tensor<i64>)  {
      %2 = stablehlo.compare LT, %arg1, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f64>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i64>
      stablehlo.return %9, %10 : tensor<f64>, tensor<i64>
    }
    return %1#1 : tensor<4xi64>
  }
  func.func private @cumsum(%arg0: tensor<4x3xf64>) -> tensor<4x3xf64> {
    %0 = call @cumsum_0(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
    return %0 : tensor<4x3xf64>
  }
  func.func private @cumsum_0(%arg0: tensor<4x3xf64>) -> tensor<4x3xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f64>
      stablehlo.return %2 : tensor<f64>
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x3xf64>
    return %1 : tensor<4x3xf64>
  }
  func.func private @cumsum_1(%arg0: tensor<4x3xf64>) -> tensor<4x3xf64> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[0, 0], [0, 2]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f64>
      stablehlo.return %2 : tensor<f64>
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x3xf64>
    return %1 : tensor<4x3xf64>
  }
  func.func private @cumprod(%arg0: tensor<4x3xf64>) -> tensor<4x3xf64> {
    %0 = call @cumprod_2(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
    return %0 : tensor<4x3xf64>
  }
  func.func private @cumprod_2(%arg0: tensor<4x3xf64>) -> tensor<4x3xf64> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[0, 0], [2, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %1 = stablehlo.multiply %arg1, %arg2 : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x3xf64>
    return %0 : tensor<4x3xf64>
  }
  func.func private @cummax(%arg0: tensor<4x3xf64>) -> tensor<4x3xf64> {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %2 = stablehlo.maximum %arg1, %arg2 : tensor<f64>
      stablehlo.return %2 : tensor<f64>
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x3xf64>
    return %1 : tensor<4x3xf64>
  }
  func.func private @cummin(%arg0: tensor<4x3xf64>) -> tensor<4x3xf64> {
    %cst = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[0, 0], [0, 2]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %2 = stablehlo.minimum %arg1, %arg2 : tensor<f64>
      stablehlo.return %2 : tensor<f64>
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x3xf64>
    return %1 : tensor<4x3xf64>
  }
  func.func private @cumlogsumexp(%arg0: tensor<4x3xf64>) -> tensor<4x3xf64> {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %1 = stablehlo.maximum %arg1, %arg2 : tensor<f64>
      %2 = stablehlo.subtract %arg1, %arg2 : tensor<f64>
      %3 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %4 = stablehlo.add %arg1, %arg2 : tensor<f64>
      %5 = stablehlo.abs %2 : tensor<f64>
      %6 = stablehlo.negate %5 : tensor<f64>
      %7 = stablehlo.exponential %6 : tensor<f64>
      %8 = stablehlo.log_plus_one %7 : tensor<f64>
      %9 = stablehlo.add %1, %8 : tensor<f64>
      %10 = stablehlo.select %3, %4, %9 : tensor<i1>, tensor<f64>
      stablehlo.return %10 : tensor<f64>
    }) : (tensor<4x3xf64>, tensor<f64>) -> tensor<4x3xf64>
    return %0 : tensor<4x3xf64>
  }
  func.func private @_std(%arg0: tensor<4x3xf64>, %arg1: tensor<i64>) -> tensor<3xf64> {
    %0 = call @_var(%arg0, %arg1) : (tensor<4x3xf64>, tensor<i64>) -> tensor<3xf64>
    %1 = stablehlo.sqrt %0 : tensor<3xf64>
    return %1 : tensor<3xf64>
  }
  func.func private @_var(%arg0: tensor<4x3xf64>, %arg1: tensor<i64>) -> tensor<3xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<4.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.reduce(%arg0 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf64>, tensor<f64>) -> tensor<3xf64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<3xf64>) -> tensor<1x3xf64>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<1x3xf64>
    %3 = stablehlo.divide %1, %2 : tensor<1x3xf64>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x3xf64>) -> tensor<4x3xf64>
    %5 = stablehlo.subtract %arg0, %4 : tensor<4x3xf64>
    %6 = stablehlo.multiply %5, %5 : tensor<4x3xf64>
    %7 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<f64>
    %8 = stablehlo.subtract %cst_0, %7 : tensor<f64>
    %9 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf64>, tensor<f64>) -> tensor<3xf64>
    %10 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %11 = stablehlo.divide %9, %10 : tensor<3xf64>
    %12 = stablehlo.compare GT, %8, %cst_1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %13 = call @_where(%12, %11, %cst) : (tensor<i1>, tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
    return %13 : tensor<3xf64>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<3xf64>, %arg2: tensor<f64>) -> tensor<3xf64> {
    %0 = stablehlo.convert %arg2 : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<3xf64>
    return %2 : tensor<3xf64>
  }
  func.func private @cummax_3(%arg0: tensor<0x3xf64>) -> tensor<0x3xf64> {
    return %arg0 : tensor<0x3xf64>
  }
  func.func private @argmax_4(%arg0: tensor<4x3xi1>) -> tensor<4xi64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %0 = stablehlo.iota dim = 1 : tensor<4x3xi64>
    %1:2 = stablehlo.reduce(%arg0 init: %c_0), (%0 init: %c) across dimensions = [1] : (tensor<4x3xi1>, tensor<4x3xi64>, tensor<i1>, tensor<i64>) -> (tensor<4xi1>, tensor<4xi64>)
     reducer(%arg1: tensor<i1>, %arg3: tensor<i1>) (%arg2: tensor<i64>, %arg4: tensor<i64>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<i1>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i64>
      stablehlo.return %9, %10 : tensor<i1>, tensor<i64>
    }
    return %1#1 : tensor<4xi64>
  }
  func.func private @cumsum_5(%arg0: tensor<4x3xi8>) -> tensor<4x3xi8> {
    %0 = call @cumsum_6(%arg0) : (tensor<4x3xi8>) -> tensor<4x3xi8>
    return %0 : tensor<4x3xi8>
  }
  func.func private @cumsum_6(%arg0: tensor<4x3xi8>) -> tensor<4x3xi8> {
    %c = stablehlo.constant dense<0> : tensor<i8>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i8>) -> tensor<i8>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
    ^bb0(%arg1: tensor<i8>, %arg2: tensor<i8>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i8>
      stablehlo.return %2 : tensor<i8>
    }) : (tensor<4x3xi8>, tensor<i8>) -> tensor<4x3xi8>
    return %1 : tensor<4x3xi8>
  }
}

module @jit_perceptron attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf64>, %arg1: tensor<3x4xf64>, %arg2: tensor<2xf64>, %arg3: tensor<4x2xf64>, %arg4: tensor<?x3xf64>, %arg5: tensor<?x2xf64>) -> (tensor<f64> {jax.result_info = "result[0]"}, tensor<4xf64> {jax.result_info = "result[1][0]['b']"}, tensor<3x4xf64> {jax.result_info = "result[1][0]['w']"}, tensor<2xf64> {jax.result_info = "result[1][1]['b']"}, tensor<4x2xf64> {jax.result_info = "result[1][1]['w']"}) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.get_dimension_size %arg4, dim = 0 : (tensor<?x3xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.get_dimension_size %arg5, dim = 0 : (tensor<?x2xf64>) -> tensor<i32>
    %3 = stablehlo.convert %2 : (tensor<i32>) -> tensor<i64>
    %4 = stablehlo.compare GE, %1, %c, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%4, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'n'. Using the following polymorphic shapes specifications: args[1].shape = (n, 3),args[2].shape = (n, 2). Obtained dimension variables: 'n' = {0} from specification 'n' for dimension args[1].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>) -> ()
    %5 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%5, %3, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[2].shape[0] (= {0}) and the specification 'n' (= {1}). Using the following polymorphic shapes specifications: args[1].shape = (n, 3),args[2].shape = (n, 2). Obtained dimension variables: 'n' = {1} from specification 'n' for dimension args[1].shape[0] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>, tensor<i64>) -> ()
    %6:5 = call @_wrapped_jax_export_main(%1, %arg0, %arg1, %arg2, %arg3, %arg4, %arg5) : (tensor<i64>, tensor<4xf64>, tensor<3x4xf64>, tensor<2xf64>, tensor<4x2xf64>, tensor<?x3xf64>, tensor<?x2xf64>) -> (tensor<f64>, tensor<4xf64>, tensor<3x4xf64>, tensor<2xf64>, tensor<4x2xf64>)
    return %6#0, %6#1, %6#2, %6#3, %6#4 : tensor<f64>, tensor<4xf64>, tensor<3x4xf64>, tensor<2xf64>, tensor<4x2xf64>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i64> {jax.global_constant = "n"}, %arg1: tensor<4xf64>, %arg2: tensor<3x4xf64>, %arg3: tensor<2xf64>, %arg4: tensor<4x2xf64>, %arg5: tensor<?x3xf64>, %arg6: tensor<?x2xf64>) -> (tensor<f64> {jax.result_info = "result[0]"}, tensor<4xf64> {jax.result_info = "result[1][0]['b']"}, tensor<3x4xf64> {jax.result_info = "result[1][0]['w']"}, tensor<2xf64> {jax.result_info = "result[1][1]['b']"}, tensor<4x2xf64> {jax.result_info = "result[1][1]['w']"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<2> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<2> : tensor<i64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_3 = stablehlo.constant dense<4> : tensor<1xi32>
    %0 = stablehlo.dot_general %arg5, %arg2, contracting_dims = [1] x [0] : (tensor<?x3xf64>, tensor<3x4xf64>) -> tensor<?x4xf64>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<4xf64>) -> tensor<1x4xf64>
    %2 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %3 = stablehlo.reshape %2 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.concatenate %3, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %5 = stablehlo.dynamic_broadcast_in_dim %1, %4, dims = [0, 1] : (tensor<1x4xf64>, tensor<2xi32>) -> tensor<?x4xf64>
    %6 = stablehlo.add %0, %5 : tensor<?x4xf64>
    %7 = call @relu(%arg0, %6) : (tensor<i64>, tensor<?x4xf64>) -> tensor<?x4xf64>
    %8 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %9 = stablehlo.reshape %8 : (tensor<i32>) -> tensor<1xi32>
    %10 = stablehlo.concatenate %9, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %11 = stablehlo.dynamic_broadcast_in_dim %cst_2, %10, dims = [] : (tensor<f64>, tensor<2xi32>) -> tensor<?x4xf64>
    %12 = stablehlo.compare GT, %6, %11, FLOAT : (tensor<?x4xf64>, tensor<?x4xf64>) -> tensor<?x4xi1>
    %13 = stablehlo.dot_general %7, %arg4, contracting_dims = [1] x [0] : (tensor<?x4xf64>, tensor<4x2xf64>) -> tensor<?x2xf64>
    %14 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<2xf64>) -> tensor<1x2xf64>
    %15 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %16 = stablehlo.reshape %15 : (tensor<i32>) -> tensor<1xi32>
    %17 = stablehlo.concatenate %16, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %18 = stablehlo.dynamic_broadcast_in_dim %14, %17, dims = [0, 1] : (tensor<1x2xf64>, tensor<2xi32>) -> tensor<?x2xf64>
    %19 = stablehlo.add %13, %18 : tensor<?x2xf64>
    %20 = stablehlo.subtract %19, %arg6 : tensor<?x2xf64>
    %21 = stablehlo.multiply %20, %20 : tensor<?x2xf64>
    %22 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %23 = stablehlo.reshape %22 : (tensor<i32>) -> tensor<1xi32>
    %24 = stablehlo.concatenate %23, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %25 = stablehlo.dynamic_broadcast_in_dim %cst_0, %24, dims = [] : (tensor<f64>, tensor<2xi32>) -> tensor<?x2xf64>
    %26 = stablehlo.multiply %25, %20 : tensor<?x2xf64>
    %27 = stablehlo.convert %arg0 : tensor<i64>
    %28 = stablehlo.multiply %27, %c_1 : tensor<i64>
    %29 = stablehlo.convert %28 : (tensor<i64>) -> tensor<f64>
    %30 = stablehlo.reduce(%21 init: %cst_2) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x2xf64>, tensor<f64>) -> tensor<f64>
    %31 = stablehlo.divide %30, %29 : tensor<f64>
    %32 = stablehlo.divide %cst, %29 : tensor<f64>
    %33 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %34 = stablehlo.reshape %33 : (tensor<i32>) -> tensor<1xi32>
    %35 = stablehlo.concatenate %34, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %36 = stablehlo.dynamic_broadcast_in_dim %32, %35, dims = [] : (tensor<f64>, tensor<2xi32>) -> tensor<?x2xf64>
    %37 = stablehlo.multiply %36, %26 : tensor<?x2xf64>
    %38 = stablehlo.reduce(%37 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<?x2xf64>, tensor<f64>) -> tensor<2xf64>
    %39 = stablehlo.reshape %38 : (tensor<2xf64>) -> tensor<1x2xf64>
    %40 = stablehlo.reduce(%39 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<1x2xf64>, tensor<f64>) -> tensor<2xf64>
    %41 = stablehlo.dot_general %37, %7, contracting_dims = [0] x [0] : (tensor<?x2xf64>, tensor<?x4xf64>) -> tensor<2x4xf64>
    %42 = stablehlo.transpose %41, dims = [1, 0] : (tensor<2x4xf64>) -> tensor<4x2xf64>
    %43 = stablehlo.dot_general %37, %arg4, contracting_dims = [1] x [1] : (tensor<?x2xf64>, tensor<4x2xf64>) -> tensor<?x4xf64>
    %44 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %45 = stablehlo.reshape %44 : (tensor<i32>) -> tensor<1xi32>
    %46 = stablehlo.concatenate %45, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %47 = stablehlo.dynamic_broadcast_in_dim %cst_2, %46, dims = [] : (tensor<f64>, tensor<2xi32>) -> tensor<?x4xf64>
    %48 = stablehlo.select %12, %43, %47 : tensor<?x4xi1>, tensor<?x4xf64>
    %49 = stablehlo.reduce(%48 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<?x4xf64>, tensor<f64>) -> tensor<4xf64>
    %50 = stablehlo.reshape %49 : (tensor<4xf64>) -> tensor<1x4xf64>
    %51 = stablehlo.reduce(%50 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<1x4xf64>, tensor<f64>) -> tensor<4xf64>
    %52 = stablehlo.dot_general %48, %arg5, contracting_dims = [0] x [0] : (tensor<?x4xf64>, tensor<?x3xf64>) -> tensor<4x3xf64>
    %53 = stablehlo.transpose %52, dims = [1, 0] : (tensor<4x3xf64>) -> tensor<3x4xf64>
    return %31, %51, %53, %40, %42 : tensor<f64>, tensor<4xf64>, tensor<3x4xf64>, tensor<2xf64>, tensor<4x2xf64>
  }
  func.func private @relu(%arg0: tensor<i64> {jax.global_constant = "n"}, %arg1: tensor<?x4xf64>) -> tensor<?x4xf64> {
    %c = stablehlo.constant dense<4> : tensor<1xi32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.concatenate %1, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %3 = stablehlo.dynamic_broadcast_in_dim %cst, %2, dims = [] : (tensor<f64>, tensor<2xi32>) -> tensor<?x4xf64>
    %4 = stablehlo.maximum %arg1, %3 : tensor<?x4xf64>
    return %4 : tensor<?x4xf64>
  }
}

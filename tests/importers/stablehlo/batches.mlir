module @jit_one_of_a_batch attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x4xf64>, %arg1: tensor<6xi32>) -> (tensor<6xf64> {jax.result_info = "result[0]"}, tensor<6x4xf64> {jax.result_info = "result[1]"}, tensor<6x4xf64> {jax.result_info = "result[2]"}, tensor<6x2xf64> {jax.result_info = "result[3]"}, tensor<6x4xf64> {jax.result_info = "result[4]"}, tensor<6xf64> {jax.result_info = "result[5]"}, tensor<6x4xf64> {jax.result_info = "result[6]"}) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<2147483647> : tensor<i32>
    %c_1 = stablehlo.constant dense<2> : tensor<1xi32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_3 = stablehlo.constant dense<4> : tensor<i32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %2 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<6xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<6xi1>, tensor<6xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<6x4xf64>, tensor<6x1xi32>) -> tensor<6x1xf64>
    %7 = stablehlo.reshape %6 : (tensor<6x1xf64>) -> tensor<6xf64>
    %8 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %9 = stablehlo.compare LT, %arg1, %8, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %10 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %11 = stablehlo.add %arg1, %10 : tensor<6xi32>
    %12 = stablehlo.select %9, %11, %arg1 : tensor<6xi1>, tensor<6xi32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %15 = "stablehlo.scatter"(%arg0, %13, %14) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<6x4xf64>, tensor<6x1xi32>, tensor<6xf64>) -> tensor<6x4xf64>
    %16 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %17 = stablehlo.compare LT, %arg1, %16, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %18 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %19 = stablehlo.add %arg1, %18 : tensor<6xi32>
    %20 = stablehlo.select %17, %19, %arg1 : tensor<6xi1>, tensor<6xi32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %22 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %23 = "stablehlo.scatter"(%arg0, %21, %22) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %70 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %70 : tensor<f64>
    }) : (tensor<6x4xf64>, tensor<6x1xi32>, tensor<6xf64>) -> tensor<6x4xf64>
    %24 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %25 = stablehlo.compare LT, %arg1, %24, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %26 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %27 = stablehlo.add %arg1, %26 : tensor<6xi32>
    %28 = stablehlo.select %25, %27, %arg1 : tensor<6xi1>, tensor<6xi32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %30 = "stablehlo.gather"(%arg0, %29) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 2>}> : (tensor<6x4xf64>, tensor<6x1xi32>) -> tensor<6x2xf64>
    %31 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %32 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %33 = stablehlo.compare LT, %arg1, %32, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %34 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %35 = stablehlo.add %arg1, %34 : tensor<6xi32>
    %36 = stablehlo.select %33, %35, %arg1 : tensor<6xi1>, tensor<6xi32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %38 = stablehlo.broadcast_in_dim %31, dims = [1] : (tensor<2xf64>) -> tensor<6x2xf64>
    %39 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %40 = stablehlo.minimum %c_1, %39 : tensor<1xi32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [1] : (tensor<1xi32>) -> tensor<6x1xi32>
    %42 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %43 = stablehlo.clamp %42, %37, %41 : tensor<6x1xi32>
    %44 = "stablehlo.scatter"(%arg0, %43, %38) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<6x4xf64>, tensor<6x1xi32>, tensor<6x2xf64>) -> tensor<6x4xf64>
    %45 = call @sort(%arg0) : (tensor<6x4xf64>) -> tensor<6x4xf64>
    %46 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %47 = stablehlo.compare LT, %arg1, %46, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %48 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %49 = stablehlo.add %arg1, %48 : tensor<6xi32>
    %50 = stablehlo.select %47, %49, %arg1 : tensor<6xi1>, tensor<6xi32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %52 = "stablehlo.gather"(%45, %51) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<6x4xf64>, tensor<6x1xi32>) -> tensor<6x1xf64>
    %53 = stablehlo.reshape %52 : (tensor<6x1xf64>) -> tensor<6xf64>
    %54 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %55 = stablehlo.compare GT, %arg1, %54, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %56 = stablehlo.convert %55 : (tensor<6xi1>) -> tensor<6xi32>
    %57 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %58 = stablehlo.compare EQ, %56, %57, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0] : (tensor<6xi1>) -> tensor<6x4xi1>
    %60 = stablehlo.select %59, %arg0, %arg0 : tensor<6x4xi1>, tensor<6x4xf64>
    %61 = stablehlo.negate %60 : tensor<6x4xf64>
    %62 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %63 = stablehlo.compare EQ, %56, %62, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %64 = stablehlo.broadcast_in_dim %63, dims = [0] : (tensor<6xi1>) -> tensor<6x4xi1>
    %65 = stablehlo.select %64, %arg0, %arg0 : tensor<6x4xi1>, tensor<6x4xf64>
    %66 = stablehlo.broadcast_in_dim %56, dims = [0] : (tensor<6xi32>) -> tensor<6x4xi32>
    %67 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<6x4xi32>
    %68 = stablehlo.compare LT, %66, %67, SIGNED : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
    %69 = stablehlo.select %68, %61, %65 : tensor<6x4xi1>, tensor<6x4xf64>
    return %7, %15, %23, %30, %44, %53, %69 : tensor<6xf64>, tensor<6x4xf64>, tensor<6x4xf64>, tensor<6x2xf64>, tensor<6x4xf64>, tensor<6xf64>, tensor<6x4xf64>
  }
  func.func private @sort(%arg0: tensor<6x4xf64>) -> tensor<6x4xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %1 = stablehlo.compare EQ, %arg1, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f64>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %4 = stablehlo.select %3, %cst, %2 : tensor<i1>, tensor<f64>
      %5 = stablehlo.compare EQ, %arg2, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %6 = stablehlo.select %5, %cst_0, %arg2 : tensor<i1>, tensor<f64>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %8 = stablehlo.select %7, %cst, %6 : tensor<i1>, tensor<f64>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<6x4xf64>) -> tensor<6x4xf64>
    return %0 : tensor<6x4xf64>
  }
}

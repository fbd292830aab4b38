module @jit_scatters attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x5xf64>, %arg1: tensor<6xi32>) -> (tensor<5x5xf64> {jax.result_info = "result[0]"}, tensor<5x5xf64> {jax.result_info = "result[1]"}, tensor<5x5xf64> {jax.result_info = "result[2]"}, tensor<5x5xf64> {jax.result_info = "result[3]"}, tensor<5x5xf64> {jax.result_info = "result[4]"}, tensor<5x5xf64> {jax.result_info = "result[5]"}, tensor<5x5xf64> {jax.result_info = "result[6]"}, tensor<5x5xf64> {jax.result_info = "result[7]"}, tensor<5x5xf64> {jax.result_info = "result[8]"}, tensor<5x5xf64> {jax.result_info = "result[9]"}, tensor<5x5xf64> {jax.result_info = "result[10]"}, tensor<5x5xf64> {jax.result_info = "result[11]"}, tensor<5x5xf64> {jax.result_info = "result[12]"}, tensor<5x5xf64> {jax.result_info = "result[13]"}, tensor<5x5xf64> {jax.result_info = "result[14]"}, tensor<5x5xf64> {jax.result_info = "result[15]"}, tensor<5x5xf64> {jax.result_info = "result[16]"}, tensor<5x5xf64> {jax.result_info = "result[17]"}, tensor<5x5xf64> {jax.result_info = "result[18]"}, tensor<5x5xf64> {jax.result_info = "result[19]"}, tensor<5x5xf64> {jax.result_info = "result[20]"}, tensor<5x5xf64> {jax.result_info = "result[21]"}, tensor<5x5xf64> {jax.result_info = "result[22]"}, tensor<5x5xf64> {jax.result_info = "result[23]"}, tensor<5x5xf64> {jax.result_info = "result[24]"}, tensor<5x5xf64> {jax.result_info = "result[25]"}, tensor<5x5xf64> {jax.result_info = "result[26]"}, tensor<5x5xf64> {jax.result_info = "result[27]"}, tensor<5x5xf64> {jax.result_info = "result[28]"}, tensor<5x5xf64> {jax.result_info = "result[29]"}, tensor<5x5xf64> {jax.result_info = "result[30]"}, tensor<5x5xf64> {jax.result_info = "result[31]"}, tensor<5x5xf64> {jax.result_info = "result[32]"}, tensor<5x5xf64> {jax.result_info = "result[33]"}, tensor<5x5xf64> {jax.result_info = "result[34]"}, tensor<5x5xf64> {jax.result_info = "result[35]"}, tensor<5x5xf64> {jax.result_info = "result[36]"}, tensor<5x5xf64> {jax.result_info = "result[37]"}, tensor<5x5xf64> {jax.result_info = "result[38]"}, tensor<5x5xi32> {jax.result_info = "result[39]"}, tensor<5x5xi32> {jax.result_info = "result[40]"}, tensor<5x5xf64> {jax.result_info = "result[41]"}, tensor<5x5xf64> {jax.result_info = "result[42]"}, tensor<0x5xf64> {jax.result_info = "result[43]"}, tensor<0x5xf64> {jax.result_info = "result[44]"}) {
    %c = stablehlo.constant dense<5> : tensor<i64>
    %c_0 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %c_1 = stablehlo.constant dense<4> : tensor<i64>
    %c_2 = stablehlo.constant dense<0> : tensor<i64>
    %cst_3 = stablehlo.constant dense<5.000000e+00> : tensor<f64>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_5 = stablehlo.constant dense<[4, 3]> : tensor<2xi32>
    %c_6 = stablehlo.constant dense<1> : tensor<i32>
    %cst_7 = stablehlo.constant dense<7.000000e+00> : tensor<f64>
    %cst_8 = stablehlo.constant dense<3.000000e+00> : tensor<f64>
    %c_9 = stablehlo.constant dense<4> : tensor<2xi32>
    %cst_10 = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %cst_11 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %c_12 = stablehlo.constant dense<2147483647> : tensor<i32>
    %c_13 = stablehlo.constant dense<4> : tensor<1xi32>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %c_15 = stablehlo.constant dense<5> : tensor<i32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %c_17 = stablehlo.constant dense<> : tensor<0xi32>
    %c_18 = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
    %c_19 = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %0 = stablehlo.slice %arg1 [0:2] : (tensor<6xi32>) -> tensor<2xi32>
    %1 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare LT, %0, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %4 = stablehlo.add %0, %3 : tensor<2xi32>
    %5 = stablehlo.select %2, %4, %0 : tensor<2xi1>, tensor<2xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %7 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<2x5xf64>
    %8 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %9 = stablehlo.minimum %c_13, %8 : tensor<1xi32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<1xi32>) -> tensor<2x1xi32>
    %11 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<2x1xi32>
    %12 = stablehlo.clamp %11, %6, %10 : tensor<2x1xi32>
    %13 = "stablehlo.scatter"(%arg0, %12, %7) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<2x1xi32>, tensor<2x5xf64>) -> tensor<5x5xf64>
    %14 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %15 = stablehlo.compare LT, %arg1, %14, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %16 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %17 = stablehlo.add %arg1, %16 : tensor<6xi32>
    %18 = stablehlo.select %15, %17, %arg1 : tensor<6xi1>, tensor<6xi32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %20 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %21 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %22 = stablehlo.minimum %c_13, %21 : tensor<1xi32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [1] : (tensor<1xi32>) -> tensor<6x1xi32>
    %24 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %25 = stablehlo.clamp %24, %19, %23 : tensor<6x1xi32>
    %26 = "stablehlo.scatter"(%arg0, %25, %20) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %27 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %28 = stablehlo.compare LT, %arg1, %27, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %29 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %30 = stablehlo.add %arg1, %29 : tensor<6xi32>
    %31 = stablehlo.select %28, %30, %arg1 : tensor<6xi1>, tensor<6xi32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %33 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %34 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %35 = stablehlo.minimum %c_13, %34 : tensor<1xi32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [1] : (tensor<1xi32>) -> tensor<6x1xi32>
    %37 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %38 = stablehlo.clamp %37, %32, %36 : tensor<6x1xi32>
    %39 = "stablehlo.scatter"(%arg0, %38, %33) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.maximum %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %40 = stablehlo.iota dim = 0 : tensor<5xf64>
    %41 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %42 = stablehlo.subtract %40, %41 : tensor<5xf64>
    %43 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %44 = stablehlo.compare LT, %arg1, %43, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %45 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %46 = stablehlo.add %arg1, %45 : tensor<6xi32>
    %47 = stablehlo.select %44, %46, %arg1 : tensor<6xi1>, tensor<6xi32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %49 = stablehlo.broadcast_in_dim %42, dims = [1] : (tensor<5xf64>) -> tensor<6x5xf64>
    %50 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %51 = stablehlo.minimum %c_13, %50 : tensor<1xi32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [1] : (tensor<1xi32>) -> tensor<6x1xi32>
    %53 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %54 = stablehlo.clamp %53, %48, %52 : tensor<6x1xi32>
    %55 = "stablehlo.scatter"(%arg0, %54, %49) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.minimum %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %56 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %57 = stablehlo.compare LT, %arg1, %56, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %58 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %59 = stablehlo.add %arg1, %58 : tensor<6xi32>
    %60 = stablehlo.select %57, %59, %arg1 : tensor<6xi1>, tensor<6xi32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %62 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<5x6xf64>
    %63 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %64 = stablehlo.minimum %c_13, %63 : tensor<1xi32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [1] : (tensor<1xi32>) -> tensor<6x1xi32>
    %66 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %67 = stablehlo.clamp %66, %61, %65 : tensor<6x1xi32>
    %68 = "stablehlo.scatter"(%arg0, %67, %62) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<5x6xf64>) -> tensor<5x5xf64>
    %69 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %70 = stablehlo.compare LT, %arg1, %69, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %71 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %72 = stablehlo.add %arg1, %71 : tensor<6xi32>
    %73 = stablehlo.select %70, %72, %arg1 : tensor<6xi1>, tensor<6xi32>
    %74 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %75 = stablehlo.compare LT, %arg1, %74, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %76 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %77 = stablehlo.add %arg1, %76 : tensor<6xi32>
    %78 = stablehlo.select %75, %77, %arg1 : tensor<6xi1>, tensor<6xi32>
    %79 = stablehlo.broadcast_in_dim %73, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %80 = stablehlo.broadcast_in_dim %78, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %81 = stablehlo.concatenate %79, %80, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    %82 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %83 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %84 = stablehlo.minimum %c_9, %83 : tensor<2xi32>
    %85 = stablehlo.broadcast_in_dim %84, dims = [1] : (tensor<2xi32>) -> tensor<6x2xi32>
    %86 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6x2xi32>
    %87 = stablehlo.clamp %86, %81, %85 : tensor<6x2xi32>
    %88 = "stablehlo.scatter"(%arg0, %87, %82) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x2xi32>, tensor<6xf64>) -> tensor<5x5xf64>
    %89 = stablehlo.slice %arg1 [2:3] : (tensor<6xi32>) -> tensor<1xi32>
    %90 = stablehlo.reshape %89 : (tensor<1xi32>) -> tensor<i32>
    %91 = stablehlo.compare LT, %90, %c_16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %92 = stablehlo.add %90, %c_15 : tensor<i32>
    %93 = stablehlo.select %91, %92, %90 : tensor<i1>, tensor<i32>
    %94 = stablehlo.broadcast_in_dim %93, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %95 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %96 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %97 = stablehlo.minimum %c_13, %96 : tensor<1xi32>
    %98 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %99 = stablehlo.clamp %98, %94, %97 : tensor<1xi32>
    %100 = "stablehlo.scatter"(%arg0, %99, %95) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.multiply %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<1xi32>, tensor<5xf64>) -> tensor<5x5xf64>
    %101 = stablehlo.slice %arg1 [4:5] : (tensor<6xi32>) -> tensor<1xi32>
    %102 = stablehlo.reshape %101 : (tensor<1xi32>) -> tensor<i32>
    %103 = stablehlo.compare LT, %102, %c_16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %104 = stablehlo.add %102, %c_15 : tensor<i32>
    %105 = stablehlo.select %103, %104, %102 : tensor<i1>, tensor<i32>
    %106 = stablehlo.broadcast_in_dim %105, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %107 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %108 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %109 = stablehlo.minimum %c_13, %108 : tensor<1xi32>
    %110 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %111 = stablehlo.clamp %110, %106, %109 : tensor<1xi32>
    %112 = "stablehlo.scatter"(%arg0, %111, %107) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<1xi32>, tensor<5xf64>) -> tensor<5x5xf64>
    %113 = stablehlo.slice %arg1 [0:2] : (tensor<6xi32>) -> tensor<2xi32>
    %114 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %115 = stablehlo.compare LT, %113, %114, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %116 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %117 = stablehlo.add %113, %116 : tensor<2xi32>
    %118 = stablehlo.select %115, %117, %113 : tensor<2xi1>, tensor<2xi32>
    %119 = stablehlo.broadcast_in_dim %118, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %120 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<2x1xi32>
    %121 = stablehlo.concatenate %119, %120, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
    %122 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %123 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %124 = stablehlo.minimum %c_5, %123 : tensor<2xi32>
    %125 = stablehlo.broadcast_in_dim %124, dims = [1] : (tensor<2xi32>) -> tensor<2x2xi32>
    %126 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<2x2xi32>
    %127 = stablehlo.clamp %126, %121, %125 : tensor<2x2xi32>
    %128 = "stablehlo.scatter"(%arg0, %127, %122) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<2x2xi32>, tensor<2x2xf64>) -> tensor<5x5xf64>
    %129 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %130 = stablehlo.compare LT, %arg1, %129, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %131 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %132 = stablehlo.add %arg1, %131 : tensor<6xi32>
    %133 = stablehlo.select %130, %132, %arg1 : tensor<6xi1>, tensor<6xi32>
    %134 = stablehlo.broadcast_in_dim %133, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %135 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %136 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %137 = stablehlo.minimum %c_13, %136 : tensor<1xi32>
    %138 = stablehlo.broadcast_in_dim %137, dims = [1] : (tensor<1xi32>) -> tensor<6x1xi32>
    %139 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %140 = stablehlo.clamp %139, %134, %138 : tensor<6x1xi32>
    %141 = "stablehlo.scatter"(%arg0, %140, %135) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.subtract %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %142 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %143 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2x5xf64>
    %144 = "stablehlo.scatter"(%arg0, %142, %143) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<1xi32>, tensor<2x5xf64>) -> tensor<5x5xf64>
    %145 = stablehlo.slice %arg1 [0:1] : (tensor<6xi32>) -> tensor<1xi32>
    %146 = stablehlo.reshape %145 : (tensor<1xi32>) -> tensor<i32>
    %147 = stablehlo.compare LT, %146, %c_16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %148 = stablehlo.add %146, %c_15 : tensor<i32>
    %149 = stablehlo.select %147, %148, %146 : tensor<i1>, tensor<i32>
    %150 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %151 = stablehlo.broadcast_in_dim %149, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %152 = stablehlo.concatenate %150, %151, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %153 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %154 = stablehlo.minimum %c_9, %153 : tensor<2xi32>
    %155 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %156 = stablehlo.clamp %155, %152, %154 : tensor<2xi32>
    %157 = "stablehlo.scatter"(%arg0, %156, %cst_3) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<2xi32>, tensor<f64>) -> tensor<5x5xf64>
    %158 = stablehlo.slice %arg1 [0:2] : (tensor<6xi32>) -> tensor<2xi32>
    %159 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %160 = stablehlo.compare LT, %158, %159, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %161 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %162 = stablehlo.add %158, %161 : tensor<2xi32>
    %163 = stablehlo.select %160, %162, %158 : tensor<2xi1>, tensor<2xi32>
    %164 = stablehlo.broadcast_in_dim %163, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %165 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<2x5xf64>
    %166 = "stablehlo.scatter"(%arg0, %164, %165) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<2x1xi32>, tensor<2x5xf64>) -> tensor<5x5xf64>
    %167 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %168 = stablehlo.compare LT, %arg1, %167, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %169 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %170 = stablehlo.add %arg1, %169 : tensor<6xi32>
    %171 = stablehlo.select %168, %170, %arg1 : tensor<6xi1>, tensor<6xi32>
    %172 = stablehlo.broadcast_in_dim %171, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %173 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %174 = "stablehlo.scatter"(%arg0, %172, %173) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %175 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %176 = stablehlo.compare LT, %arg1, %175, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %177 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %178 = stablehlo.add %arg1, %177 : tensor<6xi32>
    %179 = stablehlo.select %176, %178, %arg1 : tensor<6xi1>, tensor<6xi32>
    %180 = stablehlo.broadcast_in_dim %179, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %181 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %182 = "stablehlo.scatter"(%arg0, %180, %181) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.maximum %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %183 = stablehlo.iota dim = 0 : tensor<5xf64>
    %184 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %185 = stablehlo.subtract %183, %184 : tensor<5xf64>
    %186 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %187 = stablehlo.compare LT, %arg1, %186, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %188 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %189 = stablehlo.add %arg1, %188 : tensor<6xi32>
    %190 = stablehlo.select %187, %189, %arg1 : tensor<6xi1>, tensor<6xi32>
    %191 = stablehlo.broadcast_in_dim %190, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %192 = stablehlo.broadcast_in_dim %185, dims = [1] : (tensor<5xf64>) -> tensor<6x5xf64>
    %193 = "stablehlo.scatter"(%arg0, %191, %192) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.minimum %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %194 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %195 = stablehlo.compare LT, %arg1, %194, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %196 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %197 = stablehlo.add %arg1, %196 : tensor<6xi32>
    %198 = stablehlo.select %195, %197, %arg1 : tensor<6xi1>, tensor<6xi32>
    %199 = stablehlo.broadcast_in_dim %198, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %200 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<5x6xf64>
    %201 = "stablehlo.scatter"(%arg0, %199, %200) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<5x6xf64>) -> tensor<5x5xf64>
    %202 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %203 = stablehlo.compare LT, %arg1, %202, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %204 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %205 = stablehlo.add %arg1, %204 : tensor<6xi32>
    %206 = stablehlo.select %203, %205, %arg1 : tensor<6xi1>, tensor<6xi32>
    %207 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %208 = stablehlo.compare LT, %arg1, %207, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %209 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %210 = stablehlo.add %arg1, %209 : tensor<6xi32>
    %211 = stablehlo.select %208, %210, %arg1 : tensor<6xi1>, tensor<6xi32>
    %212 = stablehlo.broadcast_in_dim %206, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %213 = stablehlo.broadcast_in_dim %211, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %214 = stablehlo.concatenate %212, %213, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    %215 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %216 = "stablehlo.scatter"(%arg0, %214, %215) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x2xi32>, tensor<6xf64>) -> tensor<5x5xf64>
    %217 = stablehlo.slice %arg1 [2:3] : (tensor<6xi32>) -> tensor<1xi32>
    %218 = stablehlo.reshape %217 : (tensor<1xi32>) -> tensor<i32>
    %219 = stablehlo.compare LT, %218, %c_16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %220 = stablehlo.add %218, %c_15 : tensor<i32>
    %221 = stablehlo.select %219, %220, %218 : tensor<i1>, tensor<i32>
    %222 = stablehlo.broadcast_in_dim %221, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %223 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %224 = "stablehlo.scatter"(%arg0, %222, %223) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.multiply %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<1xi32>, tensor<5xf64>) -> tensor<5x5xf64>
    %225 = stablehlo.slice %arg1 [4:5] : (tensor<6xi32>) -> tensor<1xi32>
    %226 = stablehlo.reshape %225 : (tensor<1xi32>) -> tensor<i32>
    %227 = stablehlo.compare LT, %226, %c_16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %228 = stablehlo.add %226, %c_15 : tensor<i32>
    %229 = stablehlo.select %227, %228, %226 : tensor<i1>, tensor<i32>
    %230 = stablehlo.broadcast_in_dim %229, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %231 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %232 = "stablehlo.scatter"(%arg0, %230, %231) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<1xi32>, tensor<5xf64>) -> tensor<5x5xf64>
    %233 = stablehlo.slice %arg1 [0:2] : (tensor<6xi32>) -> tensor<2xi32>
    %234 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %235 = stablehlo.compare LT, %233, %234, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %236 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %237 = stablehlo.add %233, %236 : tensor<2xi32>
    %238 = stablehlo.select %235, %237, %233 : tensor<2xi1>, tensor<2xi32>
    %239 = stablehlo.broadcast_in_dim %238, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %240 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<2x1xi32>
    %241 = stablehlo.concatenate %239, %240, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
    %242 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %243 = "stablehlo.scatter"(%arg0, %241, %242) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<2x2xi32>, tensor<2x2xf64>) -> tensor<5x5xf64>
    %244 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %245 = stablehlo.compare LT, %arg1, %244, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %246 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %247 = stablehlo.add %arg1, %246 : tensor<6xi32>
    %248 = stablehlo.select %245, %247, %arg1 : tensor<6xi1>, tensor<6xi32>
    %249 = stablehlo.broadcast_in_dim %248, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %250 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %251 = "stablehlo.scatter"(%arg0, %249, %250) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.subtract %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %252 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %253 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2x5xf64>
    %254 = "stablehlo.scatter"(%arg0, %252, %253) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<1xi32>, tensor<2x5xf64>) -> tensor<5x5xf64>
    %255 = stablehlo.slice %arg1 [0:1] : (tensor<6xi32>) -> tensor<1xi32>
    %256 = stablehlo.reshape %255 : (tensor<1xi32>) -> tensor<i32>
    %257 = stablehlo.compare LT, %256, %c_16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %258 = stablehlo.add %256, %c_15 : tensor<i32>
    %259 = stablehlo.select %257, %258, %256 : tensor<i1>, tensor<i32>
    %260 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %261 = stablehlo.broadcast_in_dim %259, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %262 = stablehlo.concatenate %260, %261, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %263 = "stablehlo.scatter"(%arg0, %262, %cst_3) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<2xi32>, tensor<f64>) -> tensor<5x5xf64>
    %264 = call @clip(%arg1, %c_2, %c_1) : (tensor<6xi32>, tensor<i64>, tensor<i64>) -> tensor<6xi32>
    %265 = stablehlo.slice %264 [0:2] : (tensor<6xi32>) -> tensor<2xi32>
    %266 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %267 = stablehlo.compare LT, %265, %266, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %268 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %269 = stablehlo.add %265, %268 : tensor<2xi32>
    %270 = stablehlo.select %267, %269, %265 : tensor<2xi1>, tensor<2xi32>
    %271 = stablehlo.broadcast_in_dim %270, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %272 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<2x5xf64>
    %273 = "stablehlo.scatter"(%arg0, %271, %272) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<2x1xi32>, tensor<2x5xf64>) -> tensor<5x5xf64>
    %274 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %275 = stablehlo.compare LT, %264, %274, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %276 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %277 = stablehlo.add %264, %276 : tensor<6xi32>
    %278 = stablehlo.select %275, %277, %264 : tensor<6xi1>, tensor<6xi32>
    %279 = stablehlo.broadcast_in_dim %278, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %280 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %281 = "stablehlo.scatter"(%arg0, %279, %280) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %282 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %283 = stablehlo.compare LT, %264, %282, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %284 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %285 = stablehlo.add %264, %284 : tensor<6xi32>
    %286 = stablehlo.select %283, %285, %264 : tensor<6xi1>, tensor<6xi32>
    %287 = stablehlo.broadcast_in_dim %286, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %288 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %289 = "stablehlo.scatter"(%arg0, %287, %288) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.maximum %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %290 = stablehlo.iota dim = 0 : tensor<5xf64>
    %291 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %292 = stablehlo.subtract %290, %291 : tensor<5xf64>
    %293 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %294 = stablehlo.compare LT, %264, %293, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %295 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %296 = stablehlo.add %264, %295 : tensor<6xi32>
    %297 = stablehlo.select %294, %296, %264 : tensor<6xi1>, tensor<6xi32>
    %298 = stablehlo.broadcast_in_dim %297, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %299 = stablehlo.broadcast_in_dim %292, dims = [1] : (tensor<5xf64>) -> tensor<6x5xf64>
    %300 = "stablehlo.scatter"(%arg0, %298, %299) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.minimum %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %301 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %302 = stablehlo.compare LT, %264, %301, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %303 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %304 = stablehlo.add %264, %303 : tensor<6xi32>
    %305 = stablehlo.select %302, %304, %264 : tensor<6xi1>, tensor<6xi32>
    %306 = stablehlo.broadcast_in_dim %305, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %307 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<5x6xf64>
    %308 = "stablehlo.scatter"(%arg0, %306, %307) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<5x6xf64>) -> tensor<5x5xf64>
    %309 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %310 = stablehlo.compare LT, %264, %309, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %311 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %312 = stablehlo.add %264, %311 : tensor<6xi32>
    %313 = stablehlo.select %310, %312, %264 : tensor<6xi1>, tensor<6xi32>
    %314 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %315 = stablehlo.compare LT, %264, %314, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %316 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %317 = stablehlo.add %264, %316 : tensor<6xi32>
    %318 = stablehlo.select %315, %317, %264 : tensor<6xi1>, tensor<6xi32>
    %319 = stablehlo.broadcast_in_dim %313, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %320 = stablehlo.broadcast_in_dim %318, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %321 = stablehlo.concatenate %319, %320, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    %322 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %323 = "stablehlo.scatter"(%arg0, %321, %322) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x2xi32>, tensor<6xf64>) -> tensor<5x5xf64>
    %324 = stablehlo.slice %264 [2:3] : (tensor<6xi32>) -> tensor<1xi32>
    %325 = stablehlo.reshape %324 : (tensor<1xi32>) -> tensor<i32>
    %326 = stablehlo.compare LT, %325, %c_16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %327 = stablehlo.add %325, %c_15 : tensor<i32>
    %328 = stablehlo.select %326, %327, %325 : tensor<i1>, tensor<i32>
    %329 = stablehlo.broadcast_in_dim %328, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %330 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %331 = "stablehlo.scatter"(%arg0, %329, %330) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.multiply %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<1xi32>, tensor<5xf64>) -> tensor<5x5xf64>
    %332 = stablehlo.slice %264 [4:5] : (tensor<6xi32>) -> tensor<1xi32>
    %333 = stablehlo.reshape %332 : (tensor<1xi32>) -> tensor<i32>
    %334 = stablehlo.compare LT, %333, %c_16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %335 = stablehlo.add %333, %c_15 : tensor<i32>
    %336 = stablehlo.select %334, %335, %333 : tensor<i1>, tensor<i32>
    %337 = stablehlo.broadcast_in_dim %336, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %338 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %339 = "stablehlo.scatter"(%arg0, %337, %338) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<1xi32>, tensor<5xf64>) -> tensor<5x5xf64>
    %340 = stablehlo.slice %264 [0:2] : (tensor<6xi32>) -> tensor<2xi32>
    %341 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %342 = stablehlo.compare LT, %340, %341, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %343 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %344 = stablehlo.add %340, %343 : tensor<2xi32>
    %345 = stablehlo.select %342, %344, %340 : tensor<2xi1>, tensor<2xi32>
    %346 = stablehlo.broadcast_in_dim %345, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %347 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<2x1xi32>
    %348 = stablehlo.concatenate %346, %347, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
    %349 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f64>) -> tensor<2x2xf64>
    %350 = "stablehlo.scatter"(%arg0, %348, %349) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<2x2xi32>, tensor<2x2xf64>) -> tensor<5x5xf64>
    %351 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %352 = stablehlo.compare LT, %264, %351, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %353 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %354 = stablehlo.add %264, %353 : tensor<6xi32>
    %355 = stablehlo.select %352, %354, %264 : tensor<6xi1>, tensor<6xi32>
    %356 = stablehlo.broadcast_in_dim %355, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %357 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %358 = "stablehlo.scatter"(%arg0, %356, %357) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.subtract %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<6x1xi32>, tensor<6x5xf64>) -> tensor<5x5xf64>
    %359 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %360 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<2x5xf64>
    %361 = "stablehlo.scatter"(%arg0, %359, %360) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<1xi32>, tensor<2x5xf64>) -> tensor<5x5xf64>
    %362 = stablehlo.slice %264 [0:1] : (tensor<6xi32>) -> tensor<1xi32>
    %363 = stablehlo.reshape %362 : (tensor<1xi32>) -> tensor<i32>
    %364 = stablehlo.compare LT, %363, %c_16, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %365 = stablehlo.add %363, %c_15 : tensor<i32>
    %366 = stablehlo.select %364, %365, %363 : tensor<i1>, tensor<i32>
    %367 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %368 = stablehlo.broadcast_in_dim %366, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %369 = stablehlo.concatenate %367, %368, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %370 = "stablehlo.scatter"(%arg0, %369, %cst_3) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<2xi32>, tensor<f64>) -> tensor<5x5xf64>
    %371 = stablehlo.slice %arg1 [0:5] : (tensor<6xi32>) -> tensor<5xi32>
    %372 = stablehlo.convert %arg0 : (tensor<5x5xf64>) -> tensor<5x5xi32>
    %373 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<5x5xf64>
    %374 = stablehlo.broadcast_in_dim %371, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %375 = "stablehlo.scatter"(%373, %374, %arg0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<5x1xi32>, tensor<5x5xf64>) -> tensor<5x5xf64>
    %376 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<5x5xf64>
    %377 = stablehlo.broadcast_in_dim %371, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %378 = "stablehlo.scatter"(%376, %377, %arg0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.maximum %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<5x1xi32>, tensor<5x5xf64>) -> tensor<5x5xf64>
    %379 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f64>) -> tensor<5x5xf64>
    %380 = "stablehlo.scatter"(%arg0, %c_17, %379) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      stablehlo.return %arg3 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<0xi32>, tensor<5x5xf64>) -> tensor<5x5xf64>
    %381 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<5x5xi32>
    %382 = stablehlo.broadcast_in_dim %371, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %383 = "stablehlo.scatter"(%381, %382, %372) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
      %410 = stablehlo.minimum %arg2, %arg3 : tensor<i32>
      stablehlo.return %410 : tensor<i32>
    }) : (tensor<5x5xi32>, tensor<5x1xi32>, tensor<5x5xi32>) -> tensor<5x5xi32>
    %384 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<5x5xi32>
    %385 = stablehlo.broadcast_in_dim %371, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %386 = "stablehlo.scatter"(%384, %385, %372) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
      %410 = stablehlo.maximum %arg2, %arg3 : tensor<i32>
      stablehlo.return %410 : tensor<i32>
    }) : (tensor<5x5xi32>, tensor<5x1xi32>, tensor<5x5xi32>) -> tensor<5x5xi32>
    %387 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %388 = stablehlo.compare LT, %c_18, %387, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %389 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %390 = stablehlo.add %c_18, %389 : tensor<2xi64>
    %391 = stablehlo.select %388, %390, %c_18 : tensor<2xi1>, tensor<2xi64>
    %392 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %393 = stablehlo.compare LT, %c_19, %392, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %394 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %395 = stablehlo.add %c_19, %394 : tensor<2xi64>
    %396 = stablehlo.select %393, %395, %c_19 : tensor<2xi1>, tensor<2xi64>
    %397 = stablehlo.convert %391 : (tensor<2xi64>) -> tensor<2xi32>
    %398 = stablehlo.convert %396 : (tensor<2xi64>) -> tensor<2xi32>
    %399 = stablehlo.broadcast_in_dim %397, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %400 = stablehlo.broadcast_in_dim %398, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %401 = stablehlo.concatenate %399, %400, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
    %402 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %403 = "stablehlo.scatter"(%arg0, %401, %402) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.multiply %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<5x5xf64>, tensor<2x2xi32>, tensor<2xf64>) -> tensor<5x5xf64>
    %404 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<0x5xf64>
    %405 = stablehlo.broadcast_in_dim %371, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %406 = "stablehlo.scatter"(%404, %405, %arg0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.add %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<0x5xf64>, tensor<5x1xi32>, tensor<5x5xf64>) -> tensor<0x5xf64>
    %407 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<0x5xf64>
    %408 = stablehlo.broadcast_in_dim %371, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %409 = "stablehlo.scatter"(%407, %408, %arg0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %410 = stablehlo.maximum %arg2, %arg3 : tensor<f64>
      stablehlo.return %410 : tensor<f64>
    }) : (tensor<0x5xf64>, tensor<5x1xi32>, tensor<5x5xf64>) -> tensor<0x5xf64>
    return %13, %26, %39, %55, %68, %88, %100, %112, %128, %141, %144, %157, %166, %174, %182, %193, %201, %216, %224, %232, %243, %251, %254, %263, %273, %281, %289, %300, %308, %323, %331, %339, %350, %358, %361, %370, %375, %378, %380, %383, %386, %403, %arg0, %406, %409 : tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<5x5xi32>, tensor<5x5xi32>, tensor<5x5xf64>, tensor<5x5xf64>, tensor<0x5xf64>, tensor<0x5xf64>
  }
  func.func private @clip(%arg0: tensor<6xi32>, %arg1: tensor<i64>, %arg2: tensor<i64>) -> tensor<6xi32> {
    %0 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<6xi32>
    %3 = stablehlo.convert %arg2 : (tensor<i64>) -> tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %5 = stablehlo.minimum %4, %2 : tensor<6xi32>
    return %5 : tensor<6xi32>
  }
}

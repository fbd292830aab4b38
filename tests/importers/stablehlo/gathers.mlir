module @jit_gathers attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x5xf64>, %arg1: tensor<6xi32>) -> (tensor<6x5xf64> {jax.result_info = "result[0]"}, tensor<6x5xf64> {jax.result_info = "result[1]"}, tensor<6x5xf64> {jax.result_info = "result[2]"}, tensor<5x6xf64> {jax.result_info = "result[3]"}, tensor<6xf64> {jax.result_info = "result[4]"}, tensor<6x6xf64> {jax.result_info = "result[5]"}, tensor<5x6xf64> {jax.result_info = "result[6]"}, tensor<6xf64> {jax.result_info = "result[7]"}, tensor<5x1xf64> {jax.result_info = "result[8]"}, tensor<5xf64> {jax.result_info = "result[9]"}, tensor<5xf64> {jax.result_info = "result[10]"}, tensor<5xf64> {jax.result_info = "result[11]"}, tensor<5x1xf64> {jax.result_info = "result[12]"}, tensor<5xf64> {jax.result_info = "result[13]"}, tensor<6x2xf64> {jax.result_info = "result[14]"}, tensor<3x6xf64> {jax.result_info = "result[15]"}, tensor<6x2xi64> {jax.result_info = "result[16]"}, tensor<6x2xui8> {jax.result_info = "result[17]"}, tensor<2x5xf64> {jax.result_info = "result[18]"}, tensor<6x5x1xf64> {jax.result_info = "result[19]"}, tensor<0x6xf64> {jax.result_info = "result[20]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<7.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<5> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %c_2 = stablehlo.constant dense<255> : tensor<ui8>
    %c_3 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
    %c_4 = stablehlo.constant dense<1> : tensor<1xi32>
    %c_5 = stablehlo.constant dense<2> : tensor<i32>
    %c_6 = stablehlo.constant dense<[4, 3]> : tensor<2xi32>
    %c_7 = stablehlo.constant dense<1> : tensor<i32>
    %c_8 = stablehlo.constant dense<4> : tensor<2xi32>
    %cst_9 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c_10 = stablehlo.constant dense<true> : tensor<i1>
    %c_11 = stablehlo.constant dense<4> : tensor<1xi32>
    %c_12 = stablehlo.constant dense<5> : tensor<i32>
    %c_13 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
    %c_14 = stablehlo.constant dense<[0, 2]> : tensor<2xi64>
    %c_15 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %2 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<6xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<6xi1>, tensor<6xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<5x5xf64>, tensor<6x1xi32>) -> tensor<6x5xf64>
    %7 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %8 = stablehlo.compare LT, %arg1, %7, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %9 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %10 = stablehlo.add %arg1, %9 : tensor<6xi32>
    %11 = stablehlo.select %8, %10, %arg1 : tensor<6xi1>, tensor<6xi32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %13 = "stablehlo.gather"(%arg0, %12) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<5x5xf64>, tensor<6x1xi32>) -> tensor<6x5xf64>
    %14 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %15 = stablehlo.compare LT, %arg1, %14, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %16 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %17 = stablehlo.add %arg1, %16 : tensor<6xi32>
    %18 = stablehlo.select %15, %17, %arg1 : tensor<6xi1>, tensor<6xi32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %20 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %21 = stablehlo.compare GE, %19, %20, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %22 = stablehlo.broadcast_in_dim %c_11, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<6x1xi32>
    %24 = stablehlo.compare LE, %19, %23, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %25 = stablehlo.and %21, %24 : tensor<6x1xi1>
    %26 = stablehlo.reduce(%25 init: %c_10) applies stablehlo.and across dimensions = [1] : (tensor<6x1xi1>, tensor<i1>) -> tensor<6xi1>
    %27 = "stablehlo.gather"(%arg0, %19) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<5x5xf64>, tensor<6x1xi32>) -> tensor<6x5xf64>
    %28 = stablehlo.broadcast_in_dim %26, dims = [0] : (tensor<6xi1>) -> tensor<6x5xi1>
    %29 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %30 = stablehlo.select %28, %27, %29 : tensor<6x5xi1>, tensor<6x5xf64>
    %31 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %32 = stablehlo.compare LT, %arg1, %31, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %33 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %34 = stablehlo.add %arg1, %33 : tensor<6xi32>
    %35 = stablehlo.select %32, %34, %arg1 : tensor<6xi1>, tensor<6xi32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %37 = "stablehlo.gather"(%arg0, %36) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 5, 1>}> : (tensor<5x5xf64>, tensor<6x1xi32>) -> tensor<5x6xf64>
    %38 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %39 = stablehlo.compare LT, %arg1, %38, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %40 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %41 = stablehlo.add %arg1, %40 : tensor<6xi32>
    %42 = stablehlo.select %39, %41, %arg1 : tensor<6xi1>, tensor<6xi32>
    %43 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %44 = stablehlo.compare LT, %arg1, %43, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %45 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %46 = stablehlo.add %arg1, %45 : tensor<6xi32>
    %47 = stablehlo.select %44, %46, %arg1 : tensor<6xi1>, tensor<6xi32>
    %48 = stablehlo.broadcast_in_dim %42, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %49 = stablehlo.broadcast_in_dim %47, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %50 = stablehlo.concatenate %48, %49, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    %51 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6x2xi32>
    %52 = stablehlo.compare GE, %50, %51, SIGNED : (tensor<6x2xi32>, tensor<6x2xi32>) -> tensor<6x2xi1>
    %53 = stablehlo.broadcast_in_dim %c_8, dims = [1] : (tensor<2xi32>) -> tensor<1x2xi32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1] : (tensor<1x2xi32>) -> tensor<6x2xi32>
    %55 = stablehlo.compare LE, %50, %54, SIGNED : (tensor<6x2xi32>, tensor<6x2xi32>) -> tensor<6x2xi1>
    %56 = stablehlo.and %52, %55 : tensor<6x2xi1>
    %57 = stablehlo.reduce(%56 init: %c_10) applies stablehlo.and across dimensions = [1] : (tensor<6x2xi1>, tensor<i1>) -> tensor<6xi1>
    %58 = "stablehlo.gather"(%arg0, %50) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x5xf64>, tensor<6x2xi32>) -> tensor<6xf64>
    %59 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %60 = stablehlo.select %57, %58, %59 : tensor<6xi1>, tensor<6xf64>
    %61 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %62 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<6xi32>) -> tensor<1x6xi32>
    %63 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %64 = stablehlo.compare LT, %61, %63, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %65 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %66 = stablehlo.add %61, %65 : tensor<6x1xi32>
    %67 = stablehlo.select %64, %66, %61 : tensor<6x1xi1>, tensor<6x1xi32>
    %68 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<1x6xi32>
    %69 = stablehlo.compare LT, %62, %68, SIGNED : (tensor<1x6xi32>, tensor<1x6xi32>) -> tensor<1x6xi1>
    %70 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<1x6xi32>
    %71 = stablehlo.add %62, %70 : tensor<1x6xi32>
    %72 = stablehlo.select %69, %71, %62 : tensor<1x6xi1>, tensor<1x6xi32>
    %73 = stablehlo.broadcast_in_dim %67, dims = [0, 1] : (tensor<6x1xi32>) -> tensor<6x6xi32>
    %74 = stablehlo.broadcast_in_dim %72, dims = [0, 1] : (tensor<1x6xi32>) -> tensor<6x6xi32>
    %75 = stablehlo.broadcast_in_dim %73, dims = [0, 1] : (tensor<6x6xi32>) -> tensor<6x6x1xi32>
    %76 = stablehlo.broadcast_in_dim %74, dims = [0, 1] : (tensor<6x6xi32>) -> tensor<6x6x1xi32>
    %77 = stablehlo.concatenate %75, %76, dim = 2 : (tensor<6x6x1xi32>, tensor<6x6x1xi32>) -> tensor<6x6x2xi32>
    %78 = "stablehlo.gather"(%arg0, %77) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x5xf64>, tensor<6x6x2xi32>) -> tensor<6x6xf64>
    %79 = call @_take(%arg0, %arg1) : (tensor<5x5xf64>, tensor<6xi32>) -> tensor<5x6xf64>
    %80 = call @_take_0(%arg0, %arg1) : (tensor<5x5xf64>, tensor<6xi32>) -> tensor<6xf64>
    %81 = stablehlo.slice %arg1 [0:5] : (tensor<6xi32>) -> tensor<5xi32>
    %82 = stablehlo.broadcast_in_dim %81, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %83 = call @take_along_axis(%arg0, %82) : (tensor<5x5xf64>, tensor<5x1xi32>) -> tensor<5x1xf64>
    %84 = stablehlo.slice %arg0 [2:3, 0:5] : (tensor<5x5xf64>) -> tensor<1x5xf64>
    %85 = stablehlo.reshape %84 : (tensor<1x5xf64>) -> tensor<5xf64>
    %86 = stablehlo.slice %arg0 [4:5, 0:5] : (tensor<5x5xf64>) -> tensor<1x5xf64>
    %87 = stablehlo.reshape %86 : (tensor<1x5xf64>) -> tensor<5xf64>
    %88 = stablehlo.slice %arg1 [0:1] : (tensor<6xi32>) -> tensor<1xi32>
    %89 = stablehlo.reshape %88 : (tensor<1xi32>) -> tensor<i32>
    %90 = stablehlo.compare LT, %89, %c_15, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %91 = stablehlo.add %89, %c_12 : tensor<i32>
    %92 = stablehlo.select %90, %91, %89 : tensor<i1>, tensor<i32>
    %93 = stablehlo.compare LT, %c_15, %c_15, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %94 = stablehlo.add %c_15, %c_12 : tensor<i32>
    %95 = stablehlo.select %93, %94, %c_15 : tensor<i1>, tensor<i32>
    %96 = stablehlo.dynamic_slice %arg0, %92, %95, sizes = [1, 5] : (tensor<5x5xf64>, tensor<i32>, tensor<i32>) -> tensor<1x5xf64>
    %97 = stablehlo.reshape %96 : (tensor<1x5xf64>) -> tensor<5xf64>
    %98 = stablehlo.slice %arg0 [0:5, 1:2] : (tensor<5x5xf64>) -> tensor<5x1xf64>
    %99 = stablehlo.reshape %98 : (tensor<5x1xf64>) -> tensor<5xf64>
    %100 = stablehlo.broadcast_in_dim %99, dims = [0] : (tensor<5xf64>) -> tensor<5x1xf64>
    %101 = stablehlo.slice %arg1 [4:5] : (tensor<6xi32>) -> tensor<1xi32>
    %102 = stablehlo.reshape %101 : (tensor<1xi32>) -> tensor<i32>
    %103 = stablehlo.compare LT, %102, %c_15, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %104 = stablehlo.add %102, %c_12 : tensor<i32>
    %105 = stablehlo.select %103, %104, %102 : tensor<i1>, tensor<i32>
    %106 = stablehlo.broadcast_in_dim %105, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %107 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %108 = stablehlo.compare GE, %106, %107, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %109 = stablehlo.compare LE, %106, %c_11, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %110 = stablehlo.and %108, %109 : tensor<1xi1>
    %111 = stablehlo.reduce(%110 init: %c_10) applies stablehlo.and across dimensions = [0] : (tensor<1xi1>, tensor<i1>) -> tensor<i1>
    %112 = "stablehlo.gather"(%arg0, %106) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, indices_are_sorted = true, slice_sizes = array<i64: 1, 5>}> : (tensor<5x5xf64>, tensor<1xi32>) -> tensor<5xf64>
    %113 = stablehlo.broadcast_in_dim %111, dims = [] : (tensor<i1>) -> tensor<5xi1>
    %114 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %115 = stablehlo.select %113, %112, %114 : tensor<5xi1>, tensor<5xf64>
    %116 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %117 = stablehlo.compare LT, %arg1, %116, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %118 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %119 = stablehlo.add %arg1, %118 : tensor<6xi32>
    %120 = stablehlo.select %117, %119, %arg1 : tensor<6xi1>, tensor<6xi32>
    %121 = stablehlo.broadcast_in_dim %120, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %122 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %123 = stablehlo.concatenate %121, %122, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    %124 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6x2xi32>
    %125 = stablehlo.compare GE, %123, %124, SIGNED : (tensor<6x2xi32>, tensor<6x2xi32>) -> tensor<6x2xi1>
    %126 = stablehlo.broadcast_in_dim %c_6, dims = [1] : (tensor<2xi32>) -> tensor<1x2xi32>
    %127 = stablehlo.broadcast_in_dim %126, dims = [0, 1] : (tensor<1x2xi32>) -> tensor<6x2xi32>
    %128 = stablehlo.compare LE, %123, %127, SIGNED : (tensor<6x2xi32>, tensor<6x2xi32>) -> tensor<6x2xi1>
    %129 = stablehlo.and %125, %128 : tensor<6x2xi1>
    %130 = stablehlo.reduce(%129 init: %c_10) applies stablehlo.and across dimensions = [1] : (tensor<6x2xi1>, tensor<i1>) -> tensor<6xi1>
    %131 = "stablehlo.gather"(%arg0, %123) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<5x5xf64>, tensor<6x2xi32>) -> tensor<6x2xf64>
    %132 = stablehlo.broadcast_in_dim %130, dims = [0] : (tensor<6xi1>) -> tensor<6x2xi1>
    %133 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f64>) -> tensor<6x2xf64>
    %134 = stablehlo.select %132, %131, %133 : tensor<6x2xi1>, tensor<6x2xf64>
    %135 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %136 = stablehlo.compare LT, %arg1, %135, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %137 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %138 = stablehlo.add %arg1, %137 : tensor<6xi32>
    %139 = stablehlo.select %136, %138, %arg1 : tensor<6xi1>, tensor<6xi32>
    %140 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %141 = stablehlo.broadcast_in_dim %139, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %142 = stablehlo.concatenate %140, %141, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    %143 = "stablehlo.gather"(%arg0, %142) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 3, 1>}> : (tensor<5x5xf64>, tensor<6x2xi32>) -> tensor<3x6xf64>
    %144 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %145 = stablehlo.compare LT, %arg1, %144, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %146 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %147 = stablehlo.add %arg1, %146 : tensor<6xi32>
    %148 = stablehlo.select %145, %147, %arg1 : tensor<6xi1>, tensor<6xi32>
    %149 = stablehlo.broadcast_in_dim %148, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %150 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %151 = stablehlo.compare GE, %149, %150, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %152 = stablehlo.broadcast_in_dim %c_4, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %153 = stablehlo.broadcast_in_dim %152, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<6x1xi32>
    %154 = stablehlo.compare LE, %149, %153, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %155 = stablehlo.and %151, %154 : tensor<6x1xi1>
    %156 = stablehlo.reduce(%155 init: %c_10) applies stablehlo.and across dimensions = [1] : (tensor<6x1xi1>, tensor<i1>) -> tensor<6xi1>
    %157 = "stablehlo.gather"(%c_13, %149) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<2x2xi64>, tensor<6x1xi32>) -> tensor<6x2xi64>
    %158 = stablehlo.broadcast_in_dim %156, dims = [0] : (tensor<6xi1>) -> tensor<6x2xi1>
    %159 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i64>) -> tensor<6x2xi64>
    %160 = stablehlo.select %158, %157, %159 : tensor<6x2xi1>, tensor<6x2xi64>
    %161 = stablehlo.convert %c_13 : (tensor<2x2xi64>) -> tensor<2x2xui8>
    %162 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %163 = stablehlo.compare LT, %arg1, %162, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %164 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %165 = stablehlo.add %arg1, %164 : tensor<6xi32>
    %166 = stablehlo.select %163, %165, %arg1 : tensor<6xi1>, tensor<6xi32>
    %167 = stablehlo.broadcast_in_dim %166, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %168 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %169 = stablehlo.compare GE, %167, %168, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %170 = stablehlo.broadcast_in_dim %c_4, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %171 = stablehlo.broadcast_in_dim %170, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<6x1xi32>
    %172 = stablehlo.compare LE, %167, %171, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %173 = stablehlo.and %169, %172 : tensor<6x1xi1>
    %174 = stablehlo.reduce(%173 init: %c_10) applies stablehlo.and across dimensions = [1] : (tensor<6x1xi1>, tensor<i1>) -> tensor<6xi1>
    %175 = "stablehlo.gather"(%161, %167) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<2x2xui8>, tensor<6x1xi32>) -> tensor<6x2xui8>
    %176 = stablehlo.broadcast_in_dim %174, dims = [0] : (tensor<6xi1>) -> tensor<6x2xi1>
    %177 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui8>) -> tensor<6x2xui8>
    %178 = stablehlo.select %176, %175, %177 : tensor<6x2xi1>, tensor<6x2xui8>
    %179 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %180 = stablehlo.compare LT, %c_14, %179, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
    %181 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2xi64>
    %182 = stablehlo.add %c_14, %181 : tensor<2xi64>
    %183 = stablehlo.select %180, %182, %c_14 : tensor<2xi1>, tensor<2xi64>
    %184 = stablehlo.convert %183 : (tensor<2xi64>) -> tensor<2xi32>
    %185 = stablehlo.broadcast_in_dim %184, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %186 = "stablehlo.gather"(%arg0, %185) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<5x5xf64>, tensor<2x1xi32>) -> tensor<2x5xf64>
    %187 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %188 = stablehlo.compare LT, %arg1, %187, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %189 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %190 = stablehlo.add %arg1, %189 : tensor<6xi32>
    %191 = stablehlo.select %188, %190, %arg1 : tensor<6xi1>, tensor<6xi32>
    %192 = stablehlo.broadcast_in_dim %191, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %193 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %194 = stablehlo.compare GE, %192, %193, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %195 = stablehlo.broadcast_in_dim %c_11, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %196 = stablehlo.broadcast_in_dim %195, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<6x1xi32>
    %197 = stablehlo.compare LE, %192, %196, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %198 = stablehlo.and %194, %197 : tensor<6x1xi1>
    %199 = stablehlo.reduce(%198 init: %c_10) applies stablehlo.and across dimensions = [1] : (tensor<6x1xi1>, tensor<i1>) -> tensor<6xi1>
    %200 = "stablehlo.gather"(%arg0, %192) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<5x5xf64>, tensor<6x1xi32>) -> tensor<6x5xf64>
    %201 = stablehlo.broadcast_in_dim %199, dims = [0] : (tensor<6xi1>) -> tensor<6x5xi1>
    %202 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<6x5xf64>
    %203 = stablehlo.select %201, %200, %202 : tensor<6x5xi1>, tensor<6x5xf64>
    %204 = stablehlo.broadcast_in_dim %203, dims = [0, 1] : (tensor<6x5xf64>) -> tensor<6x5x1xf64>
    %205 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<0x6xf64>
    return %6, %13, %30, %37, %60, %78, %79, %80, %83, %85, %87, %97, %100, %115, %134, %143, %160, %178, %186, %204, %205 : tensor<6x5xf64>, tensor<6x5xf64>, tensor<6x5xf64>, tensor<5x6xf64>, tensor<6xf64>, tensor<6x6xf64>, tensor<5x6xf64>, tensor<6xf64>, tensor<5x1xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5x1xf64>, tensor<5xf64>, tensor<6x2xf64>, tensor<3x6xf64>, tensor<6x2xi64>, tensor<6x2xui8>, tensor<2x5xf64>, tensor<6x5x1xf64>, tensor<0x6xf64>
  }
  func.func private @_take(%arg0: tensor<5x5xf64>, %arg1: tensor<6xi32>) -> tensor<5x6xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %c_0 = stablehlo.constant dense<4> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<5> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %2 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<6xi32>
    %4 = call @_where(%1, %3, %arg1) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<6x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<6x1xi1>
    %12 = stablehlo.reduce(%11 init: %c) applies stablehlo.and across dimensions = [1] : (tensor<6x1xi1>, tensor<i1>) -> tensor<6xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 5, 1>}> : (tensor<5x5xf64>, tensor<6x1xi32>) -> tensor<5x6xf64>
    %14 = stablehlo.broadcast_in_dim %12, dims = [1] : (tensor<6xi1>) -> tensor<5x6xi1>
    %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<5x6xf64>
    %16 = stablehlo.select %14, %13, %15 : tensor<5x6xi1>, tensor<5x6xf64>
    return %16 : tensor<5x6xf64>
  }
  func.func private @_where(%arg0: tensor<6xi1>, %arg1: tensor<6xi32>, %arg2: tensor<6xi32>) -> tensor<6xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<6xi1>, tensor<6xi32>
    return %0 : tensor<6xi32>
  }
  func.func private @_take_0(%arg0: tensor<5x5xf64>, %arg1: tensor<6xi32>) -> tensor<6xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %c_0 = stablehlo.constant dense<24> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<25> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.reshape %arg0 : (tensor<5x5xf64>) -> tensor<25xf64>
    %1 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %2 = stablehlo.compare LT, %arg1, %1, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %3 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %4 = stablehlo.add %arg1, %3 : tensor<6xi32>
    %5 = call @_where(%2, %4, %arg1) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %8 = stablehlo.compare GE, %6, %7, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %9 = stablehlo.broadcast_in_dim %c_0, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<6x1xi32>
    %11 = stablehlo.compare LE, %6, %10, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %12 = stablehlo.and %8, %11 : tensor<6x1xi1>
    %13 = stablehlo.reduce(%12 init: %c) applies stablehlo.and across dimensions = [1] : (tensor<6x1xi1>, tensor<i1>) -> tensor<6xi1>
    %14 = "stablehlo.gather"(%0, %6) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<25xf64>, tensor<6x1xi32>) -> tensor<6xf64>
    %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %16 = stablehlo.select %13, %14, %15 : tensor<6xi1>, tensor<6xf64>
    return %16 : tensor<6xf64>
  }
  func.func private @take_along_axis(%arg0: tensor<5x5xf64>, %arg1: tensor<5x1xi32>) -> tensor<5x1xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %c_0 = stablehlo.constant dense<4> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<5> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<5x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<5x1xi32>, tensor<5x1xi32>) -> tensor<5x1xi1>
    %2 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<5x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<5x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<5x1xi1>, tensor<5x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<5x1xi32>) -> tensor<5x1x1xi32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<5x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<5x1x1xi32>, tensor<5x1x1xi32>) -> tensor<5x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<5x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<5x1x1xi32>, tensor<5x1x1xi32>) -> tensor<5x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<5x1x1xi1>
    %12 = stablehlo.reduce(%11 init: %c) applies stablehlo.and across dimensions = [2] : (tensor<5x1x1xi1>, tensor<i1>) -> tensor<5x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x5xf64>, tensor<5x1x1xi32>) -> tensor<5x1xf64>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<5x1xf64>
    %15 = stablehlo.select %12, %13, %14 : tensor<5x1xi1>, tensor<5x1xf64>
    return %15 : tensor<5x1xf64>
  }
}

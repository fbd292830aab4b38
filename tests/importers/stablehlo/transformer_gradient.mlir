module @jit_transformer attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8x8xf32>, %arg3: tensor<8x8xf32>, %arg4: tensor<8x8xf32>, %arg5: tensor<8x16xf32>, %arg6: tensor<8x8xf32>, %arg7: tensor<8x8xf32>, %arg8: tensor<11x8xf32>, %arg9: tensor<6xi32>, %arg10: tensor<6xi32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<16x8xf32> {jax.result_info = "result[1]['blocks'][0]['down']"}, tensor<8xf32> {jax.result_info = "result[1]['blocks'][0]['gain']"}, tensor<8x8xf32> {jax.result_info = "result[1]['blocks'][0]['k']"}, tensor<8x8xf32> {jax.result_info = "result[1]['blocks'][0]['o']"}, tensor<8x8xf32> {jax.result_info = "result[1]['blocks'][0]['q']"}, tensor<8x16xf32> {jax.result_info = "result[1]['blocks'][0]['up']"}, tensor<8x8xf32> {jax.result_info = "result[1]['blocks'][0]['v']"}, tensor<8x8xf32> {jax.result_info = "result[1]['places']"}, tensor<11x8xf32> {jax.result_info = "result[1]['tokens']"}) {
    %cst = stablehlo.constant dense<6.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %cst_1 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %cst_2 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_4 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_6 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %cst_7 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %cst_8 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_9 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_11 = stablehlo.constant dense<11> : tensor<i32>
    %c_12 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %1 = stablehlo.compare LT, %arg9, %0, SIGNED : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %2 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<6xi32>
    %3 = stablehlo.add %arg9, %2 : tensor<6xi32>
    %4 = stablehlo.select %1, %3, %arg9 : tensor<6xi1>, tensor<6xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %6 = "stablehlo.gather"(%arg8, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<11x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
    %7 = stablehlo.slice %arg7 [0:6, 0:8] : (tensor<8x8xf32>) -> tensor<6x8xf32>
    %8 = stablehlo.add %6, %7 : tensor<6x8xf32>
    %9 = stablehlo.reduce(%8 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %11 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<6x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x8xf32>
    %14 = stablehlo.subtract %8, %13 : tensor<6x8xf32>
    %15 = stablehlo.multiply %14, %14 : tensor<6x8xf32>
    %16 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<6x8xf32>
    %17 = stablehlo.multiply %16, %14 : tensor<6x8xf32>
    %18 = stablehlo.reduce(%15 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %20 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %21 = stablehlo.divide %19, %20 : tensor<6x1xf32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %23 = stablehlo.add %21, %22 : tensor<6x1xf32>
    %24 = stablehlo.sqrt %23 : tensor<6x1xf32>
    %25 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %26 = stablehlo.divide %25, %24 : tensor<6x1xf32>
    %27 = stablehlo.broadcast_in_dim %24, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x8xf32>
    %28 = stablehlo.divide %14, %27 : tensor<6x8xf32>
    %29 = stablehlo.multiply %24, %24 : tensor<6x1xf32>
    %30 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %31 = stablehlo.divide %30, %29 : tensor<6x1xf32>
    %32 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<6x8xf32>
    %34 = stablehlo.multiply %28, %33 : tensor<6x8xf32>
    %35 = stablehlo.dot_general %34, %arg4, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %36 = stablehlo.reshape %35 : (tensor<6x8xf32>) -> tensor<6x2x4xf32>
    %37 = stablehlo.dot_general %34, %arg2, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %38 = stablehlo.reshape %37 : (tensor<6x8xf32>) -> tensor<6x2x4xf32>
    %39 = stablehlo.dot_general %34, %arg6, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %40 = stablehlo.reshape %39 : (tensor<6x8xf32>) -> tensor<6x2x4xf32>
    %41 = stablehlo.dot_general %36, %38, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<6x2x4xf32>, tensor<6x2x4xf32>) -> tensor<2x6x6xf32>
    %42 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x6x6xf32>
    %43 = stablehlo.divide %41, %42 : tensor<2x6x6xf32>
    %44 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<6x6xi1>
    %45 = call @tril(%44) : (tensor<6x6xi1>) -> tensor<6x6xi1>
    %46:2 = call @_where(%45, %43, %cst_4) : (tensor<6x6xi1>, tensor<2x6x6xf32>, tensor<f64>) -> (tensor<2x6x6xf32>, tensor<2x6x6xi1>)
    %47 = stablehlo.reduce(%46#0 init: %cst_3) applies stablehlo.maximum across dimensions = [2] : (tensor<2x6x6xf32>, tensor<f32>) -> tensor<2x6xf32>
    %48 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x6xf32>
    %49 = stablehlo.maximum %48, %47 : tensor<2x6xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1] : (tensor<2x6xf32>) -> tensor<2x6x1xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2] : (tensor<2x6x1xf32>) -> tensor<2x6x6xf32>
    %52 = stablehlo.subtract %46#0, %51 : tensor<2x6x6xf32>
    %53 = stablehlo.exponential %52 : tensor<2x6x6xf32>
    %54 = stablehlo.reduce(%53 init: %cst_10) applies stablehlo.add across dimensions = [2] : (tensor<2x6x6xf32>, tensor<f32>) -> tensor<2x6xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1] : (tensor<2x6xf32>) -> tensor<2x6x1xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2] : (tensor<2x6x1xf32>) -> tensor<2x6x6xf32>
    %57 = stablehlo.divide %53, %56 : tensor<2x6x6xf32>
    %58 = stablehlo.multiply %55, %55 : tensor<2x6x1xf32>
    %59 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x6x1xf32>
    %60 = stablehlo.divide %59, %58 : tensor<2x6x1xf32>
    %61 = stablehlo.dot_general %40, %57, batching_dims = [1] x [0], contracting_dims = [0] x [2] : (tensor<6x2x4xf32>, tensor<2x6x6xf32>) -> tensor<2x4x6xf32>
    %62 = stablehlo.transpose %61, dims = [2, 0, 1] : (tensor<2x4x6xf32>) -> tensor<6x2x4xf32>
    %63 = stablehlo.reshape %62 : (tensor<6x2x4xf32>) -> tensor<6x8xf32>
    %64 = stablehlo.dot_general %63, %arg3, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %65 = stablehlo.add %8, %64 : tensor<6x8xf32>
    %66 = stablehlo.reduce(%65 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %68 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %69 = stablehlo.divide %67, %68 : tensor<6x1xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x8xf32>
    %71 = stablehlo.subtract %65, %70 : tensor<6x8xf32>
    %72 = stablehlo.multiply %71, %71 : tensor<6x8xf32>
    %73 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<6x8xf32>
    %74 = stablehlo.multiply %73, %71 : tensor<6x8xf32>
    %75 = stablehlo.reduce(%72 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %77 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %78 = stablehlo.divide %76, %77 : tensor<6x1xf32>
    %79 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %80 = stablehlo.add %78, %79 : tensor<6x1xf32>
    %81 = stablehlo.sqrt %80 : tensor<6x1xf32>
    %82 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %83 = stablehlo.divide %82, %81 : tensor<6x1xf32>
    %84 = stablehlo.broadcast_in_dim %81, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x8xf32>
    %85 = stablehlo.divide %71, %84 : tensor<6x8xf32>
    %86 = stablehlo.multiply %81, %81 : tensor<6x1xf32>
    %87 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %88 = stablehlo.divide %87, %86 : tensor<6x1xf32>
    %89 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %90 = stablehlo.broadcast_in_dim %89, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<6x8xf32>
    %91 = stablehlo.multiply %85, %90 : tensor<6x8xf32>
    %92 = stablehlo.dot_general %91, %arg5, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x16xf32>) -> tensor<6x16xf32>
    %93 = stablehlo.multiply %92, %92 : tensor<6x16xf32>
    %94 = stablehlo.multiply %93, %92 : tensor<6x16xf32>
    %95 = stablehlo.multiply %92, %92 : tensor<6x16xf32>
    %96 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<6x16xf32>
    %97 = stablehlo.multiply %96, %95 : tensor<6x16xf32>
    %98 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x16xf32>
    %99 = stablehlo.multiply %98, %94 : tensor<6x16xf32>
    %100 = stablehlo.add %92, %99 : tensor<6x16xf32>
    %101 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6x16xf32>
    %102 = stablehlo.multiply %101, %100 : tensor<6x16xf32>
    %103 = stablehlo.tanh %102 : tensor<6x16xf32>
    %104 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<6x16xf32>
    %105 = stablehlo.subtract %104, %103 : tensor<6x16xf32>
    %106 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<6x16xf32>
    %107 = stablehlo.add %106, %103 : tensor<6x16xf32>
    %108 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<6x16xf32>
    %109 = stablehlo.multiply %108, %107 : tensor<6x16xf32>
    %110 = stablehlo.multiply %92, %109 : tensor<6x16xf32>
    %111 = stablehlo.dot_general %110, %arg0, contracting_dims = [1] x [0] : (tensor<6x16xf32>, tensor<16x8xf32>) -> tensor<6x8xf32>
    %112 = stablehlo.add %65, %111 : tensor<6x8xf32>
    %113 = stablehlo.transpose %arg8, dims = [1, 0] : (tensor<11x8xf32>) -> tensor<8x11xf32>
    %114 = stablehlo.dot_general %112, %113, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x11xf32>) -> tensor<6x11xf32>
    %115:3 = call @log_softmax(%114) : (tensor<6x11xf32>) -> (tensor<6x11xf32>, tensor<6x11xf32>, tensor<6x1xf32>)
    %116 = stablehlo.broadcast_in_dim %arg10, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %117:2 = call @take_along_axis(%115#0, %116) : (tensor<6x11xf32>, tensor<6x1xi32>) -> (tensor<6x1xf32>, tensor<6x1x1xi32>)
    %118 = stablehlo.reduce(%117#0 init: %cst_10) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x1xf32>, tensor<f32>) -> tensor<f32>
    %119 = stablehlo.divide %118, %cst : tensor<f32>
    %120 = stablehlo.negate %119 : tensor<f32>
    %121 = stablehlo.negate %cst_5 : tensor<f32>
    %122 = stablehlo.divide %121, %cst : tensor<f32>
    %123 = stablehlo.broadcast_in_dim %122, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %124 = call @take_along_axis_0(%117#1, %123) : (tensor<6x1x1xi32>, tensor<6x1xf32>) -> tensor<6x11xf32>
    %125 = call @log_softmax_1(%115#1, %115#2, %124) : (tensor<6x11xf32>, tensor<6x1xf32>, tensor<6x11xf32>) -> tensor<6x11xf32>
    %126 = stablehlo.dot_general %125, %112, contracting_dims = [0] x [0] : (tensor<6x11xf32>, tensor<6x8xf32>) -> tensor<11x8xf32>
    %127 = stablehlo.transpose %126, dims = [1, 0] : (tensor<11x8xf32>) -> tensor<8x11xf32>
    %128 = stablehlo.dot_general %125, %113, contracting_dims = [1] x [1] : (tensor<6x11xf32>, tensor<8x11xf32>) -> tensor<6x8xf32>
    %129 = stablehlo.transpose %127, dims = [1, 0] : (tensor<8x11xf32>) -> tensor<11x8xf32>
    %130 = stablehlo.dot_general %128, %110, contracting_dims = [0] x [0] : (tensor<6x8xf32>, tensor<6x16xf32>) -> tensor<8x16xf32>
    %131 = stablehlo.transpose %130, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %132 = stablehlo.dot_general %128, %arg0, contracting_dims = [1] x [1] : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
    %133 = stablehlo.multiply %92, %132 : tensor<6x16xf32>
    %134 = stablehlo.multiply %132, %109 : tensor<6x16xf32>
    %135 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<6x16xf32>
    %136 = stablehlo.multiply %135, %133 : tensor<6x16xf32>
    %137 = stablehlo.multiply %136, %105 : tensor<6x16xf32>
    %138 = stablehlo.multiply %137, %103 : tensor<6x16xf32>
    %139 = stablehlo.add %137, %138 : tensor<6x16xf32>
    %140 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6x16xf32>
    %141 = stablehlo.multiply %140, %139 : tensor<6x16xf32>
    %142 = stablehlo.add %134, %141 : tensor<6x16xf32>
    %143 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<6x16xf32>
    %144 = stablehlo.multiply %143, %141 : tensor<6x16xf32>
    %145 = stablehlo.multiply %144, %97 : tensor<6x16xf32>
    %146 = stablehlo.add %142, %145 : tensor<6x16xf32>
    %147 = stablehlo.dot_general %146, %91, contracting_dims = [0] x [0] : (tensor<6x16xf32>, tensor<6x8xf32>) -> tensor<16x8xf32>
    %148 = stablehlo.transpose %147, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %149 = stablehlo.dot_general %146, %arg5, contracting_dims = [1] x [1] : (tensor<6x16xf32>, tensor<8x16xf32>) -> tensor<6x8xf32>
    %150 = stablehlo.multiply %85, %149 : tensor<6x8xf32>
    %151 = stablehlo.reduce(%150 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<6x8xf32>, tensor<f32>) -> tensor<8xf32>
    %152 = stablehlo.reshape %151 : (tensor<8xf32>) -> tensor<1x8xf32>
    %153 = stablehlo.broadcast_in_dim %89, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<6x8xf32>
    %154 = stablehlo.multiply %149, %153 : tensor<6x8xf32>
    %155 = stablehlo.reduce(%152 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %156 = stablehlo.broadcast_in_dim %88, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x8xf32>
    %157 = stablehlo.multiply %154, %156 : tensor<6x8xf32>
    %158 = stablehlo.multiply %157, %71 : tensor<6x8xf32>
    %159 = stablehlo.reduce(%158 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
    %160 = stablehlo.reshape %159 : (tensor<6xf32>) -> tensor<6x1xf32>
    %161 = stablehlo.negate %160 : tensor<6x1xf32>
    %162 = stablehlo.broadcast_in_dim %81, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x8xf32>
    %163 = stablehlo.divide %154, %162 : tensor<6x8xf32>
    %164 = stablehlo.multiply %161, %83 : tensor<6x1xf32>
    %165 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %166 = stablehlo.divide %164, %165 : tensor<6x1xf32>
    %167 = stablehlo.reduce(%166 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x1xf32>, tensor<f32>) -> tensor<6xf32>
    %168 = stablehlo.broadcast_in_dim %167, dims = [0] : (tensor<6xf32>) -> tensor<6x8xf32>
    %169 = stablehlo.multiply %168, %74 : tensor<6x8xf32>
    %170 = stablehlo.add %163, %169 : tensor<6x8xf32>
    %171 = stablehlo.negate %170 : tensor<6x8xf32>
    %172 = stablehlo.reduce(%171 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
    %173 = stablehlo.reshape %172 : (tensor<6xf32>) -> tensor<6x1xf32>
    %174 = stablehlo.add %128, %170 : tensor<6x8xf32>
    %175 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %176 = stablehlo.divide %173, %175 : tensor<6x1xf32>
    %177 = stablehlo.reduce(%176 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x1xf32>, tensor<f32>) -> tensor<6xf32>
    %178 = stablehlo.broadcast_in_dim %177, dims = [0] : (tensor<6xf32>) -> tensor<6x8xf32>
    %179 = stablehlo.add %174, %178 : tensor<6x8xf32>
    %180 = stablehlo.dot_general %179, %63, contracting_dims = [0] x [0] : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
    %181 = stablehlo.transpose %180, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %182 = stablehlo.dot_general %179, %arg3, contracting_dims = [1] x [1] : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %183 = stablehlo.reshape %182 : (tensor<6x8xf32>) -> tensor<6x2x4xf32>
    %184 = stablehlo.transpose %183, dims = [1, 2, 0] : (tensor<6x2x4xf32>) -> tensor<2x4x6xf32>
    %185 = stablehlo.dot_general %184, %40, batching_dims = [0] x [1], contracting_dims = [1] x [2] : (tensor<2x4x6xf32>, tensor<6x2x4xf32>) -> tensor<2x6x6xf32>
    %186 = stablehlo.dot_general %184, %57, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x6xf32>) -> tensor<2x4x6xf32>
    %187 = stablehlo.transpose %186, dims = [2, 0, 1] : (tensor<2x4x6xf32>) -> tensor<6x2x4xf32>
    %188 = stablehlo.broadcast_in_dim %60, dims = [0, 1, 2] : (tensor<2x6x1xf32>) -> tensor<2x6x6xf32>
    %189 = stablehlo.multiply %185, %188 : tensor<2x6x6xf32>
    %190 = stablehlo.multiply %189, %53 : tensor<2x6x6xf32>
    %191 = stablehlo.reduce(%190 init: %cst_10) applies stablehlo.add across dimensions = [2] : (tensor<2x6x6xf32>, tensor<f32>) -> tensor<2x6xf32>
    %192 = stablehlo.reshape %191 : (tensor<2x6xf32>) -> tensor<2x6x1xf32>
    %193 = stablehlo.negate %192 : tensor<2x6x1xf32>
    %194 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2] : (tensor<2x6x1xf32>) -> tensor<2x6x6xf32>
    %195 = stablehlo.divide %185, %194 : tensor<2x6x6xf32>
    %196 = stablehlo.reduce(%193 init: %cst_10) applies stablehlo.add across dimensions = [2] : (tensor<2x6x1xf32>, tensor<f32>) -> tensor<2x6xf32>
    %197 = stablehlo.broadcast_in_dim %196, dims = [0, 1] : (tensor<2x6xf32>) -> tensor<2x6x6xf32>
    %198 = stablehlo.add %195, %197 : tensor<2x6x6xf32>
    %199 = stablehlo.multiply %198, %53 : tensor<2x6x6xf32>
    %200 = call @_where_2(%46#1, %199) : (tensor<2x6x6xi1>, tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
    %201 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x6x6xf32>
    %202 = stablehlo.divide %200, %201 : tensor<2x6x6xf32>
    %203 = stablehlo.dot_general %202, %36, batching_dims = [0] x [1], contracting_dims = [1] x [0] : (tensor<2x6x6xf32>, tensor<6x2x4xf32>) -> tensor<2x6x4xf32>
    %204 = stablehlo.transpose %203, dims = [1, 0, 2] : (tensor<2x6x4xf32>) -> tensor<6x2x4xf32>
    %205 = stablehlo.dot_general %202, %38, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x6x6xf32>, tensor<6x2x4xf32>) -> tensor<2x6x4xf32>
    %206 = stablehlo.transpose %205, dims = [1, 0, 2] : (tensor<2x6x4xf32>) -> tensor<6x2x4xf32>
    %207 = stablehlo.reshape %187 : (tensor<6x2x4xf32>) -> tensor<6x8xf32>
    %208 = stablehlo.dot_general %207, %34, contracting_dims = [0] x [0] : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
    %209 = stablehlo.transpose %208, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %210 = stablehlo.dot_general %207, %arg6, contracting_dims = [1] x [1] : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %211 = stablehlo.reshape %204 : (tensor<6x2x4xf32>) -> tensor<6x8xf32>
    %212 = stablehlo.dot_general %211, %34, contracting_dims = [0] x [0] : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
    %213 = stablehlo.transpose %212, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %214 = stablehlo.dot_general %211, %arg2, contracting_dims = [1] x [1] : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %215 = stablehlo.add %210, %214 : tensor<6x8xf32>
    %216 = stablehlo.reshape %206 : (tensor<6x2x4xf32>) -> tensor<6x8xf32>
    %217 = stablehlo.dot_general %216, %34, contracting_dims = [0] x [0] : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
    %218 = stablehlo.transpose %217, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %219 = stablehlo.dot_general %216, %arg4, contracting_dims = [1] x [1] : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
    %220 = stablehlo.add %215, %219 : tensor<6x8xf32>
    %221 = stablehlo.multiply %28, %220 : tensor<6x8xf32>
    %222 = stablehlo.reduce(%221 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<6x8xf32>, tensor<f32>) -> tensor<8xf32>
    %223 = stablehlo.reshape %222 : (tensor<8xf32>) -> tensor<1x8xf32>
    %224 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<6x8xf32>
    %225 = stablehlo.multiply %220, %224 : tensor<6x8xf32>
    %226 = stablehlo.reduce(%223 init: %cst_10) applies stablehlo.add across dimensions = [0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %227 = stablehlo.add %155, %226 : tensor<8xf32>
    %228 = stablehlo.broadcast_in_dim %31, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x8xf32>
    %229 = stablehlo.multiply %225, %228 : tensor<6x8xf32>
    %230 = stablehlo.multiply %229, %14 : tensor<6x8xf32>
    %231 = stablehlo.reduce(%230 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
    %232 = stablehlo.reshape %231 : (tensor<6xf32>) -> tensor<6x1xf32>
    %233 = stablehlo.negate %232 : tensor<6x1xf32>
    %234 = stablehlo.broadcast_in_dim %24, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x8xf32>
    %235 = stablehlo.divide %225, %234 : tensor<6x8xf32>
    %236 = stablehlo.multiply %233, %26 : tensor<6x1xf32>
    %237 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %238 = stablehlo.divide %236, %237 : tensor<6x1xf32>
    %239 = stablehlo.reduce(%238 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x1xf32>, tensor<f32>) -> tensor<6xf32>
    %240 = stablehlo.broadcast_in_dim %239, dims = [0] : (tensor<6xf32>) -> tensor<6x8xf32>
    %241 = stablehlo.multiply %240, %17 : tensor<6x8xf32>
    %242 = stablehlo.add %235, %241 : tensor<6x8xf32>
    %243 = stablehlo.negate %242 : tensor<6x8xf32>
    %244 = stablehlo.reduce(%243 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
    %245 = stablehlo.reshape %244 : (tensor<6xf32>) -> tensor<6x1xf32>
    %246 = stablehlo.add %179, %242 : tensor<6x8xf32>
    %247 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %248 = stablehlo.divide %245, %247 : tensor<6x1xf32>
    %249 = stablehlo.reduce(%248 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<6x1xf32>, tensor<f32>) -> tensor<6xf32>
    %250 = stablehlo.broadcast_in_dim %249, dims = [0] : (tensor<6xf32>) -> tensor<6x8xf32>
    %251 = stablehlo.add %246, %250 : tensor<6x8xf32>
    %252 = stablehlo.pad %251, %cst_10, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<6x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    %253 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<11x8xf32>
    %254 = "stablehlo.scatter"(%253, %5, %251) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %256 = stablehlo.add %arg11, %arg12 : tensor<f32>
      stablehlo.return %256 : tensor<f32>
    }) : (tensor<11x8xf32>, tensor<6x1xi32>, tensor<6x8xf32>) -> tensor<11x8xf32>
    %255 = stablehlo.add %129, %254 : tensor<11x8xf32>
    return %120, %131, %227, %213, %181, %218, %148, %209, %252, %255 : tensor<f32>, tensor<16x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<11x8xf32>
  }
  func.func private @tril(%arg0: tensor<6x6xi1>) -> tensor<6x6xi1> {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.iota dim = 0 : tensor<6x6xi64>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<6x6xi64>
    %2 = stablehlo.add %0, %1 : tensor<6x6xi64>
    %3 = stablehlo.iota dim = 1 : tensor<6x6xi64>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<6x6xi64>, tensor<6x6xi64>) -> tensor<6x6xi1>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<6x6xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<6x6xi1>, tensor<6x6xi1>
    return %6 : tensor<6x6xi1>
  }
  func.func private @_where(%arg0: tensor<6x6xi1>, %arg1: tensor<2x6x6xf32>, %arg2: tensor<f64>) -> (tensor<2x6x6xf32>, tensor<2x6x6xi1>) {
    %0 = stablehlo.convert %arg2 : (tensor<f64>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<6x6xi1>) -> tensor<2x6x6xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x6x6xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x6x6xi1>, tensor<2x6x6xf32>
    return %3, %1 : tensor<2x6x6xf32>, tensor<2x6x6xi1>
  }
  func.func private @log_softmax(%arg0: tensor<6x11xf32>) -> (tensor<6x11xf32>, tensor<6x11xf32>, tensor<6x1xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst_0) applies stablehlo.maximum across dimensions = [1] : (tensor<6x11xf32>, tensor<f32>) -> tensor<6xf32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<6xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x11xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<6x11xf32>
    %6 = stablehlo.exponential %5 : tensor<6x11xf32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<6x11xf32>, tensor<f32>) -> tensor<6xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<6xf32>) -> tensor<6x1xf32>
    %9 = stablehlo.log %8 : tensor<6x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x11xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<6x11xf32>
    return %11, %6, %8 : tensor<6x11xf32>, tensor<6x11xf32>, tensor<6x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<6x11xf32>, %arg1: tensor<6x1xi32>) -> (tensor<6x1xf32>, tensor<6x1x1xi32>) {
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %c_0 = stablehlo.constant dense<10> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<11> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x1xi1>
    %2 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<6x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<6x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<6x1xi1>, tensor<6x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<6x1xi32>) -> tensor<6x1x1xi32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<6x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<6x1x1xi32>, tensor<6x1x1xi32>) -> tensor<6x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<6x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<6x1x1xi32>, tensor<6x1x1xi32>) -> tensor<6x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<6x1x1xi1>
    %12 = stablehlo.reduce(%11 init: %c) applies stablehlo.and across dimensions = [2] : (tensor<6x1x1xi1>, tensor<i1>) -> tensor<6x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<6x11xf32>, tensor<6x1x1xi32>) -> tensor<6x1xf32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<6x1xi1>, tensor<6x1xf32>
    return %15, %5 : tensor<6x1xf32>, tensor<6x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<6x1x1xi32>, %arg1: tensor<6x1xf32>) -> tensor<6x11xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x11xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<6x11xf32>, tensor<6x1x1xi32>, tensor<6x1xf32>) -> tensor<6x11xf32>
    return %1 : tensor<6x11xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<6x11xf32>, %arg1: tensor<6x1xf32>, %arg2: tensor<6x11xf32>) -> tensor<6x11xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.negate %arg2 : tensor<6x11xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<6x11xf32>, tensor<f32>) -> tensor<6xf32>
    %2 = stablehlo.reshape %1 : (tensor<6xf32>) -> tensor<6x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<6x1xf32>
    %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<6x1xf32>, tensor<f32>) -> tensor<6xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<6xf32>) -> tensor<6x11xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<6x11xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<6x11xf32>
    return %7 : tensor<6x11xf32>
  }
  func.func private @_where_2(%arg0: tensor<2x6x6xi1>, %arg1: tensor<2x6x6xf32>) -> tensor<2x6x6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x6x6xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x6x6xi1>, tensor<2x6x6xf32>
    return %1 : tensor<2x6x6xf32>
  }
}

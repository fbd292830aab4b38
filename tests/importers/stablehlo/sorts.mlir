module @jit_sorts attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf64>) -> (tensor<4x6xf64> {jax.result_info = "result[0]"}, tensor<4x6xi64> {jax.result_info = "result[1]"}, tensor<4x2xf64> {jax.result_info = "result[2][0]"}, tensor<4x2xi32> {jax.result_info = "result[2][1]"}, tensor<4x6xf64> {jax.result_info = "result[3][0]"}, tensor<4x6xf64> {jax.result_info = "result[3][1]"}, tensor<4x6xf64> {jax.result_info = "result[3][2]"}, tensor<f64> {jax.result_info = "result[4]"}, tensor<6xi32> {jax.result_info = "result[5]"}, tensor<4x6xf64> {jax.result_info = "result[6]"}, tensor<4x6xi1> {jax.result_info = "result[7]"}, tensor<4x6xi64> {jax.result_info = "result[8]"}, tensor<3xf64> {jax.result_info = "result[9][0]"}, tensor<3xi32> {jax.result_info = "result[9][1]"}) {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<[1.000000e+00, 0x7FF8000000000000, 1.000000e+00, 2.000000e+00]> : tensor<4xf64>
    %0 = call @sort(%arg0) : (tensor<4x6xf64>) -> tensor<4x6xf64>
    %1 = call @argsort(%arg0) : (tensor<4x6xf64>) -> tensor<4x6xi64>
    %2:2 = stablehlo.composite "chlo.top_k" %arg0 {composite_attributes = {k = 2 : i64}, decomposition = @chlo.top_k.impl, version = 1 : i32} : (tensor<4x6xf64>) -> (tensor<4x2xf64>, tensor<4x2xi32>)
    %3 = call @round(%arg0) : (tensor<4x6xf64>) -> tensor<4x6xf64>
    %4 = stablehlo.negate %arg0 : tensor<4x6xf64>
    %5:3 = "stablehlo.sort"(%3, %4, %arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<f64>, %arg4: tensor<f64>, %arg5: tensor<f64>, %arg6: tensor<f64>):
      %20 = stablehlo.compare EQ, %arg1, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %21 = stablehlo.select %20, %cst_0, %arg1 : tensor<i1>, tensor<f64>
      %22 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %23 = stablehlo.select %22, %cst, %21 : tensor<i1>, tensor<f64>
      %24 = stablehlo.compare EQ, %arg2, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %25 = stablehlo.select %24, %cst_0, %arg2 : tensor<i1>, tensor<f64>
      %26 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %27 = stablehlo.select %26, %cst, %25 : tensor<i1>, tensor<f64>
      %28 = stablehlo.compare EQ, %arg3, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %29 = stablehlo.select %28, %cst_0, %arg3 : tensor<i1>, tensor<f64>
      %30 = stablehlo.compare NE, %arg3, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %31 = stablehlo.select %30, %cst, %29 : tensor<i1>, tensor<f64>
      %32 = stablehlo.compare EQ, %arg4, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %33 = stablehlo.select %32, %cst_0, %arg4 : tensor<i1>, tensor<f64>
      %34 = stablehlo.compare NE, %arg4, %arg4, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %35 = stablehlo.select %34, %cst, %33 : tensor<i1>, tensor<f64>
      %36 = stablehlo.compare LT, %31, %35, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %37 = stablehlo.compare LT, %23, %27, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %38 = stablehlo.compare EQ, %23, %27, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %39 = stablehlo.and %38, %36 : tensor<i1>
      %40 = stablehlo.or %37, %39 : tensor<i1>
      stablehlo.return %40 : tensor<i1>
    }) : (tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>) -> (tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>)
    %6 = call @median(%arg0) : (tensor<4x6xf64>) -> tensor<f64>
    %7 = stablehlo.slice %arg0 [0:1, 0:6] : (tensor<4x6xf64>) -> tensor<1x6xf64>
    %8 = stablehlo.reshape %7 : (tensor<1x6xf64>) -> tensor<6xf64>
    %9 = call @sort_0(%8) : (tensor<6xf64>) -> tensor<6xf64>
    %10 = stablehlo.slice %arg0 [1:2, 0:6] : (tensor<4x6xf64>) -> tensor<1x6xf64>
    %11 = stablehlo.reshape %10 : (tensor<1x6xf64>) -> tensor<6xf64>
    %12 = call @searchsorted(%9, %11) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi32>
    %13 = call @sort_2(%arg0) : (tensor<4x6xf64>) -> tensor<4x6xf64>
    %14 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<4x6xf64>
    %15 = stablehlo.compare GT, %arg0, %14, FLOAT : (tensor<4x6xf64>, tensor<4x6xf64>) -> tensor<4x6xi1>
    %16 = call @sort_3(%15) : (tensor<4x6xi1>) -> tensor<4x6xi1>
    %17 = stablehlo.negate %arg0 : tensor<4x6xf64>
    %18 = call @argsort_4(%17) : (tensor<4x6xf64>) -> tensor<4x6xi64>
    %19:2 = stablehlo.composite "chlo.top_k" %cst_1 {composite_attributes = {k = 3 : i64}, decomposition = @chlo.top_k.impl_0, version = 1 : i32} : (tensor<4xf64>) -> (tensor<3xf64>, tensor<3xi32>)
    return %0, %1, %2#0, %2#1, %5#0, %5#1, %5#2, %6, %12, %13, %16, %18, %19#0, %19#1 : tensor<4x6xf64>, tensor<4x6xi64>, tensor<4x2xf64>, tensor<4x2xi32>, tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>, tensor<f64>, tensor<6xi32>, tensor<4x6xf64>, tensor<4x6xi1>, tensor<4x6xi64>, tensor<3xf64>, tensor<3xi32>
  }
  func.func private @chlo.top_k.impl_0(%arg0: tensor<4xf64>) -> (tensor<3xf64>, tensor<3xi32>) {
    %0 = stablehlo.iota dim = 0 : tensor<4xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %4 = stablehlo.compare GT, %arg1, %arg2, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<4xf64>, tensor<4xi32>) -> (tensor<4xf64>, tensor<4xi32>)
    %2 = stablehlo.slice %1#0 [0:3] : (tensor<4xf64>) -> tensor<3xf64>
    %3 = stablehlo.slice %1#1 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
    return %2, %3 : tensor<3xf64>, tensor<3xi32>
  }
  func.func private @chlo.top_k.impl(%arg0: tensor<4x6xf64>) -> (tensor<4x2xf64>, tensor<4x2xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<4x6xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %4 = stablehlo.compare GT, %arg1, %arg2, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<4x6xf64>, tensor<4x6xi32>) -> (tensor<4x6xf64>, tensor<4x6xi32>)
    %2 = stablehlo.slice %1#0 [0:4, 0:2] : (tensor<4x6xf64>) -> tensor<4x2xf64>
    %3 = stablehlo.slice %1#1 [0:4, 0:2] : (tensor<4x6xi32>) -> tensor<4x2xi32>
    return %2, %3 : tensor<4x2xf64>, tensor<4x2xi32>
  }
  func.func private @sort(%arg0: tensor<4x6xf64>) -> tensor<4x6xf64> {
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
    }) : (tensor<4x6xf64>) -> tensor<4x6xf64>
    return %0 : tensor<4x6xf64>
  }
  func.func private @argsort(%arg0: tensor<4x6xf64>) -> tensor<4x6xi64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.iota dim = 1 : tensor<4x6xi64>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<i64>, %arg4: tensor<i64>):
      %2 = stablehlo.compare EQ, %arg1, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %3 = stablehlo.select %2, %cst_0, %arg1 : tensor<i1>, tensor<f64>
      %4 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %5 = stablehlo.select %4, %cst, %3 : tensor<i1>, tensor<f64>
      %6 = stablehlo.compare EQ, %arg2, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %7 = stablehlo.select %6, %cst_0, %arg2 : tensor<i1>, tensor<f64>
      %8 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %9 = stablehlo.select %8, %cst, %7 : tensor<i1>, tensor<f64>
      %10 = stablehlo.compare LT, %5, %9, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<4x6xf64>, tensor<4x6xi64>) -> (tensor<4x6xf64>, tensor<4x6xi64>)
    return %1#1 : tensor<4x6xi64>
  }
  func.func private @round(%arg0: tensor<4x6xf64>) -> tensor<4x6xf64> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<4x6xf64>
    return %0 : tensor<4x6xf64>
  }
  func.func private @median(%arg0: tensor<4x6xf64>) -> tensor<f64> {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %0 = call @quantile(%arg0, %cst) : (tensor<4x6xf64>, tensor<f64>) -> tensor<f64>
    return %0 : tensor<f64>
  }
  func.func private @quantile(%arg0: tensor<4x6xf64>, %arg1: tensor<f64>) -> tensor<f64> {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<2.400000e+01> : tensor<f64>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_3 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %c = stablehlo.constant dense<false> : tensor<i1>
    %0 = stablehlo.reshape %arg0 : (tensor<4x6xf64>) -> tensor<24xf64>
    %1 = stablehlo.compare NE, %0, %0, FLOAT : (tensor<24xf64>, tensor<24xf64>) -> tensor<24xi1>
    %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.or across dimensions = [0] : (tensor<24xi1>, tensor<i1>) -> tensor<i1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %4 = call @_where(%3, %cst_3, %0) : (tensor<1xi1>, tensor<f64>, tensor<24xf64>) -> tensor<24xf64>
    %5 = "stablehlo.sort"(%4) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f64>, %arg3: tensor<f64>):
      %22 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %23 = stablehlo.select %22, %cst_2, %arg2 : tensor<i1>, tensor<f64>
      %24 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %25 = stablehlo.select %24, %cst_3, %23 : tensor<i1>, tensor<f64>
      %26 = stablehlo.compare EQ, %arg3, %cst_2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %27 = stablehlo.select %26, %cst_2, %arg3 : tensor<i1>, tensor<f64>
      %28 = stablehlo.compare NE, %arg3, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %29 = stablehlo.select %28, %cst_3, %27 : tensor<i1>, tensor<f64>
      %30 = stablehlo.compare LT, %25, %29, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %30 : tensor<i1>
    }) : (tensor<24xf64>) -> tensor<24xf64>
    %6 = stablehlo.subtract %cst_1, %cst_0 : tensor<f64>
    %7 = stablehlo.multiply %arg1, %6 : tensor<f64>
    %8 = stablehlo.floor %7 : tensor<f64>
    %9 = stablehlo.ceil %7 : tensor<f64>
    %10 = stablehlo.subtract %cst_1, %cst_0 : tensor<f64>
    %11 = stablehlo.clamp %cst_2, %8, %10 : tensor<f64>
    %12 = stablehlo.subtract %cst_1, %cst_0 : tensor<f64>
    %13 = stablehlo.clamp %cst_2, %9, %12 : tensor<f64>
    %14 = stablehlo.convert %11 : (tensor<f64>) -> tensor<i64>
    %15 = stablehlo.convert %13 : (tensor<f64>) -> tensor<i64>
    %16 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %17 = "stablehlo.gather"(%5, %16) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1>}> : (tensor<24xf64>, tensor<1xi64>) -> tensor<f64>
    %18 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %19 = "stablehlo.gather"(%5, %18) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1>}> : (tensor<24xf64>, tensor<1xi64>) -> tensor<f64>
    %20 = stablehlo.add %17, %19 : tensor<f64>
    %21 = stablehlo.multiply %20, %cst : tensor<f64>
    return %21 : tensor<f64>
  }
  func.func private @_where(%arg0: tensor<1xi1>, %arg1: tensor<f64>, %arg2: tensor<24xf64>) -> tensor<24xf64> {
    %0 = stablehlo.convert %arg1 : tensor<f64>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<1xi1>) -> tensor<24xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f64>) -> tensor<24xf64>
    %3 = stablehlo.select %1, %2, %arg2 : tensor<24xi1>, tensor<24xf64>
    return %3 : tensor<24xf64>
  }
  func.func private @sort_0(%arg0: tensor<6xf64>) -> tensor<6xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
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
    }) : (tensor<6xf64>) -> tensor<6xf64>
    return %0 : tensor<6xf64>
  }
  func.func private @searchsorted(%arg0: tensor<6xf64>, %arg1: tensor<6xf64>) -> tensor<6xi32> {
    %0 = call @_searchsorted_scan_impl(%arg0, %arg1) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi32>
    return %0 : tensor<6xi32>
  }
  func.func private @_searchsorted_scan_impl(%arg0: tensor<6xf64>, %arg1: tensor<6xf64>) -> tensor<6xi32> {
    %0 = call @_searchsorted_scan_impl_1(%arg0, %arg1) : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi32>
    return %0 : tensor<6xi32>
  }
  func.func private @_searchsorted_scan_impl_1(%arg0: tensor<6xf64>, %arg1: tensor<6xf64>) -> tensor<6xi32> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<3> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %c_2 = stablehlo.constant dense<6> : tensor<ui32>
    %c_3 = stablehlo.constant dense<0> : tensor<ui32>
    %0 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<ui32>) -> tensor<6xui32>
    %1 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui32>) -> tensor<6xui32>
    %2:5 = stablehlo.while(%iterArg = %arg0, %iterArg_4 = %arg1, %iterArg_5 = %c_1, %iterArg_6 = %0, %iterArg_7 = %1) : tensor<6xf64>, tensor<6xf64>, tensor<i64>, tensor<6xui32>, tensor<6xui32>
    cond {
      %4 = stablehlo.compare LT, %iterArg_5, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %4:2 = func.call @closed_call(%iterArg, %iterArg_4, %iterArg_6, %iterArg_7) : (tensor<6xf64>, tensor<6xf64>, tensor<6xui32>, tensor<6xui32>) -> (tensor<6xui32>, tensor<6xui32>)
      %5 = stablehlo.add %iterArg_5, %c : tensor<i64>
      stablehlo.return %iterArg, %iterArg_4, %5, %4#0, %4#1 : tensor<6xf64>, tensor<6xf64>, tensor<i64>, tensor<6xui32>, tensor<6xui32>
    }
    %3 = stablehlo.convert %2#4 : (tensor<6xui32>) -> tensor<6xi32>
    return %3 : tensor<6xi32>
  }
  func.func private @closed_call(%arg0: tensor<6xf64>, %arg1: tensor<6xf64>, %arg2: tensor<6xui32>, %arg3: tensor<6xui32>) -> (tensor<6xui32>, tensor<6xui32>) {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<2> : tensor<i64>
    %0 = stablehlo.subtract %arg3, %arg2 : tensor<6xui32>
    %1 = call @floor_divide(%0, %c) : (tensor<6xui32>, tensor<i64>) -> tensor<6xui32>
    %2 = stablehlo.add %arg2, %1 : tensor<6xui32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<6xui32>) -> tensor<6x1xui32>
    %4 = "stablehlo.gather"(%arg0, %3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<6xf64>, tensor<6x1xui32>) -> tensor<6x1xf64>
    %5 = stablehlo.reshape %4 : (tensor<6x1xf64>) -> tensor<6xf64>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %7 = stablehlo.compare EQ, %arg1, %6, FLOAT : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %9 = stablehlo.select %7, %8, %arg1 : tensor<6xi1>, tensor<6xf64>
    %10 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %12 = stablehlo.select %10, %11, %9 : tensor<6xi1>, tensor<6xf64>
    %13 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %14 = stablehlo.compare EQ, %5, %13, FLOAT : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
    %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %16 = stablehlo.select %14, %15, %5 : tensor<6xi1>, tensor<6xf64>
    %17 = stablehlo.compare NE, %5, %5, FLOAT : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
    %18 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<6xf64>
    %19 = stablehlo.select %17, %18, %16 : tensor<6xi1>, tensor<6xf64>
    %20 = stablehlo.compare LE, %12, %19, TOTALORDER : (tensor<6xf64>, tensor<6xf64>) -> tensor<6xi1>
    %21 = stablehlo.select %20, %arg2, %2 : tensor<6xi1>, tensor<6xui32>
    %22 = stablehlo.select %20, %2, %arg3 : tensor<6xi1>, tensor<6xui32>
    return %21, %22 : tensor<6xui32>, tensor<6xui32>
  }
  func.func private @floor_divide(%arg0: tensor<6xui32>, %arg1: tensor<i64>) -> tensor<6xui32> {
    %0 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui32>) -> tensor<6xui32>
    %2 = stablehlo.divide %arg0, %1 : tensor<6xui32>
    return %2 : tensor<6xui32>
  }
  func.func private @sort_2(%arg0: tensor<4x6xf64>) -> tensor<4x6xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
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
    }) : (tensor<4x6xf64>) -> tensor<4x6xf64>
    return %0 : tensor<4x6xf64>
  }
  func.func private @sort_3(%arg0: tensor<4x6xi1>) -> tensor<4x6xi1> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<i1>, %arg2: tensor<i1>):
      %1 = stablehlo.compare LT, %arg1, %arg2, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<4x6xi1>) -> tensor<4x6xi1>
    return %0 : tensor<4x6xi1>
  }
  func.func private @argsort_4(%arg0: tensor<4x6xf64>) -> tensor<4x6xi64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.iota dim = 0 : tensor<4x6xi64>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>, %arg3: tensor<i64>, %arg4: tensor<i64>):
      %2 = stablehlo.compare EQ, %arg1, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %3 = stablehlo.select %2, %cst_0, %arg1 : tensor<i1>, tensor<f64>
      %4 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %5 = stablehlo.select %4, %cst, %3 : tensor<i1>, tensor<f64>
      %6 = stablehlo.compare EQ, %arg2, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %7 = stablehlo.select %6, %cst_0, %arg2 : tensor<i1>, tensor<f64>
      %8 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %9 = stablehlo.select %8, %cst, %7 : tensor<i1>, tensor<f64>
      %10 = stablehlo.compare LT, %5, %9, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<4x6xf64>, tensor<4x6xi64>) -> (tensor<4x6xf64>, tensor<4x6xi64>)
    return %1#1 : tensor<4x6xi64>
  }
}

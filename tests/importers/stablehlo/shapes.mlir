module @jit_shapes attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x?xf64>, %arg1: tensor<?xf64>) -> (tensor<i64> {jax.result_info = "result['best']"}, tensor<?xf64> {jax.result_info = "result['flat']"}, tensor<?x?xf64> {jax.result_info = "result['joined']"}, tensor<?xf64> {jax.result_info = "result['last']"}, tensor<f64> {jax.result_info = "result['max']"}, tensor<?xf64> {jax.result_info = "result['mean']"}, tensor<?xf64> {jax.result_info = "result['padded']"}, tensor<?xf64> {jax.result_info = "result['sorted']"}, tensor<?xi64> {jax.result_info = "result['steps']"}, tensor<f64> {jax.result_info = "result['sums'][0]"}, tensor<?xf64> {jax.result_info = "result['sums'][1]"}, tensor<?xf64> {jax.result_info = "result['y']"}) {
    %c = stablehlo.constant dense<2> : tensor<i64>
    %c_0 = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<?x?xf64>) -> tensor<i32>
    %3 = stablehlo.convert %2 : (tensor<i32>) -> tensor<i64>
    %4 = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %5 = stablehlo.convert %4 : (tensor<i32>) -> tensor<i64>
    %6 = stablehlo.compare GE, %1, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%6, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'n'. Using the following polymorphic shapes specifications: args[0].shape = (n, m),args[1].shape = (2*n,). Obtained dimension variables: 'n' = {0} from specification 'n' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>) -> ()
    %7 = stablehlo.compare GE, %3, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%7, %1, %3) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'm'. Using the following polymorphic shapes specifications: args[0].shape = (n, m),args[1].shape = (2*n,). Obtained dimension variables: 'n' = {0} from specification 'n' for dimension args[0].shape[0] (= {0}), 'm' = {1} from specification 'm' for dimension args[0].shape[1] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>, tensor<i64>) -> ()
    %8 = stablehlo.convert %1 : tensor<i64>
    %9 = stablehlo.multiply %8, %c : tensor<i64>
    %10 = stablehlo.compare EQ, %5, %9, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %11 = stablehlo.convert %1 : tensor<i64>
    %12 = stablehlo.multiply %11, %c : tensor<i64>
    stablehlo.custom_call @shape_assertion(%10, %5, %12, %1, %3) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[1].shape[0] (= {0}) and the specification '2*n' (= {1}). Using the following polymorphic shapes specifications: args[0].shape = (n, m),args[1].shape = (2*n,). Obtained dimension variables: 'n' = {2} from specification 'n' for dimension args[0].shape[0] (= {2}), 'm' = {3} from specification 'm' for dimension args[0].shape[1] (= {3}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> ()
    %13:12 = call @_wrapped_jax_export_main(%3, %1, %arg0, %arg1) : (tensor<i64>, tensor<i64>, tensor<?x?xf64>, tensor<?xf64>) -> (tensor<i64>, tensor<?xf64>, tensor<?x?xf64>, tensor<?xf64>, tensor<f64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xi64>, tensor<f64>, tensor<?xf64>, tensor<?xf64>)
    return %13#0, %13#1, %13#2, %13#3, %13#4, %13#5, %13#6, %13#7, %13#8, %13#9, %13#10, %13#11 : tensor<i64>, tensor<?xf64>, tensor<?x?xf64>, tensor<?xf64>, tensor<f64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xi64>, tensor<f64>, tensor<?xf64>, tensor<?xf64>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<?x?xf64>, %arg3: tensor<?xf64>) -> (tensor<i64> {jax.result_info = "result['best']"}, tensor<?xf64> {jax.result_info = "result['flat']"}, tensor<?x?xf64> {jax.result_info = "result['joined']"}, tensor<?xf64> {jax.result_info = "result['last']"}, tensor<f64> {jax.result_info = "result['max']"}, tensor<?xf64> {jax.result_info = "result['mean']"}, tensor<?xf64> {jax.result_info = "result['padded']"}, tensor<?xf64> {jax.result_info = "result['sorted']"}, tensor<?xi64> {jax.result_info = "result['steps']"}, tensor<f64> {jax.result_info = "result['sums'][0]"}, tensor<?xf64> {jax.result_info = "result['sums'][1]"}, tensor<?xf64> {jax.result_info = "result['y']"}) {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<2> : tensor<i64>
    %c_1 = stablehlo.constant dense<1> : tensor<1xi32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_3 = stablehlo.constant dense<0> : tensor<i64>
    %c_4 = stablehlo.constant dense<-1> : tensor<i64>
    %c_5 = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %1 = stablehlo.convert %arg1 : tensor<i64>
    %2 = stablehlo.add %1, %c_4 : tensor<i64>
    %3 = stablehlo.convert %2 : (tensor<i64>) -> tensor<i32>
    %4 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
    %5 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %6 = stablehlo.reshape %5 : (tensor<i32>) -> tensor<1xi32>
    %7 = stablehlo.concatenate %4, %6, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %8 = "stablehlo.dynamic_gather"(%arg2, %0, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0]>, indices_are_sorted = true}> : (tensor<?x?xf64>, tensor<1xi64>, tensor<2xi32>) -> tensor<?x?xf64>
    %9 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %10 = stablehlo.convert %arg1 : tensor<i64>
    %11 = stablehlo.add %10, %c_4 : tensor<i64>
    %12 = stablehlo.convert %11 : (tensor<i64>) -> tensor<i32>
    %13 = stablehlo.reshape %12 : (tensor<i32>) -> tensor<1xi32>
    %14 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %15 = stablehlo.reshape %14 : (tensor<i32>) -> tensor<1xi32>
    %16 = stablehlo.concatenate %13, %15, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %17 = "stablehlo.dynamic_gather"(%arg2, %9, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0]>, indices_are_sorted = true}> : (tensor<?x?xf64>, tensor<1xi64>, tensor<2xi32>) -> tensor<?x?xf64>
    %18 = stablehlo.concatenate %8, %17, dim = 0 : (tensor<?x?xf64>, tensor<?x?xf64>) -> tensor<?x?xf64>
    %19 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %20 = stablehlo.reshape %19 : (tensor<i32>) -> tensor<1xi32>
    %21 = stablehlo.dynamic_broadcast_in_dim %cst_2, %20, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %22:4 = stablehlo.while(%iterArg = %arg2, %iterArg_6 = %c_3, %iterArg_7 = %cst_2, %iterArg_8 = %21) : tensor<?x?xf64>, tensor<i64>, tensor<f64>, tensor<?xf64>
    cond {
      %85 = stablehlo.compare LT, %iterArg_6, %arg1, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %85 : tensor<i1>
    } do {
      %85 = func.call @dynamic_index_in_dim(%arg0, %arg1, %iterArg, %iterArg_6) : (tensor<i64>, tensor<i64>, tensor<?x?xf64>, tensor<i64>) -> tensor<?xf64>
      %86:2 = func.call @closed_call(%arg0, %arg1, %iterArg_7, %85) : (tensor<i64>, tensor<i64>, tensor<f64>, tensor<?xf64>) -> (tensor<f64>, tensor<f64>)
      %87 = func.call @dynamic_update_index_in_dim(%arg0, %arg1, %iterArg_8, %86#1, %iterArg_6) : (tensor<i64>, tensor<i64>, tensor<?xf64>, tensor<f64>, tensor<i64>) -> tensor<?xf64>
      %88 = stablehlo.add %iterArg_6, %c_5 : tensor<i64>
      stablehlo.return %iterArg, %88, %86#0, %87 : tensor<?x?xf64>, tensor<i64>, tensor<f64>, tensor<?xf64>
    }
    %23 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<f64>
    %24 = stablehlo.reduce(%arg2 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<?x?xf64>, tensor<f64>) -> tensor<?xf64>
    %25 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %26 = stablehlo.reshape %25 : (tensor<i32>) -> tensor<1xi32>
    %27 = stablehlo.dynamic_broadcast_in_dim %23, %26, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %28 = stablehlo.divide %24, %27 : tensor<?xf64>
    %29 = stablehlo.multiply %arg1, %arg0 : tensor<i64>
    %30 = stablehlo.convert %29 : (tensor<i64>) -> tensor<i32>
    %31 = stablehlo.reshape %30 : (tensor<i32>) -> tensor<1xi32>
    %32 = stablehlo.dynamic_reshape %arg2, %31 : (tensor<?x?xf64>, tensor<1xi32>) -> tensor<?xf64>
    %33 = stablehlo.convert %arg1 : tensor<i64>
    %34 = stablehlo.add %33, %c_4 : tensor<i64>
    %35 = stablehlo.convert %34 : tensor<i64>
    %36 = stablehlo.broadcast_in_dim %35, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %37 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %38 = stablehlo.reshape %37 : (tensor<i32>) -> tensor<1xi32>
    %39 = stablehlo.concatenate %c_1, %38, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %40 = "stablehlo.dynamic_gather"(%arg2, %36, %39) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, indices_are_sorted = true}> : (tensor<?x?xf64>, tensor<1xi64>, tensor<2xi32>) -> tensor<?xf64>
    %41 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %42 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %43 = stablehlo.reshape %42 : (tensor<i32>) -> tensor<1xi32>
    %44 = stablehlo.concatenate %43, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %45 = "stablehlo.dynamic_gather"(%arg2, %41, %44) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]>, indices_are_sorted = true}> : (tensor<?x?xf64>, tensor<1xi64>, tensor<2xi32>) -> tensor<?xf64>
    %46 = call @_pad(%arg0, %arg1, %45, %c_3) : (tensor<i64>, tensor<i64>, tensor<?xf64>, tensor<i64>) -> tensor<?xf64>
    %47:2 = call @divmod(%arg0, %arg1, %arg1, %c) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    %48 = stablehlo.add %47#0, %c_5 : tensor<i64>
    %49 = stablehlo.convert %48 : (tensor<i64>) -> tensor<i32>
    %50 = stablehlo.reshape %49 : (tensor<i32>) -> tensor<1xi32>
    %51 = stablehlo.dynamic_iota %50, dim = 0 : (tensor<1xi32>) -> tensor<?xi64>
    %52:2 = call @divmod(%arg0, %arg1, %arg1, %c) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    %53 = stablehlo.add %52#0, %c_5 : tensor<i64>
    %54 = stablehlo.convert %53 : (tensor<i64>) -> tensor<i32>
    %55 = stablehlo.reshape %54 : (tensor<i32>) -> tensor<1xi32>
    %56 = stablehlo.dynamic_broadcast_in_dim %c_5, %55, dims = [] : (tensor<i64>, tensor<1xi32>) -> tensor<?xi64>
    %57 = stablehlo.multiply %56, %51 : tensor<?xi64>
    %58:2 = call @divmod(%arg0, %arg1, %arg1, %c) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
    %59 = stablehlo.add %58#0, %c_5 : tensor<i64>
    %60 = stablehlo.convert %59 : (tensor<i64>) -> tensor<i32>
    %61 = stablehlo.reshape %60 : (tensor<i32>) -> tensor<1xi32>
    %62 = stablehlo.dynamic_broadcast_in_dim %c_3, %61, dims = [] : (tensor<i64>, tensor<1xi32>) -> tensor<?xi64>
    %63 = stablehlo.add %62, %57 : tensor<?xi64>
    %64 = stablehlo.convert %arg1 : tensor<i64>
    %65 = stablehlo.multiply %64, %c : tensor<i64>
    %66 = stablehlo.convert %65 : (tensor<i64>) -> tensor<i32>
    %67 = stablehlo.reshape %66 : (tensor<i32>) -> tensor<1xi32>
    %68 = stablehlo.dynamic_broadcast_in_dim %cst_0, %67, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %69 = stablehlo.add %arg3, %68 : tensor<?xf64>
    %70 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %71 = stablehlo.reshape %70 : (tensor<i32>) -> tensor<1xi32>
    %72 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %73 = stablehlo.reshape %72 : (tensor<i32>) -> tensor<1xi32>
    %74 = stablehlo.concatenate %71, %73, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %75 = stablehlo.dynamic_broadcast_in_dim %cst_2, %74, dims = [] : (tensor<f64>, tensor<2xi32>) -> tensor<?x?xf64>
    %76 = stablehlo.maximum %arg2, %75 : tensor<?x?xf64>
    %77 = stablehlo.reduce(%76 init: %cst) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<?x?xf64>, tensor<f64>) -> tensor<f64>
    %78 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i64>) -> tensor<1xi64>
    %79 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %80 = stablehlo.reshape %79 : (tensor<i32>) -> tensor<1xi32>
    %81 = stablehlo.concatenate %80, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %82 = "stablehlo.dynamic_gather"(%arg2, %78, %81) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]>, indices_are_sorted = true}> : (tensor<?x?xf64>, tensor<1xi64>, tensor<2xi32>) -> tensor<?xf64>
    %83 = call @argmax(%arg0, %arg1, %82) : (tensor<i64>, tensor<i64>, tensor<?xf64>) -> tensor<i64>
    %84 = call @sort(%arg0, %arg1, %arg3) : (tensor<i64>, tensor<i64>, tensor<?xf64>) -> tensor<?xf64>
    return %83, %32, %18, %40, %77, %28, %46, %84, %63, %22#2, %22#3, %69 : tensor<i64>, tensor<?xf64>, tensor<?x?xf64>, tensor<?xf64>, tensor<f64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xi64>, tensor<f64>, tensor<?xf64>, tensor<?xf64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<?x?xf64>, %arg3: tensor<i64>) -> tensor<?xf64> {
    %c = stablehlo.constant dense<0> : tensor<1xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %c_1 = stablehlo.constant dense<1> : tensor<1xi32>
    %0 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.concatenate %c_1, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %3 = stablehlo.concatenate %c, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %4 = stablehlo.convert %arg3 : (tensor<i64>) -> tensor<i32>
    %5 = stablehlo.reshape %4 : (tensor<i32>) -> tensor<1xi32>
    %6 = stablehlo.convert %c_0 : (tensor<i64>) -> tensor<i32>
    %7 = stablehlo.reshape %6 : (tensor<i32>) -> tensor<1xi32>
    %8 = stablehlo.concatenate %5, %7, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %9 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %10 = stablehlo.reshape %9 : (tensor<i32>) -> tensor<1xi32>
    %11 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %12 = stablehlo.reshape %11 : (tensor<i32>) -> tensor<1xi32>
    %13 = stablehlo.concatenate %10, %12, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %14 = stablehlo.subtract %13, %2 : tensor<2xi32>
    %15 = stablehlo.clamp %3, %8, %14 : tensor<2xi32>
    %16 = stablehlo.add %15, %2 : tensor<2xi32>
    %17 = stablehlo.concatenate %c_1, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %18 = stablehlo.real_dynamic_slice %arg2, %15, %16, %17 : (tensor<?x?xf64>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x?xf64>
    %19 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %20 = stablehlo.reshape %19 : (tensor<i32>) -> tensor<1xi32>
    %21 = stablehlo.dynamic_reshape %18, %20 : (tensor<1x?xf64>, tensor<1xi32>) -> tensor<?xf64>
    return %21 : tensor<?xf64>
  }
  func.func private @closed_call(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<f64>, %arg3: tensor<?xf64>) -> (tensor<f64>, tensor<f64>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.reduce(%arg3 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    %1 = stablehlo.convert %arg2 : tensor<f64>
    %2 = stablehlo.add %1, %0 : tensor<f64>
    return %2, %arg2 : tensor<f64>, tensor<f64>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<?xf64>, %arg3: tensor<f64>, %arg4: tensor<i64>) -> tensor<?xf64> {
    %0 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %1 = stablehlo.dynamic_update_slice %arg2, %0, %arg4 : (tensor<?xf64>, tensor<1xf64>, tensor<i64>) -> tensor<?xf64>
    return %1 : tensor<?xf64>
  }
  func.func private @_pad(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<?xf64>, %arg3: tensor<i64>) -> tensor<?xf64> {
    %0 = stablehlo.convert %arg3 : (tensor<i64>) -> tensor<f64>
    %1 = stablehlo.pad %arg2, %0, low = [2], high = [2], interior = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<?xf64>
    return %1 : tensor<?xf64>
  }
  func.func private @divmod(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<i64>, %arg3: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
    %0 = stablehlo.convert %arg2 : tensor<i64>
    %1 = call @floor_divide(%arg0, %arg1, %0, %arg3) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = call @remainder(%arg0, %arg1, %0, %arg3) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64>
    return %1, %2 : tensor<i64>, tensor<i64>
  }
  func.func private @floor_divide(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<i64>, %arg3: tensor<i64>) -> tensor<i64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.divide %arg2, %arg3 : tensor<i64>
    %1 = stablehlo.sign %arg2 : tensor<i64>
    %2 = stablehlo.sign %arg3 : tensor<i64>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %4 = stablehlo.remainder %arg2, %arg3 : tensor<i64>
    %5 = stablehlo.compare NE, %4, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %6 = stablehlo.and %3, %5 : tensor<i1>
    %7 = stablehlo.subtract %0, %c : tensor<i64>
    %8 = call @_where(%arg0, %arg1, %6, %7, %0) : (tensor<i64>, tensor<i64>, tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    return %8 : tensor<i64>
  }
  func.func private @_where(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<i1>, %arg3: tensor<i64>, %arg4: tensor<i64>) -> tensor<i64> {
    %0 = stablehlo.select %arg2, %arg3, %arg4 : tensor<i1>, tensor<i64>
    return %0 : tensor<i64>
  }
  func.func private @remainder(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<i64>, %arg3: tensor<i64>) -> tensor<i64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.compare EQ, %arg3, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %1 = call @_where(%arg0, %arg1, %0, %c, %arg3) : (tensor<i64>, tensor<i64>, tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = stablehlo.remainder %arg2, %1 : tensor<i64>
    %3 = stablehlo.compare NE, %2, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %4 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %5 = stablehlo.compare LT, %1, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %6 = stablehlo.compare NE, %4, %5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %7 = stablehlo.and %6, %3 : tensor<i1>
    %8 = stablehlo.add %2, %1 : tensor<i64>
    %9 = stablehlo.select %7, %8, %2 : tensor<i1>, tensor<i64>
    return %9 : tensor<i64>
  }
  func.func private @argmax(%arg0: tensor<i64>, %arg1: tensor<i64>, %arg2: tensor<?xf64>) -> tensor<i64> {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i32>
    %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi32>) -> tensor<?xi64>
    %3:2 = stablehlo.reduce(%arg2 init: %cst), (%2 init: %c) across dimensions = [0] : (tensor<?xf64>, tensor<?xi64>, tensor<f64>, tensor<i64>) -> (tensor<f64>, tensor<i64>)
     reducer(%arg3: tensor<f64>, %arg5: tensor<f64>) (%arg4: tensor<i64>, %arg6: tensor<i64>)  {
      %4 = stablehlo.compare GT, %arg3, %arg5, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %5 = stablehlo.compare NE, %arg3, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %6 = stablehlo.or %4, %5 : tensor<i1>
      %7 = stablehlo.compare EQ, %arg3, %arg5, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %8 = stablehlo.compare LT, %arg4, %arg6, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %9 = stablehlo.and %7, %8 : tensor<i1>
      %10 = stablehlo.or %6, %9 : tensor<i1>
      %11 = stablehlo.select %6, %arg3, %arg5 : tensor<i1>, tensor<f64>
      %12 = stablehlo.select %10, %arg4, %arg6 : tensor<i1>, tensor<i64>
      stablehlo.return %11, %12 : tensor<f64>, tensor<i64>
    }
    return %3#1 : tensor<i64>
  }
  func.func private @sort(%arg0: tensor<i64> {jax.global_constant = "m"}, %arg1: tensor<i64> {jax.global_constant = "n"}, %arg2: tensor<?xf64>) -> tensor<?xf64> {
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = "stablehlo.sort"(%arg2) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg3: tensor<f64>, %arg4: tensor<f64>):
      %1 = stablehlo.compare EQ, %arg3, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %2 = stablehlo.select %1, %cst_0, %arg3 : tensor<i1>, tensor<f64>
      %3 = stablehlo.compare NE, %arg3, %arg3, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %4 = stablehlo.select %3, %cst, %2 : tensor<i1>, tensor<f64>
      %5 = stablehlo.compare EQ, %arg4, %cst_0, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %6 = stablehlo.select %5, %cst_0, %arg4 : tensor<i1>, tensor<f64>
      %7 = stablehlo.compare NE, %arg4, %arg4, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %8 = stablehlo.select %7, %cst, %6 : tensor<i1>, tensor<f64>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<?xf64>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}

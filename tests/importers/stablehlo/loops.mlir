module @jit_loops attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf64>, %arg1: tensor<i32>) -> (tensor<f64> {jax.result_info = "result[0][0]"}, tensor<5xf64> {jax.result_info = "result[0][1]"}, tensor<f64> {jax.result_info = "result[1][0]"}, tensor<5xf64> {jax.result_info = "result[1][1]"}, tensor<f64> {jax.result_info = "result[2][0]"}, tensor<5xf64> {jax.result_info = "result[2][1]"}, tensor<f64> {jax.result_info = "result[3]"}, tensor<5xf64> {jax.result_info = "result[4]"}, tensor<5xf64> {jax.result_info = "result[5]"}, tensor<f64> {jax.result_info = "result[6]"}, tensor<5xf64> {jax.result_info = "result[7]"}, tensor<5xf64> {jax.result_info = "result[8]"}, tensor<5xf64> {jax.result_info = "result[9]"}, tensor<5xf64> {jax.result_info = "result[10][0]"}, tensor<f64> {jax.result_info = "result[11][0]"}, tensor<0xf64> {jax.result_info = "result[11][1]"}, tensor<5xf64> {jax.result_info = "result[12][0]"}, tensor<5x2xf64> {jax.result_info = "result[12][1]"}, tensor<f64> {jax.result_info = "result[13][0]"}, tensor<5xf64> {jax.result_info = "result[13][1]"}) {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %c_0 = stablehlo.constant dense<3> : tensor<i64>
    %c_1 = stablehlo.constant dense<2> : tensor<i32>
    %c_2 = stablehlo.constant dense<1> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<-1.000000e+02> : tensor<f64>
    %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f64>
    %cst_6 = stablehlo.constant dense<3.000000e+00> : tensor<f64>
    %c_7 = stablehlo.constant dense<1> : tensor<i64>
    %c_8 = stablehlo.constant dense<5> : tensor<i64>
    %c_9 = stablehlo.constant dense<0> : tensor<i64>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %1:4 = stablehlo.while(%iterArg = %arg0, %iterArg_11 = %c_9, %iterArg_12 = %cst_10, %iterArg_13 = %0) : tensor<5xf64>, tensor<i64>, tensor<f64>, tensor<5xf64>
    cond {
      %51 = stablehlo.compare LT, %iterArg_11, %c_8, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %51 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_11) : (tensor<5xf64>, tensor<i64>) -> tensor<f64>
      %52:2 = func.call @closed_call(%iterArg_12, %51) : (tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
      %53 = func.call @dynamic_update_index_in_dim(%iterArg_13, %52#1, %iterArg_11) : (tensor<5xf64>, tensor<f64>, tensor<i64>) -> tensor<5xf64>
      %54 = stablehlo.add %iterArg_11, %c_7 : tensor<i64>
      stablehlo.return %iterArg, %54, %52#0, %53 : tensor<5xf64>, tensor<i64>, tensor<f64>, tensor<5xf64>
    }
    %2 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %3:4 = stablehlo.while(%iterArg = %arg0, %iterArg_11 = %c_9, %iterArg_12 = %cst_10, %iterArg_13 = %2) : tensor<5xf64>, tensor<i64>, tensor<f64>, tensor<5xf64>
    cond {
      %51 = stablehlo.compare LT, %iterArg_11, %c_8, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %51 = stablehlo.subtract %c_8, %iterArg_11 : tensor<i64>
      %52 = stablehlo.subtract %51, %c_7 : tensor<i64>
      %53 = func.call @dynamic_index_in_dim(%iterArg, %52) : (tensor<5xf64>, tensor<i64>) -> tensor<f64>
      %54:2 = func.call @closed_call_0(%iterArg_12, %53) : (tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
      %55 = func.call @dynamic_update_index_in_dim(%iterArg_13, %54#1, %52) : (tensor<5xf64>, tensor<f64>, tensor<i64>) -> tensor<5xf64>
      %56 = stablehlo.add %iterArg_11, %c_7 : tensor<i64>
      stablehlo.return %iterArg, %56, %54#0, %55 : tensor<5xf64>, tensor<i64>, tensor<f64>, tensor<5xf64>
    }
    %4 = stablehlo.slice %arg0 [0:1] : (tensor<5xf64>) -> tensor<1xf64>
    %5 = stablehlo.reshape %4 : (tensor<1xf64>) -> tensor<f64>
    %6:2 = stablehlo.while(%iterArg = %5, %iterArg_11 = %arg0) : tensor<f64>, tensor<5xf64>
    cond {
      %51 = stablehlo.compare LT, %iterArg, %cst_6, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %51 = stablehlo.add %iterArg, %cst_5 : tensor<f64>
      %52 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<5xf64>
      %53 = stablehlo.multiply %iterArg_11, %52 : tensor<5xf64>
      stablehlo.return %51, %53 : tensor<f64>, tensor<5xf64>
    }
    %7 = stablehlo.slice %arg0 [0:1] : (tensor<5xf64>) -> tensor<1xf64>
    %8 = stablehlo.reshape %7 : (tensor<1xf64>) -> tensor<f64>
    %9 = stablehlo.while(%iterArg = %8) : tensor<f64>
    cond {
      %51 = stablehlo.compare LT, %iterArg, %cst, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %51 = stablehlo.add %iterArg, %cst_5 : tensor<f64>
      stablehlo.return %51 : tensor<f64>
    }
    %10:4 = stablehlo.while(%iterArg = %arg0, %iterArg_11 = %c_3, %iterArg_12 = %arg1, %iterArg_13 = %arg0) : tensor<5xf64>, tensor<i32>, tensor<i32>, tensor<5xf64>
    cond {
      %51 = stablehlo.compare LT, %iterArg_11, %iterArg_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %51 = stablehlo.add %iterArg_11, %c_2 : tensor<i32>
      %52 = stablehlo.convert %iterArg_11 : (tensor<i32>) -> tensor<f64>
      %53 = stablehlo.broadcast_in_dim %52, dims = [] : (tensor<f64>) -> tensor<5xf64>
      %54 = stablehlo.multiply %53, %iterArg : tensor<5xf64>
      %55 = stablehlo.add %iterArg_13, %54 : tensor<5xf64>
      stablehlo.return %iterArg, %51, %iterArg_12, %55 : tensor<5xf64>, tensor<i32>, tensor<i32>, tensor<5xf64>
    }
    %11:4 = stablehlo.while(%iterArg = %arg0, %iterArg_11 = %c_9, %iterArg_12 = %c_9, %iterArg_13 = %arg0) : tensor<5xf64>, tensor<i64>, tensor<i64>, tensor<5xf64>
    cond {
      %51 = stablehlo.compare LT, %iterArg_11, %c_8, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %51:2 = func.call @closed_call_1(%iterArg, %iterArg_12, %iterArg_13) : (tensor<5xf64>, tensor<i64>, tensor<5xf64>) -> (tensor<i64>, tensor<5xf64>)
      %52 = stablehlo.add %iterArg_11, %c_7 : tensor<i64>
      stablehlo.return %iterArg, %52, %51#0, %51#1 : tensor<5xf64>, tensor<i64>, tensor<i64>, tensor<5xf64>
    }
    %12 = stablehlo.slice %arg0 [0:1] : (tensor<5xf64>) -> tensor<1xf64>
    %13 = stablehlo.reshape %12 : (tensor<1xf64>) -> tensor<f64>
    %14 = stablehlo.compare GT, %13, %cst_10, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %15 = stablehlo.slice %arg0 [1:2] : (tensor<5xf64>) -> tensor<1xf64>
    %16 = stablehlo.reshape %15 : (tensor<1xf64>) -> tensor<f64>
    %17 = stablehlo.convert %14 : (tensor<i1>) -> tensor<i32>
    %18 = "stablehlo.case"(%17) ({
      %51 = stablehlo.multiply %cst_4, %16 : tensor<f64>
      stablehlo.return %51 : tensor<f64>
    }, {
      stablehlo.return %16 : tensor<f64>
    }) : (tensor<i32>) -> tensor<f64>
    %19 = stablehlo.clamp %c_3, %arg1, %c_1 : tensor<i32>
    %20 = "stablehlo.case"(%19) ({
      %51 = stablehlo.sine %arg0 : tensor<5xf64>
      stablehlo.return %51 : tensor<5xf64>
    }, {
      %51 = stablehlo.cosine %arg0 : tensor<5xf64>
      stablehlo.return %51 : tensor<5xf64>
    }, {
      %51 = stablehlo.tan %arg0 : tensor<5xf64>
      stablehlo.return %51 : tensor<5xf64>
    }) : (tensor<i32>) -> tensor<5xf64>
    %21 = stablehlo.slice %arg0 [0:4:2] : (tensor<5xf64>) -> tensor<2xf64>
    %22 = stablehlo.slice %arg0 [1:5:2] : (tensor<5xf64>) -> tensor<2xf64>
    %23 = stablehlo.add %21, %22 : tensor<2xf64>
    %24 = stablehlo.slice %23 [0:1:2] : (tensor<2xf64>) -> tensor<1xf64>
    %25 = stablehlo.slice %23 [1:2:2] : (tensor<2xf64>) -> tensor<1xf64>
    %26 = stablehlo.add %24, %25 : tensor<1xf64>
    %27 = stablehlo.slice %26 [0:0] : (tensor<1xf64>) -> tensor<0xf64>
    %28 = stablehlo.slice %23 [2:2:2] : (tensor<2xf64>) -> tensor<0xf64>
    %29 = stablehlo.add %27, %28 : tensor<0xf64>
    %30 = stablehlo.slice %23 [0:1] : (tensor<2xf64>) -> tensor<1xf64>
    %31 = stablehlo.concatenate %30, %29, dim = 0 : (tensor<1xf64>, tensor<0xf64>) -> tensor<1xf64>
    %32 = stablehlo.pad %31, %cst_10, low = [0], high = [1], interior = [1] : (tensor<1xf64>, tensor<f64>) -> tensor<2xf64>
    %33 = stablehlo.pad %26, %cst_10, low = [1], high = [0], interior = [1] : (tensor<1xf64>, tensor<f64>) -> tensor<2xf64>
    %34 = stablehlo.add %32, %33 : tensor<2xf64>
    %35 = stablehlo.slice %arg0 [2:5:2] : (tensor<5xf64>) -> tensor<2xf64>
    %36 = stablehlo.add %34, %35 : tensor<2xf64>
    %37 = stablehlo.slice %arg0 [0:1] : (tensor<5xf64>) -> tensor<1xf64>
    %38 = stablehlo.concatenate %37, %36, dim = 0 : (tensor<1xf64>, tensor<2xf64>) -> tensor<3xf64>
    %39 = stablehlo.pad %38, %cst_10, low = [0], high = [0], interior = [1] : (tensor<3xf64>, tensor<f64>) -> tensor<5xf64>
    %40 = stablehlo.pad %34, %cst_10, low = [1], high = [1], interior = [1] : (tensor<2xf64>, tensor<f64>) -> tensor<5xf64>
    %41 = stablehlo.add %39, %40 : tensor<5xf64>
    %42 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %43:3 = stablehlo.while(%iterArg = %arg0, %iterArg_11 = %c_9, %iterArg_12 = %42) : tensor<5xf64>, tensor<i64>, tensor<5xf64>
    cond {
      %51 = stablehlo.compare LT, %iterArg_11, %c_8, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %51 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_11) : (tensor<5xf64>, tensor<i64>) -> tensor<f64>
      %52 = func.call @closed_call_2(%51) : (tensor<f64>) -> tensor<f64>
      %53 = func.call @dynamic_update_index_in_dim(%iterArg_12, %52, %iterArg_11) : (tensor<5xf64>, tensor<f64>, tensor<i64>) -> tensor<5xf64>
      %54 = stablehlo.add %iterArg_11, %c_7 : tensor<i64>
      stablehlo.return %iterArg, %54, %53 : tensor<5xf64>, tensor<i64>, tensor<5xf64>
    }
    %44:2 = stablehlo.while(%iterArg = %c_9, %iterArg_11 = %arg0) : tensor<i64>, tensor<5xf64>
    cond {
      %51 = stablehlo.compare LT, %iterArg, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %51 = func.call @closed_call_3(%iterArg_11) : (tensor<5xf64>) -> tensor<5xf64>
      %52 = stablehlo.add %iterArg, %c_7 : tensor<i64>
      stablehlo.return %52, %51 : tensor<i64>, tensor<5xf64>
    }
    %45 = stablehlo.slice %arg0 [0:0] : (tensor<5xf64>) -> tensor<0xf64>
    %46 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %47 = stablehlo.broadcast_in_dim %46, dims = [1] : (tensor<2xf64>) -> tensor<5x2xf64>
    %48:2 = stablehlo.while(%iterArg = %arg0, %iterArg_11 = %47) : tensor<5xf64>, tensor<5x2xf64>
    cond {
      %51 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<5xf64>
      %52 = stablehlo.compare LT, %iterArg, %51, FLOAT : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xi1>
      %53 = stablehlo.reduce(%52 init: %c) applies stablehlo.or across dimensions = [0] : (tensor<5xi1>, tensor<i1>) -> tensor<i1>
      stablehlo.return %53 : tensor<i1>
    } do {
      %51 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f64>) -> tensor<5xf64>
      %52 = stablehlo.add %iterArg, %51 : tensor<5xf64>
      %53 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<5x2xf64>
      %54 = stablehlo.multiply %iterArg_11, %53 : tensor<5x2xf64>
      %55 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f64>) -> tensor<5xf64>
      %56 = stablehlo.compare LT, %iterArg, %55, FLOAT : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xi1>
      %57 = stablehlo.broadcast_in_dim %56, dims = [0] : (tensor<5xi1>) -> tensor<5xi1>
      %58 = stablehlo.select %57, %52, %iterArg : tensor<5xi1>, tensor<5xf64>
      %59 = stablehlo.broadcast_in_dim %56, dims = [0] : (tensor<5xi1>) -> tensor<5x2xi1>
      %60 = stablehlo.select %59, %54, %iterArg_11 : tensor<5x2xi1>, tensor<5x2xf64>
      stablehlo.return %58, %60 : tensor<5xf64>, tensor<5x2xf64>
    }
    %49 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %50:4 = stablehlo.while(%iterArg = %arg0, %iterArg_11 = %cst_5, %iterArg_12 = %c_9, %iterArg_13 = %49) : tensor<5xf64>, tensor<f64>, tensor<i64>, tensor<5xf64>
    cond {
      %51 = stablehlo.compare LT, %iterArg_12, %c_8, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %51 : tensor<i1>
    } do {
      %51 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_12) : (tensor<5xf64>, tensor<i64>) -> tensor<f64>
      %52 = func.call @closed_call_4(%iterArg_11, %51) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      %53 = func.call @dynamic_update_index_in_dim(%iterArg_13, %52, %iterArg_12) : (tensor<5xf64>, tensor<f64>, tensor<i64>) -> tensor<5xf64>
      %54 = stablehlo.add %iterArg_12, %c_7 : tensor<i64>
      stablehlo.return %iterArg, %iterArg_11, %54, %53 : tensor<5xf64>, tensor<f64>, tensor<i64>, tensor<5xf64>
    }
    return %1#2, %1#3, %3#2, %3#3, %6#0, %6#1, %9, %10#3, %11#3, %18, %20, %41, %43#2, %44#1, %cst_10, %45, %48#0, %48#1, %cst_5, %50#3 : tensor<f64>, tensor<5xf64>, tensor<f64>, tensor<5xf64>, tensor<f64>, tensor<5xf64>, tensor<f64>, tensor<5xf64>, tensor<5xf64>, tensor<f64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>, tensor<f64>, tensor<0xf64>, tensor<5xf64>, tensor<5x2xf64>, tensor<f64>, tensor<5xf64>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<5xf64>, %arg1: tensor<i64>) -> tensor<f64> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] : (tensor<5xf64>, tensor<i64>) -> tensor<1xf64>
    %1 = stablehlo.reshape %0 : (tensor<1xf64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
  func.func private @closed_call(%arg0: tensor<f64>, %arg1: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
    %0 = stablehlo.convert %arg0 : tensor<f64>
    %1 = stablehlo.add %0, %arg1 : tensor<f64>
    %2 = stablehlo.convert %arg0 : tensor<f64>
    %3 = stablehlo.multiply %2, %arg1 : tensor<f64>
    return %1, %3 : tensor<f64>, tensor<f64>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<5xf64>, %arg1: tensor<f64>, %arg2: tensor<i64>) -> tensor<5xf64> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f64>) -> tensor<1xf64>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2 : (tensor<5xf64>, tensor<1xf64>, tensor<i64>) -> tensor<5xf64>
    return %1 : tensor<5xf64>
  }
  func.func private @closed_call_0(%arg0: tensor<f64>, %arg1: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
    %0 = stablehlo.convert %arg0 : tensor<f64>
    %1 = stablehlo.add %0, %arg1 : tensor<f64>
    %2 = stablehlo.convert %arg0 : tensor<f64>
    %3 = stablehlo.multiply %2, %arg1 : tensor<f64>
    return %1, %3 : tensor<f64>, tensor<f64>
  }
  func.func private @closed_call_1(%arg0: tensor<5xf64>, %arg1: tensor<i64>, %arg2: tensor<5xf64>) -> (tensor<i64>, tensor<5xf64>) {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.add %arg1, %c : tensor<i64>
    %1 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<f64>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %3 = stablehlo.multiply %2, %arg0 : tensor<5xf64>
    %4 = stablehlo.add %arg2, %3 : tensor<5xf64>
    return %0, %4 : tensor<i64>, tensor<5xf64>
  }
  func.func private @closed_call_2(%arg0: tensor<f64>) -> tensor<f64> {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.multiply %arg0, %cst : tensor<f64>
    return %0 : tensor<f64>
  }
  func.func private @closed_call_3(%arg0: tensor<5xf64>) -> tensor<5xf64> {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<5xf64>
    %1 = stablehlo.multiply %arg0, %0 : tensor<5xf64>
    return %1 : tensor<5xf64>
  }
  func.func private @closed_call_4(%arg0: tensor<f64>, %arg1: tensor<f64>) -> tensor<f64> {
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<2> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %0:4 = stablehlo.while(%iterArg = %arg1, %iterArg_2 = %arg0, %iterArg_3 = %c_1, %iterArg_4 = %arg1) : tensor<f64>, tensor<f64>, tensor<i64>, tensor<f64>
    cond {
      %1 = stablehlo.compare LT, %iterArg_3, %c_0, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @closed_call_5(%iterArg, %iterArg_2, %iterArg_4) : (tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
      %2 = stablehlo.add %iterArg_3, %c : tensor<i64>
      stablehlo.return %iterArg, %iterArg_2, %2, %1 : tensor<f64>, tensor<f64>, tensor<i64>, tensor<f64>
    }
    return %0#3 : tensor<f64>
  }
  func.func private @closed_call_5(%arg0: tensor<f64>, %arg1: tensor<f64>, %arg2: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.multiply %arg2, %arg0 : tensor<f64>
    %1 = stablehlo.convert %arg1 : tensor<f64>
    %2 = stablehlo.add %0, %1 : tensor<f64>
    return %2 : tensor<f64>
  }
}

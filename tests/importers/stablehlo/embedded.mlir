module @jit_embedded attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<5xcomplex<f32>> {jax.result_info = "result['complex']"}, tensor<1x2xi8> {jax.result_info = "result['few']"}, tensor<40xf32> {jax.result_info = "result['flags']"}, tensor<100x100xf32> {jax.result_info = "result['many']"}, tensor<5x0xf32> {jax.result_info = "result['odd']"}, tensor<20xf32> {jax.result_info = "result['rows']"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %cst_2 = stablehlo.constant dense<[[2.04091907, -2.55566502, 0.418098837, -0.567769587, -0.452649295, -0.215597168, -2.01998615, -0.231932372, -0.865213096, 3.32299948, 0.225786611, -0.352630794, -0.281287432, -0.668046355, -1.05515051, -0.390800983, 0.481945395, -0.238553613, 0.957758724, -0.19980213], [0.0242595654, 1.54582083, 0.545105517, -0.505228758, -0.182838976, 0.540525138, 1.93508804, -0.269620329, -0.243558675, 1.00231361, -0.886459946, -0.291720241, 0.882538974, 0.580350041, 9.151670e-02, 0.670104384, -2.82816219, 1.02130687, -0.959644734, -1.66861987], [0.276445746, 0.700544893, -0.444767445, -1.07640588, 0.0261248332, -0.0527473092, 1.40559816, 0.747407972, 0.193815649, 1.11163318, -0.205523044, -0.925899565, 0.584058285, 0.582538426, -0.214828908, -0.782808601, 0.229153901, -2.49389434, 0.69012475, 0.491368264], [-1.63885713, 0.0613535084, -0.964099645, 0.757221043, -2.03416729, -0.914494514, 7.095800e-01, 1.15640104, -2.15800548, -0.498039842, 0.328020096, -0.609216153, 1.59064019, -1.19122672, 0.354531944, -1.04840553, 1.40596294, -0.0216512289, -0.372250557, -1.71818495], [1.68182552, 0.752778589, 0.753563821, 1.13788128, 0.349226564, -0.639246583, -0.800241232, -0.800199985, 1.37007236, -1.46038115, -0.596369505, -0.321243912, 0.224619031, 0.575349391, -1.24909699, -1.73001349, -0.00441423245, 1.2135638, 0.757058084, 0.215650782]]> : tensor<5x20xf32>
    %c = stablehlo.constant dense<[true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true, false, false, true]> : tensor<40xi1>
    %c_3 = stablehlo.constant dense<[[1, -2]]> : tensor<1x2xi8>
    %cst_4 = stablehlo.constant dense<[(1.000000e+00,2.000000e+00), (0.000000e+00,0.000000e+00), (0.000000e+00,0.000000e+00), (-0.000000e+00,-1.000000e+00), (3.000000e+00,0.000000e+00)]> : tensor<5xcomplex<f32>>
    %0 = stablehlo.dot_general %arg0, %cst_2, contracting_dims = [0] x [0] : (tensor<5xf32>, tensor<5x20xf32>) -> tensor<20xf32>
    %1 = stablehlo.slice %arg0 [0:1] : (tensor<5xf32>) -> tensor<1xf32>
    %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
    %3 = call @_where(%c, %2, %cst_1) : (tensor<40xi1>, tensor<f32>, tensor<f32>) -> tensor<40xf32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<100x100xf32>
    %5 = stablehlo.slice %arg0 [0:1] : (tensor<5xf32>) -> tensor<1xf32>
    %6 = stablehlo.reshape %5 : (tensor<1xf32>) -> tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<100x100xf32>
    %8 = stablehlo.multiply %4, %7 : tensor<100x100xf32>
    %9 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<5xf32>) -> tensor<5x1xf32>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<0xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<0xf32>) -> tensor<1x0xf32>
    %12 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<5x1xf32>) -> tensor<5x0xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<1x0xf32>) -> tensor<5x0xf32>
    %14 = stablehlo.multiply %12, %13 : tensor<5x0xf32>
    %15 = stablehlo.convert %arg0 : (tensor<5xf32>) -> tensor<5xcomplex<f32>>
    %16 = stablehlo.multiply %15, %cst_4 : tensor<5xcomplex<f32>>
    return %16, %c_3, %3, %8, %14, %0 : tensor<5xcomplex<f32>>, tensor<1x2xi8>, tensor<40xf32>, tensor<100x100xf32>, tensor<5x0xf32>, tensor<20xf32>
  }
  func.func private @_where(%arg0: tensor<40xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<40xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<40xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<40xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<40xi1>, tensor<40xf32>
    return %2 : tensor<40xf32>
  }
}

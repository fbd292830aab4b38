// RUN: lower-to-nest..vectorize emit-loops

// One call of the kernel of products, with tensors, positions and result as vectors.
// CHECK-LABEL: func.func @windows.kernel
// CHECK: %[[X:.*]] = memref.reinterpret_cast %x
// CHECK: %[[W:.*]] = memref.reinterpret_cast %w
// CHECK: func.call @aot_gemm_at.f64(
// CHECK-SAME: memref<?xf64>, memref<?xf64>, memref<?xf64>, memref<?xi64>, memref<?xi64>, memref<?xi64>, memref<?xi64>
// CHECK: func.func private @aot_gemm_at.f64
func.func @windows(%w: tensor<?x3xf64>, %x: tensor<?xf64>, %g: tensor<1xi64>, %wi: tensor<?xi64>, %wp: tensor<3xi64>, %xp: tensor<3xi64>, %xj: tensor<?xi64>, %yi: tensor<?xi64>) -> tensor<?x?xf64> attributes {dims = [["m", ""], ["n"], [""], ["m"], [""], [""], ["p"], ["m"]]} {
  %0 = arith.constant 0 : index
  %m = tensor.dim %w, %0 : tensor<?x3xf64>
  %p = tensor.dim %xj, %0 : tensor<?xi64>
  %y = aot.product_at %w by %x at (%g, %wi, %wp, %g, %xp, %xj, %g, %yi, %xj)[%m, %p] : tensor<?x3xf64> by tensor<?xf64> at (tensor<1xi64>, tensor<?xi64>, tensor<3xi64>, tensor<1xi64>, tensor<3xi64>, tensor<?xi64>, tensor<1xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x?xf64>
  func.return %y : tensor<?x?xf64>
}

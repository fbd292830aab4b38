// RUN: small-matrices

// Of a batch as many matrices as a vector has lanes are taken at a time: 8 of float64, 16 of float32. One alone is one.
// CHECK-LABEL: func.func @small(
// CHECK: aot.lapack "cholesky" %a[%n] {nest.matrices = 8 : i64, options = {nan_on_failure = true}}
// CHECK: aot.lapack "lu" %b[] {nest.matrices = 16 : i64, options = {}}
// CHECK: aot.lapack "lu_inverse" %{{.*}} {nest.matrices = 1 : i64, options = {}}
// What is large or may be, and what is no Cholesky or LU factorisation, stays with LAPACK.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: nest.matrices
func.func @small(%a: tensor<?x3x3xf64>, %b: tensor<4x12x12xf32>, %c: tensor<1x6x6xf64>, %p: tensor<1x6xi32>) -> (tensor<?x3x3xf64>, tensor<4x12x12xf32>, tensor<1x6x6xf64>) attributes {dims = [["n", "", ""], ["", "", ""], ["", "", ""], ["", ""]], results = ["out0", "out1", "out2"]} {
  %axis = arith.constant 0 : index
  %n = tensor.dim %a, %axis : tensor<?x3x3xf64>
  %l, %e = aot.lapack "cholesky" %a[%n] {options = {nan_on_failure = true}} : tensor<?x3x3xf64> -> tensor<?x3x3xf64>
  %u, %q, %f = aot.lapack "lu" %b[] {options = {}} : tensor<4x12x12xf32> -> tensor<4x12x12xf32>, tensor<4x12xi32>
  %i, %g = aot.lapack "lu_inverse" %c, %p[] {options = {}} : tensor<1x6x6xf64>, tensor<1x6xi32> -> tensor<1x6x6xf64>
  func.return %l, %u, %i : tensor<?x3x3xf64>, tensor<4x12x12xf32>, tensor<1x6x6xf64>
}
func.func @others(%a: tensor<?x?xf64>, %b: tensor<4x13x13xf32>, %c: tensor<3x3xf64>) -> (tensor<?x?xf64>, tensor<4x13x13xf32>, tensor<3xf64>) attributes {dims = [["n", "n"], ["", "", ""], ["", ""]], results = ["out0", "out1", "out2"]} {
  %axis = arith.constant 0 : index
  %n = tensor.dim %a, %axis : tensor<?x?xf64>
  %l, %e = aot.lapack "cholesky" %a[%n, %n] {options = {nan_on_failure = true}} : tensor<?x?xf64> -> tensor<?x?xf64>
  %m, %f = aot.lapack "cholesky" %b[] {options = {nan_on_failure = true}} : tensor<4x13x13xf32> -> tensor<4x13x13xf32>
  %w, %g = aot.lapack "eigvalsh" %c[] {options = {is_lower = true}} : tensor<3x3xf64> -> tensor<3xf64>
  func.return %l, %m, %w : tensor<?x?xf64>, tensor<4x13x13xf32>, tensor<3xf64>
}

// RUN: small-matrices parallelize emit-loops

// A group of eight matrices: their elements are put side by side, in the order of the matrix, the last ones again where
// the batch ends; the product is computed in registers, an element of each matrix in every lane; then it is copied to
// where it belongs, and the first failure of the group is kept. Several cores take chunks of groups.
// CHECK-LABEL: func.func @multiply.kernel
// CHECK-NOT: aot_lapack
// CHECK: %[[FAILURES:.*]] = memref.alloc(%{{.*}}) : memref<?xi64>
// CHECK: scf.parallel
// CHECK: %[[B:.*]] = memref.alloc() : memref<16xf64>
// CHECK: %[[A:.*]] = memref.alloc() : memref<32xf64>
// CHECK: scf.for
// CHECK-COUNT-8: arith.minsi
// CHECK: scf.for
// CHECK-COUNT-8: vector.insert
// CHECK: vector.store %{{.*}}, %[[A]]
// CHECK: scf.for
// CHECK-COUNT-8: vector.insert
// CHECK: vector.store %{{.*}}, %[[B]]
// CHECK-COUNT-4: vector.load %[[A]]
// CHECK-COUNT-2: vector.load %[[B]]
// CHECK: %[[X:.*]] = arith.mulf %{{.*}} : vector<8xf64>
// CHECK: %[[Y:.*]] = arith.mulf %{{.*}} : vector<8xf64>
// CHECK: arith.addf %[[X]], %[[Y]] fastmath<contract> : vector<8xf64>
// CHECK: arith.mulf %{{.*}} : vector<8xf64>
// CHECK-COUNT-2: vector.store %{{.*}}, %[[B]]
// CHECK: scf.for
// CHECK: memref.load %[[B]]
// CHECK: memref.store %{{.*}}, %[[FAILURES]]
// CHECK: scf.for
// CHECK: memref.load %[[FAILURES]]
func.func @multiply(%a: tensor<?x2x2xf64>, %b: tensor<?x2xf64>) -> tensor<?x2xf64> attributes {dims = [["n", "", ""], ["n", ""]], results = ["out0"]} {
  %axis = arith.constant 0 : index
  %n = tensor.dim %a, %axis : tensor<?x2x2xf64>
  %x, %failure = aot.lapack "multiply_triangular" %a, %b[%n] {options = {is_left = true, is_lower = true, is_transposed = false, is_unit = false}} : tensor<?x2x2xf64>, tensor<?x2xf64> -> tensor<?x2xf64>
  func.return %x : tensor<?x2xf64>
}

// One matrix of some rows is computed in place, by a function that equal operations share: its outer loop is unrolled.
// CHECK-LABEL: func.func @alone.kernel
// CHECK: func.call @alone.cholesky0
// CHECK-LABEL: func.func private @alone.cholesky0
// CHECK-NOT: func.call
// CHECK-NOT: vector<
// CHECK-COUNT-5: math.sqrt %{{.*}} : f64
func.func @alone(%a: tensor<5x5xf64>) -> tensor<5x5xf64> attributes {dims = [["", ""]], results = ["out0"]} {
  %l, %failure = aot.lapack "cholesky" %a[] {options = {nan_on_failure = true}} : tensor<5x5xf64> -> tensor<5x5xf64>
  func.return %l : tensor<5x5xf64>
}

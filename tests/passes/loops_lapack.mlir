// RUN: canonicalize lower-to-nest..vectorize emit-loops

// The lower triangle is copied into the output, zeros go above it, and LAPACK factorises in place what to it is the upper
// one (85 is 'U'). It is not called without elements; the failure that it reports is a check.
// CHECK-LABEL: func.func @factor.kernel
// CHECK-SAME: (%a: memref<?x?xf64>, %[[OUT:[0-9]+]]: memref<?x?xf64>
// CHECK-NOT: memref.alloc
// CHECK: %[[FLAT:.*]] = memref.reinterpret_cast %[[OUT]]
// CHECK: arith.cmpi sgt
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[FLAT]]
// CHECK: %[[UPPER:.*]] = arith.constant 85 : i8
// CHECK: func.call @aot_lapack_potrf.f64(%[[UPPER]], %[[N:.*]], %[[FLAT]], %{{.*}}, %[[N]], %context)
// CHECK: arith.cmpi eq
// CHECK: scf.if
func.func @factor(%a: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["n", "n"]]} {
  %axis = arith.constant 0 : index
  %n = tensor.dim %a, %axis : tensor<?x?xf64>
  %l, %failure = aot.lapack "cholesky" %a[%n, %n] {options = {nan_on_failure = false}} : tensor<?x?xf64> -> tensor<?x?xf64>
  %zero = arith.constant 0 : i64
  %ok = arith.cmpi eq, %failure, %zero : i64
  aot.check 1 "linalg" "no" , %ok, %axis, %axis
  func.return %l : tensor<?x?xf64>
}

// A batch is a loop. The right-hand side is made for this alone, so the solution takes its place in the output, and the call
// asks from the right (82 is 'R') for Xᵀ·Aᵀ = Bᵀ: nothing is transposed or copied. A failure leaves nan.
// CHECK-LABEL: func.func @solve.kernel
// CHECK-SAME: (%a: memref<4x30x30xf32>, %b: memref<4x30x2xf32>, %[[OUT:[0-9]+]]: memref<4x30x2xf32>
// CHECK-NOT: memref.alloc
// CHECK: %[[LINE:.*]] = memref.reinterpret_cast %[[OUT]]
// CHECK: math.exp
// CHECK: memref.store %{{.*}}, %[[LINE]]
// CHECK: %[[FLAT:.*]] = memref.reinterpret_cast %[[OUT]]
// CHECK: scf.for %[[ENTRY:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK-NOT: memref.store
// CHECK: %[[RIGHT:.*]] = arith.constant 82 : i8
// CHECK: func.call @aot_lapack_trsm.f32(%[[RIGHT]]
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[FLAT]]
func.func @solve(%a: tensor<4x30x30xf32>, %b: tensor<4x30x2xf32>) -> tensor<4x30x2xf32> attributes {dims = [["", "", ""], ["", "", ""]]} {
  %none = tensor.empty() : tensor<4x30x2xf32>
  %e = linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>],
    iterator_types = ["parallel", "parallel", "parallel"]
  } ins(%b : tensor<4x30x2xf32>) outs(%none : tensor<4x30x2xf32>) {
  ^bb0(%p: f32, %q: f32):
    %r = math.exp %p : f32
    linalg.yield %r : f32
  } -> tensor<4x30x2xf32>
  %x, %failure = aot.lapack "solve_triangular" %a, %e[] {options = {is_left = true, is_lower = true, is_transposed = false, is_unit = false, nan_on_failure = true}} : tensor<4x30x30xf32>, tensor<4x30x2xf32> -> tensor<4x30x2xf32>
  func.return %x : tensor<4x30x2xf32>
}

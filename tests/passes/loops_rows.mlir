// RUN: lower-to-nest..vectorize emit-loops

// A sparse matrix by a vector: eight rows at once, each a masked step and a loop for what is left of it; one store. The
// rows behind the last eight go one by one.
// CHECK-LABEL: func.func @product.kernel
// CHECK: {{^    }}scf.for
// CHECK-COUNT-9: memref.load %A_indptr
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.maskedload %A_indices[%{{.*}}], %[[MASK]]
// CHECK: vector.gather %x[%{{.*}}][%{{.*}}], %[[MASK]]
// CHECK: vector.maskedload %A_data[%{{.*}}], %[[MASK]]
// CHECK: scf.for {{.*}} -> (vector<8xf64>) {
// CHECK: vector.gather %x
// CHECK-COUNT-7: scf.for {{.*}} -> (vector<8xf64>) {
// CHECK-COUNT-14: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK: vector.store %{{.*}}, %out
// CHECK: {{^    [}]$}}
// CHECK: {{^    }}scf.for
// CHECK: scf.for {{.*}} -> (f64) {
// CHECK: memref.store %{{.*}}, %out
func.func @product(%A: tensor<?x?xi1>, %A_data: tensor<?xf64>, %A_indices: tensor<?xi32>, %A_indptr: tensor<?xi32>, %x: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["m", "n"], ["A_nnz"], ["A_nnz"], ["A_indptr_0"], ["n"]], results = ["out"]} {
  %0 = arith.constant 0 : index
  %m = tensor.dim %A, %0 : tensor<?x?xi1>
  %A_nnz = tensor.dim %A_data, %0 : tensor<?xf64>
  %1 = tensor.empty(%A_nnz) : tensor<?xf64>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%A_indices : tensor<?xi32>) outs(%1 : tensor<?xf64>) {
  ^bb0(%3: i32, %4: f64):
    %5 = arith.extsi %3 : i32 to i64
    %6 = arith.index_cast %5 : i64 to index
    %7 = tensor.extract %x[%6] : tensor<?xf64>
    linalg.yield %7 : f64
  } -> tensor<?xf64>
  %8 = tensor.empty(%A_nnz) : tensor<?xf64>
  %9 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%A_data, %2 : tensor<?xf64>, tensor<?xf64>) outs(%8 : tensor<?xf64>) {
  ^bb0(%10: f64, %11: f64, %12: f64):
    %13 = arith.mulf %10, %11 fastmath<contract> : f64
    linalg.yield %13 : f64
  } -> tensor<?xf64>
  %14 = arith.constant 0.000000e+00 : f64
  %15 = tensor.splat %14[%m] : tensor<?xf64>
  %16 = aot.segment_sum %9 by %A_indptr from %15 {fastmath = #arith.fastmath<reassoc,contract>} : tensor<?xf64> by tensor<?xi32> from tensor<?xf64>
  func.return %16 : tensor<?xf64>
}

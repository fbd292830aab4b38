// RUN: reuse-shape-results emit-loops plan-memory

// The entries of a product are counted where the extents are asked for; the kernel finds the counts in memory that it is
// given, and its output is a copy of that.
// CHECK-LABEL: func.func @f.kernel(
// CHECK-SAME: %[[KEPT:kept0]]: memref<?xi8>, %workspace: memref<?xi8>
// CHECK: %[[COUNTS:[a-z0-9_]+]] = memref.view %[[KEPT]][%{{.*}}][%{{.*}}] : memref<?xi8> to memref<?xi32>
// CHECK-NOT: arith.cmpi ne
// CHECK: memref.load %[[COUNTS]]
// CHECK-LABEL: func.func @f.extents(
// CHECK-SAME: %[[TABLE:kept]]: memref<2xi64>, %extents: memref<?xi64>
// CHECK: %[[NEW:[a-z0-9_]+]] = memref.alloc(%{{.*}}) {kept} : memref<?xi32>
// CHECK: "memref.extract_aligned_pointer_as_index"(%[[NEW]])
// CHECK: memref.store %{{.*}}, %[[TABLE]]
// CHECK: memref.store %{{.*}}, %[[TABLE]]
// CHECK: arith.cmpi ne
// CHECK-NOT: memref.dealloc %[[NEW]]
func.func @f(%indices: tensor<?xi32>, %indptr: tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>) attributes {dims = [["nnz"], ["n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %indptr, %c0 : tensor<?xi32>
  %m = arith.subi %n, %c1 : index
  %counts = aot.pattern "product_count" %indices, %indptr, %indices, %indptr over(%m) [%n] {fastmath = #arith.fastmath<none>} : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  %last = tensor.extract %counts[%m] : tensor<?xi32>
  %nnz = arith.index_cast %last : i32 to index
  %empty = nest.value[%nnz] output 0 : tensor<?xi32>
  func.return %empty, %counts : tensor<?xi32>, tensor<?xi32>
}
func.func @f.extents(%indices: tensor<?xi32>, %indptr: tensor<?xi32>) -> (index, index) attributes {dims = [["nnz"], ["n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %indptr, %c0 : tensor<?xi32>
  %m = arith.subi %n, %c1 : index
  %counts = aot.pattern "product_count" %indices, %indptr, %indices, %indptr over(%m) [%n] {fastmath = #arith.fastmath<none>} : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32> -> tensor<?xi32>
  %last = tensor.extract %counts[%m] : tensor<?xi32>
  %nnz = arith.index_cast %last : i32 to index
  func.return %nnz, %n : index, index
}

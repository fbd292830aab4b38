// RUN: canonicalize lower-to-nest..vectorize emit-loops

// Columns are factorised while there is room; then what factors lie in moves to twice as much. What they need is known at
// the end, when rows get the names of pivots. Where there is no pivot, nothing is solved.
// CHECK-LABEL: func.func @solve.kernel
// CHECK: func.call @aot_direct.begin_factors.f64.64.64.64.64.64(
// CHECK: %[[ROWS:.*]] = memref.alloc(%[[ROOM:.*]]) {grows = 0 : i64} : memref<?xi32>
// CHECK: memref.alloc(%[[ROOM]]) {grows = 3 : i64} : memref<?xf64>
// CHECK: scf.while
// CHECK: scf.condition
// CHECK: %[[DONE:.*]] = func.call @aot_direct.factor_columns.f64.32.32.64.64.64.32.32.64
// CHECK: %[[LARGER:.*]] = arith.select
// CHECK: memref.realloc %{{.*}}(%[[LARGER]]) {grows = 0 : i64} : memref<?xi32> to memref<?xi32>
// CHECK: scf.yield %[[DONE]], %[[LARGER]]
// CHECK: func.call @aot_direct.name_rows.f64.64.64.32.64(
// CHECK: scf.if
// CHECK: func.call @aot_direct.solve_factored.f64.64.64.64.64.32.32(
// CHECK: func.func private @aot_direct.begin_factors
func.func @solve(
  %data: tensor<?xf64>, %indices: tensor<?xi32>, %indptr: tensor<?xi32>, %order: tensor<?xi64>, %full: tensor<1xi64>,
  %b: tensor<?xf64>
) -> tensor<?xf64> attributes {dims = [["nnz"], ["nnz"], ["above"], ["n"], [""], ["n"]]} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %six = arith.constant 6 : index
  %n = tensor.dim %b, %zero : tensor<?xf64>
  %above = arith.addi %n, %one : index
  %size = arith.muli %above, %six : index
  %p, %t, %info, %r, %l, %s, %u, %c0, %c1, %c2, %c3 = aot.direct "lu" %data, %indices, %indptr, %order, %full [%n, %size]
    : tensor<?xf64>, tensor<?xi32>, tensor<?xi32>, tensor<?xi64>, tensor<1xi64>
    -> tensor<?xi64>, tensor<?xi64>, tensor<6xi64>, tensor<?xi32>, tensor<?xf64>, tensor<?xi32>, tensor<?xf64>
    count index, index, index, index
  %failure = tensor.extract %info[%zero] : tensor<6xi64>
  %none = arith.constant 0 : i64
  %ok = arith.cmpi eq, %failure, %none : i64
  aot.check 1 "linalg" "no" , %ok, %zero, %zero
  %x = aot.direct "lu_solve" %b, %order, %p, %t, %info, %r, %l, %s, %u [%n]
    : tensor<?xf64>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<6xi64>, tensor<?xi32>, tensor<?xf64>, tensor<?xi32>, tensor<?xf64>
    -> tensor<?xf64> count
  func.return %x : tensor<?xf64>
}

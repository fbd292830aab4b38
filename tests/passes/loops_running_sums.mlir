// RUN: lower-to-nest..vectorize parallelize emit-loops

// A line alone: blocks that stay in cache, one after the other. Of each, chunks but the last are summed, these sums are
// added up, and each chunk is summed again, on top of what is in front of it, into the result. Additions of groups of
// eight wait for nothing but the one in front of the group.
// CHECK-LABEL: func.func @line.kernel
// CHECK-SAME: (%x: memref<?xf64>, %[[Y:[0-9a-z]+]]: memref<?xf64>
// CHECK: %[[T:[0-9]+]] = memref.alloc() : memref<64xf64>
// CHECK: scf.for %[[BLOCK:[0-9]+]] = %{{[0-9a-z]+}} to %n step %{{[0-9]+}} iter_args(%[[BEFORE:[0-9]+]] = %{{[0-9a-z]+}}) -> (f64) {
// CHECK: memref.store %[[BEFORE]], %[[T]][
// CHECK: scf.parallel (%[[OFFSET:[0-9]+]]) = (%{{[0-9a-z]+}}) to (%{{[0-9]+}}) step (%[[SIZE:[0-9]+]]) {
// CHECK: %[[FIRST:[0-9]+]] = arith.addi %[[BLOCK]], %[[OFFSET]] : index
// CHECK: scf.for %{{[0-9]+}} = %[[FIRST]] to %{{[0-9]+}} step %{{[0-9a-z]+}} iter_args(%[[S:[0-9]+]] = %{{[0-9a-z]+}}) -> (f64) {
// CHECK-COUNT-8: memref.load %x[
// CHECK: arith.addf %[[S]], %{{[0-9]+}} : f64
// CHECK-NEXT: scf.yield
// CHECK: memref.store %{{[0-9]+}}, %[[T]][
// CHECK: scf.reduce
// CHECK: scf.for
// CHECK: memref.store %{{[0-9]+}}, %[[T]][
// CHECK: scf.parallel (%{{[0-9]+}}) = (%{{[0-9a-z]+}}) to (%{{[0-9]+}}) step (%[[SIZE]]) {
// CHECK: %[[OWN:[0-9]+]] = memref.load %[[T]][
// CHECK: arith.addf %[[OWN]], %{{[0-9]+}} : f64
// CHECK: memref.store %{{[0-9]+}}, %[[Y]][
// CHECK: scf.reduce
// CHECK: memref.load %[[Y]][
// CHECK-NEXT: scf.yield
func.func @line(%x: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["n"]], results = ["out"]} {
  %y = aot.cumulate "add" 0 %x {fastmath = #arith.fastmath<reassoc>} : tensor<?xf64>
  func.return %y : tensor<?xf64>
}

// In groups by one core: a line that is short for certain.
// CHECK-LABEL: func.func @short.kernel
// CHECK-NOT: scf.parallel
// CHECK-COUNT-8: memref.load %x[
func.func @short(%x: tensor<99xf32>) -> tensor<99xf32> attributes {dims = [[""]], results = ["out"]} {
  %y = aot.cumulate "add" 0 %x {fastmath = #arith.fastmath<reassoc>} : tensor<99xf32>
  func.return %y : tensor<99xf32>
}

// In order: where the sum may not be taken in another one, and where elements do not follow each other. Many columns are
// computed row by row, from the row before.
// CHECK-LABEL: func.func @strict.kernel
// CHECK-NOT: scf.parallel
// CHECK: scf.for
// CHECK-COUNT-1: memref.load %x[
// CHECK-NOT: memref.load
func.func @strict(%x: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["n"]], results = ["out"]} {
  %y = aot.cumulate "add" 0 %x {fastmath = #arith.fastmath<none>} : tensor<?xf64>
  func.return %y : tensor<?xf64>
}
// CHECK-LABEL: func.func @columns.kernel
// CHECK: %[[LAST:[0-9]+]] = memref.load %out[
// CHECK: arith.addf %[[LAST]], %{{[0-9]+}} fastmath<contract> : f64
// CHECK: } {parallel_accesses}
// CHECK: } else {
// CHECK-COUNT-1: memref.load %x[
// CHECK-NOT: memref.load
func.func @columns(%x: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["n", "m"]], results = ["out"]} {
  %y = aot.cumulate "add" 0 %x {fastmath = #arith.fastmath<reassoc>} : tensor<?x?xf64>
  func.return %y : tensor<?x?xf64>
}

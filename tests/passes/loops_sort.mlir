// RUN: lower-to-nest..vectorize parallelize emit-loops

// A line alone: chunks are sorted by themselves, then merged by passes to the scratch memory and back, in which each
// piece of a merged run begins where a bisection says.
// CHECK-LABEL: func.func @line.kernel
// CHECK-SAME: (%x: memref<?xf64>, %[[V:[0-9a-z]+]]: memref<?xf64>, %[[P:[0-9a-z]+]]: memref<?xi64>
// CHECK: %[[SV:[0-9]+]] = memref.alloc(%{{[0-9a-z]+}}) : memref<?xf64>
// CHECK: %[[SP:[0-9]+]] = memref.alloc(%{{[0-9a-z]+}}) : memref<?xi64>
// CHECK: scf.parallel (%[[START:[0-9]+]]) = (%{{[0-9]+}}) to (%n) step (%[[SIZE:[0-9]+]]) {
// CHECK: %[[STOP:[0-9]+]] = arith.minsi %{{[0-9]+}}, %n : index
// CHECK: scf.for %{{[0-9]+}} = %[[START]] to %[[STOP]]
// CHECK: scf.reduce
// CHECK: %[[WIDTH:[0-9]+]] = arith.shli %[[SIZE]], %{{[0-9]+}} : index
// CHECK: arith.cmpi slt, %[[WIDTH]], %n : index
// CHECK: scf.if
// CHECK: scf.parallel (%{{[0-9]+}}) = (%{{[0-9]+}}) to (%n) step (%[[SIZE]]) {
// CHECK: %[[FOUND:[0-9]+]], %{{[0-9]+}} = scf.while
// CHECK: arith.addi %{{[0-9]+}}, %[[FOUND]] : index
// CHECK: memref.store %{{[0-9]+}}, %[[SV]][
// CHECK: scf.parallel (%{{[0-9]+}}) = (%{{[0-9]+}}) to (%n) step (%[[SIZE]]) {
// CHECK: scf.while
// CHECK: memref.store %{{[0-9]+}}, %[[V]][
func.func @line(%x: tensor<?xf64>) -> (tensor<?xf64>, tensor<?xi64>) attributes {dims = [["n"]], results = ["out0", "out1"]} {
  %v, %p = aot.sort 0 %x : tensor<?xf64> -> tensor<?xf64>, tensor<?xi64>
  func.return %v, %p : tensor<?xf64>, tensor<?xi64>
}

// A line that is short for certain is sorted by one core.
// CHECK-LABEL: func.func @short.kernel
// CHECK-NOT: scf.parallel
func.func @short(%x: tensor<99xf64>) -> (tensor<99xf64>, tensor<99xi64>) attributes {dims = [[""]], results = ["out0", "out1"]} {
  %v, %p = aot.sort 0 %x : tensor<99xf64> -> tensor<99xf64>, tensor<99xi64>
  func.return %v, %p : tensor<99xf64>, tensor<99xi64>
}

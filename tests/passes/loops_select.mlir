// RUN: lower-to-nest..vectorize parallelize select-by-blocks emit-loops

// Lines are shared out among the cores. A round takes a sample and counts what lies below two keys of it, all in
// vectors; then the keys of one part are kept, at the place where the next one goes. Rounds go on while the range of
// the keys is no point and there are many of them.
// CHECK-LABEL: func.func @ranks.kernel
// CHECK-SAME: (%x: memref<?x?xf64>, %k: memref<?xi64>, %[[OUT:[0-9a-z]+]]: memref<?x?xi64>
// CHECK: scf.parallel
// CHECK-DAG: memref.alloc(%{{[0-9a-z]+}}) : memref<?xi64>
// CHECK-DAG: memref.alloc() : memref<256xi64>
// CHECK: memref.load %k[
// CHECK: arith.cmpi slt, %{{[0-9]+}}, %[[U:[0-9]+]] : i64
// CHECK: arith.cmpi sle, %{{[0-9]+}}, %[[V:[0-9]+]] : i64
// CHECK: scf.while
// CHECK: scf.condition
// CHECK: memref.store %{{[0-9]+}}, %[[OUT]][
func.func @ranks(%x: tensor<?x?xf64>, %k: tensor<?xi64>) -> (tensor<?x?xi64>) attributes {dims = [["n", "p"], ["r"]], results = ["out"]} {
  %p = aot.select "ranks" %x at %k : tensor<?xi64> : tensor<?x?xf64> -> tensor<?x?xi64>
  func.return %p : tensor<?x?xi64>
}

// The first few in the order of their positions. A line of 320 or more elements is searched by blocks of 32: the least
// key of each, then the keys of five blocks. The last loop stops to write when it has all.
// CHECK-LABEL: func.func @few.kernel
// CHECK-SAME: (%x: memref<?xi8>, %[[OUT:[0-9a-z]+]]: memref<5xi64>
// CHECK-NOT: scf.parallel
// CHECK-DAG: %[[LONG:[0-9a-z]+]] = arith.constant 320 : index
// CHECK: arith.cmpi sge, %n, %[[LONG]] : index
// CHECK: arith.extui %{{[0-9]+}} : i8 to i64
// CHECK: arith.minsi %{{[0-9]+}}, %{{[0-9]+}} : i64
// CHECK: scf.while
// CHECK: scf.if
// CHECK: memref.store %{{[0-9]+}}, %[[OUT]][
// CHECK: novector
func.func @few(%x: tensor<?xi8>) -> (tensor<5xi64>) attributes {dims = [["n"]], results = ["out"]} {
  %p = aot.select "first" unsigned %x : tensor<?xi8> -> tensor<5xi64>
  func.return %p : tensor<5xi64>
}

// RUN: lower-to-nest..vectorize emit-loops

// The body stands in the loop: it reads row t of the sequence, the former state is row t - 1 of the result or the initial
// one, and the new state is written to its row of the result. Nothing is copied, and no function is called.
// CHECK-LABEL: func.func @states.kernel
// CHECK-SAME: %x: memref<?x?xf64>, %h: memref<1x?xf64>, %[[OUT:[0-9a-z]+]]: memref<?x?xf64>
// CHECK-NOT: memref.alloc
// CHECK: scf.for %[[T:[0-9]+]] =
// CHECK: %[[ROW:.*]] = memref.reinterpret_cast %x to offset
// CHECK: %[[FIRST:.*]] = memref.reinterpret_cast %h to offset
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi slt, %[[T]]
// CHECK: %[[FORMER:.*]] = memref.reinterpret_cast %[[OUT]] to offset
// CHECK: %[[STATE:.*]] = arith.select %[[IS_FIRST]], %[[FIRST]], %[[FORMER]] : memref
// CHECK: %[[NEW:.*]] = memref.reinterpret_cast %[[OUT]] to offset
// CHECK: scf.for %[[K:.*]] =
// CHECK-DAG: memref.load %[[ROW]][%[[K]]]
// CHECK-DAG: memref.load %[[STATE]][%[[K]]]
// CHECK: memref.store %{{.*}}, %[[NEW]][%[[K]]]
// CHECK-NOT: func.call
// CHECK: func.return
func.func private @step(%row: tensor<?xf64>, %state: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["d0"], ["d0"]]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %row, %c0 : tensor<?xf64>
  %empty = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%row, %state : tensor<?xf64>, tensor<?xf64>) outs(%empty : tensor<?xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %s = arith.addf %a, %b : f64
    linalg.yield %s : f64
  } -> tensor<?xf64>
  func.return %r : tensor<?xf64>
}

func.func @states(%x: tensor<?x?xf64>, %h: tensor<1x?xf64>) -> tensor<?x?xf64> attributes {dims = [["n", "m"], ["", "m"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf64>
  %m = tensor.dim %x, %c1 : tensor<?x?xf64>
  %r = aot.scan @step steps %n rows(%x) initial(%h) constants() sizes[%n, %m] {taps = [array<i64: -1>], stacked = array<i64: 1>} : (tensor<?x?xf64>) (tensor<1x?xf64>) () -> (tensor<?x?xf64>)
  func.return %r : tensor<?x?xf64>
}

// A scalar state stays in a register; a loop that may end early is a while loop over the step and whether to stop.
// CHECK-LABEL: func.func @count.kernel
// CHECK: %[[START:.*]] = memref.load %start[
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %[[START]])
// CHECK: scf.condition
// CHECK: arith.addf
// CHECK: scf.yield
// CHECK-NOT: memref.reinterpret_cast
// CHECK: func.return
func.func private @until(%state: f64) -> (f64, i1) attributes {dims = [[]]} {
  %one = arith.constant 1.0 : f64
  %s = arith.addf %state, %one : f64
  %stop = arith.cmpf ogt, %s, %one : f64
  func.return %s, %stop : f64, i1
}

func.func @count(%start: tensor<1xf64>, %n: index) -> (f64, i64) attributes {dims = [[""], []]} {
  %r, %taken = aot.scan @until steps %n rows() initial(%start) constants() sizes[] {taps = [array<i64: -1>], stacked = array<i64: 0>, conditional} : () (tensor<1xf64>) () -> (f64, i64)
  func.return %r, %taken : f64, i64
}

// RUN: tile-scan-batch

// Row i of the new state is made of row i of the old one, of the sequence and of %m, and of all of %u: all steps are taken
// for 8 of the 16 rows, then for the others. The body works on 8 rows.
// CHECK-LABEL: func.func private @step
// CHECK-SAME: (%x: tensor<8x64xf32>, %h: tensor<8x64xf32>, %u: tensor<64x64xf32>, %m: tensor<8x64xf32>) -> tensor<8x64xf32>
// CHECK: tensor.splat %zero : tensor<8x64xf32>
// CHECK: tensor.extract %m[%{{.*}}, %{{.*}}] : tensor<8x64xf32>
// CHECK: func.return %{{.*}} : tensor<8x64xf32>
func.func private @step(%x: tensor<16x64xf32>, %h: tensor<16x64xf32>, %u: tensor<64x64xf32>, %m: tensor<16x64xf32>) -> tensor<16x64xf32> attributes {dims = [["", ""], ["", ""], ["", ""], ["", ""]]} {
  %zero = arith.constant 0.0 : f32
  %z = tensor.splat %zero : tensor<16x64xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%h, %u : tensor<16x64xf32>, tensor<64x64xf32>) outs(%z : tensor<16x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %q = arith.mulf %a, %b fastmath<contract> : f32
    %r = arith.addf %c, %q fastmath<reassoc,contract> : f32
    linalg.yield %r : f32
  } -> tensor<16x64xf32>
  %e = tensor.empty() : tensor<16x64xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%p, %x : tensor<16x64xf32>, tensor<16x64xf32>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %w = tensor.extract %m[%i, %j] : tensor<16x64xf32>
    %s = arith.addf %a, %b : f32
    %t = arith.mulf %s, %w : f32
    linalg.yield %t : f32
  } -> tensor<16x64xf32>
  func.return %n : tensor<16x64xf32>
}

// CHECK-LABEL: func.func @loop
// CHECK: %[[ROWS:.*]] = arith.constant 8 : index
// CHECK: aot.scan @step steps %{{.*}} rows(%x) initial(%h) constants(%u, %m) sizes[] chunk %[[ROWS]] {{{.*}}cut = array<i64: 1, 0, 1>
func.func @loop(%x: tensor<500x16x64xf32>, %h: tensor<1x16x64xf32>, %u: tensor<64x64xf32>, %m: tensor<16x64xf32>) -> tensor<500x16x64xf32> attributes {dims = [["", "", ""], ["", "", ""], ["", ""], ["", ""]]} {
  %n = arith.constant 500 : index
  %r = aot.scan @step steps %n rows(%x) initial(%h) constants(%u, %m) sizes[] {taps = [array<i64: -1>], stacked = array<i64: 1>} : (tensor<500x16x64xf32>) (tensor<1x16x64xf32>) (tensor<64x64xf32>, tensor<16x64xf32>) -> (tensor<500x16x64xf32>)
  func.return %r : tensor<500x16x64xf32>
}

// Of an unknown number of rows: how many a chunk has is computed in front of the loop, the body stays.
// CHECK-LABEL: func.func private @add
// CHECK-SAME: (%x: tensor<?xf64>, %h: tensor<?xf64>) -> tensor<?xf64>
// CHECK-LABEL: func.func @unknown
// CHECK: arith.divsi
// CHECK: aot.scan @add {{.*}} chunk %{{.*}} {{{.*}}cut = array<i64: 1>
func.func private @add(%x: tensor<?xf64>, %h: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["d0"], ["d0"]]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %e = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %h : tensor<?xf64>, tensor<?xf64>) outs(%e : tensor<?xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %s = arith.addf %a, %b : f64
    linalg.yield %s : f64
  } -> tensor<?xf64>
  func.return %r : tensor<?xf64>
}

func.func @unknown(%x: tensor<?x?xf64>, %h: tensor<1x?xf64>) -> tensor<?xf64> attributes {dims = [["t", "n"], ["", "n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x?xf64>
  %n = tensor.dim %x, %c1 : tensor<?x?xf64>
  %r = aot.scan @add steps %t rows(%x) initial(%h) constants() sizes[%n] {taps = [array<i64: -1>], stacked = array<i64: 0>} : (tensor<?x?xf64>) (tensor<1x?xf64>) () -> (tensor<?xf64>)
  func.return %r : tensor<?xf64>
}

// As many rows as columns, and as x has elements: only the rows are those of a chunk.
// CHECK-LABEL: func.func private @square
// CHECK-SAME: dims = {{\[\[}}"d0"], ["rows", "d0"]]
// CHECK: %[[ROWS:[a-z0-9_]+]] = tensor.dim %h,
// CHECK: %n = tensor.dim %x,
// CHECK: tensor.empty(%[[ROWS]], %n)
// CHECK-LABEL: func.func @squares
// CHECK: aot.scan @square {{.*}} chunk %{{.*}} {{{.*}}cut = array<i64: 0>
func.func private @square(%x: tensor<?xf64>, %h: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["d0"], ["d0", "d0"]]} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %e = tensor.empty(%n, %n) : tensor<?x?xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %h : tensor<?xf64>, tensor<?x?xf64>) outs(%e : tensor<?x?xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %s = arith.addf %a, %b : f64
    linalg.yield %s : f64
  } -> tensor<?x?xf64>
  func.return %r : tensor<?x?xf64>
}

func.func @squares(%x: tensor<?x?xf64>, %h: tensor<1x?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["t", "n"], ["", "n", "n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %x, %c0 : tensor<?x?xf64>
  %n = tensor.dim %x, %c1 : tensor<?x?xf64>
  %r = aot.scan @square steps %t rows(%x) initial(%h) constants() sizes[%n, %n] {taps = [array<i64: -1>], stacked = array<i64: 0>} : (tensor<?x?xf64>) (tensor<1x?x?xf64>) () -> (tensor<?x?xf64>)
  func.return %r : tensor<?x?xf64>
}

// Each element of the new state needs all of the old one; an element of the last one needs its number, and the number of
// the row is computed with: these are loops over all rows.
// CHECK-LABEL: func.func @dependent
// CHECK: aot.scan @mixed
// CHECK-NOT: chunk
// CHECK: aot.scan @numbered
// CHECK-NOT: chunk
// CHECK: func.return
func.func private @mixed(%h: tensor<4096xf64>, %u: tensor<4096x4096xf64>) -> tensor<4096xf64> attributes {dims = [[""], ["", ""]]} {
  %zero = arith.constant 0.0 : f64
  %z = tensor.splat %zero : tensor<4096xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%u, %h : tensor<4096x4096xf64>, tensor<4096xf64>) outs(%z : tensor<4096xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %q = arith.mulf %a, %b : f64
    %s = arith.addf %c, %q : f64
    linalg.yield %s : f64
  } -> tensor<4096xf64>
  func.return %r : tensor<4096xf64>
}

func.func private @numbered(%h: tensor<4096xf64>) -> tensor<4096xf64> attributes {dims = [[""]]} {
  %e = tensor.empty() : tensor<4096xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%h : tensor<4096xf64>) outs(%e : tensor<4096xf64>) {
  ^bb0(%a: f64, %c: f64):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i64
    %f = arith.sitofp %k : i64 to f64
    %s = arith.addf %a, %f : f64
    linalg.yield %s : f64
  } -> tensor<4096xf64>
  func.return %r : tensor<4096xf64>
}

func.func @dependent(%h: tensor<1x4096xf64>, %u: tensor<4096x4096xf64>) -> (tensor<4096xf64>, tensor<4096xf64>) attributes {dims = [["", ""], ["", ""]]} {
  %n = arith.constant 500 : index
  %r = aot.scan @mixed steps %n rows() initial(%h) constants(%u) sizes[] {taps = [array<i64: -1>], stacked = array<i64: 0>} : () (tensor<1x4096xf64>) (tensor<4096x4096xf64>) -> (tensor<4096xf64>)
  %s = aot.scan @numbered steps %n rows() initial(%h) constants() sizes[] {taps = [array<i64: -1>], stacked = array<i64: 0>} : () (tensor<1x4096xf64>) () -> (tensor<4096xf64>)
  func.return %r, %s : tensor<4096xf64>, tensor<4096xf64>
}

// Without states, steps need nothing of each other: 12 chunks of at most 42.
// CHECK-LABEL: func.func @rows
// CHECK: %[[STEPS:.*]] = arith.constant 42 : index
// CHECK: aot.scan @one steps %{{.*}} rows(%x) initial() constants() sizes[] chunk %[[STEPS]] {{{.*}}cut = array<i64: 0>
func.func private @one(%x: tensor<300xf64>) -> tensor<300xf64> attributes {dims = [[""]]} {
  %e = tensor.empty() : tensor<300xf64>
  %n = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<300xf64>) outs(%e : tensor<300xf64>) {
  ^bb0(%a: f64, %c: f64):
    %s = math.sqrt %a : f64
    linalg.yield %s : f64
  } -> tensor<300xf64>
  func.return %n : tensor<300xf64>
}

func.func @rows(%x: tensor<500x300xf64>) -> tensor<500x300xf64> attributes {dims = [["", ""]]} {
  %n = arith.constant 500 : index
  %r = aot.scan @one steps %n rows(%x) initial() constants() sizes[] {taps = [], stacked = array<i64>} : (tensor<500x300xf64>) () () -> (tensor<500x300xf64>)
  func.return %r : tensor<500x300xf64>
}

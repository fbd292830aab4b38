// RUN: inline-producers

// A product that is read under a condition, at another position: its operand is read so, and nothing is kept.
// CHECK-LABEL: func.func @under_a_condition
// CHECK: linalg.generic {{.*}} outs(
// CHECK: %c = arith.cmpi ult, %k, %m : index
// CHECK: %[[X:[0-9]+]] = aot.extract_if %c, %x[%k], %{{[0-9]+}} : tensor<?xf64>
// CHECK-NEXT: %p = arith.mulf %[[X]], %two : f64
// CHECK-NEXT: %w = arith.select %c, %p, %two : f64
// CHECK-NEXT: linalg.yield %w : f64
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @under_a_condition(%x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["m"], ["n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f64
  %m = tensor.dim %x, %c0 : tensor<?xf64>
  %n = tensor.dim %y, %c0 : tensor<?xf64>
  %e0 = tensor.empty(%m) : tensor<?xf64>
  %v = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %p = arith.mulf %a, %two : f64
    linalg.yield %p : f64
  } -> tensor<?xf64>
  %e1 = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e1 : tensor<?xf64>) {
  ^bb0(%o: f64):
    %i = linalg.index 0 : index
    %k = arith.subi %i, %c1 : index
    %c = arith.cmpi ult, %k, %m : index
    %w = aot.extract_if %c, %v[%k], %two : tensor<?xf64>
    linalg.yield %w : f64
  } -> tensor<?xf64>
  func.return %r : tensor<?xf64>
}

// An exponential is not computed for each reader, nor where a position that is read may come twice.
// CHECK-LABEL: func.func @stays
// CHECK: math.exp
// CHECK: arith.mulf
// CHECK: linalg.generic
// CHECK: tensor.extract
// CHECK: tensor.extract
func.func @stays(%x: tensor<?xf64>, %at: tensor<?xindex>) -> tensor<?xf64> attributes {dims = [["m"], ["n"]]} {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f64
  %m = tensor.dim %x, %c0 : tensor<?xf64>
  %n = tensor.dim %at, %c0 : tensor<?xindex>
  %e0 = tensor.empty(%m) : tensor<?xf64>
  %v = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %p = math.exp %a : f64
    linalg.yield %p : f64
  } -> tensor<?xf64>
  %e1 = tensor.empty(%m) : tensor<?xf64>
  %w = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%e1 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %p = arith.mulf %a, %two : f64
    linalg.yield %p : f64
  } -> tensor<?xf64>
  %e2 = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%at : tensor<?xindex>) outs(%e2 : tensor<?xf64>) {
  ^bb0(%k: index, %o: f64):
    %i = linalg.index 0 : index
    %a = tensor.extract %v[%i] : tensor<?xf64>
    %b = tensor.extract %w[%k] : tensor<?xf64>
    %s = arith.addf %a, %b : f64
    linalg.yield %s : f64
  } -> tensor<?xf64>
  func.return %r : tensor<?xf64>
}

// What is made of %v alone is read at its own position by a reader that needs %v at others.
// CHECK-LABEL: func.func @at_its_own_position
// CHECK: [[V:%\S+]] = linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs
// CHECK: [[I:%\S+]] = linalg.index 0
// CHECK: [[A:%\S+]] = tensor.extract [[V]][[[I]]]
// CHECK: arith.mulf [[A]]
// CHECK: aot.extract_if
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @at_its_own_position(%x: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %e0 = tensor.empty(%n) : tensor<?xf64>
  %v = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf64>) outs(%e0 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %p = math.exp %a : f64
    linalg.yield %p : f64
  } -> tensor<?xf64>
  %e1 = tensor.empty(%n) : tensor<?xf64>
  %w = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : tensor<?xf64>) outs(%e1 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %p = arith.mulf %a, %two : f64
    linalg.yield %p : f64
  } -> tensor<?xf64>
  %e2 = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%w : tensor<?xf64>) outs(%e2 : tensor<?xf64>) {
  ^bb0(%a: f64, %o: f64):
    %i = linalg.index 0 : index
    %k = arith.subi %i, %c1 : index
    %c = arith.cmpi ult, %k, %n : index
    %b = aot.extract_if %c, %v[%k], %a : tensor<?xf64>
    %s = arith.addf %a, %b : f64
    linalg.yield %s : f64
  } -> tensor<?xf64>
  func.return %r : tensor<?xf64>
}

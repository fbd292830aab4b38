// RUN: lower-to-nest..vectorize emit-loops

// Checks in a row share a branch: what stands between them runs in any case, and the first that fails is reported.
// CHECK-LABEL: func.func @two.extents
// CHECK: %[[A:.*]] = arith.cmpi sgt, %[[N:.*]], %
// CHECK: %[[B:.*]] = arith.cmpi sgt, %[[M:.*]], %
// CHECK: %[[OK:.*]] = arith.select %[[A]], %[[B]], %{{.*}} : i1
// CHECK: scf.if %[[OK]] -> (i32)
// CHECK-NOT: scf.if
// CHECK: else
// CHECK: arith.select %[[A]], %{{.*}}, %{{.*}} : i32
// CHECK-COUNT-2: arith.select %[[A]], %{{.*}}, %{{.*}} : i64
// CHECK: func.return
func.func @two.extents(%x: tensor<?xf64>, %y: tensor<?xf64>) -> index attributes {dims = [["n"], ["m"]]} {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?xf64>
  %a = arith.cmpi sgt, %n, %zero : index
  aot.check 1 "value" "x is empty", %a, %n, %zero
  %m = tensor.dim %y, %zero : tensor<?xf64>
  %b = arith.cmpi sgt, %m, %zero : index
  aot.check 2 "value" "y is empty", %b, %m, %zero
  %r = arith.addi %n, %m : index
  func.return %r : index
}

// A division by what the check in front of it excludes has to wait behind that check.
// CHECK-LABEL: func.func @divided.extents
// CHECK: scf.if
// CHECK: arith.floordivsi
// CHECK: scf.if
// CHECK: func.return
func.func @divided.extents(%x: tensor<?xf64>, %y: tensor<?xf64>) -> index attributes {dims = [["n"], ["m"]]} {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?xf64>
  %a = arith.cmpi sgt, %n, %zero : index
  aot.check 1 "value" "x is empty", %a, %n, %zero
  %m = tensor.dim %y, %zero : tensor<?xf64>
  %q = arith.floordivsi %m, %n : index
  %b = arith.cmpi sgt, %q, %zero : index
  aot.check 2 "value" "y is too short", %b, %q, %zero
  func.return %q : index
}

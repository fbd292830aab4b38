// RUN: canonicalize

// Eigenvectors that nothing reads are not computed; the failure is that of the operation that stays.
// CHECK-LABEL: func.func @values
// CHECK: %[[W:[0-9a-z]+]], %[[F:[0-9a-z]+]] = aot.lapack "eigvalsh" %x[%n] {{.*}}is_lower = true{{.*}} -> tensor<?xf64>
// CHECK-NEXT: func.return %[[W]], %[[F]]
func.func @values(%x: tensor<?x?xf64>, %n: index) -> (tensor<?xf64>, i64) attributes {dims = [["n", "n"], []]} {
  %w, %rows, %failure = aot.lapack "eigh" %x[%n, %n, %n] {options = {is_lower = true}} : tensor<?x?xf64> -> tensor<?xf64>, tensor<?x?xf64>
  func.return %w, %failure : tensor<?xf64>, i64
}

// Of the sizes, those of the result that stays are kept.
// CHECK-LABEL: func.func @middle
// CHECK: aot.lapack "singular_values" %x[%k] {{.*}} -> tensor<?xf64>
func.func @middle(%x: tensor<?x?xf64>, %n: index, %m: index, %k: index) -> tensor<?xf64> attributes {dims = [["n", "m"], [], [], []]} {
  %u, %s, %vt, %failure = aot.lapack "svd" %x[%n, %k, %k, %k, %m] {options = {}} : tensor<?x?xf64> -> tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>
  func.return %s : tensor<?xf64>
}

// Where the vectors are read, or only they are, all stays.
// CHECK-LABEL: func.func @vectors
// CHECK: aot.lapack "eigh" %x[%n, %n, %n]
func.func @vectors(%x: tensor<?x?xf64>, %n: index) -> tensor<?x?xf64> attributes {dims = [["n", "n"], []]} {
  %w, %rows, %failure = aot.lapack "eigh" %x[%n, %n, %n] {options = {is_lower = true}} : tensor<?x?xf64> -> tensor<?xf64>, tensor<?x?xf64>
  func.return %rows : tensor<?x?xf64>
}

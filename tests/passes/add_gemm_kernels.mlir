// RUN: add-gemm-kernels

// CHECK-LABEL: func.func @f
// CHECK: func.call @aot_gemm.f64
func.func @f(%t: i1, %a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>, %blas: memref<1xi8>) {
  func.call @aot_gemm.f64(%t, %t, %a, %b, %c, %blas) : (i1, i1, memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>, memref<1xi8>) -> ()
  func.return
}

// The declaration gives way to a kernel that asks BLAS first, whose body codegen adds. No other dtype is called.
func.func private @aot_gemm.f64(i1, i1, memref<?x?xf64>, memref<?x?xf64>, memref<?x?xf64>, memref<1xi8>)

// CHECK-NOT: @aot_gemm.f32
// CHECK: func.func private @aot_gemm.f64(%{{.*}}: i1, %{{.*}}: i1, {{.*}}) {
// CHECK: func.call @aot_blas_gemm.f64
// Few rows of A with Bᵀ read the rows of B once, chunks of columns on several cores.
// CHECK: scf.parallel
// CHECK-NEXT: func.call @aot_gemm_few_rows.f64
// What the caches hold is read in place, chunks of rows on several cores.
// CHECK: scf.parallel
// CHECK-NEXT: func.call @aot_gemm_direct.f64
// CHECK: func.func private @aot_blas_gemm.f64({{.*}}) -> i1{{$}}

// Panels are packed on several cores, then tiles are computed from them.
// CHECK-LABEL: func.func private @aot_gemm_blocked.f64
// CHECK: scf.parallel
// CHECK-NEXT: func.call @aot_gemm_panels.f64
// CHECK: scf.parallel
// CHECK-NEXT: func.call @aot_gemm_tiles.f64

// The last rows of C have tiles of their height: sums of 2, 4 and 6 rows of two vectors.
// CHECK-LABEL: func.func private @aot_gemm_tile.f64
// CHECK: scf.for {{.*}} -> (vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>) {
// CHECK: scf.for {{.*}} -> (vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>) {
// CHECK: scf.for {{.*}} -> (vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>, vector<4xf64>) {
// CHECK: func.func private @aot_gemm_pack

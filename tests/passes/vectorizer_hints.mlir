// RUN: vectorizer-hints

// A loop with an elementary function is interleaved; one without is LLVM's business.
// CHECK-LABEL: func.func @long.kernel
// CHECK: math.exp
// CHECK: } {interleave = 4 : i64}
// CHECK-NOT: interleave
// CHECK: func.return
func.func @long.kernel(%x: memref<?xf64>, %y: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf64>
    %e = math.exp %v : f64
    memref.store %e, %y[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %y[%i] : memref<?xf64>
    %e = arith.mulf %v, %v : f64
    memref.store %e, %y[%i] : memref<?xf64>
  }
  func.return
}

// float32 beside a sum in float64: vectors of float32, and a masked loop for the rest that takes over the sum.
// CHECK-LABEL: func.func @narrow.kernel
// CHECK: %[[WHOLE:.*]] = scf.for %{{.*}} = %c0 to %[[END:[a-z0-9_]+]]
// CHECK: } {{{.*}}lane_bits = 32 : i64
// CHECK: %[[ALL:.*]] = scf.for %{{.*}} = %[[END]] to %n {{.*}}iter_args(%{{.*}} = %[[WHOLE]])
// CHECK: } {{{.*}}masked
// CHECK: memref.store %[[ALL]], %s[]
func.func @narrow.kernel(%x: memref<?xf32>, %y: memref<?xf32>, %s: memref<f64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %x, %c0 : memref<?xf32>
  %t = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf32>
    %e = math.exp %v : f32
    %f = arith.mulf %e, %v : f32
    %g = arith.addf %f, %e : f32
    memref.store %g, %y[%i] : memref<?xf32>
    %w = arith.extf %g : f32 to f64
    %b = arith.addf %a, %w : f64
    scf.yield %b : f64
  }
  memref.store %t, %s[] : memref<f64>
  func.return
}

// One number per chunk: a few iterations, whose vectors and unrolled copies would only cost time to compile.
// CHECK-LABEL: func.func @chunks.kernel
// CHECK: } {novector, nounroll}
func.func @chunks.kernel(%x: memref<?xf64>, %s: memref<f64>, %n: index, %size: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %count = arith.divsi %n, %size {chunks} : index
  %t = scf.for %i = %c0 to %count step %c1 iter_args(%a = %zero) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %b = arith.addf %a, %v fastmath<reassoc> : f64
    scf.yield %b : f64
  }
  memref.store %t, %s[] : memref<f64>
  func.return
}

// Outer loops, and functions that are no kernels, stay as they are.
// CHECK-LABEL: func.func @outer.kernel
// CHECK: scf.for
// CHECK: scf.for
// CHECK: } {interleave
// CHECK-NOT: } {
// CHECK-LABEL: func.func @other
// CHECK-NOT: interleave
func.func @outer.kernel(%x: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %v = memref.load %x[%j] : memref<?xf64>
      %e = math.exp %v : f64
      memref.store %e, %x[%j] : memref<?xf64>
    }
  }
  func.return
}
func.func @other(%x: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf64>
    %e = math.exp %v : f64
    memref.store %e, %x[%i] : memref<?xf64>
  }
  func.return
}

// Nests of known extents are left to be unrolled up to 64 iterations, counted with the loops inside.
// CHECK-LABEL: func.func @known.kernel
// CHECK: scf.for %j =
// CHECK: {{^      [}]$}}
// CHECK: {{^    [}] [{]nounroll[}]$}}
// CHECK: scf.for %k =
// CHECK: {{^    [}] [{]nounroll[}]$}}
// CHECK: scf.for %l =
// CHECK: {{^    [}]$}}
func.func @known.kernel(%x: memref<100x10xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c10 step %c1 {
    scf.for %j = %c0 to %c10 step %c1 {
      %v = memref.load %x[%i, %j] : memref<100x10xf64>
      memref.store %v, %x[%j, %i] : memref<100x10xf64>
    }
  }
  scf.for %k = %c0 to %c100 step %c1 {
    %v = memref.load %x[%k, %c0] : memref<100x10xf64>
    memref.store %v, %x[%k, %c1] : memref<100x10xf64>
  }
  scf.for %l = %c0 to %n step %c1 {
    %v = memref.load %x[%l, %c0] : memref<100x10xf64>
    memref.store %v, %x[%l, %c1] : memref<100x10xf64>
  }
  func.return
}

// Neighbours along a row are read in vectors of 32 bytes; rows that are read at the same columns are not neighbours.
// CHECK-LABEL: func.func @neighbours.kernel
// CHECK: } {{{.*}}widest = 256 : i64
// CHECK-NOT: widest
// CHECK: func.return
func.func @neighbours.kernel(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %j = %c1 to %n step %c1 {
    %l = arith.subi %j, %c1 : index
    %r = arith.addi %j, %c1 : index
    %a = memref.load %x[%c0, %l] : memref<?x?xf64>
    %b = memref.load %x[%c0, %j] : memref<?x?xf64>
    %c = memref.load %x[%c0, %r] : memref<?x?xf64>
    %s = arith.addf %a, %b : f64
    %t = arith.addf %s, %c : f64
    memref.store %t, %y[%c0, %j] : memref<?x?xf64>
  } {parallel_accesses}
  scf.for %j = %c1 to %n step %c1 {
    %a = memref.load %x[%c0, %j] : memref<?x?xf64>
    %b = memref.load %x[%c1, %j] : memref<?x?xf64>
    %c = memref.load %x[%c2, %j] : memref<?x?xf64>
    %s = arith.addf %a, %b : f64
    %t = arith.addf %s, %c : f64
    memref.store %t, %y[%c0, %j] : memref<?x?xf64>
  } {parallel_accesses}
  func.return
}

// A short loop that reads numbers side by side at each step has no vectors; one that reads them once, or a row of its own, has.
// CHECK-LABEL: func.func @pairs.kernel
// CHECK: } {parallel_accesses, short, novector}
// CHECK-NOT: novector
// CHECK: func.return
func.func @pairs.kernel(%x: memref<?x2xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) {
    %a = memref.load %x[%k, %c0] : memref<?x2xf64>
    %b = memref.load %x[%k, %c1] : memref<?x2xf64>
    %p = arith.mulf %a, %b : f64
    %t = arith.addf %s, %p fastmath<reassoc,contract> : f64
    scf.yield %t : f64
  } {parallel_accesses, short}
  %q = scf.for %k = %c0 to %n step %c1 iter_args(%s = %r) -> (f64) {
    %a = memref.load %x[%k, %c0] : memref<?x2xf64>
    %b = memref.load %x[%c0, %k] : memref<?x2xf64>
    %p = arith.mulf %a, %b : f64
    %t = arith.addf %s, %p fastmath<reassoc,contract> : f64
    scf.yield %t : f64
  } {parallel_accesses, short}
  func.return %q : f64
}

// A short loop that adds at positions which it reads stays rolled; one that adds at its own, or is not short, is LLVM's.
// CHECK-LABEL: func.func @positions.kernel
// CHECK: memref.store %{{.*}}, %y[%p]
// CHECK: } {{{.*}}nounroll
// CHECK-NOT: nounroll
// CHECK: func.return
func.func @positions.kernel(%x: memref<?xf64>, %at: memref<?xi32>, %y: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %i = memref.load %at[%k] : memref<?xi32>
    %p = arith.index_cast %i : i32 to index
    %a = memref.load %x[%k] : memref<?xf64>
    %b = memref.load %y[%p] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    memref.store %s, %y[%p] : memref<?xf64>
  } {short}
  scf.for %k = %c0 to %n step %c1 {
    %a = memref.load %x[%k] : memref<?xf64>
    %b = memref.load %y[%k] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    memref.store %s, %y[%k] : memref<?xf64>
  } {short}
  scf.for %k = %c0 to %n step %c1 {
    %i = memref.load %at[%k] : memref<?xi32>
    %p = arith.index_cast %i : i32 to index
    %a = memref.load %x[%k] : memref<?xf64>
    %b = memref.load %y[%p] : memref<?xf64>
    %s = arith.addf %a, %b : f64
    memref.store %s, %y[%p] : memref<?xf64>
  }
  func.return
}

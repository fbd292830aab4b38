// RUN: fuse

// The sum of a row and what is made of it share the loop over the rows.
// CHECK-LABEL: func.func @centred(
// CHECK: %[[V9:[0-9]+]] = nest.value[%[[V1:[0-9]+]]] init %[[V8:[0-9]+]] : f64 : tensor<?xf64>
// CHECK-NEXT: %[[V10:[0-9]+]] = nest.value[%[[V1]], %[[V3:[0-9]+]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.for %[[V11:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: nest.for %[[V12:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V13:[0-9]+]] = %x[%[[V11]], %[[V12]]] : tensor<?x?xf64>) -> (%[[V14:[0-9]+]] = %[[V9]][%[[V11]]] : tensor<?xf64>) {
// CHECK-NEXT: %[[V15:[0-9]+]] = arith.addf %[[V14]], %[[V13]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V15]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V16:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V17:[0-9]+]] = %x[%[[V11]], %[[V16]]] : tensor<?x?xf64>, %[[V18:[0-9]+]] = %[[V9]][%[[V11]]] : tensor<?xf64>) -> (%[[V19:[0-9]+]] = %[[V10]][%[[V11]], %[[V16]]] : tensor<?x?xf64>) {
// CHECK-NEXT: %[[V20:[0-9]+]] = arith.subf %[[V17]], %[[V18]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V20]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V10]] : tensor<?x?xf64>
func.func @centred(%x: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["x_0", "x_1"]], results = ["out"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %x, %0 : tensor<?x?xf64>
  %2 = arith.constant 1 : index
  %3 = tensor.dim %x, %2 : tensor<?x?xf64>
  %4 = arith.constant 0 : index
  %5 = tensor.dim %x, %4 : tensor<?x?xf64>
  %6 = arith.constant 1 : index
  %7 = tensor.dim %x, %6 : tensor<?x?xf64>
  %8 = arith.constant 0.000000e+00 : f64
  %9 = nest.value[%1] init %8 : f64 : tensor<?xf64>
  nest.for %10 in %1 {
    nest.for %11 in %3 {
      nest.do(%12 = %x[%10, %11] : tensor<?x?xf64>) -> (%13 = %9[%10] : tensor<?xf64>) {
        %14 = arith.addf %13, %12 fastmath<reassoc,contract> : f64
        nest.yield %14 : f64
      }
    }
  }
  %15 = nest.value[%1, %3] : tensor<?x?xf64>
  nest.for %16 in %1 {
    nest.for %17 in %3 {
      nest.do(%18 = %x[%16, %17] : tensor<?x?xf64>, %19 = %9[%16] : tensor<?xf64>) -> (%20 = %15[%16, %17] : tensor<?x?xf64>) {
        %21 = arith.subf %18, %19 fastmath<contract> : f64
        nest.yield %21 : f64
      }
    }
  }
  func.return %15 : tensor<?x?xf64>
}

// A sum at positions joins the loop that makes its terms and reads at positions; the positions are made there too.
// CHECK-LABEL: func.func @by_group(
// CHECK: nest.for %[[I:[a-z0-9_]+]] in %n {
// CHECK: tensor.extract %a
// CHECK: nest.do(%[[G:[a-z0-9_]+]] = %g[%[[I]]] : tensor<?xi64>) -> (%{{[a-z0-9_]+}} = %p[%[[I]]] : tensor<?xi64>)
// CHECK: nest.do(%{{[a-z0-9_]+}} = %r[%[[I]]] : tensor<?xf64>, %[[P:[a-z0-9_]+]] = %p[%[[I]]] : tensor<?xi64>) -> (%{{[a-z0-9_]+}} = %s[%[[P]]] : tensor<?xf64>)
// CHECK-NOT: nest.for
// CHECK: func.return %s
func.func @by_group(%y: tensor<?xf64>, %g: tensor<?xi64>, %a: tensor<?xf64>, %n: index, %k: index) -> tensor<?xf64> attributes {dims = [["n"], ["n"], ["k"], [], []]} {
  %zero = arith.constant 0.0 : f64
  %none = arith.constant 0 : i64
  %whole = arith.index_cast %k : index to i64
  %r = nest.value[%n] : tensor<?xf64>
  nest.for %i in %n {
    nest.do(%v = %y[%i] : tensor<?xf64>, %j = %g[%i] : tensor<?xi64>) -> (%o = %r[%i] : tensor<?xf64>) {
      %at = arith.index_cast %j : i64 to index
      %e = tensor.extract %a[%at] : tensor<?xf64>
      %d = arith.subf %v, %e fastmath<contract> : f64
      nest.yield %d : f64
    }
  }
  %p = nest.value[%n] : tensor<?xi64>
  nest.for %i in %n {
    nest.do(%j = %g[%i] : tensor<?xi64>) -> (%o = %p[%i] : tensor<?xi64>) {
      %c = arith.cmpi slt, %j, %none : i64
      %l = arith.addi %j, %whole : i64
      %q = arith.select %c, %l, %j : i64
      nest.yield %q : i64
    }
  }
  %s = nest.value[%k] init %zero : f64 : tensor<?xf64>
  nest.for %i in %n {
    nest.do(%v = %r[%i] : tensor<?xf64>, %q = %p[%i] : tensor<?xi64>) -> (%o = %s[%q] : tensor<?xf64>) {
      %t = arith.addf %o, %v fastmath<reassoc,contract> : f64
      nest.yield %t : f64
    }
  }
  func.return %s : tensor<?xf64>
}

// It has a loop of its own, with its positions, where the terms are elementary functions: those want vectors.
// CHECK-LABEL: func.func @of_exponentials(
// CHECK: nest.for %[[I:[a-z0-9_]+]] in %n {
// CHECK: math.exp
// CHECK-NOT: %p[%[[I]]]
// CHECK: nest.for %[[J:[a-z0-9_]+]] in %n {
// CHECK: %p[%[[J]]]
// CHECK: %s[%
// CHECK: func.return %s
func.func @of_exponentials(%y: tensor<?xf64>, %g: tensor<?xi64>, %n: index, %k: index) -> tensor<?xf64> attributes {dims = [["n"], ["n"], [], []]} {
  %zero = arith.constant 0.0 : f64
  %none = arith.constant 0 : i64
  %whole = arith.index_cast %k : index to i64
  %r = nest.value[%n] : tensor<?xf64>
  nest.for %i in %n {
    nest.do(%v = %y[%i] : tensor<?xf64>) -> (%o = %r[%i] : tensor<?xf64>) {
      %d = math.exp %v fastmath<contract> : f64
      nest.yield %d : f64
    }
  }
  %p = nest.value[%n] : tensor<?xi64>
  nest.for %i in %n {
    nest.do(%j = %g[%i] : tensor<?xi64>) -> (%o = %p[%i] : tensor<?xi64>) {
      %c = arith.cmpi slt, %j, %none : i64
      %l = arith.addi %j, %whole : i64
      %q = arith.select %c, %l, %j : i64
      nest.yield %q : i64
    }
  }
  %s = nest.value[%k] init %zero : f64 : tensor<?xf64>
  nest.for %i in %n {
    nest.do(%v = %r[%i] : tensor<?xf64>, %q = %p[%i] : tensor<?xi64>) -> (%o = %s[%q] : tensor<?xf64>) {
      %t = arith.addf %o, %v fastmath<reassoc,contract> : f64
      nest.yield %t : f64
    }
  }
  func.return %s : tensor<?xf64>
}

// Two sweeps over a matrix, of which the second needs a vector as well: that is made of a sum in front of both, which
// are one loop then.
// CHECK-LABEL: func.func @scaled_twice(
// CHECK: nest.for %{{[a-z0-9_]+}} in %n {
// CHECK: arith.addf
// CHECK: nest.for %{{[a-z0-9_]+}} in %p {
// CHECK: math.log
// CHECK: nest.for %[[I:[a-z0-9_]+]] in %n {
// CHECK: arith.divf
// CHECK-NOT: nest.for %{{[a-z0-9_]+}} in %n {
// CHECK: arith.mulf
// CHECK: func.return
func.func @scaled_twice(%x: tensor<?x?xf64>, %n: index, %p: index) -> tensor<?x?xf64> attributes {dims = [["n", "p"], [], []]} {
  %zero = arith.constant 0.0 : f64
  %s = nest.value[%p] init %zero : f64 : tensor<?xf64>
  nest.for %i in %n {
    nest.for %j in %p {
      nest.do(%v = %x[%i, %j] : tensor<?x?xf64>) -> (%o = %s[%j] : tensor<?xf64>) {
        %t = arith.addf %o, %v fastmath<reassoc,contract> : f64
        nest.yield %t : f64
      }
    }
  }
  %q = nest.value[%n, %p] : tensor<?x?xf64>
  nest.for %i in %n {
    nest.for %j in %p {
      nest.do(%v = %x[%i, %j] : tensor<?x?xf64>, %a = %s[%j] : tensor<?xf64>) -> (%o = %q[%i, %j] : tensor<?x?xf64>) {
        %t = arith.divf %v, %a fastmath<contract> : f64
        nest.yield %t : f64
      }
    }
  }
  %l = nest.value[%p] : tensor<?xf64>
  nest.for %j in %p {
    nest.do(%a = %s[%j] : tensor<?xf64>) -> (%o = %l[%j] : tensor<?xf64>) {
      %t = math.log %a fastmath<contract> : f64
      nest.yield %t : f64
    }
  }
  %r = nest.value[%n, %p] : tensor<?x?xf64>
  nest.for %i in %n {
    nest.for %j in %p {
      nest.do(%v = %q[%i, %j] : tensor<?x?xf64>, %a = %l[%j] : tensor<?xf64>) -> (%o = %r[%i, %j] : tensor<?x?xf64>) {
        %t = arith.mulf %v, %a fastmath<contract> : f64
        nest.yield %t : f64
      }
    }
  }
  func.return %r : tensor<?x?xf64>
}

// A statement that reads other columns of the same row, at a computed index, joins the loop over the rows.
// CHECK-LABEL: func.func @next_column(
// CHECK: nest.for %[[I:[a-z0-9_]+]] in %m {
// CHECK-NEXT: nest.for %[[K:[a-z0-9_]+]] in %n {
// CHECK: nest.for %[[L:[a-z0-9_]+]] in %n {
// CHECK: tensor.extract %a[%[[I]], %{{[a-z0-9_]+}}]
// CHECK-NOT: nest.for
// CHECK: func.return %b
func.func @next_column(%x: tensor<?x?xf64>, %m: index, %n: index, %shift: index) -> tensor<?x?xf64> attributes {dims = [["m", "n"], [], [], []]} {
  %a = nest.value[%m, %n] : tensor<?x?xf64>
  nest.for %i in %m {
    nest.for %k in %n {
      nest.do(%v = %x[%i, %k] : tensor<?x?xf64>) -> (%o = %a[%i, %k] : tensor<?x?xf64>) {
        %e = math.exp %v fastmath<contract> : f64
        nest.yield %e : f64
      }
    }
  }
  %b = nest.value[%m, %n] : tensor<?x?xf64>
  nest.for %i in %m {
    nest.for %k in %n {
      nest.do() -> (%o = %b[%i, %k] : tensor<?x?xf64>) {
        %at = arith.xori %k, %shift : index
        %e = tensor.extract %a[%i, %at] : tensor<?x?xf64>
        nest.yield %e : f64
      }
    }
  }
  func.return %b : tensor<?x?xf64>
}

// A statement that reads another row does not.
// CHECK-LABEL: func.func @next_row(
// CHECK-COUNT-2: nest.for %{{[a-z0-9_]+}} in %m {
// CHECK: func.return %b
func.func @next_row(%x: tensor<?x?xf64>, %m: index, %n: index, %shift: index) -> tensor<?x?xf64> attributes {dims = [["m", "n"], [], [], []]} {
  %a = nest.value[%m, %n] : tensor<?x?xf64>
  nest.for %i in %m {
    nest.for %k in %n {
      nest.do(%v = %x[%i, %k] : tensor<?x?xf64>) -> (%o = %a[%i, %k] : tensor<?x?xf64>) {
        %e = math.exp %v fastmath<contract> : f64
        nest.yield %e : f64
      }
    }
  }
  %b = nest.value[%m, %n] : tensor<?x?xf64>
  nest.for %i in %m {
    nest.for %k in %n {
      nest.do() -> (%o = %b[%i, %k] : tensor<?x?xf64>) {
        %at = arith.xori %i, %shift : index
        %e = tensor.extract %a[%at, %k] : tensor<?x?xf64>
        nest.yield %e : f64
      }
    }
  }
  func.return %b : tensor<?x?xf64>
}

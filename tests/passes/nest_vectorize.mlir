// RUN: vectorize

// A long body goes by four vectors of eight lanes, the last ones under a mask, sums as well.
// CHECK-LABEL: func.func @long(
// CHECK: nest.for %{{[0-9a-z_]+}} in %n lanes 32 parallel masked {
// CHECK-NEXT: nest.do(
// Where elements are no neighbours, or iterations depend on each other, it stays as it is.
// CHECK: nest.for %{{[0-9a-z_]+}} in %n parallel {
// CHECK: nest.for %{{[0-9a-z_]+}} in %n {
// A short one is left to LLVM.
// CHECK: nest.for %{{[0-9a-z_]+}} in %n parallel {
func.func @long(%x: tensor<?xf64>, %m: tensor<?x?xf64>, %n: index) -> (tensor<?xf64>, f64) attributes {dims = [["n"], ["n", "k"], []]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %y = nest.value[%n] : tensor<?xf64>
  %s = nest.value init %zero : f64 : tensor<f64>
  nest.for %i in %n parallel {
    nest.do(%v = %x[%i] : tensor<?xf64>) -> (%w = %y[%i] : tensor<?xf64>) {
      %e0 = math.exp %v : f64
      %e1 = math.exp %e0 : f64
      %e2 = math.exp %e1 : f64
      %e3 = math.exp %e2 : f64
      %e4 = math.exp %e3 : f64
      %e5 = math.exp %e4 : f64
      %e6 = math.exp %e5 : f64
      %e7 = math.exp %e6 : f64
      %e8 = math.exp %e7 : f64
      %e9 = math.exp %e8 : f64
      %e10 = math.exp %e9 : f64
      %e11 = math.exp %e10 : f64
      %e12 = math.exp %e11 : f64
      %e13 = math.exp %e12 : f64
      %e14 = math.exp %e13 : f64
      %e15 = math.exp %e14 : f64
      %e16 = math.exp %e15 : f64
      %e17 = math.exp %e16 : f64
      %e18 = math.exp %e17 : f64
      %e19 = math.exp %e18 : f64
      nest.yield %e19 : f64
    }
    nest.do(%v = %x[%i] : tensor<?xf64>) -> (%t = %s[] : tensor<f64>) {
      %u = arith.addf %t, %v fastmath<reassoc> : f64
      nest.yield %u : f64
    }
  }
  %z = nest.value[%n] : tensor<?xf64>
  nest.for %i in %n parallel {
    nest.do(%v = %m[%i, 0] : tensor<?x?xf64>) -> (%w = %z[%i] : tensor<?xf64>) {
      %e0 = math.exp %v : f64
      %e1 = math.exp %e0 : f64
      %e2 = math.exp %e1 : f64
      %e3 = math.exp %e2 : f64
      %e4 = math.exp %e3 : f64
      %e5 = math.exp %e4 : f64
      %e6 = math.exp %e5 : f64
      %e7 = math.exp %e6 : f64
      %e8 = math.exp %e7 : f64
      %e9 = math.exp %e8 : f64
      %e10 = math.exp %e9 : f64
      %e11 = math.exp %e10 : f64
      %e12 = math.exp %e11 : f64
      %e13 = math.exp %e12 : f64
      %e14 = math.exp %e13 : f64
      %e15 = math.exp %e14 : f64
      %e16 = math.exp %e15 : f64
      %e17 = math.exp %e16 : f64
      %e18 = math.exp %e17 : f64
      %e19 = math.exp %e18 : f64
      nest.yield %e19 : f64
    }
  }
  %q = nest.value[%n] : tensor<?xf64>
  nest.for %i in %n {
    nest.do(%v = %x[%i] : tensor<?xf64>) -> (%w = %q[%i] : tensor<?xf64>) {
      %e0 = math.exp %v : f64
      %e1 = math.exp %e0 : f64
      %e2 = math.exp %e1 : f64
      %e3 = math.exp %e2 : f64
      %e4 = math.exp %e3 : f64
      %e5 = math.exp %e4 : f64
      %e6 = math.exp %e5 : f64
      %e7 = math.exp %e6 : f64
      %e8 = math.exp %e7 : f64
      %e9 = math.exp %e8 : f64
      %e10 = math.exp %e9 : f64
      %e11 = math.exp %e10 : f64
      %e12 = math.exp %e11 : f64
      %e13 = math.exp %e12 : f64
      %e14 = math.exp %e13 : f64
      %e15 = math.exp %e14 : f64
      %e16 = math.exp %e15 : f64
      %e17 = math.exp %e16 : f64
      %e18 = math.exp %e17 : f64
      %e19 = math.exp %e18 : f64
      nest.yield %e19 : f64
    }
  }
  %r = nest.value[%n] : tensor<?xf64>
  nest.for %i in %n parallel {
    nest.do(%v = %x[%i] : tensor<?xf64>) -> (%w = %r[%i] : tensor<?xf64>) {
      %e = math.exp %v : f64
      nest.yield %e : f64
    }
  }
  %a = tensor.extract %s[] : tensor<f64>
  func.return %r, %a : tensor<?xf64>, f64
}

// RUN: scalar-replacement

// A sum that is complete before it is read in the same iteration is a register; declared where it is at home.
// CHECK-LABEL: func.func @centred(
// CHECK: %[[V9:[0-9]+]] = nest.value[%[[V1:[0-9]+]], %[[V3:[0-9]+]]] : tensor<?x?xf64>
// CHECK-NEXT: nest.for %[[V10:[0-9]+]] in %[[V1]] {
// CHECK-NEXT: %[[V11:[0-9]+]] = nest.value init %[[V8:[0-9]+]] : f64 : tensor<f64>
// CHECK-NEXT: nest.for %[[V12:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V13:[0-9]+]] = %x[%[[V10]], %[[V12]]] : tensor<?x?xf64>) -> (%[[V14:[0-9]+]] = %[[V11]][] : tensor<f64>) {
// CHECK-NEXT: %[[V15:[0-9]+]] = arith.addf %[[V14]], %[[V13]] fastmath<reassoc,contract> : f64
// CHECK-NEXT: nest.yield %[[V15]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: nest.for %[[V16:[0-9]+]] in %[[V3]] {
// CHECK-NEXT: nest.do(%[[V17:[0-9]+]] = %x[%[[V10]], %[[V16]]] : tensor<?x?xf64>, %[[V18:[0-9]+]] = %[[V11]][] : tensor<f64>) -> (%[[V19:[0-9]+]] = %[[V9]][%[[V10]], %[[V16]]] : tensor<?x?xf64>) {
// CHECK-NEXT: %[[V20:[0-9]+]] = arith.subf %[[V17]], %[[V18]] fastmath<contract> : f64
// CHECK-NEXT: nest.yield %[[V20]] : f64
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %[[V9]] : tensor<?x?xf64>
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
  %10 = nest.value[%1, %3] : tensor<?x?xf64>
  nest.for %11 in %1 {
    nest.for %12 in %3 {
      nest.do(%13 = %x[%11, %12] : tensor<?x?xf64>) -> (%14 = %9[%11] : tensor<?xf64>) {
        %15 = arith.addf %14, %13 fastmath<reassoc,contract> : f64
        nest.yield %15 : f64
      }
    }
    nest.for %16 in %3 {
      nest.do(%17 = %x[%11, %16] : tensor<?x?xf64>, %18 = %9[%11] : tensor<?xf64>) -> (%19 = %10[%11, %16] : tensor<?x?xf64>) {
        %20 = arith.subf %17, %18 fastmath<contract> : f64
        nest.yield %20 : f64
      }
    }
  }
  func.return %10 : tensor<?x?xf64>
}

// A row that only its own iteration reads, at computed columns, has memory for one row.
// CHECK-LABEL: func.func @next_column(
// CHECK: nest.for %{{[a-z0-9_]+}} in %m {
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = nest.value[%n] : tensor<?xf64>
// CHECK: aot.extract_if %{{[a-z0-9_]+}}, %[[A]][%{{[a-z0-9_]+}}], %zero : tensor<?xf64>
// CHECK: tensor.extract %[[A]][%{{[a-z0-9_]+}}] : tensor<?xf64>
func.func @next_column(%x: tensor<?x?xf64>, %m: index, %n: index, %shift: index) -> tensor<?x?xf64> attributes {dims = [["m", "n"], [], [], []]} {
  %zero = arith.constant 0.0 : f64
  %a = nest.value[%m, %n] : tensor<?x?xf64>
  %b = nest.value[%m, %n] : tensor<?x?xf64>
  nest.for %i in %m {
    nest.for %k in %n {
      nest.do(%v = %x[%i, %k] : tensor<?x?xf64>) -> (%o = %a[%i, %k] : tensor<?x?xf64>) {
        %e = math.exp %v fastmath<contract> : f64
        nest.yield %e : f64
      }
    }
    nest.for %k in %n {
      nest.do() -> (%o = %b[%i, %k] : tensor<?x?xf64>) {
        %at = arith.xori %k, %shift : index
        %c = arith.cmpi ult, %at, %n : index
        %d = "aot.extract_if"(%c, %a, %i, %at, %zero) : (i1, tensor<?x?xf64>, index, index, f64) -> f64
        %e = tensor.extract %a[%i, %k] : tensor<?x?xf64>
        %s = arith.addf %d, %e fastmath<contract> : f64
        nest.yield %s : f64
      }
    }
  }
  func.return %b : tensor<?x?xf64>
}

// A tensor that is gathered from keeps an axis, also where the only index is the counter.
// CHECK-LABEL: func.func @same_element(
// CHECK: %[[A:[a-z0-9_]+]] = nest.value[%n] : tensor<?xf64>
// CHECK: aot.extract_if %{{[a-z0-9_]+}}, %[[A]][%{{[a-z0-9_]+}}], %zero : tensor<?xf64>
func.func @same_element(%x: tensor<?xf64>, %n: index, %shift: index) -> tensor<?xf64> attributes {dims = [["n"], [], []]} {
  %zero = arith.constant 0.0 : f64
  %a = nest.value[%n] : tensor<?xf64>
  %b = nest.value[%n] : tensor<?xf64>
  nest.for %i in %n {
    nest.do(%v = %x[%i] : tensor<?xf64>) -> (%o = %a[%i] : tensor<?xf64>) {
      %e = math.exp %v fastmath<contract> : f64
      nest.yield %e : f64
    }
    nest.do() -> (%o = %b[%i] : tensor<?xf64>) {
      %c = arith.cmpi ult, %i, %shift : index
      %d = "aot.extract_if"(%c, %a, %i, %zero) : (i1, tensor<?xf64>, index, f64) -> f64
      nest.yield %d : f64
    }
  }
  func.return %b : tensor<?xf64>
}

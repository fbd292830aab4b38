// RUN: parallelize

// A sum over rows, and one for each column: the first chunk adds to the sums themselves, every other one to a row of its
// own, or a number, which are added in order behind.
// CHECK-LABEL: func.func @sums(
// CHECK: %[[SIZE:[0-9]+]] = nest.chunk_size %{{.*}}
// CHECK: %[[COUNT:[0-9]+]] = nest.chunks %{{.*}} by %[[SIZE]]
// CHECK: %[[COLUMNS:[0-9]+]] = nest.value[%[[COUNT]], %[[P:[0-9a-z]+]]] : tensor<?x?xf64>
// CHECK: %[[TOTALS:[0-9]+]] = nest.value[%[[COUNT]]] : tensor<?xf64>
// CHECK: nest.for %[[START:[0-9]+]] in %[[N:[0-9a-z]+]] step %[[SIZE]] cores {
// CHECK: %[[END:[0-9]+]] = arith.minsi %{{[0-9]+}}, %[[N]] : index
// CHECK: %[[NUMBER:[0-9]+]] = arith.divui %[[START]], %[[SIZE]] : index
// CHECK: %[[OWN:[0-9]+]] = nest.value[%[[P]]] init %{{[0-9]+}} : f64 first %columns : tensor<?xf64> part %[[COLUMNS]] : tensor<?x?xf64> number %[[NUMBER]] : tensor<?xf64>
// CHECK: %[[TOTAL:[0-9]+]] = nest.value init
// CHECK: nest.for %[[I:[0-9a-z]+]] = %[[START]] to %[[END]] jam 4 {
// CHECK: nest.do({{.*}}) -> (%{{[0-9a-z]+}} = %[[OWN]][%{{[0-9a-z]+}}] : tensor<?xf64>, %{{[0-9a-z]+}} = %[[TOTAL]][] : tensor<f64>) {
// CHECK-NOT: %[[OWN]]
// CHECK: nest.do(%{{[0-9]+}} = %[[TOTAL]][] : tensor<f64>) -> (%{{[0-9]+}} = %[[TOTALS]][%[[NUMBER]]] : tensor<?xf64>) {
// CHECK: nest.for %[[C:[0-9]+]] = %{{[0-9]+}} to %[[COUNT]] {
// CHECK-NEXT: nest.for %[[J:[0-9]+]] in %[[P]] {
// CHECK-NEXT: nest.do(%{{[0-9]+}} = %[[COLUMNS]][%[[C]], %[[J]]] : tensor<?x?xf64>) -> (%{{[0-9]+}} = %columns[%[[J]]] : tensor<?xf64>) {
// CHECK: nest.for %[[D:[0-9]+]] in %[[COUNT]] {
// CHECK-NEXT: nest.do(%{{[0-9]+}} = %[[TOTALS]][%[[D]]] : tensor<?xf64>) -> (%{{[0-9]+}} = %total[] : tensor<f64>) {
// CHECK-NEXT: arith.addf %{{[0-9]+}}, %{{[0-9]+}} fastmath<reassoc> : f64
// What is added at positions that only memory knows meets many elements: its parts are added on several cores, too. A
// second chunk pays sooner than a third.
// CHECK-LABEL: func.func @scattered(
// CHECK: %[[ROWS:[0-9]+]] = nest.chunk_size %{{.*}}
// CHECK: %[[COUNT:[0-9]+]] = nest.chunks %{{.*}} by %[[ROWS]]
// CHECK: %[[PARTS:[0-9]+]] = nest.value[%[[COUNT]], %[[M:[0-9a-z]+]]] : tensor<?x?xf64>
// CHECK: nest.for %{{[0-9]+}} in %{{[0-9a-z]+}} step %[[ROWS]] cores {
// CHECK: nest.for %[[C:[0-9]+]] in %[[M]] step %[[SOME:[0-9]+]] cores {
// CHECK: %[[TO:[0-9]+]] = arith.minsi %{{[0-9]+}}, %[[M]] : index
// CHECK-NEXT: nest.for %[[K:[0-9]+]] = %{{[0-9]+}} to %[[COUNT]] {
// CHECK-NEXT: nest.for %[[J:[0-9]+]] = %[[C]] to %[[TO]] {
// CHECK-NEXT: nest.do(%{{[0-9]+}} = %[[PARTS]][%[[K]], %[[J]]] : tensor<?x?xf64>) -> (%{{[0-9]+}} = %sums[%[[J]]] : tensor<?xf64>) {
// Chunks of the rows of a compressed matrix are equal by entries.
// CHECK-LABEL: func.func @entries(
// CHECK: %[[ROWS:[0-9]+]] = nest.chunk_size %{{.*}}
// CHECK: nest.for %[[FIRST:[0-9]+]] in %[[M:[0-9a-z]+]] step %[[ROWS]] cores {
// CHECK: %[[NEXT:[0-9]+]] = arith.minsi %{{[0-9]+}}, %[[M]] : index
// CHECK: %[[LOW:[0-9]+]] = nest.balance %[[FIRST]] of %[[M]] by %[[ROWS]] group %{{[0-9]+}} in %indptr : tensor<?xi32>
// CHECK: %[[HIGH:[0-9]+]] = nest.balance %[[NEXT]] of %[[M]] by %[[ROWS]] group %{{[0-9]+}} in %indptr : tensor<?xi32>
// CHECK: nest.for %{{[0-9a-z]+}} = %[[LOW]] to %[[HIGH]] {
// Rounding as written, an order that matters, and little work: nothing is cut.
// CHECK-LABEL: func.func @kept(
// CHECK-NOT: cores
func.func @sums(%x: tensor<?x?xf64>) -> (f64, tensor<?xf64>) attributes {dims = [["n", "p"]], results = ["out0", "out1"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?x?xf64>
  %p = tensor.dim %x, %c1 : tensor<?x?xf64>
  %total = nest.value init %zero : f64 : tensor<f64>
  %columns = nest.value[%p] init %zero : f64 output 1 : tensor<?xf64>
  nest.for %i in %n jam 4 {
    nest.for %k in %p parallel {
      nest.do(%v = %x[%i, %k] : tensor<?x?xf64>) -> (%s = %columns[%k] : tensor<?xf64>, %t = %total[] : tensor<f64>) {
        %a = arith.addf %s, %v fastmath<reassoc> : f64
        %b = arith.addf %t, %v fastmath<reassoc> : f64
        nest.yield %a, %b : f64, f64
      }
    }
  }
  %sum = tensor.extract %total[] : tensor<f64>
  func.return %sum, %columns : f64, tensor<?xf64>
}
func.func @scattered(%x: tensor<?xf64>, %at: tensor<?xi32>, %y: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["n"], ["n"], ["m"]], results = ["out"]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %m = tensor.dim %y, %c0 : tensor<?xf64>
  %sums = nest.value[%m] init %zero : f64 output 0 : tensor<?xf64>
  nest.for %i in %n {
    nest.do(%v = %x[%i] : tensor<?xf64>, %k = %at[%i] : tensor<?xi32>) -> (%s = %sums[%k] : tensor<?xf64>) {
      %a = arith.addf %s, %v fastmath<reassoc> : f64
      nest.yield %a : f64
    }
  }
  func.return %sums : tensor<?xf64>
}
func.func @entries(%x: tensor<?xf64>, %indptr: tensor<?xi32>, %y: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["nnz"], ["n1"], ["n"]], results = ["out"]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %n = tensor.dim %y, %c0 : tensor<?xf64>
  %sums = nest.value[%n] init %zero : f64 output 0 : tensor<?xf64>
  nest.for %i in %n {
    nest.entries %p of %i in %indptr : tensor<?xi32> {
      nest.do(%v = %x[%p] : tensor<?xf64>) -> (%s = %sums[%i] : tensor<?xf64>) {
        %a = arith.addf %s, %v fastmath<reassoc> : f64
        nest.yield %a : f64
      }
    }
  }
  func.return %sums : tensor<?xf64>
}
func.func @kept(%x: tensor<?xf64>, %y: tensor<100xf64>) -> (f64, tensor<100xf64>) attributes {dims = [["n"], [""]], results = ["out0", "out1"]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f64
  %hundred = arith.constant 100 : index
  %n = tensor.dim %x, %c0 : tensor<?xf64>
  %total = nest.value init %zero : f64 : tensor<f64>
  nest.for %i in %n parallel {
    nest.do(%v = %x[%i] : tensor<?xf64>) -> (%t = %total[] : tensor<f64>) {
      %b = arith.addf %t, %v : f64
      nest.yield %b : f64
    }
  }
  %z = nest.value output 1 : tensor<100xf64>
  nest.for %i in %hundred parallel {
    nest.do(%v = %y[%i] : tensor<100xf64>) -> (%t = %z[%i] : tensor<100xf64>) {
      nest.yield %v : f64
    }
  }
  %sum = tensor.extract %total[] : tensor<f64>
  func.return %sum, %z : f64, tensor<100xf64>
}

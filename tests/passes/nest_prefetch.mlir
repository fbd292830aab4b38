// RUN: prefetch

// What is added at positions comes with its streams, which are fetched ahead.
// CHECK-LABEL: func.func @transposed(
// CHECK: nest.entries {{.*}} : tensor<?xi32> ahead 128 short {
func.func @transposed(%A: tensor<?x?xi1>, %A_data: tensor<?xf64>, %A_indices: tensor<?xi32>, %A_indptr: tensor<?xi32>, %x: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["m", "n"], ["A_nnz"], ["A_nnz"], ["A_indptr_0"], ["m"]], results = ["y"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %A, %0 : tensor<?x?xi1>
  %2 = tensor.dim %A_data, %0 : tensor<?xf64>
  %3 = arith.constant 1 : index
  %4 = tensor.dim %A, %3 : tensor<?x?xi1>
  %5 = arith.constant 0 : index
  %6 = arith.constant 1 : index
  %n = tensor.dim %A, %6 : tensor<?x?xi1>
  %A_nnz = tensor.dim %A_data, %5 : tensor<?xf64>
  %7 = arith.constant 0.000000e+00 : f64
  %8 = nest.value[%4] output 0 : tensor<?xf64>
  nest.for %9 in %4 parallel {
    nest.do() -> (%10 = %8[%9] : tensor<?xf64>) {
      nest.yield %7 : f64
    }
  }
  nest.for %11 in %1 {
    nest.entries %12 of %11 in %A_indptr : tensor<?xi32> short {
      %13 = nest.value : tensor<f64>
      nest.do(%14 = %x[%11] : tensor<?xf64>) -> (%15 = %13[] : tensor<f64>) {
        nest.yield %14 : f64
      }
      %16 = nest.value : tensor<f64>
      nest.do(%17 = %A_data[%12] : tensor<?xf64>, %18 = %13[] : tensor<f64>) -> (%19 = %16[] : tensor<f64>) {
        %20 = arith.mulf %17, %18 fastmath<contract> : f64
        nest.yield %20 : f64
      }
      nest.do(%21 = %16[] : tensor<f64>, %22 = %A_indices[%12] : tensor<?xi32>) -> (%23 = %8[%22] : tensor<?xf64>) {
        %24 = arith.addf %23, %21 fastmath<reassoc,contract> : f64
        nest.yield %24 : f64
      }
    }
  }
  func.return %8 : tensor<?xf64>
}

// An entry that is a loop takes longer than what it reads.
// CHECK-LABEL: func.func @columns(
// CHECK: nest.entries {{.*}} : tensor<?xi32> short {
func.func @columns(%A: tensor<?x?xi1>, %A_data: tensor<?xf64>, %A_indices: tensor<?xi32>, %A_indptr: tensor<?xi32>, %X: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {dims = [["m", "n"], ["A_nnz"], ["A_nnz"], ["A_indptr_0"], ["m", "k"]], results = ["y"]} {
  %0 = arith.constant 0 : index
  %1 = tensor.dim %A, %0 : tensor<?x?xi1>
  %2 = arith.constant 1 : index
  %3 = tensor.dim %X, %2 : tensor<?x?xf64>
  %4 = tensor.dim %A_data, %0 : tensor<?xf64>
  %5 = tensor.dim %A, %2 : tensor<?x?xi1>
  %6 = arith.constant 0 : index
  %7 = arith.constant 1 : index
  %n = tensor.dim %A, %7 : tensor<?x?xi1>
  %A_nnz = tensor.dim %A_data, %6 : tensor<?xf64>
  %k = tensor.dim %X, %7 : tensor<?x?xf64>
  %8 = arith.constant 0.000000e+00 : f64
  %9 = nest.value[%5, %3] output 0 : tensor<?x?xf64>
  %10 = arith.muli %5, %3 : index
  %11 = "aot.reshape"(%9, %10) : (tensor<?x?xf64>, index) -> tensor<?xf64>
  nest.for %12 in %10 parallel {
    nest.do() -> (%13 = %11[%12] : tensor<?xf64>) {
      nest.yield %8 : f64
    }
  }
  nest.for %14 in %1 {
    nest.entries %15 of %14 in %A_indptr : tensor<?xi32> short {
      nest.for %16 in %3 {
        %17 = nest.value : tensor<f64>
        nest.do(%18 = %X[%14, %16] : tensor<?x?xf64>) -> (%19 = %17[] : tensor<f64>) {
          nest.yield %18 : f64
        }
        %20 = nest.value : tensor<f64>
        nest.do(%21 = %A_data[%15] : tensor<?xf64>, %22 = %17[] : tensor<f64>) -> (%23 = %20[] : tensor<f64>) {
          %24 = arith.mulf %21, %22 fastmath<contract> : f64
          nest.yield %24 : f64
        }
        nest.do(%25 = %20[] : tensor<f64>, %26 = %A_indices[%15] : tensor<?xi32>) -> (%27 = %9[%26, %16] : tensor<?x?xf64>) {
          %28 = arith.addf %27, %25 fastmath<reassoc,contract> : f64
          nest.yield %28 : f64
        }
      }
    }
  }
  func.return %9 : tensor<?x?xf64>
}

// The loop over the same rows of a block has brought the streams; a chunk for a core is no block.
// CHECK-LABEL: func.func @block(
// CHECK-NOT: ahead
// CHECK-LABEL: func.func @chunk(
// CHECK: ahead 128

func.func @block(%indptr: tensor<?xi32>, %indices: tensor<?xi32>, %data: tensor<?xf64>, %m: index, %n: index, %rows: index) -> tensor<?xf64> attributes {dims = [["k"], ["nnz"], ["nnz"], [], [], []], results = ["z"]} {
  %y = nest.value[%n] output 0 : tensor<?xf64>
  %s = nest.value[%m] : tensor<?xf64>
  nest.for %first in %m step %rows {
    %next = arith.addi %first, %rows : index
    %end = arith.minsi %next, %m : index
    nest.for %i = %first to %end {
      nest.entries %p of %i in %indptr : tensor<?xi32> short {
        nest.do(%v = %data[%p] : tensor<?xf64>) -> (%r = %s[%i] : tensor<?xf64>) {
          nest.yield %v : f64
        }
      }
    }
    nest.for %j = %first to %end {
      nest.entries %q of %j in %indptr : tensor<?xi32> short {
        nest.do(%w = %data[%q] : tensor<?xf64>, %at = %indices[%q] : tensor<?xi32>) -> (%t = %y[%at] : tensor<?xf64>) {
          %sum = arith.addf %t, %w fastmath<reassoc,contract> : f64
          nest.yield %sum : f64
        }
      }
    }
  }
  func.return %y : tensor<?xf64>
}

func.func @chunk(%indptr: tensor<?xi32>, %indices: tensor<?xi32>, %data: tensor<?xf64>, %m: index, %n: index, %rows: index) -> tensor<?xf64> attributes {dims = [["k"], ["nnz"], ["nnz"], [], [], []], results = ["z"]} {
  %y = nest.value[%n] output 0 : tensor<?xf64>
  %s = nest.value[%m] : tensor<?xf64>
  nest.for %first in %m step %rows cores {
    %next = arith.addi %first, %rows : index
    %end = arith.minsi %next, %m : index
    nest.for %i = %first to %end {
      nest.entries %p of %i in %indptr : tensor<?xi32> short {
        nest.do(%v = %data[%p] : tensor<?xf64>) -> (%r = %s[%i] : tensor<?xf64>) {
          nest.yield %v : f64
        }
      }
    }
    nest.for %j = %first to %end {
      nest.entries %q of %j in %indptr : tensor<?xi32> short {
        nest.do(%w = %data[%q] : tensor<?xf64>, %at = %indices[%q] : tensor<?xi32>) -> (%t = %y[%at] : tensor<?xf64>) {
          %sum = arith.addf %t, %w fastmath<reassoc,contract> : f64
          nest.yield %sum : f64
        }
      }
    }
  }
  func.return %y : tensor<?xf64>
}

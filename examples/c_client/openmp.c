/* The loops of a library on the threads of a program: OpenMP runs them, and the result is the same to the last bit.
 *
 *   openmp
 *
 * Made from ../logistic.py, on data of its own. Exit status: 0 the results are equal, 1 they are not, 2 a call failed. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logistic.h"

enum { ROWS = 200000, COLUMNS = 30 };

/* aotensor_context.parallel_for: every chunk once, in any order, on any thread. */
static void on_openmp(void *pool, int64_t chunks, void (*task)(void *argument, int64_t chunk), void *argument) {
  int *threads = pool;
#pragma omp parallel for schedule(dynamic) num_threads(*threads)
  for (int64_t k = 0; k < chunks; ++k) task(argument, k);
}

static double X[ROWS * COLUMNS], y[ROWS], w[COLUMNS];

/* Loss and gradient on so many threads. Ends the program if the call fails. */
static double evaluate(int threads, double *gradient) {
  const double l2 = 0.01;
  double loss = 0.0;
  const int64_t n = ROWS, p = COLUMNS, matrix[] = {n, p};
  aotensor_context context = {0};
  context.struct_size = sizeof context;
  context.parallel_for = on_openmp;
  context.pool = &threads;
  aotensor_array inputs[] = {{X, matrix, NULL, 2, AOTENSOR_FLOAT64},
                             {y, &n, NULL, 1, AOTENSOR_FLOAT64},
                             {w, &p, NULL, 1, AOTENSOR_FLOAT64},
                             {(void *)&l2, NULL, NULL, 0, AOTENSOR_FLOAT64}};
  aotensor_array outputs[] = {{&loss, NULL, NULL, 0, AOTENSOR_FLOAT64}, {gradient, &p, NULL, 1, AOTENSOR_FLOAT64}};
  int32_t status = logistic_call(&context, inputs, outputs);
  if (status != AOTENSOR_OK) {
    fprintf(stderr, "logistic: %s\n", aotensor_status_message(status));
    exit(2);
  }
  return loss;
}

int main(void) {
  double first[COLUMNS], gradient[COLUMNS];
  for (int i = 0; i < ROWS; ++i) {
    y[i] = i % 3 ? 1.0 : -1.0;
    for (int j = 0; j < COLUMNS; ++j) X[i * COLUMNS + j] = (double)((i + 17 * j) % 101) / 101.0 - 0.5;
  }
  for (int j = 0; j < COLUMNS; ++j) w[j] = 1.0 / (1 + j);
  const double expected = evaluate(1, first);
  for (int threads = 1; threads <= 8; ++threads) {
    double start = omp_get_wtime(), loss = evaluate(threads, gradient);
    printf("%d threads: loss %.15f, %.2f ms\n", threads, loss, 1e3 * (omp_get_wtime() - start));
    if (loss != expected || memcmp(first, gradient, sizeof first) != 0) return 1;
  }
  puts("ok");
  return 0;
}

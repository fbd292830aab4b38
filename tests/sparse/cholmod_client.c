/* A Gaussian field on a grid: log determinant, its gradient, inverse entries and a solution, by this library and by CHOLMOD.

   Prints a line per quantity: its name, and the largest difference relative to the largest number. */
#include <cholmod.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "field.h"

enum { ROWS = 40, N = ROWS * ROWS, MOST = 5 * N };

static int indptr[N + 1], indices[MOST];
static double values[MOST], z[N], slope[MOST], inverse[MOST], solution[N];

/* The precision of a field on a grid: neighbours by weights that differ, and a diagonal above their sum. */
static int fill(void) {
  int count = 0;
  for (int i = 0; i < N; i++) {
    const int offsets[] = {-ROWS, -1, 0, 1, ROWS};
    double sum = 0.1;
    int diagonal = 0;
    for (int k = 0; k < 5; k++) {
      const int j = i + offsets[k], is_wrapped = abs(offsets[k]) == 1 && j / ROWS != i / ROWS;
      if (j < 0 || j >= N || is_wrapped) continue;
      if (j == i) diagonal = count;
      const double weight = 1.0 + 0.5 * sin(0.37 * (i + j));
      if (j != i) sum += weight;
      indices[count] = j;
      values[count++] = -weight;
    }
    values[diagonal] = sum;
    indptr[i + 1] = count;
    z[i] = cos(0.1 * i);
  }
  return count;
}

static double difference(const double *found, const double *expected, int count) {
  double most = 0, scale = 0;
  for (int k = 0; k < count; k++) {
    const double error = fabs(found[k] - expected[k]);
    if (!(error <= most)) most = error;
    if (fabs(expected[k]) > scale) scale = fabs(expected[k]);
  }
  return most / scale;
}

int main(void) {
  const int count = fill();
  double logarithm;
  const int32_t status = field(count, values, indices, indptr, z, &logarithm, slope, inverse, solution, NULL);
  if (status != 0) return fprintf(stderr, "%s\n", aotensor_status_message(status)), 1;

  cholmod_common common;
  cholmod_start(&common);
  common.supernodal = CHOLMOD_SIMPLICIAL; /* L·D·Lᵀ, with D on the diagonal of L */
  cholmod_sparse A = {0};
  A.nrow = A.ncol = N, A.nzmax = (size_t)count, A.p = indptr, A.i = indices, A.x = values;
  A.stype = 1, A.itype = CHOLMOD_INT, A.xtype = CHOLMOD_REAL, A.dtype = CHOLMOD_DOUBLE, A.sorted = 1, A.packed = 1;
  cholmod_factor *L = cholmod_analyze(&A, &common);
  cholmod_factorize(&A, L, &common);
  double expected = 0;
  for (int j = 0; j < N; j++) expected += log(((double *)L->x)[((int *)L->p)[j]]);
  printf("logarithm %.3g\n", difference(&logarithm, &expected, 1));

  cholmod_dense *b = cholmod_zeros(N, 1, CHOLMOD_REAL, &common);
  double *const right = b->x;
  for (int i = 0; i < N; i++) right[i] = z[i];
  cholmod_dense *x = cholmod_solve(CHOLMOD_A, L, b, &common);
  printf("solution %.3g\n", difference(solution, x->x, N));
  cholmod_free_dense(&x, &common);

  double *const entries = malloc(sizeof(double) * (size_t)count);
  for (int i = 0; i < N; i++) { /* a column of A⁻¹ at a time */
    for (int j = 0; j < N; j++) right[j] = j == i;
    x = cholmod_solve(CHOLMOD_A, L, b, &common);
    for (int k = indptr[i]; k < indptr[i + 1]; k++) entries[k] = ((double *)x->x)[indices[k]];
    cholmod_free_dense(&x, &common);
  }
  printf("inverse %.3g\ngradient %.3g\n", difference(inverse, entries, count), difference(slope, entries, count));
  free(entries);
  cholmod_free_dense(&b, &common);
  cholmod_free_factor(&L, &common);
  cholmod_finish(&common);
  return 0;
}

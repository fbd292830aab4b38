/* The sparse model of examples/diffusion.py from C: smooths a signal on a grid by conjugate gradients whose products
 * are derivatives of the compiled energy, reads a sparse result, and sees malformed matrices refused. No Python anywhere.
 *
 * Exit status: 0 all is as it should be, 1 something is not, 2 no memory or a call failed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diffusion.h"

enum { ROWS = 20, COLUMNS = 30, NODES = ROWS * COLUMNS };

static int wrong = 0;

static void expect(int is_right, const char *what) {
  if (!is_right) {
    printf("wrong: %s\n", what);
    wrong = 1;
  }
}

/* Memory for outputs: the library says how much, the caller frees it. */
static void *allocate(void *user, int32_t output, int64_t bytes, const int64_t *shape) {
  (void)user, (void)output, (void)shape;
  return malloc((size_t)bytes);
}

/* A row per edge: -1 where it begins, 1 where it ends. The end comes first: entries may stand in any order. */
static void connect(aotensor_sparse *D, int32_t begin, int32_t end) {
  double *data = D->data;
  int32_t *indices = D->indices, *indptr = D->indptr;
  data[D->nnz] = 1, indices[D->nnz++] = end;
  data[D->nnz] = -1, indices[D->nnz++] = begin;
  indptr[++D->shape[0]] = (int32_t)D->nnz;
}

static int make_grid(aotensor_sparse *D) {
  const size_t edges = ROWS * (COLUMNS - 1) + (ROWS - 1) * COLUMNS;
  memset(D, 0, sizeof *D);
  D->data = malloc(2 * edges * sizeof(double));
  D->indices = malloc(2 * edges * sizeof(int32_t));
  D->indptr = calloc(edges + 1, sizeof(int32_t));
  D->shape[1] = NODES;
  D->dtype = AOTENSOR_FLOAT64;
  D->index_dtype = AOTENSOR_INT32;
  if (!D->data || !D->indices || !D->indptr) return 0;
  for (int32_t i = 0; i < ROWS; ++i)
    for (int32_t j = 0; j < COLUMNS; ++j) {
      const int32_t node = i * COLUMNS + j;
      if (j + 1 < COLUMNS) connect(D, node, node + 1);
      if (i + 1 < ROWS) connect(D, node, node + COLUMNS);
    }
  return 1;
}

static void release(aotensor_sparse *x) {
  free(x->data);
  free(x->indices);
  free(x->indptr);
}

/* The derivative of the energy is (1 + DᵀWD)x - y: for y = 0 it is the product with the matrix of the system. */
static double derivative_at(const aotensor_sparse *D, const double *x, const double *y, const double *w, double *derivative,
                       void *workspace) {
  double value = 0;
  int32_t status = energy(D->shape[0], NODES, D, x, y, w, &value, derivative, workspace);
  if (status != AOTENSOR_OK) {
    fprintf(stderr, "energy: %s\n", aotensor_status_message(status));
    exit(2);
  }
  return value;
}

static double dot(const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < NODES; ++i) sum += a[i] * b[i];
  return sum;
}

/* Conjugate gradients; gives the number of steps. */
static int smooth(const aotensor_sparse *D, const double *y, const double *w, double *x, void *workspace) {
  static const double zero[NODES];
  double r[NODES], p[NODES], q[NODES];
  derivative_at(D, x, y, w, r, workspace);
  for (int i = 0; i < NODES; ++i) p[i] = r[i] = -r[i];
  double size = dot(r, r);
  int step = 0;
  for (; step < NODES && size > 1e-24; ++step) {
    derivative_at(D, p, zero, w, q, workspace);
    const double length = size / dot(p, q);
    for (int i = 0; i < NODES; ++i) x[i] += length * p[i], r[i] -= length * q[i];
    const double next = dot(r, r);
    for (int i = 0; i < NODES; ++i) p[i] = r[i] + next / size * p[i];
    size = next;
  }
  return step;
}

/* diag(w) D diag(x) comes in memory of exactly the size that it needs; each row adds up to w·(D x). */
static void check_flows(const aotensor_sparse *D, const double *x, const double *w) {
  aotensor_sparse F;
  aotensor_context context;
  memset(&F, 0, sizeof F);
  memset(&context, 0, sizeof context);
  context.struct_size = sizeof context;
  context.allocate = allocate;
  int32_t status = flows(&context, D->shape[0], NODES, D, x, w, &F, NULL);
  expect(status == AOTENSOR_OK, aotensor_status_message(status));
  expect(F.nnz == D->nnz && F.shape[0] == D->shape[0] && F.shape[1] == NODES, "extents of the flows");
  expect(F.dtype == AOTENSOR_FLOAT64 && F.index_dtype == AOTENSOR_INT32, "dtypes of the flows");
  const double *data = F.data;
  const int32_t *indices = F.indices, *indptr = F.indptr;
  double largest = 0;
  for (int64_t e = 0; status == AOTENSOR_OK && e < F.shape[0]; ++e) {
    double sum = 0;
    for (int32_t k = indptr[e]; k < indptr[e + 1]; ++k) sum += data[k];
    expect(indptr[e + 1] - indptr[e] == 2 && indices[indptr[e]] < indices[indptr[e] + 1], "rows are sorted");
    const int32_t begin = indices[indptr[e]], end = indices[indptr[e] + 1];
    expect(fabs(sum - w[e] * (x[end] - x[begin])) < 1e-12, "sum of a row");
    if (fabs(sum) > largest) largest = fabs(sum);
  }
  printf("flows: %lld entries, largest through an edge %.3f\n", (long long)F.nnz, largest);
  release(&F);
}

/* What is malformed is refused before anything is computed; a context receives the whole message. */
static void check_refusals(aotensor_sparse *D, const double *x, const double *w) {
  int32_t *indices = D->indices, *indptr = D->indptr, kept;
  char message[256] = "";
  aotensor_sparse F;
  aotensor_context context;
  memset(&context, 0, sizeof context);
  context.struct_size = sizeof context;
  context.allocate = allocate;
  context.message = message;
  context.message_size = sizeof message;
  memset(&F, 0, sizeof F);

  kept = indices[7], indices[7] = NODES;
  expect(flows(&context, D->shape[0], NODES, D, x, w, &F, NULL) == AOTENSOR_BAD_INDEX, "an index out of range");
  printf("%s\n", message);
  indices[7] = -1;
  expect(flows(&context, D->shape[0], NODES, D, x, w, &F, NULL) == AOTENSOR_BAD_INDEX, "a negative index");
  indices[7] = kept;

  kept = indptr[5], indptr[5] = 1000000;
  expect(flows(&context, D->shape[0], NODES, D, x, w, &F, NULL) == AOTENSOR_BAD_STRUCTURE, "indptr that falls");
  printf("%s\n", message);
  indptr[5] = kept;

  D->nnz += 1;
  expect(flows(&context, D->shape[0], NODES, D, x, w, &F, NULL) == AOTENSOR_BAD_STRUCTURE, "another nnz");
  D->nnz -= 1;
  expect(flows(&context, D->shape[0], NODES + 1, D, x, w, &F, NULL) == AOTENSOR_WRONG_EXTENT, "another shape");
  printf("%s\n", message);
  expect(F.data == NULL && F.indptr == NULL, "nothing was allocated");
}

int main(void) {
  aotensor_sparse D;
  if (!make_grid(&D)) return 2;
  double y[NODES], x[NODES], w[2 * NODES], derivative[NODES];
  uint32_t state = 1;
  for (int i = 0; i < NODES; ++i) {
    state = state * 1664525u + 1013904223u; /* noise */
    y[i] = x[i] = sin(i / 40.0) + 0.6 * (state / 4294967296.0 - 0.5);
  }
  for (int64_t e = 0; e < D.shape[0]; ++e) w[e] = 2;
  void *workspace = malloc((size_t)energy_workspace(D.shape[0], NODES, D.nnz));
  if (!workspace) return 2;

  const double before = derivative_at(&D, x, y, w, derivative, workspace);
  const int steps = smooth(&D, y, w, x, workspace);
  const double after = derivative_at(&D, x, y, w, derivative, workspace);
  printf("energy %.3f -> %.3f in %d steps\n", before, after, steps);
  expect(after < before / 2 && sqrt(dot(derivative, derivative)) < 1e-10, "the minimum");

  const double h = 1e-5; /* the derivative against a difference of values */
  x[17] += h;
  const double ahead = derivative_at(&D, x, y, w, derivative, NULL);
  expect(fabs((ahead - after) / h - derivative[17] / 2) < 1e-7, "the derivative");

  check_flows(&D, x, w);
  check_refusals(&D, x, w);
  free(workspace);
  release(&D);
  puts(wrong ? "something is wrong" : "ok");
  return wrong;
}

/* Structs with wrong fields: each call returns an error, and writes neither behind a buffer nor into a struct. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "structs.h"

enum { N = 3, GUARD = 64 };

static char message[200];
static aotensor_context context;
static double x[N] = {1, 2, 3}, y[2] = {4, 5};
static unsigned char data[8 * N + GUARD], indices[4 * N + GUARD], indptr[4 * (N + 1) + GUARD];

static void *allocate(void *user, int32_t output, int64_t bytes, const int64_t *shape) {
  (void)user, (void)output, (void)shape;
  return malloc((size_t)bytes);
}

static void reset(void) {
  memset(&context, 0, sizeof context);
  memset(message, 0, sizeof message);
  memset(data, 0x5a, sizeof data), memset(indices, 0x5a, sizeof indices), memset(indptr, 0x5a, sizeof indptr);
  context.struct_size = sizeof context;
  context.message = message;
  context.message_size = sizeof message;
}

static int guards(void) {
  for (int k = 0; k < GUARD; ++k)
    if (data[8 * N + k] != 0x5a || indices[4 * N + k] != 0x5a || indptr[4 * (N + 1) + k] != 0x5a) return 0;
  return 1;
}

static aotensor_sparse own(void) {
  aotensor_sparse J = {data, indices, indptr, N, {N, N}, AOTENSOR_FLOAT64, AOTENSOR_INT32};
  return J;
}

static void slope_with(const char *what, aotensor_sparse J) {
  const aotensor_sparse before = J;
  const int32_t status = slope(&context, N, x, &J, NULL);
  printf("%s: %d %s%s%s\n", what, (int)status, message, guards() ? "" : " OVERRUN",
         status && status != AOTENSOR_OUTPUTS_NEEDED && memcmp(&before, &J, sizeof J) ? " CHANGED" : "");
  reset();
}

static void sparse_outputs(void) {
  aotensor_sparse J = own();
  slope_with("right", J);
  J.dtype = J.index_dtype = 0, J.shape[0] = J.shape[1] = 0;
  slope_with("undeclared", J);
  J = own(), J.dtype = AOTENSOR_FLOAT32, slope_with("dtype", J);
  J = own(), J.dtype = 99, slope_with("dtype code", J);
  J = own(), J.index_dtype = AOTENSOR_INT64, slope_with("index_dtype", J);
  J = own(), J.shape[0] = N - 1, slope_with("rows", J);
  J = own(), J.shape[1] = N + 1, slope_with("columns", J);
  J = own(), J.shape[0] = 0, slope_with("no rows", J);
  J = own(), J.shape[0] = -N, slope_with("negative rows", J);
  J = own(), J.nnz = N + 1, slope_with("nnz", J);
  J = own(), J.data = NULL, slope_with("data", J);
  J = own(), J.indices = NULL, slope_with("indices", J);
  memset(&J, 0, sizeof J);
  J.dtype = AOTENSOR_FLOAT32;
  context.allocate = allocate;
  slope_with("dtype before allocation", J);
  memset(&J, 0, sizeof J);
  J.index_dtype = AOTENSOR_INT64;
  slope_with("index_dtype before allocation", J);
  memset(&J, 0, sizeof J);
  slope_with("nothing", J);
}

static void call(const char *what, aotensor_array *in, aotensor_array *out) {
  const int32_t status = both_call(&context, in, out);
  printf("%s: %d %s%s\n", what, (int)status, message, guards() ? "" : " OVERRUN");
  reset();
}

static void arrays(void) {
  int64_t n[1] = {N}, m[1] = {2}, shape[2] = {N, 2}, room[2] = {0, 0}, other[2] = {2, N};
  int64_t columns[2] = {1, N}, meeting[2] = {1, 1}, steps[2] = {2, 3}, same[2] = {0, 1};
  static unsigned char rows[8 * N * 2 + 64];
  aotensor_array in[2] = {{x, n, NULL, 1, AOTENSOR_FLOAT64}, {y, m, NULL, 1, AOTENSOR_FLOAT64}}, spoilt[2];
  const aotensor_array right = {rows, shape, NULL, 2, AOTENSOR_FLOAT64};
  aotensor_array out[1] = {right};
#define INPUT(what, field, value) memcpy(spoilt, in, sizeof in), spoilt[1].field = value, call(what, spoilt, out)
#define OUTPUT(what, field, value) out[0] = right, out[0].field = value, call(what, in, out), out[0] = right
  call("right", in, out);
  INPUT("input rank", rank, 2);
  INPUT("input dtype", dtype, AOTENSOR_INT64);
  INPUT("input shape", shape, NULL);
  INPUT("input data", data, NULL);
  OUTPUT("output dtype", dtype, AOTENSOR_FLOAT32);
  OUTPUT("output rank", rank, 1);
  OUTPUT("output shape", shape, other);
  OUTPUT("output columns", strides, columns);
  OUTPUT("output that meets itself", strides, meeting);
  OUTPUT("output of one row", strides, same);
  OUTPUT("output of odd steps", strides, steps);
  out[0].data = NULL, out[0].shape = room, out[0].strides = columns;
  call("strides of nothing", in, out);
  out[0].strides = NULL, out[0].dtype = AOTENSOR_FLOAT32;
  call("dtype of nothing", in, out);
  out[0].dtype = 0;
  call("nothing", in, out);
  printf("%d x %d\n", (int)room[0], (int)room[1]);
}

static void contexts(void) {
  aotensor_sparse J = own();
  aotensor_blas blas;
  memset(&blas, 0, sizeof blas);
#define CONTEXT(field, value) context.field = value, slope_with(#field, J)
  CONTEXT(struct_size, 0);
  CONTEXT(num_threads, -1);
  CONTEXT(flags, 6);
  CONTEXT(message_size, -1);
  CONTEXT(workspace_bytes, -8);
  CONTEXT(blas, &blas);
}

static void sparse_inputs(void) {
  int32_t places[N] = {0, 1, 2}, starts[N + 1] = {0, 1, 2, 3};
  const aotensor_sparse right = {x, places, starts, N, {N, N}, AOTENSOR_FLOAT64, AOTENSOR_INT32};
  double result[N];
#define SPARSE(what, field, value)                                                     \
  do {                                                                                 \
    aotensor_sparse A = right;                                                         \
    A.field = value;                                                                   \
    printf("%s: %d\n", what, (int)product(N, N, &A, x, result, NULL));                 \
  } while (0)
  SPARSE("right", nnz, N);
  SPARSE("dtype", dtype, AOTENSOR_FLOAT32);
  SPARSE("index_dtype", index_dtype, AOTENSOR_INT64);
  SPARSE("rows", shape[0], N + 1);
  SPARSE("nnz", nnz, N - 1);
  SPARSE("negative nnz", nnz, -1);
  SPARSE("indptr", indptr, NULL);
}

/* A pattern with data has extents of the caller's; the parts of a matrix may be shorter than what CANONICAL promises. */
static void uniform_matrices(void) {
  int64_t n[1] = {N}, shape[2] = {N, N}, wrong[2] = {N, N + 1}, starts[1] = {N + 1}, few[1] = {N};
  int32_t places[N] = {0, 1, 2}, begins[N + 1] = {0, 1, 2, 3};
  double result[N];
  aotensor_array in[1] = {{x, n, NULL, 1, AOTENSOR_FLOAT64}};
  aotensor_array out[4] = {
    {x, wrong, NULL, 2, AOTENSOR_BOOL}, {data, n, NULL, 1, AOTENSOR_FLOAT64}, {indices, n, NULL, 1, AOTENSOR_INT32},
    {indptr, starts, NULL, 1, AOTENSOR_INT32},
  };
  printf("pattern: %d %s\n", (int)slope_call(&context, in, out), message);
  out[0].shape = shape, out[0].dtype = AOTENSOR_FLOAT64;
  printf("its dtype: %d %s\n", (int)slope_call(&context, in, out), message);
  reset();
  out[0].dtype = AOTENSOR_BOOL;
  printf("right: %d %s\n", (int)slope_call(&context, in, out), message);
  aotensor_array given[5] = {
    {NULL, shape, NULL, 2, AOTENSOR_BOOL}, {x, n, NULL, 1, AOTENSOR_FLOAT64}, {places, n, NULL, 1, AOTENSOR_INT32},
    {begins, few, NULL, 1, AOTENSOR_INT32}, {x, n, NULL, 1, AOTENSOR_FLOAT64},
  };
  aotensor_array found[1] = {{result, n, NULL, 1, AOTENSOR_FLOAT64}};
  context.flags = AOTENSOR_CANONICAL;
  printf("indptr: %d %s\n", (int)product_call(&context, given, found), message);
}

int main(void) {
  reset(), sparse_outputs();
  reset(), arrays();
  reset(), contexts();
  reset(), sparse_inputs();
  reset(), uniform_matrices();
  return 0;
}

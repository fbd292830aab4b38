/* A client that brings its own Cholesky factorisation and triangular solve, as small as they can be. */
#include "gaussian.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void potrf(const char *uplo, const int32_t *n, double *a, const int32_t *lda, int32_t *info) {
  const int64_t ld = *lda;
  *info = 0;
  if (*uplo != 'U') { *info = -1; return; }
  for (int64_t j = 0; j < *n; ++j)
    for (int64_t i = 0; i <= j; ++i) {
      double sum = a[i + j * ld];
      for (int64_t k = 0; k < i; ++k) sum -= a[k + i * ld] * a[k + j * ld];
      if (i == j && !(sum > 0)) { *info = (int32_t)(j + 1); return; }
      a[i + j * ld] = i == j ? sqrt(sum) : sum / a[i + i * ld];
    }
}

/* op(U)·x = b for one right-hand side from the left: what a vector needs */
static void trsm(const char *side, const char *uplo, const char *transa, const char *diag, const int32_t *m,
                 const int32_t *n, const double *alpha, const double *a, const int32_t *lda, double *b,
                 const int32_t *ldb) {
  const int64_t ld = *lda;
  if (*side != 'L' || *uplo != 'U' || *diag != 'N' || *n != 1 || *alpha != 1 || *ldb < *m) { b[0] = NAN; return; }
  for (int64_t step = 0; step < *m; ++step) {
    const int64_t i = *transa == 'T' ? step : *m - 1 - step;
    for (int64_t k = *transa == 'T' ? 0 : i + 1; k < (*transa == 'T' ? i : *m); ++k)
      b[i] -= (*transa == 'T' ? a[k + i * ld] : a[i + k * ld]) * b[k];
    b[i] /= a[i + i * ld];
  }
}

static int failures = 0;

static void expect(const char *what, int is_right) {
  if (!is_right) { printf("wrong: %s\n", what); ++failures; }
}

int main(void) {
  const double a[9] = {4, 9, 9, 2, 5, 9, -2, 1, 6}, bad[9] = {4, 0, 0, 2, 1, 0, 0, 0, 1}, b[3] = {1, 2, 3};
  double x[3], halflog;
  char message[256] = "";
  aotensor_blas table;
  aotensor_context context;
  memset(&table, 0, sizeof table);
  memset(&context, 0, sizeof context);
  table.struct_size = sizeof table;
  context.struct_size = sizeof context;
  context.message = message;
  context.message_size = sizeof message;

  expect("no context", gaussian(NULL, 3, a, b, x, &halflog, NULL) == AOTENSOR_NO_FUNCTION);
  expect("no table", gaussian(&context, 3, a, b, x, &halflog, NULL) == AOTENSOR_NO_FUNCTION);
  printf("%s\n", message);
  context.blas = &table;
  expect("empty table", gaussian(&context, 3, a, b, x, &halflog, NULL) == AOTENSOR_NO_FUNCTION);
  table.dpotrf = potrf;
  expect("half a table", gaussian(&context, 3, a, b, x, &halflog, NULL) == AOTENSOR_NO_FUNCTION);
  printf("%s\n", message);
  table.dtrsm = trsm;
  table.struct_size = (int64_t)((char *)&table.dpotrf - (char *)&table);
  expect("table of an older header", gaussian(&context, 3, a, b, x, &halflog, NULL) == AOTENSOR_NO_FUNCTION);
  table.struct_size = sizeof table;
  expect("status text", strstr(aotensor_status_message(AOTENSOR_NO_FUNCTION), "LAPACK") != NULL);

  expect("success", gaussian(&context, 3, a, b, x, &halflog, NULL) == AOTENSOR_OK);
  printf("%.12f %.12f %.12f %.12f\n", x[0], x[1], x[2], halflog);
  expect("not positive", gaussian(&context, 3, bad, b, x, &halflog, NULL) >= AOTENSOR_CHECK);
  printf("%s\n", message);
  expect("nothing to do", gaussian(NULL, 0, a, b, x, &halflog, NULL) == AOTENSOR_NO_FUNCTION);
  expect("empty", gaussian(&context, 0, a, b, x, &halflog, NULL) == AOTENSOR_OK && halflog == 0);

  {
    const int64_t square[2] = {3, 3}, line[1] = {3};
    aotensor_array inputs[2], outputs[2];
    memset(inputs, 0, sizeof inputs);
    memset(outputs, 0, sizeof outputs);
    inputs[0] = (aotensor_array){(void *)a, square, NULL, 2, AOTENSOR_FLOAT64};
    inputs[1] = (aotensor_array){(void *)b, line, NULL, 1, AOTENSOR_FLOAT64};
    outputs[0] = (aotensor_array){x, line, NULL, 1, AOTENSOR_FLOAT64};
    outputs[1] = (aotensor_array){&halflog, NULL, NULL, 0, AOTENSOR_FLOAT64};
    expect("uniform", gaussian_call(&context, inputs, outputs) == AOTENSOR_OK);
    context.blas = NULL;
    expect("uniform without", gaussian_call(&context, inputs, outputs) == AOTENSOR_NO_FUNCTION);
  }
  printf(failures ? "failed\n" : "ok\n");
  return failures != 0;
}

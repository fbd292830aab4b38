/* Calls compiled functions with sparse matrices from a file, in memory of exactly their size, under AddressSanitizer.
 *
 *   driver cases answers
 *
 * A case: function, n, p, flags, mode, elements of d; two matrices; what the caller declares of the sparse result; x and
 * y, each a number of elements before them.
 * A matrix: nnz, rows, columns, dtype, index dtype, then data, indices, indptr, each a number of bytes before them; -1
 * stands for NULL.   mode: 1 a workspace is given, 2 the memory of the sparse result is asked for first.
 * Declared: before the first call or with the arrays; dtype, index dtype; what is added to nnz, rows, columns; the array
 * that is missing; the context's num_threads.
 * An answer: status, bytes of the message, the message; if the status is 0, nnz, rows, columns, bytes of an index of
 * the sparse result, its data, indices, indptr, d. All numbers are int64. Exit status: 0 done, 2 no memory or no file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

typedef int32_t (*function)(aotensor_context *, int64_t, int64_t, const aotensor_sparse *, const aotensor_sparse *,
                            const double *, const double *, aotensor_sparse *, double *, void *);
typedef int64_t (*workspace_function)(int64_t, int64_t, int64_t, int64_t);

static const struct { function call; workspace_function workspace; } functions[] = {
  {scale, scale_workspace}, {both, both_workspace}, {common, common_workspace}, {chain, chain_workspace},
  {rows, rows_workspace}, {turned, turned_workspace}, {derivative, derivative_workspace}, {cut, cut_workspace},
  {sampled, sampled_workspace},
};

/* What LLVM's intrinsics become, so that AddressSanitizer sees them. */
void checked_memcpy(void *to, const void *from, int64_t bytes, _Bool is_volatile);
void checked_memmove(void *to, const void *from, int64_t bytes, _Bool is_volatile);
void checked_memset(void *to, int8_t value, int64_t bytes, _Bool is_volatile);

void checked_memcpy(void *to, const void *from, int64_t bytes, _Bool is_volatile) {
  (void)is_volatile;
  if (bytes) memcpy(to, from, (size_t)bytes);
}

void checked_memmove(void *to, const void *from, int64_t bytes, _Bool is_volatile) {
  (void)is_volatile;
  if (bytes) memmove(to, from, (size_t)bytes);
}

void checked_memset(void *to, int8_t value, int64_t bytes, _Bool is_volatile) {
  (void)is_volatile;
  if (bytes) memset(to, value, (size_t)bytes);
}

static FILE *cases, *answers;

static void *room(int64_t bytes) {
  void *found = malloc((size_t)bytes);
  if (!found) exit(2);
  return found;
}

static int64_t number(void) {
  int64_t found;
  if (fread(&found, sizeof found, 1, cases) != 1) exit(2);
  return found;
}

static void *block(int64_t unit) {
  const int64_t bytes = number() * unit;
  if (bytes < 0) return NULL;
  void *found = room(bytes);
  if (bytes && fread(found, (size_t)bytes, 1, cases) != 1) exit(2);
  return found;
}

static void answer(const void *data, int64_t bytes) {
  if (bytes && fwrite(data, (size_t)bytes, 1, answers) != 1) exit(2);
}

static void answer_number(int64_t x) { answer(&x, sizeof x); }

static aotensor_sparse matrix(void) {
  aotensor_sparse A;
  A.nnz = number();
  A.shape[0] = number();
  A.shape[1] = number();
  A.dtype = (int32_t)number();
  A.index_dtype = (int32_t)number();
  A.data = block(1);
  A.indices = block(1);
  A.indptr = block(1);
  return A;
}

static void release(aotensor_sparse *A) {
  free(A->data);
  free(A->indices);
  free(A->indptr);
}

static void *allocate(void *user, int32_t output, int64_t bytes, const int64_t *shape) {
  (void)user, (void)output, (void)shape;
  return malloc((size_t)bytes);
}

static int64_t index_bytes(const aotensor_sparse *S) { return S->index_dtype == AOTENSOR_INT64 ? 8 : 4; }

static void one(int is_turned) {
  const int64_t which = number(), n = number(), p = number(), flags = number(), mode = number(), elements = number();
  aotensor_sparse A = matrix(), B = matrix(), S;
  const int64_t is_early = number(), dtype = number(), index_dtype = number(), more = number(), rows = number();
  const int64_t columns = number(), lost = number(), threads = number();
  double *x = block(sizeof(double)), *y = block(sizeof(double)), *d = room(elements * (int64_t)sizeof(double));
  char *message = room(200);
  memset(message, 1, 200);
  memset(&S, 0, sizeof S);
  aotensor_context context;
  memset(&context, 0, sizeof context);
  context.struct_size = sizeof context;
  context.message = message;
  context.message_size = 200;
  context.flags = (int32_t)flags;
  context.num_threads = (int32_t)threads;
  if (is_early) S.dtype = (int32_t)dtype, S.index_dtype = (int32_t)index_dtype;
  context.allocate = mode & 2 ? NULL : allocate;
  void *workspace = NULL;
  if (mode & 1) {
    const int64_t bytes = functions[which].workspace(n, p, A.nnz, B.nnz);
    if (bytes >= 0 && bytes < 1 << 24) workspace = room(bytes);
  }
  int32_t status = functions[which].call(&context, n, p, &A, &B, x, y, &S, d, workspace);
  if (status == AOTENSOR_OUTPUTS_NEEDED && mode & 2) {
    const int64_t slices = S.shape[is_turned ? 1 : 0];
    S.data = room(S.nnz * (int64_t)sizeof(double));
    S.indices = room(S.nnz * index_bytes(&A));
    S.indptr = room((slices + 1) * index_bytes(&A));
    S.dtype = (int32_t)dtype;
    S.index_dtype = (int32_t)index_dtype;
    S.nnz += more, S.shape[0] += rows, S.shape[1] += columns;
    if (lost == 1) free(S.data), S.data = NULL;
    if (lost == 2) free(S.indices), S.indices = NULL;
    status = functions[which].call(&context, n, p, &A, &B, x, y, &S, d, workspace);
  }
  const int64_t length = status ? (int64_t)strlen(message) : 0;
  answer_number(status);
  answer_number(length);
  answer(message, length);
  if (!status) {
    answer_number(S.nnz);
    answer_number(S.shape[0]);
    answer_number(S.shape[1]);
    answer_number(index_bytes(&S));
    answer(S.data, S.nnz * (int64_t)sizeof(double));
    answer(S.indices, S.nnz * index_bytes(&S));
    answer(S.indptr, (S.shape[is_turned ? 1 : 0] + 1) * index_bytes(&S));
    answer(d, elements * (int64_t)sizeof(double));
  }
  fflush(answers);
  release(&A), release(&B), release(&S);
  free(x), free(y), free(d), free(message), free(workspace);
}

int main(int count, char **names) {
  if (count != 3 || !(cases = fopen(names[1], "rb")) || !(answers = fopen(names[2], "wb"))) return 2;
  for (int64_t left = number(); left > 0; --left) one((int)number());
  fclose(cases);
  fclose(answers);
  return 0;
}

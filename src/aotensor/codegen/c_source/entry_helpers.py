"""C functions that the entries call: checks of pointers and matrices, memory for outputs, messages."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final


def entry_helper_text(names: Collection[str]) -> str:
    """The definitions of the named helper functions, in a fixed order."""
    return "\n\n".join(text for name, text in _ALL.items() if name in names)


_ALL: Final[dict[str, str]] = {
    "aot_size": """/* Bytes of an array: -1 if 63 bits do not count them. */
static int64_t aot_size(int64_t itemsize, int32_t rank, const int64_t *extents) {
  int64_t bytes = itemsize;
  for (int32_t k = 0; k < rank; ++k) {
    bytes = aot_bytes(bytes, extents[k]);
  }
  return bytes;
}""",
    "aot_need": """/* Is an array there, unless it has no elements? */
static int32_t aot_need(const void *data, int64_t itemsize, int32_t rank, const int64_t *extents) {
  const int64_t bytes = aot_size(itemsize, rank, extents);
  if (bytes < 0) {
    return AOTENSOR_TOO_LARGE;
  }
  return bytes != 0 && data == NULL ? AOTENSOR_NULL_POINTER : AOTENSOR_OK;
}""",
    "aot_check_context": """/* Are the fields of the context valid? */
static int32_t aot_check_context(const aotensor_context *context) {
  if (context == NULL) {
    return AOTENSOR_OK;
  }
  if (context->struct_size < (int64_t)offsetof(aotensor_context, parallel_for)) {
    return AOTENSOR_WRONG_CONTEXT;
  }
  if (context->message_size < 0 || context->workspace_bytes < 0 || context->num_threads < 0) {
    return AOTENSOR_WRONG_CONTEXT;
  }
  if ((context->flags & ~(int32_t)AOTENSOR_CANONICAL) != 0) {
    return AOTENSOR_WRONG_CONTEXT;
  }
  if (context->blas != NULL && context->blas->struct_size < (int64_t)sizeof(int64_t)) {
    return AOTENSOR_WRONG_CONTEXT;
  }
  return AOTENSOR_OK;
}""",
    "aot_tell": """/* Write the text of a status to the context. */
static int32_t aot_tell(const aotensor_context *context, int32_t status) {
  if (status != AOTENSOR_OK && status != AOTENSOR_WRONG_CONTEXT && context != NULL && context->message != NULL
      && context->message_size > 0) {
    const char *text = AOT_STATUS_MESSAGE(status);
    int64_t k = 0;
    for (; k < context->message_size - 1 && text[k] != '\\0'; ++k) {
      context->message[k] = text[k];
    }
    context->message[k] = '\\0';
  }
  return status;
}""",
    "aot_index": """/* An index of a sparse matrix. */
static int64_t aot_index(const void *indices, int64_t k, bool is_wide) {
  return is_wide ? ((const int64_t *)indices)[k] : (int64_t)((const int32_t *)indices)[k];
}""",
    "aot_check_header": """/* Does a sparse matrix have the dtypes and extents of the signature? */
static int32_t aot_check_header(const aotensor_sparse *a, int32_t dtype, int32_t index_dtype, int64_t rows,
                                int64_t columns, int64_t height, int64_t width) {
  if (a == NULL) {
    return AOTENSOR_NULL_POINTER;
  }
  if (a->dtype != dtype || a->index_dtype != index_dtype) {
    return AOTENSOR_WRONG_DTYPE;
  }
  if (a->nnz < 0) {
    return AOTENSOR_NEGATIVE;
  }
  if (a->shape[0] != rows || a->shape[1] != columns || rows % height != 0 || columns % width != 0) {
    return AOTENSOR_WRONG_EXTENT;
  }
  return AOTENSOR_OK;
}""",
    "aot_check_matrix": """/* Are the indices of a sparse matrix valid, sorted and without duplicates?
 * slices, minor: numbers of rows and columns of CSR, of columns and rows of CSC. */
static int32_t aot_check_matrix(const aotensor_sparse *a, int64_t slices, int64_t minor, bool is_canonical) {
  const bool is_wide = a->index_dtype == AOTENSOR_INT64;
  if (a->indptr == NULL || (a->nnz != 0 && (a->indices == NULL || a->data == NULL))) {
    return AOTENSOR_NULL_POINTER;
  }
  if (is_canonical) {
    return AOTENSOR_OK;
  }
  if (aot_index(a->indptr, 0, is_wide) != 0) {
    return AOTENSOR_BAD_STRUCTURE;
  }
  for (int64_t i = 0; i < slices; ++i) {
    if (aot_index(a->indptr, i + 1, is_wide) < aot_index(a->indptr, i, is_wide)) {
      return AOTENSOR_BAD_STRUCTURE;
    }
  }
  if (aot_index(a->indptr, slices, is_wide) != a->nnz) {
    return AOTENSOR_BAD_STRUCTURE;
  }
  for (int64_t p = 0; p < a->nnz; ++p) {
    const int64_t index = aot_index(a->indices, p, is_wide);
    if (index < 0 || index >= minor) {
      return AOTENSOR_BAD_INDEX;
    }
  }
  for (int64_t i = 0; i < slices; ++i) {
    const int64_t end = aot_index(a->indptr, i + 1, is_wide);
    for (int64_t p = aot_index(a->indptr, i, is_wide) + 1; p < end; ++p) {
      if (aot_index(a->indices, p, is_wide) <= aot_index(a->indices, p - 1, is_wide)) {
        return AOTENSOR_NO_MEMORY; /* a sorted copy is needed */
      }
    }
  }
  return AOTENSOR_OK;
}""",
    "aot_allocate": """/* Memory for an output from the context. */
static int32_t aot_allocate(const aotensor_context *context, int32_t output, int64_t bytes, const int64_t *extents,
                            void **data) {
  if (bytes < 0) {
    return AOTENSOR_TOO_LARGE;
  }
  if (bytes == 0) {
    return AOTENSOR_OK;
  }
  if (context == NULL || context->allocate == NULL) {
    return AOTENSOR_OUTPUTS_NEEDED;
  }
  *data = context->allocate(context->user, output, bytes, extents);
  return *data == NULL ? AOTENSOR_NO_MEMORY : AOTENSOR_OK;
}""",
    "aot_give_array": """/* An output whose extents depend on values: check the caller's array, or fill it in. */
static int32_t aot_give_array(const aotensor_context *context, aotensor_array *array, int32_t output,
                              int32_t dtype, int64_t itemsize, int32_t rank, const int64_t *extents) {
  if (array == NULL) {
    return AOTENSOR_NULL_POINTER;
  }
  if (array->rank != rank) {
    return AOTENSOR_WRONG_RANK;
  }
  if (rank != 0 && array->shape == NULL) {
    return AOTENSOR_NULL_POINTER;
  }
  const bool is_blank = array->data == NULL;
  if (array->dtype != dtype && !(is_blank && array->dtype == 0)) {
    return AOTENSOR_WRONG_DTYPE;
  }
  if (is_blank) {
    if (array->strides != NULL) {
      return AOTENSOR_NULL_POINTER;
    }
    memcpy((void *)(uintptr_t)array->shape, extents, (size_t)rank * sizeof(int64_t));
    array->dtype = dtype;
    return aot_allocate(context, output, aot_size(itemsize, rank, extents), extents, &array->data);
  }
  int64_t stride = 1;
  for (int32_t k = rank - 1; k >= 0; --k) {
    if (array->shape[k] != extents[k]) {
      return AOTENSOR_WRONG_EXTENT;
    }
    if (array->strides != NULL && extents[k] > 1 && array->strides[k] != stride) {
      return AOTENSOR_NO_MEMORY; /* a row-major copy is needed */
    }
    stride *= extents[k];
  }
  return AOTENSOR_OK;
}""",
    "aot_give_matrix": """/* A sparse output: check the caller's arrays, or fill them in.
 * extents: rows, columns, then those of data, whose rank is `rank`, of indices and of indptr.
 * output: the number of the matrix among the outputs. */
static int32_t aot_give_matrix(const aotensor_context *context, aotensor_sparse *a, int32_t output, int32_t dtype,
                               int64_t itemsize, int32_t index_dtype, int32_t rank, const int64_t *extents) {
  if (a == NULL) {
    return AOTENSOR_NULL_POINTER;
  }
  const bool is_blank = a->indptr == NULL;
  const bool has_shape = a->shape[0] != 0 || a->shape[1] != 0;
  const bool is_other = has_shape && (a->shape[0] != extents[0] || a->shape[1] != extents[1]);
  if (!is_blank && (a->nnz != extents[2] || is_other)) {
    return AOTENSOR_WRONG_EXTENT;
  }
  if ((a->dtype != 0 && a->dtype != dtype) || (a->index_dtype != 0 && a->index_dtype != index_dtype)) {
    return AOTENSOR_WRONG_DTYPE;
  }
  const int64_t width = index_dtype == AOTENSOR_INT64 ? 8 : 4;
  const int64_t bytes[3] = {aot_size(itemsize, rank, extents + 2), aot_size(width, 1, extents + 2 + rank),
                            aot_size(width, 1, extents + 3 + rank)};
  a->nnz = extents[2];
  a->shape[0] = extents[0];
  a->shape[1] = extents[1];
  a->dtype = dtype;
  a->index_dtype = index_dtype;
  if (!is_blank) {
    return bytes[1] != 0 && (a->data == NULL || a->indices == NULL) ? AOTENSOR_NULL_POINTER : AOTENSOR_OK;
  }
  a->data = NULL;
  a->indices = NULL;
  int32_t status = aot_allocate(context, output + 1, bytes[0], extents + 2, &a->data);
  if (status == AOTENSOR_OK) {
    status = aot_allocate(context, output + 2, bytes[1], extents + 2 + rank, &a->indices);
  }
  if (status == AOTENSOR_OK) {
    status = aot_allocate(context, output + 3, bytes[2], extents + 3 + rank, &a->indptr);
  }
  return status;
}""",
}

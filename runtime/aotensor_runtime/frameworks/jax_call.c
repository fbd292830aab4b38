/* A handler of XLA's foreign functions that calls functions of libraries of aotensor. One handler serves all of them: the
 * attribute `key` says which, so that an executable which another process has compiled finds its function, or an error. */

#include <stdio.h>
#include <string.h>

#include "aotensor.h"
#include "xla/ffi/api/c_api.h"

enum { LARGEST_TABLE = 1024, MOST_ARRAYS = 256, MESSAGE = 512 };

typedef int32_t (*entry_t)(const aotensor_context *context, const aotensor_array *inputs, aotensor_array *outputs);

static struct {
  int64_t key;
  entry_t entry;
  const aotensor_context *context;
} table[LARGEST_TABLE];
static int64_t count; /* written under the lock of the interpreter, after the row */

int aotensor_jax_add(int64_t key, entry_t entry, const aotensor_context *context) {
  if (count == LARGEST_TABLE) return 0;
  table[count].key = key;
  table[count].entry = entry;
  table[count].context = context;
  __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
  return 1;
}

static XLA_FFI_Error *failed(XLA_FFI_CallFrame *frame, const char *message, XLA_FFI_Error_Code code) {
  XLA_FFI_Error_Create_Args error = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, message, code};
  return frame->api->XLA_FFI_Error_Create(&error);
}

static int32_t dtype_of(XLA_FFI_DataType type) {
  switch (type) {
    case XLA_FFI_DataType_PRED: return AOTENSOR_BOOL;
    case XLA_FFI_DataType_S8: return AOTENSOR_INT8;
    case XLA_FFI_DataType_S16: return AOTENSOR_INT16;
    case XLA_FFI_DataType_S32: return AOTENSOR_INT32;
    case XLA_FFI_DataType_S64: return AOTENSOR_INT64;
    case XLA_FFI_DataType_U8: return AOTENSOR_UINT8;
    case XLA_FFI_DataType_U16: return AOTENSOR_UINT16;
    case XLA_FFI_DataType_U32: return AOTENSOR_UINT32;
    case XLA_FFI_DataType_U64: return AOTENSOR_UINT64;
    case XLA_FFI_DataType_F16: return AOTENSOR_FLOAT16;
    case XLA_FFI_DataType_BF16: return AOTENSOR_BFLOAT16;
    case XLA_FFI_DataType_F32: return AOTENSOR_FLOAT32;
    case XLA_FFI_DataType_F64: return AOTENSOR_FLOAT64;
    case XLA_FFI_DataType_C64: return AOTENSOR_COMPLEX64;
    case XLA_FFI_DataType_C128: return AOTENSOR_COMPLEX128;
    default: return 0; /* refused by the library */
  }
}

static aotensor_array array_of(const void *buffer) {
  const XLA_FFI_Buffer *found = buffer;
  aotensor_array array;
  memset(&array, 0, sizeof array);
  array.data = found->data;
  array.shape = found->dims;
  array.rank = (int32_t)found->rank;
  array.dtype = dtype_of(found->dtype);
  return array;
}

XLA_FFI_Error *aotensor_jax_call(XLA_FFI_CallFrame *frame) {
  if (frame->extension_start != NULL && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    return NULL;
  }
  if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return NULL;
  const int64_t *key = NULL;
  for (int64_t k = 0; k < frame->attrs.size; ++k) {
    const XLA_FFI_ByteSpan *name = frame->attrs.names[k];
    if (name->len == 3 && memcmp(name->ptr, "key", 3) == 0 && frame->attrs.types[k] == XLA_FFI_AttrType_SCALAR) {
      key = ((const XLA_FFI_Scalar *)frame->attrs.attrs[k])->value;
    }
  }
  if (key == NULL) return failed(frame, "aotensor: a call without key", XLA_FFI_Error_Code_INVALID_ARGUMENT);
  int64_t row = __atomic_load_n(&count, __ATOMIC_ACQUIRE) - 1;
  while (row >= 0 && table[row].key != *key) --row;
  if (row < 0) {
    return failed(frame, "aotensor: the library of this operator is not loaded here", XLA_FFI_Error_Code_NOT_FOUND);
  }
  if (frame->args.size > MOST_ARRAYS || frame->rets.size > MOST_ARRAYS) {
    return failed(frame, "aotensor: more than 256 arrays", XLA_FFI_Error_Code_UNIMPLEMENTED);
  }
  aotensor_array inputs[MOST_ARRAYS], outputs[MOST_ARRAYS];
  for (int64_t k = 0; k < frame->args.size; ++k) inputs[k] = array_of(frame->args.args[k]);
  for (int64_t k = 0; k < frame->rets.size; ++k) outputs[k] = array_of(frame->rets.rets[k]);
  char message[MESSAGE] = "";
  aotensor_context context = *table[row].context;
  context.message = message;
  context.message_size = MESSAGE;
  context.kept = NULL; /* calls run at the same time */
  const int32_t status = table[row].entry(&context, inputs, outputs);
  if (status == AOTENSOR_OK) return NULL;
  if (message[0] == 0) snprintf(message, MESSAGE, "aotensor: status %d", (int)status);
  return failed(frame, message, XLA_FFI_Error_Code_INVALID_ARGUMENT);
}

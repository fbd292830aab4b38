/* Call: from the tuple of all inputs to the tuple of all outputs; None if the slow path is needed.
 *
 * The library itself reads the arrays (aotensor_call_python), by offsets that the runtime has confirmed on samples, so
 * that no header of NumPy is needed. */
#include "calls.h"

#define NPY_ARRAY_ALIGNED 0x0100 /* of NumPy's ndarray.flags.num */
#define NPY_ARRAY_WRITEABLE 0x0400

typedef int32_t native_call(const aotensor_python_call *plan, const void *inputs, const void *outputs);

/* Extent number `axis` of input `input`; `axis` itself if `input` is negative. */
typedef struct {
  Py_ssize_t input, axis;
} extent_source;

typedef struct {
  PyObject *dtype;
  PyObject *make_small, *make_large; /* of (shape, dtype): return a new array */
  long long item_bytes;
  Py_ssize_t rank;
  extent_source *extents;
} output_rule;

typedef struct {
  PyObject_HEAD
  native_call *native;
  const aotensor_python_call *plan;
  PyObject *keep; /* owns the memory of `plan` */
  long long limit; /* least bytes of a large array */
  Py_ssize_t count;
  output_rule *rules;
} call_object;

static int call_traverse(PyObject *object, visitproc visit, void *arg) {
  call_object *self = (call_object *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->keep);
  for (Py_ssize_t k = 0; k < self->count; k++) {
    Py_VISIT(self->rules[k].dtype);
    Py_VISIT(self->rules[k].make_small);
    Py_VISIT(self->rules[k].make_large);
  }
  return 0;
}

static int call_clear(PyObject *object) {
  call_object *self = (call_object *)object;
  for (Py_ssize_t k = 0; k < self->count; k++) {
    Py_CLEAR(self->rules[k].dtype);
    Py_CLEAR(self->rules[k].make_small);
    Py_CLEAR(self->rules[k].make_large);
    PyMem_Free(self->rules[k].extents);
    self->rules[k].extents = NULL;
  }
  self->count = 0;
  Py_CLEAR(self->keep);
  return 0;
}

static void call_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  call_clear(object);
  PyMem_Free(((call_object *)object)->rules);
  free_object(object);
}

/* Check that an object is a tuple.   0, or -1 with an exception */
static int need_tuple(PyObject *given) {
  if (PyTuple_Check(given)) return 0;
  PyErr_SetString(PyExc_TypeError, "a rule must consist of tuples");
  return -1;
}

/* Read (dtype, item_bytes, make_small, make_large, ((input, axis), ...)).   0, or -1 with an exception */
static int read_rule(output_rule *rule, PyObject *given) {
  PyObject *dtype, *make_small, *make_large, *extents;
  if (need_tuple(given)) return -1;
  if (!PyArg_ParseTuple(given, "OLOOO!", &dtype, &rule->item_bytes, &make_small, &make_large, &PyTuple_Type, &extents)) return -1;
  rule->rank = PyTuple_Size(extents);
  rule->extents = PyMem_Calloc((size_t)rule->rank + 1, sizeof(extent_source));
  if (!rule->extents) {
    PyErr_NoMemory();
    return -1;
  }
  rule->dtype = Py_NewRef(dtype);
  rule->make_small = Py_NewRef(make_small);
  rule->make_large = Py_NewRef(make_large);
  for (Py_ssize_t axis = 0; axis < rule->rank; axis++) {
    PyObject *pair = PyTuple_GetItem(extents, axis);
    extent_source *from = &rule->extents[axis];
    if (need_tuple(pair) || !PyArg_ParseTuple(pair, "nn", &from->input, &from->axis)) return -1;
  }
  return 0;
}

/* Call(native, plan, keep, limit, rules): addresses of aotensor_call_python and of its struct, the struct's owner */
static PyObject *call_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs)) {
  unsigned long long native, plan;
  long long limit;
  PyObject *keep, *rules;
  if (!PyArg_ParseTuple(args, "KKOLO!", &native, &plan, &keep, &limit, &PyTuple_Type, &rules)) return NULL;
  call_object *self = (call_object *)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  self->native = (native_call *)(uintptr_t)native;
  self->plan = (const aotensor_python_call *)(uintptr_t)plan;
  self->keep = Py_NewRef(keep);
  self->limit = limit;
  self->rules = PyMem_Calloc((size_t)PyTuple_Size(rules) + 1, sizeof(output_rule));
  if (!self->rules) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  while (self->count < PyTuple_Size(rules)) {
    PyObject *given = PyTuple_GetItem(rules, self->count);
    if (read_rule(&self->rules[self->count++], given)) {
      Py_DECREF(self);
      return NULL;
    }
  }
  return (PyObject *)self;
}

/* An extent of an output; -1 if the input that has it is not an array of enough axes. */
static int64_t extent_of(const call_object *self, PyObject *inputs, extent_source from) {
  if (from.input < 0) return from.axis;
  const aotensor_python_layout *layout = self->plan->layout;
  const char *array = (const char *)PyTuple_GetItem(inputs, from.input);
  if ((const void *)Py_TYPE((PyObject *)array) != layout->array_type) return -1;
  if (*(const int *)(array + layout->array_rank) <= from.axis) return -1;
  return (*(const int64_t *const *)(array + layout->array_shape))[from.axis];
}

/* A new array by a rule; NULL without an exception if an input that has an extent is not an array. */
static PyObject *new_output(const call_object *self, const output_rule *rule, PyObject *inputs) {
  PyObject *shape = PyTuple_New(rule->rank);
  if (!shape) return NULL;
  double bytes = (double)rule->item_bytes; /* cannot overflow */
  for (Py_ssize_t axis = 0; axis < rule->rank; axis++) {
    int64_t extent = extent_of(self, inputs, rule->extents[axis]);
    PyObject *number = extent < 0 ? NULL : PyLong_FromLongLong(extent);
    if (!number) {
      Py_DECREF(shape);
      return NULL;
    }
    PyTuple_SetItem(shape, axis, number);
    bytes *= (double)extent;
  }
  PyObject *make = bytes < (double)self->limit ? rule->make_small : rule->make_large;
  PyObject *array = PyObject_CallFunctionObjArgs(make, shape, rule->dtype, NULL);
  Py_DECREF(shape);
  return array;
}

/* New arrays for all outputs; NULL, with or without an exception, if the slow path is needed. */
static PyObject *new_outputs(const call_object *self, PyObject *inputs) {
  if (PyTuple_Size(inputs) != self->plan->inputs) return NULL;
  PyObject *outputs = PyTuple_New(self->count);
  if (!outputs) return NULL;
  for (Py_ssize_t k = 0; k < self->count; k++) {
    PyObject *array = new_output(self, &self->rules[k], inputs);
    if (!array) {
      Py_DECREF(outputs);
      return NULL;
    }
    PyTuple_SetItem(outputs, k, array);
  }
  return outputs;
}

PyObject *run_call(PyObject *call, PyObject *inputs) {
  const call_object *self = (const call_object *)call;
  PyObject *outputs = new_outputs(self, inputs);
  if (!outputs) {
    if (PyErr_Occurred()) {
      if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
      PyErr_Clear();
    }
    Py_RETURN_NONE;
  }
  int32_t status;
  Py_BEGIN_ALLOW_THREADS
  status = self->native(self->plan, inputs, outputs);
  Py_END_ALLOW_THREADS
  if (!status) return outputs;
  Py_DECREF(outputs);
  Py_RETURN_NONE;
}

/* Is an object an array that may be written to, and is aligned?   -1 with an exception */
static int is_output(const call_object *self, PyObject *out) {
  if ((const void *)Py_TYPE(out) != self->plan->layout->array_type) return 0;
  PyObject *flags = PyObject_GetAttrString(out, "flags");
  PyObject *number = flags ? PyObject_GetAttrString(flags, "num") : NULL;
  long bits = number ? PyLong_AsLong(number) : -1;
  Py_XDECREF(flags);
  Py_XDECREF(number);
  if (PyErr_Occurred()) return -1;
  return (bits & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED)) == (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED);
}

int run_call_into(PyObject *call, PyObject *inputs, PyObject *out) {
  const call_object *self = (const call_object *)call;
  if (is_output(self, out) <= 0) return 0;
  PyObject *outputs = PyTuple_Pack(1, out);
  if (!outputs) return 0;
  int32_t status;
  Py_BEGIN_ALLOW_THREADS
  status = self->native(self->plan, inputs, outputs);
  Py_END_ALLOW_THREADS
  Py_DECREF(outputs);
  return !status;
}

static PyObject *call_call(PyObject *object, PyObject *args, PyObject *kwargs) {
  PyObject *inputs;
  if (kwargs || !PyArg_ParseTuple(args, "O!", &PyTuple_Type, &inputs)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a Call has no arguments by name");
    return NULL;
  }
  return run_call(object, inputs);
}

static PyType_Slot call_slots[] = {
    {Py_tp_doc, "From the tuple of all inputs to the tuple of all outputs; None if the slow path is needed."},
    {Py_tp_new, call_new},
    {Py_tp_call, call_call},
    {Py_tp_traverse, call_traverse},
    {Py_tp_clear, call_clear},
    {Py_tp_dealloc, call_dealloc},
    {0, NULL},
};
PyType_Spec call_spec = {
    "aotensor_runtime.extension._calls.Call", sizeof(call_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, call_slots,
};

int is_call(PyObject *object) { return PyType_GetSlot(Py_TYPE(object), Py_tp_call) == (void *)call_call; }

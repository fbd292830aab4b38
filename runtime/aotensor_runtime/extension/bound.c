/* Bound: base of a bound function. A call runs an entry of a library on fixed arguments. */
#include "calls.h"

typedef intptr_t word; /* an address or an int64_t: calling conventions of 64 bits pass both alike */

typedef struct {
  PyObject_HEAD
  void (*entry)(void);
  Py_ssize_t count;
  word words[MOST_WORDS];
  PyObject *result; /* NULL: Python code does everything */
} bound_object;

/* P3 is word, word, word, and W3 is w[0], w[1], w[2]. */
#define P1 word
#define P2 P1, word
#define P3 P2, word
#define P4 P3, word
#define P5 P4, word
#define P6 P5, word
#define P7 P6, word
#define P8 P7, word
#define P9 P8, word
#define P10 P9, word
#define P11 P10, word
#define P12 P11, word
#define P13 P12, word
#define P14 P13, word
#define P15 P14, word
#define P16 P15, word
#define W1 w[0]
#define W2 W1, w[1]
#define W3 W2, w[2]
#define W4 W3, w[3]
#define W5 W4, w[4]
#define W6 W5, w[5]
#define W7 W6, w[6]
#define W8 W7, w[7]
#define W9 W8, w[8]
#define W10 W9, w[9]
#define W11 W10, w[10]
#define W12 W11, w[11]
#define W13 W12, w[12]
#define W14 W13, w[13]
#define W15 W14, w[14]
#define W16 W15, w[15]
#define CASE(n) \
  case n: return ((int32_t(*)(P##n))entry)(W##n)

/* Call an entry with 1 to MOST_WORDS parameters.   Its status */
static int32_t run_entry(void (*entry)(void), Py_ssize_t count, const word *w) {
  switch (count) {
    CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6); CASE(7); CASE(8);
    CASE(9); CASE(10); CASE(11); CASE(12); CASE(13); CASE(14); CASE(15); CASE(16);
  }
  return AOTENSOR_NULL_POINTER; /* never: use_entry checks the count */
}

static int bound_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(((bound_object *)object)->result);
  return 0;
}

static int bound_clear(PyObject *object) {
  Py_CLEAR(((bound_object *)object)->result);
  return 0;
}

static void bound_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  bound_clear(object);
  free_object(object);
}

/* bound.use_entry(entry, words, result): calls run the entry at this address on these words and return `result` */
static PyObject *bound_use_entry(PyObject *object, PyObject *args) {
  bound_object *self = (bound_object *)object;
  unsigned long long entry;
  PyObject *words, *result;
  if (!PyArg_ParseTuple(args, "KO!O", &entry, &PyTuple_Type, &words, &result)) return NULL;
  Py_ssize_t count = PyTuple_Size(words);
  if (!entry || count < 1 || count > MOST_WORDS) {
    PyErr_Format(PyExc_ValueError, "an entry needs an address and 1 to %d parameters", MOST_WORDS);
    return NULL;
  }
  bound_clear(object);
  for (Py_ssize_t k = 0; k < count; k++) {
    self->words[k] = (word)PyLong_AsLongLong(PyTuple_GetItem(words, k));
    if (PyErr_Occurred()) return NULL;
  }
  self->entry = (void (*)(void))(uintptr_t)entry;
  self->count = count;
  self->result = Py_NewRef(result);
  Py_RETURN_NONE;
}

static PyObject *bound_call(PyObject *object, PyObject *args, PyObject *kwargs) {
  bound_object *self = (bound_object *)object;
  if (!self->result || kwargs || PyTuple_Size(args)) return call_method(object, "_call_in_python", args, kwargs);
  int32_t status;
  Py_BEGIN_ALLOW_THREADS
  status = run_entry(self->entry, self->count, self->words);
  Py_END_ALLOW_THREADS
  if (status) {
    PyObject *none = call_method(object, "_fail", args, NULL);
    if (!none) return NULL;
    Py_DECREF(none);
  }
  return Py_NewRef(self->result);
}

static PyMethodDef bound_methods[] = {
    {"use_entry", bound_use_entry, METH_VARARGS, "Run an entry on these parameters from now on, and return `result`."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot bound_slots[] = {
    {Py_tp_doc, "Base of a bound function: a call runs an entry; the method _fail raises the error of a status."},
    {Py_tp_call, bound_call},
    {Py_tp_methods, bound_methods},
    {Py_tp_traverse, bound_traverse},
    {Py_tp_clear, bound_clear},
    {Py_tp_dealloc, bound_dealloc},
    {0, NULL},
};
PyType_Spec bound_spec = {
    "aotensor_runtime.extension._calls.Bound", sizeof(bound_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, bound_slots,
};

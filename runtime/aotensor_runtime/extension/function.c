/* Function: base of a function of a library. A call uses a Call, and the function's Python code for the rest.
 *
 * It is called by the vectorcall protocol (PEP 590), whose names are in the stable ABI since 3.12, and whose layout is
 * the same in 3.11. A class of Python code inherits the protocol since 3.12 only, so function_subclass makes the class. */
#include "calls.h"

#define HAVE_VECTORCALL (1UL << 11)                                  /* Py_TPFLAGS_HAVE_VECTORCALL */
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1)) /* PY_VECTORCALL_ARGUMENTS_OFFSET */

typedef PyObject *vectorcall(PyObject *object, PyObject *const *args, size_t flags, PyObject *keywords);

typedef struct {
  PyObject_HEAD
  vectorcall *vectorcall; /* NULL until there is a Call: then tp_call is used */
  PyObject *call;         /* a Call */
  PyObject *names;        /* of the inputs, a tuple of interned strings */
  PyObject *finish;       /* from the tuple of outputs to the result; None: the result is the first output */
  PyObject *fields, *references; /* __dict__ and __weakref__ */
} function_object;

static int function_traverse(PyObject *object, visitproc visit, void *arg) {
  function_object *self = (function_object *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->call);
  Py_VISIT(self->names);
  Py_VISIT(self->finish);
  Py_VISIT(self->fields);
  return 0;
}

static int function_clear(PyObject *object) {
  function_object *self = (function_object *)object;
  self->vectorcall = NULL;
  Py_CLEAR(self->call);
  Py_CLEAR(self->names);
  Py_CLEAR(self->finish);
  Py_CLEAR(self->fields);
  return 0;
}

static void function_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  if (((function_object *)object)->references) PyObject_ClearWeakRefs(object);
  function_clear(object);
  free_object(object);
}

/* The result for all inputs in order: of the Call, or of Python code if that returns None. */
static PyObject *result_of(PyObject *object, PyObject *inputs) {
  function_object *self = (function_object *)object;
  PyObject *finish = Py_NewRef(self->finish);
  PyObject *outputs = run_call(self->call, inputs), *result = NULL;
  if (outputs == Py_None)
    result = call_method(object, "_call_converted", inputs, NULL);
  else if (outputs && finish == Py_None)
    result = Py_NewRef(PyTuple_GetItem(outputs, 0));
  else if (outputs)
    result = PyObject_CallFunctionObjArgs(finish, outputs, NULL);
  Py_XDECREF(outputs);
  Py_DECREF(finish);
  return result;
}

/* The position of a name among those of the inputs; -1 if it is none of them. */
static Py_ssize_t position_of(const function_object *self, PyObject *name) {
  Py_ssize_t count = PyTuple_Size(self->names);
  for (Py_ssize_t k = 0; k < count; k++)
    if (PyTuple_GetItem(self->names, k) == name) return k;
  for (Py_ssize_t k = 0; k < count; k++)
    if (PyUnicode_Compare(PyTuple_GetItem(self->names, k), name) == 0) return k;
  return -1;
}

/* Put arguments by name into a tuple of all inputs that begins with `first` others.   Is it full? */
static int put_by_name(const function_object *self, PyObject *inputs, Py_ssize_t first, PyObject *const *values,
                       PyObject *keywords) {
  for (Py_ssize_t k = 0; k < PyTuple_Size(keywords); k++) {
    Py_ssize_t position = position_of(self, PyTuple_GetItem(keywords, k));
    if (position < first || PyTuple_GetItem(inputs, position)) return 0;
    PyTuple_SetItem(inputs, position, Py_NewRef(values[k]));
  }
  return 1;
}

/* A call of the Python code. */
static PyObject *in_python(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
  PyObject *positional = PyTuple_New(count), *named = PyDict_New(), *result = NULL;
  int is_complete = positional && named;
  for (Py_ssize_t k = 0; is_complete && k < count; k++) PyTuple_SetItem(positional, k, Py_NewRef(args[k]));
  for (Py_ssize_t k = 0; is_complete && keywords && k < PyTuple_Size(keywords); k++)
    is_complete = !PyDict_SetItem(named, PyTuple_GetItem(keywords, k), args[count + k]);
  if (is_complete) result = call_method(object, "_call_in_python", positional, named);
  Py_XDECREF(positional);
  Py_XDECREF(named);
  return result;
}

static PyObject *function_vectorcall(PyObject *object, PyObject *const *args, size_t flags, PyObject *keywords) {
  const function_object *self = (const function_object *)object;
  Py_ssize_t first = (Py_ssize_t)(flags & ~ARGUMENTS_OFFSET);
  Py_ssize_t count = first + (keywords ? PyTuple_Size(keywords) : 0);
  if (count != PyTuple_Size(self->names)) return in_python(object, args, first, keywords);
  PyObject *inputs = PyTuple_New(count), *result;
  if (!inputs) return NULL;
  for (Py_ssize_t k = 0; k < first; k++) PyTuple_SetItem(inputs, k, Py_NewRef(args[k]));
  if (keywords && !put_by_name(self, inputs, first, args + first, keywords))
    result = in_python(object, args, first, keywords);
  else
    result = result_of(object, inputs);
  Py_DECREF(inputs);
  return result;
}

static PyObject *function_call(PyObject *object, PyObject *args, PyObject *kwargs) {
  return call_method(object, "_call_in_python", args, kwargs);
}

/* function.use_call(call, names, finish): later calls use this Call; see function_object */
static PyObject *function_use_call(PyObject *object, PyObject *args) {
  function_object *self = (function_object *)object;
  PyObject *call, *names, *finish;
  if (!PyArg_ParseTuple(args, "OO!O", &call, &PyTuple_Type, &names, &finish)) return NULL;
  if (!is_call(call)) {
    PyErr_SetString(PyExc_TypeError, "the first argument must be a Call");
    return NULL;
  }
  if (self->call) Py_RETURN_NONE; /* perhaps another thread is using it */
  self->call = Py_NewRef(call);
  self->names = Py_NewRef(names);
  self->finish = Py_NewRef(finish);
  self->vectorcall = function_vectorcall;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"use_call", function_use_call, METH_VARARGS, "Use a Call from now on."},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(function_object, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(function_object, fields), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(function_object, references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot function_slots[] = {
    {Py_tp_doc, "Base of a function: a call uses a Call, and the method _call_in_python for the rest."},
    {Py_tp_call, function_call},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_tp_traverse, function_traverse},
    {Py_tp_clear, function_clear},
    {Py_tp_dealloc, function_dealloc},
    {0, NULL},
};
PyType_Spec function_spec = {
    "aotensor_runtime.extension._calls.Function", sizeof(function_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | HAVE_VECTORCALL, function_slots,
};

/* function_subclass(kind): the class (Function, kind) */
PyObject *function_subclass(PyObject *module, PyObject *kind) {
  static PyType_Slot slots[] = {
      {Py_tp_traverse, function_traverse}, {Py_tp_clear, function_clear}, {Py_tp_dealloc, function_dealloc},
      {Py_tp_call, function_call}, {0, NULL},
  };
  static PyType_Spec spec = {
      "aotensor_runtime.call.LibraryFunction", sizeof(function_object), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | HAVE_VECTORCALL, slots,
  };
  PyObject *base = PyObject_GetAttrString(module, "Function");
  PyObject *bases = base ? PyTuple_Pack(2, base, kind) : NULL;
  PyObject *type = bases ? PyType_FromModuleAndSpec(module, &spec, bases) : NULL;
  Py_XDECREF(base);
  Py_XDECREF(bases);
  return type;
}

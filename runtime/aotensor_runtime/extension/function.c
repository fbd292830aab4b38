/* Function: base of a function of a library. A call uses a Call, and the function's Python code for the rest.
 *
 * It is called by the vectorcall protocol (PEP 590), which 3.11 has in the same form, although its names are in the
 * stable ABI since 3.12. A class of Python code inherits it since 3.12 only, so function_subclass makes the class. */
#include "calls.h"

#define HAVE_VECTORCALL (1UL << 11)                                  /* Py_TPFLAGS_HAVE_VECTORCALL */
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1)) /* PY_VECTORCALL_ARGUMENTS_OFFSET */

typedef PyObject *vectorcall(PyObject *object, PyObject *const *args, size_t flags, PyObject *keywords);

typedef struct {
  PyObject_HEAD
  vectorcall *vectorcall; /* NULL until there is a Call: then tp_call is used */
  PyObject *call;         /* a Call */
  PyObject *names;        /* of the inputs, a tuple of interned strings */
  PyObject *finish;       /* from the tuple of outputs to the result; None: the result is the only output */
  PyObject *out;          /* the name of the option for an array of the only output; None: Python code handles it */
  PyObject *fields, *references; /* __dict__ and __weakref__ */
} function_object;

static int function_traverse(PyObject *object, visitproc visit, void *arg) {
  function_object *self = (function_object *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->call);
  Py_VISIT(self->names);
  Py_VISIT(self->finish);
  Py_VISIT(self->out);
  Py_VISIT(self->fields);
  return 0;
}

static int function_clear(PyObject *object) {
  function_object *self = (function_object *)object;
  self->vectorcall = NULL;
  Py_CLEAR(self->call);
  Py_CLEAR(self->names);
  Py_CLEAR(self->finish);
  Py_CLEAR(self->out);
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

static int is_equal(PyObject *name, PyObject *other) {
  return name == other || (other != Py_None && PyUnicode_Compare(name, other) == 0);
}

/* The position of a name among those of the inputs; -1 if it is none of them. */
static Py_ssize_t position_of(const function_object *self, PyObject *name) {
  Py_ssize_t count = PyTuple_Size(self->names);
  for (Py_ssize_t k = 0; k < count; k++)
    if (PyTuple_GetItem(self->names, k) == name) return k;
  for (Py_ssize_t k = 0; k < count; k++)
    if (is_equal(name, PyTuple_GetItem(self->names, k))) return k;
  return -1;
}

/* All inputs as a tuple, and in *out the argument of that name; NULL, perhaps with an exception, for wrong arguments. */
static PyObject *in_order(const function_object *self, PyObject *const *args, Py_ssize_t first, PyObject *keywords,
                          PyObject **out) {
  Py_ssize_t count = PyTuple_Size(self->names), named = keywords ? PyTuple_Size(keywords) : 0, found = first;
  if (first > count) return NULL;
  PyObject *inputs = PyTuple_New(count);
  if (!inputs) return NULL;
  for (Py_ssize_t k = 0; k < first; k++) PyTuple_SetItem(inputs, k, Py_NewRef(args[k]));
  for (Py_ssize_t k = 0; k < named; k++) {
    PyObject *name = PyTuple_GetItem(keywords, k);
    Py_ssize_t position = position_of(self, name);
    if (position >= first && !PyTuple_GetItem(inputs, position)) {
      PyTuple_SetItem(inputs, position, Py_NewRef(args[first + k]));
      found++;
    } else if (position < 0 && is_equal(name, self->out)) {
      *out = args[first + k];
    } else {
      found = -1;
      break;
    }
  }
  if (found == count) return inputs;
  Py_DECREF(inputs);
  return NULL;
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
  function_object *self = (function_object *)object;
  Py_ssize_t first = (Py_ssize_t)(flags & ~ARGUMENTS_OFFSET);
  PyObject *out = NULL, *inputs = in_order(self, args, first, keywords, &out), *result = NULL;
  if (inputs && !out)
    result = result_of(object, inputs);
  else if (inputs && run_call_into(self->call, inputs, out))
    result = Py_NewRef(out);
  else if (!PyErr_Occurred())
    result = in_python(object, args, first, keywords);
  Py_XDECREF(inputs);
  return result;
}

static PyObject *function_call(PyObject *object, PyObject *args, PyObject *kwargs) {
  return call_method(object, "_call_in_python", args, kwargs);
}

/* function.use_call(call, names, finish, out): later calls use this Call; see function_object */
static PyObject *function_use_call(PyObject *object, PyObject *args) {
  function_object *self = (function_object *)object;
  PyObject *call, *names, *finish, *out;
  if (!PyArg_ParseTuple(args, "OO!OO", &call, &PyTuple_Type, &names, &finish, &out)) return NULL;
  if (!is_call(call)) {
    PyErr_SetString(PyExc_TypeError, "the first argument must be a Call");
    return NULL;
  }
  if (self->call) Py_RETURN_NONE; /* perhaps another thread is using it */
  self->call = Py_NewRef(call);
  self->names = Py_NewRef(names);
  self->finish = Py_NewRef(finish);
  self->out = Py_NewRef(out);
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

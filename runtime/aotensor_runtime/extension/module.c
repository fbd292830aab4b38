/* The module `_calls`: calls of compiled functions without Python code around them.
 *
 *   Call      from the tuple of all inputs to the tuple of all outputs; None if the slow path is needed
 *   Function  base of a function: a call uses a Call, and the function's Python code for the rest
 *   Bound     base of a bound function: a call runs an entry on fixed arguments
 *
 * No argument's error is raised here: Python code, which is the same without this module, repeats the call and reports
 * it. The interpreter's lock is released while a library runs. */
#include "calls.h"

void free_object(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

PyObject *call_method(PyObject *object, const char *name, PyObject *args, PyObject *kwargs) {
  PyObject *method = PyObject_GetAttrString(object, name);
  if (!method) return NULL;
  PyObject *result = PyObject_Call(method, args, kwargs);
  Py_DECREF(method);
  return result;
}

static int add_type(PyObject *module, const char *name, PyType_Spec *spec) {
  PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
  int failed = !type || PyModule_AddObjectRef(module, name, type);
  Py_XDECREF(type);
  return failed ? -1 : 0;
}

static int fill(PyObject *module) {
  if (add_type(module, "Call", &call_spec) || add_type(module, "Function", &function_spec)) return -1;
  if (add_type(module, "Bound", &bound_spec)) return -1;
  if (PyModule_AddIntMacro(module, INTERFACE)) return -1;
  return PyModule_AddIntMacro(module, MOST_WORDS);
}

static PyMethodDef functions[] = {
    {"function_subclass", function_subclass, METH_O, "A new subclass of a class, with the calls of Function."},
    {NULL, NULL, 0, NULL},
};
static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill}, {0, NULL}};
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_calls", "Calls of compiled functions without Python code around them.", 0, functions,
    module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__calls(void) { return PyModuleDef_Init(&module); }

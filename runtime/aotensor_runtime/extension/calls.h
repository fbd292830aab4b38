/* Declarations of the extension `_calls`. Stable ABI of CPython 3.11: one binary serves this and later versions. */
#ifndef AOTENSOR_CALLS_H
#define AOTENSOR_CALLS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <structmember.h>

#include "../include/aotensor.h"

#define INTERFACE 1   /* increased by every change of what Python code calls; also in __init__.py */
#define MOST_WORDS 16 /* most parameters of an entry that Bound calls */

extern PyType_Spec call_spec, function_spec, bound_spec;

/* Is this object a Call? */
int is_call(PyObject *object);

/* All outputs, or None if the slow path is needed; NULL for an exception that is not an error, such as an interrupt. */
PyObject *run_call(PyObject *call, PyObject *inputs);

/* Write the only output to `out`. 0, perhaps with an exception, if Python code has to do it, or to find the error. */
int run_call_into(PyObject *call, PyObject *inputs, PyObject *out);

/* A new type with the calls of Function, below a class of Python code. */
PyObject *function_subclass(PyObject *module, PyObject *kind);

/* object.<name>(*args, **kwargs) */
PyObject *call_method(PyObject *object, const char *name, PyObject *args, PyObject *kwargs);

/* Free an object whose fields are cleared. */
void free_object(PyObject *self);

#endif

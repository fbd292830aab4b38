"""Generate MEX files for MATLAB and GNU Octave: a C source and a help text per function, and a build script.

    [outputs...] = f(inputs...)

The C source passes descriptors with the strides of MATLAB's arrays, so that X(i, j) is the model's X[i - 1, j - 1].
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from aotensor.codegen.entry.names import Symbols
from aotensor_cli.bindings.arguments import Argument, arguments, distinct, refuse_lapack
from aotensor_runtime.arrays.dtypes import DTYPES
from aotensor_runtime.manifest import FunctionSpec, Manifest
from aotensor_runtime.signature import kind_of
from aotensor_runtime.typed.parameters import c_suffix

_KINDS: Final = {
    "float64": "double", "float32": "single", "complex128": "double", "complex64": "single", "int8": "int8",
    "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32",
    "uint64": "uint64", "bool": "logical",
}  # fmt: skip
_MOST_AXES: Final = 32
_LONGEST: Final = 63
_KEYWORDS: Final = (
    "break", "case", "catch", "classdef", "continue", "else", "elseif", "end", "for", "function", "global", "if",
    "otherwise", "parfor", "persistent", "return", "spmd", "switch", "try", "while", "do", "until", "unwind_protect",
)  # fmt: skip
_SOURCE: Final = """\
/* {call}: a MEX file for MATLAB and GNU Octave, by aotensor {version}. {build} compiles it. */
#include "mex.h"
#include "{library}.h"
#include <string.h>

#if defined(MX_HAS_INTERLEAVED_COMPLEX) && MX_HAS_INTERLEAVED_COMPLEX
#define AOTENSOR_INTERLEAVED 1
#else
#define AOTENSOR_INTERLEAVED 0
#endif

/* size: bytes of an element, or of the real part of a complex one. */
typedef struct {{
  const char *name, *kind;
  mxClassID id;
  int32_t rank, dtype, is_complex;
  size_t size;
}} aotensor_mex_value;

static const char aotensor_mex_usage[] = "{call}";
static char aotensor_mex_nothing[64];

static size_t aotensor_mex_count(const int64_t *extents, int32_t rank) {{
  size_t count = 1;
  for (int32_t k = 0; k < rank; ++k) count *= (size_t)extents[k];
  return count;
}}

/* A descriptor of column-major memory. */
static void aotensor_mex_describe(aotensor_array *array, void *data, int64_t *extents, int64_t *steps,
                                  const aotensor_mex_value *value) {{
  array->data = aotensor_mex_count(extents, value->rank) ? data : aotensor_mex_nothing;
  array->shape = extents;
  array->strides = steps;
  array->rank = value->rank;
  array->dtype = value->dtype;
  for (int32_t k = 0; k < value->rank; ++k) steps[k] = k ? steps[k - 1] * extents[k - 1] : 1;
}}

/* Real and imaginary parts, one after the other for each element; no imaginary part is zeros. */
static void *aotensor_mex_pairs(const mxArray *x, size_t count, size_t size) {{
  char *pairs = mxCalloc(2 * count + 1, size);
#if AOTENSOR_INTERLEAVED
  if (mxIsComplex(x)) {{
    memcpy(pairs, mxGetData(x), 2 * count * size);
    return pairs;
  }}
  const char *re = mxGetData(x), *im = NULL;
#else
  const char *re = mxGetData(x), *im = mxGetImagData(x);
#endif
  for (size_t k = 0; k < count; ++k) {{
    memcpy(pairs + 2 * k * size, re + k * size, size);
    if (im) memcpy(pairs + (2 * k + 1) * size, im + k * size, size);
  }}
  return pairs;
}}

static void aotensor_mex_input(aotensor_array *array, const mxArray *x, int64_t *extents, int64_t *steps,
                               const aotensor_mex_value *value) {{
  if (mxGetClassID(x) != value->id)
    mexErrMsgIdAndTxt("aotensor:class", "%s: %s is of class %s: give %s(%s)", aotensor_mex_usage, value->name,
                      mxGetClassName(x), value->kind, value->name);
  if (mxIsSparse(x))
    mexErrMsgIdAndTxt("aotensor:sparse", "%s: %s is sparse: give full(%s)", aotensor_mex_usage, value->name,
                      value->name);
  if (mxIsComplex(x) && !value->is_complex)
    mexErrMsgIdAndTxt("aotensor:complex", "%s: %s is complex, expected real", aotensor_mex_usage, value->name);
  const mwSize *dims = mxGetDimensions(x);
  const int32_t axes = (int32_t)mxGetNumberOfDimensions(x);
  const size_t count = (size_t)mxGetNumberOfElements(x);
  int fits = 1;
  if (value->rank == 0) fits = count == 1;
  if (value->rank == 1) {{
    fits = axes == 2 && (dims[0] == 1 || dims[1] == 1 || count == 0);
    extents[0] = (int64_t)count;
  }}
  for (int32_t k = 0; value->rank > 1 && k < (axes > value->rank ? axes : value->rank); ++k) {{
    const int64_t extent = k < axes ? (int64_t)dims[k] : 1;
    if (k < value->rank) extents[k] = extent;
    else fits = fits && extent == 1;
  }}
  if (!fits)
    mexErrMsgIdAndTxt("aotensor:shape", "%s: %s has %d axes, expected %d", aotensor_mex_usage, value->name, (int)axes,
                      (int)value->rank);
  void *data = value->is_complex ? aotensor_mex_pairs(x, count, value->size) : mxGetData(x);
  aotensor_mex_describe(array, data, extents, steps, value);
}}

/* A result; a vector is a column. Its elements are pairs in memory of their own if they are complex. */
static mxArray *aotensor_mex_output(aotensor_array *array, int64_t *extents, int64_t *steps,
                                    const aotensor_mex_value *value) {{
  mwSize dims[{axes}] = {{1, 1}};
  for (int32_t k = 0; k < value->rank; ++k) dims[k] = (mwSize)extents[k];
  const mwSize axes = value->rank < 2 ? 2 : (mwSize)value->rank;
  mxArray *result = value->id == mxLOGICAL_CLASS
                        ? mxCreateLogicalArray(axes, dims)
                        : mxCreateNumericArray(axes, dims, value->id, value->is_complex ? mxCOMPLEX : mxREAL);
  void *data = mxGetData(result);
  if (value->is_complex && !AOTENSOR_INTERLEAVED)
    data = mxCalloc(2 * aotensor_mex_count(extents, value->rank) + 1, value->size);
  aotensor_mex_describe(array, data, extents, steps, value);
  return result;
}}

/* Copy pairs to where MATLAB has real and imaginary parts apart. */
static void aotensor_mex_finish(mxArray *result, const aotensor_array *array, const aotensor_mex_value *value) {{
#if !AOTENSOR_INTERLEAVED
  if (!value->is_complex) return;
  char *re = mxGetData(result), *im = mxGetImagData(result);
  const char *pairs = array->data;
  for (size_t k = 0; k < (size_t)mxGetNumberOfElements(result); ++k) {{
    memcpy(re + k * value->size, pairs + 2 * k * value->size, value->size);
    memcpy(im + k * value->size, pairs + (2 * k + 1) * value->size, value->size);
  }}
#else
  (void)result, (void)array, (void)value;
#endif
}}

void mexFunction(int nlhs, mxArray *plhs[], int nrhs, const mxArray *prhs[]) {{
  enum {{ INPUTS = {n}, OUTPUTS = {m}, AXES = {total} }};
  static const aotensor_mex_value values[INPUTS + OUTPUTS + 1] = {{{values}
      {{0}}}};
  static const int first[INPUTS + OUTPUTS + 1] = {{{firsts}}};
  int64_t extents[AXES + 1] = {{0}}, steps[AXES + 1] = {{0}};
  aotensor_array inputs[INPUTS + 1], outputs[OUTPUTS + 1];
  mxArray *results[OUTPUTS + 1];
  char message[800] = "";
  aotensor_context context;
  memset(&context, 0, sizeof context);
  context.struct_size = sizeof context;
  context.message = message;
  context.message_size = sizeof message;
  if (nrhs != INPUTS)
    mexErrMsgIdAndTxt("aotensor:inputs", "%d inputs instead of %d: %s", nrhs, INPUTS, aotensor_mex_usage);
  if (nlhs > OUTPUTS)
    mexErrMsgIdAndTxt("aotensor:outputs", "%d outputs instead of %d: %s", nlhs, OUTPUTS, aotensor_mex_usage);
  for (int k = 0; k < INPUTS; ++k)
    aotensor_mex_input(&inputs[k], prhs[k], extents + first[k], steps + first[k], &values[k]);
  for (int k = 0; k < OUTPUTS; ++k) {{
    const aotensor_array unknown = {{NULL, extents + first[INPUTS + k], NULL, values[INPUTS + k].rank, 0}};
    outputs[k] = unknown;
  }}
  int32_t status = {entry}(&context, inputs, outputs);
  if (status == 0 || status == AOTENSOR_OUTPUTS_NEEDED) {{ /* 0: no output has elements */
    const int is_done = status == 0;
    for (int k = 0, at = INPUTS; k < OUTPUTS; ++k, ++at)
      results[k] = aotensor_mex_output(&outputs[k], extents + first[at], steps + first[at], &values[at]);
    if (!is_done) status = {entry}(&context, inputs, outputs);
  }}
  if (status) mexErrMsgIdAndTxt("aotensor:status", "%s", message[0] ? message : {message}(status));
  for (int k = 0; k < OUTPUTS; ++k) {{
    aotensor_mex_finish(results[k], &outputs[k], &values[INPUTS + k]);
    if (k < (nlhs > 1 ? nlhs : 1)) plhs[k] = results[k];
    else mxDestroyArray(results[k]);
  }}
}}
"""
_BUILD: Final = """\
function {name}()
% {upper}  Compile the MEX files of {file}, which stay in its folder.
%
% Needs a C compiler that MATLAB or GNU Octave knows.
here = fileparts(mfilename('fullpath'));
names = {{{names}}};
for k = 1:numel(names)
  source = fullfile(here, [names{{k}} '.c']);
  path = ['-Wl,-rpath,' here];
  if exist('OCTAVE_VERSION', 'builtin')
    mex(source, ['-I' here], ['-L' here], '-l{library}', path, '-o', fullfile(here, [names{{k}} '.' mexext()]));
  elseif isunix
    mex(source, ['-I' here], ['-L' here], '-l{library}', ['LDFLAGS=$LDFLAGS ' path], '-outdir', here);
  else
    mex(source, ['-I' here], ['-L' here], '-l{library}', '-outdir', here);
  end
end
rehash();
end
"""


def matlab_files(manifest: Manifest, file: str) -> dict[str, str]:
    """`<f>.c` and `<f>.m` for each function, and `<library>_build.m`.

    Raises: Refusal for what MATLAB cannot express
    """
    build = distinct([f"{re.sub('^[0-9]', 'x', c_suffix(manifest.name))}_build"], longest=_LONGEST)[0]
    names = distinct([spec.name for spec in manifest.functions], [*_KEYWORDS, build], _LONGEST)
    files = {}
    for name, spec in zip(names, manifest.functions, strict=True):
        refuse_lapack("MATLAB", spec, "and MATLAB's LAPACK has 64-bit integers")
        found = arguments("MATLAB", spec, _KINDS, _MOST_AXES, lambda given: distinct(given, _KEYWORDS, _LONGEST))
        files[f"{name}.c"] = _source(manifest, spec, name, found, build)
        files[f"{name}.m"] = _help(spec, name, found, file)
    listed = ", ".join(f"'{name}'" for name in names)
    files[f"{build}.m"] = _BUILD.format(name=build, upper=build.upper(), file=file, names=listed, library=manifest.name)
    return files


def _call(name: str, found: Sequence[Argument]) -> str:
    """The call as MATLAB writes it: `[loss, grad_w] = squares(X, y, w)`."""
    outputs, inputs = ([x.name for x in found if x.is_output == side] for side in (True, False))
    left = f"[{', '.join(outputs)}] = " if len(outputs) > 1 else "".join(f"{x} = " for x in outputs)
    return f"{left}{name}({', '.join(inputs)})"


def _source(manifest: Manifest, spec: FunctionSpec, name: str, found: Sequence[Argument], build: str) -> str:
    inputs = [x for x in found if not x.is_output]
    return _SOURCE.format(
        call=_call(name, found), version=manifest.aotensor, library=manifest.name, build=build,
        axes=max(2, *(x.rank for x in found), 2), n=len(inputs), m=len(found) - len(inputs),
        total=sum(x.rank for x in found), values="".join(f"\n      {_value(x)}," for x in found),
        firsts=", ".join(str(x.first) for x in found) or "0", entry=Symbols.in_library(manifest, spec.name).uniform,
        message=f"{manifest.prefix}aotensor_status_message",
    )  # fmt: skip


def _value(x: Argument) -> str:
    """The C initialiser of one argument in the table of arguments."""
    record = DTYPES[x.value.dtype]
    is_complex = record.kind == "c"
    size = record.size // 2 if is_complex else record.size
    kind = f"mx{x.kind.upper()}_CLASS"
    return f'{{"{x.name}", "{x.kind}", {kind}, {x.rank}, {x.code}, {int(is_complex)}, {size}}}'


def _help(spec: FunctionSpec, name: str, found: Sequence[Argument], file: str) -> str:
    lines = [f"% {name.upper()}  {_call(name, found)}", "%"]
    lines += [f"%   {line}" for line in spec.doc.splitlines()] + ["%"] * bool(spec.doc)
    for x in found:
        note = "" if x.value.name == x.name else f"  ({x.value.name} in the model)"
        complex_ = " complex" if DTYPES[x.value.dtype].kind == "c" else ""
        extents = kind_of(x.value).partition("[")[2].rstrip("]")
        lines.append(f"%   {x.name}  {x.kind}{complex_}{f' of extents {extents}' if extents else ''}{note}")
    lines += ["%", f"% Function of {file}, compiled by aotensor. Indices count from 0, as in the model."]
    return "\n".join(line.rstrip() for line in lines) + "\n"

"""The C file of a library: a comment at the top, then helpers, constants, functions and entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.dialects.builtin import LocationAttr, ModuleOp

from aotensor.codegen.c_source.entries import Entries
from aotensor.codegen.c_source.entry_helpers import entry_helper_text
from aotensor.codegen.c_source.helpers import helper_text
from aotensor.codegen.c_source.lines import words_in
from aotensor.codegen.c_source.refusals import refuse_interfaces, refuse_types
from aotensor.codegen.c_source.source import write_functions
from aotensor.codegen.entry.names import exported_symbols
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.typed.parameters import parameter_names

_HEAD = """/* {name}.c: made by aotensor {version}. C99, with {name}.h.
 *
 *     cc -std=c99 -O2 -ffp-contract=off -c {name}.c
 *
 * {bits}
 * It runs on one core. Of the entries that the header declares it defines the typed ones, those of the workspace,
 * aotensor_status_message and aotensor_abi_version. Sparse inputs must be sorted, without duplicates, and outputs
 * without gaps: otherwise the status is AOTENSOR_NO_MEMORY. */"""
_HEADERS: Final = {"<stdlib.h>": {"malloc", "calloc", "realloc", "free"}, "<string.h>": {"memcpy", "memmove"}}
_STRICT = "Results are those of the library that --fp strict makes, bit for bit but for the bits of a NaN."
_OTHER = "Compile with --fp strict for the bits of the library."
_INCLUDES = """#include "{name}.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
{more}
#if FLT_EVAL_METHOD != 0
#error "float and double must be evaluated in their own precision: -msse2 -mfpmath=sse on 32-bit x86"
#endif"""


def c_file(modules: Sequence[ModuleOp], manifest: Manifest, line: Callable[[LocationAttr], tuple[str, str]]) -> str:
    """The text of the C file `<name>.c` of a library.

    modules: the kernels at loop level, with elementary functions expanded; then the functions that they declare.
    line: as in `Unit`.

    Raises: UnsupportedError for a function that C source does not support; the error names the reason, such as half
    precision or complex numbers.
    """
    for spec in manifest.functions:
        refuse_types(spec)
    refuse_interfaces(manifest)
    symbols = {op.sym_name.data for module in modules for op in module.ops if hasattr(op, "sym_name")}
    roots = [
        f"{spec.name}.{part}"
        for spec in manifest.functions
        for part in ("kernel", "extents", "workspace_bytes")
        if f"{spec.name}.{part}" in symbols
    ]
    taken = {*exported_symbols(manifest), *(name for spec in manifest.functions for name in parameter_names(spec))}
    written = write_functions(modules, roots, taken, line)
    entries = Entries(manifest, written)
    text = entries.text()
    head = _HEAD.format(
        name=manifest.name, version=manifest.aotensor, bits=_STRICT if manifest.fp == "strict" else _OTHER
    )
    message = f"{manifest.prefix}aotensor_status_message"
    body = [
        f"#undef {message} /* the header chains those of several libraries */",
        helper_text({*written.helpers, *entries.helpers}),
        entry_helper_text(entries.helpers).replace("AOT_STATUS_MESSAGE", message),
        written.globals,
        written.text,
        text,
    ]
    called = words_in(body)
    more = "".join(f"#include {name}\n" for name, functions in _HEADERS.items() if called & functions)
    parts = [head, _INCLUDES.format(name=manifest.name, more=more), *body]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"

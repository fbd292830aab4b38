"""The C header of a library: the common part, then one documented prototype per entry point. C99 and C++."""

from __future__ import annotations

import re
import textwrap
from typing import Final

from aotensor.codegen.declarations.ceres import ceres_declarations
from aotensor.codegen.declarations.in_place import in_place_lines
from aotensor.codegen.declarations.ipopt import ipopt_declarations
from aotensor.codegen.declarations.patterns import pattern_lines
from aotensor.codegen.declarations.sundials import sundials_declarations
from aotensor.codegen.declarations.text import WIDTH as _WIDTH
from aotensor.codegen.declarations.text import prototype as _prototype
from aotensor.codegen.declarations.weights import weights_lines
from aotensor.codegen.entry.names import OwnSymbols, Symbols, has_values, is_for_python
from aotensor_runtime.abi import ABI_VERSION, HEADER, WORKSPACE_ALIGNMENT
from aotensor_runtime.manifest import (
    ArgumentSpec,
    FunctionSpec,
    InterfaceSpec,
    Manifest,
    OutputSpec,
    SparseValue,
    form_of,
)
from aotensor_runtime.typed.parameters import Value, c_suffix, parameter_names, typed_parameters
from aotensor_runtime.typed.patterns import constant_outputs


def header_text(manifest: Manifest) -> str:
    """The text of the header. It is self-contained: the declarations common to all libraries come first."""
    guard = re.sub(r"\W", "_", f"AOTENSOR_LIBRARY_{manifest.prefix}{manifest.name}_H".upper())
    parts = [
        _comment(
            [_plain(f"{manifest.name}: made by aotensor {manifest.aotensor} for {manifest.target}. Link with -lm.")]
        ),
        HEADER.read_text(encoding="utf-8").strip(),
        f'#ifndef {guard}\n#define {guard}\n\n#ifdef __cplusplus\nextern "C" {{\n#endif',
        f"#if AOTENSOR_ABI_VERSION != {ABI_VERSION}",
        '#error "a header of another version of aotensor was included before this one"\n#endif',
        *(_function(manifest, spec) for spec in manifest.functions),
        *("\n".join([_comment(comment), text]) for comment, text in weights_lines(manifest)),
        *(_interface(manifest, interface) for interface in manifest.interfaces),
        _common(manifest),
        _lookup_chain(manifest),
        f"#ifdef __cplusplus\n}}\n#endif\n#endif /* {guard} */",
    ]
    return "\n\n".join(parts) + "\n"


def _function(manifest: Manifest, spec: FunctionSpec) -> str:
    symbols = Symbols.in_library(manifest, spec.name)
    dims = ", ".join(f"int64_t {name}" for name in parameter_names(spec)[: len(spec.workspace_dims)]) or "void"
    return "\n".join([
        _comment(_typed_text(manifest, spec)),
        _prototype("int32_t", symbols.typed, typed_parameters(spec)),
        "",
        _comment([_workspace_text(spec)]),
        f"int64_t {symbols.workspace}({dims});",
        *_bounds(spec, symbols.typed),
        "",
        _comment(_uniform_text(spec)),
        _prototype("int32_t", symbols.uniform, _UNIFORM),
        *_patterns(manifest, spec),
        *_in_place(manifest, spec),
    ])  # fmt: skip


def _patterns(manifest: Manifest, spec: FunctionSpec) -> list[str]:
    """Declarations of constant patterns, and of the entry that writes only values."""
    found = []
    for comment, text in pattern_lines(manifest, spec):
        found += ["", *([_comment(comment)] if comment else []), text]
    if not has_values(manifest, spec):
        return found
    symbols, known = Symbols.in_library(manifest, spec.name), constant_outputs(spec)
    names = ", ".join(_plain(value.name) for value in known)
    note = f"{spec.name}, but of {names} the values of the stored entries only: memory for <...>_NNZ numbers."
    return [*found, "", _comment([note]), _prototype("int32_t", symbols.values, typed_parameters(spec, True))]


def _in_place(manifest: Manifest, spec: FunctionSpec) -> list[str]:
    """Declarations of the entry that overwrites states, for a function with updates."""
    found = in_place_lines(manifest, spec)
    return [] if found is None else ["", _comment([found[0]]), found[1]]


_UNIFORM: Final = ("aotensor_context *context", "const aotensor_array *inputs", "aotensor_array *outputs")


_DECLARED: Final = {"ceres": ceres_declarations, "ipopt": ipopt_declarations, "sundials": sundials_declarations}


def _interface(manifest: Manifest, interface: InterfaceSpec) -> str:
    """Declarations of another project's interface; that project's header declares most of it."""
    version = _plain(f"{interface.name} {interface.version}")
    lines = [f"Interface {version}, for programs that load libraries by it. Beside the entries above it exports:"]
    comment = _comment([*lines, "  " + ", ".join(map(_plain, interface.symbols))])
    declare = _DECLARED.get(interface.name)
    return "\n\n".join([comment, *(declare(manifest, interface) if declare is not None else [])])


def _typed_text(manifest: Manifest, spec: FunctionSpec) -> list[str]:
    names = parameter_names(spec)[len(spec.workspace_dims) :]
    has_columns = any(value.layout == "F" for value in spec.values)
    layout = f"Arrays are row-major{' unless it says column-major' * has_columns}, outputs overlap nothing."
    lines = [f"{spec.name}: {_plain(spec.doc)}" if spec.doc else f"{spec.name}. {layout}"]
    if spec.doc:
        lines.append(layout)
    values = *spec.arguments, *spec.produced
    width = max((len(name) for name in names), default=0)
    states = dict(spec.updates)
    for k, (name, value) in enumerate(zip(names, values, strict=True)):
        role = "in " if k < len(spec.arguments) else "out"
        lines.append(f"  {name:<{width}}  {role} {_kind(value)}{_shape(value)}{_note(value, states)}")
    missing = "allocated and freed inside" if manifest.allocates else "only if that is 0"
    lines.append("  workspace  of the size that " + f"{spec.name}_workspace gives; NULL: {missing}")
    if any(isinstance(value, OutputSpec) and value.is_allocated for value in spec.produced):
        lines.append("An aotensor_array with data == NULL is filled through context->allocate.")
    if spec.sparse_outputs:
        lines.append("An aotensor_sparse with indptr == NULL is filled through context->allocate.")
    if spec.lapack:
        needed = ", ".join(spec.lapack)
        lines.append(f"context->blas must have {needed}; without them the status is AOTENSOR_NO_FUNCTION.")
    lines.append("Returns a status: 0 is success" + (", and of its own:" if spec.checks else "."))
    codes = manifest.statuses() if spec.checks else {}
    for number, check in enumerate(spec.checks, 1):
        lines.append(f"  {codes[spec.name, number]}  {_plain(check.static_text())}")
    return lines


def _kind(value: Value) -> str:
    """The format and dtype of a value, as comment text."""
    if not isinstance(value, SparseValue):
        return value.dtype
    return f"{form_of(value)} {value.dtype}"


def _shape(value: Value) -> str:
    extents = ["?" if n is None else _plain(str(n)) for n in value.shape]
    wide = ", int64 indices" if isinstance(value, SparseValue) and value.index_dtype == "int64" else ""
    return f"[{', '.join(extents)}]{wide}" if extents else ""


def _note(value: Value, states: dict[str, str]) -> str:
    if isinstance(value, ArgumentSpec | SparseValue) and value.default is not None:
        return "  state, held by the caller"
    if not isinstance(value, SparseValue) and value.layout == "F":
        return "  column-major" + (", data" if isinstance(value, ArgumentSpec) and value.is_data else "")
    if isinstance(value, ArgumentSpec) and (value.is_data or value.manifold):
        return "  data, which solvers do not change" if value.is_data else f"  on a manifold: {value.manifold}"
    return "".join(f"  next value of {_plain(state)}" for state, output in states.items() if output == value.name)


def _bounds(spec: FunctionSpec, symbol: str) -> list[str]:
    """Constants for the bounds of a call's memory, for a library without allocation."""
    lines = [""]
    if isinstance(spec.workspace, str):
        lines += [_comment([f"{spec.name}_workspace is {_plain(spec.workspace)}"])]
    elif spec.workspace is not None:
        lines += [f"#define {symbol}_WORKSPACE_BYTES {spec.workspace} /* what {spec.name}_workspace gives */"]
    if spec.stack is not None:
        lines += [f"#define {symbol}_STACK_BYTES {spec.stack} /* of the stack, at most, beside memcpy and the like */"]
    return lines if len(lines) > 1 else []


def _workspace_text(spec: FunctionSpec) -> str:
    return (
        f"Bytes of workspace of {spec.name}, any alignment ({WORKSPACE_ALIGNMENT} bytes are for ours); "
        "-1 if a dim is negative or the size depends on values: pass NULL then."
        + "".join(f" {_plain(name)}: number of stored entries." for name in spec.workspace_dims[len(spec.typed_dims) :])
    )


def _uniform_text(spec: FunctionSpec) -> list[str]:
    values = f"inputs: {_listing(spec.inputs)}; outputs: {_listing(spec.outputs)}."
    lines = [f"{spec.name} on arrays with strides. {values}"]
    for group in (*spec.sparse_inputs, *spec.sparse_outputs):
        lines.append(f"{_plain(group.name)} stands for the extents of a {group.format} matrix: its data are not used.")
    return lines


def _listing(values: tuple[ArgumentSpec | OutputSpec, ...]) -> str:
    return ", ".join(f"{_plain(value.name)} {value.dtype}{_shape(value)}" for value in values) or "none"


_STATUS_MESSAGE: Final = (
    "A text for a status; for a check of one function what was written, on which line, and what is wrong, without the "
    "numbers of a call. Never NULL. The entry <function>_call writes those, and the names of arguments, to "
    "context->message."
)


_INTEGRAND: Final = (
    "A number of numbers, in the form of callbacks of scipy.integrate: an aotensor_value_call, whose free inputs are "
    "count numbers, on x. Not a number if it fails."
)


def _common(manifest: Manifest) -> str:
    """Declarations common to all libraries with this prefix; only the first included header declares them."""
    prefix = manifest.prefix
    return "\n".join([
        f"#ifndef {prefix}aotensor_status_message /* a macro once the header of some library was included */",
        _comment([_STATUS_MESSAGE]),
        f"const char *{prefix}aotensor_status_message(int32_t status);",
        "",
        _comment(["What the library says about itself, as JSON: functions, arrays, target."]),
        f"const char *{prefix}aotensor_manifest(void);",
        "",
        _comment(["AOTENSOR_ABI_VERSION of the header that the library was built with."]),
        f"int32_t {prefix}aotensor_abi_version(void);",
        "",
        _comment(["For the Python runtime only: what the code of a function was compiled for; NULL behind the last."]),
        f"const char *{prefix}aotensor_signature(int32_t function);",
        *(_for_python(prefix) if is_for_python(manifest.target, manifest.freestanding) else []),
        "#endif",
    ])  # fmt: skip


def _for_python(prefix: str) -> list[str]:
    return [
        "",
        _comment(["For the Python runtime only: calls an entry on two tuples of NumPy arrays."]),
        _prototype("int32_t", f"{prefix}aotensor_call_python", (*_PYTHON, "const void *outputs")),
        "",
        _comment(["For the Python runtime only: extents of all outputs of a call, one after the other."]),
        _prototype("int32_t", f"{prefix}aotensor_extents_python", (*_PYTHON, "int64_t *extents")),
        "",
        _comment(["For the Python runtime only: calls an entry on arguments that stay the same."]),
        f"int32_t {prefix}aotensor_call_bound(const aotensor_bound_call *call);",
        "",
        _comment(["For the Python runtime only: the same for an object that holds an aotensor_bound_method."]),
        f"void *{prefix}aotensor_run_bound(void *self, void *nothing);",
        "",
        _comment([_INTEGRAND]),
        f"double {prefix}aotensor_integrand(int32_t count, const double *x, void *call);",
        "",
        _comment(["The same in the form of callbacks of scipy.ndimage: 1 if it is done, 0 if it fails."]),
        f"int32_t {prefix}aotensor_filter(const double *x, int64_t count, double *value, void *call);",
    ]


def _lookup_chain(manifest: Manifest) -> str:
    """Declarations for several libraries in one program: a chain of functions that looks up texts in each library."""
    own, prefix = OwnSymbols.from_manifest(manifest), manifest.prefix
    message, json = f"{prefix}aotensor_status_message", f"{prefix}aotensor_manifest"
    chained = f"{prefix}aotensor_status_message_{c_suffix(manifest.name)}"
    note = (
        f"A program may use several libraries. {message} asks each whose header was included, as every check has a "
        f"status of its own; {json} is then to be had under the name above only."
    )
    return "\n".join([
        _comment(["The message of a check of this library; NULL for any other status."]),
        f"const char *{own.check_message}(int32_t status);",
        "",
        _comment(["What this library says about itself, in a program that has several."]),
        f"const char *{own.manifest}(void);",
        "",
        _comment([note]),
        f"static inline const char *{chained}(int32_t status) {{",
        f"  const char *text = {own.check_message}(status);",
        f"  return text ? text : {message}(status);",
        "}",
        f"#ifdef {message}",
        f"#undef {message}",
        f"#undef {json}",
        f"#define {json} {json}_of_which_library",
        "#else",
        f"#define {json} {own.manifest}",
        "#endif",
        f"#define {message} {chained}",
    ])  # fmt: skip


_PYTHON: Final = ("const aotensor_python_call *call", "const void *inputs")


def _comment(lines: list[str]) -> str:
    wrapped = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + (0 if line == line.lstrip() else 2))
        wrapped += textwrap.wrap(line, _WIDTH, subsequent_indent=indent) or [""]
    return "/* " + "\n * ".join(wrapped) + " */"


def _plain(text: str) -> str:
    """Convert a text for a comment: it cannot start or end a comment, and has no line breaks."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")

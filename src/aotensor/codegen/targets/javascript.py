"""The JavaScript module of a WebAssembly library, and its types for TypeScript.

<name>.mjs      loads <name>.wasm from its own folder, reads the manifest inside, exports a function for each of its
functions
<name>.d.mts    types of arguments and results
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from aotensor.core.dtypes import DTYPES, HALVES, is_half
from aotensor.errors import UnsupportedError
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, Manifest, OutputSpec, SparseValue, form_of

_LOADER: Final = Path(__file__).parent / "web" / "loader.mjs"
_NUMBERS: Final = {"b": "Uint", "i": "Int", "u": "Uint", "f": "Float"}
_ARRAYS: Final = {
    name: f"{'Big' * (record.bits == 64 and record.kind in 'iu')}"
    f"{'Uint' if record.is_stored_only else _NUMBERS[record.kind]}{record.bits}Array"
    for name, record in DTYPES.items()
    if record.kind in _NUMBERS
}
"""The typed array of each dtype; of a storage dtype that of its bits, since JavaScript has no such number type."""

_TYPES: Final = """\
/** Row-major elements and their extents. */
export interface Dense<T> {
  data: T;
  shape: number[];
}

/** A matrix in compressed rows (CSR) or columns (CSC), or in rows of blocks (BSR), whose data follow each other. */
export interface Sparse<T, I> {
  data: T;
  indices: I;
  indptr: I;
  shape: [number, number];
}

export type Nested<E> = E | Nested<E>[];

/** A call that failed: the library's message, and its status. */
export class AotensorError extends Error {
  readonly status: number;
}

/** The library; by default from the .wasm file beside this one. */
export function load(
  source?: string | URL | Response | ArrayBuffer | Uint8Array | WebAssembly.Module,
): Promise<Model>;
"""


def module_text(manifest: Manifest) -> str:
    """The text of the JavaScript module for a library.

    Raises: UnsupportedError for complex arguments and results, since JavaScript has no complex arrays.
    """
    _check_dtypes(manifest)
    text = _LOADER.read_text(encoding="utf-8")
    rows = [f"  {name}: [{DTYPES[name].code}, {kind}]," for name, kind in _ARRAYS.items()]
    text = text.replace("  @TYPES@,", "\n".join(rows)).replace('"@STORED@"', json.dumps(HALVES))
    return text.replace('"@LIBRARY@"', json.dumps(f"{manifest.name}.wasm")).replace("@PREFIX@", manifest.prefix)


def types_text(manifest: Manifest) -> str:
    """The text of the TypeScript declarations. Raises: as `module_text`."""
    _check_dtypes(manifest)
    lines = [
        f"// {manifest.name}: made by aotensor {manifest.aotensor}.",
        "",
        _TYPES,
        "export interface Model {",
        "  /** What the library says about itself. */",
        "  readonly manifest: { readonly [key: string]: unknown };",
    ]
    for spec in manifest.functions:
        lines += ["", *_documentation(spec), *_signatures(spec)]
    return "\n".join([*lines, "}", ""])


def _check_dtypes(manifest: Manifest) -> None:
    for spec in manifest.functions:
        for x in (*spec.arguments, *spec.produced):
            if x.dtype not in _ARRAYS:
                raise UnsupportedError(
                    f"{spec.name}: {x.name} is {x.dtype}, and JavaScript does not have arrays of it",
                    hint="pass and return real and imaginary parts, or emit static for C programs",
                )


def _documentation(spec: FunctionSpec) -> list[str]:
    """A comment with the dtype and shape of each argument and result."""
    rows = [*((f"@param {_name(x.name)}", x) for x in spec.arguments), *(("@returns", x) for x in spec.produced)]
    head = _plain(spec.doc) if spec.doc else spec.name
    told = [
        f"   * {role} {_plain(x.name)}: {form_of(x) + ' ' if isinstance(x, SparseValue) else ''}{x.dtype}{_shape(x)}"
        if role == "@returns"
        else f"   * {role} {form_of(x) + ' ' if isinstance(x, SparseValue) else ''}{x.dtype}{_shape(x)}"
        for role, x in rows
    ]
    return ["  /**", f"   * {head}", *told, "   */"]


def _signatures(spec: FunctionSpec) -> list[str]:
    """The TypeScript signatures of a function, with positional and with named arguments."""
    names = [_name(x.name) for x in spec.arguments]
    kinds = [_input_type(x) for x in spec.arguments]
    result = _result(spec)
    positions = ", ".join(f"{name}: {kind}" for name, kind in zip(names, kinds, strict=True))
    found = [f"  {spec.name}({positions}): {result};"]
    if kinds:
        fields = " ".join(f"{_key(x.name)}: {kind};" for x, kind in zip(spec.arguments, kinds, strict=True))
        found.append(f"  {spec.name}(inputs: {{ {fields} }}): {result};")
    return found


def _input_type(value: ArgumentSpec | SparseValue) -> str:
    array = _ARRAYS[value.dtype]
    if isinstance(value, SparseValue):
        return f"Sparse<{array}, {_ARRAYS[value.index_dtype]}>"
    number = "number | bigint" if "64" in value.dtype and "int" in value.dtype else _number(value.dtype)
    if not value.shape and not is_half(value.dtype):
        return number
    plain = f"{array} | " if len(value.shape) == 1 else ""
    return f"{plain}Dense<{array}>" if is_half(value.dtype) else f"{plain}Dense<{array}> | Nested<{number}>[]"


def _result(spec: FunctionSpec) -> str:
    found = [(x.name, _given(x)) for x in spec.produced]
    if spec.output_kind == "dict" or spec.updates:
        return "{ " + " ".join(f"{_key(name)}: {kind};" for name, kind in found) + " }"
    if spec.output_kind == "list":
        return "[" + ", ".join(kind for _, kind in found) + "]"
    return "void" if spec.output_kind == "none" else found[0][1]


def _given(value: OutputSpec | SparseValue) -> str:
    array = _ARRAYS[value.dtype]
    if isinstance(value, SparseValue):
        return f"Sparse<{array}, {_ARRAYS[value.index_dtype]}>"
    return f"Dense<{array}>" if value.shape or is_half(value.dtype) else _number(value.dtype)


def _number(dtype: str) -> str:
    """The JavaScript type of one element: number, bigint or boolean."""
    return "boolean" if dtype == "bool" else "bigint" if dtype in ("int64", "uint64") else "number"


def _shape(value: ArgumentSpec | OutputSpec | SparseValue) -> str:
    return f"[{', '.join('?' if n is None else _plain(str(n)) for n in value.shape)}]" if value.shape else ""


def _name(name: str) -> str:
    """A name as a JavaScript parameter: characters that are invalid in identifiers become underscores."""
    clean = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"{clean}_" if clean in _KEYWORDS or not clean.isidentifier() else clean


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, flags=re.ASCII) else json.dumps(name)


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("*/", "* /")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYWORDS: Final = _words("""
    arguments await break case catch class const continue debugger default delete do else enum eval export extends
    false finally for function if implements import in instanceof interface let new null package private protected
    public return static super switch this throw true try typeof var void while with yield
    """)

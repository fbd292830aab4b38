"""Generate a Julia module for a library: a method for each function, a `ccall` of its entry on descriptors.

    f(inputs...; num_threads = 0)     gives the output, or a NamedTuple of outputs

Descriptors have the strides of Julia's arrays, so that X[i, j] is the model's X[i - 1, j - 1]. No test runs the module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from aotensor.codegen.entry.names import Symbols
from aotensor_cli.bindings.arguments import Argument, arguments, distinct, refuse_lapack
from aotensor_runtime.abi import Status
from aotensor_runtime.manifest import FunctionSpec, Manifest
from aotensor_runtime.signature import typed_line
from aotensor_runtime.typed.parameters import c_suffix

_KINDS: Final = {
    "float64": "Float64", "float32": "Float32", "float16": "Float16", "complex128": "ComplexF64",
    "complex64": "ComplexF32", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64", "uint8": "UInt8",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "bool": "Bool",
}  # fmt: skip
_MOST_AXES: Final = 32
_TAKEN: Final = (
    "abstract", "baremodule", "begin", "break", "catch", "const", "continue", "do", "else", "elseif", "end", "export",
    "false", "finally", "for", "function", "global", "if", "import", "in", "isa", "let", "local", "macro", "module",
    "mutable", "primitive", "public", "quote", "return", "struct", "true", "try", "type", "using", "where", "while",
    "Descriptors", "Integer", "AbstractArray", "Number", "Real", "num_threads", "only", "NamedTuple", "eval", "include",
    *_KINDS.values(),
)  # fmt: skip
_MODULE: Final = '''\
"""
Functions of {file}, which lies next to this file; made by aotensor {version}.

X[i, j] is the model's X[i - 1, j - 1]. The library copies a matrix that it has row-major; it makes no copy if the model
says aot.In(X, layout="F") or aot.Out(Y, layout="F"). Written from the manifest of the library; no test has run it.
"""
module {module}

{exports}
module Descriptors

import Libdl

const LIBRARY = joinpath(@__DIR__, "{file}")
const HANDLE = Ref{{Ptr{{Cvoid}}}}(C_NULL)

__init__() = (HANDLE[] = Libdl.dlopen(LIBRARY); nothing)

"""A call that the library refuses, with its status and its message."""
struct AotensorError <: Exception
    status::Int32
    message::String
end

Base.showerror(io::IO, e::AotensorError) = print(io, e.message)

# aotensor_array and aotensor_context of the C header
struct Descriptor
    data::Ptr{{Cvoid}}
    shape::Ptr{{Int64}}
    strides::Ptr{{Int64}}
    rank::Int32
    dtype::Int32
end

struct Context
    struct_size::Int64
    allocate::Ptr{{Cvoid}}
    user::Ptr{{Cvoid}}
    message::Ptr{{UInt8}}
    message_size::Int64
    workspace::Ptr{{Cvoid}}
    workspace_bytes::Int64
    blas::Ptr{{Cvoid}}
    num_threads::Int32
    flags::Int32
    parallel_for::Ptr{{Cvoid}}
    pool::Ptr{{Cvoid}}
    kept::Ptr{{Cvoid}}
end

dense(T, rank, x::Number) = rank == 0 ? fill(convert(T, x)) : throw(DimensionMismatch("a number for $rank axes"))
function dense(T, rank, x::AbstractArray)
    if promote_type(eltype(x), T) != T
        throw(ArgumentError("elements of $(eltype(x)) do not fit into $T: convert them"))
    end
    return convert(Array{{T, rank}}, x)
end

described(x::Array, extents, steps, dtype) =
    Descriptor(pointer(x), pointer(extents), pointer(steps), Int32(ndims(x)), Int32(dtype))

"""Call an entry on `inputs`; `given` and `made` have the element type, rank and dtype of each input and output."""
function call(entry::Symbol, inputs::Tuple, given::Tuple, made::Tuple, num_threads::Integer)
    arrays = Array[dense(kind[1], kind[2], x) for (x, kind) in zip(inputs, given)]
    extents = Vector{{Int64}}[collect(Int64, size(x)) for x in arrays]
    steps = Vector{{Int64}}[collect(Int64, strides(x)) for x in arrays]
    shapes = Vector{{Int64}}[zeros(Int64, kind[2]) for kind in made]
    message = zeros(UInt8, 800)
    pointer_of_entry = Libdl.dlsym(HANDLE[], entry)
    GC.@preserve arrays extents steps shapes message begin
        context = Ref(Context(sizeof(Context), C_NULL, C_NULL, pointer(message), length(message), C_NULL, 0, C_NULL,
                              Int32(num_threads), Int32(0), C_NULL, C_NULL, C_NULL))
        taken = Descriptor[described(arrays[k], extents[k], steps[k], given[k][3]) for k in eachindex(arrays)]
        wanted = Descriptor[Descriptor(C_NULL, pointer(shapes[k]), C_NULL, Int32(made[k][2]), Int32(0))
                            for k in eachindex(shapes)]
        run() = ccall(pointer_of_entry, Int32, (Ref{{Context}}, Ptr{{Descriptor}}, Ptr{{Descriptor}}),
                      context, taken, wanted)
        status = run()
        results = Array[]
        if status == 0 || status == {needed} # 0: no output has elements
            results = Array[Array{{kind[1], kind[2]}}(undef, shape...) for (kind, shape) in zip(made, shapes)]
            widths = Vector{{Int64}}[collect(Int64, strides(x)) for x in results]
            GC.@preserve results widths begin
                for k in eachindex(results)
                    wanted[k] = described(results[k], shapes[k], widths[k], made[k][3])
                end
                status = status == 0 ? status : run()
            end
        end
        if status != 0
            text = unsafe_string(pointer(message))
            if isempty(text)
                say = Libdl.dlsym(HANDLE[], :{message})
                text = unsafe_string(ccall(say, Ptr{{UInt8}}, (Int32,), status))
            end
            throw(AotensorError(status, text))
        end
        return Tuple(ndims(x) == 0 ? x[] : x for x in results)
    end
end

end # module Descriptors
{functions}
end # module {module}
'''


def julia_files(manifest: Manifest, file: str) -> dict[str, str]:
    """`<Library>.jl`.   Raises: Refusal for what Julia cannot express"""
    clean = re.sub(r"^[0-9_]+", "", c_suffix(manifest.name)) or "library"
    module = clean[0].upper() + clean[1:]
    names = distinct((spec.name for spec in manifest.functions), [*_TAKEN, module])
    functions = [_function(manifest, spec, name) for spec, name in zip(manifest.functions, names, strict=True)]
    text = _MODULE.format(
        file=file, version=manifest.aotensor, module=module, exports=f"export {', '.join(names)}\n",
        message=f"{manifest.prefix}aotensor_status_message", functions="".join(functions),
        needed=int(Status.OUTPUTS_NEEDED),
    )  # fmt: skip
    return {f"{module}.jl": text}


def _function(manifest: Manifest, spec: FunctionSpec, name: str) -> str:
    refuse_lapack("Julia", spec, "and Julia's LAPACK has 64-bit integers")
    found = arguments("Julia", spec, _KINDS, _MOST_AXES, lambda given: distinct(given, [*_TAKEN, name]))
    inputs, outputs = ([x for x in found if x.is_output == side] for side in (False, True))
    entry = Symbols.in_library(manifest, spec.name).uniform
    doc = "\n".join([typed_line(spec), *([""] * bool(spec.doc)), *spec.doc.splitlines()])
    for letter in ("\\", '"', "$"):
        doc = doc.replace(letter, f"\\{letter}")
    call = (
        f"Descriptors.call(:{entry}, {_tuple([x.name for x in inputs])},\n"
        f"        {_tuple([_kind(x) for x in inputs])},\n        {_tuple([_kind(x) for x in outputs])}, num_threads)"
    )
    if len(outputs) == 1:
        result = f"    return only({call})"
    else:
        fields = _tuple([f":{x.name}" for x in outputs])
        result = f"    return NamedTuple{{{fields}}}({call})"
    head = f"function {name}({', '.join(map(_formal, inputs))}; num_threads::Integer = 0)"
    return f'\n"""\n{doc}\n"""\n{head}\n{result}\nend\n'


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def _kind(x: Argument) -> str:
    return f"({x.kind}, {x.rank}, {x.code})"


def _formal(x: Argument) -> str:
    if x.rank:
        return f"{x.name}::AbstractArray{{<:Number, {x.rank}}}"
    return f"{x.name}::Number"

"""The entry points of a library: three per function, a few per library. They call the compiled kernels.

    i32 <f>.kernel(inputs..., outputs..., kept..., workspace, workspace_bytes, detail, context)
    i32 <f>.extents(inputs..., [table of what it keeps,] extents, count, detail, context)
    i64 <f>.workspace_bytes(dims...)                         if the workspace depends on dims alone

where an array is passed as its address and one i64 per extent that its signature does not fix. The per-function part is
small: two adapters from tables to these signatures, and calls of the fixed functions of `core`, which are a separate
part (`codegen.parts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from aotensor.codegen.entry.code import NULL, Code, constant_struct, number, status
from aotensor.codegen.entry.core import DESCRIPTION, Core, declare_core
from aotensor.codegen.entry.layout import pointer_bytes
from aotensor.codegen.entry.names import OwnSymbols, Symbols, exported_symbols, has_values
from aotensor.codegen.entry.tables import HIDDEN, Constants, Description, function_table
from aotensor.codegen.entry.text import check_template, define_check_message
from aotensor.codegen.entry.values import define_values
from aotensor.codegen.llvm import Bytes, Function, Module, Type, Value, i32, i64, pointer
from aotensor.codegen.targets.systems import system_of
from aotensor.codegen.weights.state import declare_base, declare_ready, missing_weights
from aotensor.errors import InternalError, UnsupportedError
from aotensor_runtime.abi import MANIFEST_SECTION, WORKSPACE_ALIGNMENT, Status
from aotensor_runtime.manifest import (
    ArgumentSpec,
    FunctionSpec,
    Manifest,
    OutputSpec,
    SparseSpec,
    signature_text,
    validate,
)

_MANY_ARRAYS: Final = 64
"""A function with more arrays has adapters that are not optimised, and checks their addresses in a loop: they only copy
arguments, and LLVM's time to schedule such a copy grows with the square of their number.
"""


def _adapter_attributes(spec: FunctionSpec) -> tuple[str, ...]:
    return ("noinline", "optnone") if len(spec.values) > _MANY_ARRAYS else ("optsize",)


def add_entries(module: Module, manifest: Manifest) -> tuple[str, ...]:
    """Define every entry point except the entries for Python, which the core part contains; return all exported names.

    Kernels become internal. Raises: GraphValueError for names that cannot be exported; ManifestError for an
    inconsistent signature; UnsupportedError for 32-bit addresses on a system that usually has 64; InternalError if a
    kernel is missing or has another signature than in the manifest.
    """
    if pointer_bytes(module) != system_of(module.triple).pointer_bytes:
        raise UnsupportedError(
            f"{module.triple} has 32-bit pointers, which are not supported",
            hint="use wasm32-wasi, or a target without a system, such as thumbv7em-none-eabihf",
        )
    exported = exported_symbols(manifest)
    constants = Constants(module)
    core = declare_core(module)
    codes = manifest.statuses()
    texts: dict[int, str] = {}
    for spec in manifest.functions:
        validate(spec)
        own = [codes[spec.name, number] for number in range(1, len(spec.checks) + 1)]
        symbols = Symbols.in_library(manifest, spec.name)
        _define_function(constants, core, symbols, spec, own, manifest.weights is not None)
        if has_values(manifest, spec):
            define_values(module, symbols.values, module.globals[symbols.typed], spec)
        texts |= {
            code: f"{spec.name}: {check.static_text()}"
            for code, check in zip(own, spec.checks, strict=True)
            if code >= Status.CHECK
        }
    _describe_library(constants, manifest, texts)
    return exported


def _describe_library(constants: Constants, manifest: Manifest, texts: Mapping[int, str]) -> None:
    """Define what describes the library: the data that entries of the core part read, and entries of its own name."""
    module, names = constants.module, OwnSymbols.from_manifest(manifest)
    text = Bytes(manifest.to_json().encode() + b"\0")
    data = constants.data("entry.manifest", text, section=MANIFEST_SECTION, align=1)
    missing = missing_weights(manifest)
    values = {
        "check_message": define_check_message(constants, names.check_message, "entry.check_message", texts, missing),
        "manifest": data,
        "signatures": constants.pointers([constants.text(signature_text(spec)) for spec in manifest.functions]),
        "count": len(manifest.functions),
    }
    constants.data(DESCRIPTION, constant_struct(Description, values)).linkage = HIDDEN
    c = Code(module, names.manifest, pointer, [], exported=True)
    c.ret(data)


def _define_function(
    constants: Constants, core: Core, symbols: Symbols, spec: FunctionSpec, codes: Sequence[int], has_weights: bool
) -> None:
    module = constants.module
    weights = declare_ready(module) if has_weights else NULL
    sizes = module.globals.get(f"{spec.name}.workspace_bytes")
    kept = _kept_count(module, spec)
    extents, kernel = _define_extents_adapter(module, spec, kept), _define_kernel_adapter(module, spec, kept)
    checks = [check_template(spec, check) for check in spec.checks]
    table = function_table(constants, spec, extents, kernel, kept, sizes is not None, checks, codes, weights)
    _define_typed(module, core, symbols.typed, spec, table, sizes if kept == 0 else None, has_weights)
    _define_workspace(module, symbols.workspace, spec, sizes)
    c = Code(module, symbols.uniform, i32, [pointer] * 3, exported=True)
    c.ret(c.builder.call(core.uniform, [*c.arguments, table]))


def _define_typed(
    module: Module, core: Core, symbol: str, spec: FunctionSpec, table: Value, sizes: Function | None, has_weights: bool
) -> None:
    """Define the typed entry i32 f([context,] dims..., inputs..., outputs..., workspace).

    For a sparse matrix the core gets the address of its struct instead of the pattern's elements. sizes: computes the
    bytes of workspace, None if the kernel has further arguments.
    """
    names = spec.typed_dims
    numbers = [
        *_array_numbers(spec.inputs, spec.sparse_inputs),
        *_array_numbers(spec.outputs, spec.sparse_outputs, len(spec.inputs)),
    ]
    head = [pointer] if spec.takes_context else []
    kinds = [*head, *[i64] * len(names), *[pointer] * (len(numbers) + 1)]
    c = Code(module, symbol, i32, kinds, exported=True, attributes=_adapter_attributes(spec))
    arguments = list(c.arguments)
    context = arguments.pop(0) if spec.takes_context else NULL
    workspace = arguments.pop()
    static_sizes = sizes if _is_static(spec) else None
    if static_sizes is not None and len(spec.values) <= _MANY_ARRAYS:
        _call_directly(c, module, static_sizes, spec, arguments, workspace, has_weights)
    dims, data = c.alloca(i64, len(spec.dims)), c.alloca(pointer, len(spec.values))
    given = dict(zip(names, arguments[: len(names)], strict=True))
    for k, name in enumerate(spec.dims):
        c.store_at(dims, k, given.get(name, number(0)))
    addresses = dict(zip(numbers, arguments[len(names) :], strict=True))
    for k in range(len(spec.values)):
        c.store_at(data, k, addresses.get(k, NULL))
    if static_sizes is not None and len(spec.values) > _MANY_ARRAYS:
        _call_by_table(c, module, static_sizes, spec, data, workspace, has_weights)
    c.ret(c.builder.call(core.typed, [context, dims, data, workspace, table]))


def _is_static(spec: FunctionSpec) -> bool:
    """True if a call needs no shape computation or check before the kernel, except for missing memory."""
    are_known = all(isinstance(n, int) for value in spec.values for n in value.shape)
    return are_known and not (spec.checks or spec.takes_context or spec.sparse_inputs or spec.sparse_outputs)


def _call_directly(
    c: Code, module: Module, sizes: Function, spec: FunctionSpec, arrays: Sequence[Value], workspace: Value,
    has_weights: bool,
) -> None:  # fmt: skip
    """Call the kernel and return, if there is all memory and it succeeds; otherwise the core finds out what is wrong.

    For a small function the core would take longer than the kernel.
    """
    b, size = c.builder, c.builder.call(sizes, [])
    needed = [x for x, value in zip(arrays, spec.values, strict=True) if 0 not in value.shape]
    has_room = _has_room(c, size, workspace, has_weights)
    with c.when(c.all(has_room, *(b.not_(c.is_null(x)) for x in needed))):
        start = c.align_up(workspace, WORKSPACE_ALIGNMENT)
        given = [*arrays, start, size, c.alloca(i64, 4), NULL]
        found = b.call(_kernel(module, spec, "kernel", given), given)
        c.ret_if(c.equal(found, status(0)), found)


def _call_by_table(
    c: Code, module: Module, sizes: Function, spec: FunctionSpec, data: Value, workspace: Value, has_weights: bool
) -> None:
    """Call the kernel directly with a table of addresses; not if some arrays are empty, whose addresses may be NULL."""
    if any(0 in value.shape for value in spec.values):
        return
    b, size = c.builder, c.builder.call(sizes, [])
    missing = b.call(_define_missing(module, spec), [data])
    has_room = _has_room(c, size, workspace, has_weights)
    with c.when(c.all(has_room, c.equal(missing, number(0)))):
        start = c.align_up(workspace, WORKSPACE_ALIGNMENT)
        adapter = module.globals[f"{spec.name}.run"]
        found = b.call(adapter, [data, NULL, NULL, start, size, c.alloca(i64, 4), NULL])
        c.ret_if(c.equal(found, status(0)), found)


def _define_missing(module: Module, spec: FunctionSpec) -> Function:
    """Define i64 f.missing(data): the number of arrays whose address is NULL."""
    c = Code(module, f"{spec.name}.missing", i64, [pointer])
    found = c.slot(i64, number(0))
    with c.loop(number(len(spec.values))) as k:
        found.add(c.builder.zext(c.is_null(c.item(c.arguments[0], k, pointer)), i64))
    c.ret(found.get())
    return c.function


def _has_room(c: Code, size: Value, workspace: Value, has_weights: bool) -> Value:
    """The condition that the workspace has `size` bytes, and that the file of weights is mapped if there is one."""
    b = c.builder
    has_room = b.or_(c.equal(size, number(0)), c.all(c.less(number(0), size), b.not_(c.is_null(workspace))))
    if has_weights:
        base = b.load_atomic(declare_base(c.module), "acquire", 8, typ=pointer)
        has_room = c.all(has_room, b.not_(c.is_null(base)))
    return has_room


def _array_numbers(values: Sequence[object], groups: Sequence[SparseSpec], first: int = 0) -> list[int]:
    """The numbers of the arrays that the typed entry has as arguments; for a sparse matrix only its pattern."""
    hidden = {group.first + part for group in groups for part in (1, 2, 3)}
    return [first + k for k in range(len(values)) if k not in hidden]


def _define_workspace(module: Module, symbol: str, spec: FunctionSpec, sizes: Function | None) -> None:
    """Define i64 f_workspace(dims...): bytes of workspace including alignment, or -1."""
    c = Code(module, symbol, i64, [i64] * len(spec.workspace_dims), exported=True)
    if sizes is None:
        c.ret(number(-1))
        return
    _make_internal(sizes, spec, [i64] * len(spec.dims))
    for dim in c.arguments:
        c.ret_if(c.less(dim, number(0)), number(-1))
    given = dict(zip(spec.workspace_dims, c.arguments, strict=True))
    size = c.builder.call(sizes, _all_dims(c, spec, given))
    c.ret_if(c.less(size, number(1)), size)
    c.ret(c.builder.add(size, number(WORKSPACE_ALIGNMENT)))


def _all_dims(c: Code, spec: FunctionSpec, given: dict[str, Value]) -> list[Value]:
    """The dims of a function in the kernel's order; an indptr is one element longer than rows or columns."""
    for group in spec.sparse_inputs:
        pattern, indptr = spec.inputs[group.first], spec.inputs[group.first + 3]
        extent, name = pattern.shape[group.major], indptr.shape[0]
        if isinstance(name, str) and name not in given:
            count = number(extent) if isinstance(extent, int) else given[extent]
            given[name] = c.builder.add(count, number(1))
    return [given[name] for name in spec.kernel_dims]


def _define_extents_adapter(module: Module, spec: FunctionSpec, kept: int) -> Function:
    """Define i32 f.extents_of(data, shapes, kept, extents, count, detail, context)."""
    kinds = [pointer, pointer, pointer, pointer, i64, pointer, pointer]
    c = Code(module, f"{spec.name}.extents_of", i32, kinds, attributes=_adapter_attributes(spec))
    data, shapes, table, *rest = c.arguments
    arguments = [*_unpack(c, spec.inputs, data, shapes), *[table][:kept], *rest]
    found = c.builder.call(_kernel(module, spec, "extents", arguments), arguments)
    _reverse_extents(c, spec, rest[0])
    c.ret(found)
    return c.function


def _reverse_extents(c: Code, spec: FunctionSpec, extents: Value) -> None:
    """Reverse the extents of column-major outputs, since the kernel computes them as transposes."""
    offset = 0
    for value in spec.outputs:
        rank = len(value.shape)
        if value.layout == "F":
            found = [c.item(extents, offset + axis) for axis in range(rank)]
            for axis, extent in enumerate(reversed(found)):
                c.store_at(extents, offset + axis, extent)
        offset += rank


def _define_kernel_adapter(module: Module, spec: FunctionSpec, kept: int) -> Function:
    """Define i32 f.run(data, shapes, kept, workspace, workspace_bytes, detail, context)."""
    kinds = [pointer, pointer, pointer, pointer, i64, pointer, pointer]
    c = Code(module, f"{spec.name}.run", i32, kinds, attributes=_adapter_attributes(spec))
    data, shapes, table, *rest = c.arguments
    memory = [c.cell(table, k, kind) for k, kind in enumerate([pointer, i64] * kept)]
    arguments = [*_unpack(c, spec.values, data, shapes), *memory, *rest]
    c.ret(c.builder.call(_kernel(module, spec, "kernel", arguments), arguments))
    return c.function


def _kept_count(module: Module, spec: FunctionSpec) -> int:
    """The number of values that `.extents` keeps: they are one argument of it, two per value of the kernel."""
    excess = [
        len(found.function_type.args)
        - sum(1 + sum(not isinstance(n, int) for n in value.shape) for value in values)
        - 4
        for part, values in (("extents", spec.inputs), ("kernel", spec.values))
        if (found := module.globals.get(f"{spec.name}.{part}")) is not None
    ]
    return excess[1] // 2 if len(excess) == 2 and excess[0] == 1 and excess[1] > 0 else 0


def _unpack(c: Code, values: Sequence[ArgumentSpec | OutputSpec], data: Value, shapes: Value) -> list[Value]:
    """The kernel arguments of all arrays: address, and the extents that the signature does not fix.

    A column-major array is passed as its transpose, with reversed extents.
    """
    arguments, offset = [], 0
    for k, value in enumerate(values):
        arguments.append(c.item(data, k, pointer))
        open_axes = [axis for axis, n in enumerate(value.shape) if not isinstance(n, int)]
        open_axes = open_axes[::-1] if value.layout == "F" else open_axes
        arguments += [c.item(shapes, offset + axis) for axis in open_axes]
        offset += len(value.shape)
    return arguments


def _kernel(module: Module, spec: FunctionSpec, part: str, arguments: Sequence[Value]) -> Function:
    symbol = f"{spec.name}.{part}"
    if symbol not in module.globals:
        raise InternalError(f"entry: the module has no {symbol}")
    return _make_internal(module.globals[symbol], spec, [value.type for value in arguments])


def _make_internal(kernel: Function, spec: FunctionSpec, arguments: Sequence[Type]) -> Function:
    """Make a kernel internal to the module, after a check of its signature."""
    found, expected = list(kernel.function_type.args), list(arguments)
    if found != expected:
        raise InternalError(
            f"entry: {kernel.name} does not fit the signature of {spec.name}",
            lines=[f"found: {', '.join(map(str, found))}", f"expected: {', '.join(map(str, expected))}"],
        )
    kernel.linkage = "internal"
    return kernel

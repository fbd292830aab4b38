"""The entries in C: the typed one, that of the workspace, and those that say what a status means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from aotensor.codegen.c_source.lines import Line, printed
from aotensor.codegen.c_source.source import Written
from aotensor.codegen.c_source.words import OWN
from aotensor.codegen.entry.names import OwnSymbols, Symbols
from aotensor.codegen.entry.text import STATUS_TEXTS
from aotensor_runtime.abi import ABI_VERSION, DTYPE_SIZES, WORKSPACE_ALIGNMENT, Status
from aotensor_runtime.manifest import FunctionSpec, Manifest, SparseSpec, SparseValue
from aotensor_runtime.typed.parameters import C_TYPES, entry_parameters, parameter_names

_NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "aot_need": ("aot_size",),
    "aot_size": ("aot_bytes",),
    "aot_check_matrix": ("aot_index",),
    "aot_give_array": ("aot_allocate", "aot_size"),
    "aot_give_matrix": ("aot_allocate", "aot_size"),
}


@dataclass
class Entries:
    """The text of the entries of one library, and the helpers that it uses.

    allocates: may they call malloc?
    """

    manifest: Manifest
    written: Written
    helpers: set[str] = field(default_factory=set)

    def text(self) -> str:
        """All entries."""
        parts = [_messages(self.manifest), *(self._function(spec) for spec in self.manifest.functions)]
        return "\n".join(parts)

    def use(self, name: str) -> str:
        """A helper, with those that it calls."""
        self.helpers.add(name)
        for other in _NEEDS.get(name, ()):
            self.use(other)
        return name

    def _function(self, spec: FunctionSpec) -> str:
        return f"{_Typed(self, spec).text()}\n{_workspace(self, spec)}"


class _Typed:
    """The typed entry of one function, step after step: each is skipped once one has failed."""

    def __init__(self, entries: Entries, spec: FunctionSpec) -> None:
        self.entries, self.spec = entries, spec
        self.written = entries.written
        self.lines: list[Line] = []
        names = [_apart(name) for name in parameter_names(spec)]
        self.dims: dict[str, str] = dict(zip(spec.workspace_dims, names, strict=False))
        rest = names[len(spec.workspace_dims) :]
        self.inputs = dict(zip([x.name for x in spec.arguments], rest, strict=False))
        self.outputs = dict(zip([x.name for x in spec.produced], rest[len(spec.arguments) :], strict=True))
        for group in spec.sparse_inputs:
            self._matrix_dims(group)
        self.kernel = f"{spec.name}.kernel"

    def _matrix_dims(self, group: SparseSpec) -> None:
        pattern, data, indices, indptr = self.spec.inputs[group.first : group.first + 4]
        name = self.inputs[group.name]
        for value in (data, indices):
            if isinstance(count := value.shape[0], str):
                self.dims[count] = f"{name}->nnz"
        if isinstance(count := indptr.shape[0], str):
            self.dims[count] = f"{self._slices(group)} + 1"

    def _block(self, group: SparseSpec) -> tuple[int, int]:
        data = self.spec.inputs[group.first + 1]
        height, width = data.shape[1:] if len(data.shape) == 3 else (1, 1)
        return int(height), int(width)

    def _slices(self, group: SparseSpec, other: bool = False) -> str:
        axis = 1 - group.major if other else group.major
        extent = self._extent(self.spec.inputs[group.first].shape[axis])
        block = self._block(group)[axis]
        return extent if block == 1 else f"{extent} / {block}"

    def _extent(self, n: int | str | None) -> str:
        return str(n) if isinstance(n, int) else self.dims[str(n)]

    # --- lines -------------------------------------------------------------------------------------------------------

    def put(self, text: str, depth: int = 1) -> None:
        self.lines.append(Line(text, depth))

    def step(self, text: str, depth: int = 1) -> None:
        """A step that returns a status, if none has failed."""
        self.put("if (status == AOTENSOR_OK) {", depth)
        self.put(f"status = {text};", depth + 1)
        self.put("}", depth)

    def text(self) -> str:
        spec, manifest = self.spec, self.entries.manifest
        symbol = Symbols.in_library(manifest, spec.name).typed
        parameters = ", ".join(
            str(x if x.name in ("context", "workspace") else replace(x, name=_apart(x.name)))
            for x in entry_parameters(spec)
        )
        ranks = sum(len(x.shape) for x in spec.outputs)
        self.put("int64_t detail[4] = {0, 0, 0, 0};")
        self.put(f"int64_t extents[{ranks + 1}] = {{0}};")
        self.put("int32_t check = 0;")
        self.put("int32_t status = AOTENSOR_OK;")
        count = self._kept_count()
        if count:
            self.put(f"int64_t kept[{2 * count}] = {{0}};")
        if not spec.takes_context:
            self.put("aotensor_context *const context = NULL;")
        else:
            self.step(f"{self.entries.use('aot_check_context')}(context)")
        for name in spec.typed_dims:
            self.put(f"if (status == AOTENSOR_OK && {self.dims[name]} < 0) {{")
            self.put("status = AOTENSOR_NEGATIVE;", 2)
            self.put("}")
        self._check_inputs()
        self._check_functions()
        self.put("if (status == AOTENSOR_OK) {")
        self.put(f"check = {self.written.symbols[f'{spec.name}.extents']}({', '.join(self._extents_arguments(ranks, count))});", 2)
        self.put("status = " + self._status("check") + ";", 2)
        self.put("}")
        for k in range(ranks + 1):
            self.put(f"if (status == AOTENSOR_OK && extents[{k}] < 0) {{")
            self.put("status = AOTENSOR_TOO_LARGE;", 2)
            self.put("}")
        self._take_outputs()
        self._call(ranks, count)
        for k in range(count):
            self.put(f"free((void *)(uintptr_t)kept[{2 * k}]);")
        told = f"{self.entries.use('aot_tell')}(context, status)" if spec.takes_context else "status"
        self.put(f"return {told};")
        head = [Line(f"int32_t {symbol}({parameters})", 0), Line("{", 0)]
        return self._codes() + printed([*head, *self.lines, Line("}", 0)])

    def _kept_count(self) -> int:
        found = self.written.parameters[self.kernel]
        numbers = sum(1 + sum(not isinstance(n, int) for n in x.shape) for x in self.spec.values)
        return (len(found) - numbers - 4) // 2

    def _codes(self) -> str:
        codes = self.entries.manifest.statuses()
        own = [codes[self.spec.name, k] for k in range(1, len(self.spec.checks) + 1)]
        if not own:
            return ""
        return f"/* The status of each check. */\nstatic const int32_t {self._table}[{len(own)}] = {{{', '.join(map(str, own))}}};\n\n"

    @property
    def _table(self) -> str:
        return f"aot_statuses_of_{Symbols.in_library(self.entries.manifest, self.spec.name).typed}"

    def _status(self, check: str) -> str:
        other = f"{self._table}[{check} - 1]" if self.spec.checks else "AOTENSOR_NO_MEMORY"
        return f"{check} == 0 ? AOTENSOR_OK : {check} < 0 ? AOTENSOR_NO_MEMORY : {other}"

    # --- inputs and outputs ------------------------------------------------------------------------------------------

    def _check_inputs(self) -> None:
        for value in self.spec.arguments:
            name = self.inputs[value.name]
            if isinstance(value, SparseValue):
                group = next(x for x in self.spec.sparse_inputs if x.first == value.first)
                rows, columns = (self._extent(n) for n in value.shape)
                height, width = self._block(group)
                told = [name, f"AOTENSOR_{value.dtype.upper()}", f"AOTENSOR_{value.index_dtype.upper()}"]
                self.step(f"{self.entries.use('aot_check_header')}({', '.join([*told, rows, columns, str(height), str(width)])})")
                trusted = "context != NULL && (context->flags & AOTENSOR_CANONICAL) != 0" if self.spec.takes_context else "false"
                other = self._slices(group, other=True)
                self.step(f"{self.entries.use('aot_check_matrix')}({name}, {self._slices(group)}, {other}, {trusted})")
            else:
                self._need(name, value.dtype, [self._extent(n) for n in value.shape])

    def _need(self, name: str, dtype: str, extents: Sequence[str]) -> None:
        given = f"(const int64_t[]){{{', '.join(extents)}}}" if extents else "NULL"
        self.step(f"{self.entries.use('aot_need')}({name}, {DTYPE_SIZES[dtype]}, {len(extents)}, {given})")

    def _check_functions(self) -> None:
        for name in self.spec.lapack:
            self.put("if (status == AOTENSOR_OK")
            self.put("&& (context == NULL || context->blas == NULL", 3)
            self.put(f"|| context->blas->struct_size <= (int64_t)offsetof(aotensor_blas, {name})", 4)
            self.put(f"|| context->blas->{name} == NULL)) {{", 4)
            self.put("status = AOTENSOR_NO_FUNCTION;", 2)
            self.put("}")

    def _take_outputs(self) -> None:
        place = 0
        groups = {x.first: x for x in self.spec.sparse_outputs}
        hidden = {first + k for first in groups for k in (1, 2, 3)}
        for k, value in enumerate(self.spec.outputs):
            start = f"extents + {place}"
            if k in groups:
                name = self.outputs[groups[k].name]
                data, indices = self.spec.outputs[k + 1], self.spec.outputs[k + 2]
                told = [
                    "context", name, str(k), f"AOTENSOR_{data.dtype.upper()}", str(DTYPE_SIZES[data.dtype]),
                    f"AOTENSOR_{indices.dtype.upper()}", str(len(data.shape)), start,
                ]  # fmt: skip
                self.step(f"{self.entries.use('aot_give_matrix')}({', '.join(told)})")
            elif k in hidden:
                pass
            elif value.is_allocated:
                told = ["context", self.outputs[value.name], str(k), f"AOTENSOR_{value.dtype.upper()}"]
                told += [str(DTYPE_SIZES[value.dtype]), str(len(value.shape)), start]
                self.step(f"{self.entries.use('aot_give_array')}({', '.join(told)})")
            else:
                size = DTYPE_SIZES[value.dtype]
                given = f"({self.outputs[value.name]}, {size}, {len(value.shape)}, {start if value.shape else 'NULL'})"
                self.step(f"{self.entries.use('aot_need')}{given}")
            place += len(value.shape)

    # --- calls -------------------------------------------------------------------------------------------------------

    def _arguments(self, symbol: str, outputs: bool) -> Iterable[str]:
        """The addresses and unknown extents of inputs, and of outputs."""
        kinds = iter(self.written.parameters[symbol])
        groups = {x.first: x for x in self.spec.sparse_inputs}
        parts = {first + k: (x, k) for first, x in groups.items() for k in (0, 1, 2, 3)}
        for k, value in enumerate(self.spec.inputs):
            yield self._address(next(kinds), parts.get(k), self.inputs, value.name, value.dtype)
            for n in value.shape:
                if not isinstance(n, int):
                    next(kinds)
                    yield self._extent(n)
        if not outputs:
            return
        groups = {x.first: x for x in self.spec.sparse_outputs}
        parts = {first + k: (x, k) for first, x in groups.items() for k in (0, 1, 2, 3)}
        place = 0
        for k, value in enumerate(self.spec.outputs):
            is_array = value.is_allocated and k not in parts
            yield self._address(next(kinds), parts.get(k), self.outputs, value.name, value.dtype, is_array)
            for axis, n in enumerate(value.shape):
                if not isinstance(n, int):
                    next(kinds)
                    yield f"extents[{place + axis}]"
            place += len(value.shape)

    def _address(
        self,
        kind: str,
        part: tuple[SparseSpec, int] | None,
        names: Mapping[str, str],
        name: str,
        dtype: str,
        is_array: bool = False,
    ) -> str:
        if part is not None:
            group, which = part
            field_name = (None, "data", "indices", "indptr")[which]
            return "NULL" if field_name is None else f"({kind}){names[group.name]}->{field_name}"
        if is_array:
            return f"({kind}){names[name]}->data"
        is_read = names is self.inputs and not kind.startswith("const")  # a function of LAPACK may not say so
        if is_read:
            return f"({kind})(uintptr_t){names[name]}"
        is_other = C_TYPES[dtype] not in kind  # integers have a sign there, complex numbers are pairs
        return f"({kind}){names[name]}" if is_other else names[name]

    def _extents_arguments(self, ranks: int, count: int) -> list[str]:
        given = list(self._arguments(f"{self.spec.name}.extents", outputs=False))
        return [*given, *(["kept", str(2 * count)] if count else []), "extents", str(ranks + 1), "detail", self._context]

    @property
    def _context(self) -> str:
        return "(int8_t *)(void *)context"

    def _call(self, ranks: int, count: int) -> None:
        """Take a workspace, and call the kernel."""
        spec = self.spec
        is_sized = f"{spec.name}.workspace_bytes" in self.written.symbols
        self.put("if (status == AOTENSOR_OK) {")
        self.put(f"const int64_t needed = extents[{ranks}];", 2)
        self.put("void *own = NULL;", 2)
        self.put(f"int64_t room = workspace == NULL ? 0 : {'INT64_MAX' if is_sized else '0'};", 2)
        self.put("void *block = workspace;", 2)
        if spec.takes_context:
            self.put("if (workspace == NULL && context != NULL) {", 2)
            self.put("block = context->workspace;", 3)
            self.put("room = block == NULL ? 0 : context->workspace_bytes;", 3)
            self.put("}", 2)
        self.put(f"if (needed > INT64_MAX - {WORKSPACE_ALIGNMENT}) {{", 2)
        self.put("status = AOTENSOR_TOO_LARGE;", 3)
        self.put(f"}} else if (needed != 0 && room < needed + {WORKSPACE_ALIGNMENT}) {{", 2)
        if self.entries.manifest.allocates:
            self.put(f"own = malloc({self.entries.use('aot_room')}(needed + {WORKSPACE_ALIGNMENT}));", 3)
            self.put("block = own;", 3)
            self.put("status = own == NULL ? AOTENSOR_NO_MEMORY : AOTENSOR_OK;", 3)
        else:
            self.put("status = AOTENSOR_NO_MEMORY;", 3)
        self.put("}", 2)
        self.put("if (status == AOTENSOR_OK) {", 2)
        alignment = WORKSPACE_ALIGNMENT
        self.put(f"const uintptr_t past = (uintptr_t)block % {alignment}U;", 3)
        self.put(f"int8_t *const start = block == NULL || past == 0 ? (int8_t *)block : (int8_t *)block + ({alignment}U - past);", 3)
        kept = [f"(int8_t *)(uintptr_t)kept[{2 * k}], kept[{2 * k + 1}]" for k in range(count)]
        given = [*self._arguments(self.kernel, outputs=True), *kept, "start", "needed", "detail", self._context]
        self.put(f"check = {self.written.symbols[self.kernel]}({', '.join(given)});", 3)
        self.put("status = " + self._status("check") + ";", 3)
        self.put("}", 2)
        if self.entries.manifest.allocates:
            self.put("free(own);", 2)
        else:
            self.put("(void)own;", 2)
        self.put("}")


_LOCALS: Final = frozenset({
    "detail", "extents", "check", "status", "kept", "needed", "own", "room", "block", "past", "start", "bytes", *OWN,
})  # fmt: skip


def _apart(name: str) -> str:
    """The name of a parameter, which must not be one that the entry uses itself."""
    return f"{name}_in" if name in _LOCALS or name.startswith("aot_") else name


def _workspace(entries: Entries, spec: FunctionSpec) -> str:
    symbol = Symbols.in_library(entries.manifest, spec.name).workspace
    names = [_apart(name) for name in parameter_names(spec)[: len(spec.workspace_dims)]]
    given = dict(zip(spec.workspace_dims, names, strict=True))
    lines = [f"int64_t {symbol}({', '.join(f'int64_t {x}' for x in names) or 'void'})", "{"]
    function = entries.written.symbols.get(f"{spec.name}.workspace_bytes")
    if function is None:
        lines += [f"  (void){x};" for x in names]
        lines += ["  return -1; /* it depends on values */", "}"]
        return "\n".join(lines) + "\n"
    for group in spec.sparse_inputs:
        pattern, indptr = spec.inputs[group.first], spec.inputs[group.first + 3]
        extent, name = pattern.shape[group.major], indptr.shape[0]
        if isinstance(name, str) and name not in given:
            given[name] = f"{extent if isinstance(extent, int) else given[extent]} + 1"
    if names:
        lines += [f"  if ({' || '.join(f'{x} < 0' for x in names)}) {{", "    return -1;", "  }"]
    lines.append(f"  const int64_t bytes = {function}({', '.join(given[name] for name in spec.dims)});")
    lines += [f"  return bytes < 1 ? bytes : bytes + {WORKSPACE_ALIGNMENT};", "}"]
    return "\n".join(lines) + "\n"


def _messages(manifest: Manifest) -> str:
    """aotensor_status_message, aotensor_check_message_<library>, aotensor_abi_version."""
    own, codes = OwnSymbols.of(manifest), manifest.statuses()
    texts: dict[int, str] = {}
    for spec in manifest.functions:
        for number, check in enumerate(spec.checks, 1):
            code = codes[spec.name, number]
            if code >= Status.CHECK:
                texts[code] = f"{spec.name}: {check.static_text()}"
    common = {int(status): text for status, text in STATUS_TEXTS.items()}
    message = f"{manifest.prefix}aotensor_status_message"
    return "\n".join([
        f"#undef {message}",
        _switch(f"const char *{own.check_message}(int32_t status)", texts, "NULL", f"#define AOT_OWN_MESSAGE {own.check_message}"),
        _switch(f"static const char *aot_common_message(int32_t status)", common, "NULL"),
        f"const char *{message}(int32_t status)",
        "{",
        "  const char *text = aot_common_message(status);",
        f"  text = text != NULL ? text : {own.check_message}(status);",
        '  return text != NULL ? text : "unknown status";',
        "}",
        "",
        f"int32_t {manifest.prefix}aotensor_abi_version(void)",
        "{",
        f"  return {ABI_VERSION};",
        "}",
        "",
    ])  # fmt: skip


def _switch(head: str, texts: Mapping[int, str], otherwise: str, *before: str) -> str:
    lines = [head, "{", "  const char *text = NULL;"]
    if texts:
        lines.append("  switch (status) {")
        for code, text in texts.items():
            lines += [f"    case {code}:", f"      text = {_quoted(text)};", "      break;"]
        lines += ["    default:", "      break;", "  }"]
    else:
        lines.append("  (void)status;")
    return "\n".join([*lines, "  return text;", "}", ""])


def _quoted(text: str) -> str:
    """A literal with a text: ASCII, other characters by their bytes."""
    escaped = "".join(
        f"\\{x}" if x in '"\\' else x if " " <= x < "\x7f" else "".join(f"\\{b:03o}" for b in x.encode()) for x in text
    )
    return f'"{escaped}"'.replace("??", '?""?')

"""C of a function's typed entry: checks, extents, outputs, workspace, kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from aotensor.codegen.c_source.lines import Line, printed
from aotensor.codegen.c_source.source import CText
from aotensor.codegen.c_source.spelling import OWN
from aotensor.codegen.entry.names import Symbols
from aotensor.passes.checking.check_bounds import has_bounds_checks
from aotensor_runtime.abi import DTYPE_SIZES, WORKSPACE_ALIGNMENT
from aotensor_runtime.manifest import FunctionSpec, Manifest, SparseSpec, SparseValue
from aotensor_runtime.typed.parameters import C_TYPES, entry_parameters, parameter_names

_LOCALS: Final = frozenset({
    "detail", "extents", "check", "status", "kept", "needed", "own", "room", "block", "past", "start", "bytes", *OWN,
})  # fmt: skip


def distinct_names(spec: FunctionSpec) -> dict[str, str]:
    """Map names of dims, inputs and outputs to names in the C file, which differ from the file's own names."""
    names = parameter_names(spec)
    taken = {*names, *_LOCALS}
    found = {}
    for name in names:
        own = name
        while (own != name and own in taken) or own in _LOCALS or own.lower().startswith(("aot_", "aotensor_")):
            own = f"x_{own}"
        taken.add(own)
        found[name] = own
    return found


class TypedEntry:
    """Writes the typed entry of one function, step by step; each step is skipped after a failure."""

    def __init__(self, manifest: Manifest, written: CText, use: Callable[[str], str], spec: FunctionSpec) -> None:
        self.manifest, self.written, self.use, self.spec = manifest, written, use, spec
        self.lines: list[Line] = []
        apart = distinct_names(spec)
        names = list(apart.values())
        self.dims: dict[str, str] = dict(zip(spec.workspace_dims, names, strict=False))
        rest = names[len(spec.workspace_dims) :]
        self.inputs = dict(zip([x.name for x in spec.arguments], rest, strict=False))
        self.outputs = dict(zip([x.name for x in spec.produced], rest[len(spec.arguments) :], strict=True))
        for group in spec.sparse_inputs:
            self._matrix_dims(group)
        self.kernel = f"{spec.name}.kernel"

    def _matrix_dims(self, group: SparseSpec) -> None:
        data, indices, indptr = self.spec.inputs[group.first + 1 : group.first + 4]
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
        """Write a step that returns a status; it is executed if no step before has failed."""
        self.put("if (status == AOTENSOR_OK) {", depth)
        self.put(f"status = {text};", depth + 1)
        self.put("}", depth)

    def text(self) -> str:
        spec, manifest = self.spec, self.manifest
        symbol, apart = Symbols.in_library(manifest, spec.name).typed, distinct_names(spec)
        parameters = ", ".join(str(replace(x, name=apart.get(x.name, x.name))) for x in entry_parameters(spec))
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
            self.step(f"{self.use('aot_check_context')}(context)")
        for name in spec.typed_dims:
            self.put(f"if (status == AOTENSOR_OK && {self.dims[name]} < 0) {{")
            self.put("status = AOTENSOR_NEGATIVE;", 2)
            self.put("}")
        self._check_inputs()
        self._check_functions()
        self.put("if (status == AOTENSOR_OK) {")
        given = ", ".join(self._extents_arguments(ranks, count))
        self.put(f"check = {self.written.symbols[f'{spec.name}.extents']}({given});", 2)
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
        told = f"{self.use('aot_tell')}(context, status)" if spec.takes_context else "status"
        self.put(f"return {told};")
        head = [Line(f"int32_t {symbol}({parameters})", 0), Line("{", 0)]
        return self._codes() + printed([*head, *self.lines, Line("}", 0)])

    def _kept_count(self) -> int:
        found = self.written.parameters[self.kernel]
        numbers = sum(1 + sum(not isinstance(n, int) for n in x.shape) for x in self.spec.values)
        return (len(found) - numbers - 4) // 2

    def _codes(self) -> str:
        codes = self.manifest.statuses()
        own = [codes[self.spec.name, k] for k in range(1, len(self.spec.checks) + 1)]
        if not own:
            return ""
        lines = [
            Line("/* The status of each check. */", 0),
            Line(f"static const int32_t {self._table}[{len(own)}] = {{{', '.join(map(str, own))}}};", 0),
        ]
        return printed(lines) + "\n"

    @property
    def _table(self) -> str:
        return f"aot_statuses_of_{Symbols.in_library(self.manifest, self.spec.name).typed}"

    def _status(self, check: str) -> str:
        if not self.spec.checks:
            return f"{check} == 0 ? AOTENSOR_OK : AOTENSOR_NO_MEMORY"
        return f"{check} == 0 ? AOTENSOR_OK : {check} < 0 ? AOTENSOR_NO_MEMORY : {self._table}[{check} - 1]"

    # --- inputs and outputs ------------------------------------------------------------------------------------------

    def _check_inputs(self) -> None:
        for value in self.spec.arguments:
            name = self.inputs[value.name]
            if isinstance(value, SparseValue):
                group = next(x for x in self.spec.sparse_inputs if x.first == value.first)
                rows, columns = (self._extent(n) for n in value.shape)
                height, width = self._block(group)
                told = [name, f"AOTENSOR_{value.dtype.upper()}", f"AOTENSOR_{value.index_dtype.upper()}"]
                told += [rows, columns, str(height), str(width)]
                self.step(f"{self.use('aot_check_header')}({', '.join(told)})")
                trusted = (
                    "context != NULL && (context->flags & AOTENSOR_CANONICAL) != 0"
                    if self.spec.takes_context and not has_bounds_checks(self.spec)
                    else "false"
                )
                other = self._slices(group, other=True)
                self.step(f"{self.use('aot_check_matrix')}({name}, {self._slices(group)}, {other}, {trusted})")
            else:
                self._need(name, value.dtype, [self._extent(n) for n in value.shape])

    def _need(self, name: str, dtype: str, extents: Sequence[str]) -> None:
        given = f"(const int64_t[]){{{', '.join(extents)}}}" if extents else "NULL"
        self.step(f"{self.use('aot_need')}({name}, {DTYPE_SIZES[dtype]}, {len(extents)}, {given})")

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
                self.step(f"{self.use('aot_give_matrix')}({', '.join(told)})")
            elif k in hidden:
                pass
            elif value.is_allocated:
                told = ["context", self.outputs[value.name], str(k), f"AOTENSOR_{value.dtype.upper()}"]
                told += [str(DTYPE_SIZES[value.dtype]), str(len(value.shape)), start]
                self.step(f"{self.use('aot_give_array')}({', '.join(told)})")
            else:
                size = DTYPE_SIZES[value.dtype]
                given = f"({self.outputs[value.name]}, {size}, {len(value.shape)}, {start if value.shape else 'NULL'})"
                self.step(f"{self.use('aot_need')}{given}")
            place += len(value.shape)

    # --- calls -------------------------------------------------------------------------------------------------------

    def _arguments(self, symbol: str, outputs: bool) -> Iterable[str]:
        """The kernel's arguments for inputs and outputs: addresses, and the extents that types do not determine."""
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
        for k, output in enumerate(self.spec.outputs):
            is_array = output.is_allocated and k not in parts
            yield self._address(next(kinds), parts.get(k), self.outputs, output.name, output.dtype, is_array)
            for axis, extent in enumerate(output.shape):
                if not isinstance(extent, int):
                    next(kinds)
                    yield f"extents[{place + axis}]"
            place += len(output.shape)

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
        return [
            *given,
            *(["kept", str(2 * count)] if count else []),
            "extents",
            str(ranks + 1),
            "detail",
            self._context,
        ]

    @property
    def _context(self) -> str:
        return "(int8_t *)(void *)context"

    def _call(self, ranks: int, count: int) -> None:
        """Write the allocation of the workspace and the call of the kernel."""
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
        if self.manifest.allocates:
            self.put(f"own = malloc({self.use('aot_room')}(needed + {WORKSPACE_ALIGNMENT}));", 3)
            self.put("block = own;", 3)
            self.put("status = own == NULL ? AOTENSOR_NO_MEMORY : AOTENSOR_OK;", 3)
        else:
            self.put("status = AOTENSOR_NO_MEMORY;", 3)
        self.put("}", 2)
        self.put("if (status == AOTENSOR_OK) {", 2)
        alignment = WORKSPACE_ALIGNMENT
        self.put(f"const uintptr_t past = (uintptr_t)block % {alignment}U;", 3)
        self.put("int8_t *start = (int8_t *)block;", 3)
        self.put("if (block != NULL && past != 0) {", 3)
        self.put(f"start += {alignment}U - past;", 4)
        self.put("}", 3)
        kept = [f"(int8_t *)(uintptr_t)kept[{2 * k}], kept[{2 * k + 1}]" for k in range(count)]
        given = [*self._arguments(self.kernel, outputs=True), *kept, "start", "needed", "detail", self._context]
        self.put(f"check = {self.written.symbols[self.kernel]}({', '.join(given)});", 3)
        self.put("status = " + self._status("check") + ";", 3)
        self.put("}", 2)
        if self.manifest.allocates:
            self.put("free(own);", 2)
        else:
            self.put("(void)own;", 2)
        self.put("}")

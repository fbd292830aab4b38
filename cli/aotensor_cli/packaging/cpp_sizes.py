"""The sizes of outputs that no dim of a function has, as `n + m`: the C++ header asks the library before the call.

The entry on descriptors, called without memory for the outputs, fills in their extents and computes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from aotensor_runtime.abi import DTYPE_CODES
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, OutputSpec, SparseValue
from aotensor_runtime.typed.parameters import Parameter

_MEMORY: Final = "const_cast<void *>(static_cast<const void *>({}))"


def size_checks(
    spec: FunctionSpec,
    parameters: Sequence[Parameter],
    unsized: Sequence[Parameter],
    dims: Mapping[str, str],
    argument: Callable[[Parameter], str],
    calls: tuple[str, str],
) -> list[str]:
    """Lines of C++ that compare the sizes of the spans `unsized` with those that the library has for them.

    parameters: of the typed entry. dims: their names in C. argument: what the typed entry gets of a parameter.
    calls: the entry on descriptors, and the function that throws for a status.
    """
    taken = {x.name for x in parameters}
    extents_, inputs_, outputs_, sizing_, status_ = (
        _free(name, taken) for name in ("extents", "inputs", "outputs", "sizing", "status")
    )
    inputs = []
    for x in parameters:
        if isinstance(x.value, ArgumentSpec):
            inputs.append((argument(x), [_extent(n, dims) for n in x.value.shape], _code(x.value.dtype)))
        elif isinstance(x.value, SparseValue) and x.is_read_only:
            inputs += _parts(x.name, x.value)
    rows = [*inputs, *(("nullptr", ["0"] * len(output.shape), "0") for output in spec.outputs)]
    places = [0, *accumulate(len(shape) for _, shape, _ in rows)]
    extents = [n for _, shape, _ in rows for n in shape] or ["0"]
    arrays = [
        f"{{{_MEMORY.format(data)}, {extents_} + {place}, nullptr, {len(shape)}, {code}}}"
        for (data, shape, code), place in zip(rows, places, strict=False)
    ]
    context = next((x.name for x in parameters if x.type == "aotensor_context"), None)
    given = f"&{sizing_}" if context else "nullptr"
    entry, check = calls
    lines = [
        "  {",
        f"    std::int64_t {extents_}[] = {{{', '.join(extents)}}};",
        f"    const aotensor_array {inputs_}[] = {{{', '.join(arrays[: len(inputs)]) or '{}'}}};",
        f"    aotensor_array {outputs_}[] = {{{', '.join(arrays[len(inputs) :])}}};",
        *([f"    aotensor_context {sizing_} = {context};", f"    {sizing_}.allocate = nullptr;"] if context else []),
        f"    const std::int32_t {status_} = {entry}({given}, {inputs_}, {outputs_});",
        f"    if ({status_} != AOTENSOR_OUTPUTS_NEEDED) {check}({status_});",
    ]
    numbers = {value.name: len(inputs) + k for k, value in enumerate(spec.outputs)}
    for x in unsized:
        assert isinstance(x.value, OutputSpec)
        place = places[numbers[x.value.name]]
        found = ", ".join(f"{extents_}[{place + axis}]" for axis in range(len(x.value.shape)))
        elements = f"::aotensor::of_every_library::elements({{{found}}})"
        lines.append(f'    ::aotensor::of_every_library::require({x.name}.size(), {elements}, "{x.name}");')
    return [*lines, "  }"]


def _free(name: str, taken: set[str]) -> str:
    """A name for a local variable that no parameter has."""
    while name in taken:
        name += "_"
    return name


def _extent(n: int | str, dims: Mapping[str, str]) -> str:
    return str(n) if isinstance(n, int) else dims[n]


def _code(dtype: str) -> str:
    return str(DTYPE_CODES[dtype])


def _parts(name: str, value: SparseValue) -> list[tuple[str, list[str], str]]:
    """The four arrays of a sparse input: data, extents and dtype of each."""
    blocks = list(value.blocksize or ())
    slices = f"{name}.shape[{value.major}] / {blocks[value.major] if blocks else 1} + 1"
    return [
        ("nullptr", [f"{name}.shape[0]", f"{name}.shape[1]"], _code("bool")),
        (f"{name}.data", [f"{name}.nnz", *map(str, blocks)], f"{name}.dtype"),
        (f"{name}.indices", [f"{name}.nnz"], f"{name}.index_dtype"),
        (f"{name}.indptr", [slices], f"{name}.index_dtype"),
    ]

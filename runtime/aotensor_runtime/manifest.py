"""The manifest of a library: functions, arrays, checks, target. JSON with a strict schema and limits.

The text is in the library (section `.aotensor.manifest`) and is not trusted: every key, type, name and
cross-reference is checked, unknown keys are refused, and `ManifestError` names the path.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, get_args

from aotensor_runtime.abi import BLAS_FUNCTIONS, DTYPE_SIZES, LAPACK_FUNCTIONS, Status
from aotensor_runtime.json_node import MAX_NAME, ManifestError, Node, parsed, require
from aotensor_runtime.signature import (
    SPARSE_PARTS,
    ArgumentSpec,
    Check,
    Default,
    FunctionSpec,
    OutputKind,
    OutputSpec,
    SparseSpec,
    SparseValue,
    form_of,
    signature_text,
)
from aotensor_runtime.typed.inputs import leave_out_usual, read_input, read_output
from aotensor_runtime.typed.interfaces import OPTIONAL, InterfaceSpec, read_interface
from aotensor_runtime.typed.patterns import read_sparse
from aotensor_runtime.weights.spec import WeightsSpec, read_weights

__all__ = [
    "MAX_IDENTIFIER", "MAX_NAME", "SPARSE_PARTS", "ArgumentSpec", "Check", "Default", "FunctionSpec", "InterfaceSpec",
    "Manifest", "ManifestError", "OutputKind", "OutputSpec", "SparseSpec", "SparseValue", "ValuePool", "WeightsSpec",
    "form_of", "read_versions", "signature_text", "validate",
]  # fmt: skip

SCHEMA: Final = 3
MAX_BYTES: Final = 16 << 20
"""Largest manifest that is read, in bytes."""

MAX_IDENTIFIER: Final = 200
"""Most characters of a function's name."""
_IDENTIFIER: Final = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{MAX_IDENTIFIER - 1}}}")
_MAX_RANK: Final = 64
_MAX_SECTIONS: Final = 64
_MAX_FUNCTIONS: Final = 4096
_MAX_VALUES: Final = 1 << 14
"""Most inputs and outputs of a function."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a library: its producer, target machine and contents.

    target, cpu, features: as LLVM writes them. fp: strict, contract or fast. prefix: before every exported symbol.
    sections: names of the extra sections in the library, such as IR texts and test vectors. pipeline: the
    compiler's passes, if not the default ones. schedule: the hand-written schedule that it was compiled by, and its
    digest, if it has one. levels: of CPUs above `cpu` that have their own code.
    allocates: may its functions ask the C library for memory? freestanding: does it work without a C library?
    interfaces: of other projects, in addition to ours. weights: the file with its large constants, without which the
    library is not complete; None if it holds them itself.
    """

    name: str
    aotensor: str
    abi: int
    llvm: str
    target: str
    cpu: str
    features: str
    fp: str
    functions: tuple[FunctionSpec, ...]
    prefix: str = ""
    sections: tuple[str, ...] = ()
    pipeline: str = ""
    schedule: str = ""
    levels: tuple[str, ...] = ()
    allocates: bool = True
    freestanding: bool = False
    interfaces: tuple[InterfaceSpec, ...] = ()
    weights: WeightsSpec | None = None
    schema: int = field(default=SCHEMA)

    def to_json(self) -> str:
        """One line of ASCII; the same manifest gives the same text."""
        tree = asdict(self)
        # left out where they are default values, so that runtimes that do not know them read all other libraries
        for name, usual in _UNUSUAL.items():
            if tree[name] in (usual, ()):
                del tree[name]
        for interface in tree.get("interfaces", ()):
            for name in OPTIONAL:
                if not interface[name]:
                    del interface[name]
        for function in tree["functions"]:
            for name in _BOUNDS:
                if function[name] is None:
                    del function[name]
            leave_out_usual([*function["inputs"], *function["outputs"]])
            for group in (*function["sparse_inputs"], *function["sparse_outputs"]):
                if group["pattern"] is None:
                    del group["pattern"]
        return json.dumps(tree, separators=(",", ":"), sort_keys=True)

    @staticmethod
    def from_json(text: str | bytes) -> Manifest:
        """Parse and check a manifest.

        Raises: ManifestError for anything that `to_json` of a valid manifest would not write.
        """
        if len(text) > MAX_BYTES:
            raise ManifestError(f"manifest: {len(text)} bytes are more than the limit of {MAX_BYTES}")
        try:
            tree = parsed(text)
        except (ValueError, RecursionError) as error:
            raise ManifestError(f"manifest: not JSON ({error})") from error
        manifest = _manifest(Node(tree, "manifest"))
        for spec in manifest.functions:
            validate(spec)
        _distinct("manifest", "function", [spec.name for spec in manifest.functions])
        return manifest

    @property
    def processors(self) -> str:
        """The CPU that it was compiled for, or the levels selected from at run time."""
        return " or ".join((self.cpu, *self.levels))

    def function(self, name: str) -> FunctionSpec:
        """Raises: KeyError if there is none of that name."""
        for spec in self.functions:
            if spec.name == name:
                return spec
        raise KeyError(name)

    def typed_symbol(self, function: str) -> str:
        """The symbol of the typed entry of a function."""
        is_taken = any(function in interface.functions for interface in self.interfaces)
        return f"{self.prefix}{function}{'_typed' if is_taken else ''}"

    def status_of(self, function: str, check: int) -> int:
        """Status code of check number `check` (from 1) of a function.   Raises: KeyError"""
        return self.statuses()[function, check]

    def statuses(self) -> dict[tuple[str, int], int]:
        """Status codes by function and number of the check, from 1.

        A code is a hash of the check and the function: it is the same in every library with this check,
        and two libraries in one program do not use one code for two checks. Solvers that must converge have
        one code in all libraries.
        """
        codes: dict[tuple[str, int], int] = {}
        meaning: dict[int, str] = {}
        for spec in self.functions:
            for number, check in enumerate(spec.checks, 1):
                if check.kind == "convergence":
                    codes[spec.name, number] = int(Status.NOT_CONVERGED)
                    continue
                text = f"{spec.name}\0{check.kind}\0{check.message}"
                attempts = (_hashed(f"{text}\0{k}") for k in itertools.count())
                codes[spec.name, number] = next(x for x in attempts if meaning.setdefault(x, text) == text)
        return codes

    def check(self, status: int) -> tuple[FunctionSpec, Check] | None:
        """The function and the check of a status code; None if the code is not that of a check."""
        for (name, number), code in self.statuses().items():
            if code == status:
                spec = self.function(name)
                return spec, spec.checks[number - 1]
        return None


def _hashed(text: str) -> int:
    """A number of at most nine digits, at least `Status.CHECK`."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return int(Status.CHECK) + number % (10**9 - int(Status.CHECK))


class ValuePool:
    """Collects default values for the `values` section of one library: row-major little-endian bytes, aligned to 16.

    Add a shared variable once: functions with the same `Default` share its state.
    """

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, shape: Sequence[int], data: bytes) -> Default:
        """Store one value; returns the Default for its ArgumentSpec."""
        self._data.extend(bytes(-len(self._data) % 16))
        default = Default(tuple(shape), len(self._data), len(data))
        self._data.extend(data or b"\0")  # so that values have distinct offsets
        return default

    @property
    def data(self) -> bytes:
        return bytes(self._data)


def read_versions(text: bytes) -> tuple[int, int]:
    """ABI version and schema of a manifest that may have another schema; 0 for missing ones."""
    if len(text) > MAX_BYTES:
        return 0, 0
    try:
        tree = parsed(text)
    except (ValueError, RecursionError):
        return 0, 0
    found = [tree.get(name) if isinstance(tree, dict) else None for name in ("abi", "schema")]
    abi, schema = (version if type(version) is int else 0 for version in found)
    return abi, schema


def validate(spec: FunctionSpec) -> None:
    """Check one signature against itself.

    Raises: ManifestError naming the function and what is wrong.
    """
    where = f"function {spec.name}"
    require(_IDENTIFIER.fullmatch(spec.name) is not None, where, "the name is not a C identifier")
    _distinct(where, "input", [value.name for value in spec.inputs])
    _distinct(where, "output", [value.name for value in spec.outputs])
    _distinct(where, "dim", spec.dims)
    for name in spec.lapack:
        require(name in BLAS_FUNCTIONS + LAPACK_FUNCTIONS, where, f"the LAPACK function {name} is unknown")
    states = [value.default is not None for value in spec.inputs]
    require(states == sorted(states), where, "an input without a default follows one with")
    used = dict.fromkeys(n for value in spec.inputs for n in value.shape if isinstance(n, str))
    require(tuple(used) == spec.dims, where, f"dims {spec.dims} are not those of the inputs, {tuple(used)}")
    require(len(spec.values) <= _MAX_VALUES, where, f"more than {_MAX_VALUES} inputs and outputs")
    for value in spec.values:
        require(value.dtype in DTYPE_SIZES, where, f"{value.name} has the unknown dtype {value.dtype!r}")
        require(len(value.shape) <= _MAX_RANK, where, f"{value.name} has more than {_MAX_RANK} dims")
    for groups, values in ((spec.sparse_inputs, spec.inputs), (spec.sparse_outputs, spec.outputs)):
        _validate_groups(where, groups, values)
    for count in spec.workspace_dims[len(spec.typed_dims) :]:
        require(count not in spec.typed_dims, where, f"the dim {count} counts stored entries and something else")
    patterns = [group.name for group in spec.sparse_inputs]
    for value in spec.inputs:
        if value.default is not None:
            _validate_default(where, value, value.default, has_memory=value.name not in patterns)
    _validate_results(where, spec)


def _validate_groups(where: str, groups: Sequence[SparseSpec], values: Sequence[ArgumentSpec | OutputSpec]) -> None:
    """Check sparse matrices: four arrays each, in order, with the required names, dtypes and ranks."""
    end = 0
    for group in groups:
        require(group.format in ("csr", "csc", "bsr"), where, f"{group.name} has the unknown format {group.format!r}")
        require(end <= group.first <= len(values) - 4, where, f"{group.name} is not four arrays of its own")
        end = group.first + 4
        pattern, data, indices, indptr = values[group.first : end]
        names = (group.name, *(f"{group.name}.{part}" for part in SPARSE_PARTS))
        found = (pattern.name, data.name, indices.name, indptr.name)
        require(found == names, where, f"the arrays of {group.name} have the names {', '.join(found)}")
        ranks = [len(value.shape) for value in (pattern, data, indices, indptr)]
        rank = 3 if group.format == "bsr" else 1
        require(ranks == [2, rank, 1, 1] and pattern.dtype == "bool", where, f"{group.name} has arrays of other ranks")
        is_known = all(isinstance(n, int) and n > 0 for n in data.shape[1:])
        require(is_known, where, f"{group.name} has blocks whose size is not a number")
        is_index = indices.dtype == indptr.dtype and indices.dtype in ("int32", "int64")
        require(is_index, where, f"{group.name} has indices of dtypes {indices.dtype} and {indptr.dtype}")
        if isinstance(pattern, ArgumentSpec):
            require(data.shape[:1] == indices.shape, where, f"data and indices of {group.name} have different dims")
            require(isinstance(data.shape[0], str), where, f"{group.name} has a fixed number of stored entries")


def _validate_default(where: str, value: ArgumentSpec, default: Default, has_memory: bool) -> None:
    require(len(default.shape) == len(value.shape), where, f"the default of {value.name} has another rank")
    size = math.prod(default.shape) * DTYPE_SIZES[value.dtype] if has_memory else 0
    require(default.size == size, where, f"the default of {value.name} has {default.size} bytes, not {size}")
    agree = all(isinstance(n, str) or n == m for n, m in zip(value.shape, default.shape, strict=True))
    require(agree, where, f"the default of {value.name} has another shape")


def _validate_results(where: str, spec: FunctionSpec) -> None:
    states = {value.name: _kind_of(value) for value in spec.arguments if value.default is not None}
    outputs = {value.name: _kind_of(value) for value in spec.produced}
    for state, output in spec.updates:
        require(state in states and output in outputs, where, f"the update {state} = {output} names no such values")
        require(states[state] == outputs[output], where, f"the update {state} = {output} changes the dtype or format")
    _distinct(where, "updated variable", [state for state, _ in spec.updates])
    _distinct(where, "update", [output for _, output in spec.updates])
    require(spec.output_kind in get_args(OutputKind), where, f"output kind {spec.output_kind!r} is unknown")
    count = len(spec.results)
    expected = {"single": 1, "none": 0}.get(spec.output_kind, count)
    require(count == expected, where, f"{count} outputs do not fit the output kind {spec.output_kind!r}")


def _kind_of(value: ArgumentSpec | OutputSpec | SparseValue) -> tuple[str, ...]:
    """The properties that an update must not change."""
    return (value.dtype, form_of(value), value.index_dtype) if isinstance(value, SparseValue) else (value.dtype,)


def _distinct(where: str, what: str, names: Sequence[str]) -> None:
    doubles = [name for name, count in Counter(names).items() if count > 1]
    require(not doubles, where, f"{what} {', '.join(doubles)} appears twice")


def _check(node: Node) -> Check:
    kind, message = node.fields("kind", "message")
    return Check(kind.name(), message.text())


def _pair(node: Node) -> tuple[str, str]:
    pair = node.items(Node.name)
    require(len(pair) == 2, node.path, "expected two names")
    return pair[0], pair[1]


def _kind(node: Node) -> OutputKind:
    kind: OutputKind | None = next((kind for kind in get_args(OutputKind) if kind == node.value), None)
    if kind is None:
        raise ManifestError(f"{node.path}: unknown output kind")
    return kind


_BOUNDS: Final = {"workspace": None, "stack": None}


def _function(node: Node) -> FunctionSpec:
    names = ("name", "dims", "inputs", "outputs", "output_kind", "updates", "checks")
    name, dims, inputs, outputs, kind, updates, checks, calls_blas, lapack, downcast, doc, source, *sparse = (
        node.fields(
            *names, "calls_blas", "lapack", "allow_input_downcast", "doc", "source", "sparse_inputs", "sparse_outputs",
            *_BOUNDS, optional=_BOUNDS,
        )
    )  # fmt: skip
    return FunctionSpec(
        name=name.name(),
        dims=dims.items(Node.name),
        inputs=inputs.items(read_input),
        outputs=outputs.items(read_output),
        output_kind=_kind(kind),
        updates=updates.items(_pair),
        checks=checks.items(_check),
        calls_blas=calls_blas.boolean(),
        lapack=lapack.items(Node.name),
        allow_input_downcast=downcast.boolean(),
        doc=doc.text(),
        source=source.text(),
        sparse_inputs=sparse[0].items(read_sparse),
        sparse_outputs=sparse[1].items(read_sparse),
        workspace=sparse[2].extent_or_none(),
        stack=sparse[3].optional(Node.count),
    )


_UNUSUAL: Final[dict[str, object]] = {
    "schedule": "", "levels": [], "allocates": True, "freestanding": False, "interfaces": [],
    "weights": None,
}  # fmt: skip
"""Fields that older libraries lack, with their values for these."""


def _manifest(node: Node) -> Manifest:
    names = ("name", "aotensor", "abi", "llvm", "target", "cpu", "features", "fp", "functions", "prefix", "sections")
    name, version, abi, llvm, target, cpu, features, fp, functions, prefix, sections, *rest = node.fields(
        *names, "pipeline", "schedule", "levels", "allocates", "freestanding", "schema",
        "interfaces", "weights", optional=_UNUSUAL,
    )  # fmt: skip
    pipeline, schedule, levels, allocates, freestanding, schema, interfaces, weights = rest
    require(len(sections.items(Node.name)) <= _MAX_SECTIONS, "manifest", f"more than {_MAX_SECTIONS} extra sections")
    require(len(functions.items(lambda x: x)) <= _MAX_FUNCTIONS, "manifest", f"more than {_MAX_FUNCTIONS} functions")
    require(schema.count() == SCHEMA, "manifest", f"schema {schema.value} is not {SCHEMA}")
    return Manifest(
        name=name.name(),
        aotensor=version.name(),
        abi=abi.count(),
        llvm=llvm.name(),
        target=target.name(),
        cpu=cpu.text(),
        features=features.text(),
        fp=fp.name(),
        functions=functions.items(_function),
        prefix=prefix.text(),
        sections=sections.items(Node.name),
        pipeline=pipeline.text(),
        schedule=schedule.text(),
        levels=levels.items(Node.name),
        allocates=allocates.boolean(),
        freestanding=freestanding.boolean(),
        interfaces=interfaces.items(read_interface),
        weights=weights.optional(read_weights),
        schema=SCHEMA,
    )

"""The manifest entries of functions, with checks and first values of shared variables; and the work of a call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aotensor.core.dtypes import INTEGERS
from aotensor.core.types import Array, dim_name
from aotensor.driver.definition import Definition
from aotensor.errors import UnsupportedError
from aotensor.graph.sparse_type import SparseTensorType
from aotensor.graph.variable import SharedVariable, Variable
from aotensor.ir.build import BuiltFunction
from aotensor.passes.emit.library import calls_product
from aotensor.passes.estimate import Estimate, count_flops
from aotensor.passes.lapack.lower import needed_functions
from aotensor.sparse.boundary import SparseValue
from aotensor.sparse.construct.pattern import constant_values
from aotensor_runtime.manifest import (
    SPARSE_PARTS,
    ArgumentSpec,
    Check,
    Default,
    FunctionSpec,
    OutputKind,
    OutputSpec,
    SparseSpec,
    ValuePool,
)
from aotensor_runtime.typed.patterns import packed_pattern

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class SharedValues(ValuePool):
    """First values of shared variables; functions that share a variable share its defaults, and so its state."""

    def __init__(self) -> None:
        super().__init__()
        self._defaults: dict[SharedVariable, tuple[Default, ...]] = {}

    def defaults(self, x: Variable) -> Sequence[Default | None]:
        """First values of an input's arrays; None if it has none, four arrays for a sparse matrix."""
        if not isinstance(x, SharedVariable):
            return (None, None, None, None) if x.is_sparse else (None,)
        if x not in self._defaults:
            value: Any = x.get_value(borrow=True)
            arrays = [value]
            if isinstance(x.type, SparseTensorType):
                arrays = [value.data, *(part.astype(x.type.index_dtype) for part in (value.indices, value.indptr))]
            pattern = [self.add(value.shape, b"")] if x.is_sparse else []
            self._defaults[x] = (*pattern, *(self.add(part.shape, _little_endian(part)) for part in arrays))
        return self._defaults[x]


def _little_endian(x: Array) -> bytes:
    return x.astype(x.dtype.newbyteorder("<")).tobytes()


def function_spec(f: Definition, built: BuiltFunction, pool: SharedValues, module: ModuleOp) -> FunctionSpec:
    """The manifest entry of a function.   module: at loop level, from which external functions are read"""
    flat = f.flat
    names = _part_names(flat.sparse_arguments), _part_names(flat.sparse_results)
    defaults = [default for x in f.arguments.values() for default in pool.defaults(x)]
    inputs = []
    for k, ((name, x), default) in enumerate(zip(flat.arguments.items(), defaults, strict=True)):
        dtype, extents = flat.as_given(name, x.dtype, x.tensor_type.shape)
        layout = flat.layout(name, is_result=False)
        extents = extents[::-1] if layout == "F" else extents
        shape = tuple(n if isinstance(n, int) else dim_name(name, axis, n) for axis, n in enumerate(extents))
        wish = f.declared.get(name)
        marks = (wish.data, wish.manifold or "") if wish is not None else (False, "")
        inputs.append(ArgumentSpec(names[0].get(k, name), dtype, shape, default, *marks, layout))
    counted = {n for k in names[0] for n in inputs[k].shape}
    outputs, leaves = [], list(flat.results.values())
    for k, ((name, x), extents) in enumerate(zip(flat.results.items(), built.output_extents, strict=True)):
        known = tuple(n if isinstance(n, int) or not (k in names[1] or _words(n) & counted) else None for n in extents)
        dtype, known = flat.as_given(name, x.dtype, known)
        layout = flat.layout(name, is_result=True)
        if layout == "F" and None in known:
            raise UnsupportedError(
                f"{f.name}: the extents of output {name} depend on values, so it has no layout 'F'",
                hint="leave out layout='F'",
            )
        outputs.append(OutputSpec(names[1].get(k, name), dtype, known[::-1] if layout == "F" else known, layout))
    return FunctionSpec(
        name=f.name,
        dims=tuple(dict.fromkeys(n for a in inputs for n in a.shape if isinstance(n, str))),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        output_kind=_output_kind(f),
        updates=tuple(f.updates.items()),
        checks=tuple(Check(kind, _unicode(message)) for kind, message in built.checks),
        calls_blas=calls_product(module, f.name),
        lapack=needed_functions(module, f.name),
        allow_input_downcast=f.allow_input_downcast,
        doc=_unicode(f.doc),
        sparse_inputs=tuple(
            SparseSpec(x.name, x.type.format, x.first, _declared_pattern(f, x.name)) for x in flat.sparse_arguments
        ),
        sparse_outputs=tuple(
            SparseSpec(x.name, x.type.format, x.first, _pattern(leaves[x.first : x.first + 4], outputs[x.first :]))
            for x in flat.sparse_results
        ),
    )


def _declared_pattern(f: Definition, name: str) -> str | None:
    """The declared pattern of a sparse input, as stored in the manifest; None if callers choose the pattern."""
    if name not in f.patterned_arguments:
        return None
    found = f.declared[name].pattern
    return packed_pattern(found.indptr, found.indices)


def _pattern(leaves: Sequence[Variable], specs: Sequence[OutputSpec]) -> str | None:
    """The pattern of a sparse output, as stored in the manifest; None if it depends on values.   leaves: its four
    arrays
    """
    if leaves[1].ndim != 1 or any(not isinstance(n, int) for spec in specs[:4] for n in spec.shape):
        return None
    found = constant_values([leaves[3], leaves[2]])
    return None if found is None else packed_pattern(*found)


def _unicode(text: str) -> str:
    """A user's text, such as a path in a message, with lone surrogates escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _part_names(values: Sequence[SparseValue]) -> dict[int, str]:
    """Number of an array → its name, for the arrays that are parts of a sparse matrix."""
    return {x.first + k: f"{x.name}.{part}" for x in values for k, part in enumerate(SPARSE_PARTS, 1)}


def _words(extent: int | str | None) -> set[int | str]:
    """The names of dims in the formula of an extent."""
    return set(re.findall(r"\w+", extent)) if isinstance(extent, str) else set()


def _output_kind(f: Definition) -> OutputKind:
    kinds: dict[str, OutputKind] = {"single": "single", "list": "list", "dict": "dict", "none": "none"}
    return kinds[f.output_kind]


def work_of(module: ModuleOp, spec: FunctionSpec, sizes: Mapping[str, int] | None = None) -> Estimate:
    """The number of floating point operations of a call, as a formula.   sizes: of dims, numbers instead of names"""
    slices = {}
    for group in spec.sparse_inputs:
        pattern, entries = spec.inputs[group.first : group.first + 2]
        found = entries.shape[0], pattern.shape[group.major] if len(entries.shape) == 1 else None
        if found[0] is not None and found[1] is not None:
            slices[group.first + 3] = (found[0], found[1])
    known = {n for value in spec.values for n in value.shape}
    numbers = [(k, x) for k, x in enumerate(spec.inputs) if not x.shape and x.dtype in INTEGERS]
    counts = {k: x.name for k, x in numbers if x.name not in known}
    shapes = [[(sizes or {}).get(n, n) if isinstance(n, str) else n for n in shape] for shape in spec.kernel_shapes]
    return count_flops(module, f"{spec.name}.kernel", shapes, slices, counts)

"""PyTensor's mode "AOTENSOR": a linker that compiles whole graphs after PyTensor's rewrites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pytensor.compile import mode as modes
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.link.basic import JITLinker

import aotensor as aot
from aotensor.errors import AotensorError
from aotensor.importers.pytensor.control import MESSAGES
from aotensor.importers.pytensor.table import Walk
from aotensor.importers.pytensor.values import generator_of, kind_of, state_of, symbol

MODE: Final = "AOTENSOR"

EXCLUDED: Final = (
    "cxx_only", "BlasOpt", "inplace", "fusion", "local_careduce_fusion", "scan_save_mem", "scan_save_mem_prealloc",
    "scan_save_mem_no_prealloc", "scan_reduce_trace_prealloc", "scan_reduce_trace_no_prealloc",
    "reuse_lu_decomposition_multiple_solves", "scan_split_non_sequence_lu_decomposition_solve",
)  # fmt: skip
"""Rewrites that prepare for another machine: calls of C and BLAS, work in place, loops over one element, buffers that
turn. The compiler has its own."""


class AotensorLinker(JITLinker):  # type: ignore[misc]
    """A PyTensor linker that compiles the whole graph as one function."""

    required_rewrites = ("minimum_compile",)
    incompatible_rewrites = EXCLUDED

    def fgraph_convert(self, fgraph: Any, **kwargs: Any) -> Callable[..., list[Any] | None]:
        """The function of NumPy values.   Raises: NoCounterpart"""
        symbols = {x: symbol(x) for x in fgraph.inputs}
        for x in symbols.values():
            x.name = None  # PyTensor lets several inputs have one name
        results = Walk(symbols, has_derivatives=False).run(fgraph.outputs)
        compiled = aot.function(list(symbols.values()), results, name="graph", on_unused_input="ignore")
        return _caller(compiled, [kind_of(x) for x in fgraph.inputs], fgraph.outputs)

    def create_thunk_inputs(self, storage_map: Mapping[Any, Any]) -> list[Any]:
        return [storage_map[x] for x in self.fgraph.inputs]

    def jit_compile(self, fn: Callable[..., list[Any] | None]) -> Callable[..., list[Any] | None]:
        return fn


def _caller(compiled: Any, kinds: Sequence[str], outputs: Sequence[Any]) -> Callable[..., list[Any] | None]:
    """Wrap a compiled function for PyTensor's values: generators of random numbers are converted to states."""
    generators = [k for k, kind in enumerate(kinds) if kind == "generator"]
    states = [k for k, x in enumerate(outputs) if kind_of(x) == "generator"]

    def call(*values: Any) -> list[Any] | None:
        given = list(values)
        for k in generators:
            given[k] = state_of(given[k])
        try:
            results = compiled(*given)
        except AotensorError as error:
            raise _declared_exception(error) from error
        for k in states:
            results[k] = generator_of(results[k])
        return list(results) if outputs else None

    call.function = compiled  # type: ignore[attr-defined]
    return call


def _declared_exception(error: AotensorError) -> Exception:
    """The exception type that a PyTensor check declares, or the error itself."""
    text = error.diagnostic.title
    for message, kind in MESSAGES.items():
        if message in text:
            return kind(message)
    return error


def _register() -> None:
    """Register the mode in PyTensor, once."""
    if MODE not in modes.predefined_modes:
        query = RewriteDatabaseQuery(include=["fast_run"], exclude=list(EXCLUDED))
        modes.register_mode(MODE, modes.Mode(AotensorLinker(), query))


_register()

"""The list of passes from tensor level to loop level, and the runner that times, verifies and dumps each pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from aotensor.errors import AotensorError, InternalError
from aotensor.graph.passes.pipeline import DEFAULT, Pipeline
from aotensor.graph.passes.remarks import Notes, listening, running
from aotensor.graph.passes.run import PassRecord
from aotensor.ir.forms import NEST_FORM, Form, Verifier
from aotensor.ir.nest.verify import verify_nests
from aotensor.ir.text import text_of
from aotensor.ir.upstream import first_operations
from aotensor.passes.canonicalize import canonicalize
from aotensor.passes.emit.emit_loops import emit_loops
from aotensor.passes.expand_math import expand_math
from aotensor.passes.functions.vectorize_functions import vectorize_functions
from aotensor.passes.gemm.dispatch import add_gemm_kernels
from aotensor.passes.lapack.small_matrices import small_matrices
from aotensor.passes.memory.plan_memory import plan_memory
from aotensor.passes.memory.reuse_shape_results import reuse_shape_results
from aotensor.passes.nest.assign_memory import assign_memory
from aotensor.passes.nest.block import strip_mine
from aotensor.passes.nest.coalesce import coalesce
from aotensor.passes.nest.cores.parallelize import parallelize
from aotensor.passes.nest.eliminate_copies import eliminate_copies
from aotensor.passes.nest.fuse import fuse
from aotensor.passes.nest.interchange import interchange
from aotensor.passes.nest.lower_to_nest import lower_to_nest
from aotensor.passes.nest.mark_independent import mark_independent
from aotensor.passes.nest.prefetch import prefetch
from aotensor.passes.nest.rematerialize import rematerialize
from aotensor.passes.nest.scalar_replacement import scalar_replacement
from aotensor.passes.nest.split_by_row import split_by_row
from aotensor.passes.nest.tile_columns import tile_columns
from aotensor.passes.nest.unroll_and_jam import unroll_and_jam
from aotensor.passes.nest.vectorize import vectorize
from aotensor.passes.nest.vectorize_known_trip_count import vectorize_known_trip_count
from aotensor.passes.nest.vectorize_rows import vectorize_rows
from aotensor.passes.outlining.merge_functions import merge_functions
from aotensor.passes.outlining.outline import outline
from aotensor.passes.outlining.outline_chunks import outline_chunks
from aotensor.passes.outlining.outline_math import outline_math
from aotensor.passes.products.factor_sums import factor_sums
from aotensor.passes.products.fold_constant_copies import fold_constant_copies
from aotensor.passes.products.transpose_small_operands import transpose_small_operands
from aotensor.passes.registry import Pass, declaration
from aotensor.passes.scans.tile_scan_batch import tile_scan_batch
from aotensor.passes.scatter_to_reduction import scatter_to_reduction
from aotensor.passes.select_by_blocks import select_by_blocks
from aotensor.passes.stabilize import stabilize
from aotensor.passes.target import Target
from aotensor.passes.value_numbering import value_numbering
from aotensor.passes.vectorizer_hints import vectorizer_hints
from aotensor.passes.windows.eliminate_fills import eliminate_fills
from aotensor.passes.windows.index_set_splitting import index_set_splitting
from aotensor.passes.windows.inline_producers import inline_producers
from aotensor.passes.windows.inline_slices import inline_slices
from aotensor.passes.windows.overlapped_tiling import overlapped_tiling
from aotensor_runtime.systems.scratch import writes_to

TENSOR: Final = (
    canonicalize, value_numbering, stabilize, canonicalize, factor_sums, eliminate_fills, inline_slices,
    inline_producers, scatter_to_reduction, canonicalize,
)  # fmt: skip
NEST: Final = (
    tile_scan_batch, transpose_small_operands, fold_constant_copies, lower_to_nest, eliminate_copies, rematerialize,
    split_by_row, interchange, fuse, scalar_replacement, strip_mine, tile_columns, assign_memory, coalesce,
    vectorize_rows, unroll_and_jam, mark_independent, small_matrices, vectorize_known_trip_count, vectorize,
    overlapped_tiling, parallelize, index_set_splitting, prefetch, select_by_blocks,
)  # fmt: skip
LOOPS: Final = (
    reuse_shape_results, emit_loops, plan_memory, vectorizer_hints, outline_chunks, outline, merge_functions,
)  # fmt: skip
MATH: Final = (vectorize_functions, expand_math, outline_math)
"""The passes of each level in order. Those of `MATH` define elementary functions, after all others."""


@lru_cache(maxsize=64)
def recipe(
    functions: tuple[Callable[..., None], ...], target: Target, pipeline: Pipeline = DEFAULT
) -> tuple[Pass, ...]:
    """The passes of a list that a pipeline contains, in the pipeline's order, with the options that it sets."""
    options = {one.name: dict(one.options) for one in pipeline.passes}
    bound = {pass_.name: pass_ for f in dict.fromkeys(functions) for pass_ in [declaration(f).bound(target, options)]}
    return tuple(bound[one.name] for one in pipeline.passes if one.name in bound)


_MOST: Final = Target()
TENSOR_RECIPE, NEST_RECIPE, LOOP_RECIPE, MATH_RECIPE = (recipe(level, _MOST) for level in (TENSOR, NEST, LOOPS, MATH))
"""The passes for a target with every feature."""
EXPAND_MATH: Final = declaration(expand_math).bound(_MOST, {})
"""For a target without lookup tables in registers."""


def library_recipe(vector_bits: int, target: Target = _MOST) -> tuple[Pass, ...]:
    """The passes that add the functions that loops call: matrix products and elementary functions.

    A library contains its matrix products as a separate part, which these passes build; its other functions need
    `EXPAND_MATH` only.

    vector_bits: width of the machine's vector registers. target: other properties of the machine.
    """

    def gemm(module: ModuleOp) -> None:
        add_gemm_kernels(module, vector_bits // 8, target)

    return replace(declaration(add_gemm_kernels).bound(target, {}), run=gemm), EXPAND_MATH


Observer: TypeAlias = Callable[[str, ModuleOp, bool], None]


class PassRunner:
    """Runs passes over one module.

    verify: check the IR and the form after every pass; a violation is an InternalError that names the pass. dump: a
    folder that receives the text after every pass that changed something. notes: list that receives the passes'
    remarks. observers: called with the pass name, the module, and whether the pass is still to run.
    """

    def __init__(self, verify: bool = False, dump: Path | None = None, observers: Sequence[Observer] = ()) -> None:
        self.verify = verify
        self.dump = dump
        self.observers = observers
        self.records: list[PassRecord] = []
        self.notes = Notes()
        self._number = 0
        self._verifier = Verifier()

    @contextmanager
    def noting(self, name: str) -> Iterator[None]:
        """Context manager: record remarks made inside it in `notes`, under this pass name."""
        with listening(self.notes):
            running(name)
            yield

    def run(self, module: ModuleOp, passes: Sequence[Pass]) -> None:
        size, given = _size(module), None
        for step in passes:
            if self.verify and step.needs is not given:
                step.needs.check(module, f"before {step.name}")
            self.tell(step.name, module, is_before=True)
            before, start = size, time.perf_counter()
            with self.noting(step.name), _named(step.name):
                step.run(module)
            seconds, size = time.perf_counter() - start, _size(module)
            self.records.append(PassRecord(step.name, seconds, before, size))
            if self.verify:
                self.check(module, step.gives, step.name)
                given = step.gives
            self.tell(step.name, module)
            self.write(step.name, "mlir", lambda: text_of(module, brief=True))

    def tell(self, name: str, module: ModuleOp, is_before: bool = False) -> None:
        """Call the observers: a pass is about to run on the module, has run, or a stage is reached."""
        for observer in self.observers:
            observer(name, module, is_before)

    def check(self, module: ModuleOp, form: Form, made_by: str) -> None:
        """Verify a module and its form.   Raises: InternalError naming the pass that broke it."""
        try:
            self._verifier.verify(module)
            if form is NEST_FORM:
                verify_nests(module)
        except VerifyException as error:
            raise InternalError(f"pass {made_by} left invalid IR", lines=str(error).splitlines()[:20]) from error
        form.check(module, made_by)

    def write(self, name: str, suffix: str, text: Callable[[], str]) -> None:
        """Write a stage's text to the dump folder, numbered in order."""
        if self.dump is None:
            return
        content = text()
        with writes_to(self.dump, "folder for dumps", "free some space there, or name another folder"):
            self.dump.mkdir(parents=True, exist_ok=True)
            path = self.dump / f"{self._number:02d}-{name}.{suffix}"
            try:
                path.write_text(content)
            except OSError:
                path.unlink(missing_ok=True)  # not half a stage
                raise
        self._number += 1


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Context manager: report an exception inside it as an InternalError that names this pass."""
    try:
        yield
    except (AotensorError, MemoryError):
        raise
    except Exception as error:
        raise InternalError(f"pass {name} failed: {type(error).__name__}: {error}") from error


def _size(module: ModuleOp) -> int:
    """The number of operations of a module."""
    count, pending = 1, [module.body.block.first_op]
    while pending:
        op = pending.pop()
        while op is not None:
            count += 1
            if op.regions:
                pending += first_operations(op.regions)
            op = op._next_op
    return count

"""The list of passes from tensor level to loop level, and the runner that times, verifies and dumps each pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.utils.exceptions import VerifyException

from aotensor.errors import AotensorError, InternalError
from aotensor.graph.passes.pipeline import DEFAULT, Pipeline
from aotensor.graph.passes.remarks import Notes, listening, running
from aotensor.graph.passes.run import PassRecord
from aotensor.ir.forms import LOOP_FORM, NEST_FORM, TENSOR_FORM, Form
from aotensor.ir.nest.verify import verify_nests
from aotensor.ir.text import text_of
from aotensor.ir.upstream import walk
from aotensor.passes.canonicalize import canonicalize
from aotensor.passes.emit.emit_loops import emit_loops
from aotensor.passes.expand_math import expand_math
from aotensor.passes.gemm.dispatch import add_gemm_kernels
from aotensor.passes.lapack.small_matrices import small_matrices
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
from aotensor.passes.plan_memory import plan_memory
from aotensor.passes.products.factor_sums import factor_sums
from aotensor.passes.products.transpose_small_operands import transpose_small_operands
from aotensor.passes.reuse_shape_results import reuse_shape_results
from aotensor.passes.scans.tile_scan_batch import tile_scan_batch
from aotensor.passes.scatter_to_reduction import scatter_to_reduction
from aotensor.passes.stabilize import stabilize
from aotensor.passes.target import Target
from aotensor.passes.value_numbering import value_numbering
from aotensor.passes.vectorizer_hints import vectorizer_hints
from aotensor.passes.windows.index_set_splitting import index_set_splitting
from aotensor.passes.windows.inline_producers import inline_producers
from aotensor.passes.windows.inline_slices import inline_slices
from aotensor.passes.windows.overlapped_tiling import overlapped_tiling
from aotensor_runtime.systems.scratch import writes_to


@dataclass(frozen=True)
class Pass:
    """A named transformation of a module, with the form that it requires and the form that it produces."""

    name: str
    run: Callable[[ModuleOp], None]
    needs: Form
    gives: Form


TENSOR_RECIPE: Final = (
    Pass("canonicalize", canonicalize, TENSOR_FORM, TENSOR_FORM),
    Pass("value-numbering", value_numbering, TENSOR_FORM, TENSOR_FORM),
    Pass("stabilize", stabilize, TENSOR_FORM, TENSOR_FORM),
    Pass("canonicalize", canonicalize, TENSOR_FORM, TENSOR_FORM),
    Pass("factor-sums", factor_sums, TENSOR_FORM, TENSOR_FORM),
    Pass("inline-slices", inline_slices, TENSOR_FORM, TENSOR_FORM),
    Pass("inline-producers", inline_producers, TENSOR_FORM, TENSOR_FORM),
    Pass("scatter-to-reduction", scatter_to_reduction, TENSOR_FORM, TENSOR_FORM),
    Pass("canonicalize", canonicalize, TENSOR_FORM, TENSOR_FORM),
)


_FACTS: Final = {
    ("strip-mine", "elements"): ["block_elements"],
    ("tile-columns", "prefetch-distance"): ["prefetch_distance"],
    ("prefetch", "entries"): ["entries_ahead"],
    ("unroll-and-jam", "by"): ["jam", "jam_products"],
    ("vectorize", "interleave"): ["interleave", "interleave_plain"],
    ("vectorizer-hints", "interleave"): ["interleave", "interleave_crowded"],
    ("outline", "loops-together"): ["loops_together"],
    ("outline-math", "operations"): ["inlined_operations", "inlined_in_module"],
    ("small-matrices", "largest"): ["largest_generated"],
    ("overlapped-tiling", "together"): ["sweeps_together"],
    ("overlapped-tiling", "window"): ["window_rows"],
    ("parallelize", "chunk-work"): ["chunk_work"],
    ("parallelize", "most-chunks"): ["most_chunks"],
}
"""(pass, option) → the fields of `Target` that the option overrides."""


def chosen_passes(passes: Sequence[Pass], pipeline: Pipeline) -> tuple[Pass, ...]:
    """The passes that a pipeline contains, in the pipeline's order."""
    by_name = {step.name: step for step in passes}
    return tuple(by_name[one.name] for one in pipeline.passes if one.name in by_name)


def _options(pipeline: Pipeline, name: str) -> dict[str, int]:
    """The options that a pipeline sets for a pass."""
    return dict(option for one in pipeline.passes if one.name == name for option in one.options)


def _facts(target: Target, pipeline: Pipeline, name: str) -> Target:
    """The target as a pass sees it: properties of the machine, overridden by the options of the pass."""
    options = _options(pipeline, name).items()
    facts: dict[str, Any] = {fact: value for key, value in options for fact in _FACTS[name, key]}
    return replace(target, **facts)


def nest_recipe(target: Target, pipeline: Pipeline = DEFAULT) -> tuple[Pass, ...]:
    """The passes from tensor level to nest level and the passes over nests: one optimisation each."""
    fusing = _options(pipeline, "fuse")
    most, reorders = fusing.get("max-statements"), bool(fusing.get("reorder", True))
    block, tile, sums, jams, matrices, lanes, sweeps, chunks, ahead = (
        _facts(target, pipeline, name)
        for name in (
            "strip-mine", "tile-columns", "vectorize-rows", "unroll-and-jam", "small-matrices", "vectorize",
            "overlapped-tiling", "parallelize", "prefetch",
        )
    )  # fmt: skip
    passes = (
        Pass("tile-scan-batch", lambda module: tile_scan_batch(module, chunks), TENSOR_FORM, TENSOR_FORM),
        Pass(
            "transpose-small-operands",
            lambda module: transpose_small_operands(module, target),
            TENSOR_FORM,
            TENSOR_FORM,
        ),
        Pass("lower-to-nest", lower_to_nest, TENSOR_FORM, NEST_FORM),
        Pass("eliminate-copies", eliminate_copies, NEST_FORM, NEST_FORM),
        Pass("rematerialize", rematerialize, NEST_FORM, NEST_FORM),
        Pass("split-by-row", split_by_row, NEST_FORM, NEST_FORM),
        Pass("interchange", interchange, NEST_FORM, NEST_FORM),
        Pass("fuse", lambda module: fuse(module, most, reorders), NEST_FORM, NEST_FORM),
        Pass("scalar-replacement", scalar_replacement, NEST_FORM, NEST_FORM),
        Pass("strip-mine", lambda module: strip_mine(module, block), NEST_FORM, NEST_FORM),
        Pass("tile-columns", lambda module: tile_columns(module, tile), NEST_FORM, NEST_FORM),
        Pass("assign-memory", assign_memory, NEST_FORM, NEST_FORM),
        Pass("coalesce", coalesce, NEST_FORM, NEST_FORM),
        Pass("vectorize-rows", lambda module: vectorize_rows(module, sums), NEST_FORM, NEST_FORM),
        Pass("unroll-and-jam", lambda module: unroll_and_jam(module, jams), NEST_FORM, NEST_FORM),
        Pass("mark-independent", mark_independent, NEST_FORM, NEST_FORM),
        Pass("small-matrices", lambda module: small_matrices(module, matrices), NEST_FORM, NEST_FORM),
        Pass(
            "vectorize-known-trip-count",
            lambda module: vectorize_known_trip_count(module, target),
            NEST_FORM,
            NEST_FORM,
        ),
        Pass("vectorize", lambda module: vectorize(module, lanes), NEST_FORM, NEST_FORM),
        Pass("overlapped-tiling", lambda module: overlapped_tiling(module, sweeps), NEST_FORM, NEST_FORM),
        Pass("parallelize", lambda module: parallelize(module, chunks), NEST_FORM, NEST_FORM),
        Pass("index-set-splitting", index_set_splitting, NEST_FORM, NEST_FORM),
        Pass("prefetch", lambda module: prefetch(module, ahead), NEST_FORM, NEST_FORM),
    )
    return chosen_passes(passes, pipeline)


def loop_recipe(target: Target, pipeline: Pipeline = DEFAULT) -> tuple[Pass, ...]:
    """The passes from nest level to loop level."""
    widths, loops = _facts(target, pipeline, "vectorizer-hints"), _facts(target, pipeline, "outline")
    passes = (
        Pass("reuse-shape-results", reuse_shape_results, NEST_FORM, NEST_FORM),
        Pass("emit-loops", lambda module: emit_loops(module, target), NEST_FORM, LOOP_FORM),
        Pass("plan-memory", plan_memory, LOOP_FORM, LOOP_FORM),
        Pass("vectorizer-hints", lambda module: vectorizer_hints(module, widths), LOOP_FORM, LOOP_FORM),
        Pass("outline-chunks", outline_chunks, LOOP_FORM, LOOP_FORM),
        Pass("outline", lambda module: outline(module, loops), LOOP_FORM, LOOP_FORM),
        Pass("merge-functions", merge_functions, LOOP_FORM, LOOP_FORM),
    )
    return chosen_passes(passes, pipeline)


VECTOR_PASSES: Final = ("tile-columns", "vectorize-rows", "small-matrices", "vectorize-known-trip-count", "vectorize")
"""Passes that vectorize loops."""
_MOST: Final = Target()
NEST_RECIPE: Final = nest_recipe(_MOST)
LOOP_RECIPE: Final = loop_recipe(_MOST)
"""The passes for a target with every feature."""


EXPAND_MATH: Final = Pass("expand-math", expand_math, LOOP_FORM, LOOP_FORM)
"""For a target without lookup tables in registers."""


def math_recipe(target: Target, pipeline: Pipeline = DEFAULT) -> tuple[Pass, ...]:
    """The passes that define elementary functions, in the variants that suit a machine."""
    calls = _facts(target, pipeline, "outline-math")
    passes = (
        replace(EXPAND_MATH, run=lambda module: expand_math(module, target)),
        Pass("outline-math", lambda module: outline_math(module, calls), LOOP_FORM, LOOP_FORM),
    )
    return chosen_passes(passes, pipeline)


MATH_RECIPE: Final = math_recipe(_MOST)


def library_recipe(vector_bits: int, target: Target = _MOST) -> tuple[Pass, ...]:
    """The passes that add the functions that loops call: matrix products and elementary functions.

    A library contains its matrix products as a separate part, which these passes build; its other functions need
    `EXPAND_MATH` only.

    vector_bits: width of the machine's vector registers. target: other properties of the machine.
    """

    def gemm(module: ModuleOp) -> None:
        add_gemm_kernels(module, vector_bits // 8, target)

    return (
        Pass("add-gemm-kernels", gemm, LOOP_FORM, LOOP_FORM),
        EXPAND_MATH,
    )


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
            _verify(module)
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
            (self.dump / f"{self._number:02d}-{name}.{suffix}").write_text(content)
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
    """The number of operations of a module, counted in a quarter of the time of `walk`."""
    count, pending = 1, [module.body.block]
    while pending:
        op = pending.pop().first_op
        while op is not None:
            count += 1
            for region in op.regions:
                pending += region.blocks
            op = op.next_op
    return count


def _verify(module: ModuleOp) -> None:
    """Verify all operations except comparisons and selections of vectors, which xDSL mistakes for scalar ones."""
    for op in walk(module):
        if not isinstance(op, arith.CmpfOp | arith.CmpiOp | arith.SelectOp) or not isinstance(
            op.results[0].type, VectorType
        ):
            op.verify(verify_nested_ops=False)

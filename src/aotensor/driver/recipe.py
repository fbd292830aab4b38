"""Compile functions to a library: the steps in order."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import aotensor.ir  # noqa: F401  (before xDSL)
from aotensor.codegen.abi.interface import Layer
from aotensor.codegen.calls.lapack import define_lapack_calls
from aotensor.codegen.conditional_loops import mark_conditional_loops
from aotensor.codegen.emit import emit_module
from aotensor.codegen.library import Blueprint, Library, build_library
from aotensor.codegen.llvm import Module
from aotensor.codegen.machine import Machine
from aotensor.codegen.rounding import round_each
from aotensor.codegen.targets.levels import LevelCode, check_levels, full_name, split_levels
from aotensor.codegen.targets.machine_properties import math_facts, passes_left_out, product_facts
from aotensor.codegen.targets.systems import WASM, system_of
from aotensor.codegen.weights.file import WeightsOption, WeightsPool, refuse_weights
from aotensor.config import config
from aotensor.core.garbage import rare_collections
from aotensor.driver.common import check_names, common_pipeline, common_schedule, package_version
from aotensor.driver.definition import Definition
from aotensor.driver.function_spec import SharedValues, function_spec, work_of
from aotensor.driver.hand import HandSchedule
from aotensor.driver.naming import known_constants
from aotensor.driver.part_store import stored_part
from aotensor.driver.report import Report
from aotensor.driver.snapshots import Snapshots, kept_text
from aotensor.driver.stages import IR_STAGES, REMARKS_SECTION
from aotensor.errors import GraphValueError, OptionError
from aotensor.graph.coercion import check_choice
from aotensor.graph.passes.pipeline import DEFAULT, Pipeline
from aotensor.graph.passes.remarks import Remark
from aotensor.graph.passes.run import PassRecord
from aotensor.graph.text import graph_text
from aotensor.ir.build import BuiltFunction, Program, build
from aotensor.ir.context import generic_text
from aotensor.ir.forms import NEST_FORM, TENSOR_FORM
from aotensor.ir.location import Locations
from aotensor.ir.primitive_builder import FP_POLICIES
from aotensor.ir.text import elide_constants, text_of
from aotensor.passes.checking.recipe import with_bounds_check, with_poison
from aotensor.passes.pipeline import LOOPS, MATH, NEST, TENSOR, PassRunner, recipe
from aotensor.passes.remark_texts import render_remarks
from aotensor.passes.report.bounds import refuse_heap, workspace_bound
from aotensor.passes.target import Target
from aotensor.sampling.vectors import make_vectors
from aotensor_runtime.abi import WORKSPACE_ALIGNMENT
from aotensor_runtime.manifest import MAX_IDENTIFIER, FunctionSpec
from aotensor_runtime.vectors import SECTION as VECTORS_SECTION

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True)
class Options:
    """Compile options.

    target, features: as `Machine.parse`. cpu: the same, or levels such as `v2,v3`, from which calls select at run time.
    fp: strict, contract or fast. prefix: before every exported symbol.
    verify: check the IR after every pass. check: check every memory access at run time, on one core, and fill outputs
    and buffers with nan before they are written.
    threads: let loops run on several cores. malloc: calls may ask the C library for memory; without it, loops run on
    one core. freestanding: use only memcpy, memmove and memset of it.
    opt_size: small code rather than fast code. debug_info: emit the user's lines for debuggers and profilers.
    facts: of the machine, for loop passes; those of the CPU by default. Code is correct with any.
    pipeline: the passes that run; by default those of the functions. schedule: the loops to compile; by
    default those of the functions, or those that passes generate. sections: further ones, by name.
    layers: interfaces of other projects to the functions. by_origin: lines of derivatives, as in `Locations`.
    weights: the file to which large constants are moved.
    scalar: loops over elements, for C source: no vectors but those of small matrices, no unroll-and-jam.
    """

    target: str | None = None
    cpu: str | None = None
    features: str | None = None
    opt_level: int = 3
    fp: str = "contract"
    prefix: str = ""
    verify: bool = False
    check: bool = False
    threads: bool = True
    facts: Target | None = None
    pipeline: Pipeline | None = None
    schedule: HandSchedule | None = None
    debug_info: bool = False
    sections: Mapping[str, bytes] = field(default_factory=dict)
    opt_size: bool = False
    malloc: bool = True
    freestanding: bool = False
    layers: Sequence[Layer] = ()
    by_origin: bool = False
    weights: WeightsOption | None = None
    scalar: bool = False

    @property
    def has_threads(self) -> bool:
        """Do loops run on several cores? False in a checking build, whose threads would report errors concurrently."""
        return self.threads and self.allocates and not self.check

    @property
    def allocates(self) -> bool:
        """May calls ask the C library for memory?"""
        return self.malloc and not self.freestanding

    def machine(self) -> Machine:
        """The target machine: the lowest of several levels.   Raises: as `Machine.parse` and `split_levels`"""
        levels = split_levels(self.cpu)
        if levels and not self.allocates:
            hint = "compile for one CPU, or leave out --no-malloc (malloc=False)"
            raise OptionError(
                "code for several levels of CPUs allocates memory, which malloc=False excludes", hint=hint
            )
        if levels:
            check_levels(Machine.parse(self.target).triple)
        cpu = levels[0] if levels else full_name(self.cpu) if self.cpu is not None else None
        machine = Machine.parse(self.target, cpu, self.features, self.opt_level, self.opt_size)
        if self.weights is not None:
            refuse_weights(machine.triple, self.allocates)
        if self.freestanding and not system_of(machine.triple).is_elf:
            raise OptionError(
                f"freestanding libraries are ELF files, which {machine.triple} does not use",
                hint="name a machine without a system, such as thumbv7em-none-eabihf, or leave out --freestanding",
            )
        return machine

    def upper_levels(self) -> list[Options]:
        """These options once for each level of CPUs above the lowest."""
        return [replace(self, cpu=level) for level in split_levels(self.cpu)[1:]]


@dataclass
class Lowered:
    """Functions during lowering: the loop-level module, texts of the stages, and the record of each pass."""

    functions: list[Definition]
    built: list[BuiltFunction]
    module: ModuleOp
    machine: Machine
    options: Options
    runner: PassRunner
    sites: Locations
    pipeline: Pipeline
    schedule: HandSchedule | None = None
    texts: dict[str, str] = field(default_factory=dict)
    has_locations: bool = False
    """Do the texts have the source location of each operation?"""
    snapshots: Snapshots = field(default_factory=lambda: Snapshots(()))

    @cached_property
    def remarks(self) -> list[Remark]:
        """The remarks of all passes, in order."""
        notes = [*(note for f in self.functions for note in f.graph_notes), *self.runner.notes.found]
        return render_remarks(notes, self.sites, {f.name: f.written_names for f in self.functions})

    def specs(self, pool: SharedValues | None = None) -> list[FunctionSpec]:
        """The manifest entries of the functions.   pool: receives first values of shared variables"""
        pool = pool or SharedValues()
        pairs = zip(self.functions, self.built, strict=True)
        return [function_spec(f, built, pool, self.module) for f, built in pairs]

    @property
    def records(self) -> list[PassRecord]:
        """The records of all passes, in order."""
        return self.runner.records


@rare_collections
def lower(
    functions: Sequence[Definition],
    options: Options,
    texts: Collection[str] = IR_STAGES,
    locations: bool = False,
    snapshots: Snapshots | None = None,
    report: Report | None = None,
) -> Lowered:
    """Lower functions to loop level.

    texts: the stages whose texts are kept. locations: print the user's line of each operation. snapshots: of stages
    and passes, to be filled for one compilation. report: of loops and memory, to be filled.

    Raises: GraphValueError for two functions of one name or an unknown fp policy, and the errors of typing rules.
    """
    check_choice("fp policy", options.fp, FP_POLICIES)
    check_names(functions)
    machine, pipeline = options.machine(), options.pipeline or common_pipeline(functions)
    schedule = options.schedule or common_schedule(functions)
    functions = [f.under(pipeline) for f in functions]
    snapshots = snapshots or Snapshots(())
    sites = Locations(options.by_origin)
    look = report.begin(sites, functions) if report is not None else None
    observers = [snapshots.module, *([look] if look is not None else [])]
    runner = PassRunner(options.verify or pipeline != DEFAULT, config.dump_dir, observers)
    programs = [Program(f.name, *f.flat.named, complex_outputs=frozenset(f.flat.complex_results)) for f in functions]
    with runner.noting("build"):
        module, built = build(programs, options.fp, sites)
    result = Lowered(list(functions), built, module, machine, options, runner, sites, pipeline, schedule)
    result.has_locations, result.snapshots = locations, snapshots
    snapshots.graphs(functions)
    for stage in ("graph", "graph-opt"):
        if stage in texts or runner.dump is not None:
            result.texts[stage] = "\n".join(f.graph_text(stage) for f in functions)
    _record_graph_passes(functions, runner, result.texts)
    runner.write("tensor", "mlir", lambda: text_of(module))
    if options.verify:
        runner.check(module, TENSOR_FORM, "build")
    _keep_text(result, "tensor", texts)
    facts = options.facts or machine.facts
    runner.run(module, recipe(TENSOR, facts, pipeline))
    _keep_text(result, "tensor-opt", texts)
    left_out = passes_left_out(machine, options.check, options.allocates, options.scalar)
    runner.run(module, [step for step in recipe(NEST, facts, pipeline) if step.name not in left_out])
    if schedule is not None:
        from aotensor.passes.schedule.accept import accept

        module = result.module = accept(module, schedule.text, schedule.name, facts)
        runner.write("schedule", "mlir", lambda: str(module) + "\n")
        if runner.verify:
            runner.check(module, NEST_FORM, "schedule")
    _keep_text(result, "nest", texts)
    to_loops = recipe(LOOPS, facts, pipeline)
    if options.check:
        to_loops = tuple(with_poison(to_loops, {f.name: len(f.flat.results) for f in functions}))
    runner.run(module, to_loops)
    if not options.allocates:
        refuse_heap(module, sites, {f.name: f.written_names for f in functions})
    if options.check:
        result.built, guard = with_bounds_check(module, result.built)
        runner.run(module, [guard])
    _keep_text(result, "loops", texts)
    math = recipe(MATH, math_facts(machine, options.fp, options.scalar), pipeline)
    runner.run(module, [step for step in math if step.name not in left_out])
    return result


def _record_graph_passes(functions: Sequence[Definition], runner: PassRunner, texts: Mapping[str, str]) -> None:
    """Add the records of the graph passes; with dumped texts they run again, to print them."""
    runner.records += [record for f in functions for record in f.graph_records]
    runner.write("graph", "txt", lambda: texts["graph"])
    if runner.dump is None:
        return
    for f in functions:
        inputs = list(f.row_major_arguments.values())
        for record, results in f.graph_passes():
            text = graph_text(f.name, inputs, dict(zip(f.results, results, strict=True)))
            runner.write(record.name, "txt", lambda text=text: text)  # type: ignore[misc]


def _keep_text(lowered: Lowered, stage: str, wanted: Collection[str]) -> None:
    lowered.runner.tell(stage, lowered.module)
    if stage in wanted:
        lowered.texts[stage] = text_of(lowered.module, lowered.has_locations, brief=stage == "nest")


def emit(lowered: Lowered, pool: WeightsPool | None = None, rare: bool = False) -> Module:
    """Emit loop level as LLVM IR, without the entry points.

    pool: receives large constants, if they are moved. rare: as `emit_module`
    """
    options = lowered.options
    if options.weights is not None:
        pool = pool or WeightsPool(options.weights.least)
    sites, threads = lowered.sites if options.debug_info else None, options.has_threads
    module = emit_module(lowered.module, lowered.machine, threads=threads, sites=sites, pool=pool, rare=rare)
    define_lapack_calls(module)
    if options.fp == "strict":
        round_each(module)
    mark_conditional_loops(module)
    return module


@rare_collections
def make_library(lowered: Lowered, name: str, is_shipped: bool = True) -> Library:
    """Compile loop level to a library in memory, with its IR texts and, if it is to be shipped, test vectors.

    Raises: GraphValueError for a name that is not a file name, and for a prefix that cannot begin a symbol.
    """
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", name) is None or len(name) > MAX_IDENTIFIER:
        hint = f"use letters, digits, _ and -, at most {MAX_IDENTIFIER} of them"
        raise GraphValueError(f"{name[:60]!r} cannot name a library", hint=hint)
    prefix = lowered.options.prefix
    if prefix and not (prefix.isidentifier() and prefix.isascii()):
        raise GraphValueError(f"prefix {prefix[:60]!r} cannot begin a C identifier", hint="use letters, digits and _")
    pool = SharedValues()
    specs = lowered.specs(pool)
    if not lowered.options.allocates:
        specs = [
            replace(spec, workspace=workspace_bound(lowered.module, spec.name, spec.kernel_dims, WORKSPACE_ALIGNMENT))
            for spec in specs
        ]
    texts = {stage: elide_constants(lowered.texts[stage]).encode() for stage in IR_STAGES if stage in lowered.texts}
    sections = {f"ir.{stage}": kept_text(stage, text) for stage, text in texts.items()}
    sections["passes"] = json.dumps([[x.name, x.before, x.after] for x in lowered.records]).encode()
    work = {spec.name: work_of(lowered.module, spec) for spec in specs}
    sections["work"] = json.dumps({name: str(found) for name, found in work.items()}).encode()
    parts = {name: {kind: str(x) for kind, x in found.parts.items() if x.terms} for name, found in work.items()}
    sections["work.parts"] = json.dumps(parts).encode()
    if is_shipped:
        sections[REMARKS_SECTION] = json.dumps([x.to_row() for x in lowered.remarks], separators=(",", ":")).encode()
    vectors = make_vectors(lowered.functions) if is_shipped else b""
    if vectors:
        sections[VECTORS_SECTION] = vectors
    if system_of(lowered.machine.triple) is WASM:  # a web page would have to download them
        sections = {}
    sections.update(lowered.options.sections)
    if lowered.options.freestanding:  # they would be in the program's memory
        sections = {}
    options = lowered.options
    constants = None
    if options.weights is not None:
        constants = WeightsPool(options.weights.least, known_constants(f.results.values() for f in lowered.functions))
    kernels = emit(lowered, constants, bool(options.upper_levels()))
    levels = [_level_code(lowered, level, constants) for level in options.upper_levels()]
    blueprint = Blueprint(
        name,
        specs,
        lowered.machine,
        package_version(),
        lowered.options.fp,
        lowered.options.prefix,
        sections,
        pool.data,
        "" if lowered.pipeline == DEFAULT else str(lowered.pipeline),
        "" if lowered.schedule is None else lowered.schedule.label,
        lowered.options.debug_info,
        [level.cpu for level in lowered.options.upper_levels() if level.cpu],
        lowered.options.allocates,
        lowered.options.freestanding,
        [layer.without_unsupported(specs) for layer in lowered.options.layers],
        constants.file(options.weights.file_name(name), name) if options.weights and constants else None,
    )
    # a separate module: printing fixes the names of a module, and levels rename functions
    lowered.runner.write("llvm", "ll", lambda: str(emit(lowered)))
    made = (
        stored_part,
        options.has_threads,
        product_facts(lowered.machine, options.fp, options.allocates, options.facts),
        levels,
    )
    library = build_library(kernels, blueprint, *made)
    if not options.allocates:  # the second time, with facts about the generated code
        from aotensor.codegen.embedded.stack import stack_bounds

        stacks = stack_bounds(lowered.machine, library.optimised, specs, options.prefix)
        functions = [replace(spec, stack=stacks[spec.name]) for spec in specs]
        library = build_library(emit(lowered), replace(blueprint, functions=functions), *made)
    lowered.runner.write("llvm-opt", "ll", lambda: str(library.optimised))
    lowered.runner.write("asm", "s", lambda: lowered.machine.assembly(library.optimised))
    return library


def _level_code(lowered: Lowered, options: Options, constants: WeightsPool | None) -> LevelCode:
    """The kernels of the same functions, compiled for a higher level of CPUs."""
    again = lower(lowered.functions, options, texts=())
    return LevelCode(again.machine, emit(again, constants, rare=True))  # a copy for each level, under one name


def stage_text(
    functions: Sequence[Definition],
    stage: str,
    options: Options | None = None,
    locations: bool = False,
    generic: bool = False,
) -> str:
    """The text of one stage, tensor and below.

    locations: print the user's line of each operation. generic: as `generic_text`
    """
    lowered = lower(functions, options or Options(), [stage], locations)
    if stage in lowered.texts:
        text = lowered.texts[stage]
        return generic_text(text, locations) if generic and stage == "nest" else text
    if stage == "llvm":
        return str(emit(lowered))
    library = make_library(lowered, functions[0].name, is_shipped=False)
    return lowered.machine.assembly(library.optimised) if stage == "asm" else str(library.optimised)

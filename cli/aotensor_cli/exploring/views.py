"""The views of `inspect` that need the compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aotensor import Function
from aotensor.driver.build import Build
from aotensor.driver.hand import schedule_note
from aotensor.driver.recipe import Options
from aotensor.driver.snapshots import Snapshots
from aotensor.driver.stages import BEFORE, STAGES
from aotensor.errors import InternalError, ToolError
from aotensor.graph.expression import called
from aotensor.graph.passes.remarks import Remark
from aotensor.graph.passes.steps import BY_NAME
from aotensor.ir.context import generic_text
from aotensor_cli.explaining.memory import Table, tables
from aotensor_cli.exploring.document import Writer
from aotensor_cli.exporting.dataflow import collected
from aotensor_cli.exporting.model_explorer import graph_collection, node_data
from aotensor_cli.exporting.netron import netron_model
from aotensor_cli.model import Model, load_model
from aotensor_cli.options import Refusal, known_names_hint, similar
from aotensor_cli.page.dot import graph_dot
from aotensor_cli.page.model_page import ModelPage, started
from aotensor_cli.page.options import MEMORY
from aotensor_cli.page.request import PageOptions
from aotensor_cli.reading.describe import Description, describe
from aotensor_cli.reading.pipeline import chosen_pipeline
from aotensor_cli.terminal.difference import View
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, talk
from aotensor_cli.terminal.report import Sources
from aotensor_runtime.errors import DamagedLibrary


@dataclass(frozen=True)
class Selection:
    """The selected functions and passes.   name: of one function. passes, disabled: as on the command line"""

    subject: str
    name: str | None = None
    passes: str | None = None
    disabled: Sequence[str] = ()

    def build(self) -> Build:
        """Their compilation.   Raises: Refusal if there is no such function, or no such pass"""
        return self.load()[1]

    def load(self, debug_info: bool = False, by_origin: bool = False) -> tuple[Model, Build]:
        """The model and its compilation.   Raises: as `build`

        debug_info: with line tables. by_origin: derivatives belong to the line that is differentiated
        """
        pipeline = chosen_pipeline(self.passes, self.disabled)
        options = Options(pipeline=pipeline, debug_info=debug_info, by_origin=by_origin)
        model = load_model(self.subject)
        return model, Build(_chosen(self.subject, model, self.name), None, options)


def drawn(wanted: Selection) -> str:
    """The graph of the functions, for Graphviz."""
    return graph_dot(_chosen(wanted.subject, load_model(wanted.subject), wanted.name))


def page_of(wanted: Selection, page: PageOptions) -> str:
    """A page, or a picture of one stage."""
    loaded = started()
    model, build = wanted.load(debug_info=True)  # the code is the same
    made = ModelPage(build, page, loaded)
    with called(model.names):
        if page.form == "html":
            return made.html()
        if page.stage == "nest":
            return made.nest_svg()
        return made.memory_svg() if page.stage == MEMORY else made.graph_svg(page.stage or "graph")


def export_of(wanted: Selection, page: PageOptions) -> dict[str, Any]:
    """The graphs of a model for another viewer, as JSON values."""
    loaded = started()
    model, build = wanted.load(by_origin=True)
    stages = (page.stage,) if page.stage else ("graph",) if page.form == "netron" else ("graph", "tensor-opt", "nest")
    with called(model.names):
        found = collected(build, page, stages, loaded)
    return {"model-explorer": graph_collection, "node-data": node_data, "netron": netron_model}[page.form](found)


def document_of(wanted: Selection, sizes: Mapping[str, int], only: str | None) -> dict[str, Any]:
    """The document of the model.   only: the stage or pass whose text is in it, None for all"""
    loaded = started()
    model, build = wanted.load(debug_info=True)  # the code is the same
    with called(model.names):
        return Writer(build, str(model.path), loaded, sizes, only).document()


def stage_texts(wanted: Selection, view: View, locations: bool, generic: bool) -> list[str]:
    """The text of a stage or of what a pass left, and what it is compared with; with lines and nests in
    generic form, if that is asked for; differences are never in generic form.

    Raises: Refusal of a pass that did not run, with those that did
    """
    build = wanted.build()
    build.locations, build.generic = locations, generic
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        if view.base is None and view.stage in STAGES:
            return [build.content(view.stage).decode()]
        build.snapshots = Snapshots(view.names, locations, generic and view.base is None)
        snapshots = build.lowered.snapshots
        found = [snapshots.text(name) for name in view.names]
        return [_checked(build, name, text) for name, text in zip(view.names, found, strict=True)]


def kernel_of(wanted: Selection, name: str) -> str:
    """The assembly of one function alone, with the lines of the model."""
    model, build = wanted.load(debug_info=True)  # the code is the same
    sources = Sources([model.path, *model.opened])
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        return build.kernel(name, sources.line)


def _checked(build: Build, name: str, text: str | None) -> str:
    if text is not None:
        return text
    if name in STAGES:  # of LLVM
        return build.content(name).decode()
    seen = [run for run in build.lowered.snapshots.seen if run.partition(".")[0] in BY_NAME]
    often = {run.partition(".")[0] for run in seen if not run.endswith(".1")}
    seen = [run if run.partition(".")[0] in often else run.removesuffix(".1") for run in seen]
    missing = name.removeprefix(BEFORE)
    if missing in STAGES:
        raise Refusal(f"--diff before needs a pass, and {missing} is a stage", known_names_hint(seen, 60))
    raise Refusal(f"pass {missing} did not run", known_names_hint(seen, 60))


def generic_form(text: str) -> str:
    """The text of a stage that a library holds, for other tools.   Raises: LibraryError if it cannot be read"""
    try:
        return generic_text(text)
    except InternalError as error:
        raise DamagedLibrary("the IR in it cannot be read", hint=error.diagnostic.title) from error


def memory_tables(wanted: Selection, sizes: Mapping[str, int]) -> list[Table]:
    """The table of memory against time of each function."""
    model, build = wanted.load()
    with progress(f"compiling {build.name}"), without_remarks(), called(model.names):
        return tables(_chosen(wanted.subject, model, wanted.name), build.options, sizes)


def remarks_of(wanted: Selection) -> tuple[list[Remark], list[Path], str]:
    """The remarks of all passes, the files of the model, and notes on both."""
    model, build = wanted.load()
    with progress(f"compiling {build.name}") as build.begin:
        schedule = build.lowered.schedule
        note = "" if schedule is None else schedule_note(schedule.label)
        return build.lowered.remarks, [model.path, *model.opened], note


def described(wanted: Selection) -> tuple[Description, list[str]]:
    """The description of the compiled library with the time of each pass, and the names of its functions."""
    build = wanted.build()
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        data = _library_bytes(build)
    passes = [
        {"name": x.name, "before": x.before, "after": x.after, "seconds": x.seconds} for x in build.lowered.records
    ]
    return describe(data, passes), [f.name for f in build.functions]


def _chosen(subject: str, model: Model, name: str | None) -> Sequence[Function]:
    chosen = [f for f in model.functions if name in (None, f.name)]
    if not chosen:
        names = [f.name for f in model.functions]
        raise Refusal(f"{subject}: there is no Function {name}", similar(str(name), names) or known_names_hint(names))
    return chosen


def _library_bytes(build: Build) -> bytes:
    """The linked library, or its object code if no linker is installed."""
    try:
        return build.shared
    except ToolError as error:
        talk(f"warning: {error.diagnostic.title}, so size and symbols are those of the object file")
        return build.library.object_code

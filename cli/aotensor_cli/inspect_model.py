"""What `inspect` shows of a model: it is compiled for that, so this loads the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aotensor import Function
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.errors import InternalError, ToolError
from aotensor.graph.passes.remarks import Remark
from aotensor.ir.context import generic_text
from aotensor_cli.describe import Description, describe
from aotensor_cli.dot import graph_dot
from aotensor_cli.model import load_model
from aotensor_cli.options import Refusal, similar, what_there_is
from aotensor_cli.reading.pipeline import chosen_pipeline
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, talk
from aotensor_runtime.errors import DamagedLibrary


@dataclass(frozen=True)
class Wanted:
    """What shall be looked at.   name: of one function. passes, disabled: as on the command line"""

    subject: str
    name: str | None = None
    passes: str | None = None
    disabled: Sequence[str] = ()

    def build(self) -> Build:
        """Their compilation.   Raises: Refusal if there is no such function, or no such pass"""
        pipeline = chosen_pipeline(self.passes, self.disabled)
        return Build(_functions(self.subject, self.name), None, Options(pipeline=pipeline))


def drawn(wanted: Wanted) -> str:
    """The graph of the functions, for Graphviz."""
    return graph_dot(_functions(wanted.subject, wanted.name))


def stage_text(wanted: Wanted, stage: str, locations: bool, generic: bool) -> str:
    """The text of one stage, with the lines that operations come from, and for other tools, if that is asked for."""
    build = wanted.build()
    build.locations, build.generic = locations, generic
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        return build.content(stage).decode()


def generic_form(text: str) -> str:
    """The text of a stage that a library holds, for other tools.   Raises: LibraryError if it cannot be read"""
    try:
        return generic_text(text)
    except InternalError as error:
        raise DamagedLibrary("the IR in it cannot be read", hint=error.diagnostic.title) from error


def remarks_of(wanted: Wanted) -> list[Remark]:
    """What each pass decided."""
    build = wanted.build()
    with progress(f"compiling {build.name}") as build.begin:
        return build.lowered.remarks


def described(wanted: Wanted) -> tuple[Description, list[str]]:
    """The library that the functions become, with what each pass took; and their names."""
    build = wanted.build()
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        data = _library_bytes(build)
    passes = [
        {"name": x.name, "before": x.before, "after": x.after, "seconds": x.seconds} for x in build.lowered.records
    ]
    return describe(data, passes), [f.name for f in build.functions]


def _functions(subject: str, name: str | None) -> Sequence[Function]:
    functions = load_model(subject).functions
    chosen = [f for f in functions if name in (None, f.name)]
    if not chosen:
        names = [f.name for f in functions]
        raise Refusal(f"{subject}: there is no Function {name}", similar(str(name), names) or what_there_is(names))
    return chosen


def _library_bytes(build: Build) -> bytes:
    """The linked library, or its object code where no linker is there."""
    try:
        return build.shared
    except ToolError as error:
        talk(f"warning: {error.diagnostic.title}, so size and symbols are those of the object file")
        return build.library.object_code

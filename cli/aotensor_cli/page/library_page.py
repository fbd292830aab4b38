"""The page of a library, read from its bytes without executing it."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from aotensor.driver.hand import schedule_note
from aotensor.driver.stages import IR_STAGES
from aotensor_cli.options import Refusal
from aotensor_cli.page.content import Content
from aotensor_cli.page.facts import functions_of, parts_of
from aotensor_cli.page.html import page_html
from aotensor_cli.page.profiles import select_profiles
from aotensor_cli.page.request import PageOptions
from aotensor_cli.page.roofline import roofline_picture
from aotensor_cli.page.sources import Source, named_source
from aotensor_cli.page.stage_lines import StageLines, split_lines
from aotensor_cli.reading.describe import describe, section_text
from aotensor_cli.reading.remarks import recorded_remarks
from aotensor_runtime.container import Container
from aotensor_runtime.errors import LibraryError

_TOOL: Final = "objdump"
_PATIENCE: Final = 60  # seconds
_LONGEST: Final = 1 << 26  # characters of a disassembly
_LINE: Final = re.compile(r"^(.*\.\w+):(\d+)(?: \(discriminator \d+\))?$")
_GRAPH_LINE: Final = re.compile(r"^  (%\S+: .*?) = (\w+)(\{.*\})?\((.*)\)$")
NO_ESTIMATE: Final = (
    "A library holds no estimate of its loops: make the page of the model for that. The stage nest shows the loops."
)
NO_PLAN: Final = "A library holds no memory plan: make the page of the model for that."
NO_SOURCE: Final = "The source is not in a library. Add --source model.py to see its lines here."


def library_page(path: Path, data: bytes, name: str | None, page: PageOptions) -> tuple[str, tuple[str, ...]]:
    """The page, and what is damaged in the file.   name: of one function   Raises: LibraryError without a manifest"""
    container = Container(data)
    description = describe(data)
    manifest = description.manifest
    content = Content(manifest.name, "library")
    content.facts = description.rows()
    content.functions = [f for f in functions_of(description) if name in (None, f["name"])]
    content.parts = parts_of(description)
    content.passes = description.passes
    note = schedule_note(manifest.schedule)
    content.notes = [*description.damages, *([note] if note else [])]
    for stage in IR_STAGES:
        if f"ir.{stage}" in container.extra_names():
            try:
                content.stages[stage] = split_lines(stage, section_text(container, f"ir.{stage}"))
            except LibraryError as error:
                content.notes.append(error.diagnostic.title)
    with contextlib.suppress(LibraryError):  # which is among the damages
        content.remarks = [x for x in recorded_remarks(container) if name in (None, x.function)]
    disassembly, problem = _disassembled(path)
    if disassembly is not None:
        content.stages["asm"] = disassembly
    else:
        content.notes.append(problem)
    content.sources = _sources(path, page.sources, {x.file for x in content.remarks if x.line})
    content.graphs = {
        stage: _graphs(content.stages[stage]) for stage in ("graph", "graph-opt") if stage in content.stages
    }
    content.notes += [x.problem for x in content.sources if x.problem]
    content.notes.append(_contents(content))
    content.absent = {"loops": NO_ESTIMATE, "memory": NO_PLAN}
    if not content.sources:
        content.absent["source"] = NO_SOURCE
    content.profiles = select_profiles(page.profiles, [f["name"] for f in content.functions])
    if page.rows:
        content.pictures["roofline"] = [roofline_picture(page.rows, look="page")]
    else:
        content.absent["roofline"] = (
            "No measurement was given. Write one by aotensor bench LIBRARY --json > bench.json."
        )
    return page_html(content), description.damages


def _contents(content: Content) -> str:
    """A sentence on the parts that the library contains and lacks."""
    held = [*content.stages, *(["remarks"] if content.remarks else [])]
    stages = ("graph", "graph-opt", "tensor", "tensor-opt", "nest", "loops")
    missing = [x for x in stages if x not in content.stages] + ["llvm", "llvm-opt"]
    missing += [] if content.remarks else ["remarks"]
    return (
        f"shown: {', '.join(held) or 'nothing but the manifest'}; not in this library: the source, {', '.join(missing)}"
    )


def _sources(path: Path, given: tuple[Path, ...], named: set[str]) -> list[Source]:
    """Match the source files that the user gave with those that the library names."""
    found = []
    for one in given:
        try:
            found.append(named_source(one, path.stat().st_mtime))
        except OSError as error:
            raise Refusal(f"--source {one}: cannot be read ({(error.strerror or str(error)).lower()})") from error
        if named and one.name not in named:
            found[-1].problem = f"{one.name} is not what the library was made from: that is {', '.join(sorted(named))}"
    return found


def _disassembled(path: Path) -> tuple[StageLines | None, str]:
    """The disassembly by objdump with source lines from line tables, or the reason that there is none."""
    tool = shutil.which(_TOOL)
    if tool is None:
        return None, f"no disassembly: there is no {_TOOL} here"
    command = [tool, "-d", "-l", "--no-show-raw-insn", str(path.absolute())]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_PATIENCE, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None, f"no disassembly: {_TOOL} failed"
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0 or len(text) > _LONGEST or "Disassembly of section" not in text:
        return None, f"no disassembly: {_TOOL} cannot read this file"
    lines, places = [], list[tuple[str, int] | None]()
    place: tuple[str, int] | None = None
    for line in text.splitlines()[3:]:
        where = _LINE.match(line)
        if where is not None:
            place = (where[1].rpartition("/")[2], int(where[2]))
        elif not re.match(r"^\S+\(\):$", line):
            is_code = line.startswith(" ")
            place = place if is_code else None
            lines.append(line.expandtabs(8))
            places.append(place)
    return StageLines(lines, places), ""


# --- graphs ----------------------------------------------------------------------------------------------------------


def _graphs(text: StageLines) -> dict[str, list[dict[str, Any]]]:
    """The nodes of the graphs in a text; bodies of loops and branches are left out."""
    found: dict[str, list[dict[str, Any]]] = {}
    nodes: list[dict[str, Any]] = []
    numbers: dict[str, int] = {}
    for line, place in zip(text.lines, text.places, strict=True):
        start = re.match(r"^function (\w+)\((.*)\) \{$", line)
        if start is not None:
            nodes = found[start[1]] = []
            numbers = {}
            for name, kind in re.findall(r"(%[^\s:,]+): ([^%]*?)(?:, (?=%)|$)", start[2]):
                numbers[name] = len(nodes)
                nodes.append(_node("input", name[1:], kind, None, []))
            continue
        op = _GRAPH_LINE.match(line)
        if op is not None:
            read = [numbers[x] for x in dict.fromkeys(re.findall(r"%[^\s:,()]+", op[4])) if x in numbers]
            results = re.findall(r"(%[^\s:,]+): ", op[1])
            kinds = re.sub(r"%[^\s:,]+: ", "", op[1])
            numbers |= dict.fromkeys(results, len(nodes))
            nodes.append(_node("op", op[2], f"{kinds}   {op[3] or ''}", place, read))
        elif line.startswith("  return "):
            for name, value in re.findall(r"(\w+) = (%[^\s:,]+)", line):
                if value in numbers:
                    nodes.append(_node("output", name, "", None, [numbers[value]]))
    return found


def _node(kind: str, label: str, detail: str, place: tuple[str, int] | None, inputs: list[int]) -> dict[str, Any]:
    file, line = place or ("", 0)
    return {"kind": kind, "label": label, "detail": detail, "file": file, "line": line, "inputs": inputs}

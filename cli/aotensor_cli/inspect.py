"""`aotensor inspect`: a summary of a model or a library, or the text of one stage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from aotensor.driver.hand import schedule_note
from aotensor.driver.stages import IR_STAGES, STAGES
from aotensor.graph.passes.remarks import Remark
from aotensor.graph.passes.steps import BY_NAME
from aotensor_cli.benching.inputs import parse_sizes
from aotensor_cli.options import Exit, Refusal, known_names_hint, similar
from aotensor_cli.page.library_page import library_page
from aotensor_cli.page.options import EXPORTS
from aotensor_cli.page.request import PageOptions
from aotensor_cli.page.request import chosen as page_wanted
from aotensor_cli.reading.describe import Description, describe, section_text, signature
from aotensor_cli.reading.library import is_library, naming, read_library, split_name
from aotensor_cli.reading.remarks import Choice, recorded_remarks
from aotensor_cli.terminal.difference import View
from aotensor_cli.terminal.output import printed_to
from aotensor_cli.terminal.render import show, show_json, show_table, talk
from aotensor_cli.terminal.report import Sources, show_report
from aotensor_runtime.container import Container
from aotensor_runtime.errors import LibraryError
from aotensor_runtime.formats.image import SHARED

_WITH_NESTS: Final = {"nest", *(name for name, step in BY_NAME.items() if step.level == "nest")}
"""The stage and the passes whose texts have a generic form."""


def run(out: Path | None, **flags: Any) -> int:
    """Run `aotensor inspect` with the parameters that `commands/inspect.py` declares; returns the exit code."""
    with printed_to(out):
        return _inspect(**flags)


def _inspect(
    subject: str, stage: str | None, locations: bool, short: bool, generic: bool, remarks: bool, memory: bool,
    name: str | None, form: str, as_json: bool, passes: str | None, disabled: tuple[str, ...], lines: tuple[str, ...],
    ops: tuple[str, ...], deciders: tuple[str, ...], base: str | None, bench: Path | None,
    profile: Path | None, sizes: tuple[str, ...], sources: tuple[Path, ...], everything: bool,
) -> int:  # fmt: skip
    del short  # nests are in short form
    form = "json" if as_json else form
    path, chosen = split_name(subject)
    if memory:
        others = {
            "stage": stage,
            "remarks": remarks,
            "diff": base,
            "bench": bench,
            "source": sources,
            "profile": profile,
        }
        _show_memory(subject, path, name, form, [key for key, x in others.items() if x], sizes, passes, disabled)
        return Exit.DONE
    if everything:
        useless = {
            "locations": locations, "remarks": remarks, "generic": generic, "diff": base is not None, "bench": bench,
            "profile": profile, "source": sources, "line": lines, "op": ops, "pass": deciders,
        }  # fmt: skip
        _check_all(path, form, [option for option, given in useless.items() if given], sizes)
        from aotensor_cli.exploring.views import Selection, document_of

        wanted = Selection(subject, name, passes, disabled)
        show_json(document_of(wanted, parse_sizes(sizes[0] if sizes else None), stage), is_dense=True)
        return Exit.DONE
    page = page_wanted(form, stage, is_library(path), bench, profile, sizes, sources)
    useless = {"locations": locations, "remarks": remarks, "generic": generic, "diff": base is not None}
    if page is not None and any(useless.values()):
        option = next(x for x, is_given in useless.items() if is_given)
        raise Refusal(f"--format {form} cannot be combined with --{option}", "leave it out")
    if locations:
        _check_locations(path, stage, form)
    if generic and (stage is None or stage.partition(".")[0] not in _WITH_NESTS):
        raise Refusal("--generic needs the text of stage nest", "add --stage nest, or a pass over nests")
    if (passes is not None or disabled) and is_library(path):
        raise Refusal(f"{path}: this is a compiled library", "--passes and --disable-pass are for models")
    if remarks and (stage is not None or form == "dot"):
        raise Refusal("--remarks cannot be combined with --stage or --format dot", "leave out --stage and --format dot")
    if base is not None and stage is None:
        raise Refusal("--diff needs --stage", "add --stage")
    choice = Choice(lines, ops, deciders)
    if choice.is_restricted and not remarks:
        raise Refusal("--line, --op and --pass need --remarks", "add --remarks")
    if form == "dot" and (stage not in (None, "graph") or is_library(path)):
        raise Refusal("--format dot can draw only the graph stage of a model")
    if is_library(path):
        with naming(path):
            if page is not None:
                return _page_of_library(path, _one_name(chosen, name), page)
            view = View(stage, base, _one_name(chosen, name), form)
            return _inspect_library(path, view, choice if remarks else None, generic)
    from aotensor_cli.exploring.views import (
        Selection,
        described,
        drawn,
        export_of,
        kernel_of,
        page_of,
        remarks_of,
        stage_texts,
    )

    wanted = Selection(subject, name, passes, disabled)
    if page is not None and form in EXPORTS:
        show_json(export_of(wanted, page), is_dense=True)
    elif page is not None:
        click.echo(page_of(wanted, page), nl=False)
    elif form == "dot":
        show(drawn(wanted), nl=False)
    elif remarks:
        found, files, note = remarks_of(wanted)
        _show_remarks(choice.select(found, subject), form, Sources(files), note)
    elif stage is not None:
        view = View(stage, base, name, form)
        is_kernel = stage == "asm" and base is None and name is not None
        view.show(*([kernel_of(wanted, str(name))] if is_kernel else stage_texts(wanted, view, locations, generic)))
    else:
        description, names = described(wanted)
        _show_description(description, names, form)
    return Exit.DONE


def _show_memory(
    subject: str,
    path: Path,
    name: str | None,
    form: str,
    others: Sequence[str],
    sizes: Sequence[str],
    passes: str | None,
    disabled: Sequence[str],
) -> None:
    """Show the table of memory against time of a model."""
    if others or form not in ("text", "json"):
        what = f"--{others[0]}" if others else f"--format {form}"
        raise Refusal(f"--memory cannot be combined with {what}", f"leave out {what}")
    if is_library(path):
        raise Refusal(f"{path}: this is a compiled library", "--memory is for models")
    from aotensor_cli.exploring.views import Selection, memory_tables

    found = memory_tables(Selection(subject, name, passes, disabled), parse_sizes(",".join(sizes) or None))
    if form == "json":
        show_json({"functions": [table.to_json() for table in found]})
    else:
        for table in found:
            table.show()


def _check_all(path: Path, form: str, useless: Sequence[str], sizes: Sequence[str]) -> None:
    """Refuse options that cannot be combined with --all."""
    if form != "json":
        raise Refusal("--all needs --json", "add --json, or use --format html")
    if is_library(path):
        raise Refusal(f"{path}: a library holds neither loops nor passes", "inspect the model instead")
    if useless:
        raise Refusal(f"--all cannot be combined with --{useless[0]}", "leave it out")
    if len(sizes) > 1:
        raise Refusal("--all accepts --sizes only once", "give --sizes once")


def _check_locations(path: Path, stage: str | None, form: str) -> None:
    """Refuse --locations for a stage or format without locations."""
    if form == "dot" or stage is None or stage in STAGES[len(IR_STAGES) :]:
        raise Refusal("--locations needs a stage with locations", f"add --stage: {', '.join(IR_STAGES)}, or a pass")
    if is_library(path):
        raise Refusal(f"{path}: the IR in a library has no locations", "inspect the model instead")


def _one_name(chosen: str | None, name: str | None) -> str | None:
    if chosen and name and chosen != name:
        raise Refusal(f"two functions are given, {chosen} and {name}")
    return chosen or name


def _inspect_library(path: Path, view: View, choice: Choice | None, generic: bool) -> int:
    """Show a library, or remarks of a choice; USAGE if something in it is damaged, after all that could be read."""
    stage, base, name, form = view.stage, view.base, view.name, view.form
    container = Container(read_library(path))
    functions = [spec.name for spec in container.manifest().functions]
    _check_name(path, name, functions)
    if choice is not None:
        remarks = choice.select([x for x in recorded_remarks(container) if name in (None, x.function)], str(path))
        near = [folder / x.file for x in remarks for folder in (Path(), path.parent) if Path(x.file).name == x.file]
        note = schedule_note(container.manifest().schedule)
        _show_remarks(remarks, form, Sources(list(dict.fromkeys(near)), path.stat().st_mtime), note)
        return Exit.DONE
    if stage is None:
        found = describe(container.image.data)
        _show_description(found, [name] if name else functions, form)
        return _report(path, found.damages)
    texts = []
    for one in view.names:
        if one not in IR_STAGES or f"ir.{one}" not in container.extra_names():
            what = "pass" if one in BY_NAME else "stage"
            raise Refusal(f"{path}: {what} {one} is not stored in a library", "inspect the model instead")
        text = section_text(container, f"ir.{one}")
        if one == "nest" and base is None and generic:
            from aotensor_cli.exploring.views import generic_form

            text = generic_form(text)
        texts.append(text if name is None else function_text(text, one, name))
    view.show(*texts)
    try:
        if container.image.kind == SHARED:
            container.check()
    except LibraryError as error:
        return _report(path, [error.diagnostic.title])
    return Exit.DONE


def _page_of_library(path: Path, name: str | None, page: PageOptions) -> int:
    """The page of a library; USAGE if something in it is damaged, after all that could be read."""
    data = read_library(path)
    _check_name(path, name, [spec.name for spec in Container(data).manifest().functions])
    text, damages = library_page(path, data, name, page)
    click.echo(text, nl=False)
    return _report(path, damages)


def _report(path: Path, damages: Sequence[str]) -> int:
    for text in damages:
        talk(f"error: {path}: {text}")
    return Exit.USAGE if damages else Exit.DONE


def _check_name(path: Path, name: str | None, functions: Sequence[str]) -> None:
    """Refuse a function name that is not in the library."""
    if name is not None and name not in functions:
        raise Refusal(f"{path}: there is no function {name}", similar(name, functions) or known_names_hint(functions))


def function_text(text: str, stage: str, name: str) -> str:
    """The lines of one function (and of its `.extents` and the like) in the text of a stage."""
    if stage in ("graph", "graph-opt"):
        start, end = re.compile(rf"function {name}\("), "}"
    else:
        start, end = re.compile(rf"  func\.func (private )?@{name}(\.\w+)?\("), "  }"
    kept: list[str] = []
    is_inside = False
    for line in text.splitlines(keepends=True):
        is_inside = is_inside or start.match(line) is not None
        if is_inside:
            kept.append(line)
            is_inside = line.rstrip("\n") != end
    return "".join(kept)


def _show_remarks(remarks: Sequence[Remark], form: str, sources: Sources, note: str) -> None:
    if form == "json":
        show_json({"remarks": [x.to_json() for x in remarks]} | ({"note": note} if note else {}))
    else:
        show_report(remarks, sources, note)


def _show_description(description: Description, names: Sequence[str], form: str) -> None:
    if form == "json":
        tree = description.to_json()
        tree["functions"] = [x for x in tree["functions"] if x["name"] in set(names)]
        show_json(tree)
        return
    show_table(("", ""), description.rows())
    chosen = set(names)
    for spec in description.manifest.functions:
        if spec.name in chosen:
            work = description.work[spec.name]
            show(f"\n{signature(spec)}")
            details = [("dims", ", ".join(spec.workspace_dims) or "none"), *_work_rows(work)]
            details += [("needs", f"{', '.join(spec.lapack)} of BLAS and LAPACK")] if spec.lapack else []
            details += [("workspace", f"{spec.workspace} bytes")] if spec.workspace is not None else []
            details += [("stack", f"{spec.stack} bytes at most")] if spec.stack is not None else []
            details += [("check", x.static_text()) for x in spec.checks]
            show_table(("", ""), [(f"  {key}", text) for key, text in details])
    if description.passes:
        click.echo("")
        show_table(("pass", "operations", "seconds"), [_pass_row(row) for row in description.passes])


def _work_rows(work: dict[str, str]) -> list[tuple[str, str]]:
    notes = {"flops": "per call", "bytes": "of inputs and outputs"}
    return [(key, f"{work[key]} {notes[key]}") for key in ("flops", "bytes") if key in work]


def _pass_row(row: dict[str, Any]) -> tuple[str, str, str]:
    change = f"{row['before']} -> {row['after']}" if row["before"] != row["after"] else f"{row['before']} (unchanged)"
    return row["name"], change, f"{row['seconds']:.4f}" if "seconds" in row else ""

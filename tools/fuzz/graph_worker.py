"""The process that compiles and runs random programs: many of them in one library."""

from __future__ import annotations

import shutil
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tools.fuzz.child import serve
from tools.fuzz.compare import Finding, compare
from tools.fuzz.draft import drawn
from tools.fuzz.program import Built, Options, Program, build, from_json

import aotensor as aot
from aotensor.codegen.library import write_library
from aotensor.driver import recipe
from aotensor.errors import GraphError, UnsupportedError
from aotensor.verification.threads import small_chunks
from aotensor_runtime.library import Library


def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Findings for {"seeds": …, "options": …} or {"programs": …}."""
    if "levels" in request:
        return [asdict(x) for x in findings_by_level(request["levels"], [from_json(x) for x in request["programs"]])]
    if "seeds" in request:
        found: list[Finding] = []
        programs = []
        for seed in request["seeds"]:
            try:
                programs.append(drawn(seed, Options(**request["options"])))
            except Exception as error:
                found.append(_failure(seed, "draft", error))
        return [asdict(x) for x in [*found, *findings(programs)]]
    return [asdict(x) for x in findings([from_json(x) for x in request["programs"]])]


def findings_by_level(levels: Sequence[dict[str, Any]], programs: Sequence[Program]) -> list[Finding]:
    """Findings of some programs at each level; at the first one, derivatives are compared with differences too."""
    found: list[Finding] = []
    for number, level in enumerate(levels):
        options = Options(**level)
        fitting = [x for x in programs if options.is_static or not {"hessian", "jacobian"} & {*x.wants}]
        here = findings([replace(x, options=options) for x in fitting], by_differences=number == 0)
        found += [replace(x, detail=f"{x.detail}\n  at {options}") for x in here]
    return found


def findings(programs: Sequence[Program], by_differences: bool = True) -> list[Finding]:
    """Compile some programs as one library, and return findings."""
    found: list[Finding] = []
    built: list[tuple[Program, Built]] = []
    for program in programs:
        try:
            built.append((program, build(program)))
        except (GraphError, UnsupportedError) as error:
            found.append(_failure(program.seed, "refused", error))
        except Exception as error:
            found.append(_failure(program.seed, "error", error))
    folder = Path(tempfile.mkdtemp(prefix="aotensor-fuzz-"))
    try:
        return found + _compiled(built, folder, by_differences)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compiled(built: Sequence[tuple[Program, Built]], folder: Path, by_differences: bool) -> list[Finding]:
    if not built:
        return []
    options = built[0][0].options
    try:
        library = compiled_library([one.function for _, one in built], options, folder / str(len(built)))
    except Exception as error:
        if len(built) == 1:
            return [_failure(built[0][0].seed, "error", error)]
        return [x for k, one in enumerate(built) for x in _compiled([one], folder / f"alone{k}", by_differences)]
    found: list[Finding] = []
    for program, one in built:
        try:
            found += compare(program, one, getattr(library, program.name), by_differences)
        except Exception as error:
            found.append(_failure(program.seed, "error", error))
    return found


def compiled_library(functions: Sequence[aot.Function], options: Options, folder: Path) -> Library:
    """As `aot.compile`, which also puts the text of every stage into the library: a fifth of its time."""
    given = recipe.Options(cpu=options.cpu, opt_level=options.opt_level, fp=options.fp)
    if options.check:
        flags = {name: x for name, x in asdict(options).items() if name not in ("small_chunks", "is_static")}
        return aot.compile(functions, folder, name="fuzzed", **flags).load()
    if options.small_chunks:
        given = replace(given, facts=small_chunks(given.machine().facts))
    folder.mkdir(parents=True, exist_ok=True)
    library, _ = write_library(
        recipe.make_library(recipe.lower(functions, given, texts=()), "fuzzed", is_shipped=False), folder
    )
    return aot.load(library)


def _failure(seed: int, kind: str, error: Exception) -> Finding:
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {str(error)[:400]}"
    return Finding(seed, kind, f"{text}\n  at {Path(where.filename).name}:{where.lineno}")


if __name__ == "__main__":
    serve(answer)

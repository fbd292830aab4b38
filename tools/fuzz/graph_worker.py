"""The process that compiles and runs random programs: many of them in one library."""

from __future__ import annotations

import gc
import shutil
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tools.fuzz.child import serve
from tools.fuzz.compare import Expected, Finding, compare, expected
from tools.fuzz.draft import drawn
from tools.fuzz.program import Built, Options, Program, build, from_json

import aotensor as aot
from aotensor.codegen.library import Library as SharedLibrary
from aotensor.codegen.library import write_library
from aotensor.core.garbage import rare_collections
from aotensor.driver import recipe
from aotensor.errors import GraphError, UnsupportedError
from aotensor.verification.threads import small_chunks
from aotensor_runtime.library import Library


@rare_collections
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
    work = _Shared()
    for number, level in enumerate(levels):
        options = Options(**level)
        fitting = [x for x in programs if options.is_static or not {"hessian", "jacobian"} & {*x.wants}]
        here = findings([replace(x, options=options) for x in fitting], by_differences=number == 0, work=work)
        found += [replace(x, detail=f"{x.detail}\n  at {options}") for x in here]
    return found


class _Shared:
    """What levels of the same programs have in common: graphs and results by dims, LLVM IR by all but the optimiser."""

    def __init__(self) -> None:
        self._built: dict[Program, Built] = {}
        self._expected: dict[Program, list[Expected]] = {}
        self._libraries: dict[tuple[Options, tuple[aot.Function, ...]], SharedLibrary] = {}

    def built(self, program: Program) -> Built:
        """The graph of a program.   Raises: errors of aotensor."""
        key = _by_dims(program)
        if key not in self._built:
            self._built[key] = build(program)
        return self._built[key]

    def expected(self, program: Program) -> list[Expected]:
        """The samples of a program."""
        key = _by_dims(program)
        if key not in self._expected:
            self._expected[key] = expected(program, self.built(program))
        return self._expected[key]

    def library(self, functions: Sequence[aot.Function], options: Options) -> SharedLibrary:
        """Functions as LLVM IR, to be optimised at the level of the options."""
        key = replace(options, opt_level=0), tuple(functions)
        if key not in self._libraries:
            self._libraries[key] = library_of(functions, options)
        made = self._libraries[key]
        return replace(made, machine=replace(made.machine, opt_level=options.opt_level))


def _by_dims(program: Program) -> Program:
    return replace(program, options=Options(is_static=program.options.is_static))


def findings(programs: Sequence[Program], by_differences: bool = True, work: _Shared | None = None) -> list[Finding]:
    """Compile some programs as one library, and return findings.   work: of other levels of the same programs"""
    found: list[Finding] = []
    fitting: list[Program] = []
    work = work or _Shared()
    for program in programs:
        try:
            work.built(program)
            fitting.append(program)
        except (GraphError, UnsupportedError) as error:
            found.append(_failure(program.seed, "refused", error))
        except Exception as error:
            found.append(_failure(program.seed, "error", error))
    folder = Path(tempfile.mkdtemp(prefix="aotensor-fuzz-"))
    try:
        return found + _compiled(fitting, folder, by_differences, work)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compiled(programs: Sequence[Program], folder: Path, by_differences: bool, work: _Shared) -> list[Finding]:
    if not programs:
        return []
    functions = [work.built(program).function for program in programs]
    try:
        library = compiled_library(functions, programs[0].options, folder / str(len(programs)), work)
    except Exception as error:
        if len(programs) == 1:
            return [_failure(programs[0].seed, "error", error)]
        return [
            x for k, one in enumerate(programs) for x in _compiled([one], folder / f"alone{k}", by_differences, work)
        ]
    found: list[Finding] = []
    for program in programs:
        try:
            call = getattr(library, program.name)
            found += compare(program, work.built(program), call, by_differences, work.expected(program))
        except Exception as error:
            found.append(_failure(program.seed, "error", error))
    return found


def compiled_library(
    functions: Sequence[aot.Function], options: Options, folder: Path, work: _Shared | None = None
) -> Library:
    """Compile functions and load them, as `aot.compile` and `load` do.   work: of other levels of these functions"""
    if options.check:
        flags = {name: x for name, x in asdict(options).items() if name not in ("small_chunks", "is_static")}
        return aot.compile(functions, folder, name="fuzzed", **flags).load()
    folder.mkdir(parents=True, exist_ok=True)
    library, _ = write_library((work or _Shared()).library(functions, options), folder)
    return aot.load(library)


def library_of(functions: Sequence[aot.Function], options: Options) -> SharedLibrary:
    """Functions as LLVM IR; without the text of every stage, which takes a fifth of the time of `aot.compile`."""
    given = recipe.Options(cpu=options.cpu, opt_level=options.opt_level, fp=options.fp)
    if options.small_chunks:
        given = replace(given, facts=small_chunks(given.machine().facts))
    return recipe.make_library(recipe.lower(functions, given, texts=()), "fuzzed", is_shipped=False)


def _failure(seed: int, kind: str, error: Exception) -> Finding:
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {str(error)[:400]}"
    return Finding(seed, kind, f"{text}\n  at {Path(where.filename).name}:{where.lineno}")


if __name__ == "__main__":
    gc.freeze()
    serve(answer)

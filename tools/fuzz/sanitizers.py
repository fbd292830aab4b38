"""Random programs on short vectors under clang's AddressSanitizer and MemorySanitizer, before and after LLVM's passes.

A C program reads the arguments of each function, calls its typed entry on memory of exactly its size that nobody wrote,
asks MemorySanitizer for each result, and writes the results, which are compared with the reference.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from tools.fuzz.campaign import Campaign
from tools.fuzz.compare import Finding, slots_of
from tools.fuzz.draft import drawn_small
from tools.fuzz.graphs import BATCH
from tools.fuzz.oracle import Array
from tools.fuzz.program import Built, Options, Program, arguments, build, meanings, widened

from aotensor.codegen.library import Library
from aotensor.driver import recipe
from aotensor.errors import AotensorError
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, OutputSpec

CLANG: Final = shutil.which("clang-22") or shutil.which("clang")
SANITIZERS: Final = {"address": "sanitize_address", "memory": "sanitize_memory"}
CPU: Final = "x86-64-v3"
SECONDS: Final = 60.0
CALL = "    if ({name}({names}, NULL)) return 4;"

_MAIN: Final = """#include <stdio.h>
#include <stdlib.h>
#include "library.h"
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#else
#define __msan_check_mem_is_initialized(p, n)
#endif

static void *input(FILE *file, size_t bytes) {
  void *found = malloc(bytes);
  if (fread(found, 1, bytes, file) != bytes) exit(3);
  return found;
}

static void output(FILE *file, void *found, size_t bytes) {
  __msan_check_mem_is_initialized(found, bytes);
  fwrite(found, 1, bytes, file);
  free(found);
}

int main(int count, char **names) {
  if (count != 3) return 2;
  FILE *given = fopen(names[1], "rb"), *found = fopen(names[2], "wb");
%s
  fclose(given);
  return fclose(found);
}
"""


def run(campaign: Campaign) -> None:
    """Run batches of random programs, each under both sanitizers.   Raises: FileNotFoundError without clang"""
    if CLANG is None:
        raise FileNotFoundError("clang is not on the path: apt-get install clang-22 libclang-rt-22-dev")
    for seeds in campaign.batches(BATCH):
        for finding in findings([dense(drawn_small(seed)) for seed in seeds]):
            campaign.add(finding.signature, finding.report)


FORMS: Final = tuple((kind, is_optimised) for kind in SANITIZERS for is_optimised in (False, True))


def findings(programs: Sequence[Program], forms: Sequence[tuple[str, bool]] = FORMS) -> list[Finding]:
    """Reports of sanitizers, and differences from the reference. forms: sanitizer, and whether LLVM's passes ran"""
    built = [(program, build(program)) for program in programs]
    options = recipe.Options(cpu=CPU)
    library = recipe.make_library(
        recipe.lower([one.function for _, one in built], options, texts=()), "sanitized", is_shipped=False
    )
    found: list[Finding] = []
    with tempfile.TemporaryDirectory(prefix="aotensor-fuzz-") as name:
        folder = Path(name)
        for kind, is_optimised in forms:
            found += _examined(built, library, kind, is_optimised, folder / f"{kind}-{is_optimised}")
    return found


def dense(program: Program) -> Program:
    """A program with the same steps without sparse results, with static dims."""
    wants = tuple(x for x in program.wants if x not in ("hessian", "jacobian")) or ("stack", "shared")
    return replace(program, wants=wants, options=Options(is_static=True))


def instrumented(library: Library, kind: str, is_optimised: bool) -> Iterator[str]:
    """LLVM IR modules of a library whose functions have the attribute of a sanitizer."""
    texts = [str(library.optimised)] if is_optimised else [library.program, *_parts(library)]
    for text in texts:
        yield re.sub(r"^(define .*?)((?: !dbg \S+)? *\{)$", rf"\1 {SANITIZERS[kind]}\2", text, flags=re.MULTILINE)


def _parts(library: Library) -> Iterator[str]:
    for part in library.parts:
        yield str(part.make(library.machine))


def write_program(library: Library, kind: str, is_optimised: bool, folder: Path) -> Path:
    """Write and compile the C program under a sanitizer.   Raises: subprocess.CalledProcessError if clang fails"""
    folder.mkdir(parents=True)
    (folder / "library.h").write_text(library.header(), encoding="utf-8")
    calls = "\n".join(line for spec in library.manifest.functions for line in _call(spec))
    (folder / "main.c").write_text(_MAIN % calls, encoding="utf-8")
    flags = ["-O1", "-g", f"-fsanitize={kind}", "-fno-omit-frame-pointer", f"-march={CPU}", "-Wno-override-module"]
    objects = []
    for number, text in enumerate(instrumented(library, kind, is_optimised)):
        source = folder / f"{number}.ll"
        source.write_text(text, encoding="utf-8")
        objects.append(folder / f"{number}.o")
        _clang([*flags, "-fPIC", "-c", "-x", "ir", source, "-o", objects[-1]])
    _clang([*flags, folder / "main.c", *objects, "-o", folder / "program", "-lm"])
    return folder / "program"


def _clang(arguments: Sequence[object]) -> None:
    done = subprocess.run([str(CLANG), *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AotensorError(f"clang failed: {done.stderr[:2000]}")


def _call(spec: FunctionSpec) -> Iterator[str]:
    names = []
    yield "  {"
    values: list[ArgumentSpec | OutputSpec] = [*spec.inputs, *spec.outputs]
    for k, value in enumerate(values):
        size = _count(value.shape) * np.dtype(value.dtype).itemsize
        made = f"input(given, {size})" if k < len(spec.inputs) else f"malloc({size})"
        names.append(f"x{k}")
        yield f"    void *x{k} = {made};"
    yield CALL.format(name=spec.name, names=", ".join(names))
    for k, value in enumerate(spec.outputs):
        size = _count(value.shape) * np.dtype(value.dtype).itemsize
        yield f"    output(found, x{len(spec.inputs) + k}, {size});"
    for name in names[: len(spec.inputs)]:
        yield f"    free({name});"
    yield "  }"


def _count(shape: Sequence[object]) -> int:
    return int(np.prod([n for n in shape if isinstance(n, int)], dtype=int))


def _examined(
    built: Sequence[tuple[Program, Built]], library: Library, kind: str, is_optimised: bool, folder: Path
) -> list[Finding]:
    given = [arguments_of(*one) for one in built]
    program = write_program(library, kind, is_optimised, folder)
    (folder / "given").write_bytes(b"".join(np.ascontiguousarray(x).tobytes() for one in given for x in one))
    where = f"{kind} sanitizer, {'optimised' if is_optimised else 'emitted'}"
    command = [program, folder / "given", folder / "found"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        if len(built) > 1:
            return [x for one in built for x in findings([one[0]], [(kind, is_optimised)])]
        return [Finding(built[0][0].seed, "sanitizer", f"{where}: {done.stderr[:3000] or done.returncode}")]
    data, at, found = (folder / "found").read_bytes(), 0, list[Finding]()
    for (one, made), spec, values in zip(built, library.manifest.functions, given, strict=True):
        for result, exact in zip(spec.outputs, made.function.reference(*values), strict=True):
            mine: Array = np.frombuffer(data, result.dtype, _count(result.shape), at).reshape(np.shape(exact))
            at += mine.nbytes
            if not np.allclose(mine, exact, rtol=1e-9, atol=1e-9 * (1 + np.abs(exact).max(initial=0)), equal_nan=True):
                found.append(Finding(one.seed, "lowering", f"{where}: {result.name} is {mine}, expected {exact}"))
    return found


def arguments_of(program: Program, built: Built) -> list[Array]:
    """The arguments of a program without sparse ones: inputs, ȳ and ẋ."""
    given = arguments(program, 0)
    known = meanings(program, {name: widened(x) for name, x in given.items()})
    slots = slots_of(program, built, given, known)
    return [np.asarray(x) for x in (*given.values(), *(slots[name] for name in built.slots))]

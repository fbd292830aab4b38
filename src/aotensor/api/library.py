"""The functions compile and load."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from aotensor.api.function import Function
from aotensor.api.nlp import NLP
from aotensor.api.schedule import Schedule, hand_schedule
from aotensor.core.garbage import rare_collections
from aotensor.core.types import as_items
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.passes.pipeline import pipeline_of

if TYPE_CHECKING:
    from aotensor.codegen.abi.interface import Layer
    from aotensor.driver.artifact import Artifact
    from aotensor.driver.definition import Definition
    from aotensor_runtime.library import Library


@coerced
@rare_collections  # imports, too
def compile(
    functions: Function | NLP | Sequence[Function | NLP],
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    target: str | None = None,
    cpu: str | None = None,
    features: str | None = None,
    opt_level: int = 3,
    opt_size: bool = False,
    malloc: bool = True,
    freestanding: bool = False,
    fp: str = "contract",
    threads: bool = True,
    check: bool = False,
    prefix: str = "",
    passes: str | None = None,
    disable_passes: Collection[str] | None = None,
    schedule: str | os.PathLike[str] | Schedule | None = None,
    debug_info: bool = False,
    emit: str | Collection[str] = "lib",
    abi: str | Sequence[str] | None = None,
    memory: int | str | None = None,
    sizes: Mapping[str, int] | None = None,
    weights: bool | str = False,
    weights_from: int | str | None = None,
) -> Artifact:
    """Write `lib<name>.so` and `<name>.h` into the folder `path`, and return their paths as an `Artifact`.

    functions: one or several; of a nonlinear program `p` (`aotensor.nlp`) all five, as `p_f`, `p_grad_f`, `p_g`,
    `p_jac_g` and `p_hess_l`.
    name: of the library; by default that of the first function or program.
    target, cpu, features: triple, CPU name ("host", "generic", ...) or levels of x86-64, selected at run time
    ("v2,v3,v4"), `+a,-b`; by default this machine. Files are named as the target names them: `<name>.dll` with
    `lib<name>.dll.a`, `lib<name>.dylib`, `<name>.wasm` with `<name>.mjs` and `<name>.d.mts`.
    opt_size: small code rather than fast code, at opt_level 2 or 3.
    malloc: calls may allocate memory. Without it they use the caller's workspace only, on one core; functions that need
    more are refused, and the manifest has the bytes of workspace and stack that a call needs (docs/embedded.md).
    freestanding: they call only memcpy, memmove and memset of a C library; with emit="static".
    fp: "strict" (IEEE as written), "contract" (FMA, sums reassociated, nan and inf kept) or "fast".
    threads: let loops run on several cores; without it the library has no threads, and gives the same numbers.
    check: check every memory access at run time; fill outputs and buffers with nan before they are written.
    prefix: before every exported symbol.
    passes, disable_passes: as those of `aotensor.function`, which they replace.
    schedule: the loops to compile, instead of those of the passes: a file of nest text, as `aotensor compile --emit
    nest` writes it, edited, or a `Schedule`, as `f.schedule` is.
    debug_info: store the lines of the model for debuggers and profilers; the code is the same.
    emit: "lib", or "static" for `lib<name>.a` instead, or "c" for C99 in `<name>.c` (docs/howto/c_source.md), which
    need no linker here; or several in a tuple.

    abi: an interface of another project, or several, whose symbols the library also exports: "bridgestan" for a log
    density with parameters (docs/howto/bridgestan.md), "casadi" for matrices of static shape (docs/howto/casadi.md),
    whose entry of a function f is `f`, so that ours is `f_typed`, "ceres" for residuals of parameter blocks
    (docs/howto/ceres.md), with a header for C++, "fmi" for the model of an FMU (docs/howto/fmi.md), "ipopt" for
    nonlinear programs (docs/howto/ipopt.md), "sundials" for right-hand sides f(t, y, *p) of differential equations
    (docs/howto/sundials.md).
    `prefix` does not go before its names.
    memory: the most bytes of workspace and stack of a call of each function, as a number or as "64M": loops store fewer
    values for their gradients, and compute them again (docs/howto/memory.md). sizes: of dims that types leave open,
    {"T": 1000}: the bound holds at these.
    weights: write constants of more than 16 KiB to a file next to the library, `<name>.safetensors` or the one of this
    name: the library maps it, and is not complete without it (docs/weights.md). weights_from: bytes of the smallest
    such constant, as a number or as "1M".

    Raises: ScheduleError for a schedule that does not compute what the functions do, GraphError for a wrong program,
    GraphValueError for a bound of memory that cannot be met, with the least that can,
    ToolError for a missing linker, OSError for an unwritable folder.
    """
    given = [functions] if isinstance(functions, Function | NLP) else as_items(functions, "functions to compile")
    chosen = [f for one in given for f in (one.functions if isinstance(one, NLP) else [one])]
    if not chosen:
        raise GraphValueError("compile: the list of functions is empty")
    if not isinstance(path, str | os.PathLike):
        raise GraphTypeError(f"compile: path must be a str or an os.PathLike, not {path!r:.60}")
    for f in chosen:
        if not isinstance(f, Function):
            raise GraphTypeError(f"expected a Function, found {type(f).__name__} {f!r:.60}")
    from aotensor.driver.artifact import kinds_of, write_artifact
    from aotensor.driver.memory import wanted_weights
    from aotensor.driver.recipe import Options

    kinds = kinds_of(emit)
    layers: Sequence[Layer] = ()
    if abi is not None:
        from aotensor.api.interfaces.registry import chosen_interfaces, with_interfaces

        name = name or chosen[0].library_name
        chosen, layers = with_interfaces(chosen_interfaces(abi), chosen, name)
    options = Options(target, cpu, features, opt_level, fp, prefix, verify=check, check=check, threads=threads)
    options = replace(options, debug_info=debug_info, opt_size=opt_size, malloc=malloc, freestanding=freestanding)
    options = replace(options, layers=layers, weights=wanted_weights(weights, weights_from))
    if passes is not None or disable_passes is not None:
        options = replace(options, pipeline=pipeline_of(passes, () if disable_passes is None else disable_passes))
    if schedule is not None:
        options = replace(options, schedule=hand_schedule(schedule))
    definitions: Sequence[Definition] = chosen
    if memory is not None:
        from aotensor.driver.memory import within

        definitions = within(chosen, memory, options, sizes)
    elif sizes:
        raise GraphValueError(
            "compile: sizes= needs memory=, whose bound must hold at these sizes", hint='add memory="64M"'
        )
    return write_artifact(definitions, Path(path), name, options, kinds)


def load(path: str | os.PathLike[str], weights: str | os.PathLike[str] | None = None) -> Library:
    """Load a compiled library; the same as `aotensor_runtime.load`.

    weights: the file with its large constants, if it has one; by default the one next to the library.

    Raises: LibraryError for a file that is damaged, foreign or too new.
    """
    from aotensor_runtime import load as load_library

    return load_library(path, weights)

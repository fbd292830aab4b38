"""Properties that the functions of one library share: distinct names, one pipeline, one schedule, a compiler."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from aotensor.driver.definition import Definition
from aotensor.driver.hand import HandSchedule
from aotensor.errors import GraphValueError
from aotensor.graph.passes.pipeline import DEFAULT, Pipeline
from aotensor_runtime.manifest import MAX_IDENTIFIER, MAX_NAME


def check_names(functions: Sequence[Definition]) -> None:
    """Check the names of functions.   Raises: GraphValueError for a repeated name, or one that is too long"""
    for f in functions:
        _check_lengths(f)
    names = [f.name for f in functions]
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise GraphValueError(
            f"two functions have the name {doubles[0]}",
            hint="name them: function(..., name=...); of an ONNX model, its file",
        )


def _check_lengths(f: Definition) -> None:
    """Check names of a function against the limits of the manifest.   Raises: GraphValueError for one that is too
    long
    """
    dims = (n for x in f.flat.arguments.values() for n in x.tensor_type.shape if isinstance(n, str))
    kinds = (("function", [f.name], MAX_IDENTIFIER), ("input", f.arguments, MAX_NAME), ("output", f.results, MAX_NAME))
    for kind, names, limit in (*kinds, ("dim", dims, MAX_NAME)):
        for name in names:
            if len(name) > limit:
                raise GraphValueError(
                    f"the name of the {kind} {name[:40]}... is too long: {len(name)} characters, at most {limit}"
                )


def common_pipeline(functions: Sequence[Definition]) -> Pipeline:
    """The pipeline of all functions.   Raises: GraphValueError if they request different ones"""
    found = dict.fromkeys(f.pipeline for f in functions)
    if len(found) > 1:
        names = ", ".join(f.name for f in functions)
        raise GraphValueError(
            f"{names} have different passes, but all functions of a library are compiled by the same",
            hint="give the passes for the library: compile(..., passes=...)",
        )
    return next(iter(found), DEFAULT)


def common_schedule(functions: Sequence[Definition]) -> HandSchedule | None:
    """The schedule of a single function.   Raises: GraphValueError if it is compiled together with others"""
    found = [f for f in functions if f.schedule_text is not None]
    if found and len(functions) > 1:
        raise GraphValueError(
            f"{found[0].name} has a schedule of its own, and is compiled together with {len(functions) - 1} more",
            hint="give one schedule for the library: compile(..., schedule=...)",
        )
    return found[0].schedule_text if found else None


@cache
def package_version() -> str:
    """The version of the installed package aotensor, read once per process."""
    try:
        return version("aotensor")
    except PackageNotFoundError:
        return "0+uninstalled"

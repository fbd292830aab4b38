"""`python -m aotensor_cli.comparing.child FOLDER` calls two libraries: a crash ends this process only.

FOLDER holds `old` and `new`, the bytes of the libraries, and `task.json`. Every line that is printed is a JSON object:
{"begin": ...} before each step, then {"rows": ..., "kind": ...} with what was found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from aotensor.api.cost.inputs import dims_of, dims_text, make_inputs, whole_numbers
from aotensor.api.cost.turns import in_turns
from aotensor.api.cost.work import flops_of, parts_of
from aotensor.sampling.agreement import absolute_tolerance, conditioned_tolerance
from aotensor.sampling.pairs import to_pairs
from aotensor.sampling.rounding import perturb_by_ulp
from aotensor_cli.comparing.distance import Distance, distance
from aotensor_runtime import Library, LibraryFunction
from aotensor_runtime.errors import AotensorError, ArgumentValueError
from aotensor_runtime.sparse.call import joined_inputs
from aotensor_runtime.vectors import SECTION, Vector, call_with_state, unpack

Row = dict[str, Any]


def steps(libraries: tuple[Library, Library], names: tuple[str, str], task: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the results of comparing a function that both libraries have, as they are found."""
    old, new = (library.functions[name] for library, name in zip(libraries, names, strict=True))
    for library, name, which in zip(libraries, names, ("old", "new"), strict=True):
        yield {"begin": f"the test vectors of the {which} library"}
        for vector in _vectors(library, name):
            yield from _values(
                f"vector of {which}", {}, *_replayed((old, new), library[name], vector, task["rtol"]), None
            )
    for sizes in task["sizes"]:
        dims = dims_of(old.spec, {name: n for name, n in sizes.items() if name in dims_of(old.spec, {})})
        yield {"begin": f"inputs of {_text(dims)}"}
        inputs = make_inputs(old, dims, task["seed"])
        bound = [_bound(f, inputs, task["threads"]) for f in (old, new)]
        problems = [x for x in bound if isinstance(x, str)]
        if problems:
            both = bound[0] if bound[0] == bound[1] else None
            yield from _values("seeded", dims, {}, None if both else _refusals(bound), both)
            continue
        nearby = _bound(
            old, {name: perturb_by_ulp(x, np.random.default_rng(1)) for name, x in inputs.items()}, task["threads"]
        )
        yield from _values("seeded", dims, _output_distances(bound, nearby, task["rtol"]), None, None)
        yield {"kind": "work", "dims": dims, "rows": [_work(f, dims, inputs) for f in (old, new)]}
        if task["seconds"]:
            yield {"begin": f"timing on inputs of {_text(dims)}"}
            binders = [partial(f.bind, **inputs, num_threads=task["threads"]) for f in (old, new)]
            ratio = in_turns(binders[0], binders[1], task["seconds"])
            yield {"kind": "time", "dims": dims, "rows": [ratio.to_json()]}


def _text(dims: Mapping[str, int]) -> str:
    return dims_text(dims) or "known sizes"


def _vectors(library: Library, name: str) -> list[Vector]:
    if SECTION not in library.manifest.sections:
        return []
    return [x for x in unpack(library.section(SECTION)) if x.function == name]


def _replayed(
    functions: tuple[LibraryFunction, LibraryFunction], owner: LibraryFunction, vector: Vector, rtol: float | None
) -> tuple[dict[str, Distance], str | None]:
    """Compare the outputs on a recorded test vector, within its tolerance; or say why that is not possible."""
    given = dict(zip([x.name for x in owner.spec.arguments], joined_inputs(owner.spec, vector.inputs), strict=True))
    found: list[Any] = []
    for f in functions:
        try:
            values = call_with_state(f, [given[x.name] for x in f.spec.arguments])
            found.append(dict(zip([x.name for x in f.spec.produced], values, strict=True)))
        except AotensorError as error:
            found.append(_refusal(error))
    if any(isinstance(x, str) for x in found):
        return {}, None if found[0] == found[1] else _refusals(found)
    allowed = dict(zip([x.name for x in owner.spec.produced], vector.tolerances, strict=True))
    common = {name: x for name, x in found[0].items() if name in found[1]}
    if rtol is not None:
        allowed = {name: absolute_tolerance(to_pairs(x), rtol) for name, x in common.items()}
    return {name: distance(x, found[1][name], allowed[name]) for name, x in common.items()}, None


def _refusal(error: AotensorError) -> str:
    return f"{type(error).__name__}: {error.diagnostic.title}"


def _refusals(found: list[Any]) -> str:
    """Describe two calls; at least one raised an error."""
    sides = zip(("old", "new"), found, strict=True)
    return ", ".join(f"{which} refuses the call ({x})" for which, x in sides if isinstance(x, str))


def _bound(f: LibraryFunction, inputs: Mapping[str, Any], threads: int | None) -> Any:
    """Bind a function and call it once; return its error message if it refuses the inputs."""
    try:
        call = f.bind(**inputs, num_threads=threads)
        call()
    except AotensorError as error:
        return _refusal(error)
    return call


def _output_distances(bound: list[Any], nearby: Any, rtol: float | None) -> dict[str, Distance]:
    """The distance of each output that both functions have. A sparse one differs as a whole where its pattern does.

    Allowed is what verify allows, wider where one ulp on the inputs moves the old values far, or what `rtol` says.
    """
    rows = {}
    for name, x in bound[0].outputs.items():
        if name not in bound[1].outputs:
            continue
        a, b = parts_of(x), parts_of(bound[1].outputs[name])
        values = to_pairs(np.asarray(a[0]))
        allowed = absolute_tolerance(values, rtol)
        if rtol is None and not isinstance(nearby, str):
            allowed = conditioned_tolerance(values, to_pairs(np.asarray(parts_of(nearby.outputs[name])[0])))
        rows[name] = distance(a[0], b[0], allowed)
        if len(a) != len(b) or not all(map(np.array_equal, a[1:], b[1:])):
            rows[name] = Distance(values.size, values.size, None, None, "another sparsity pattern")
    return rows


def _values(
    source: str, dims: Mapping[str, int], found: Mapping[str, Distance], problem: str | None, refused: str | None
) -> Iterator[Row]:
    """A row of the table of values.   problem: which side refuses the call. refused: what both say against it"""
    rows = [{"output": name, **vars(x)} for name, x in found.items()]
    told = {"problem": problem, "refused": refused}
    yield {"kind": "values", "source": source, "dims": dict(dims), "rows": rows, **told}


def _work(f: LibraryFunction, dims: Mapping[str, int], inputs: Mapping[str, Any]) -> Row:
    """The number of operations and the bytes of workspace of one library at given sizes."""
    flops, _ = flops_of(f.library, f.spec.name, {**whole_numbers(inputs), **dims})
    known = [dims[name] for name in f.spec.workspace_dims if name in dims]
    is_known = len(known) == len(f.spec.workspace_dims)
    workspace = f.workspace_bytes(**dict(zip(f.spec.workspace_dims, known, strict=True))) if is_known else None
    return {"flops": flops, "workspace": workspace}


def _say(row: Row) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def main(folder: Path) -> None:
    """Run the task, and print one line of JSON for each result."""
    task = json.loads((folder / "task.json").read_bytes())
    files, weights = [(folder / name).read_bytes() for name in ("old", "new")], task["weights"]
    libraries = Library(files[0], weights=weights[0]), Library(files[1], weights=weights[1])
    for number, names in enumerate(task["functions"]):
        try:
            for row in steps(libraries, tuple(names), task):
                _say({"function": number, **row})
        except ArgumentValueError as error:
            _say({"function": number, "refusal": [error.diagnostic.title, error.diagnostic.hint]})
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))

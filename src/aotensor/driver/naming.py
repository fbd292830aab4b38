"""Names that are valid in C, in the header and as keyword arguments."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from aotensor.errors import GraphValueError
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import leaves, toposort
from aotensor_runtime.manifest import SPARSE_PARTS

C_KEYWORDS: Final = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if"  # noqa: SIM905
    " inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void"
    " volatile while workspace context class new delete template this operator private public protected bool true"
    " false".split()
)


def known_constants(graphs: Iterable[Iterable[Variable]]) -> dict[bytes, tuple[str, str]]:
    """SHA-256 of a constant's bytes → the name that its user gave it, if any, and its dtype.

    graphs: their results. The name of a transpose is `<name>.T`, those of a sparse matrix `<name>.data` and the like.
    """
    found: dict[bytes, tuple[str, str]] = {}
    for x in (x for results in graphs for x in leaves(results)):
        if isinstance(x, Constant):
            for form, data in _stored_forms(x.data):
                name = x.name and x.name + form
                found.setdefault(hashlib.sha256(data.tobytes()).digest(), (name or "", data.dtype.name))
    return found


def _stored_forms(data: Any) -> list[tuple[str, np.ndarray]]:
    """The arrays that a library may store of a constant, with the ends of their names."""
    if isinstance(data, np.ndarray):
        return [("", data)] + [(".T", data.T)] * (data.ndim == 2)
    return [(f".{part}", getattr(data, part)) for part in SPARSE_PARTS]


def input_names(function: str, inputs: Sequence[tuple[Variable, str | None]]) -> list[str]:
    """The C names of inputs: derived from the user's name if there is one, else `in0`, `in1`, ...

    Raises: GraphValueError with the lines of both if two inputs have one name: a call could not distinguish them.
    """
    named: dict[str, Variable] = {}
    for x, wanted in inputs:
        if wanted is None:
            continue
        name = c_name(wanted, (), "")
        if name in named:
            raise GraphValueError(
                f"{function}: two inputs have the name {name}",
                lines=[named[name].describe(), x.describe()],
                hint="give one of them another name, or wrap it: In(x, name=...)",
            )
        if name:
            named[name] = x
    own = {x: name for name, x in named.items()}
    taken = set(named)
    for position, (x, _) in enumerate(inputs):
        if x not in own:
            own[x] = c_name("", taken, f"in{position}")
            taken.add(own[x])
    return [own[x] for x, _ in inputs]


def output_names(function: str, keys: Sequence[str]) -> list[str]:
    """The C names of outputs.   Raises: GraphValueError if two keys have one."""
    named: dict[str, str] = {}
    for key in keys:
        name = c_name(key, (), "out")
        if name in named:
            title = f"{function}: outputs {named[name]!r} and {key!r} have the same name in C, {name}"
            raise GraphValueError(title, hint="rename one of them")
        named[name] = key
    return list(named)


def local_names(
    known: Mapping[str, Any], results: Sequence[Variable], inputs: Collection[Variable]
) -> dict[Variable, str]:
    """Names of intermediate values in the user's program, such as the local variable `r`.

    known: name → object. A value's own name wins, then the first name found.
    """
    found: dict[Variable, str] = {}
    for name, x in known.items():
        if isinstance(x, Variable) and x.owner is not None and not x.name and not name.startswith("_"):
            found.setdefault(x, name)
    if found:
        needed = {x for node in toposort(results, inputs) for x in node.outputs}
        found = {x: name for x, name in found.items() if x in needed}
    return found


def c_name(wanted: str, taken: Collection[str], fallback: str) -> str:
    """`wanted` as a C identifier that is not taken: other characters become `_`, a clash gets a number."""
    name = re.sub(r"\W", "_", wanted, flags=re.ASCII).strip("_") or fallback
    if name[:1].isdigit():
        name = f"_{name}"
    if name in C_KEYWORDS:
        name += "_"
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    return unique

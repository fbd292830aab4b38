"""Nodes of PyTensor: topological order, source lines, and entries of errors."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from aotensor.extension import Site
from aotensor.importers.errors import NoCounterpart, Untranslated

MAKERS: Final = ("pytensor", "pymc")
"""Packages whose classes the table of rules describes."""
_STANDARD: Final = os.path.dirname(os.__file__) + os.sep
"""Python's own modules, such as functools, through which PyMC calls densities."""
_NEARBY: Final = 32
"""Nodes among which a line is looked for."""


def toposort(outputs: Sequence[Any], known: Collection[Any]) -> Iterator[Any]:
    """The ancestors of the outputs in topological order, without those of known values. It does not recurse, as graphs
    may be deep.
    """
    done: set[Any] = set()
    pending = [(x.owner, False) for x in reversed(outputs) if x.owner is not None and x not in known]
    while pending:
        node, is_ready = pending.pop()
        if node in done:
            continue
        if is_ready:
            done.add(node)
            yield node
            continue
        pending.append((node, True))
        pending += [
            (x.owner, False)
            for x in reversed(node.inputs)
            if x.owner not in done and x.owner is not None and x not in known
        ]


def unsupported(node: Any, reason: str) -> NoCounterpart:
    """The error for an unsupported use of an op that has a rule."""
    return NoCounterpart("PyTensor", [untranslated(node, reason)])


def untranslated(node: Any, reason: str = "") -> Untranslated:
    """The record of an untranslatable node, for errors."""
    inner = getattr(node.op, "scalar_op", None) or getattr(node.op, "core_op", None)
    kind = type(node.op).__name__
    shown = kind if inner is None else f"{kind} of {type(inner).__name__}"
    site = site_of(node)
    return Untranslated(shown, reason, "" if site is None else str(site))


def site_of(node: Any) -> Site | None:
    """The user's line that made a node, which PyTensor keeps in a tag; else one that made an operand nearby.

    Densities of PyMC are made inside of it, of variables that the user made.
    """
    seen, pending = {node}, deque([node])
    while pending:
        near = pending.popleft()
        found = _own_site(near)
        if found is not None:
            return found
        owners = [x.owner for x in near.inputs if x.owner is not None and x.owner not in seen]
        pending.extend(owners[: _NEARBY - len(seen)])
        seen.update(owners)
    return None


def _own_site(node: Any) -> Site | None:
    for holder in (node.outputs[0], node):
        for trace in getattr(holder.tag, "trace", None) or ():
            for frame in reversed(trace):
                if not _is_framework(frame[0]):
                    return Site(frame[0], frame[1])
    return None


def _is_framework(path: str) -> bool:
    parts = path.split(os.sep)
    is_package = any(package in parts for package in (*MAKERS, "aotensor")) and "tests" not in parts
    return is_package or (path.startswith(_STANDARD) and "site-packages" not in parts)

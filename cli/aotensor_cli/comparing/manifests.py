"""Compare the manifests and recorded sections of two libraries, without executing them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aotensor.graph.passes.remarks import Remark, by_line
from aotensor_cli.comparing.sides import Side
from aotensor_cli.reading.describe import signature
from aotensor_runtime.manifest import FunctionSpec, Manifest, SparseValue

_LINE: Final = re.compile(r"[^\s(`]+\.\w+:\d+")
"""A line of a file, as remarks name others: an edit above moves it, and the file may have another name."""


@dataclass(frozen=True)
class Fact:
    """One property with its value in both libraries.   change: new/old − 1 where both are numbers"""

    what: str
    old: str
    new: str
    change: float | None = None

    @property
    def is_same(self) -> bool:
        return self.old == self.new

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "old": self.old, "new": self.new, "change": self.change}


@dataclass(frozen=True)
class Pair:
    """A function that both libraries have, under its name in each.

    decisions: remarks that only one of them has; None where a library carries none.
    """

    old: FunctionSpec
    new: FunctionSpec
    facts: list[Fact] = field(default_factory=list)
    decisions: tuple[list[Remark], list[Remark]] | None = None

    @property
    def name(self) -> str:
        """The label of the pair: `f`, or `f, new name g`."""
        return self.old.name if self.old.name == self.new.name else f"{self.old.name}, new name {self.new.name}"

    @property
    def is_same_signature(self) -> bool:
        """Names, order, dtypes, extents and formats of all inputs and outputs. The function's own name may differ."""
        return self._signature(self.old) == self._signature(self.new)

    @staticmethod
    def _signature(spec: FunctionSpec) -> str:
        return signature(spec).partition("(")[2]

    @property
    def obstacle(self) -> str | None:
        """The reason that the two functions cannot take the same inputs; None if they can."""
        old, new = ({x.name: x for x in spec.arguments} for spec in (self.old, self.new))
        for name in [*old, *(name for name in new if name not in old)]:
            if name not in new or name not in old:
                return f"only the {'old' if name in old else 'new'} one has an input {name}"
            x, y = old[name], new[name]
            kinds = [(a.format, a.index_dtype) if isinstance(a, SparseValue) else None for a in (x, y)]
            if x.dtype != y.dtype or kinds[0] != kinds[1] or len(x.shape) != len(y.shape):
                return f"the input {name} has another dtype, rank or format"
        return None


def pairs_of(old: Side, new: Side) -> list[Pair]:
    """Functions of both sides with equal names; if one function of each side is selected, these two."""
    if len(old.names) == len(new.names) == 1 and ":" in old.label and ":" in new.label:
        names = [(old.names[0], new.names[0])]
    else:
        names = [(name, name) for name in old.names if name in new.names]
    found = []
    for one, other in names:
        specs = old.functions[one], new.functions[other]
        decisions = None
        if old.remarks is not None and new.remarks is not None:
            decisions = changed_decisions(
                [x for x in old.remarks if x.function == one], [x for x in new.remarks if x.function == other]
            )
        works = [side.description.work.get(spec.name, {}) for side, spec in zip((old, new), specs, strict=True)]
        found.append(Pair(*specs, _facts_of_function(*specs, *works), decisions))
    return found


def library_facts(old: Side, new: Side) -> list[Fact]:
    """Facts about the libraries, not about single functions."""
    a, b = old.manifest, new.manifest
    linked = old.description.linkage, new.description.linkage
    texts: list[tuple[str, str, str]] = [
        ("aotensor", a.aotensor, b.aotensor), ("LLVM", a.llvm, b.llvm), ("ABI", str(a.abi), str(b.abi)),
        ("target", a.target, b.target), ("CPU", a.processors, b.processors),
        ("features", *_features(a.features, b.features)), ("fp", a.fp, b.fp), ("prefix", a.prefix, b.prefix),
        ("passes", a.pipeline or "the usual ones", b.pipeline or "the usual ones"),
        ("schedule", a.schedule or "none", b.schedule or "none"),
        ("allocates memory", _yes(a.allocates), _yes(b.allocates)),
        ("interfaces", *_lists([f"{x.name} {x.version}" for x in a.interfaces],
                               [f"{x.name} {x.version}" for x in b.interfaces])),
        ("weights", _weights(a), _weights(b)),
        ("exports", *_lists(linked[0].exported, linked[1].exported)),
        ("needs", *_lists(linked[0].needed, linked[1].needed)),
        ("calls", *_lists(linked[0].undefined, linked[1].undefined)),
        ("contains", *_lists(a.sections, b.sections)),
    ]  # fmt: skip
    sizes = [("file, bytes", old.description.size, new.description.size), ("code, bytes", old.code, new.code)]
    return [Fact(*row) for row in texts] + [_number(what, x, y) for what, x, y in sizes]


def _weights(manifest: Manifest) -> str:
    return "none" if manifest.weights is None else f"{manifest.weights.file}, {manifest.weights.expectation}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _lists(old: Sequence[str], new: Sequence[str]) -> tuple[str, str]:
    """The elements that only one of two lists has; both lists if they are equal."""
    if set(old) == set(new):
        return (text := ", ".join(old) or "nothing"), text
    both = f"{len(set(old) & set(new))} in both"
    only = [", ".join(x for x in one if x not in set(other)) for one, other in ((old, new), (new, old))]
    return f"{both}; {only[0]}".removesuffix("; "), f"{both}; {only[1]}".removesuffix("; ")


def _features(old: str, new: str) -> tuple[str, str]:
    """The CPU features that only one of the two libraries uses."""
    one, other = (text.split(",") if text else [] for text in (old, new))
    return _lists([x for x in one if x.startswith("+")], [x for x in other if x.startswith("+")])


def _facts_of_function(old: FunctionSpec, new: FunctionSpec, work: dict[str, str], other: dict[str, str]) -> list[Fact]:
    facts = [Fact("signature", signature(old), signature(new))]
    facts += [Fact(f"{what} per call", work.get(what, "unknown"), other.get(what, "unknown")) for what in _WORK]
    facts += [Fact("checks", *_lists([x.static_text() for x in old.checks], [x.static_text() for x in new.checks]))]
    facts += [Fact("functions of BLAS and LAPACK", *_lists(old.lapack, new.lapack))]
    bounds = ["set by the call" if spec.workspace is None else str(spec.workspace) for spec in (old, new)]
    facts += [Fact("workspace formula, bytes", bounds[0], bounds[1])]
    facts += [_number("stack, bytes at most", old.stack, new.stack)]
    return facts


_WORK: Final = ("flops", "bytes")


def _number(what: str, old: int | None, new: int | None) -> Fact:
    change = new / old - 1 if old and new is not None else None
    texts = ["unknown" if x is None else str(x) for x in (old, new)]
    return Fact(what, texts[0], texts[1], change)


def changed_decisions(old: Sequence[Remark], new: Sequence[Remark]) -> tuple[list[Remark], list[Remark]]:
    """Remarks that only one list has; line numbers are ignored, since an edit above shifts them."""
    counts = [Counter(map(_key, side)) for side in (old, new)]
    found: list[list[Remark]] = []
    for side, rest in ((old, counts[0] - counts[1]), (new, counts[1] - counts[0])):
        kept = []
        for x in by_line(side):
            if rest[_key(x)] > 0:
                rest[_key(x)] -= 1
                kept.append(x)
        found.append(kept)
    return found[0], found[1]


def _key(x: Remark) -> tuple[str, ...]:
    message, value, hint = (_LINE.sub("", text) for text in (x.message, x.value, x.hint))
    return x.pass_name, x.kind, message, value, x.bytes, x.flops, str(x.count), hint

"""Which passes run and how: the default pipeline, another one as text, or one with passes left out.

    fuse{max-statements=64},place-values,jam{by=4}      in the notation of MLIR and xDSL

It is read here, where no IR library is loaded yet: a wrong pipeline is an error where it is written.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias

from aotensor.errors import GraphTypeError, GraphValueError

Level: TypeAlias = Literal["graph", "tensor", "nest", "loops"]
LEVELS: Final[tuple[Level, ...]] = ("graph", "tensor", "nest", "loops")


@dataclass(frozen=True)
class Step:
    """A pass as pipelines know it.

    needed: why nothing is compiled without it, "" for an optimisation. options: what may be set, from and to which
    number. is_free: it may run several times, and before or after any other free one of its level.
    """

    name: str
    level: Level
    needed: str = ""
    options: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    is_free: bool = False


STEPS: Final = (
    Step("expand", "graph", needed="ops that are made of others, and sparse matrices, end there"),
    Step("stable-forms", "graph"),
    Step("cse", "graph", is_free=True),
    Step("merge-loops", "graph", is_free=True),
    Step("dce", "graph", is_free=True),
    Step("licm", "graph", is_free=True),
    Step("sink", "graph", is_free=True),
    Step("join-windows", "graph", is_free=True),
    Step("sink-into-branches", "graph"),
    Step("resolve-extents", "graph"),
    Step("fuse-elementwise", "graph"),
    Step("canonicalize", "tensor", is_free=True),
    Step("value-numbering", "tensor", is_free=True),
    Step("stabilize", "tensor", is_free=True),
    Step("factor-sums", "tensor", is_free=True),
    Step("read-windows", "tensor", is_free=True),
    Step("inline-reads", "tensor", is_free=True),
    Step("sum-scatters", "tensor", is_free=True),
    Step("chunk-scans", "nest"),
    Step("transpose-factors", "nest"),
    Step("lower-to-nest", "nest", needed="loops are made of nests"),
    Step("eliminate-copies", "nest"),
    Step("rematerialize", "nest"),
    Step("divide-slices", "nest"),
    Step("interchange", "nest"),
    Step("fuse", "nest", options={"max-statements": (1, 1 << 20), "reorder": (0, 1)}),
    Step("place-values", "nest"),
    Step("block-rows", "nest", options={"elements": (1, 1 << 20)}),
    Step("tile-columns", "nest", options={"prefetch-distance": (0, 1 << 20)}),
    Step("assign-memory", "nest"),
    Step("coalesce", "nest"),
    Step("row-vectors", "nest"),
    Step("jam", "nest", options={"by": (2, 16)}),
    Step("mark-parallel", "nest"),
    Step("small-matrices", "nest", options={"largest": (0, 64)}),
    Step("short-vectors", "nest"),
    Step("vectorize", "nest", options={"interleave": (2, 16)}),
    Step("tile-sweeps", "nest", options={"together": (2, 64), "window": (1, 64)}),
    Step("parallelize", "nest", options={"chunk-work": (1, 1 << 30), "most-chunks": (1, 64)}),
    Step("split-loops", "nest"),
    Step("fetch-ahead", "nest", options={"entries": (2, 1 << 20)}),
    Step("hand-over", "loops"),
    Step("emit-loops", "loops", needed="code is made of loops"),
    Step("plan-memory", "loops", needed="the entries of a library ask it for the size of the workspace"),
    Step("hint-vectors", "loops", options={"interleave": (1, 16)}),
    Step("outline-chunks", "loops"),
    Step("outline", "loops", options={"loops-together": (0, 1 << 20)}),
    Step("expand-math", "loops", needed="elementary functions get their bodies there"),
    Step("outline-math", "loops", options={"operations": (0, 1 << 30)}),
)
"""Every pass, in the order in which those that are not free run."""

BY_NAME: Final = {step.name: step for step in STEPS}
OPTIMISATIONS: Final = tuple(step.name for step in STEPS if not step.needed)
"""What may be left out."""


@dataclass(frozen=True)
class Chosen:
    """A pass in a pipeline, with its options."""

    name: str
    options: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        shown = " ".join(f"{key}={value}" for key, value in self.options)
        return f"{self.name}{{{shown}}}" if shown else self.name


_LOOPS: Final = ("cse", "merge-loops", "dce", "licm", "sink", "licm", "join-windows", "cse", "dce")
_TENSOR: Final = (
    "canonicalize", "value-numbering", "stabilize", "canonicalize", "factor-sums", "read-windows", "inline-reads",
    "sum-scatters", "canonicalize",
)  # fmt: skip
_DEFAULT: Final = (
    "expand", "stable-forms", *_LOOPS, "sink-into-branches", "resolve-extents", "fuse-elementwise", *_TENSOR,
    *(step.name for step in STEPS if step.level in ("nest", "loops")),
)  # fmt: skip


@dataclass(frozen=True)
class Pipeline:
    """The passes that run, in order; those for loops of graphs run where there are loops."""

    passes: tuple[Chosen, ...] = tuple(map(Chosen, _DEFAULT))

    def __str__(self) -> str:
        return ",".join(map(str, self.passes))

    def at(self, level: Level) -> list[Chosen]:
        """The passes of a level, in order."""
        return [chosen for chosen in self.passes if BY_NAME[chosen.name].level == level]


DEFAULT: Final = Pipeline()


def pipeline_of(passes: object = None, disabled: object = ()) -> Pipeline:
    """The pipeline of a text, None for the default one, without the passes `disabled`.

    Raises: GraphValueError for an unknown pass or option, a wrong value, an order that cannot work, and for a pass left
    out that nothing is compiled without; GraphTypeError for what is no text.
    """
    if passes is not None and not isinstance(passes, str):
        raise GraphTypeError(f"passes is text such as 'fuse,jam{{by=4}}', not {passes!r:.60}")
    if not isinstance(disabled, list | tuple | set | frozenset):
        raise GraphTypeError(f"disable_passes is a list of names of passes, not {disabled!r:.60}")
    for name in disabled:
        reason = _step(name).needed
        if reason:
            raise GraphValueError(f"pass {name} cannot be left out: {reason}", hint="leave out optimisations only")
    chosen = DEFAULT.passes if passes is None else _parsed(passes)
    if passes is not None:
        _check_order(chosen)
    return Pipeline(tuple(one for one in chosen if one.name not in set(disabled)))


def _step(name: Any) -> Step:
    if not isinstance(name, str):
        raise GraphTypeError(f"the name of a pass is text, not {name!r:.60}")
    if name not in BY_NAME:
        raise GraphValueError(f"there is no pass {name[:60]!r}", hint=_similar(name, BY_NAME))
    return BY_NAME[name]


def _similar(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, list(known), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"


# --- text ------------------------------------------------------------------------------------------------------------

_ENTRY: Final = re.compile(r"\s*([\w-]+)\s*(?:\{([^{}]*)\})?\s*(,|$)")
_OPTION: Final = re.compile(r"([\w-]+)=(-?\d+)")


def _parsed(text: str) -> tuple[Chosen, ...]:
    found: list[Chosen] = []
    position = 0
    while position < len(text) or not found:
        match = _ENTRY.match(text, position)
        if match is None or (match[3] == "," and not text[match.end() :].strip()):
            where = text[position : position + 40]
            raise GraphValueError(
                f"the pipeline is not understood at {where!r}", hint="write names with commas: fuse,jam{by=4}"
            )
        step = _step(match[1])
        found.append(Chosen(step.name, _options(step, match[2] or "")))
        position = match.end()
    return tuple(found)


def _options(step: Step, text: str) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for part in text.split():
        match = _OPTION.fullmatch(part)
        if match is None:
            raise GraphValueError(
                f"option {part[:40]!r} of pass {step.name} is not understood", hint="options are name=number"
            )
        name, value = match[1], int(match[2])
        if name not in step.options:
            hint = _similar(name, step.options) if step.options else "it has none"
            raise GraphValueError(f"pass {step.name} has no option {name[:40]!r}", hint=hint)
        least, most = step.options[name]
        if not least <= value <= most:
            raise GraphValueError(f"option {name} of pass {step.name} is {value}, not a number from {least} to {most}")
        found[name] = value
    return tuple(sorted(found.items()))


# --- order -----------------------------------------------------------------------------------------------------------


def _check_order(chosen: Sequence[Chosen]) -> None:
    names = [one.name for one in chosen]
    for step in STEPS:
        if step.needed and step.name not in names:
            before = [other.name for other in STEPS[: STEPS.index(step)] if other.name in names]
            hint = f"put it behind {before[-1]}" if before else "put it first"
            raise GraphValueError(f"the pipeline lacks pass {step.name}: {step.needed}", hint=hint)
    order = {step.name: position for position, step in enumerate(STEPS)}
    seen: dict[str, None] = {}
    for name in names:
        step = BY_NAME[name]
        if name in seen and not step.is_free:
            raise GraphValueError(f"pass {name} stands in the pipeline twice, and runs once")
        for earlier in seen:
            is_free = step.is_free and BY_NAME[earlier].is_free and step.level == BY_NAME[earlier].level
            if order[earlier] > order[name] and not is_free:
                raise GraphValueError(
                    f"pass {name} cannot run behind {earlier}", hint="it works on what is there before: put it in front"
                )
        seen[name] = None

"""Pass pipelines: the default one, one parsed from text, or one without some passes.

    fuse{max-statements=64},scalar-replacement,unroll-and-jam{by=4}      in the notation of MLIR and xDSL

Parsed here, before an IR library is loaded, so that the error for a wrong pipeline names the user's line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Any, Final

from aotensor.core.frozen import frozen_dataclass
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.passes.steps import BY_NAME, STEPS, Step, unknown_pass
from aotensor.graph.passes.table import ORDER, Level


@frozen_dataclass
class Chosen:
    """A pass of a pipeline, with its options."""

    name: str
    options: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        shown = " ".join(f"{key}={value}" for key, value in self.options)
        return f"{self.name}{{{shown}}}" if shown else self.name


@frozen_dataclass
class Pipeline:
    """The passes in order; those for graph loops run only on graphs with loops."""

    passes: tuple[Chosen, ...] = tuple(map(Chosen, ORDER))

    def __str__(self) -> str:
        return ",".join(map(str, self.passes))

    def at(self, level: Level) -> list[Chosen]:
        """The passes of one level of the IR, in order."""
        return [chosen for chosen in self.passes if BY_NAME[chosen.name].level == level]


DEFAULT: Final = Pipeline()


def pipeline_of(passes: object = None, disabled: object = ()) -> Pipeline:
    """Parse a pipeline, None for the default one, and remove the passes `disabled`.

    Raises: GraphValueError for an unknown pass or option, a wrong value, an impossible order, and for a missing pass
    that is required; GraphTypeError for anything but text.
    """
    if passes is not None and not isinstance(passes, str):
        raise GraphTypeError(f"passes must be text such as 'fuse,unroll-and-jam{{by=4}}', not {passes!r:.60}")
    if not isinstance(disabled, list | tuple | set | frozenset):
        raise GraphTypeError(f"disable_passes must be a list of names of passes, not {disabled!r:.60}")
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
        raise GraphTypeError(f"the name of a pass must be text, not {name!r:.60}")
    if name not in BY_NAME:
        message, hint = unknown_pass(name)
        raise GraphValueError(message, hint=hint or _similar(name, BY_NAME))
    return BY_NAME[name]


def _similar(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, list(known), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"known names: {', '.join(known)}"


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
                f"the pipeline is not understood at {where!r}",
                hint="write names with commas: fuse,unroll-and-jam{by=4}",
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
            hint = _similar(name, step.options) if step.options else "it has no options"
            raise GraphValueError(f"pass {step.name} has no option {name[:40]!r}", hint=hint)
        least, most, *_, is_power = step.options[name]
        if not least <= value <= most or (is_power and value & (value - 1)):
            kind = "a power of two" if is_power else "a number"  # LLVM ignores other interleave counts
            raise GraphValueError(f"option {name} of pass {step.name} is {value}, not {kind} from {least} to {most}")
        found[name] = value
    return tuple(sorted(found.items()))


# --- order -----------------------------------------------------------------------------------------------------------


def _check_order(chosen: Sequence[Chosen]) -> None:
    names = [one.name for one in chosen]
    for step in STEPS:
        if step.needed and step.name not in names:
            before = [other.name for other in STEPS[: STEPS.index(step)] if other.name in names]
            hint = f"put it after {before[-1]}" if before else "put it first"
            raise GraphValueError(f"the pipeline lacks pass {step.name}: {step.needed}", hint=hint)
    order = {step.name: position for position, step in enumerate(STEPS)}
    seen: dict[str, None] = {}
    for name in names:
        step = BY_NAME[name]
        if name in seen and not step.is_free:
            raise GraphValueError(f"pass {name} is listed twice, but it can run only once")
        for earlier in seen:
            is_free = step.is_free and BY_NAME[earlier].is_free and step.level == BY_NAME[earlier].level
            if order[earlier] > order[name] and not is_free:
                raise GraphValueError(f"pass {name} cannot run after {earlier}", hint=f"put {name} before {earlier}")
        seen[name] = None

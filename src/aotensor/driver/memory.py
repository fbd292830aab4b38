"""Bounds of memory: checkpoints of loops are chosen so that workspace and stack of each function stay below a bound."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

from aotensor.codegen.weights.file import WeightsOption
from aotensor.core.types import dim_name
from aotensor.driver.definition import Definition
from aotensor.driver.function_spec import work_of
from aotensor.driver.recipe import Lowered, Options, lower, make_library
from aotensor.errors import GraphTypeError, GraphValueError, OptionError, UnsupportedError
from aotensor.graph.passes.remarks import Note
from aotensor.ops.scan.rewrite.checkpoint import Checkpoints
from aotensor.ops.scan.rewrite.groups import EVERY, STEPS
from aotensor.passes.report.bounds import refuse_heap, workspace_at
from aotensor_runtime.abi import WORKSPACE_ALIGNMENT

LEVELS: Final = 3
"""Segments are divided at most this often; each level is a copy of the loop's body, and one more forward pass."""
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
PASS: Final = "checkpoint-loops"


def bytes_of(memory: object, what: str = "memory") -> int:
    """Convert a number of bytes, or text such as `64M` (K, M, G, T: powers of 1024), to an int.

    Raises: GraphTypeError for another type, OptionError for anything else, and for numbers below 1.
    """
    if isinstance(memory, bool) or not isinstance(memory, int | str):
        raise GraphTypeError(f"{what} must be a number of bytes, such as 64M or 67108864, not {memory!r:.60}")
    match = re.fullmatch(r"(\d{1,18}) ?([KMGT]?)(?:i?B)?", str(memory).strip())
    found = int(match[1]) * _UNITS[match[2]] if match is not None else 0
    if not 1 <= found < 1 << 62:
        raise OptionError(f"{what} must be a number of bytes, such as 64M or 67108864, not {memory!r:.60}")
    return found


def wanted_weights(weights: bool | str, least: int | str | None) -> WeightsOption | None:
    """The file of large constants, and the smallest size stored there; None for none.

    Raises: GraphValueError for a name with a folder, OptionError for a size that is none.
    """
    if weights is False:
        if least is not None:
            raise GraphValueError(
                "weights_from needs a file of weights: it is the least size of a constant in that file",
                hint="add weights=True",
            )
        return None
    option = WeightsOption("" if weights is True else weights)
    return option if least is None else replace(option, least=bytes_of(least, "weights_from") - 1)


class Segments(NamedTuple):
    """A checkpointed loop as the user wrote it, and its steps between checkpoints: `20`, or `100 and 10`."""

    loop: str
    file: str
    line: int
    steps: str


@dataclass(frozen=True)
class Footprint:
    """The memory of one call of a function, and its work.   workspace: bytes. lowered: the function with checkpoints"""

    checkpoints: Checkpoints
    workspace: int
    lowered: Lowered
    sizes: Mapping[str, int]

    @cached_property
    def segments(self) -> list[Segments]:
        """The loops that are checkpointed."""
        done = [x for x in self.lowered.remarks if x.pass_name == PASS and x.kind == "applied"]
        return [Segments(x.value, x.file, x.line, x.message.partition(EVERY)[2].partition(STEPS)[0]) for x in done]

    @cached_property
    def stack(self) -> int:
        """An upper bound of the stack of a call, in bytes, from the optimised code."""
        from aotensor.codegen.embedded.stack import stack_bounds

        lowered = self.lowered
        library = make_library(lowered, lowered.functions[0].name, is_shipped=False)
        bounds = stack_bounds(lowered.machine, library.optimised, lowered.specs(), lowered.options.prefix)
        return max(bounds.values())

    @property
    def bytes(self) -> int:
        """Bytes of workspace and stack."""
        return self.workspace + self.stack

    @cached_property
    def work(self) -> str:
        """Floating-point operations at these sizes, as a formula of trip counts that depend on values."""
        return str(work_of(self.lowered.module, self.lowered.specs()[0], self.sizes))


class Memory:
    """The memory that a function needs with each number of checkpoints.   sizes: of dims that are not known, by name

    Raises: OptionError for a missing or unknown size.
    """

    def __init__(self, function: Definition, options: Options, sizes: Mapping[str, int]) -> None:
        self.function, self.sizes = function, sizes
        self.options = replace(options, layers=(), schedule=None)

    @cached_property
    def dims(self) -> list[str]:
        """The names of dims whose extents are not static."""
        return list(named_dims([self.function]))

    @cached_property
    def has_loops(self) -> bool:
        """Is there a loop that can be checkpointed?"""
        return any(map(_is_applied, self._checkpointed(1).graph_notes))

    def footprints(self) -> Iterator[Footprint]:
        """Footprints without checkpoints, then with 1, 2, … levels of checkpoints, until a level changes nothing.

        A level at which the number of bytes depends on values is left out.

        Raises: UnsupportedError if that holds for all levels.
        """
        known: list[list[object]] = []
        error: UnsupportedError | None = None
        has_bound = False
        for levels in range(LEVELS + 1):
            function = self._checkpointed(levels)
            lengths = [note.subjects[1] for note in function.graph_notes if _is_applied(note)]
            if lengths in known:
                break
            known.append(lengths)
            try:
                found = self._measured(function)
            except UnsupportedError as unbounded:
                error = error or unbounded
                continue
            has_bound = True
            yield found
        if error is not None and not has_bound:
            raise error

    def within(self, most: int) -> Definition:
        """The function with the fewest checkpoints whose workspace and stack fit the bound.

        Raises: GraphValueError with the least bytes that are possible, if they are more
        """
        found: list[Footprint] = []
        for one in self.footprints():
            if one.workspace < most and one.bytes <= most:
                return self.function.checkpointed(one.checkpoints)
            found.append(one)
        least = min(found, key=lambda one: one.workspace)
        levels = least.checkpoints.levels
        plural = "" if levels == 1 else "s"
        loops = f"{levels} level{plural} of checkpoints" if least.segments else "no loop to checkpoint"
        raise GraphValueError(
            f"{self.function.name} needs at least {least.bytes} bytes of workspace and stack, with {loops}; "
            f"the bound is {most}",
            hint="add up the loss in the loop: operations outside of it that read its values need those of all steps"
            if least.segments else "only loops and their gradients have checkpoints",
        )  # fmt: skip

    def _checkpoints(self, levels: int) -> Checkpoints:
        extents = {}
        for key, x in self.function.row_major_arguments.items():
            dims = (dim_name(key, axis, n) for axis, n in enumerate(x.type.shape))
            extents[x] = tuple(n if isinstance(n, int) else self.sizes.get(n) for n in dims)
        return Checkpoints(levels, extents, self.options.fp == "strict")

    def _checkpointed(self, levels: int) -> Definition:
        function = self.function.checkpointed(self._checkpoints(levels))
        return function if self.options.pipeline is None else function.under(self.options.pipeline)

    def _measured(self, function: Definition) -> Footprint:
        lowered = lower([function], self.options, texts=())
        refuse_heap(
            lowered.module,
            lowered.sites,
            {function.name: function.written_names},
            "so its bytes have no bound",
            "leave out --memory (memory=)",
        )
        (spec,) = lowered.specs()
        missing = [name for name in spec.kernel_dims if name not in self.sizes]
        try:
            workspace = workspace_at(lowered.module, function.name, self.sizes, WORKSPACE_ALIGNMENT)
        except KeyError as error:
            raise OptionError(
                f"{function.name}: its memory depends on {', '.join(missing)}",
                hint=f"give sizes, at which the bound holds: --sizes {missing[0]}=1000 (sizes=)",
            ) from error
        return Footprint(function.checkpoints, workspace, lowered, self.sizes)


def within(
    functions: Sequence[Definition], memory: object, options: Options, sizes: Mapping[str, int] | None = None
) -> list[Definition]:
    """The functions with checkpoints such that a call of each uses at most `memory` bytes of workspace and stack.

    memory: as `bytes_of`. sizes: of dims that are not known, by name; the bound holds at these.

    Raises: GraphTypeError, GraphValueError for a wrong bound, one that cannot be met, and for missing or unknown sizes;
    UnsupportedError for memory whose size depends on values.
    """
    most, sizes = bytes_of(memory), checked_sizes(functions, sizes or {})
    return [Memory(f, options, sizes).within(most) for f in functions]


def checked_sizes(functions: Sequence[Definition], sizes: Mapping[str, int]) -> dict[str, int]:
    """Check sizes of dims.   Raises: GraphTypeError for an invalid extent, OptionError for the name of no dim"""
    known = named_dims(functions)
    for name, n in sizes.items():
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise GraphTypeError(f"sizes: {name} must be an extent, a whole number, not {n!r:.50}")
        if name not in known:
            raise OptionError(f"sizes: there is no dim {name}", hint=f"dims are {', '.join(known) or 'known'}")
    return dict(sizes)


def named_dims(functions: Sequence[Definition]) -> dict[str, None]:
    """The names of dims whose extents are not static, in order."""
    inputs = [(key, x) for f in functions for key, x in f.row_major_arguments.items()]
    shapes = [(key, x.type.shape) for key, x in inputs]
    names = (dim_name(key, axis, n) for key, shape in shapes for axis, n in enumerate(shape) if not isinstance(n, int))
    return dict.fromkeys(map(str, names))


def _is_applied(note: Note) -> bool:
    return note.pass_name == PASS and note.kind == "applied"

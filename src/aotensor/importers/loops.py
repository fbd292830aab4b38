"""The translation of loops: carried states, and stacked outputs of the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from aotensor.extension import Loop, RealLoop
from aotensor.tensor import Variable

MANY: Final = 1 << 48
"""The largest number of steps of a loop that only its condition ends: three days at a nanosecond each."""


def looped(
    step: Callable[..., Any],
    sequences: Sequence[Any],
    states: Sequence[Any],
    others: int,
    steps: Any = None,
    *,
    constants: Sequence[Any] = (),
    stacked: Sequence[bool] = (),
    truncate: int = -1,
    backwards: bool = False,
) -> list[Variable]:
    """The final states of a loop (the initial ones after no steps), then the other outputs of the steps, stacked.

    step: rows of the sequences, states and constants → new states and others, also with `aot.until`. states: initial
    values, or dicts with taps, as for `aot.scan`. others: the number of other outputs. steps: a number or scalar, by
    default the rows of the sequences. stacked: for each state, are all its values wanted instead of the last one?
    truncate: differentiate this number of last steps only. backwards: read the sequences from their last row.

    Raises: as `aot.scan`.
    """
    real = RealLoop(step, list(sequences) or None, [*states, *[None] * others] or None)
    loop = Loop(real.step, real.sequences, real.outputs_info, list(constants) or None, steps, backwards)
    outputs, _ = loop.run(truncate, "", keep_last=[not x for x in stacked] or True)
    return real.to_complex(outputs)

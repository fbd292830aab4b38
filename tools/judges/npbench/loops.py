"""Loops over steps that carry arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import aotensor as aot
from aotensor.tensor import Variable


def repeated(
    step: Callable[..., Any], states: Sequence[Any], n_steps: int | None = None, sequences: Sequence[Any] = ()
) -> list[Variable]:
    """The states after all steps.   step: (*rows of the sequences, *states) → next states"""
    found = aot.scan(
        step,
        sequences=list(sequences),
        outputs_info=list(states),
        n_steps=n_steps,
        return_list=True,
        return_updates=False,
    )
    return [one[-1] for one in found]


def rows(step: Callable[..., Any], sequences: Sequence[Any], states: Sequence[Any], **options: Any) -> list[Variable]:
    """What each step returns, stacked; states with None are not fed back.   options: of scan"""
    found: list[Variable] = aot.scan(
        step,
        sequences=list(sequences),
        outputs_info=list(states),
        return_list=True,
        return_updates=False,
        **options,
    )
    return found

"""scan_checkpoints: a loop that stores few states, and recomputes the steps between them for its gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.arithmetic import minimum
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.ranges import arange
from aotensor.ops.scan.arguments import as_list, step_count
from aotensor.ops.scan.extents import spans
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, extent_of, extents_of
from aotensor.ops.shape.join import concatenate
from aotensor.ops.shape.reshape import reshape


@coerced
def scan_checkpoints(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    name: str | None = None,
    n_steps: Any = None,
    save_every_N: int = 10,
    padding: bool = True,
    return_updates: bool = True,
) -> Any:
    """`scan` whose outputs are those after every save_every_N steps and after the last one: (outputs, updates).

    The gradient stores only these states and recomputes the steps between two of them: it needs memory for
    n / save_every_N + save_every_N steps instead of n, and one more forward pass.

    sequences: of equal lengths. padding: fill the last part up with zeros that no step reads, by a copy; without it
    save_every_N divides the number of steps. The other arguments are those of `scan`.

    Raises: GraphValueError for taps other than −1, or a save_every_N that is not positive; the errors of `scan`.
    """
    if isinstance(save_every_N, bool) or not isinstance(save_every_N, int | np.integer) or save_every_N < 1:
        raise GraphValueError(
            f"scan_checkpoints: save_every_N must be a positive number of steps, not {save_every_N!r}"
        )
    infos = as_list(outputs_info)
    if any(isinstance(item, Mapping) and "taps" in item for item in [*infos, *as_list(sequences)]):
        raise GraphValueError("scan_checkpoints: taps are not supported", hint="use scan")
    for item in as_list(sequences):
        if isinstance(item, Mapping) and set(item) != {"input"}:
            raise GraphValueError(
                f"scan_checkpoints: a sequence must be a variable or a dict of input, found {sorted(map(str, item))}"
            )
    wholes = [as_tensor(x["input"] if isinstance(x, Mapping) else x) for x in as_list(sequences)]
    steps = as_extent(step_count(n_steps, [extent_of(x, 0) for x in wholes]))
    parts = _ceil_div(steps, int(save_every_N))
    chunks = [_chunks(_cut(x, steps), steps, parts, int(save_every_N), padding) for x in wholes]
    starts = arange(parts) * constant(save_every_N, dtype="int64")
    counts = minimum(constant(save_every_N, dtype="int64"), steps - starts)
    label = name or "checkpoints"

    def outer_step(*arguments: Variable) -> Any:
        count, *rest = arguments
        rows, old = rest[: len(chunks)], iter(rest[len(chunks) :])
        inner = [None if info is None else next(old) for info in infos]
        loop = Loop(fn, rows, inner, non_sequences, cast(count, "int64"))
        outputs, updates = loop.run(-1, f"{label}_inner", keep_last=True)
        is_fed = [bool(infos) and info is not None for info in (infos or [None] * len(outputs))]
        return [x if on else x[-1] for x, on in zip(outputs, is_fed, strict=True)], updates

    outputs, updates = Loop(outer_step, [counts, *chunks], infos, None).run(-1, label, frugal=True)
    result: Any = outputs[0] if len(outputs) == 1 else outputs
    return (result, updates) if return_updates else result


def _ceil_div(steps: SymbolicExtent, size: int) -> SymbolicExtent:
    """⌈steps / size⌉."""
    return (steps + (size - 1)) // size


def _cut(x: Variable, steps: SymbolicExtent) -> Variable:
    count = steps if isinstance(steps, Variable) else constant(steps, dtype="int64")
    return x if spans(count, x) else x[:steps]


def _chunks(x: Variable, steps: SymbolicExtent, parts: SymbolicExtent, size: int, padding: bool) -> Variable:
    """Split x into `parts` chunks of `size` steps, padded with zeros.   (steps, …) → (parts, size, …)"""
    rest = extents_of(x)[1:]
    is_even = isinstance(steps, int) and steps % size == 0
    if padding and not is_even:
        x = concatenate([x, zeros([parts * size - steps, *rest], x.dtype)], 0)
    return reshape(x, [parts, size, *rest])

"""map, reduce, foldl and foldr: loops of one kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable
from aotensor.ops.complex.loops import RealLoop
from aotensor.ops.scan.arguments import as_list
from aotensor.ops.scan.frontend import Loop, scan


@coerced
def map(
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """fn of every row: `scan` without outputs that are fed back."""
    return scan(
        fn,
        sequences,
        None,
        non_sequences,
        truncate_gradient=truncate_gradient,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
        return_updates=return_updates,
    )


@coerced
def reduce(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """The last outputs of a `scan` over the sequences, all of them fed back; the initial values after no steps.

    Raises: GraphValueError for an output without initial value; the errors of `scan`.
    """
    infos = as_list(outputs_info)
    if not infos or any(info is None for info in infos):
        raise GraphValueError("reduce: outputs_info must have an initial value for every output")
    real = RealLoop(fn, sequences, infos)
    loop = Loop(real.step, real.sequences, real.outputs_info, non_sequences, None, go_backwards)
    pairs, updates = loop.run(-1, name or "", keep_last=True)
    outputs = real.to_complex(pairs)
    result: Variable | list[Variable] = outputs[0] if len(outputs) == 1 else outputs
    return (result, updates) if return_updates else result


@coerced
def foldl(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """`reduce` from the first row to the last."""
    return reduce(fn, sequences, outputs_info, non_sequences, False, mode, name, return_updates)


@coerced
def foldr(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """`reduce` from the last row to the first."""
    return reduce(fn, sequences, outputs_info, non_sequences, True, mode, name, return_updates)

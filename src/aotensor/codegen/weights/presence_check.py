"""The kernel that refuses a call without weights, on systems where only the caller provides them."""

from __future__ import annotations

from aotensor.codegen.abi.language import Address, Int32, stack, table, text, word
from aotensor.codegen.abi.messages import BUFFER, say
from aotensor.codegen.weights.kernels import ENTRY, NO_WEIGHTS, are_there, begin_message, refuse
from aotensor.codegen.weights.mapping import CONTEXT


def ready(frame: Address) -> Int32:
    """Check that the weights are in memory.   frame: of the call"""
    if are_there():
        return 0
    buffer = stack(BUFFER)
    begin_message(buffer)
    say(buffer, text("call "))
    say(buffer, word(table(), ENTRY))
    say(buffer, text(" first: the library expects "))
    return refuse(word(frame, CONTEXT), buffer, NO_WEIGHTS)

"""Kernels that call our uniform entries with a context of their own."""

from __future__ import annotations

from aotensor.codegen.abi.arrays import CONTEXT, MESSAGE_BYTES, begin_context
from aotensor.codegen.abi.language import Address, byte, invoke, stack, text
from aotensor.codegen.abi.messages import say, say_number


def run(entry: Address, blas: Address, inputs: Address, outputs: Address, buffer: Address) -> int:
    """The status of a call of a uniform entry; its message is appended to the buffer.   blas: an aotensor_blas"""
    message = stack(MESSAGE_BYTES)
    context = stack(CONTEXT)
    begin_context(context, blas, message)
    status = invoke(entry, context, inputs, outputs)
    if status != 0:
        say(buffer, message)
        if byte(message, 0) == 0:
            say(buffer, text("status "))
            say_number(buffer, status)
    return status

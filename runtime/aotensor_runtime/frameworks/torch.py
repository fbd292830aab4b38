"""A function of a library as an operator of PyTorch: `torch.library`, with the library's gradient.

from aotensor_runtime.frameworks.torch import operator
logistic = operator(lib.logistic)
logistic(X, y, w).backward()   # w.grad is the library's grad_w
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch

from aotensor_runtime.arrays.dtypes import DTYPES
from aotensor_runtime.call import LibraryFunction
from aotensor_runtime.errors import ArgumentTypeError
from aotensor_runtime.frameworks.derivative import Differentiable, differentiable

_MADE: Final[dict[tuple[str, int, tuple[tuple[int, int], ...]], tuple[LibraryFunction, Any]]] = {}
"""(name, value, gradients) → the called function and its operator, one per process."""


def operator(
    function: LibraryFunction, value: str | None = None, gradients: Mapping[str, str] | None = None
) -> Callable[..., torch.Tensor]:
    """The value of a function as a differentiable operator on tensors of the CPU; opaque to `torch.compile`.

    value, gradients: the output with the value, and input → output with its gradient; by default every
    `grad_<input>`, and the one remaining output. Tensors are read in place; strided ones are copied.

    Raises: as `differentiable`; the operator as a call of the function, and ArgumentTypeError for a tensor elsewhere
    than on the CPU or of another dtype, and for a requested derivative that is missing or of second order.
    """
    record = differentiable(function, value, gradients)
    for name, dtype in [(x.name, x.dtype) for x in record.spec.inputs] + [
        (x.name, x.dtype) for x in record.spec.outputs
    ]:
        if DTYPES[dtype].package:
            raise ArgumentTypeError(f"{record.name}: {name} is {dtype}, which PyTorch cannot convert to NumPy")
    number = len(_MADE)
    name = f"aotensor::{re.sub(r'[^0-9a-zA-Z_]', '_', f'{function.library.manifest.name}_{record.name}')}_{number}"
    key = (f"{id(function.library)}.{record.name}", record.value, tuple(sorted(record.gradients.items())))
    if key not in _MADE:
        _MADE[key] = (function, _operator(function, record, name))
    made = _MADE[key][1]

    def call(*arguments: torch.Tensor) -> torch.Tensor:
        outputs: list[torch.Tensor] = made(list(arguments))
        return outputs[record.value]

    call.__name__ = call.__qualname__ = record.name
    call.__doc__ = function.__doc__
    return call


def _operator(function: LibraryFunction, record: Differentiable, name: str) -> Any:
    dtypes = [getattr(torch, x.dtype) for x in record.spec.inputs]
    results = [getattr(torch, x.dtype) for x in record.spec.outputs]

    def checked(arguments: list[torch.Tensor]) -> list[tuple[int, ...]]:
        shapes = record.shapes([x.shape for x in arguments])
        for x, wanted, given in zip(arguments, dtypes, record.spec.inputs, strict=True):
            if x.dtype != wanted:
                raise ArgumentTypeError(f"{record.name}: {given.name} is {given.dtype}, not {x.dtype}")
        return shapes

    def compute(arguments: list[torch.Tensor]) -> list[torch.Tensor]:
        shapes = checked(arguments)
        outputs = [torch.empty(shape, dtype=dtype) for shape, dtype in zip(shapes, results, strict=True)]
        given = [x.detach().numpy() for x in arguments]
        into: Any = [x.numpy() for x in outputs]
        kind = record.spec.output_kind
        function(*given, out=into[0] if kind == "single" else into if kind == "list" else _by_name(record, into))
        return outputs

    def fake(arguments: list[torch.Tensor]) -> list[torch.Tensor]:
        shapes = checked(arguments)
        return [torch.empty(shape, dtype=dtype) for shape, dtype in zip(shapes, results, strict=True)]

    def remember(ctx: Any, inputs: tuple[list[torch.Tensor]], output: list[torch.Tensor]) -> None:
        ctx.set_materialize_grads(False)
        ctx.count = len(inputs[0])
        for position, x in enumerate(inputs[0]):
            if x.requires_grad and position not in record.gradients:
                raise record.missing(position)
        ctx.save_for_backward(*(output[k] for k in record.gradients.values()))

    def pull(ctx: Any, cotangents: list[torch.Tensor | None]) -> list[torch.Tensor | None]:
        of_value = cotangents[record.value]
        if any(g is not None for k, g in enumerate(cotangents) if k != record.value):
            raise ArgumentTypeError(f"{record.name}: the library does not contain its second derivatives")
        found: list[torch.Tensor | None] = [None] * ctx.count
        for position, slope in zip(record.gradients, ctx.saved_tensors, strict=True):
            found[position] = None if of_value is None else of_value * slope
        return found

    schema = "(Tensor[] arguments) -> Tensor[]"
    run = torch.library.custom_op(name, compute, mutates_args=(), device_types="cpu", schema=schema)
    run.register_fake(fake)
    run.register_autograd(pull, setup_context=remember)
    return run


def _by_name(record: Differentiable, arrays: list[Any]) -> dict[str, Any]:
    return {x.name: array for x, array in zip(record.spec.outputs, arrays, strict=True)}

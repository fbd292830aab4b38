"""Properties of a function for other frameworks: extents of results, and which output is which derivative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aotensor_runtime.call import LibraryFunction
from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError
from aotensor_runtime.signature import FunctionSpec, OutputSpec


@dataclass(frozen=True)
class Differentiable:
    """A function with a scalar output and its gradients.

    value: number of the scalar output. gradients: number of an input → number of the output with its gradient
    """

    spec: FunctionSpec
    value: int
    gradients: Mapping[int, int]

    @property
    def name(self) -> str:
        """The function's name in the library."""
        return self.spec.name

    def shapes(self, inputs: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Extents of the outputs for given extents of the inputs.   Raises: ArgumentValueError if they do not match"""
        if len(inputs) != len(self.spec.inputs):
            wanted = ", ".join(value.name for value in self.spec.inputs)
            raise ArgumentTypeError(
                f"{self.name}: expected {len(self.spec.inputs)} arguments ({wanted}), found {len(inputs)}"
            )
        dims: dict[str, int] = {}
        for value, found in zip(self.spec.inputs, inputs, strict=True):
            if len(found) != len(value.shape):
                raise ArgumentValueError(f"{self.name}: {value.name} has rank {len(value.shape)}, not {len(found)}")
            for axis, (extent, size) in enumerate(zip(value.shape, found, strict=True)):
                wanted_size = dims.setdefault(extent, int(size)) if isinstance(extent, str) else extent
                if wanted_size != size:
                    raise ArgumentValueError(
                        f"{self.name}: axis {axis} of {value.name} has {size} elements, expected {wanted_size}"
                    )
        return [tuple(dims[x] if isinstance(x, str) else int(x or 0) for x in out.shape) for out in self.spec.outputs]

    def missing(self, position: int) -> ArgumentTypeError:
        """The error for a derivative that the library does not have."""
        name = self.spec.inputs[position].name
        return ArgumentTypeError(
            f"{self.name}: there is no output that is the derivative by {name}",
            hint=f'compile it with an output "grad_{name}": aot.grad(..., {name})',
        )


def differentiable(
    function: LibraryFunction, value: str | None = None, gradients: Mapping[str, str] | None = None
) -> Differentiable:
    """The record of a function with gradients, for other frameworks.

    value: name of the scalar output; by default the one output that is not a derivative.
    gradients: name of an input → name of the output; by default every `grad_<input>`.

    Raises: ArgumentTypeError for a function with state, sparse matrices or outputs whose extents only a call knows, and
    for outputs other than a scalar and its gradients; ArgumentValueError for unknown names.
    """
    spec = function.spec
    if spec.updates or any(x.default is not None for x in spec.inputs):
        raise ArgumentTypeError(f"{spec.name}: it has shared variables, which operators of frameworks do not support")
    if spec.sparse_inputs or spec.sparse_outputs:
        raise ArgumentTypeError(
            f"{spec.name}: its inputs or outputs include sparse matrices, which operators of frameworks do not support"
        )
    inputs = {x.name: k for k, x in enumerate(spec.inputs)}
    outputs = {x.name: k for k, x in enumerate(spec.outputs)}
    named = {f"{x}": f"grad_{x}" for x in inputs if f"grad_{x}" in outputs} if gradients is None else dict(gradients)
    for x, y in named.items():
        if x not in inputs or y not in outputs:
            what, where = (x, "input") if x not in inputs else (y, "output")
            raise ArgumentValueError(f"{spec.name} has no {where} {what!r:.60}")
    rest = [name for name in outputs if name not in named.values()]
    chosen = value if value is not None else rest[0] if len(rest) == 1 else None
    if chosen is None:
        raise ArgumentValueError(
            f"{spec.name}: value= must name the output to differentiate: {', '.join(rest) or 'none is left'}"
        )
    if chosen not in outputs:
        raise ArgumentValueError(f"{spec.name} has no output {chosen!r:.60}")
    for output in spec.outputs:
        _check_extents(spec, output)
    number = spec.outputs[outputs[chosen]]
    if named and (number.shape != () or not number.dtype.startswith("float")):
        raise ArgumentTypeError(
            f"{spec.name}: {chosen} is {number.dtype} of rank {len(number.shape)}, and only a real scalar can be "
            "differentiated"
        )
    for x, y in named.items():
        one, other = spec.inputs[inputs[x]], spec.outputs[outputs[y]]
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            raise ArgumentTypeError(
                f"{spec.name}: {y}, the derivative with respect to {x}, must have its dtype and dims"
            )
    return Differentiable(spec, outputs[chosen], {inputs[x]: outputs[y] for x, y in named.items()})


def _check_extents(spec: FunctionSpec, output: OutputSpec) -> None:
    if not all(isinstance(x, int) or x in spec.dims for x in output.shape):
        raise ArgumentTypeError(
            f"{spec.name}: the extents of {output.name} are known only after a call, but frameworks need them before"
        )

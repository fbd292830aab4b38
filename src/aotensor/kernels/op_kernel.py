"""The kernel of a user's op: which argument is which, checks of dtypes and ranks, and its run as Python.

def kernel(x: Reals, out: Reals, decay: Real) -> Index        inputs, outputs of rank ≥ 1, fields of the op;
                                                              outputs of rank 0 are results
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphIndexError, GraphTypeError, GraphValueError, KernelError
from aotensor.kernels.language import Checked
from aotensor.kernels.source import VECTORS, Kernel, Source, source_of

KERNELS: Final[dict[str, OpKernel]] = {}
"""Symbol → the kernel that `aot.kernel` operations with this symbol run."""

_REALS: Final = ("float32", "float64")
_DTYPES: Final[dict[str, tuple[str, ...]]] = {
    "Indices": ("int32", "int64"),
    "Index": dtypes.INTEGERS,
    "Words": ("int64",),
    "Word": ("int64",),
    "Reals": _REALS,
    "Real": _REALS,
    "Bool": ("bool",),
}
"""Annotation → dtypes of arrays and scalars that it stands for; any for those that are not listed."""


@dataclass(frozen=True)
class OpKernel:
    """A kernel with the parameters of an op.

    name: of the op. parameters: name of an argument → value. dims: names or numbers of the axes of each input,
    where equal names are equal extents; empty if the op does not say it.
    """

    name: str
    function: Kernel
    parameters: tuple[tuple[str, bool | int | float], ...] = ()
    dims: tuple[tuple[Dim, ...], ...] = ()

    @property
    def source(self) -> Source:
        return source_of(self.function)

    @cached_property
    def symbol(self) -> str:
        """The name of the kernel in IR, with a hash of its text and parameters; `KERNELS` has the kernel."""
        values = "".join(f".{name}_{value}" for name, value in self.parameters)
        symbol = f"{self.name}.{self.source.digest()}{values}"
        KERNELS[symbol] = self
        return symbol

    def annotations(self) -> list[tuple[str, str]]:
        """(name, annotation) of the arguments that are arrays or inputs."""
        known = dict(self.parameters)
        return [x for x in self.source.arguments if x[0] not in known]

    def ordered(self, operands: Sequence[Any]) -> list[Any]:
        """The arguments of a call: inputs and arrays of outputs, with the parameters in their places."""
        known, rest = dict(self.parameters), iter(operands)
        return [known[name] if name in known else next(rest) for name, _ in self.source.arguments]

    def check(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> None:
        """Check that dtypes and ranks of inputs and outputs suit the signature of the kernel.

        Raises: KernelError at the line of the signature, GraphTypeError and GraphValueError for an input that does not
        fit.
        """
        source, tree = self.source, self.source.tree
        arrays = [x for x in outputs if x.rank]
        scalars = [x for x in outputs if not x.rank]
        if source.records:
            raise source.error(tree, "the kernel of an op has no records among its arguments")
        found = self.annotations()
        if len(found) != len(inputs) + len(arrays):
            raise source.error(
                tree, f"{len(found)} arguments for {len(inputs)} inputs and {len(arrays)} outputs of rank 1 or more",
                hint="the arguments are the inputs, the outputs that are arrays, and fields of the op by name",
            )  # fmt: skip
        if len(source.results) != len(scalars):
            raise source.error(
                tree, f"{len(source.results)} results for {len(scalars)} outputs of rank 0",
                hint="return the outputs that are numbers; arrays are arguments",
            )  # fmt: skip
        self._check_dims(inputs)
        for (name, kind), x in zip(found, [*inputs, *arrays], strict=True):
            self._check_argument(name, kind, x)
        for kind, x in zip(source.results, scalars, strict=True):
            self._check_argument("the result", kind, x)
        real = self.real(inputs, outputs)
        for (name, kind), x in zip(found, [*inputs, *arrays], strict=True):
            if kind in ("Real", "Reals") and x.dtype != real:
                what = f"{name} is {x.dtype} where other arguments of type Real or Reals are {real}"
                raise source.error(tree, what, hint="annotate it as Element or Elements, and convert with float(…)")

    def real(self, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> str:
        """The dtype of `Real` in this call: of the first such argument or result, else of the first float."""
        arrays = [x for x in outputs if x.rank]
        pairs = [(kind, x.dtype) for (_, kind), x in zip(self.annotations(), [*inputs, *arrays], strict=True)]
        results = zip(self.source.results, [x.dtype for x in outputs if not x.rank], strict=True)
        known = [dtype for kind, dtype in [*pairs, *results] if kind in ("Real", "Reals")]
        floats = [x.dtype for x in (*inputs, *outputs) if dtypes.is_float(x.dtype)]
        return next(iter(known or floats), "float64")

    def _check_argument(self, name: str, kind: str, x: TensorType) -> None:
        if (kind in VECTORS) != (x.rank > 0):
            what = "an array" if x.rank else "a number"
            raise self.source.error(self.source.tree, f"{name} is {what} ({x}), but its type is {kind}")
        if x.dtype not in _DTYPES.get(kind, (x.dtype,)):
            wanted = " or ".join(_DTYPES[kind])
            raise self.source.error(
                self.source.tree, f"{name} is {x.dtype} where {kind} needs {wanted}", hint="Elements have any dtype"
            )

    def _check_dims(self, inputs: Sequence[TensorType]) -> None:
        if not self.dims:
            return
        if len(self.dims) != len(inputs):
            raise GraphValueError(f"{self.name}: input_dims has {len(self.dims)} entries for {len(inputs)} inputs")
        for number, (dims, x) in enumerate(zip(self.dims, inputs, strict=True)):
            if len(dims) != x.rank:
                raise GraphTypeError(f"{self.name}: expected rank {len(dims)} of input {number}, found {x}")
        for name, found in self.axes().items():
            numbers = [inputs[k].shape[axis] for k, axis in found]
            known = {n for n in (*numbers, name) if isinstance(n, int)}
            if len(known) > 1:
                raise GraphValueError(f"{self.name}: {self.what(name)} differ: {' and '.join(map(str, sorted(known)))}")

    def axes(self) -> Mapping[int | str, list[tuple[int, int]]]:
        """Name or number of a dim → the (input, axis) that have it."""
        found: dict[int | str, list[tuple[int, int]]] = {}
        for number, dims in enumerate(self.dims):
            for axis, dim in enumerate(dims):
                if dim is not None:
                    found.setdefault(dim, []).append((number, axis))
        return found

    @staticmethod
    def what(dim: int | str) -> str:
        """A dim in the message of a check."""
        return f"extents {dim}" if isinstance(dim, str) else "extents"

    def run_samples(
        self, inputs: Sequence[Array], batched: Sequence[bool], outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        """Run the kernel as Python for each sample, or once if no input has samples.   Raises: as `run`

        batched: has the input a leading axis of samples? outputs: for one sample.
        """
        if not any(batched):
            return self.run(inputs, outputs)
        count = next(len(x) for x, on in zip(inputs, batched, strict=True) if on)
        results = tuple(np.zeros((count, *_numbers(x)), x.dtype) for x in outputs)
        for k in range(count):
            row = [x[k] if on else x for x, on in zip(inputs, batched, strict=True)]
            for result, found in zip(results, self.run(row, outputs), strict=True):
                result[k] = found
        return results

    def run(self, inputs: Sequence[Array], outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        """Run the kernel as Python; outputs have known extents.

        Raises: GraphIndexError for an access out of bounds, an element that is read before it is written or never
        written, and a write to an input.
        """
        kinds = [kind for _, kind in self.annotations()]
        given = [
            Checked(x, True, kind == "Indices") if kind in VECTORS else int(x) if kind == "Index" else x[()]
            for x, kind in zip(inputs, kinds, strict=False)
        ]
        arrays = [x for x in outputs if x.rank]
        made = [
            Checked(np.zeros(_numbers(x), x.dtype), False, kind == "Indices")
            for x, kind in zip(arrays, kinds[len(inputs) :], strict=True)
        ]
        try:
            with np.errstate(all="ignore"):
                returned = self.function(*self.ordered([*given, *made]))
        except IndexError as error:
            line = _line_of(error, self.function)
            raise GraphIndexError(f"{self.source.file}:{line}: kernel {self.source.name}: {error}") from error
        for (name, _), x in zip(self.annotations()[len(inputs) :], made, strict=True):
            if not x.written.all():
                where = tuple(int(n) for n in np.argwhere(~x.written)[0])
                raise GraphIndexError(f"{self.name}: element {where} of {name} is never written")
        numbers = iter(returned if isinstance(returned, tuple) else () if returned is None else (returned,))
        ready = iter(made)
        return tuple(next(ready).array if x.rank else np.asarray(next(numbers), x.dtype) for x in outputs)


def _numbers(x: TensorType) -> tuple[int, ...]:
    """The extents of a type whose extents are all known."""
    return tuple(n for n in x.shape if isinstance(n, int))


def _line_of(error: BaseException, kernel: Kernel) -> int:
    """The line of the last frame of an error that is not in the language."""
    own = inspect.getsourcefile(Checked)
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
    lines = [x.lineno for x in frames if x.filename != own and x.filename != __file__]
    return lines[-1] if lines else kernel.__code__.co_firstlineno


def op_kernel(op: Any, name: str) -> OpKernel:
    """The kernel of an op, with its fields that the kernel has as arguments.

    Raises: KernelError for a field that is not a number
    """
    source, fields = source_of(op.kernel), getattr(op, "__dataclass_fields__", {})
    values = [(x, getattr(op, x)) for x, _ in source.arguments if x in fields]
    for x, value in values:
        if not isinstance(value, bool | int | float):
            raise KernelError(f"{name}: the kernel's argument {x} is a field of the op, {value!r:.40}, not a number")
    return OpKernel(name, op.kernel, tuple(values), tuple(map(tuple, op.input_dims)))

"""The interface of Ceres Solver: for each residual a function with the type of Ceres' C cost functions.

    int <f>_ceres(void *user_data, double **parameters, double *residuals, double **jacobians)

The requested Jacobians select one of our typed entries, so that no other Jacobian is computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aotensor.codegen.abi.interface import Layer
from aotensor.codegen.entry.code import NULL, Code, number, status
from aotensor.codegen.entry.names import Symbols
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Value, constant, i8, i32, pointer
from aotensor.errors import UnsupportedError
from aotensor_runtime.manifest import FunctionSpec, Manifest

SUFFIX: Final = "_ceres"
"""What follows the name of a residual in its symbol."""
_STACK_BYTES: Final = 1 << 16
"""Workspace in bytes up to which it is on the stack; larger ones are allocated by our entries."""


@dataclass(frozen=True)
class Residual:
    """A residual of parameter blocks and data.

    are_blocks: for each input, is it a parameter block or data? functions: positions of blocks → our function that
    computes the residual and its Jacobians by these blocks; for the empty key the residual alone. If there is no
    function for each subset of the blocks, functions for one block do not compute the residual.
    """

    name: str
    are_blocks: tuple[bool, ...]
    functions: Mapping[tuple[int, ...], str]

    @property
    def count(self) -> int:
        """The number of parameter blocks."""
        return sum(self.are_blocks)


@dataclass(frozen=True)
class CeresLayer(Layer):
    """The residuals of a library, as an interface layer."""

    residuals: tuple[Residual, ...]
    name = "ceres"
    version = "2"

    @property
    def symbols(self) -> tuple[str, ...]:  # type: ignore[override]
        """The exported symbols, one for each residual."""
        return tuple(residual.name + SUFFIX for residual in self.residuals)

    def without_unsupported(self, functions: Sequence[FunctionSpec]) -> CeresLayer:
        """Return the layer unchanged, since every Jacobian is needed.

        Raises: UnsupportedError for a function that needs LAPACK functions for which there are no kernels.
        """
        specs = {spec.name: spec for spec in functions}
        for residual in self.residuals:
            for name in residual.functions.values():
                if specs[name].takes_context:
                    raise UnsupportedError(
                        f"{name} needs LAPACK's {', '.join(specs[name].lapack)}, which Ceres cannot give",
                        hint="factorise outside of the residual, and pass the factor as data: aot.In(L, data=True)",
                    )
        return self

    def add(self, constants: Constants, manifest: Manifest) -> None:
        for residual in self.residuals:
            _Evaluation(constants, residual, manifest).build()


class _Evaluation:
    """The code of the function for one residual, under construction."""

    def __init__(self, constants: Constants, residual: Residual, manifest: Manifest) -> None:
        self._residual, self._manifest = residual, manifest
        self._globals = constants.module.globals
        arguments = [pointer] * 4
        self._c = Code(constants.module, residual.name + SUFFIX, i32, arguments, exported=True, attributes=())
        self._inputs: list[Value] = []
        self._targets: list[Value] = []

    def build(self) -> None:
        c, (user_data, parameters, residuals, jacobians) = self._c, self._c.arguments
        are_blocks, count = self._residual.are_blocks, self._residual.count
        needed = [parameters, residuals, *([] if all(are_blocks) else [user_data])]
        c.ret_if(c.any(*map(c.is_null, needed)), status(0))
        positions = {True: 0, False: 0}
        for is_block in are_blocks:
            self._inputs.append(c.item(parameters if is_block else user_data, positions[is_block], pointer))
            positions[is_block] += 1
        c.ret_if(c.any(*map(c.is_null, self._inputs)), status(0))
        slots = [c.slot(pointer, NULL) for _ in range(count)]
        with c.when(c.builder.not_(c.is_null(jacobians))):
            for k, slot in enumerate(slots):
                slot.set(c.item(jacobians, k, pointer))
        self._targets = [slot.get() for slot in slots]
        mask = number(0)
        for k, target in enumerate(self._targets):
            bit = c.builder.select(c.is_null(target), number(0), number(1 << k))
            mask = c.builder.or_(mask, bit)
        self._choose(mask)

    def _choose(self, mask: Value) -> None:
        """Emit the call of the function that computes the Jacobians whose bits are set in `mask`."""
        c, b, functions, count = self._c, self._c.builder, self._residual.functions, self._residual.count
        is_each = len(functions) == 1 << count
        for subset in functions:
            if is_each or len(subset) in (0, count):
                with c.when(c.equal(mask, number(sum(1 << k for k in subset)))):
                    c.ret(b.zext(self._call(subset, has_residual=True), i32))
        if is_each:
            b.unreachable()
            return
        done = c.slot(i8, b.zext(self._call((), has_residual=True), i8))
        for k, target in enumerate(self._targets):
            with c.when(c.all(b.not_(c.is_null(target)), c.differs(done.get(), constant(i8, 0)))):
                done.set(b.zext(self._call((k,), has_residual=False), i8))
        c.ret(b.zext(done.get(), i32))

    def _call(self, subset: tuple[int, ...], has_residual: bool) -> Value:
        """Emit the call of the function for a subset of blocks; return whether it succeeded."""
        c, b = self._c, self._c.builder
        symbols = Symbols.in_library(self._manifest, self._residual.functions[subset])
        size = b.call(self._globals[symbols.workspace], [])
        fits = c.below(size, number(_STACK_BYTES + 1))
        memory = c.alloca(i8, b.select(fits, size, number(1)))
        workspace = b.select(fits, memory, NULL)
        outputs = [*([c.arguments[2]] if has_residual else []), *(self._targets[k] for k in subset)]
        found = b.call(self._globals[symbols.typed], [*self._inputs, *outputs, workspace])
        return c.equal(found, status(0))

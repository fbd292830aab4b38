"""The record of an interface of another project: its additions to a library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from aotensor.codegen.entry.code import NULL
from aotensor.codegen.entry.names import Symbols
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Value
from aotensor.codegen.targets.systems import system_of
from aotensor.errors import OptionError
from aotensor_runtime.manifest import FunctionSpec, InterfaceSpec, Manifest


class Layer(ABC):
    """The entries of another project's interface, over the entries of one library.

    name, version: name and version of the interface. symbols: all exported symbols. functions: our functions whose
    names the interface uses; our typed entries of these are called `<function>_typed`.
    """

    name: str
    version: str
    symbols: tuple[str, ...]
    functions: tuple[str, ...] = ()

    @property
    def spec(self) -> InterfaceSpec:
        """The interface in the manifest."""
        return InterfaceSpec(self.name, self.version, self.symbols, self.functions)

    @abstractmethod
    def without_unsupported(self, functions: Sequence[FunctionSpec]) -> Layer:
        """A copy without entries that the compiled functions cannot provide.

        Raises: UnsupportedError if nothing is left.
        """

    @abstractmethod
    def add(self, constants: Constants, manifest: Manifest) -> None:
        """Define the interface's symbols in a module that contains our entries."""


def entry(constants: Constants, manifest: Manifest, function: str | None) -> Value:
    """The uniform entry of a function of ours; NULL for None."""
    if function is None:
        return NULL
    return constants.module.globals[Symbols.in_library(manifest, function).uniform]


def workspace(constants: Constants, manifest: Manifest, function: str | None) -> Value:
    """The workspace entry of a function of ours; NULL for None."""
    if function is None:
        return NULL
    return constants.module.globals[Symbols.in_library(manifest, function).workspace]


def forms(constants: Constants, shapes: Sequence[Sequence[int]]) -> list[Value]:
    """Words of a table: ranks of arrays, and addresses of their extents."""
    ranks, extents = [len(shape) for shape in shapes], [constants.numbers(shape) for shape in shapes]
    return [constants.numbers(ranks), constants.pointers(extents)]


def refuse_without_libc(layers: Sequence[Layer], triple: str, allocates: bool) -> None:
    """Check that interfaces may allocate memory, and that addresses have 64 bits. Raises: OptionError if not."""
    if not layers:
        return
    names = ", ".join(layer.name for layer in layers)
    if not allocates:
        raise OptionError(
            f"the interface {names} allocates memory", hint="leave out --no-malloc and --freestanding (malloc=False)"
        )
    if system_of(triple).pointer_bytes != 8:
        raise OptionError(f"the interface {names} needs addresses of 64 bits, which {triple} does not have")

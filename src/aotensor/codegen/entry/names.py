"""The symbols that a library exports, and checks for names that cannot be exported."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from aotensor.codegen.targets.systems import LINUX, MACOS, system_of
from aotensor.core.c_names import is_of_c_library
from aotensor.errors import GraphValueError
from aotensor_runtime.manifest import FunctionSpec, Manifest
from aotensor_runtime.typed.parameters import c_suffix, is_reserved
from aotensor_runtime.typed.patterns import constant_outputs


@dataclass(frozen=True, slots=True)
class Symbols:
    """The symbols of the entries of one function; `all` contains them all."""

    typed: str
    workspace: str
    uniform: str

    @staticmethod
    def for_function(prefix: str, function: str) -> Symbols:
        """The symbols of a function whose name no other interface uses."""
        name = prefix + function
        return Symbols(name, f"{name}_workspace", f"{name}_call")

    @staticmethod
    def in_library(manifest: Manifest, function: str) -> Symbols:
        """The symbols of one function of a library, some of whose names an interface may use."""
        usual = Symbols.for_function(manifest.prefix, function)
        return replace(usual, typed=manifest.typed_symbol(function))

    @property
    def all(self) -> tuple[str, str, str]:
        return self.typed, self.workspace, self.uniform

    @property
    def values(self) -> str:
        """The symbol of the entry that writes only values; see `has_values`."""
        return self.uniform.removesuffix("call") + "values"


def has_values(manifest: Manifest, spec: FunctionSpec) -> bool:
    """Does a function have an entry that writes only the values of sparse outputs? Their patterns must be constant."""
    return manifest.allocates and bool(constant_outputs(spec))


FOR_PYTHON: Final = (
    "aotensor_call_python",
    "aotensor_extents_python",
    "aotensor_call_bound",
    "aotensor_run_bound",
    "aotensor_integrand",
    "aotensor_filter",
)
"""Entries for Python's runtime and SciPy's callbacks, which are missing on WebAssembly."""
_OF_HEADER: Final = re.compile(
    r"AOTENSOR_\w+|aotensor_((bound|python|value)_(call|layout|method)|(eval|ipopt)_\w+"
    r"|array|blas|complex(64|128)?|context|kept|sparse)"
)
"""Types and constants that the header of a library defines."""

LIBRARY_SYMBOLS: Final = (
    "aotensor_status_message",
    "aotensor_manifest",
    "aotensor_abi_version",
    "aotensor_signature",
    *FOR_PYTHON,
)
"""Exported once per library, after the prefix. They have the same names in every library: in a program with several
libraries, the header distinguishes them by `own_symbols`, and in static archives they are weak."""


@dataclass(frozen=True, slots=True)
class OwnSymbols:
    """Symbols that contain the library's name, and so are unique in a program."""

    check_message: str
    manifest: str
    set_weights: str
    weights: str

    @staticmethod
    def from_manifest(manifest: Manifest) -> OwnSymbols:
        start, name = f"{manifest.prefix}aotensor_", c_suffix(manifest.name)
        kinds = "check_message", "manifest", "set_weights", "weights"
        return OwnSymbols(*(f"{start}{kind}_{name}" for kind in kinds))

    def exported(self, manifest: Manifest) -> tuple[str, ...]:
        """Those that a library has."""
        usual = self.check_message, self.manifest
        if manifest.weights is None:
            return usual
        return (*usual, self.set_weights, *[self.weights] * maps_files(manifest.target))


def maps_files(triple: str) -> bool:
    """Do libraries for a target find and map a file of weights? Elsewhere their caller provides its content."""
    return system_of(triple) in (LINUX, MACOS)


def shared_symbols(manifest: Manifest) -> tuple[str, ...]:
    """The symbols that several libraries of a program may export."""
    left_out = () if is_for_python(manifest.target, manifest.freestanding) else FOR_PYTHON
    return tuple(manifest.prefix + name for name in LIBRARY_SYMBOLS if name not in left_out)


def is_for_python(triple: str, freestanding: bool = False) -> bool:
    """Can Python's runtime load libraries of a target?"""
    return not freestanding and system_of(triple).pointer_bytes == 8


def exported_symbols(manifest: Manifest) -> tuple[str, ...]:
    """Every symbol of the library, in the order of the header; those of other projects' interfaces last.

    Raises: GraphValueError if two functions would have the same symbol, or one that C or the C library uses.
    """
    names: list[str] = []
    for spec in manifest.functions:
        symbols = Symbols.in_library(manifest, spec.name)
        names += [*symbols.all, *[symbols.values] * has_values(manifest, spec)]
    names += [*shared_symbols(manifest), *OwnSymbols.from_manifest(manifest).exported(manifest)]
    for name in names:
        if is_of_c_library(name) or is_reserved(name) or _OF_HEADER.fullmatch(name):
            raise GraphValueError(
                f"function name {name!r} is reserved by C or its library",
                hint="give the function another name, or use a prefix",
            )
    doubles = [name for name, count in Counter(names).items() if count > 1]
    if doubles:
        raise GraphValueError(f"two functions of the library export {doubles[0]!r}", hint="rename one of them")
    for interface in manifest.interfaces:
        clashes = [name for name, count in Counter([*set(names), *interface.symbols]).items() if count > 1]
        if clashes:
            raise GraphValueError(
                f"the interface {interface.name} exports {clashes[0]!r}, and so does a function of the library",
                hint="rename the function, or use a prefix, which the interface's names do not get",
            )
        names += interface.symbols
    return tuple(names)

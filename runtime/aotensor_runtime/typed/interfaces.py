"""Interfaces of other projects in the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aotensor_runtime.json_node import Node, require

_MAX_SYMBOLS: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class InterfaceSpec:
    """An interface of another project that a library also exports.

    symbols: exported for it. functions: ours whose names its symbols use; their typed entry is `<function>_typed`.
    """

    name: str
    version: str
    symbols: tuple[str, ...]
    functions: tuple[str, ...] = ()


def read_interface(node: Node) -> InterfaceSpec:
    """Parse one interface of a manifest.   Raises: ManifestError"""
    name, version, symbols, functions = node.fields("name", "version", "symbols", "functions")
    require(len(symbols.items(lambda x: x)) <= _MAX_SYMBOLS, node.path, f"more than {_MAX_SYMBOLS} symbols")
    return InterfaceSpec(name.name(), version.name(), symbols.items(Node.name), functions.items(Node.name))

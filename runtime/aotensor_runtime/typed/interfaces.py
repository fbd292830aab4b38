"""The manifest's records of interfaces of other projects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from aotensor_runtime.json_node import Node, require

_MAX_SYMBOLS: Final = 1 << 14
OPTIONAL: Final = ("starts", "dependencies")
"""Fields that only the interface fmi has."""
_STARTS: Final = re.compile(r"(?:[-+.0-9e]+|true|false)?(?: (?:[-+.0-9e]+|true|false))*")
_DEPENDENCIES: Final = re.compile(r"(?:\d{1,6}:[a-z]+)?(?: \d{1,6}:[a-z]+)*")


@dataclass(frozen=True, slots=True)
class InterfaceSpec:
    """An interface of another project that a library also exports.

    symbols: exported for it. functions: ours whose names its symbols use; their typed entry is `<function>_typed`.
    starts: of fmi, the start value of each input, its elements as XML has them; "" for zeros. dependencies: of fmi, the
    inputs that each output depends on, by number, and how: `1:constant 3:dependent`.
    """

    name: str
    version: str
    symbols: tuple[str, ...]
    functions: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()


def read_interface(node: Node) -> InterfaceSpec:
    """Parse one interface of a manifest.   Raises: ManifestError"""
    optional: dict[str, list[str]] = {name: [] for name in OPTIONAL}
    name, version, symbols, functions, starts, dependencies = node.fields(
        "name", "version", "symbols", "functions", *OPTIONAL, optional=optional
    )
    require(len(symbols.items(lambda x: x)) <= _MAX_SYMBOLS, node.path, f"more than {_MAX_SYMBOLS} symbols")
    facts = starts.items(_read_start), dependencies.items(_read_dependencies)
    return InterfaceSpec(name.name(), version.name(), symbols.items(Node.name), functions.items(Node.name), *facts)


def _read_start(node: Node) -> str:
    require(_STARTS.fullmatch(node.text()) is not None, node.path, "expected numbers")
    return node.text()


def _read_dependencies(node: Node) -> str:
    require(_DEPENDENCIES.fullmatch(node.text()) is not None, node.path, "expected inputs and how they are used")
    return node.text()

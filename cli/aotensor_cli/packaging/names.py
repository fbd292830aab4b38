"""Check names and versions of packages, and derive identifiers of their content."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterable
from typing import Final
from unicodedata import normalize

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from aotensor_cli.options import Refusal

_OURS: Final = frozenset({"aotensor", "aotensor_cli", "aotensor_runtime", "numpy", "scipy"})
"""The imports of a package, and its neighbours."""


def read_version(text: str) -> Version:
    """Parse a version.   Raises: Refusal if it is not valid by PEP 440"""
    try:
        return Version(text)
    except InvalidVersion as error:
        message = f"--version {text!r:.60} is not a version of PEP 440"
        raise Refusal(message, "write one such as 1.0 or 2.1rc1") from error


def distribution_name(name: str) -> str:
    """The normalised name of a distribution: `My.Model` is `my-model`.   Raises: Refusal"""
    try:
        found = canonicalize_name(name, validate=True)
    except InvalidName as error:
        raise Refusal(f"{name!r:.60} cannot be the name of a package", "give another one with --name") from error
    if found.replace("-", "_") in _OURS:
        raise Refusal(f"the package cannot have the name of {found}", "give another one with --name")
    return found


def module_name(name: str) -> str:
    """The import name of a package.   Raises: Refusal if there is none, or Python has it already"""
    found = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not found.isidentifier() or keyword.iskeyword(found):
        raise Refusal(f"{name!r:.60} cannot be imported by that name", "give another one with --name")
    if found in sys.stdlib_module_names or found in _OURS:
        raise Refusal(f"the package would hide the module {found} of Python's", "give another one with --name")
    return found


def identifier(name: str, taken: Iterable[str]) -> str:
    """A Python identifier like `name` that is neither a keyword nor taken."""
    found = normalize("NFKC", name)
    if not found.isidentifier():
        found = re.sub(r"\W", "_", found)
        found = found if found.isidentifier() else f"x_{found}"
    used = set(taken)
    while keyword.iskeyword(found) or found in used:
        found += "_"
    return found


def identifiers(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Distinct identifiers for all of them, in order."""
    found: list[str] = []
    for name in names:
        found.append(identifier(name, [*taken, *found]))
    return found

"""Load single problems of sif2jax by name; importing the package creates all 849 of them, which takes half a minute."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any


def problem_of(name: str) -> Any:
    """The problem of a name.   Raises: ValueError if sif2jax has none"""
    if name not in _modules():
        raise ValueError(f"sif2jax has no problem {name}")
    module, kind = _modules()[name]
    for package in ("sif2jax", *(f"sif2jax.{part}" for part in ("cutest", f"cutest.{module.split('.')[0]}"))):
        if package not in sys.modules:
            empty = ModuleType(package)  # in place of one whose import makes all problems
            empty.__path__ = [str(_folder().joinpath(*package.split(".")[1:]))]
            sys.modules[package] = empty
    sys.modules["sif2jax"].__dict__["__getattr__"] = _class_of_problems
    return getattr(importlib.import_module(f"sif2jax.cutest.{module}"), kind)()


def _class_of_problems(name: str) -> Any:
    """An attribute of sif2jax that some problems import: a base class.   Raises: AttributeError"""
    return getattr(importlib.import_module("sif2jax._problem"), name)


@cache
def _folder() -> Path:
    found = importlib.util.find_spec("sif2jax")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("there is no sif2jax: pip install sif2jax")
    return Path(next(iter(found.submodule_search_locations)))


@cache
def _modules() -> dict[str, tuple[str, str]]:
    """Module below sif2jax.cutest and class of each problem. Few have another name than their class."""
    found = {}
    for path in sorted((_folder() / "cutest").glob("_*/*.py")):
        for text in re.split(r"^(?=class )", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            kind = re.match(r"class (\w+)", text)
            name = re.search(r'def name\(self\).*?return "([^"]+)"', text, re.S)
            if kind is not None:
                found[name[1] if name else kind[1]] = f"{path.parent.name}.{path.stem}", kind[1]
    return found

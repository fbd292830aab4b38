"""Public functions by name: how variables, which stand left of the ops, reach them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from aotensor.graph.coercion import coerced

T = TypeVar("T", bound=Callable[..., Any])
_PUBLIC: dict[str, Callable[..., Any]] = {}


def public(function: T, name: str | None = None) -> T:
    """Make a function or op reachable by name, its options coerced as its signature says; usable as a decorator."""
    key = name or getattr(function, "name", None) or function.__name__
    known = coerced(function, key) if inspect.isfunction(function) else function
    assert key not in _PUBLIC or _PUBLIC[key] is known, f"{key} is public twice"
    _PUBLIC[key] = known
    return known


def is_public(name: str) -> bool:
    """Is there a public function of that name?"""
    return name in _PUBLIC


def lookup(name: str) -> Callable[..., Any]:
    """The public function `name`.   Raises: KeyError if the module that defines it has not been imported."""
    return _PUBLIC[name]

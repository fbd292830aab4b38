"""Public functions by name: how variables, which stand left of the ops, reach them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])
_PUBLIC: dict[str, Callable[..., Any]] = {}


def public(function: T, name: str | None = None) -> T:
    """Make a function or op reachable by name; usable as a decorator."""
    key = name or getattr(function, "name", None) or function.__name__
    assert key not in _PUBLIC or _PUBLIC[key] is function, f"{key} is public twice"
    _PUBLIC[key] = function
    return function


def lookup(name: str) -> Callable[..., Any]:
    """The public function `name`.   Raises: KeyError if the module that defines it has not been imported."""
    return _PUBLIC[name]

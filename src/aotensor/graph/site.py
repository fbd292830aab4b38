"""Source locations of the user's program, for errors, warnings and remarks."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from types import FrameType
from typing import Any


@dataclass(frozen=True, slots=True)
class Site:
    """A line of the user's program. It prints without its folder, so that artifacts do not depend on that.

    node: the user's node, if a rewrite has replaced it. origin: of a derivative, the line of the differentiated
    expression; the site itself is the line that asks for the derivative.
    """

    file: str
    line: int
    node: Any = field(default=None, compare=False, repr=False)
    origin: Site | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


@cache
def _is_ours(module: str) -> bool:
    return module.split(".")[0] in ("aotensor", "contextlib", "functools", "numpy", "scipy")


_SITE: ContextVar[Site | None] = ContextVar("site", default=None)


@contextmanager
def variables_at(site: Site | None) -> Iterator[None]:
    """Context manager within which new variables get the location `site`, so that rewrites keep the user's lines."""
    token = _SITE.set(site)
    try:
        yield
    finally:
        _SITE.reset(token)


_ORIGIN: ContextVar[Site | None] = ContextVar("origin", default=None)


@contextmanager
def differentiating(node: Any) -> Iterator[None]:
    """Context manager within which new variables record the derivative rule of `node` as their origin."""
    site: Site | None = node.outputs[0].site
    token = _ORIGIN.set(site if site is None or site.origin is None else site.origin)
    try:
        yield
    finally:
        _ORIGIN.reset(token)


def replacement_site(node: Any) -> Site | None:
    """The location for the replacement of a node, which remembers the node."""
    site: Site | None = node.outputs[0].site
    return replace(site, node=node) if site is not None and site.node is None else site


def user_site() -> Site | None:
    """The innermost line on the call stack outside of this package."""
    chosen, origin = _SITE.get(), _ORIGIN.get()
    if chosen is not None:
        return chosen if origin is None or chosen.origin is not None else replace(chosen, origin=origin)
    frame = _user_frame()[0]
    return Site(frame.f_code.co_filename, frame.f_lineno, origin=origin) if frame is not None else None


def user_names() -> dict[str, Any]:
    """The names in scope in the innermost frame outside of this package: local variables, then those of its module."""
    frame = _user_frame()[0]
    return {} if frame is None else {**frame.f_globals, **frame.f_locals}


def warn_user(message: str, kind: type[Warning] = UserWarning) -> None:
    """Issue a warning at the innermost line outside of this package."""
    warnings.warn(message, kind, stacklevel=_user_frame()[1])


def _user_frame() -> tuple[FrameType | None, int]:
    """The innermost frame outside of this package, and its distance from the caller, as `warnings.warn` counts."""
    frame: FrameType | None = sys._getframe(2)
    distance = 2
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, distance = frame.f_back, distance + 1
    return frame, distance

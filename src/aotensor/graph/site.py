"""Where the user wrote something: the line that errors and warnings name."""

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
    """A line of the user's program. Its text has no folder, so that artifacts do not depend on it.

    node: what the user wrote there, for what a rewrite has made of it. origin: of what a derivative rule made, where
    that is written which was differentiated; the site itself is where the derivative is asked for.
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
def made_at(site: Site | None) -> Iterator[None]:
    """Variables that are made inside count as made at `site`: rewrites do not move what the user wrote."""
    token = _SITE.set(site)
    try:
        yield
    finally:
        _SITE.reset(token)


_ORIGIN: ContextVar[Site | None] = ContextVar("origin", default=None)


@contextmanager
def differentiating(node: Any) -> Iterator[None]:
    """Variables that are made inside come from the derivative rule of `node`."""
    site: Site | None = node.outputs[0].site
    token = _ORIGIN.set(site if site is None or site.origin is None else site.origin)
    try:
        yield
    finally:
        _ORIGIN.reset(token)


def written_as(node: Any) -> Site | None:
    """The site of a node for its replacement."""
    site: Site | None = node.outputs[0].site
    return replace(site, node=node) if site is not None and site.node is None else site


def user_site() -> Site | None:
    """The innermost line on the call stack that is not ours."""
    chosen, origin = _SITE.get(), _ORIGIN.get()
    if chosen is not None:
        return chosen if origin is None or chosen.origin is not None else replace(chosen, origin=origin)
    frame = _user_frame()[0]
    return Site(frame.f_code.co_filename, frame.f_lineno, origin=origin) if frame is not None else None


def user_names() -> dict[str, Any]:
    """What the innermost frame that is not ours can name: its local variables, then those of its module."""
    frame = _user_frame()[0]
    return {} if frame is None else {**frame.f_globals, **frame.f_locals}


def warn_user(message: str, kind: type[Warning] = UserWarning) -> None:
    """A warning about the innermost line that is not ours."""
    warnings.warn(message, kind, stacklevel=_user_frame()[1])


def _user_frame() -> tuple[FrameType | None, int]:
    """The frame of that line, and how far it is from the caller, as `warnings.warn` counts."""
    frame: FrameType | None = sys._getframe(2)
    distance = 2
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, distance = frame.f_back, distance + 1
    return frame, distance

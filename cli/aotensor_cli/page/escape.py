"""Embed values in the script of a page, so that no text acts as markup."""

from __future__ import annotations

import json
from typing import Any

from aotensor_runtime.notebook.html import plain


def embedded(value: Any) -> str:
    """JSON for a script element: nothing in it can end that element, or begin a comment in it."""
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(str(key)): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    return value

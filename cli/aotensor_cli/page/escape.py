"""Names and texts of anybody, as they may stand in a page or a picture: as text, never as markup."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|[\ud800-\udfff]"
)
"""What XML does not allow, and what turns or hides the text around it."""


def plain(text: str) -> str:
    """Text without control characters: a mark stands for each."""
    return _CONTROL.sub("\ufffd", text)


def escaped(text: object) -> str:
    """Text for HTML and XML, also inside of quotes."""
    return html.escape(plain(str(text)), quote=True)


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

"""Write SVG: elements, escaped text, and the colours of light and dark themes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from aotensor_runtime.notebook.html import escaped

CHARACTER: Final = 6.6
"""Width of a character of 11 pixels, in pixels."""

Look: TypeAlias = Literal["file", "page", "notebook"]
"""Where a picture is shown: in its own file, which defines the colours; in a page, which defines them for it; or in a
notebook, whose colours it uses.
"""

_COLOURS: Final = """
.svg { --ink: #1d2430; --soft: #5b6675; --line: #c9d0d9; --paper: #ffffff; --box: #f4f6f8; --accent: #0b5cad;
  --in: #e3f0ff; --out: #e4f5e7; --hot: #d1480f;
  --s0: #0b5cad; --s1: #a8480c; --s2: #1a7a45; --s3: #7b3fa0; --s4: #8a6d00; --s5: #b0305c; }
@media (prefers-color-scheme: dark) { .svg { --ink: #e4e8ee; --soft: #9aa6b5; --line: #3b4654; --paper: #14181e;
  --box: #1e252e; --accent: #6fb3ff; --in: #16304c; --out: #173a24; --hot: #ff8f55;
  --s0: #6fb3ff; --s1: #f2a066; --s2: #6cd197; --s3: #cf9cf0; --s4: #e0c04a; --s5: #f58fb0; } }
"""
_INHERITED: Final = """
.svg { --ink: currentColor; --soft: color-mix(in srgb, currentColor 70%, transparent); --paper: transparent;
  --line: color-mix(in srgb, currentColor 35%, transparent); --box: color-mix(in srgb, currentColor 7%, transparent);
  --in: color-mix(in srgb, #3b82f6 22%, transparent); --out: color-mix(in srgb, #22a355 22%, transparent);
  --s0: #3b82f6; --s1: #d9640f; }
"""
RULES: Final = """
.svg { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.svg .paper { fill: var(--paper); }
.svg text { fill: var(--ink); white-space: pre; }
.svg .soft { fill: var(--soft); }
.svg .box { fill: var(--box); stroke: var(--line); }
.svg .in { fill: var(--in); stroke: var(--line); }
.svg .out { fill: var(--out); stroke: var(--line); }
.svg .grid { stroke: var(--line); fill: none; }
.svg .edge { stroke: var(--soft); fill: none; opacity: 0.6; }
.svg .axis { stroke: var(--soft); fill: none; }
.svg .area { fill: var(--accent); opacity: 0.25; }
.svg .heat { fill: var(--hot); }
.svg .mark { stroke: var(--paper); stroke-width: 1; }
.svg .bar { fill-opacity: 0.22; stroke-width: 1; }
.svg .c0 { fill: var(--s0); stroke: var(--s0); } .svg .c1 { fill: var(--s1); stroke: var(--s1); }
.svg .c2 { fill: var(--s2); stroke: var(--s2); } .svg .c3 { fill: var(--s3); stroke: var(--s3); }
.svg .c4 { fill: var(--s4); stroke: var(--s4); } .svg .c5 { fill: var(--s5); stroke: var(--s5); }
.svg .roof { fill: none; stroke-width: 2; }
.svg .title { font-weight: 600; }
.svg .end { text-anchor: end; } .svg .middle { text-anchor: middle; }
"""
"""CSS of the parts of a picture; a page has its own colours for them."""


def element(name: str, content: str = "", **attributes: object) -> str:
    """An element; `class_` is its class, `data_line` its attribute data-line."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_number(value))}"'
        for key, value in attributes.items() if value is not None
    )  # fmt: skip
    return f"<{name}{pairs}>{content}</{name}>" if content else f"<{name}{pairs}/>"


def text(x: float, y: float, content: object, class_: str | None = None, **attributes: object) -> str:
    """A text element of one line."""
    return element("text", escaped(content), x=x, y=y, class_=class_, **attributes)


def titled(content: str, title: str, **attributes: object) -> str:
    """A group with a tooltip."""
    return element("g", element("title", escaped(title)) + content, **attributes)


def picture(width: float, height: float, parts: Iterable[str], label: str, look: Look) -> str:
    """The whole SVG picture.   label: for screen readers"""
    rules = {"file": _COLOURS + RULES, "page": "", "notebook": _INHERITED + RULES}[look]
    name = "svg"
    if look == "notebook":  # these rules apply to all that a notebook shows
        name = "aotensor-picture"
        rules = rules.replace(".svg", f".{name}")
    style = element("style", rules) if rules else ""
    paper = element("rect", width="100%", height="100%", class_="paper") if look != "notebook" else ""
    return element(
        "svg", f"{element('title', escaped(label))}{style}{paper}{''.join(parts)}", xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}", width=f"{width:.0f}", height=f"{height:.0f}", class_=name, role="img",
    )  # fmt: skip


def clipped(content: str, width: float) -> str:
    """Text, shortened to fit this number of pixels."""
    room = max(int(width / CHARACTER), 1)
    return content if len(content) <= room else f"{content[: max(room - 1, 0)]}…"


def size_of(count: float | None) -> str:
    """A number of bytes in readable units."""
    if count is None:
        return "? bytes"
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} B"


def _number(value: object) -> object:
    return f"{value:.5g}" if isinstance(value, float) else value

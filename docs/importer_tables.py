"""The tables of docs/importers.md, made from the tables that the importers go by."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parent / "importers.md"
_BEGIN: Final = "<!-- made by docs/build.py from the rules for JAX -->\n"
_END: Final = "<!-- end -->"


def jax_table() -> str:
    """Primitives of JAX with what is to know about them, those that are the same last."""
    from aotensor.importers.jax import COUNTERPARTS

    notes: dict[str, list[str]] = {}
    for name, note in COUNTERPARTS.items():
        notes.setdefault(note, []).append(f"`{name}`")
    rows = [(" ".join(names), note) for note, names in notes.items() if note]
    rows.append((" ".join(notes[""]), "the same"))
    return "\n| primitives | |\n|---|---|\n" + "".join(f"| {names} | {note} |\n" for names, note in rows) + "\n"


def page() -> str:
    """The page with its tables as they are now."""
    text = PAGE.read_text(encoding="utf-8")
    return re.sub(f"{_BEGIN}.*?{_END}", lambda _: _BEGIN + jax_table() + _END, text, flags=re.DOTALL)


def write() -> None:
    """Make the page anew, where JAX is installed."""
    if importlib.util.find_spec("jax") is not None:
        PAGE.write_text(page(), encoding="utf-8")

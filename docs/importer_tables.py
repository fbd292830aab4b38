"""The tables of docs/importers.md, docs/onnx.md and docs/stablehlo.md, made from the tables of the importers."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parent
_TABLES: Final = (
    ("importers.md", "JAX", "jax", "primitives"),
    ("importers.md", "PyTensor", "pytensor", "ops"),
    ("onnx.md", "ONNX", "onnx", "operators"),
    ("stablehlo.md", "StableHLO", "stablehlo", "operations"),
)
"""Page, framework, its importer, and its name for operations."""


def pages() -> dict[Path, str]:
    """The text of each page with the current tables of the installed frameworks."""
    found: dict[Path, str] = {}
    for page, framework, module, title in _TABLES:
        if module == "stablehlo" or importlib.util.find_spec(module) is not None:
            counterparts = importlib.import_module(f"aotensor.importers.{module}").COUNTERPARTS
            path = DOCS / page
            begin, end = f"<!-- made by docs/build.py from the rules for {framework} -->\n", "<!-- end -->"
            text = found.get(path) or path.read_text(encoding="utf-8")
            made = begin + _table(title, counterparts) + end
            found[path] = re.sub(f"{begin}.*?{end}", lambda _, made=made: made, text, flags=re.DOTALL)
            assert made in found[path], begin
    return found


def _table(title: str, counterparts: Mapping[str, str]) -> str:
    """A table of names by remark; those without remark are last."""
    notes: dict[str, list[str]] = {}
    for name, note in counterparts.items():
        notes.setdefault(note, []).append(f"`{name}`")
    rows = [(" ".join(names), note.replace("|", "\\|")) for note, names in notes.items() if note]
    rows.append((" ".join(notes[""]), "the same"))
    return f"\n| {title} | |\n|---|---|\n" + "".join(f"| {names} | {note} |\n" for names, note in rows) + "\n"


def write() -> None:
    """Write the pages with their current tables."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")

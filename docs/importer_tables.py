"""The tables of docs/importers.md and docs/stablehlo.md, generated from the rules of the importers."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parent / "importers.md"
STABLEHLO: Final = Path(__file__).parent / "stablehlo.md"
_BEGIN: Final = "<!-- made by docs/build.py from the rules for JAX -->\n"
_OPERATIONS: Final = "<!-- made by docs/build.py from the operations of StableHLO -->\n"
_END: Final = "<!-- end -->"


def jax_table() -> str:
    """The table of JAX's primitives with remarks; those without remark are last."""
    from aotensor.importers.jax import COUNTERPARTS

    return _table("primitives", COUNTERPARTS)


def _table(title: str, counterparts: Mapping[str, str]) -> str:
    """A table of names by remark; those without remark are last."""
    notes: dict[str, list[str]] = {}
    for name, note in counterparts.items():
        notes.setdefault(note, []).append(f"`{name}`")
    rows = [(" ".join(names), note) for note, names in notes.items() if note]
    rows.append((" ".join(notes[""]), "the same"))
    return f"\n| {title} | |\n|---|---|\n" + "".join(f"| {names} | {note} |\n" for names, note in rows) + "\n"


def stablehlo_table() -> str:
    """The table of StableHLO's operations with remarks."""
    from aotensor.importers.stablehlo import COUNTERPARTS

    return _table("operations", COUNTERPARTS)


def page() -> str:
    """The page about JAX with its current table."""
    return _with(PAGE, _BEGIN, jax_table())


def stablehlo_page() -> str:
    """The page about StableHLO with its current table."""
    return _with(STABLEHLO, _OPERATIONS, stablehlo_table())


def _with(path: Path, begin: str, table: str) -> str:
    return re.sub(
        f"{begin}.*?{_END}", lambda _: begin + table + _END, path.read_text(encoding="utf-8"), flags=re.DOTALL
    )


def write() -> None:
    """Write the pages; that about JAX only if JAX is installed."""
    if importlib.util.find_spec("jax") is not None:
        PAGE.write_text(page(), encoding="utf-8")
    STABLEHLO.write_text(stablehlo_page(), encoding="utf-8")

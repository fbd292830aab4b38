"""Names that are fit for C, for the header and for keyword arguments."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

C_KEYWORDS: Final = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if"  # noqa: SIM905
    " inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void"
    " volatile while workspace context class new delete template this operator private public protected bool true"
    " false".split()
)


def c_name(wanted: str, taken: Collection[str], fallback: str) -> str:
    """`wanted` as a C identifier that is not taken: other characters become `_`, a clash gets a number."""
    name = re.sub(r"\W", "_", wanted, flags=re.ASCII).strip("_") or fallback
    if name[0].isdigit():
        name = f"_{name}"
    if name in C_KEYWORDS:
        name += "_"
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    return unique

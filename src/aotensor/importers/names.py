"""Default names of Functions that are imported."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aotensor.extension import c_name, is_of_c_library
from aotensor_runtime.typed.parameters import is_reserved


def function_name(text: str, default: str) -> str:
    """An identifier like `text` that is not one of C's: `cos_` for cos, `call` for __call__; `default` for nothing."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_") or default
    name = f"f_{name}" if name[0].isdigit() else name
    return f"{name}_" if is_of_c_library(name) or is_reserved(name) else name


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names, each that is the same in C as an earlier one with a number: `a_b_2` for `a.b` after `a-b`."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        plain = c_name(name, (), "")
        found.append(c_name(name, taken, "") if plain in taken else name)
        taken.add(c_name(name, taken, ""))
    return found

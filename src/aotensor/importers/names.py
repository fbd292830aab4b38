"""Default names of Functions that are imported."""

from __future__ import annotations

import re

from aotensor.core.c_names import is_of_c_library
from aotensor_runtime.typed.parameters import is_reserved


def function_name(text: str, default: str) -> str:
    """An identifier like `text` that is not one of C's: `cos_` for cos, `call` for __call__; `default` for nothing."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_") or default
    name = f"f_{name}" if name[0].isdigit() else name
    return f"{name}_" if is_of_c_library(name) or is_reserved(name) else name

"""All rules, by family: importing this module fills the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aotensor.importers.jax import (  # noqa: F401  (each enters its rules)
    bits,
    calls,
    elementwise,
    gather,
    keys,
    linalg,
    loops,
    reductions,
    scatter,
    shapes,
    sorting,
    windows,
)
from aotensor.importers.jax.table import RULES

COUNTERPARTS: Final[Mapping[str, str]] = {name: RULES[name].note for name in sorted(RULES)}
"""Primitive of JAX → what is to know about its import, "" where it is the same."""

"""All rules, by family: importing this module fills the table."""

from __future__ import annotations

from aotensor.importers.lax import (  # noqa: F401  (each enters its rules)
    bits,
    calls,
    convolution,
    elementwise,
    folds,
    gather,
    linalg,
    loops,
    pooling,
    reductions,
    scatter,
    shapes,
    sorting,
    windows,
)
from aotensor.importers.lax.table import RULES as RULES

"""Import all modules with translations, which register themselves."""

from __future__ import annotations

from aotensor.importers.stablehlo import (  # noqa: F401  (each enters its translations)
    control,
    elementwise,
    linalg,
    reductions,
    shapes,
    windows,
)
from aotensor.importers.stablehlo.table import NOTES as NOTES
from aotensor.importers.stablehlo.table import TABLE as TABLE
from aotensor.importers.stablehlo.translate import WRITTEN as WRITTEN

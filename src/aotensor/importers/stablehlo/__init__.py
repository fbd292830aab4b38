"""Import modules of StableHLO as Functions; JAX is not needed.

from aotensor.importers.stablehlo import from_stablehlo

f = from_stablehlo(Path("model.mlir"))  # or the text itself
"""

from aotensor.importers.errors import NoCounterpart
from aotensor.importers.stablehlo.functions import COUNTERPARTS, from_stablehlo
from aotensor.importers.stablehlo.text import DamagedText

__all__ = ["COUNTERPARTS", "DamagedText", "NoCounterpart", "from_stablehlo"]

"""Import the rules of all families, which register themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import aotensor.importers.pytensor.control
import aotensor.importers.pytensor.elementwise
import aotensor.importers.pytensor.indexing
import aotensor.importers.pytensor.linalg
import aotensor.importers.pytensor.loops
import aotensor.importers.pytensor.optimize
import aotensor.importers.pytensor.random
import aotensor.importers.pytensor.reductions
import aotensor.importers.pytensor.shapes
import aotensor.importers.pytensor.sparse  # noqa: F401
from aotensor.importers.base import notes_of
from aotensor.importers.pytensor.rules import RULES, Walk

COUNTERPARTS: Final[Mapping[str, str]] = notes_of(RULES, str)
"""Class of PyTensor ops → remark on its import, "" if there is none."""

__all__ = ["COUNTERPARTS", "Walk"]

"""Import programs written with PyTensor, to compile them ahead of time.

from aotensor.importers.pytensor import from_pytensor, function

xs, y = from_pytensor([x], y)                # variables of ours
f = function([x], y, updates={s: s + 1})     # a Function of ours
pytensor.function([x], y, mode="AOTENSOR")   # a function of PyTensor's, compiled here
"""

from __future__ import annotations

from aotensor.importers.errors import NoCounterpart, Untranslated
from aotensor.importers.pytensor.functions import from_pytensor, function
from aotensor.importers.pytensor.mode import AotensorLinker
from aotensor.importers.pytensor.table import COUNTERPARTS

__all__ = ["COUNTERPARTS", "AotensorLinker", "NoCounterpart", "Untranslated", "from_pytensor", "function"]

"""References that use SciPy, which is imported at first use: it would triple the time of `import aotensor`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from aotensor.core.types import Array


@cache
def _special() -> Any:
    import scipy.special

    return scipy.special


def scipy_special(name: str) -> Callable[..., Array]:
    """The function `name` of scipy.special on arrays."""

    def reference(*xs: Array) -> Array:
        return np.asarray(getattr(_special(), name)(*xs))

    return reference

"""One function, run compiled and by the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import aotensor as aot
from aotensor.graph.variable import Variable


def both(expressions: Sequence[Variable], values: Mapping[Variable, Any]) -> list[Any]:
    """Compiled values, which agree with those of the reference."""
    f = aot.function(list(values), list(expressions), on_unused_input="ignore")
    found, expected = f(*values.values()), f.reference(*values.values())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
        assert one.dtype == other.dtype
    return list(found)

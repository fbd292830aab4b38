"""Compare the outputs of two libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from aotensor.api.cost.work import parts_of
from aotensor.sampling.agreement import absolute_tolerance, disagreement


def difference(ours: Any, other: Any) -> str | None:
    """In what the outputs of two bound calls differ, that of `ours` first; None if they agree up to rounding."""
    if ours.outputs.keys() != other.outputs.keys():
        names = (", ".join(one.outputs) for one in (other, ours))
        return "{}: the other library gives {}, not {}".format(ours.spec.name, *names)
    for name, x in ours.outputs.items():
        patterns = [[part.tolist() for part in parts_of(one.outputs[name])[1:]] for one in (ours, other)]
        if patterns[0] != patterns[1]:
            return f"{ours.spec.name}: {name} has another sparsity pattern than in the other library"
        found, expected = (parts_of(one.outputs[name])[0] for one in (ours, other))
        tolerance = absolute_tolerance(expected, 1e-4 if x.dtype == np.float32 else 1e-7)
        problem = disagreement(found, expected, tolerance)
        if problem is not None:
            return f"{ours.spec.name}: {name} differs from the other library: {problem}"
    return None

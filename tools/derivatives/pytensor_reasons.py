"""Why derivatives of imported ops differ from PyTensor's: the specification decides against it."""

from __future__ import annotations

from typing import Final

_NAN: Final = "the cotangent goes to the operand, or the first element, that is nan, as the specification has it"
_ZERO: Final = "right where elements are 0, as the specification has it"
_TIES: Final = (
    "equal elements keep their order, as the specification has it; PyTensor's order is that of NumPy's quicksort"
)
_STABLE: Final = "the stable form of the formula: PyTensor without rewrites overflows"
_EQUAL: Final = "equal eigenvalues or singular values have no second derivatives: PyTensor divides rounding errors"

REASONS: Final[dict[str, str]] = {
    "Maximum": _NAN,
    "Minimum": _NAN,
    "relu": _NAN,
    "Max": _NAN,
    "Min": _NAN,
    "max_and_argmax": _NAN,
    "Prod": _ZERO,
    "ProdWithoutZeros": _ZERO,
    "CumOp of mul": _ZERO,
    "Pow": "the slopes of powers of 0 are those of the specification",
    "logsumexp": _STABLE,
    "logaddexp": _STABLE,
    "GammaIncC": "PyTensor's series for slopes by the order ends earlier",
    "Hyp2F1": "PyTensor's series for slopes by parameters ends early where one of them is a negative integer",
    "Eigh": _EQUAL,
    "SVD": _EQUAL,
    "SortOp": _TIES,
    "median": _TIES,
    "LogSoftmax": "a row with an infinite element gives nan, as its softmax does",
    "AdvancedIncSubtensor1 that sets, repeated": "the last of several values counts, as the specification has it",
}
"""Name of a case → reason."""

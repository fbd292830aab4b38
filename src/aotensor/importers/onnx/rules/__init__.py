"""Rules that translate ONNX operators to public functions of aotensor, one module per family."""

from collections.abc import Mapping
from typing import Final

from aotensor.importers.base import notes_of
from aotensor.importers.onnx.rules import (  # noqa: F401  (their rules enter the table)
    activations,
    classic,
    control,
    elementwise,
    indexing,
    normalisations,
    pools,
    products,
    quantisation,
    recurrent,
    reductions,
    resampling,
    shape,
    tensors,
    trees,
    vectors,
    windows,
)
from aotensor.importers.onnx.rules.table import RULES as RULES

COUNTERPARTS: Final[Mapping[str, str]] = notes_of(RULES, lambda key: ".".join(filter(None, key)))
"""Operator of ONNX → remark on its import, "" if there is none."""

"""Rules that translate ONNX operators to public functions of aotensor, one module per family."""

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

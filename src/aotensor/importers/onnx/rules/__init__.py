"""Rules of ONNX operators by the public functions of aotensor, a module per family."""

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

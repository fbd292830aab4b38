"""Names for packages that build graphs from outside, as the importers do: they use these, and the public functions.

These are the types of graphs, dtypes, source locations, and ops without a public function. A test checks that the
importers use no other modules.
"""

from __future__ import annotations

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.c_names import is_of_c_library
from aotensor.core.dtypes import FLOATS
from aotensor.core.types import Array, TensorType
from aotensor.densities.density import Density, Part, concatenate_vectors, pieces, raveled
from aotensor.driver.artifact import Artifact
from aotensor.driver.naming import c_name
from aotensor.gradient.composite import OpFromGraph
from aotensor.gradient.forward import push_by_pullback
from aotensor.gradient.terms import Pattern
from aotensor.graph.op import Apply, disconnected, is_disconnected
from aotensor.graph.placeholder import NullType
from aotensor.graph.site import Site, variables_at
from aotensor.graph.variable import Constant, SharedVariable, Variable, Variables
from aotensor.graph.walk import leaves
from aotensor.ops.complex.loops import RealLoop
from aotensor.ops.create import is_zeros
from aotensor.ops.elementwise.elementary import softsign
from aotensor.ops.gradient_control import ViewOp
from aotensor.ops.linear import filled
from aotensor.ops.random.arrangements import distinct
from aotensor.ops.reduce.extremum import max_or_limit, min_or_limit
from aotensor.ops.reduce.lengths import Length
from aotensor.ops.reduce.sums import finished
from aotensor.ops.scan.frontend import Loop
from aotensor.sparse.op import as_sparse_or_tensor

__all__ = [
    "FLOATS",
    "Apply",
    "Array",
    "Artifact",
    "Constant",
    "Density",
    "Length",
    "Loop",
    "NullType",
    "OpFromGraph",
    "Part",
    "Pattern",
    "RealLoop",
    "SharedVariable",
    "Site",
    "Tensor",
    "TensorBuilder",
    "TensorType",
    "Variable",
    "Variables",
    "ViewOp",
    "as_sparse_or_tensor",
    "c_name",
    "concatenate_vectors",
    "disconnected",
    "distinct",
    "dtypes",
    "filled",
    "finished",
    "is_disconnected",
    "is_of_c_library",
    "is_zeros",
    "leaves",
    "max_or_limit",
    "min_or_limit",
    "pieces",
    "push_by_pullback",
    "raveled",
    "softsign",
    "variables_at",
]

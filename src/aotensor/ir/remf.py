"""arith.remf: the one operation of upstream arith that we need and xDSL 0.74 lacks."""

from __future__ import annotations

from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class RemfOp(FloatingPointLikeBinaryOperation):
    """Remainder of the truncating division of floats: exact, with the sign of the dividend, as C's fmod."""

    name = "arith.remf"
    traits = traits_def(Pure())

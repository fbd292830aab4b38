"""Powers with a constant exponent that is half an odd number, as products and a square root.

    %c = arith.constant 1.5                 %z = %x + 0.0, and inf for −inf
    %y = math.powf %x, %c            →      %r = math.sqrt %z
                                            %y = arith.mulf %z, %r

A general power is about 60 operations. The errors of at most four roundings sum to at most 2 ulp, the bound of
elementary functions, so exponents that need more are left. Special values are those of C's pow: it returns
+0 and +inf, or their reciprocals, for −0 and −inf, where sqrt returns −0 and nan; and nan for other negative numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Final

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr

from aotensor.ir.location import builder_before
from aotensor.ir.scalar_builder import Scalar, ScalarBuilder
from aotensor.ir.types import DTYPE_OF_FLOAT
from aotensor.passes.remarks import applied

_FORMS: Final[Mapping[float, Callable[[Scalar, Scalar], Scalar]]] = {
    0.5: lambda x, root: root,
    1.5: lambda x, root: x * root,
    2.5: lambda x, root: x * (x * root),
    3.5: lambda x, root: x * x * (x * root),
    -0.5: lambda x, root: 1.0 / root,
    -1.5: lambda x, root: 1.0 / x / root,
    -2.5: lambda x, root: 1.0 / (x * x) / root,
}
"""Exponent → the power, from x and its square root. No part of a form overflows or underflows unless the power does,
or is less accurate for it: so −1.5 is (1/x)/√x, as x·√x overflows where the power is a subnormal number."""


def expand_half_power(op: math.PowFOp) -> None:
    """Replace a power by products and a square root, if its exponent is one of those above."""
    exponent, dtype = op.rhs.owner, DTYPE_OF_FLOAT.get(op.result.type)
    if not isinstance(exponent, arith.ConstantOp) or not isinstance(exponent.value, FloatAttr):
        return
    form = _FORMS.get(exponent.value.value.data)
    if form is None or dtype not in ("float32", "float64"):
        return
    applied("replaced the power in {} by products and a square root", op)
    s = ScalarBuilder(builder_before(op), op.fastmath)
    x = Scalar(op.lhs, dtype)
    is_lowest = s.compare("eq", x, s.constant(-inf, dtype))
    with s.active():
        x = s.select(is_lowest, s.constant(inf, dtype), x) + 0.0
        op.result.replace_all_uses_with(form(x, s.math("sqrt", x)).ssa)
    op.detach()
    op.erase()

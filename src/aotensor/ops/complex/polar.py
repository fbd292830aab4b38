"""Angles of complex numbers, and complex numbers from polar coordinates."""

from __future__ import annotations

from typing import Any

from aotensor.core import dtypes
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.complex.parts import complex as of_parts
from aotensor.ops.complex.parts import parts
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.elementwise.elementary import cos, sin
from aotensor.ops.elementwise.points import arctan2


@public(numpy="angle")
@coerced
def angle(z: Any) -> Variable:
    """arctan2(imag z, real z), in (−π, π]; of a real value 0 or π. Derivatives are nan at 0."""
    z = as_tensor(z)
    re, im = parts(z if dtypes.is_inexact(z.dtype) else cast(z, dtypes.float_of(z.dtype)))
    return arctan2(im, re)


@coerced
def polar(length: Any, angle: Any) -> Variable:
    """length·(cos angle + i·sin angle); the two broadcast.   Raises: as `complex`."""
    r, a = as_tensor(length), as_tensor(angle)
    return of_parts(r * cos(a), r * sin(a))

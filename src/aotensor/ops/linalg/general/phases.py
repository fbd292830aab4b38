"""Phases of complex vectors on the graph as in `signs`: the first component that is not small is positive."""

from __future__ import annotations

from aotensor.graph.variable import Variable
from aotensor.ops.complex.parts import conj, imag, real
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.compare import eq, ge, switch
from aotensor.ops.linalg.signs import NOT_SMALL
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.extremum import argmax
from aotensor.ops.reduce.extremum import max as max_over
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import expand_dims
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import concatenate


def is_leading(v: Variable) -> Variable:
    """Mask of the first component of each column that is not small.   (…, m, k) → bool (…, m, k)"""
    sizes = absolute(v)
    row = zeros_like(sum_over(sizes, axis=-2, keepdims=True))
    sizes = concatenate([sizes, row], axis=-2)  # a maximum for columns without rows
    leading = argmax(ge(sizes, NOT_SMALL * max_over(sizes, axis=-2, keepdims=True)), axis=-2)
    return eq(expand_dims(arange(extent_of(v, -2)), 1), expand_dims(leading, -2))


def leading_component(x: Variable, v: Variable) -> Variable:
    """The component of each column of x at which v has its leading component.   (…, m, k) → (…, 1, k)"""
    return sum_over(switch(is_leading(v), x, 0), axis=-2, keepdims=True)


def phases(v: Variable) -> Variable:
    """Factors that make the leading component of each column real and positive.   (…, m, k) → (…, 1, k)"""
    leading = leading_component(v, v)
    size = absolute(leading)
    is_zero = eq(size, 0)
    return switch(is_zero, 1, conj(leading) / switch(is_zero, 1, size))


def phase_rate(tangent: Variable, v: Variable) -> Variable:
    """Imaginary part of tangent/v at the leading component of each column of v: how fast its phase changes."""
    return leading_component(imag(tangent), v) / leading_component(real(v), v)

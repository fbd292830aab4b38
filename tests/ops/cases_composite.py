"""Rows for graphs that are ops: several outputs, one inside another, derivatives of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from case import Case, between, normal

import aotensor.tensor as at
from aotensor import OpFromGraph
from aotensor.graph.op import is_disconnected
from aotensor.graph.variable import Variable


def _layer(w: Variable, x: Variable) -> Sequence[Variable]:
    a, b = at.dmatrix("a"), at.dvector("b")
    y = at.tanh(a @ b)
    return OpFromGraph([a, b], [y, y.sum()], name="layer")(w, x)


def _nested(x: Variable) -> Variable:
    v = at.dvector("v")
    cube = OpFromGraph([v], [v**3], name="cube")
    outer = OpFromGraph([v], [at.exp(cube(v * 0.5)) + cube(v)], name="outer")
    return outer(outer(x) * 0.1)


def _softplus(x: Variable) -> Variable:
    """log(1 + exp(x)) with derivatives that do not overflow."""
    v = at.dvector("v")

    def pulled(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return [cotangents[0] * at.sigmoid(inputs[0])]

    def pushed(inputs: Any, outputs: Any, tangents: Any) -> Any:
        return [tangents[0] * at.sigmoid(inputs[0])]

    return OpFromGraph([v], [at.softplus(v)], pullback=pulled, pushforward=pushed, name="softplus_")(x)


def _partly(x: Variable, y: Variable) -> Variable:
    """x·y with one override in a list, and a forward rule under its older name."""
    a, b = at.dvector("a"), at.dvector("b")

    def tangent(inputs: Any, points: Any) -> Any:
        terms = [p * other for p, other in zip(points, inputs[::-1], strict=True) if p is not None]
        return sum(terms[1:], terms[0])

    def derivative(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        assert not is_disconnected(cotangents[0])
        return cotangents[0] * inputs[0]

    op = OpFromGraph([a, b], [a * b], lop_overrides=[None, derivative], rop_overrides=[tangent])
    return op(x, y)


def _integers(x: Variable, n: Variable) -> Variable:
    v, k = at.dvector("v"), at.lscalar("k")
    return OpFromGraph([v, k], [v[k:] * k + v.sum()])(x, n)


def _named_dims(x: Variable, n: Variable) -> Variable:
    v, w = at.dvector("v", shape=("n",)), at.dvector("w", shape=("n",))
    return OpFromGraph([v, w], [v * w])(x, n)


CASES = [
    Case(id="composite-layer", build=_layer, inputs=normal((3, 2), (2,))),
    Case(id="composite-nested", build=_nested, inputs=between(-0.9, 0.9, 4)),
    Case(id="composite-overrides", build=_softplus, inputs=normal((5,))),
    Case(id="composite-overrides_in_lists", build=_partly, inputs=normal((3,), (3,))),
    Case(id="composite-integers", build=_integers, inputs=[np.array([0.5, 1.5, -2.0]), np.int64(1)]),
    Case(
        id="composite-fits_what_it_is_given",
        build=_named_dims,
        inputs=[np.array([0.5, 1.5]), np.array([1, 2])],
    ),
]

"""Running products in every direction with zeros among the factors, and the recurrences that are their derivatives."""

from __future__ import annotations

from functools import partial

import numpy as np
from case import Case, normal

import aotensor.tensor as at
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.reduce.cumulate import CumProd
from aotensor.ops.reduce.recurrence import LinearRecurrence, Shift

ZEROS = np.array([[1.5, 0.0, 3.0, -2.0, 0.5], [0.0, 2.0, 0.0, 1.0, 4.0], [2.0, -1.0, 0.7, 3.0, 0.0]])
FACTORS, TERMS = ZEROS.T - 0.3, ZEROS.T**2


def _derivatives(y: Variable, x: Variable) -> Variable:
    """Derivatives whose own derivatives are second ones."""
    return grad((y**2 * np.arange(1.0, 6.0)).sum(), x)


def _running(exclusive: bool, reverse: bool, order: str, x: Variable) -> Variable:
    y = CumProd(1, "float64", exclusive, reverse)(x)
    return _derivatives(y, x) if order else y  # type: ignore[no-any-return]


CASES: list[Case] = [
    *[
        Case(
            id=f"cumprod-{'exclusive' if exclusive else 'inclusive'}-{'down' if reverse else 'up'}{order}",
            build=partial(_running, exclusive, reverse, order),
            inputs=[ZEROS],
        )
        for exclusive in (False, True)
        for reverse in (False, True)
        for order in ("", "-second")
    ],
    Case(id="cumprod-of-nothing", build=lambda x: at.cumprod(x, axis=1), inputs=[np.zeros((2, 0))]),
    Case(id="cumprod-float32", build=lambda x: at.cumprod(x, axis=0), inputs=[ZEROS.astype("float32")]),
    Case(id="prod-second", build=lambda x: grad((at.prod(x, axis=1) ** 2).sum(), x), inputs=[ZEROS]),
    Case(
        id="prod-third",
        build=lambda x: grad((grad((at.prod(x, axis=1) ** 2).sum(), x) ** 2).sum(), x),
        inputs=[ZEROS],
        rtol=1e-11,
        reason="sums of products of up to 12 factors that cancel",
    ),
    Case(id="shift", build=lambda x: Shift(1)(x) * x, inputs=normal((2, 4))),
    Case(id="shift-back", build=lambda x: Shift(0, back=True)(x), inputs=normal((3, 2))),
    Case(id="shift-nothing", build=lambda x: Shift(0)(x), inputs=normal((0, 2))),
    Case(id="linear_recurrence", build=LinearRecurrence(0), inputs=[FACTORS, TERMS]),
    Case(id="linear_recurrence-reverse", build=LinearRecurrence(1, reverse=True), inputs=[FACTORS, TERMS]),
    Case(id="linear_recurrence-one", build=LinearRecurrence(0), inputs=normal((1,), (1,)), dims=[(None,), (None,)]),
    Case(
        id="linear_recurrence-known-by-one",
        build=LinearRecurrence(0),
        inputs=normal((2, 3), (2, 3)),
        dims=[(2, 3), (None, 3)],
    ),
    Case(id="linear_recurrence-own", build=lambda x: LinearRecurrence(0)(x, x), inputs=[FACTORS]),
    Case(
        id="linear_recurrence-second",
        build=lambda a, c: grad((LinearRecurrence(1)(a, c) ** 2).sum(), a),
        inputs=[FACTORS, TERMS],
    ),
]

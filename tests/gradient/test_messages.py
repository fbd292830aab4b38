"""What is said about a gradient that is missing: the variable, where it was made, and the op that is responsible."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor import OpFromGraph
from aotensor.errors import AotensorError, DisconnectedInputError, NullTypeGradError
from aotensor.gradient import Rop, disconnected_grad, grad, undefined_grad

X, Y = at.dscalars("x", "y")
V = at.dvector("v")


def lines_of(call: Callable[[], Any], error: type[AotensorError]) -> list[str]:
    """The lines below the first one, without line numbers."""
    with pytest.raises(error) as caught:
        call()
    return [re.sub(r"\d+$", "", line) for line in caught.value.diagnostic.lines]


MADE = "made at test_messages.py:"


def test_where_influence_ends() -> None:
    kept = X * 2
    kept.name = "kept"
    unrelated = lines_of(lambda: grad(Y, X), DisconnectedInputError)
    assert unrelated == [f"x: float64   {MADE}"]
    cut = lines_of(lambda: grad(disconnected_grad(X * 2) + Y, X), DisconnectedInputError)
    assert cut == [f"x: float64   {MADE}", f"influence ends at disconnected_grad(x * 2.0): float64   {MADE}"]
    constant = lines_of(lambda: grad(kept * Y, X, consider_constant=[kept]), DisconnectedInputError)
    assert constant[1] == f"influence ends at kept: float64   {MADE}"
    extent = lines_of(lambda: grad(at.sum(at.zeros_like(V)), V), DisconnectedInputError)
    assert extent[1].startswith("influence ends at ")


def test_where_a_derivative_is_lost() -> None:
    for call in (
        lambda: grad(undefined_grad(X * 2) * Y, X),
        lambda: Rop(undefined_grad(X * 2) * Y, X, np.float64(1.0)),
    ):
        assert lines_of(call, NullTypeGradError)[1] == f"undefined_grad(x * 2.0): float64   {MADE}"
    inner = OpFromGraph([X], [at.exp(undefined_grad(X))], name="inner")
    assert lines_of(lambda: grad(inner(Y), Y), NullTypeGradError)[1] == f"undefined_grad(x): float64   {MADE}"

"""What a derivative sees of zero_grad, grad_clip and the others on a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.gradient as ag
import aotensor.sparse as sp
from aotensor.errors import DisconnectedInputError, NullTypeGradError
from aotensor.graph.variable import Variable

A = sp.csr_matrix("A")
VALUE = ss.csr_matrix(np.array([[2.0, 0.0], [0.0, -3.0]]))

VIEWS: list[tuple[Callable[[Any], Variable], float]] = [
    (lambda x: ag.zero_grad(x), 0.0),
    (lambda x: ag.grad_clip(x, -1.0, 1.0), 1.0),
    (lambda x: ag.grad_clip(x, -9, 9), 5.0),
    (lambda x: ag.grad_scale(x, -2.0), -10.0),
    (lambda x: ag.GradClip(-2, 2)(x), 2.0),
]


@pytest.mark.parametrize(("view", "derivative"), VIEWS)
@pytest.mark.parametrize("scaled", [lambda x: sp.mul(x, 5.0), lambda x: sp.mul(x, np.full((2, 2), 5.0))])
def test_derivatives_of_five_times_x(
    scaled: Callable[[Any], Any], view: Callable[[Any], Variable], derivative: float
) -> None:
    """Also where the cotangent that arrives is dense, as that of a regular gradient is."""
    f = aot.function([A], [view(A), ag.grad(sp.sp_sum(scaled(view(A))), A)], name="viewed")
    for value, found in (f(VALUE), f.reference(VALUE)):
        np.testing.assert_array_equal(value.toarray(), VALUE.toarray())
        dense = found.toarray() if ss.issparse(found) else found
        np.testing.assert_array_equal(dense[VALUE.nonzero()], [derivative, derivative])


def test_the_disconnected_and_the_undefined_ones() -> None:
    with pytest.raises(DisconnectedInputError):
        ag.grad(sp.sp_sum(ag.disconnected_grad(A)), A)
    with pytest.warns(DeprecationWarning, match="use zero_grad") as found:
        considered = ag.consider_constant(A)
    assert found[0].filename == __file__
    assert ag.grad(sp.sp_sum(considered), A).eval({A: VALUE}).sum() == 0.0
    with pytest.raises(NullTypeGradError):
        ag.grad(sp.sp_sum(ag.undefined_grad(A)), A)

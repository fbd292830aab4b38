"""Rop and the product of a Hessian with a vector."""

from __future__ import annotations

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor.errors import DisconnectedInputError, NullTypeGradError
from aotensor.gradient import Rop, hessian_vector_product
from aotensor.graph.variable import Variable
from aotensor.ops.gradient_control import undefined_grad

E = np.array([1.0, 2.0, 3.0])


@pytest.mark.shows("gradient/5-rop-formula", "gradient/5-identical", "gradient/13-rop", "gradient/13-rop-two")
@pytest.mark.shows("gradient/13-rop-matrix")
def test_values() -> None:
    v, w, m = at.dvector("v"), at.dvector("w"), at.dmatrix("m")
    np.testing.assert_array_equal(Rop(v**2, v, E).eval({v: E}), [2, 8, 18])
    np.testing.assert_array_equal(Rop(v * w, [v, w], [np.ones(3), np.ones(3)]).eval({v: E, w: 2 * E}), [3, 6, 9])
    np.testing.assert_array_equal(Rop(at.dot(m, v), m, np.eye(2, 3)).eval({v: E}), [1, 2])
    np.testing.assert_array_equal(Rop(v, v, E).eval({}), E)


@pytest.mark.shows("gradient/5-integer-points", "gradient/13-rop-integer")
def test_integer_wrt_keep_float_tangents() -> None:
    i = at.ivector("i")
    np.testing.assert_array_equal(Rop(2.5 * i, i, np.array([1.5, 2.5, 3.5])).eval({}), [3.75, 6.25, 8.75])


@pytest.mark.shows("gradient/5-rop-intermediate")
def test_an_intermediate_wrt_holds_the_rest_fixed() -> None:
    v = at.dvector("v")
    u = 3 * v
    np.testing.assert_array_equal(Rop(u**2 * v, u, np.ones(3)).eval({v: E}), [6, 24, 54])


@pytest.mark.shows("gradient/5-container", "gradient/5-empty")
def test_container_follows_f() -> None:
    v = at.dvector("v")
    assert isinstance(Rop(v**2, [v], [E]), Variable)
    assert isinstance(Rop([v**2], v, E), list)
    assert isinstance(Rop((v**2,), v, E), tuple)
    assert Rop([], v, E) == []


@pytest.mark.shows("gradient/5-nothing-connects", "gradient/5-per-output", "gradient/5-reachable")
def test_each_output_is_asked_for_its_connection() -> None:
    v, w = at.dvector("v"), at.dvector("w")
    with pytest.raises(DisconnectedInputError, match="does not depend on any wrt"):
        Rop([v**2, w**2], v, E)
    found = Rop([v**2, w**2], v, E, disconnected_outputs="ignore")
    np.testing.assert_array_equal(found[1].eval({w: np.ones(2)}), [0, 0])
    assert Rop([w], v, E, disconnected_outputs="ignore", return_disconnected="none") == [None]
    with pytest.warns(UserWarning, match="does not depend"):
        Rop(w, v, E, disconnected_outputs="warn")
    with pytest.raises(DisconnectedInputError):
        Rop(at.zeros_like(v), v, E)


@pytest.mark.shows("gradient/5-length", "gradient/5-rank", "gradient/2-disconnected-inputs")
def test_entry_is_checked() -> None:
    v = at.dvector("v")
    with pytest.raises(ValueError, match=r"eval_points\[0\]"):
        Rop(v**2, v, np.eye(3))
    with pytest.raises(ValueError, match="2 eval_points"):
        Rop(v**2, v, [E, E])
    with pytest.raises(ValueError, match="'ignore', 'warn', 'raise'"):
        Rop(v**2, v, E, disconnected_outputs="no")


def test_undefined_derivatives_are_told() -> None:
    v = at.dvector("v")
    with pytest.raises(NullTypeGradError, match="undefined"):
        Rop(undefined_grad(v) * 2, v, E)


def test_tangents_have_the_dtype_of_their_output() -> None:
    v, w = at.fvector("v"), at.dvector("w")
    assert Rop(v * 2, v, E).dtype == "float32"
    assert Rop(v * w, v, E).dtype == "float64"


@pytest.mark.shows("gradient/6-hvp", "gradient/6-hvp-linear", "gradient/13-hvp")
def test_hessian_vector_product() -> None:
    v, w = at.dvector("v"), at.dvector("w")
    np.testing.assert_array_equal(hessian_vector_product(at.sum(v**3), v, np.ones(3)).eval({v: E}), [6, 12, 18])
    np.testing.assert_array_equal(hessian_vector_product(at.sum(2 * v), v, np.ones(3)).eval({v: E}), [0, 0, 0])
    first, second = hessian_vector_product(at.sum(v**2 * w), [v, w], [np.ones(3), np.zeros(3)])
    np.testing.assert_array_equal(first.eval({v: E, w: E}), 2 * E)
    np.testing.assert_array_equal(second.eval({v: E, w: E}), 2 * E)
    with pytest.raises(ValueError, match="2 directions"):
        hessian_vector_product(at.sum(v**3), v, [E, E])

"""A graph for many samples at once: what is refused, what is shared, several new axes."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import aotensor.tensor as at
from aotensor.errors import UnsupportedError
from aotensor.graph.op import Op
from aotensor.graph.vectorize import batch


def _ops(base: type[Op] = Op) -> list[type[Op]]:
    """All op classes for programs that can be made; the driver has one for measuring."""
    below = [op for one in base.__subclasses__() for op in _ops(one)]
    is_known = base.__module__.startswith(("aotensor.ops.", "aotensor.gradient."))
    own = [base] if is_known and not inspect.isabstract(base) else []
    return own + below


def test_every_op_has_a_rule() -> None:
    assert [op.__name__ for op in _ops() if op.batch is Op.batch and op.expand is Op.expand] == []
    assert len(_ops()) > 30


def test_batch_checks_its_samples() -> None:
    v, column = at.dvector("v"), at.dcol("column")
    with pytest.raises(ValueError, match="0 new axes instead of one"):
        batch([v * 2], {v: at.dvector("w")})
    with pytest.raises(ValueError, match="must keep its extent of 1"):
        batch([column * 2], {column: at.dtensor3("t")})
    n = at.iscalar("n")
    with pytest.raises(UnsupportedError, match="from sample to sample"):
        batch([at.zeros((n, 2))], {n: at.ivector("many")})
    with pytest.raises(UnsupportedError, match="from sample to sample"):
        batch([v[:n]], {n: at.ivector("many")})
    with pytest.raises(UnsupportedError, match="differs from sample to sample"):
        batch([v[v > 0]], {v: at.dmatrix("m")})
    same, doubled = batch([v.shape, v * 2], {v: at.dmatrix("m")})
    assert (same.ndim, doubled.ndim) == (1, 2)


@pytest.mark.shows("tensor/8-vectorize_graph")
def test_what_does_not_change_is_shared() -> None:
    v, w = at.dvector("v"), at.dvector("w")
    kept = at.exp(w)
    (total,) = batch([v + kept], {v: at.dmatrix("m")})
    assert total.owner is not None
    assert total.owner.inputs[1] is kept
    assert batch([kept], {v: at.dmatrix("m")}) == [kept]


@pytest.mark.shows("tensor/8-vectorize_graph")
def test_several_new_axes_align_at_the_right() -> None:
    v, w, s = at.dvector("v"), at.dvector("w"), at.dscalar("s")
    many, few, other = at.dtensor4("many"), at.dmatrix("few"), at.dscalar("other")
    out, same = at.vectorize_graph((at.dot(v, w) + s, w.shape), {v: many, w: few, s: other})
    rng = np.random.default_rng(3)
    values = {many: rng.normal(size=(2, 4, 5, 3)), few: rng.normal(size=(5, 3)), other: 2.0}
    np.testing.assert_allclose(out.eval(values), np.einsum("abci,ci->abc", values[many], values[few]) + 2)
    np.testing.assert_array_equal(same.eval(values), [3])
    assert at.vectorize_graph(v * 2, {v: few}).ndim == 2
    assert at.vectorize_graph([v * 2], {})[0].ndim == 1
    with pytest.raises(ValueError, match="-1 new axes"):
        at.vectorize_graph([v * 2], {v: other})

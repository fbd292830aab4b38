"""clone_replace and graph_replace: what is copied, what is shared, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at

X, Y, Z = at.dscalars("x", "y", "z")


@pytest.mark.shows("tensor/8-clone_replace")
def test_clone_replace_copies_every_node() -> None:
    kept = at.exp(Y)
    y = kept + X
    y.name = "sum"
    clone = aot.clone_replace(y, {X: Z})
    assert clone is not y
    assert (clone.name, clone.site) == ("sum", y.site)
    assert clone.owner.inputs[0] is not kept
    assert clone.owner.inputs[0].owner.inputs[0] is Y
    assert clone.eval({Y: 0.0, Z: 2.0}) == 3.0
    assert y.eval({Y: 0.0, X: 5.0}) == 6.0
    assert aot.clone_replace(y).eval({Y: 0.0, X: 5.0}) == 6.0


@pytest.mark.shows("tensor/8-clone_replace")
def test_graph_replace_shares_what_does_not_change() -> None:
    kept = at.exp(Y)
    changed = aot.graph_replace(kept + X, {X: Z})
    assert changed.owner.inputs[0] is kept
    assert aot.graph_replace(kept, None) is kept


def test_containers() -> None:
    for replace in (aot.clone_replace, aot.graph_replace):
        found = replace([X + 1, X * 2], {X: Y})
        assert [x.eval({Y: 3.0}) for x in found] == [4.0, 6.0]
        assert isinstance(replace((X,), {X: Y}), list)
        assert replace(X, [(X, Y)]) is Y


def test_intermediate_variables_and_numbers() -> None:
    u = X * 2
    assert aot.graph_replace(u + X, {u: Y}).eval({Y: 5.0, X: 1.0}) == 6.0
    assert aot.clone_replace(u + X, {u: 5}).eval({X: 1.0}) == 6.0


def test_replacements_happen_all_at_once() -> None:
    for replace in (aot.clone_replace, aot.graph_replace):
        assert replace(X - Y, {X: Y, Y: X}).eval({X: 1.0, Y: 3.0}) == 2.0
        assert replace(X * 3, {X: X + 1}).eval({X: 1.0}) == 6.0


def test_types_must_agree() -> None:
    f, v = at.fscalar("f"), at.dvector("v", shape=(3,))
    for replace in (aot.clone_replace, aot.graph_replace):
        with pytest.raises(TypeError, match="the replacement of x has another type"):
            replace(X + 1, {X: f})
        with pytest.raises(TypeError, match="extent 2 instead of 3"):
            replace(v + 1, {v: at.dvector("w", shape=(2,))})
        with pytest.raises(TypeError, match="the replacement of v: expected extent 3"):
            replace(v + 1, {v: np.zeros(2)})
        with pytest.raises(TypeError, match="symbolic variable"):
            replace(X, {"x": X})
    assert aot.clone_replace(at.exp(X), {X: f}, rebuild_strict=False).dtype == "float32"
    assert aot.clone_replace(v + 1, {v: [X, X, Y]}).static_shape == (3,)


def test_what_is_not_in_the_graph() -> None:
    with pytest.raises(ValueError, match="z is not in the graph"):
        aot.graph_replace(X + Y, {Z: X})
    assert aot.graph_replace(X + Y, {Z: X}, strict=False).eval({X: 1.0, Y: 2.0}) == 3.0
    assert aot.clone_replace(X + Y, {Z: X}).eval({X: 1.0, Y: 2.0}) == 3.0
    both = at.max_and_argmax(at.dvector("v"), axis=0)
    assert aot.graph_replace(both[0] + 1, {both[0]: X}).eval({X: 1.0}) == 2.0

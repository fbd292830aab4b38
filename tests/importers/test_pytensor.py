"""What the doors keep of a program: names, shapes, lines, state, draws, checks; and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

pytensor = pytest.importorskip("pytensor", reason="no PyTensor: pip install 'aotensor[pytensor]'")

import pytensor.sparse as ps  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from pytensor.compile.builders import OpFromGraph  # noqa: E402
from pytensor.compile.mode import Mode  # noqa: E402
from pytensor.graph.basic import Apply  # noqa: E402
from pytensor.graph.op import Op  # noqa: E402
from pytensor.raise_op import Assert  # noqa: E402
from pytensor.tensor.random.basic import ChoiceWithoutReplacement, PermutationRV  # noqa: E402

import aotensor as aot  # noqa: E402
from aotensor.errors import GraphTypeError, MissingInputError  # noqa: E402
from aotensor.importers.pytensor import NoCounterpart, from_pytensor, function  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
MODE = "AOTENSOR"


def test_names_shapes_and_lines_are_kept() -> None:
    x, y = pt.tensor("x", shape=(3, None)), pt.vector("y")
    z = pt.exp(x).sum(axis=0) + y
    z.name = "z"
    (ours, second), out = from_pytensor([x, y], {"z": z})
    assert (ours.name, ours.static_shape, second.name) == ("x", (3, None), "y")
    assert out["z"].name == "z" and str(out["z"].site).startswith("test_pytensor.py:")


def test_shared_variables_are_carried_from_call_to_call() -> None:
    x, total = pt.scalar("x"), pytensor.shared(1.0, name="total")
    f = function([x], total * 2, updates={total: total + x}, givens={})
    assert [float(f(3.0)), float(f(3.0))] == [2.0, 8.0]
    assert float(total.get_value()) == 1.0
    mode = pytensor.function([x], total * 2, updates={total: total + x}, mode=MODE)
    assert [float(mode(3.0)), float(mode(3.0)), float(total.get_value())] == [2.0, 8.0, 7.0]
    y = pt.scalar("y")
    assert float(function([y], x**2, givens={x: y + 1})(2.0)) == 9.0


def test_inner_graphs_and_checks() -> None:
    x = pt.vector("x")
    inner = OpFromGraph([x], [pt.exp(x) + 1])
    checked = Assert("must be positive")(inner(x) - 1, (x > 0).all())
    f = pytensor.function([x], checked, mode=MODE)
    assert np.allclose(f([1.0, 2.0]), np.exp([1.0, 2.0]))
    with pytest.raises(AssertionError, match="must be positive"):
        f([1.0, -2.0])
    with pytest.raises(ValueError, match="must be positive"):
        function([x], checked)([-1.0])


def test_draws_have_the_distributions_of_their_parameters() -> None:
    """Quartiles beside those of PyTensor's own draws."""
    rng, random = pytensor.shared(np.random.default_rng(3), name="rng"), pt.random
    size: dict[str, Any] = {"size": (4000,), "rng": rng}
    draws = {
        "normal": random.normal(1.0, 2.0, **size),
        "gamma": random.gamma(2.0, scale=3.0, **size),
        "halfcauchy": random.halfcauchy(0.0, 1.0, **size),
        "pareto": random.pareto(5.0, 2.0, **size),
        "gengamma": random.gengamma(2.0, 3.0, 1.5, **size),
        "betabinom": random.betabinom(10, 2.0, 3.0, **size),
        "triangular": random.triangular(0.0, 1.0, 3.0, **size),
        "categorical": random.categorical(np.array([0.2, 0.5, 0.3]), **size),
        "mvn": random.multivariate_normal(np.array([1.0, 2.0]), np.array([[2.0, 0.5], [0.5, 1.0]]), **size),
        "rows": random.normal(np.zeros((4000, 1)), np.array([1.0, 2.0]), rng=rng),
    }
    found = function([], list(draws.values()))()
    expected = pytensor.function([], list(draws.values()), mode=Mode("py", None))()
    for name, ours, theirs in zip(draws, found, expected, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), name
        quartiles = [np.quantile(x, [0.25, 0.5, 0.75], axis=0) for x in (ours, theirs)]
        assert np.all(np.abs(quartiles[0] - quartiles[1]) < 0.15 * (np.abs(quartiles[1]) + 0.3 * theirs.std())), name


def test_choices_without_replacement() -> None:
    """Frequencies of ordered pairs beside those of drawing one after the other, in a batch of many."""
    rng, many = pytensor.shared(np.random.default_rng(5), name="rng"), 6000
    pairs = ChoiceWithoutReplacement(signature="(a0),(a0),(1)->(s0)", dtype="int64")
    plain = ChoiceWithoutReplacement(signature="(),(2)->(s0,s1)", dtype="int64")
    p = np.array([0.5, 0.3, 0.2, 0.0])
    outputs = [pairs(np.arange(4), p, [2], size=(many,), rng=rng), plain(3, [1, 2], size=(many,), rng=rng)]
    weighted, even = function([], outputs)()
    assert weighted.shape == (many, 2) and even.shape == (many, 1, 2)
    for drawn, weights in ((weighted, p), (even[:, 0], np.full(4, 1 / 3) * (np.arange(4) < 3))):
        chances = weights[:, None] * weights / (1 - weights[:, None]) * (1 - np.eye(4))
        counts = np.bincount(drawn[:, 0] * 4 + drawn[:, 1], minlength=16).reshape(4, 4)
        assert np.all(np.abs(counts - many * chances) <= 5 * np.sqrt(many * chances))


def test_rows_without_replacement_in_batches() -> None:
    """Each sample has rows of its own, and of those no row twice; in the mode, too."""
    rng, a, n = pytensor.shared(np.random.default_rng(6), name="rng"), pt.tensor3("a", dtype="int64"), pt.lscalar("n")
    p = np.array([[0.0, 0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.5, 0.5, 0.0]])
    weighted = ChoiceWithoutReplacement(signature="(a0,a1),(a0),(1)->(s0,a1)", dtype="int64")
    mixed = PermutationRV(signature="(x0,x1)->(x0,x1)", dtype="int64")
    scalar = ChoiceWithoutReplacement(signature="(),(a),(1)->(s0)", dtype="int64")
    outputs = [
        weighted(a, p, [n], rng=rng), mixed(a, rng=rng), mixed(a, size=(3, 2), rng=rng), scalar(5, p, [4], rng=rng),
        pt.random.choice(a[0], size=(n, 1), replace=False, rng=rng),
    ]  # fmt: skip
    value = np.arange(20).reshape(2, 5, 2)
    for f in (function([a, n], outputs), pytensor.function([a, n], outputs, mode=MODE)):
        chosen, all_rows, many, numbers, plain = f(value, 4)
        assert chosen.shape == (2, 4, 2) and many.shape == (3, 2, 5, 2) and plain.shape == (4, 1, 2)
        for k in range(2):
            assert sorted(chosen[k].tolist()) == value[k][p[k] > 0].tolist()
            assert sorted(numbers[k]) == np.flatnonzero(p[k]).tolist()
            for drawn in (all_rows[k], *many[:, k]):
                assert sorted(drawn.tolist()) == value[k].tolist()
        assert len({tuple(row) for row in plain[:, 0].tolist()}) == 4
        assert len({x.tobytes() for x in many[:, 0]}) > 1
        with pytest.raises(ValueError, match="fewer rows have a weight above 0"):
            f(value, 5)
        with pytest.raises(ValueError):
            f(value, 6)
    ragged = scalar(np.array([4, 5]), p, [2], rng=rng)
    with pytest.raises(NoCounterpart, match="the number of elements to permute differs"):
        function([], ragged)


def test_generators_are_carried_on() -> None:
    rng = pytensor.shared(np.random.default_rng(1), name="rng")
    following, draw = pt.random.normal(size=(1000,), rng=rng).owner.outputs
    f = pytensor.function([], draw, updates={rng: following}, mode=MODE)
    first, second = f(), f()
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1 and isinstance(rng.get_value(), np.random.Generator)
    rng.set_value(np.random.default_rng(1))
    assert np.array_equal(f(), first)


def test_sparse_matrices() -> None:
    a, d = ps.csr_matrix("a", dtype="float64"), pt.matrix("d")
    outputs = {
        "dot": ps.structured_dot(a, d),
        "transposed": ps.dense_from_sparse(a.T),
        "sum": ps.sp_sum(a, axis=0),
        "rows": ps.dense_from_sparse(a[1:3]),
        "true dot": ps.true_dot(a, a.T),
        "exp": ps.structured_exp(a),
        "gradient": ps.dense_from_sparse(pytensor.grad((ps.structured_dot(a, d) ** 2).sum(), a)),
    }
    arguments = scipy.sparse.random(5, 4, 0.5, "csr", rng=1), np.random.default_rng(1).normal(size=(4, 3))
    found = function([a, d], list(outputs.values()))(*arguments)
    for name, ours, theirs in zip(
        outputs,
        found,
        pytensor.function([a, d], list(outputs.values()), mode=Mode("py", None))(*arguments),
        strict=True,
    ):
        if scipy.sparse.issparse(theirs):
            assert ours.format == theirs.format
            ours, theirs = ours.toarray(), theirs.toarray()
        assert np.allclose(ours, theirs, rtol=1e-12), name


class Mine(Op):  # type: ignore[misc]
    """An op that nobody else knows."""

    def make_node(self, x: Any) -> Any:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = inputs[0]


class Others(Mine):
    """Another one."""


def test_all_ops_without_counterpart_are_told_with_their_places() -> None:
    x = pt.vector("x")
    with pytest.raises(NoCounterpart) as caught:
        from_pytensor([x], [Mine()(x) + Mine()(x * 2), Others()(x)])
    names = [item.name for item in caught.value.operations]
    assert names == ["Mine", "Others"]
    assert "PyTensor: 2 operations have no counterpart" in str(caught.value)
    assert "Mine   made at test_pytensor.py:" in str(caught.value) and "(2 times)" in str(caught.value)


def test_wrong_arguments() -> None:
    x, s = pt.vector("x"), pytensor.shared(1.0)
    with pytest.raises(GraphTypeError, match="variable of PyTensor"):
        from_pytensor([3.0], x)
    with pytest.raises(GraphTypeError, match="must not be listed as an input"):
        from_pytensor([s], s)
    with pytest.raises(MissingInputError):
        function([], x + 1)


@pytest.mark.parametrize(
    ("build", "value", "slope"),
    [
        (lambda x: pt.log(pt.sum(pt.exp(x))), 1000, [1, 0, 0]),
        (lambda x: pt.log(pt.special.softmax(x))[1], -3000, [-1, 1, 0]),
        (lambda x: (pt.exp(x) / pt.exp(x).sum())[0], 1, [0, 0, 0]),
        (lambda x: pt.log(pt.erfc(x[2])), -903.9741171106438, [0, 0, -60.03329639875625]),
    ],
)
def test_what_pytensor_stabilises_is_stable(build: Any, value: float, slope: list[float]) -> None:
    """Derivatives too, which PyTensor takes of the formula as it is written."""
    x = pt.vector("x")
    (ours,), y = from_pytensor([x], build(x))
    f = aot.function([ours], [y, aot.grad(y, ours)])
    for found in (f([1000.0, -2000.0, 30.0]), f.reference([1000.0, -2000.0, 30.0])):
        np.testing.assert_allclose(found[0], value, rtol=1e-13)
        np.testing.assert_allclose(found[1], slope, rtol=1e-13)

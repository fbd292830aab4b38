"""What the compiler makes of loops and branches before the import: how many there are, and what is left in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.driver.prepare import prepare
from aotensor.gradient import Rop
from aotensor.graph.op import Apply
from aotensor.graph.subgraph import all_nodes
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all, toposort
from aotensor.ops.contract import Contract
from aotensor.ops.scan.branch import Branch
from aotensor.ops.scan.op import Scan
from aotensor.ops.scan.rewrite import merge

RNG = np.random.default_rng(0)
x, h, w, u = at.tensor3("x"), at.matrix("h"), at.matrix("w"), at.matrix("u")
VALUES = {
    x: RNG.normal(size=(4, 2, 3)), h: RNG.normal(size=(2, 3)), w: RNG.normal(size=(3, 3)), u: RNG.normal(size=(3, 3)),
}  # fmt: skip


def net() -> Variable:
    """The states of a recurrent net over a batch."""
    states: Variable = aot.scan(lambda row, old: at.tanh(row @ u + old @ w), x, h, return_updates=False)
    return states


def prepared(outputs: Sequence[Variable], values: Mapping[Variable, Array] = VALUES) -> list[Variable]:
    """The outputs as they are compiled, which must have the same values."""
    found = prepare(outputs, list(values))
    for one, other in zip(evaluate_all(outputs, values), evaluate_all(found, values), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-12)
    return found


def loops(outputs: Sequence[Variable]) -> list[Apply]:
    """The loops of a graph, in order."""
    return [node for node in toposort(outputs) if isinstance(node.op, Scan)]


def products(node: Apply) -> int:
    """The contractions in the body of a loop."""
    assert isinstance(node.op, Scan)
    return sum(isinstance(one.op, Contract) for one in node.op.body.nodes)


def test_a_loss_and_its_gradients_are_two_loops() -> None:
    """However often they are asked for; the products with weights are outside, but for that with the state."""
    loss = at.sqr(net()).sum()
    found = loops(prepared([loss, aot.grad(loss, w), *aot.grad(loss, [u, h, x])]))
    assert [node.op.is_reversed for node in found] == [False, True]  # type: ignore[attr-defined]
    assert [products(node) for node in found] == [1, 1]


def test_a_tangent_is_in_the_same_loop() -> None:
    states = net()
    assert len(loops(prepared([states, Rop(states, w, VALUES[w])]))) == 1


def test_a_hessian_vector_product_is_two_loops() -> None:
    loss = at.sqr(net()).sum()
    derivatives = aot.grad(loss, [w, u])
    assert len(loops(prepared([loss, *derivatives, *Rop(derivatives, [w, u], [VALUES[w], VALUES[u]])]))) == 2


def test_only_the_last_state_is_kept() -> None:
    (node,) = loops(prepared([net()[-1]]))
    assert node.op.is_stacked == (False,)  # type: ignore[attr-defined]
    (node,) = loops(prepared([net()[-1, 0], net().sum()]))
    assert node.op.is_stacked == (True,)  # type: ignore[attr-defined]


def test_a_map_is_no_loop() -> None:
    y = aot.map(lambda row: at.tanh(row @ u).sum(axis=0), x, return_updates=False)
    assert loops(prepared([y, aot.grad(y.sum(), u)])) == []


def test_a_sum_of_products_is_one_product() -> None:
    """Without an array of all of them: (rows of) outer products, and sums over rows beside them."""
    y = at.matrix("y")
    values = {y: RNG.normal(size=(5, 3))}
    for step in (lambda row, old: old + at.outer(row, row), lambda row, old: old + at.outer(row, row).T * 1.0):
        total = aot.reduce(step, y, at.zeros((3, 3)), return_updates=False)
        (found,) = prepared([total], values)
        assert all(one.ndim <= 2 for node in toposort([found]) for one in node.outputs) or loops([found])
    batch = aot.reduce(lambda row, old: old + row.T @ row, x, at.zeros((3, 3)), return_updates=False)
    (found,) = prepared([batch])
    assert loops([found]) == []
    assert [node.op.name for node in toposort([found])].count("dot") == 1


def test_what_nobody_reads_is_gone() -> None:
    first, second = aot.scan(lambda row, a, b: [a + row, at.exp(b)], x, [h, h], return_updates=False)
    (node,) = loops(prepared([first]))
    assert len(node.op.taps) == 1  # type: ignore[attr-defined]
    assert len(loops(prepared([first, second]))) == 1


def test_states_that_start_alike_are_told_apart() -> None:
    """Equal as long as their steps are equal: the third is the first under another name."""

    def step(a: Variable, b: Variable, c: Variable) -> list[Variable]:
        return [at.sin(a), at.cos(b), at.sin(c)]

    found = aot.scan(step, None, [h, h, h], n_steps=3, return_updates=False)
    again = aot.scan(lambda a: at.sin(a), None, h, n_steps=3, return_updates=False)
    (node,) = loops(prepared([*found, again]))
    assert len(node.op.taps) == 2  # type: ignore[attr-defined]


def test_loops_that_stop_by_themselves_are_merged_if_they_stop_alike() -> None:
    def growing(limit: float) -> Variable:
        found: Variable = aot.scan(
            lambda a: (a * 2, aot.until(a.sum() > limit)), None, h, n_steps=9, return_updates=False
        )
        return found

    values = {h: np.abs(VALUES[h])}
    assert len(loops(prepared([growing(50.0), growing(50.0).sum()], values))) == 1
    assert len(loops(prepared([growing(50.0), growing(500.0)], values))) == 2
    cost = growing(50.0).sum()
    assert len(loops(prepared([cost, aot.grad(cost, h)], values))) == 2


def test_checkpoints_keep_the_work_inside() -> None:
    """The outer loops stack states alone; what the inner ones stack lives for one of its steps."""
    last = aot.scan_checkpoints(
        lambda row, old: at.tanh(row @ u + old @ w), x, h, save_every_N=2, return_updates=False
    )[-1]
    found = loops(prepared([aot.grad(last.sum(), w)]))
    assert [node.op.mapped for node in found] == [1, 0]  # type: ignore[attr-defined]
    assert sum(isinstance(node.op, Scan) for node in all_nodes([found[-1].outputs[0]])) == 5


def test_many_loops_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One walk tells which loops depend on each other, and not one for each pair."""
    walks = 0

    def counted(outputs: Sequence[Variable], stop: Collection[Variable] = ()) -> list[Apply]:
        nonlocal walks
        walks += 1
        return toposort(outputs, stop)

    monkeypatch.setattr(merge, "toposort", counted)
    y = h[0]
    for k in range(12):
        y = aot.scan(lambda s, k=k: at.sin(s) * k, outputs_info=y, n_steps=3, return_updates=False)[-1]
    assert len(loops(prepared([y.sum(), aot.grad(y.sum(), h)]))) == 24
    assert 0 < walks < 60  # of the graph before and after rewrites, and of each body


def test_steps_of_many_rows_run_on_several_cores() -> None:
    """Rows of unknown number: few are in chunks, each of which runs all steps; of many each step is in chunks."""
    rows, start = at.matrix("rows"), at.vector("start")
    states = aot.scan(lambda row, old: at.tanh(old) + row, rows, start, return_updates=False)
    text = aot.function([rows, start], states).ir("loops")
    kernel = text[text.index(".kernel(") : text.index("func.func private")]
    assert len(re.findall(r"(math|call @aot)\.tanh", text)) == 2
    assert len(re.findall(r"^ {6}scf\.parallel", kernel, re.MULTILINE)) == 1
    assert re.search(r"^ {6}scf\.for .*\n(^ {8}.*\n)*^ {8}scf\.parallel", kernel, re.MULTILINE)


def test_what_one_branch_needs_goes_into_it() -> None:
    c = at.scalar("c")
    shared = at.exp(h)
    result = aot.ifelse(c > 0, net()[-1] + shared, at.cos(shared) @ w)
    (found,) = prepared([result], VALUES | {c: np.float64(1)})
    node = next(node for node in toposort([found]) if isinstance(node.op, Branch))
    assert loops([found]) == []
    assert any(isinstance(one.op, Scan) for one in node.op.then.nodes)  # type: ignore[attr-defined]
    assert [one.op.name for one in node.op.otherwise.nodes] == ["cos", "dot"]  # type: ignore[attr-defined]
    assert [one.op.name for one in toposort([found])] == ["gt", "exp", "branch"]


def test_branches_share_no_views_of_constants() -> None:
    """A choice and its gradient read a constant matrix in place: the first hands the second no copy of a view of it."""
    c, weights = at.scalar("c"), at.constant(np.arange(15.0).reshape(3, 5) / 15)
    products = h.dimshuffle(0, 1, "x") * weights.dimshuffle("x", 0, 1)
    loss = at.ifelse(c > 0, at.tanh(products).sum(), at.sin(h).sum())
    for sign in (1.0, -1.0):
        found = prepared([loss, aot.grad(loss, h)], VALUES | {c: np.float64(sign)})
        branches = [node for node in toposort(found) if isinstance(node.op, Branch)]
        assert len(branches) == 2
        assert not [x for node in branches for x in (*node.inputs, *node.outputs) if x.tensor_type.shape == (1, 3, 5)]


def test_a_long_step_is_no_danger() -> None:
    """A thousand ops in the body: differentiated and prepared without recursion, in time linear in their number."""

    def step(row: Variable, old: Variable) -> Variable:
        for k in range(500):
            old = at.tanh(old + row) if k % 2 else old * row
        return old

    y = aot.scan(step, x, h, return_updates=False)
    assert len(loops(prepare([y, *aot.grad(y.sum(), [x, h])], [x, h]))) == 2


def test_the_last_row_of_no_steps_is_an_error() -> None:
    """A loop of which only the last row is read keeps no others, and still refuses to take no step."""
    x, h = at.vector("x"), at.scalar("h")
    states = aot.scan(lambda row, state: row * state + 1, sequences=x, outputs_info=h, return_updates=False)
    f = aot.function([x, h], states[-1], name="last")
    for run in (f, f.reference):
        assert run(np.arange(3.0), 1.0) == 5.0
        with pytest.raises(IndexError):
            run(np.zeros(0), 1.0)

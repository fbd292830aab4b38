"""Every pass says what it has done, and nothing when it is switched off; and why it has not done what it looks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from optimisation_programs import (
    eigenvalues,
    function,
    matrix,
    of_matrix,
    of_sparse,
    of_vector,
    product,
    scattered,
    small_product,
    vectors,
)
from optimisations import BY_PASS, LOWERINGS
from switches import OPTIONS

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.prepare import GRAPH_RECIPE
from aotensor.driver.recipe import Options, lower
from aotensor.graph.passes.remarks import Remark, listener
from aotensor.graph.passes.steps import BY_NAME
from aotensor.graph.passes.topics import TOPICS, topic_of
from aotensor.ir.build import Program, build
from aotensor.ops.reduce.recurrence import LinearRecurrence
from aotensor.passes.nest.fuse import fuse
from aotensor.passes.nest.lower_to_nest import lower_to_nest
from aotensor.passes.pipeline import LOOP_RECIPE, NEST_RECIPE, TENSOR_RECIPE
from aotensor.passes.target import Target

PASSES = {step.name for step in (*GRAPH_RECIPE, *TENSOR_RECIPE, *NEST_RECIPE, *LOOP_RECIPE)}


def remarks(f: aot.Function, options: Options = OPTIONS) -> list[Remark]:
    return lower([f], options, texts=()).remarks


def test_every_pass_has_a_topic() -> None:
    listed = [name for names in TOPICS.values() for name in names]
    assert len(listed) == len(set(listed)) and {"build", *BY_NAME} <= set(listed)
    assert topic_of("fuse") == "loops" and topic_of("of-another-version") == "other"


def test_a_hint_says_what_would_allow_it() -> None:
    """And what it says is true."""
    (x,) = vectors("x")
    sized = remarks(function([x], at.sort(at.exp(x[x > 0]))[:1]))
    found = next(r for r in sized if r.pass_name == "plan-memory" and r.kind == "missed")
    assert "where(mask, x, 0)" in found.hint and found.hint in str(found)
    other = remarks(function([x], at.sort(at.exp(at.where(x > 0, x, 0)))[:1]))
    assert not [r for r in other if r.pass_name == "plan-memory" and r.kind == "missed"]


def test_hints_are_for_what_was_not_done() -> None:
    for make, _ in MISSED.values():
        for r in remarks(make()):
            assert not re.search(r"[{}]", r.message) and (r.kind == "missed" or not r.hint)


def test_vectors_have_a_number_of_lanes() -> None:
    (x,) = vectors("x")
    for bits, lanes in ((512, 8), (256, 4)):
        options = replace(OPTIONS, facts=Target(register_bits=bits))
        found = remarks(function([x], x * 2.0 + 1.0), options)
        assert any(f"width: {lanes}" in r.message for r in found if r.pass_name == "vectorizer-hints")


def test_products_say_from_where_on_blas_has_them() -> None:
    found = [r.message for r in remarks(product(), replace(OPTIONS, facts=Target(blas_work=100**3)))]
    assert any("calls the caller's BLAS, if there is one, from 100**3 multiply-adds on" in text for text in found)


def test_every_pass_is_here() -> None:
    assert PASSES - set(BY_PASS) <= set(LOWERINGS)


@pytest.mark.parametrize("name", BY_PASS)
def test_a_pass_says_what_it_does(name: str) -> None:
    row = BY_PASS[name]
    found = [x for x in remarks(row.program(), row.options) if x.pass_name == name and x.kind == "applied"]
    assert found
    for x in found:
        assert x.function == "f" and x.line > 0 and x.file.startswith(("optimisation", "switches")), x
        assert x.value and "dimshuffle" not in x.message and "{" not in x.message
    assert [x for x in remarks(row.program(), row.switch.options(row.options)) if x.pass_name == name] == []


def two_loops() -> aot.Function:
    (x, y), h = vectors("xy"), at.dscalar("h")
    return function([x, y, h], *(aot.scan(lambda row, old: old * row, z, h, return_updates=False) for z in (x, y)))


def needed_twice() -> aot.Function:
    (x,) = vectors("x")
    y = at.tanh(x)
    return function([x], y / y.sum(), y)


def sized_by_values() -> aot.Function:
    (x,) = vectors("x")
    y = x[x > 0]
    return function([x], at.sort(at.exp(y))[:1] + y.sum())


def few_of_short_rows() -> aot.Function:
    x = matrix("x", 4, 40)
    return function([x], at.topk(x, 5))


MISSED: dict[str, tuple[Callable[[], aot.Function], str]] = {
    "fuse": (of_vector(lambda x: x / x.sum()), "complete only after that loop"),
    "scalar-replacement": (of_matrix(lambda x: at.exp(x) / at.exp(x).sum(axis=0)), "reads it in another loop"),
    "lower-to-nest": (small_product, "faster at this static size"),
    "merge-loops": (two_loops, "not merged"),
    "unroll-and-jam": (of_matrix(lambda x: at.exp(x).sum(axis=1)), "its iterations share no operand"),
    "coalesce": (of_matrix(lambda x: at.exp(x.T)), "is not contiguous along them"),
    "assign-memory": (needed_twice, "a later operation reads that"),
    "vectorize-rows": (of_sparse(lambda A, D, v, E, s, B: A @ at.cast(v, "float32")), "not a sum of products"),
    "tile-columns": (of_sparse(lambda A, D, v, E, s, B: A @ at.cast(E, "float32")), "dtypes differ"),
    "mark-independent": (scattered, "`A.T @ D` may write one element in two"),
    "select-by-blocks": (few_of_short_rows, "5 of 40 elements are too many"),
    "vectorizer-hints": (scattered, "other than reassociable sums"),
    "plan-memory": (sized_by_values, "its size is data-dependent"),
}
"""Pass → a program that it refuses, and what it says."""


@pytest.mark.parametrize("name", MISSED)
def test_a_pass_says_why_not(name: str) -> None:
    make, reason = MISSED[name]
    found = [x for x in remarks(make()) if x.pass_name == name and x.kind == "missed"]
    assert any(reason in x.message for x in found), found
    assert all(x.line > 0 for x in found)


def test_sizes_are_formulas_of_dims() -> None:
    (x,) = [at.matrix("x", dtype="float64", shape=("n", "p"))]
    found = remarks(function([x], at.exp(x).sum(axis=1)))
    (register,) = (x for x in found if x.pass_name == "scalar-replacement" and "exp" in x.value)
    assert register.bytes == "8*n*p"
    (merged,) = (x for x in remarks(function([x], at.exp(x.T) * 2.0)) if x.pass_name == "fuse-elementwise")
    assert merged.bytes == "8*n*p"
    (call,) = (x for x in remarks(product()) if x.pass_name == "lower-to-nest")
    assert call.flops == "2*k*m*n"


def test_decisions_alike_at_one_line_are_one_remark() -> None:
    (x,) = vectors("x")
    y = x
    for _ in range(20):
        y = at.sin(y) * 2.0
    found = [x for x in remarks(function([x], y.sum())) if x.pass_name == "fuse-elementwise"]
    assert len(found) < 4 and sum(x.count for x in found) == 39


def test_a_remark_names_two_lines() -> None:
    (x,) = vectors("x")
    y = at.exp(x)
    s = y.sum()
    (found,) = (r for r in remarks(function([x], s, y)) if r.pass_name == "fuse")
    assert found.message.startswith("fused `sum(exp(x))` into the loop of `exp(x)` (test_remarks.py:")
    assert found.bytes == "8*n"


def test_a_recurrence_that_extents_need_is_computed_once() -> None:
    a, c = vectors("ac")
    y = LinearRecurrence(0)(a, c)
    found = [x for x in remarks(function([a, c], y[y > 0])) if x.pass_name == "reuse-shape-results"]
    assert [x.kind for x in found] == ["applied"]


def test_passes_run_without_a_listener() -> None:
    x = at.dvector("x")
    module, _ = build([Program("f", (("x", x),), (("y", at.exp(x).sum()),))])
    assert listener() is None
    lower_to_nest(module)
    fuse(module)


def test_kernels_of_others_are_named() -> None:
    (found,) = (x for x in remarks(eigenvalues()) if x.kind == "analysis")
    assert found.pass_name == "emit-loops" and found.message.endswith("calls LAPACK: eigvalsh")
    assert found.value == "eigh(x)"


def test_what_leaves_a_loop_is_named() -> None:
    x, h = at.matrix("x", dtype="float64", shape=("t", "k")), at.vector("h", dtype="float64", shape=("m",))
    U, W = at.matrix("U", dtype="float64", shape=("k", "m")), at.matrix("W", dtype="float64", shape=("m", "m"))
    states = aot.scan(
        lambda row, old, U, W: at.tanh(row @ U + old @ W), x, h, non_sequences=[U, W], return_updates=False
    )
    found = remarks(function([x, h, U, W], states))
    (moved,) = (r for r in found if r.pass_name == "licm" and r.kind == "applied")
    assert "hoisted `x[t] @ U` out of the loop" in moved.message
    assert not any("<" in r.message or "d0" in r.bytes for r in found)

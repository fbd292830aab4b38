"""Verification finds what is wrong: wrong derivatives, wrong values, damaged vectors; and lets pass what is right."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.graph.subgraph import TooLongError
from aotensor.sampling import samples as sampling
from aotensor.sampling.samples import Sampler, reference_values
from aotensor.verification import answers as answering
from aotensor.verification import values as checked_values
from aotensor.verification.answers import Answers
from aotensor.verification.derivatives.check import GradientChecks
from aotensor.verification.limits import Limits
from aotensor.verification.report import CheckFailed, CheckSkipped, Report


def test_samples_cover_shapes_and_layouts() -> None:
    X, w = at.matrix("X", shape=("n", "p")), at.vector("w", shape=("p",))
    samples = list(Sampler(aot.function([X, w], X @ w), seed=3).samples(30))
    shapes = [sample.arrays["X"].shape for sample in samples]
    assert all(sample.arrays["w"].shape == shape[1:] for sample, shape in zip(samples, shapes, strict=True))
    assert shapes[:3] == [(3, 5), (1, 1), (0, 0)]
    assert any(0 in shape and shape != (0, 0) for shape in shapes)
    larger = [sample.arrays["X"] for sample in samples if min(sample.arrays["X"].shape) > 1]
    assert any(x.flags.c_contiguous for x in larger)
    assert any(x.flags.f_contiguous for x in larger)
    assert any(min(x.strides) < 0 for x in larger)
    assert any(not x.flags.forc and min(x.strides) > 8 for x in larger)
    assert any(np.isnan(x).any() for x in larger)


def test_samples_repeat_for_the_same_seed() -> None:
    x = at.matrix("x")
    f = aot.function([x], x + 1)
    first, second = ([s.arrays["x"] for s in Sampler(f, seed=5).samples(6)] for _ in range(2))
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second, strict=True))


def test_extents_that_only_the_state_allows_are_found() -> None:
    """A data matrix with unknown dims must fit 5 × 3 weights: extents are looked for until the reference accepts."""
    x = at.matrix("x", dtype="float64")
    W = aot.shared(np.ones((5, 3)), name="W")
    f = aot.function([x], at.dot(x, W) + np.ones(3), name="layer")
    shapes = [sample.arrays["x"].shape for sample in Sampler(f).samples(8)]
    assert [shape[1] for shape in shapes] == [5] * 8
    assert len({shape[0] for shape in shapes}) > 3


def test_the_search_for_factorisations_ends_long_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether matrices must be positive definite is not found out by all steps of a long loop."""
    A, seen = at.matrix("A", shape=(2, 2)), []
    states, _ = at.scan(lambda s, A: at.solve(A, s), outputs_info=np.ones(2), non_sequences=A, n_steps=20_000)

    def watched(*given: Any) -> Any:
        try:
            return reference_values(*given)
        except Exception as error:
            seen.append(type(error))
            raise

    f = aot.function([A], states[-1], name="steps")
    monkeypatch.setattr(sampling, "reference_values", watched)
    Sampler(f)
    assert seen == [TooLongError]


def test_reference_values_leave_the_state_alone() -> None:
    count = aot.shared(np.float64(1), name="count")
    f = aot.function([], count, updates={count: count + 1}, name="step")
    assert [float(x) for x in reference_values(f, {"count": np.asarray(5.0)})] == [5, 6]
    assert count.get_value() == 1


def test_wrong_values_and_refusals_are_told() -> None:
    x = at.vector("x", dtype="float64")
    f = aot.function([x], x + 1, name="f")
    answers = Answers(f, 5, 0, Limits())
    right = checked_values.compare_on_samples(answers, lambda arrays: [arrays["x"] + 1], None)
    assert right == "5 samples agree"
    with pytest.raises(CheckFailed, match=r"sample 0 \(small, normal\): out: .* instead of .* at \[0\], 3 of 3"):
        checked_values.compare_on_samples(answers, lambda arrays: [arrays["x"] + 1.001], None)
    with pytest.raises(CheckFailed, match=r"float32\[3\] instead of float64\[3\]"):
        checked_values.compare_on_samples(answers, lambda arrays: [(arrays["x"] + 1).astype("float32")], None)

    def refuse(_: object) -> list[Any]:
        raise ValueError("too long")

    with pytest.raises(CheckFailed, match="only the compiled code refuses: too long"):
        checked_values.compare_on_samples(answers, refuse, None)


def test_ill_conditioned_values_get_more_room() -> None:
    """sin(1e6·x) off by what a few ulp of x change: right by condition, wrong by a stated tolerance."""
    x = at.vector("x", dtype="float64")
    f = aot.function([x], at.sin(x * 1e6), name="f")

    def shifted(arrays: dict[str, Any]) -> list[Any]:
        with np.errstate(invalid="ignore"):
            return [np.sin(arrays["x"] * 1e6 * (1 + 4e-16))]

    answers = Answers(f, 4, 0, Limits())
    checked_values.compare_on_samples(answers, shifted, None)
    with pytest.raises(CheckFailed):
        checked_values.compare_on_samples(answers, shifted, 1e-14)


def test_samples_with_long_loops_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference is evaluated once for all checks; samples without an answer are run, and not compared."""
    x, ran, evaluated = at.vector("x", dtype="float64"), [], []
    states, _ = at.scan(lambda row, old: old * 0.5 + row, x, at.constant(1.0))
    f = aot.function([x], states[-1], name="f")

    def counted(*given: Any) -> list[Any]:
        evaluated.append(given)
        return reference_values(*given)

    def half(arrays: dict[str, Any]) -> list[Any]:
        ran.append(arrays["x"].shape)
        if not arrays["x"].size:
            raise IndexError("no row")
        return reference_values(f, arrays)

    monkeypatch.setattr(answering, "reference_values", counted)
    steps = Answers(f, 4, 0, Limits(sample=12, interpreted=5))
    left_out = "left out: the loops of the reference need too many evaluations"
    assert checked_values.compare_on_samples(steps, half, None) == f"2 samples agree, 1 refused by both, 1 {left_out}"
    assert (len(ran), len(evaluated)) == (4, 4)
    assert checked_values.compare_on_samples(steps, half, None).startswith("2 samples agree")
    assert len(evaluated) == 4
    ran.clear()
    some = checked_values.compare(steps.view, half, steps, np.random.default_rng(0), None, steps.limits.interpreted)
    assert some == f"1 samples agree, 1 refused by both, 2 {left_out}" and ran == [(1,), (0,)]
    assert [x.outcome is None for x in Answers(f, 4, 0, Limits(samples=20))] == [False, False, False, True]
    with pytest.raises(CheckSkipped, match=f"0 agree, 2 {left_out}"):
        checked_values.compare_on_samples(Answers(f, 2, 0, Limits(sample=0)), half, None)


def test_a_row_says_where_ir_of_derivatives_is_not_verified() -> None:
    x = at.vector("x", dtype="float64", shape=(3,))
    states, _ = at.scan(lambda old: old * old * 0.5 + 0.1, None, x, n_steps=3)
    f = aot.function([x], states[-1], name="f")
    build = Build([f], None, Options(opt_level=0))
    for verified, note in [(100.0, ""), (9.0, r"; IR of \d\d+ operations is not verified")]:
        limits = Limits(verified=verified)
        text = GradientChecks(f, 0, limits).compile(build, Answers(f, 1, 0, limits), None)
        assert re.fullmatch(f"1 samples agree{note}", text)
        limits = Limits(sample=0, verified=verified)
        with pytest.raises(CheckSkipped, match=f"too many evaluations{note}$"):
            GradientChecks(f, 0, limits).compile(build, Answers(f, 1, 0, limits), None)


def test_report_is_falsy_when_a_check_fails() -> None:
    report = Report("f")
    assert report.run("right", lambda: "fine")

    def fail() -> str:
        raise CheckFailed("wrong")

    def skip() -> str:
        raise CheckSkipped("no compiler")

    def crash() -> str:
        raise KeyError("x")

    assert report.run("not made", skip)
    assert report
    assert not report.run("wrong", fail)
    assert not report.run("crash", crash)
    assert not report
    assert [x.verdict for x in report.checks] == ["ok", "skipped", "failed", "failed"]
    assert str(report).splitlines()[0] == "f: 1 ok, 2 failed, 1 skipped"
    assert "crash     failed   KeyError: 'x'" in str(report)
    assert report.to_json()["ok"] is False


def test_function_verifies_whole() -> None:
    X, w = at.matrix("X", shape=("n", "p")), at.vector("w", shape=("p",))
    report = aot.function([X, w], {"norm": at.sqr(X @ w).sum()}, name="norm").verify(samples=6)
    assert report, str(report)
    assert {x.verdict for x in report.checks} == {"ok"}


def test_matrices_are_definite_where_a_factorisation_is_needed() -> None:
    """Random ones are refused by reference and library alike: nothing would be compared, nor differentiated."""
    k, y = at.matrix("k", shape=("n", "n")), at.vector("y", shape=("n",))
    f = aot.function([k, y], at.linalg.solve_triangular(at.linalg.cholesky(k), y, lower=True), name="whitened")
    for sample in Sampler(f).samples(2):
        matrix = sample.arrays["k"]
        np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12)
        assert np.linalg.eigvalsh(matrix).min() > 0.5
        reference_values(f, sample.arrays)
    plain = aot.function([k, y], k @ y, name="product")
    assert not np.allclose(next(Sampler(plain).samples(1)).arrays["k"], next(Sampler(plain).samples(1)).arrays["k"].T)

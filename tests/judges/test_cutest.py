"""Problems of CUTEst, as sif2jax writes them, beside JAX's derivatives."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tools.judges.cutest import page
from tools.judges.cutest.command import verdict


@pytest.mark.needs("sif2jax")
@pytest.mark.parametrize("name", ["ROSENBR", "HS15", "BT1", "HS76", "LISWET1", "TRO3X3"])
def test_derivatives_are_jaxs(name: str) -> None:
    os.environ["JAX_ENABLE_X64"] = "1"
    from tools.judges.cutest.problems import problem_of
    from tools.judges.cutest.worker import measured

    found = measured(problem_of(name))
    assert verdict(found) == "right", found["errors"]
    assert found["ours"]["entries"] <= found["n"] * (found["n"] + 1) // 2


@pytest.mark.needs("sif2jax")
@pytest.mark.needs("asdex")
@pytest.mark.parametrize("name", ["S365", "DIAGIQB"])
def test_what_has_no_derivatives_or_is_rounding_is_left_out(name: str) -> None:
    """The start of S365 is at the end of a square root; an entry of DIAGIQB's Hessian is 0 but for rounding by JAX."""
    os.environ["JAX_ENABLE_X64"] = "1"
    from tools.judges.cutest.problems import problem_of
    from tools.judges.cutest.worker import measured

    found = measured(problem_of(name))
    assert verdict(found) == "right", found


@pytest.mark.needs("sif2jax")
def test_a_problem_that_does_not_exist() -> None:
    from tools.judges.cutest.problems import problem_of

    with pytest.raises(ValueError, match="no problem ROSENBROCK"):
        problem_of("ROSENBROCK")


@pytest.mark.needs("sif2jax")
@pytest.mark.needs("asdex")
def test_patterns_are_not_larger_than_those_of_asdex() -> None:
    """The second has products with zeros."""
    os.environ["JAX_ENABLE_X64"] = "1"
    from tools.judges.cutest import worker
    from tools.judges.cutest.problems import problem_of

    for name in ("HS15", "PALMER2ANE"):
        found = worker.measured(problem_of(name))
        assert verdict(found) == "right", found
        assert all(one["extra"] == 0 for one in found["patterns"].values()), found["patterns"]


FOUND: dict[str, Any] = {
    "name": "HS1", "n": 2, "m": 1, "errors": {"f": 0.0}, "asdex": {"asdex_compile_hessian": 1.0, "asdex_hessian": 4e-6},
    "ours": {"compile": 0.5, "call": 1e-6, "compile_hessian": 0.5, "call_hessian": 1e-6, "entries": 3},
    "theirs": {"compile": 0.25, "call": 2e-6, "compile_hessian": 1.0, "call_hessian": 2e-5},
    "patterns": {
        "hessian": {"ours": 3, "true": 3, "missing": 0, "asdex": 4, "extra": 0},
        "jacobian": {"ours": 2, "true": 1, "missing": 0, "asdex": 1, "extra": 1},
    },
}  # fmt: skip


def test_the_page_has_patterns_and_aims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "version", lambda name: "1.0")
    large = {**FOUND, "name": "BIG", "n": 5000, "theirs": {"compile": 1.0, "call": 1e-6}}
    text = page.page([("right", FOUND), ("right", large)], "two of them")
    assert "writes them in JAX: two of them.\n" in text and "2 of 2 problems are right" in text
    assert "the sparse Hessian 10 times as fast as `jax.hessian` in the median: 20.00 times, met" in text
    assert "0.50 of JAX's, met" in text
    assert "Hessians: of 2 patterns, 2 are those of the values, 2 have fewer entries than asdex's, 0 entries" in text
    assert "Jacobians: of 2 patterns, 0 are those of the values, 0 have fewer entries than asdex's, 2 entries" in text
    assert "| HS1 | 2 | 1 | 3 | 4 | 2 | 1 | 0e+00 | 0.50 | 0.25 | 1 | 2 | 0.50 | 1.00 | 1 | 20 | 4 |" in text
    assert "| BIG | 5000 | 1 | 3 | 4 | 2 | 1 | 0e+00 | 0.50 | 1.00 | 1 | 1 | 0.50 |  | 1 |  | 4 |" in text


def test_a_missing_entry_is_wrong() -> None:
    pattern = {"ours": 3, "true": 4, "missing": 1, "asdex": 4, "extra": 0}
    assert verdict({**FOUND, "patterns": {"hessian": pattern}}) == "wrong"


@pytest.mark.parametrize(("error", "expected"), [(1e-12, "right"), (1e-3, "wrong"), (float("nan"), "wrong")])
def test_verdicts(error: float, expected: str) -> None:
    assert verdict({"errors": {"f": 0.0, "hessian": error}}) == expected
    assert verdict({"failed": "no rule"}) == "failed"

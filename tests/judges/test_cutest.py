"""Problems of CUTEst, as sif2jax writes them, beside JAX's derivatives."""

from __future__ import annotations

import os

import pytest
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
def test_a_problem_that_does_not_exist() -> None:
    from tools.judges.cutest.problems import problem_of

    with pytest.raises(ValueError, match="no problem ROSENBROCK"):
        problem_of("ROSENBROCK")


@pytest.mark.parametrize(("error", "expected"), [(1e-12, "right"), (1e-3, "wrong"), (float("nan"), "wrong")])
def test_verdicts(error: float, expected: str) -> None:
    assert verdict({"errors": {"f": 0.0, "hessian": error}}) == expected
    assert verdict({"failed": "no rule"}) == "failed"

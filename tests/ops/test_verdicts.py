"""Every row of the case tables through the checks of `aotensor verify`: none is called wrong, the smooth ones right."""

from __future__ import annotations

import numpy as np
import pytest
from case import Case
from tables import DIFFERENTIABLE, over

from aotensor.core.dtypes import is_float
from aotensor.core.types import Array
from aotensor.graph.walk import evaluate_all
from aotensor.verification.derivatives.culprit import intended_change
from aotensor.verification.derivatives.measure import Point, findings_at
from aotensor.verification.derivatives.program import Derivatives, Reference
from aotensor.verification.derivatives.verdict import Finding, Verdict, concluded

OP_SETS = (
    *("dot", "exp", "softmax", "sum", "prod", "cumsum", "join", "reshape", "take", "var", "softplus", "logsumexp"),
    *("scan", "ifelse", "composite"),
)
"""Beginnings of row ids that the complex step must reach."""


CANCELLING = {"eig-complex-derivatives", "eigh-derivatives", "svd-complex-derivatives", "svd-derivatives"}
"""Rows whose values rest on numbers that are equal: moving each by an ulp does not tell how far rounding carries."""


def _findings(case: Case, rng: np.random.Generator) -> list[Finding]:
    arrays = case.draw(rng)
    variables = case.variables(arrays)
    outputs = case.outputs(variables)
    values: dict[str, Array] = {}
    for place, array in enumerate(evaluate_all(outputs, dict(zip(variables, arrays, strict=True)))):
        if is_float(array.dtype.name) and np.isfinite(array).all():
            values[f"y{place}"] = array
    wrt = {f"x{k}": variables[k] for k in case.differentiable(arrays) if is_float(arrays[k].dtype.name)}
    if not wrt or not values:
        return []
    derivatives = Derivatives({key: outputs[int(key[1:])] for key in values}, wrt)
    reference = Reference(derivatives)
    point = Point.at(reference, dict(zip(variables, arrays, strict=True)), values, 3)
    changed = {
        pair for pair in derivatives.pulled if intended_change(derivatives.outputs[pair[0]], wrt[pair[1]]) is not None
    }
    return [x for x in findings_at(point, reference, reference) if (x.output, x.input) not in changed]


@over(DIFFERENTIABLE)
def test_no_row_is_called_wrong(case: Case, rng: np.random.Generator) -> None:
    """That derivatives are right is shown by test_rules.py; this test shows that `verify` says so."""
    with np.errstate(all="ignore"):
        found = _findings(case, rng)
    assert [str(x) for x in found if x.verdict is Verdict.WRONG] == []
    if case.numeric and case.id not in CANCELLING:
        for pair in {(x.output, x.input) for x in found}:
            verdict, detail = concluded([x for x in found if (x.output, x.input) == pair])
            assert verdict is Verdict.RIGHT, detail


@pytest.mark.parametrize("start", OP_SETS)
def test_complex_step_reaches(start: str, rng: np.random.Generator) -> None:
    """Some smooth float64 row of every family: analytic ops stay declared as such."""
    cases = [case for case in DIFFERENTIABLE if case.id.startswith(start) and case.numeric]
    methods = {x.method for case in cases for x in _findings(case, rng)}
    assert "complex step" in methods

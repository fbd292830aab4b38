"""`python -m tools.accuracy`: exact derivatives, errors, and the page."""

from __future__ import annotations

import math
from pathlib import Path

import mpmath as mp
import pytest
from tools.accuracy import measure
from tools.accuracy.functions import FUNCTIONS, Function, of
from tools.accuracy.oracle import derivative, exact
from tools.accuracy.page import page


def test_exact_derivatives_have_the_digits_that_they_need() -> None:
    found = derivative(lambda a, x: mp.gammainc(a, 0, x, regularized=True), (1, 0), (1e-60, 0.5))
    assert float(found) == pytest.approx(-0.5597735947761608, rel=1e-15)  # −E₁(½)
    assert exact(mp.gamma, (0,), (-2.0,), 1.0) is None


def test_a_wrong_digit_is_found_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(x: object) -> object:
        return mp.exp(x) * (1 + mp.mpf(2) ** -30 if x > 2 else 1)

    monkeypatch.setitem(FUNCTIONS, "exp", Function(FUNCTIONS["exp"].ours, wrong, of(1.0, 3.0, 1e-40)))
    rows = measure.measured("exp", tmp_path / "exp.json", 1.0, "1/1")
    assert {(tuple(row["orders"]), row["region"]) for row in rows} == {
        ((k,), region) for k in range(3) for region in ("usual", "tiny")
    }
    value = next(row for row in rows if row["orders"] == (0,) and row["region"] == "usual")
    assert value["compiled"]["at"] == [3.0]
    assert value["compiled"]["ulp"] == pytest.approx(2.0**22, rel=1e-5)
    assert math.isclose(value["reference"]["ulp"], value["compiled"]["ulp"], rel_tol=1e-5)
    text = page({"exp": rows})
    assert "| exp | value | 2 | **4.2e+06** | 3 |" in text
    assert "| exp | value | 1 | 0 | 1e-40 |" in text
    assert "| exp | x | usual | 2 | **4.2e+06** | 3 |" in text

"""Names of users as names of values in MLIR."""

from __future__ import annotations

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.ir.upstream import value_name


@pytest.mark.parametrize(
    ("name", "expected"), [("x", "x"), ("x_3", "x_3"), ("_387", None), ("_1_2", None), ("é", None)]
)
def test_names(name: str, expected: str | None) -> None:
    assert value_name(name) == expected


def test_a_dim_whose_name_is_a_number_compiles() -> None:
    """xDSL strips the number, and refuses the empty name that is left where it is copied."""
    x = at.tensor("_387", dtype="float64", shape=("_12", 64))
    f = aot.function([x], at.exp(x) @ at.exp(x).T, name="product")
    value = np.full((3, 64), 0.5)
    np.testing.assert_allclose(f(value), np.exp(value) @ np.exp(value).T, 1e-12)

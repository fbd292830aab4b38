"""Rows that ask for vectors under masks run on machines that have them."""

from __future__ import annotations

import pytest

from aotensor.codegen.machine import Machine

NEED_MASKS = {"lanes", "odd lanes", "vectorize", "everything", "too many lanes", "lanes of a loop of loops"}


@pytest.fixture(autouse=True)
def masks(request: pytest.FixtureRequest) -> None:
    """Skip a row by its id, where the machine is asked for more than it has."""
    row = getattr(request.node, "callspec", None)
    if row is not None and row.id in NEED_MASKS and not Machine.host().facts.has_masks:
        pytest.skip("this machine has no vectors under masks")

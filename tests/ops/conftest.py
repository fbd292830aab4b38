"""The order of the tests of all rows."""

from __future__ import annotations

from typing import Final

import pytest

DERIVATIVES: Final = ("test_modes_are_adjoint", "test_derivatives_agree_with_differences")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Both tests of a row's derivatives run one after the other: they share its graph."""
    places = [k for k, item in enumerate(items) if _row(item) is not None]
    for place, item in zip(places, sorted((items[k] for k in places), key=_row), strict=True):
        items[place] = item


def _row(item: pytest.Item) -> int | None:
    """The number of a row whose derivatives are tested."""
    if not isinstance(item, pytest.Function) or item.path.name != "test_rules.py":
        return None
    return item.callspec.indices["case"] if item.originalname in DERIVATIVES else None

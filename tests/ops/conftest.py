"""The order of the tests of all rows, and the levels for which they wait."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import pytest
from budgets import ALL, level_of_run

DERIVATIVES: Final = ("test_modes_are_adjoint", "test_derivatives_agree_with_differences")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark rows that wait for a level, unless all run. Both tests of a row's derivatives follow each other."""
    if level_of_run(config) != ALL:
        _mark_levels(items)
    places = [k for k, item in enumerate(items) if _row(item) is not None]
    for place, item in zip(places, sorted((items[k] for k in places), key=_row), strict=True):
        items[place] = item


def _mark_levels(items: list[pytest.Item]) -> None:
    functions: defaultdict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("by_ops"):
            functions[item.originalname].append(item)
    if functions:
        from tables import levels

        for cases in functions.values():
            for item, level in zip(cases, levels(item.callspec.params["case"] for item in cases), strict=True):
                if level is not None:
                    item.add_marker(level)


def _row(item: pytest.Item) -> int | None:
    """The number of a row whose derivatives are tested."""
    if not isinstance(item, pytest.Function) or item.path.name != "test_rules.py":
        return None
    return item.callspec.indices["case"] if item.originalname in DERIVATIVES else None

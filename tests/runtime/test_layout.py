"""The probe of CPython's and NumPy's layouts: confirmed here, and careful elsewhere."""

from __future__ import annotations

import sys

import pytest

from aotensor_runtime.arrays import layout


def test_this_python_is_confirmed() -> None:
    found = layout.probe()
    if sys.implementation.name == "cpython":
        assert found is not None


@pytest.mark.parametrize(
    "field", ["object_type", "tuple_items", "float_value", "array_data", "array_rank", "array_dtype"]
)
def test_a_wrong_offset_is_noticed(field: str) -> None:
    found = layout.probe()
    assert found is not None
    moved = type(found.struct).from_buffer_copy(found.struct)
    setattr(moved, field, getattr(moved, field) - 8)
    assert field == "object_type" or not layout._is_confirmed(moved)

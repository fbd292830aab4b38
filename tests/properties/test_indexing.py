"""Random indices of every kind, mixed: values and copies with them changed against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aotensor.core.types import TensorType
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.updates import inc_subtensor, set_subtensor

SHAPES = st.lists(st.integers(0, 4), min_size=1, max_size=4)
MASKS = st.sampled_from([0.0, 0.4, 0.9])


@st.composite
def indexed(draw: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
    """A tensor and an index for some of its axes, with at most one common extent of arrays and masks."""
    shape = draw(SHAPES)
    x = np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    common = draw(st.integers(1, 3))
    items: list[Any] = []
    axis = 0
    while axis < len(shape):
        n = shape[axis]
        kinds = ["slice", "slice", "new", "stop"] + (["int", "array"] if n else []) + ["mask"]
        kind = draw(st.sampled_from(kinds))
        if kind == "stop":
            break
        if kind == "new":
            items.append(None)
            continue
        if kind == "int":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "array":
            items.append(rng.integers(-n, n, size=common))
        elif kind == "slice":
            bound = st.none() | st.integers(-5, 5)
            items.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -3]))))
        else:
            rank = draw(st.integers(1, len(shape) - axis))
            items.append(_mask(rng, shape[axis : axis + rank], common, draw(MASKS), any(map(_is_array, items))))
            axis += rank - 1
        axis += 1
    return x, tuple(items)


def _is_array(item: Any) -> bool:
    return isinstance(item, np.ndarray)


def _mask(rng: np.random.Generator, shape: list[int], common: int, share: float, is_joined: bool) -> np.ndarray:
    """A mask; one that stands beside arrays holds at as many places as they have, if it can."""
    mask = rng.random(shape) < share
    if is_joined and mask.size >= common:
        mask = np.zeros(mask.size, bool)
        mask[rng.choice(mask.size, common, replace=False)] = True
        mask = mask.reshape(shape)
    return mask


def _numpy(x: np.ndarray, index: tuple[Any, ...]) -> np.ndarray | None:
    """x[index], None where NumPy refuses it or broadcasts an extent that is 1 at run time only."""
    extents = {len(i) if i.dtype != bool else int(i.sum()) for i in index if _is_array(i)}
    if len(extents) > 1:
        return None
    return np.asarray(x[index])


@pytest.mark.shows("tensor/6-rules")
@pytest.mark.parametrize("is_symbolic", [False, True], ids=["constants", "symbols"])
@given(case=indexed())
def test_index_agrees_with_numpy(is_symbolic: bool, case: tuple[np.ndarray, tuple[Any, ...]]) -> None:
    array, index = case
    expected = _numpy(array, index)
    if expected is None:
        return
    x = Variable(TensorType("float64", (None,) * array.ndim if is_symbolic else array.shape))
    values: dict[Variable, Any] = {x: array}
    items = list(index)
    for position, item in enumerate(index):
        if is_symbolic and (_is_array(item) or isinstance(item, int)):
            value = np.asarray(item)
            items[position] = Variable(TensorType(value.dtype.name, (None,) * value.ndim))
            values[items[position]] = value
    window = x[tuple(items)]
    np.testing.assert_array_equal(window.eval(values), expected)
    added, replaced, derivatives = array.copy(), array.copy(), np.zeros_like(array)
    np.add.at(added, index, 0.5)
    replaced[index] = -1.0
    np.add.at(derivatives, index, 1.0)
    np.testing.assert_array_equal(inc_subtensor(window, 0.5).eval(values), added)
    np.testing.assert_array_equal(set_subtensor(window, -1.0).eval(values), replaced)
    np.testing.assert_array_equal(grad(window.sum(), x).eval(values), derivatives)

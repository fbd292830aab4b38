"""Operands by name of operations that have several groups of them."""

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import DenseArrayBase, IndexType, TensorType, f64, i32, i64

from aotensor.ir.nest.ops import ValueOp
from aotensor.ir.nest.segments import SIZES, integers

OPTIONAL = ("init", "over", "first", "part", "number")


@pytest.mark.parametrize("absent", range(2 ** len(OPTIONAL)))
def test_groups_are_those_that_were_given(absent: int) -> None:
    """Every combination of a value's optional operands, with 0 to 2 sizes before them."""
    index, x = test.TestOp(result_types=[IndexType(), TensorType(f64, [3])]).results
    given = {name: None if absent >> k & 1 else index if name == "number" else x for k, name in enumerate(OPTIONAL)}
    present = [value for value in given.values() if value is not None]
    for count in range(3):
        sizes = [count, *(int(value is not None) for value in given.values())]
        op = ValueOp.create(
            operands=[index] * count + present,
            properties={SIZES: DenseArrayBase.from_list(i32, sizes)},
            result_types=[TensorType(f64, [-1] * count)],
        )
        assert list(op.sizes) == [index] * count
        assert {name: getattr(op, name) for name in OPTIONAL} == given


def test_integers_of_an_array() -> None:
    """Negative and large ones too."""
    for values in ((), (0,), (-(2**63), 2**63 - 1, -1)):
        assert integers(DenseArrayBase.from_list(i64, values)) == values

"""Operands by name of operations that have several groups of them."""

from collections.abc import Mapping, Sequence

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import DenseArrayBase, IndexType, TensorType, f64, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import IRDLOperation, VarOperandDef

from aotensor.ir.nest import loops, ops
from aotensor.ir.nest.loops import ForOp
from aotensor.ir.nest.ops import ValueOp
from aotensor.ir.nest.segments import integers
from aotensor.ir.types import SEGMENTS

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
            properties={SEGMENTS: DenseArrayBase.from_list(i32, sizes)},
            result_types=[TensorType(f64, [-1] * count)],
        )
        assert list(op.sizes) == [index] * count
        assert {name: getattr(op, name) for name in OPTIONAL} == given


def test_integers_of_an_array() -> None:
    """Negative and large ones too."""
    for values in ((), (0,), (-(2**63), 2**63 - 1, -1)):
        assert integers(DenseArrayBase.from_list(i64, values)) == values


def test_loops_and_values_are_created_without_the_initialiser_of_xdsl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal to what that makes, in a third of the time."""
    index, x = test.TestOp(result_types=[IndexType(), TensorType(f64, [-1])]).results

    def pair() -> list[tuple[object, ...]]:
        value = ValueOp([index], x.type, over=x, lanes=2)
        loop = ForOp(index, Block(arg_types=[IndexType()]), step=index)
        return [(op.name, list(op.operands), dict(op.properties), op.result_types) for op in (value, loop)]

    with monkeypatch.context() as without:
        without.setattr(IRDLOperation, "__init__", None)
        made = pair()
    monkeypatch.setattr(ops, "create", plain)
    monkeypatch.setattr(loops, "create", plain)
    assert pair() == made


def plain(
    op: IRDLOperation,
    groups: Sequence[Sequence[SSAValue]],
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute | None] | None = None,
    regions: Sequence[Region] = (),
) -> None:
    """Initialise an operation as xDSL does."""
    definitions = op.get_irdl_definition().operands
    given = [
        group if type(kind) is VarOperandDef else group[0] if group else None
        for group, (_, kind) in zip(groups, definitions, strict=True)
    ]
    IRDLOperation.__init__(
        op, operands=given, result_types=list(result_types), properties=properties, regions=list(regions)
    )

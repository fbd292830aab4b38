"""Fast creation of operations with several groups of operands, and fast access to the operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, OptOperandDef, VarOperandDef, irdl_op_definition

from aotensor.ir.types import SEGMENTS, segment_sizes

_OpT = TypeVar("_OpT", bound=IRDLOperation)


def op_with_segments(cls: type[_OpT]) -> type[_OpT]:
    """Like `irdl_op_definition`; the operand accessors decode each combination of group sizes only once.

    xDSL's own accessors unpack the property at each access, which took 7 % of the time to compile a chain of loops.
    """
    cls = irdl_op_definition(cls)
    for number, (name, definition) in enumerate(cls.get_irdl_definition().operands):
        is_optional = isinstance(definition, OptOperandDef)
        is_one = is_optional or not isinstance(definition, VarOperandDef)
        setattr(cls, name, _Segment(number, is_one))
    return cls


def create(
    op: IRDLOperation,
    groups: Sequence[Sequence[SSAValue]],
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute | None] | None = None,
    regions: Sequence[Region] = (),
) -> None:
    """Initialise a new operation from its groups of operands; properties that are None are left out.

    xDSL's own initialiser checks the arguments against the definition of the operation, which takes half the time.
    """
    Operation.__init__(
        op,
        operands=[x for group in groups for x in group],
        result_types=result_types,
        properties={
            **{name: x for name, x in (properties or {}).items() if x is not None},
            SEGMENTS: sizes_of(groups),
        },
        regions=regions,
    )


def sizes_of(groups: Sequence[Sequence[SSAValue]]) -> Attribute:
    """The property with the sizes of the groups of operands."""
    return segment_sizes(*map(len, groups))


def optional(x: SSAValue | None) -> Sequence[SSAValue]:
    """The group of an optional operand."""
    return () if x is None else (x,)


class _Segment:
    """Accessor of one group of operands: a sequence, a single operand, or None for an absent optional one."""

    def __init__(self, number: int, is_one: bool) -> None:
        self._number = number
        self._is_one = is_one

    def __get__(self, op: Operation, cls: type[Operation] | None = None) -> Any:
        sizes = op.properties[SEGMENTS]
        assert isinstance(sizes, DenseArrayBase)
        first, last = _places(sizes.data.data)[self._number]
        if self._is_one:
            return op.operands[first] if last > first else None
        return op.operands[first:last]

    def __set__(self, op: Operation, value: object) -> None:
        raise AttributeError("operands are set by `operands`, with the sizes of their groups")


@lru_cache(maxsize=4096)
def _places(sizes: bytes) -> tuple[tuple[int, int], ...]:
    """The start and end of each group of operands. sizes: bytes of the property, an int32 per group."""
    return tuple(pairwise(accumulate(np.frombuffer(sizes, np.int32).tolist(), initial=0)))


@lru_cache(maxsize=4096)
def _integers(data: bytes) -> tuple[int, ...]:
    return tuple(np.frombuffer(data, np.int64).tolist())


def integers(row: DenseArrayBase[Any]) -> tuple[int, ...]:
    """The integers of an int64 array attribute; equal arrays are decoded once."""
    return _integers(row.data.data)

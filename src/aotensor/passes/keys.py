"""Keys of operations and blocks: equal for code that differs in names only, or in names and locations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, SSAValue

Numbers: TypeAlias = dict[SSAValue | Attribute, object]
"""Values of the code of a key → their number and type in it; attributes that are numbered → their number."""


def parts_of(
    op: Operation,
    inside: Numbers,
    same: Mapping[SSAValue, SSAValue] | None = None,
    numbered: Collection[str] = (),
    located: bool = False,
    unread: Collection[Operation] = (),
) -> Iterator[object]:
    """The operands, attributes and regions of an operation as parts of a key.

    inside: numbers of values and attributes; values of the regions are added. same: value → another value that is used
    in its place. numbered: names of attributes that are compared for equality only. located: do keys of operations in
    the regions include the user's line? unread: operations whose attributes are left out.
    """
    for x in op.operands:
        yield inside[x] if x in inside else (same or {}).get(x, x)
    for table in (op.properties, op.attributes) if op not in unread else ():
        for name, attribute in sorted(table.items()):
            yield name, inside.setdefault(attribute, len(inside)) if name in numbered else attribute
    for region in op.regions:
        for block in region.blocks:
            yield from block_parts(block, inside, same, numbered, located, unread)


def block_parts(
    block: Block,
    inside: Numbers,
    same: Mapping[SSAValue, SSAValue] | None = None,
    numbered: Collection[str] = (),
    located: bool = False,
    unread: Collection[Operation] = (),
) -> Iterator[object]:
    """The arguments and operations of a block as parts of a key.   The other arguments are those of `parts_of`."""
    for x in block.args:
        yield inside.setdefault(x, (len(inside), x.type))
    for op in block.ops:
        yield op.name, op.location if located else None
        yield from parts_of(op, inside, same, numbered, located, unread)
        for x in op.results:
            yield inside.setdefault(x, (len(inside), x.type))
    yield "end"

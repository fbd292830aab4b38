"""Source locations of operations, in MLIR's form: `loc("model.py":12:0)`.

The importer gives each operation the line of its graph node; passes propagate it, and new operations have the location
of the operation that they are created for. File names have no folder, so that texts do not depend on it.
"""

from __future__ import annotations

import os
from copy import copy
from typing import Final

from xdsl.builder import Builder, InsertOpInvT
from xdsl.dialects import func
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint

from aotensor.graph.op import Apply
from aotensor.graph.site import Site
from aotensor.ir.upstream import walk

DERIVATIVE: Final = 1
"""The column of what a derivative rule has made, where lines are those of what was differentiated."""

KERNEL: Final = 2
"""The column of operations of a user's kernel, whose lines are those of the kernel."""


class Locations:
    """Maps graph nodes to the locations of their operations, and back: each node has a distinct location object.

    by_origin: operations of derivatives get the line of the differentiated expression, in column `DERIVATIVE`, instead
    of the line that requests the derivative.
    """

    def __init__(self, by_origin: bool = False) -> None:
        self._by_origin = by_origin
        self._of: dict[Apply, LocationAttr] = {}
        self._nodes: dict[int, Apply] = {}
        """Keyed by the identity of the location, which `_of` keeps alive."""
        self._lines: dict[tuple[str, int, int], LocationAttr] = {}
        self._names: dict[str, StringAttr] = {}
        self._paths: dict[int, str] = {}
        """Keyed by the identity of the name in a location, which `_names` keeps alive."""

    def location_of(self, node: Apply) -> LocationAttr:
        """The location that all operations of a node have."""
        found = self._of.get(node)
        if found is None:
            where = self.at(node.outputs[0].site)
            found = self._of[node] = where if where is UNKNOWN_LOC else copy(where)
            if found is not UNKNOWN_LOC:
                self._nodes[id(found)] = node
        return found

    def at(self, site: Site | None) -> LocationAttr:
        """The location of a source line."""
        if site is None:
            return UNKNOWN_LOC
        column = 0  # a line is all that is known
        if self._by_origin and site.origin is not None:
            site, column = site.origin, DERIVATIVE
        key = site.file, site.line, column
        if key not in self._lines:
            name = self._names.setdefault(site.file, StringAttr(os.path.basename(site.file)))
            self._paths[id(name)] = site.file
            self._lines[key] = FileLineColLoc(name, IntAttr(site.line), IntAttr(column))
        return self._lines[key]

    def path(self, location: FileLineColLoc) -> str:
        """The path of a location's file, including its folder; without a folder for a parsed text."""
        return self._paths.get(id(location.filename), location.filename.data)

    def node(self, location: LocationAttr) -> Apply | None:
        """The node that an operation with this location was imported from."""
        return self._nodes.get(id(location))


class LocatedBuilder(Builder):
    """A builder that gives inserted operations a location, if they have none. location: may be changed at any time."""

    def __init__(self, insertion_point: InsertPoint, location: LocationAttr = UNKNOWN_LOC) -> None:
        super().__init__(insertion_point)
        self.location = location

    def insert(self, op: InsertOpInvT, insertion_point: InsertPoint | None = None) -> InsertOpInvT:
        """Insert operations, and set their location."""
        for one in (op,) if isinstance(op, Operation) else op:
            if one.location is UNKNOWN_LOC:
                one.location = self.location
        return super().insert(op, insertion_point)


def builder_before(op: Operation) -> LocatedBuilder:
    """A builder before an operation, with its location."""
    return LocatedBuilder(InsertPoint.before(op), op.location)


def builder_at_end(block: Block, location: LocationAttr) -> LocatedBuilder:
    """A builder at the end of a block."""
    return LocatedBuilder(InsertPoint.at_end(block), location)


def locate(op: Operation, location: LocationAttr) -> None:
    """Set the location of an operation, and of all operations in it, where it is unknown."""
    if op.location is UNKNOWN_LOC:
        op.location = location
    for region in op.regions:
        for block in region.blocks:
            locate_after(None, block, location)


def locate_after(last: Operation | None, block: Block, location: LocationAttr) -> None:
    """Set the location of all operations of a block after `last`, where it is unknown."""
    op = block.first_op if last is None else last.next_op
    while op is not None:
        locate(op, location)
        op = op.next_op


def is_located(op: Operation) -> bool:
    """Does an operation have a known source location?"""
    return isinstance(op.location, FileLineColLoc)


def lines_of(module: ModuleOp, function: str) -> dict[str, list[tuple[str, int]]]:
    """(symbol at loop level → source lines) for the symbols that belong to a function. A line is (file, number)."""
    found: dict[str, list[tuple[str, int]]] = {}
    for op in module.ops:
        symbol = op.sym_name.data if isinstance(op, func.FuncOp) else ""
        if symbol.startswith(f"{function}.") and not symbol.endswith((".extents", ".workspace_bytes")):
            located = {x.location for x in walk(op) if isinstance(x.location, FileLineColLoc)}
            found[symbol] = sorted({(x.filename.data, x.line.data) for x in located})
    return found

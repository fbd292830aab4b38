"""Line tables: the line of the user's model for each instruction, as LLVM debug information.

    %m = arith.mulf %x, %y loc("model.py":12:0)    →    %m = fmul double %x, %y, !dbg !7
                                                        !7 = !DILocation(line: 12, column: 0, scope: !5)

Functions with user lines have a subprogram, others do not: code that LLVM inlines from an elementary function belongs
to the line that calls it. Code without a line has line 0, as DWARF requires. Variables are not described, so the code
is the same as without debug information.
"""

from __future__ import annotations

import os

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr

from aotensor.codegen import llvm
from aotensor.codegen.llvm import Function, Module, Node
from aotensor.ir.location import Locations

_DWARF_VERSION = 5
_FORMAT_VERSION = 3
"""Version of LLVM's debug metadata."""
_HERE = ""
"""The folder of the compilation is not recorded: a debugger resolves files from the folder that it is started in."""


class DebugInfo:
    """The debug information of a module. sites: finds the files of locations; None for no debug information."""

    def __init__(self, module: Module, sites: Locations | None) -> None:
        self._module, self._sites = module, sites
        self._unit: Node | None = None

    def begin(self, function: Function, location: LocationAttr) -> Node | None:
        """Create the subprogram of a function; return the location for those of its instructions that have no line.

        Returns None, and creates no subprogram, if the location is unknown.
        """
        if self._sites is None or not isinstance(location, FileLineColLoc):
            return None
        file = self._file(location)
        kind = llvm.debug_node(self._module, "DISubroutineType", types=llvm.node(self._module, [None]))
        subprogram = llvm.debug_node(
            self._module, "DISubprogram", is_distinct=True, name=function.name, scope=file, file=file, type=kind,
            line=location.line.data, scopeLine=location.line.data, unit=self._compile_unit(file),
            spFlags=llvm.debug_word("DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized"),
        )  # fmt: skip
        function.set_metadata("dbg", subprogram)
        return self._line(0, subprogram)

    def at(self, function: Function, location: LocationAttr) -> Node | None:
        """The location of a function's instruction; None if it is unknown, or the function has no subprogram."""
        subprogram = function.metadata.get("dbg") if self._sites is not None else None
        if subprogram is None or not isinstance(location, FileLineColLoc):
            return None
        file = self._file(location)
        scope = subprogram
        if dict(subprogram.operands)["file"] != file:
            scope = llvm.debug_node(self._module, "DILexicalBlockFile", scope=subprogram, file=file, discriminator=0)
        return self._line(location.line.data, scope, location.column.data)

    def _line(self, number: int, scope: Node, column: int = 0) -> Node:
        return llvm.debug_node(self._module, "DILocation", line=number, column=column, scope=scope)

    def _file(self, location: FileLineColLoc) -> Node:
        assert self._sites is not None
        name = recorded_path(self._sites.path(location))
        return llvm.debug_node(self._module, "DIFile", filename=name, directory=_HERE)

    def _compile_unit(self, file: Node) -> Node:
        """The single compile unit of the module, named after the first file."""
        if self._unit is None:
            self._unit = llvm.debug_node(
                self._module, "DICompileUnit", is_distinct=True, language=llvm.debug_word("DW_LANG_Python"),
                file=file, producer="aotensor", isOptimized=True, runtimeVersion=0,
                emissionKind=llvm.debug_word("FullDebug"), nameTableKind=llvm.debug_word("None"),
            )  # fmt: skip
            llvm.begin_debug_info(self._module, self._unit, _DWARF_VERSION, _FORMAT_VERSION)
        return self._unit


def recorded_path(path: str) -> str:
    """The name of a file in the library: relative to the current folder if it is inside, else as Python names it.

    So a model that is compiled by a relative path gives the same bytes in every folder.
    """
    if os.path.isabs(path):
        below = os.path.relpath(path)
        if not below.startswith(os.pardir):
            return below
    return path

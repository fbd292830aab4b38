"""Make functions of the loops of a long kernel.

    scf.for %i = 0 to %n { … %x … %t … }    →    func.call @f.loops0(%x, %workspace, %offset, %n)

    func.func private @f.loops0(%x, %workspace, %offset, %n) attributes {apart} {
      %t = memref.view %workspace[%offset][%n]
      scf.for %i = 0 to %n { … }

LLVM looks at a loop together with all others of its function: at every address in every loop, for one. Buffers go as
arguments that do not overlap, views of them are made anew inside, so that as much is known of them as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target

APART: Final = "apart"
"""Attribute of a private function whose buffers do not overlap, as those of a kernel do not."""
_REMADE: Final = (
    arith.ConstantOp, memref.GetGlobalOp, memref.ViewOp, memref.SubviewOp, memref.ReinterpretCastOp,
    memref.ExpandShapeOp, memref.CollapseShapeOp, memref.CastOp, memref.AssumeAlignmentOp,
)  # fmt: skip


def outline(module: ModuleOp, target: Target) -> None:
    """Do so in every kernel that has more than `target.loops_together` loops."""
    for kernel in [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]:
        stem = kernel.sym_name.data.removesuffix(".kernel")
        if stem == kernel.sym_name.data or kernel.is_declaration:
            continue
        loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp)]
        if len(loops) <= target.loops_together:
            continue
        for number, loop in enumerate(list(_outermost(kernel.body.block))):
            if sum(1 for _ in loop.walk()) < target.smallest_function:
                continue
            made = None if len(loop.results) > 1 else _Outlining(loop, f"{stem}.loops{number}").run()
            if made is None:
                missed("{} is no function of its own: it gives several numbers, or its buffers may overlap", loop)
                continue
            applied("{} is a function of its own: the kernel has {} loops", loop, len(loops))
            module.body.block.insert_op_after(made, kernel)


def _outermost(block: Block) -> Iterator[scf.ForOp]:
    """The loops that stand in no other one."""
    for op in block.ops:
        if isinstance(op, scf.ForOp):
            yield op
        elif isinstance(op, scf.IfOp):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _outermost(inner)


class _Outlining:
    """A loop on its way into a function."""

    def __init__(self, loop: scf.ForOp, symbol: str) -> None:
        self.loop, self.symbol = loop, symbol
        self.block = Block()
        self.inside: dict[SSAValue, SSAValue] = {}
        """What stands in the function for values from outside."""
        self.arguments: list[SSAValue] = []

    def run(self) -> func.FuncOp | None:
        """The function, which is called in place of the loop; None if buffers of the loop may overlap."""
        outside = dict.fromkeys(x for op in self.loop.walk() for x in op.operands if not self._is_inside(x))
        if not all(_is_whole(_root(x)) for x in outside if isinstance(x.type, MemRefType)):
            return None
        for x in outside:
            self._value(x)
        loop, parent = self.loop, self.loop.parent
        assert parent is not None
        types = [x.type for x in loop.results]
        call = func.CallOp(self.symbol, self.arguments, types)
        call.location = loop.location
        parent.insert_op_before(call, loop)
        for old, new in zip(loop.results, call.results, strict=True):
            old.replace_all_uses_with(new)
        loop.detach()
        for op in loop.walk():
            for number, x in enumerate(op.operands):
                if x in self.inside:
                    op.operands[number] = self.inside[x]
        end = func.ReturnOp(*loop.results)
        end.location = loop.location
        self.block.add_ops([loop, end])
        kind = FunctionType.from_lists([x.type for x in self.arguments], types)
        made = func.FuncOp(self.symbol, kind, Region(self.block), visibility="private")
        made.attributes[APART] = UnitAttr()
        made.location = loop.location
        return made

    def _is_inside(self, x: SSAValue) -> bool:
        owner = x.owner if isinstance(x, OpResult) else x.owner.parent_op()
        return owner is not None and self.loop.is_ancestor(owner) and (owner is not self.loop or x not in owner.results)

    def _value(self, x: SSAValue) -> SSAValue:
        """What stands for a value from outside: made anew, else an argument."""
        if x in self.inside:
            return self.inside[x]
        if isinstance(x.owner, _REMADE):
            copy = x.owner.clone({y: self._value(y) for y in x.owner.operands})
            copy.location = x.owner.location
            self.block.add_op(copy)
            self.inside[x] = copy.results[0]
        else:
            argument = self.block.insert_arg(x.type, len(self.block.args))
            argument.name_hint = x.name_hint
            self.arguments.append(x)
            self.inside[x] = argument
        return self.inside[x]


def _root(x: SSAValue) -> SSAValue:
    """The buffer that a view is made of."""
    while isinstance(x.owner, _REMADE) and x.owner.operands:
        x = x.owner.operands[0]
    return x


def _is_whole(x: SSAValue) -> bool:
    """Is it a buffer of its own: an argument of the kernel, a constant, or allocated?"""
    if isinstance(x, BlockArgument):
        return isinstance(x.owner.parent_op(), func.FuncOp)
    return isinstance(x.owner, memref.AllocOp | memref.GetGlobalOp)


def code_of(module: ModuleOp, name: str) -> Iterator[Operation]:
    """All operations of the kernel of function `name`, and of the functions that were made of its loops."""
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and re.fullmatch(rf"{re.escape(name)}\.(kernel|loops\d+)", op.sym_name.data):
            yield from op.walk()

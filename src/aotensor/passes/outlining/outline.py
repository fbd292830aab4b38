"""Outline the loops of a long kernel into functions.

    scf.for %i = 0 to %n { … %x … %t … }    →    func.call @f.loops0(%x, %workspace, %offset, %n)

    func.func private @f.loops0(%x, %workspace, %offset, %n) attributes {apart} {
      %t = memref.view %workspace[%offset][%n]
      scf.for %i = 0 to %n { … }

LLVM analyses a loop together with all others of its function, such as every address in every loop. Buffers are
passed as arguments that do not alias, and views of them are recreated inside, so that no information is lost.

A short loop is outlined if the kernel has several equal ones, whose functions `merge-functions` merges; so is a
sequential loop around parallel ones, whose function has the kernel's context as its last argument.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from aotensor.ir.upstream import ParallelOp, walk
from aotensor.passes.keys import Numbers, parts_of
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target

OUTLINED: Final = "outlined"
"""Attribute of a private function that was outlined from a kernel, which calls it once."""
NO_ALIAS: Final = "apart"
"""Attribute of a private function whose buffers do not alias, as those of a kernel do not."""
_REMADE: Final = (
    arith.ConstantOp, arith.IndexCastOp, memref.GetGlobalOp, memref.ViewOp, memref.SubviewOp, memref.ReinterpretCastOp,
    memref.ExpandShapeOp, memref.CollapseShapeOp, memref.CastOp, memref.AssumeAlignmentOp,
)  # fmt: skip


@ir_pass(
    "outline",
    level="loops",
    topic="code",
    options={
        "loops-together": Option(
            0, 1 << 20, "outline the loops of kernels with more loops than this; 0: always", ("loops_together",)
        )
    },
)
def outline(module: ModuleOp, target: Target) -> None:
    """Outlines the loops of kernels with many loops into functions with `noalias` buffers: LLVM's time depends on
    the size of a function.
    """
    for kernel in [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]:
        stem = kernel.sym_name.data.removesuffix(".kernel")
        if stem == kernel.sym_name.data or kernel.is_declaration:
            continue
        loops = [op for op in walk(kernel) if type(op) is scf.ForOp]
        if len(loops) <= target.loops_together:
            continue
        context = kernel.body.block.args[-1]
        found = list(_outermost(kernel.body.block))
        sizes = {loop: sum(1 for _ in walk(loop)) for loop in found}
        keys = {loop: _key_of(loop) for loop in found if sizes[loop] < target.smallest_function}
        alike = Counter(keys.values())
        for number, loop in enumerate(found):
            if loop in keys and alike[keys[loop]] < target.fewest_alike:
                continue
            given = [context] if any(isinstance(op, ParallelOp) for op in walk(loop)) else []
            outlining = Outlining([loop], f"{stem}.loops{number}", given)
            if len(loop.results) > 1:
                missed("{} not outlined: it has more than one scalar result", loop)
            elif not outlining.has_no_alias:
                missed("{} not outlined: its buffers may alias", loop)
            else:
                applied("outlined {}: the function has {} loops", loop, len(loops))
                module.body.block.insert_op_after(_called(outlining, loop), kernel)


def _key_of(loop: scf.ForOp) -> tuple[object, ...]:
    """Equal for loops that differ in the functions that they call, and in what they read from outside but constants."""
    numbers: Numbers = {}
    for x in _used_outside([loop]):
        constant = x.owner.value if isinstance(x.owner, arith.ConstantOp) else None
        numbers[x] = constant or (len(numbers), x.type)
    return tuple(parts_of(loop, numbers, numbered=["callee"], located=True))


def _called(outlining: Outlining, loop: scf.ForOp) -> func.FuncOp:
    """Outline a loop into a function, and replace it by a call."""
    after, parent, old = loop.next_op, loop.parent, list(loop.results)
    uses = [list(x.uses) for x in old]
    made = outlining.function(old)
    call = func.CallOp(outlining.symbol, outlining.arguments, [x.type for x in old])
    call.location = loop.location
    assert parent is not None and after is not None
    parent.insert_op_before(call, after)
    for found, new in zip(uses, call.results, strict=True):
        for use in found:
            use.operation.operands[use.index] = new
    return made


def _outermost(block: Block) -> Iterator[scf.ForOp]:
    """The outermost loops of a block."""
    for op in block.ops:
        if isinstance(op, scf.ForOp):
            yield op
        elif isinstance(op, scf.IfOp):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _outermost(inner)


class Outlining:
    """Moves operations into a new function.

    given: values that become the last arguments of the function, after the outside values that it uses.
    """

    def __init__(self, ops: Sequence[Operation], symbol: str, given: Sequence[SSAValue] = ()) -> None:
        self.ops, self.symbol, self.given = ops, symbol, given
        self.block = Block()
        self.inside: dict[SSAValue, SSAValue] = {}
        """Value from outside → its counterpart in the function."""
        self.arguments: list[SSAValue] = []
        self.location = ops[0].location
        self.outside = [x for x in _used_outside(ops) if x not in given]

    @property
    def has_no_alias(self) -> bool:
        """Are all buffers from outside of the function known not to alias?"""
        return all(_is_whole(_root(x)) for x in self.outside if isinstance(x.type, MemRefType))

    def function(self, results: Sequence[SSAValue]) -> func.FuncOp:
        """Move the operations into a new function that returns the given results."""
        for x in self.outside:
            self._value(x)
        for x in self.given:
            self._argument(x)
        for op in self.ops:
            op.detach()
            for inner in walk(op):
                for number, x in enumerate(inner.operands):
                    if x in self.inside:
                        inner.operands[number] = self.inside[x]
        end = func.ReturnOp(*results)
        end.location = self.location
        self.block.add_ops([*self.ops, end])
        kind = FunctionType.from_lists([x.type for x in self.arguments], [x.type for x in results])
        made = func.FuncOp(self.symbol, kind, Region(self.block), visibility="private")
        made.attributes[OUTLINED] = UnitAttr()
        if self.has_no_alias:
            made.attributes[NO_ALIAS] = UnitAttr()
        made.location = self.location
        return made

    def _value(self, x: SSAValue) -> SSAValue:
        """The value inside the function for a value from outside: a recreated view or constant, else an argument."""
        if x in self.inside:
            return self.inside[x]
        if isinstance(x.owner, _REMADE):
            if isinstance(x.owner, memref.ViewOp):
                self._argument(x.owner.byte_shift)  # not a constant of the function: equal functions are merged
            copy = x.owner.clone({y: self._value(y) for y in x.owner.operands})
            copy.location = x.owner.location
            self.block.add_op(copy)
            self.inside[x] = copy.results[0]
        else:
            self._argument(x)
        return self.inside[x]

    def _argument(self, x: SSAValue) -> None:
        if x in self.inside:
            return
        argument = self.block.insert_arg(x.type, len(self.block.args))
        argument.name_hint = x.name_hint
        self.arguments.append(x)
        self.inside[x] = argument


def _used_outside(ops: Sequence[Operation]) -> list[SSAValue]:
    """The values from outside of operations that they or their regions read, in order."""
    made = {x for op in ops for inner in walk(op) for x in (*inner.results, *_arguments(inner))}
    used = dict.fromkeys(x for op in ops for inner in walk(op) for x in inner.operands)
    return [x for x in used if x not in made]


def _arguments(op: Operation) -> list[SSAValue]:
    return [x for region in op.regions for block in region.blocks for x in block.args]


def _root(x: SSAValue) -> SSAValue:
    """The buffer that a view is based on."""
    while isinstance(x.owner, _REMADE) and x.owner.operands:
        x = x.owner.operands[0]
    return x


def _is_whole(x: SSAValue) -> bool:
    """Is x a whole buffer (an argument of the kernel, a constant, or an allocation), not a view?"""
    if isinstance(x, BlockArgument):
        return isinstance(x.owner.parent_op(), func.FuncOp)
    return isinstance(x.owner, memref.AllocOp | memref.GetGlobalOp)


def code_of(module: ModuleOp, name: str) -> Iterator[Operation]:
    """All operations of the kernel of function `name`, and of the outlined functions that it calls.

    These may have the name of another function, with whose loops `merge-functions` has merged them.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    found = [functions[symbol] for symbol in [f"{name}.kernel"] if symbol in functions]
    for function in found:  # grows
        for op in walk(function):
            yield op
            called = functions.get(op.callee.string_value()) if isinstance(op, func.CallOp) else None
            if called is not None and OUTLINED in called.attributes and called not in found:
                found.append(called)

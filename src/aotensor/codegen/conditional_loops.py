"""Prevent LLVM from vectorizing loops that access memory under a condition (decision 0060).

    loop:                                             ; %then is not in every iteration and accesses memory,
      br i1 %c, label %then, label %done              ; so the branch at the end of the loop gets
    then:                                             ; !{!"llvm.loop.vectorize.enable", i1 false}
      %x = load double, ptr %p
      br label %done
    done:
      br i1 %d, label %loop, label %after, !llvm.loop !1

LLVM 20 to 22 turn it into a masked load, at the address of the first lane. If branches were merged, that address is a
phi, which is selected by the condition of the first lane: if that is false, the other lanes load from a wrong address.
A loop around a marked one is marked as well, since LLVM may unroll the inner one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aotensor.codegen import llvm
from aotensor.codegen.llvm import Function, Module

_ENABLE: Final = "llvm.loop.vectorize.enable"
_VECTORS: Final = ('!"llvm.loop.vectorize.', '!"llvm.loop.interleave.')
"""Prefixes of the properties that request vectorization, as llvmlite prints them."""
_INTRINSICS: Final = ("llvm.masked.", "llvm.mem")


def mark_conditional_loops(module: Module) -> int:
    """Disable vectorization of each loop that accesses memory only in some iterations; return the number of loops.

    A loop whose vectorization is already disabled is not changed.
    """
    count = 0
    for function in module.functions:
        if function.blocks:
            for latch in _latches(function):
                _forbid(module, latch.terminator)
                count += 1
    return count


def _forbid(module: Module, branch: Any) -> None:
    """Replace loop properties that request vectorization by one that disables it, on a loop's branch."""
    node = branch.metadata.get("llvm.loop")
    kept = [one for one in node.operands[1:] if not str(one.operands[0]).startswith(_VECTORS)] if node else []
    forbidden = llvm.node(module, [_ENABLE, llvm.constant(llvm.i1, 0)])
    if node is None:
        branch.set_metadata("llvm.loop", llvm.loop_node(module, {_ENABLE: llvm.constant(llvm.i1, 0)}))
    else:
        node.operands = (node, *kept, forbidden)


@dataclass(frozen=True, eq=False)
class _Loop:
    """A natural loop of blocks, numbered in reverse postorder."""

    latch: int
    blocks: set[int]


def _latches(function: Function) -> Iterator[Any]:
    """The latches of loops that access memory under a condition, directly or in an inner loop."""
    order = _reverse_postorder(function.blocks[0])
    numbers = {id(block): number for number, block in enumerate(order)}
    successors = [[numbers[id(x)] for x in _successors(block)] for block in order]
    if all(other > number for number, following in enumerate(successors) for other in following):
        return
    predecessors: list[list[int]] = [[] for _ in order]
    for number, following in enumerate(successors):
        for other in following:
            predecessors[other].append(number)
    dominators = _dominators(predecessors)
    loops = [
        _Loop(latch, _natural_loop(header, latch, predecessors))
        for latch, following in enumerate(successors)
        for header in following
        if _dominates(dominators, header, latch)
    ]
    innermost: dict[int, _Loop] = {}
    conditional = set[_Loop]()
    for loop in sorted(loops, key=lambda one: len(one.blocks)):
        always = _dominators_of(dominators, loop.latch)
        for number in loop.blocks:
            inner = innermost.setdefault(number, loop)
            if inner is not loop:
                is_found = inner in conditional
            else:
                is_found = number not in always and _accesses_memory(order[number])
            if is_found:
                conditional.add(loop)
                yield order[loop.latch]
                break
        for number in loop.blocks:
            innermost.setdefault(number, loop)


def _reverse_postorder(entry: Any) -> list[Any]:
    order, seen, stack = [], {id(entry)}, [(entry, iter(_successors(entry)))]
    while stack:
        block, following = stack[-1]
        other = next((x for x in following if id(x) not in seen), None)
        if other is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(id(other))
            stack.append((other, iter(_successors(other))))
    return order[::-1]


def _successors(block: Any) -> Sequence[Any]:
    return [x for x in block.terminator.operands if hasattr(x, "instructions")]


def _dominators(predecessors: Sequence[Sequence[int]]) -> list[int]:
    """The immediate dominator of each block.   Cooper, Harvey, Kennedy (2001), A Simple, Fast Dominance Algorithm"""
    found = [0] + [-1] * (len(predecessors) - 1)
    is_changed = True
    while is_changed:
        is_changed = False
        for number in range(1, len(found)):
            common, *others = (x for x in predecessors[number] if found[x] >= 0)
            for x in others:
                while x != common:
                    x, common = (found[x], common) if x > common else (x, found[common])
            if found[number] != common:
                found[number], is_changed = common, True
    return found


def _dominates(dominators: Sequence[int], one: int, other: int) -> bool:
    while other > one:
        other = dominators[other]
    return other == one


def _dominators_of(dominators: Sequence[int], number: int) -> set[int]:
    """The blocks on every path to a block: the block and its dominators."""
    found = {0, number}
    while number:
        number = dominators[number]
        found.add(number)
    return found


def _natural_loop(header: int, latch: int, predecessors: Sequence[Sequence[int]]) -> set[int]:
    """The blocks of the natural loop of a back edge from a latch to a header."""
    blocks, pending = {header}, [latch]
    while pending:
        number = pending.pop()
        if number not in blocks:
            blocks.add(number)
            pending += predecessors[number]
    return blocks


def _accesses_memory(block: Any) -> bool:
    return any(
        x.opname in ("load", "store") or (x.opname == "call" and str(x.callee.name).startswith(_INTRINSICS))
        for x in block.instructions
    )

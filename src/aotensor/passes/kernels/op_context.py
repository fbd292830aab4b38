"""Rules for kernels of users' ops: locations at lines of the kernel, chunks for cores, disjoint writes in `parallel`.

An access in a parallel loop over i is shown to be private to its iteration if all accesses to its array agree on one
axis whose position is, with c, m and the step s constant in the loop:

    i + c                                       or k + c for k in range(i, min(i + s, n))
    i·m + k + c, for k in range(m) and s = 1
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, IntegerAttr, StringAttr
from xdsl.ir import Block, BlockArgument, SSAValue

from aotensor.ir.index_builder import Extent
from aotensor.ir.location import KERNEL, LocatedBuilder
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.kernels.source import Source

Terms: TypeAlias = "dict[tuple[SSAValue, ...], int]"
"""A sum of products of index values: factors, sorted by identity → coefficient."""
_HINT: Final = "write x[i], x[i, j], or x[i * m + j] with j in range(m); otherwise use range"


class Access(NamedTuple):
    """An access to an array. place: the kernel and the node. where: its positions."""

    source: Source
    place: ast.AST
    buffer: SSAValue
    where: tuple[Extent, ...]
    is_write: bool


@dataclass
class OpContext:
    """The translation of one op's kernel.

    chunk_size: (iterations, work per iteration) → iterations per chunk of a parallel loop.
    accesses: those of the parallel loop under translation; None outside of such a loop.
    """

    chunk_size: Callable[[Extent, Extent], Extent]
    accesses: list[Access] | None = None
    _files: dict[str, StringAttr] = field(default_factory=dict)

    def locate(self, b: LoopBuilder, source: Source, statement: ast.stmt) -> None:
        """Give operations that are built from now on the location of a statement."""
        file, line = source.place(statement)
        if isinstance(b.builder, LocatedBuilder):
            name = self._files.setdefault(file, StringAttr(file))
            b.builder.location = FileLineColLoc(name, IntAttr(line), IntAttr(KERNEL))

    @contextmanager
    def checking(self, counter: Callable[[], Scalar], step: Extent) -> Iterator[None]:
        """Context manager: translate a parallel loop, and check that no iteration accesses what another one writes.

        counter: the loop's counter, once it exists.   Raises: KernelError at the first access that may
        """
        outer, self.accesses = self.accesses, []
        try:
            yield
            _check(self.accesses, counter().ssa, step)
            if outer is not None:
                outer.extend(self.accesses)
        finally:
            self.accesses = outer


def _check(accesses: Sequence[Access], counter: SSAValue, step: Extent) -> None:
    assert isinstance(counter, BlockArgument)
    loop = _Loop(counter, step)
    shared = [x for x in accesses if not loop.varies(x.buffer)]
    for buffer in dict.fromkeys(x.buffer for x in shared if x.is_write):
        own = [x for x in shared if x.buffer is buffer]
        places = [[loop.place(n) for n in x.where] for x in own]
        if not any(all(row[axis] is not None and row[axis] == places[0][axis] for row in places)
                   for axis in range(len(places[0]))):  # fmt: skip
            first = next(k for k, row in enumerate(places) if row != places[0] or not any(row))
            x = own[first]
            verb = "written" if x.is_write else "read"
            what = f"{ast.unparse(x.place)} is {verb} where another iteration of a parallel loop may write"
            raise x.source.error(x.place, what, hint=_HINT)


class _Loop:
    """A parallel loop: which positions only one iteration can have."""

    def __init__(self, counter: BlockArgument, step: Extent) -> None:
        self.counter, self.step = counter, _terms(step)
        self.body: Block = counter.block

    def varies(self, x: SSAValue) -> bool:
        """Is a value computed in the loop?"""
        block = x.block if isinstance(x, BlockArgument) else x.owner.parent_block()
        while block is not None and block is not self.body:
            block = block.parent_block()
        return block is not None

    def place(self, position: Extent) -> tuple[object, ...] | None:
        """(size of a block, offset) if positions of iteration i are in block i plus the offset; else None.

        The first block size is None for blocks of one step.
        """
        terms = _terms(position)
        fixed = {x: n for x, n in terms.items() if not any(map(self.varies, x))}
        moving = {x: n for x, n in terms.items() if x not in fixed}
        multiples = {x: n for x, n in moving.items() if self.counter in x}
        others = [(x, n) for x, n in moving.items() if x not in multiples]
        if multiples == {(self.counter,): 1} and not others:
            return None, _frozen(fixed)
        if len(others) > 1 or any(len(x) != 1 or n != 1 for x, n in others):
            return None
        inner = _range(others[0][0][0]) if others else ({}, [])
        if inner is None:
            return None
        low, highs = inner
        if not multiples:
            return self._within_step(low, highs, fixed)
        is_step = multiples == {(self.counter,): 1}
        if len(multiples) != 1 or not (is_step or self.step == {(): 1}):
            return None
        ((factors, number),) = multiples.items()
        rest = list(factors)
        rest.remove(self.counter)
        size: Terms = self.step if is_step else {tuple(rest): number}
        if self.counter in rest or number < 1 or any(map(self.varies, rest)):
            return None
        is_inside = set(low) <= {()} and low.get((), 0) >= 0
        if not is_inside or (others and not any(_is_at_most(high, size) for high in highs)):
            return None
        return None if is_step else _frozen(size), _frozen(fixed)

    def _within_step(self, low: Terms, highs: Sequence[Terms], fixed: Terms) -> tuple[object, ...] | None:
        """The place of a counter of a range from i + c to at most i + c + step."""
        start = {x: n for x, n in low.items() if x != (self.counter,)}
        if low.get((self.counter,)) != 1 or any(any(map(self.varies, x)) for x in start):
            return None
        if not any(_is_at_most(high, _sum(low, self.step)) for high in highs):
            return None
        return None, _frozen(_sum(fixed, start))


def _is_at_most(x: Terms, y: Terms) -> bool:
    """Is x ≤ y, by a constant?"""
    rest = _sum(y, {k: -n for k, n in x.items()})
    return set(rest) <= {()} and rest.get((), 0) >= 0


def _range(x: SSAValue) -> tuple[Terms, list[Terms]] | None:
    """(start, upper bounds) of the counter of a loop."""
    if not isinstance(x, BlockArgument) or x.index != 0 or not isinstance(loop := x.block.parent_op(), scf.ForOp):
        return None
    pending, found = [loop.ub], list[Terms]()
    for high in pending:  # grows
        found.append(_terms(Scalar(high, "index")))
        if isinstance(high.owner, arith.MinSIOp):
            pending += [high.owner.lhs, high.owner.rhs]
    return _terms(Scalar(loop.lb, "index")), found


def _terms(x: Extent) -> Terms:
    """An index value as a sum of products."""
    if isinstance(x, int):
        return {(): x} if x else {}
    match x.ssa.owner:
        case arith.ConstantOp(value=IntegerAttr() as number):
            return {(): number.value.data} if number.value.data else {}
        case arith.AddiOp() as op:
            return _sum(_terms(Scalar(op.lhs, "index")), _terms(Scalar(op.rhs, "index")))
        case arith.SubiOp() as op:
            return _sum(_terms(Scalar(op.lhs, "index")), {k: -n for k, n in _terms(Scalar(op.rhs, "index")).items()})
        case arith.MuliOp() as op:
            sides = _terms(Scalar(op.lhs, "index")), _terms(Scalar(op.rhs, "index"))
            found = Counter[tuple[SSAValue, ...]]()
            for a, m in sides[0].items():
                for b, n in sides[1].items():
                    found[tuple(sorted((*a, *b), key=id))] += m * n
            return _sum(found, {})
        case _:
            return {(x.ssa,): 1}


def _sum(x: Terms, y: Terms) -> Terms:
    found = {k: x.get(k, 0) + y.get(k, 0) for k in (*x, *y)}
    return {k: n for k, n in found.items() if n}


def _frozen(x: Terms) -> frozenset[tuple[tuple[SSAValue, ...], int]]:
    return frozenset(x.items())

"""The function @f.extents: the part of a function f that computes the extents of its outputs, and checks shapes.

%m = … %x …                          check x against y            checks of arguments first
check x against y                    %m = … %x …
check %m                     →       check %m                     a guard of later operations
%n = count of %m                     %n = count of %m
… return …[%n]                       return %n
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from aotensor.ir.dialect import CheckOp, LapackOp
from aotensor.ir.upstream import walk

_TENSOR_PRODUCERS = (tensor.EmptyOp.name, tensor.SplatOp.name, tensor.InsertSliceOp.name)


def extents_function(main: func.FuncOp, extents: Sequence[SSAValue]) -> func.FuncOp:
    """A copy of `main` that returns the extents of its outputs.

    It begins with the checks that need no computed tensor. If extents depend on computed tensors, it also has the
    preceding checks of `main` that may guard them.
    """
    block = main.body.block
    mapper: dict[SSAValue, SSAValue] = {}
    copy = Block(arg_types=[a.type for a in block.args])
    for old, new in zip(block.args, copy.args, strict=True):
        mapper[old] = new
        new.name_hint, new.location = old.name_hint, old.location
    for op in _needed(block, extents):
        copy.add_op(op.clone(mapper))
    results = [mapper[x] for x in extents]
    copy.add_op(func.ReturnOp(*results))
    function = func.FuncOp(
        f"{main.sym_name.data}.extents", ([a.type for a in block.args], [x.type for x in results]), Region(copy)
    )
    function.attributes["dims"] = main.attributes["dims"]
    return function


def _needed(block: Block, roots: Sequence[SSAValue]) -> list[Operation]:
    """The operations of @f.extents: checks of arguments and the computation of `roots`, with checks that guard it."""
    checks = [op for op in block.ops if isinstance(op, CheckOp)]
    is_known = AllSources(is_scalar)
    first = _closure(block, [op for op in checks if is_known(op.operands)], ())
    rest = _closure(block, (), roots)
    computed = [position for position, op in enumerate(block.ops) if op in rest and _is_computation(op)]
    if computed:
        before = set(list(block.ops)[: computed[-1]])
        pending = [op for op in checks if op in before and op not in first]
        while guards := _guards(pending, rest):
            rest |= _closure(block, guards, ())
            pending = [op for op in pending if op not in rest]
    return [*(op for op in block.ops if op in first), *(op for op in block.ops if op in rest and op not in first)]


def _guards(checks: Iterable[CheckOp], ops: Set[Operation]) -> list[CheckOp]:
    """The checks that may guard some operations: those of tensors that the operations read.

    A failed factorization has undefined results: the check guards only their readers.
    """
    read = {x for op in ops for inner in walk(op) for x in inner.operands if isinstance(x.type, TensorType)}
    failures = {op.failure for op in ops if isinstance(op, LapackOp)}
    return [
        op for op in checks
        if not (failures if op.kind.data == "linalg" else read).isdisjoint(sources([op.condition]))
    ]  # fmt: skip


def _closure(block: Block, ops: Iterable[Operation], values: Iterable[SSAValue]) -> set[Operation]:
    """The operations `ops` of a block, with all operations that these and `values` depend on."""
    needed = set(ops)
    pending = [*values, *(x for op in needed for x in op.operands)]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation) and owner.parent is block and owner not in needed:
            needed.add(owner)
            for inner in walk(owner):
                pending.extend(inner.operands)
    return needed


def pin_rounding(block: Block, extents: Iterable[SSAValue]) -> set[Operation]:
    """Disable reassociation and contraction in the computation of extents, so that every function rounds them alike.

    `@f` and `@f.extents` both compute such an extent, in different loops. Returns the pinned operations.
    """
    is_known = AllSources(is_scalar)
    pinned = _closure(block, (), [x for x in extents if not is_known([x])])
    for op in pinned:
        for inner in walk(op):
            if "fastmath" in inner.properties:
                inner.properties["fastmath"] = arith.FastMathFlagsAttr("none")
    return pinned


class AllSources:
    """A predicate: do values, and all values that they depend on, have a property? `AllSources(is_scalar)([n])`

    Each value is visited once, also for later queries: create a new one after the IR has changed.
    """

    def __init__(self, has: Callable[[SSAValue], bool]) -> None:
        self._has = has
        self._known: dict[SSAValue, bool] = {}

    def __call__(self, values: Iterable[SSAValue]) -> bool:
        return all(map(self._verdict, values))

    def _verdict(self, value: SSAValue) -> bool:
        known, pending = self._known, [value]
        while pending:  # without recursion: sums can be long chains
            x = pending[-1]
            operands: Sequence[SSAValue] = ()
            if x not in known and self._has(x):
                operands = x.owner.operands if isinstance(x.owner, Operation) else ()
                if missing := [y for y in operands if y not in known]:
                    pending += missing
                    continue
                known[x] = all(known[y] for y in operands)
            known.setdefault(x, False)
            pending.pop()
        return known[value]


def is_scalar(x: SSAValue) -> bool:
    """Is a value an argument, or a result of scalar arithmetic?"""
    return not (isinstance(x.owner, Operation) and _is_computation(x.owner))


def sources(values: Iterable[SSAValue], stop: type[Operation] | None = None) -> Iterator[SSAValue]:
    """Yield values and all values that they depend on, once each; does not look through operations of type `stop`."""
    pending, seen = list(values), set[SSAValue]()
    while pending:
        x = pending.pop()
        if x in seen:
            continue
        seen.add(x)
        yield x
        if isinstance(x.owner, Operation) and not (stop is not None and isinstance(x.owner, stop)):
            for inner in walk(x.owner):
                pending.extend(inner.operands)


def _is_computation(op: Operation) -> bool:
    """Is an operation a computation on tensors, rather than scalars?"""
    return bool(op.regions) or op.name.startswith(("linalg.", "aot.", "nest.")) or op.name in _TENSOR_PRODUCERS

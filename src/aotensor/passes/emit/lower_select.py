"""Selection by rank along lines: each round partitions the candidates and keeps one part.

    aot.select "ranks" %x at %k     →     candidates = keys of x
                                          while they are many, and their keys differ:
                                              u, v = two keys of a sample, likely to enclose the wanted one
                                              count keys < u and keys ≤ v, keep those of the part that contains the rank

Keys are integers in the order of the elements, so that nan is an element like any other. Samples are equidistant, so
that the same line gets the same rounds. If a round has kept more than half, the next one halves the range of the keys
instead, which bounds the number of rounds by about 130; most lines need three. Source: R. W. Floyd and R. L. Rivest,
Expected time bounds for selection (1975); the fallback is that of introselect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from aotensor.ir.dialect import SelectOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i64
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import STEP, element_dtype
from aotensor.passes.emit.parallel_lines import each_line
from aotensor.passes.target import Target

Keys: TypeAlias = Callable[[Scalar], Scalar]
"""k → the key of element k."""

_SAMPLE: Final = 256
"""Largest number of keys in a sample; one key is sampled per this many candidates:"""
_SHARE: Final = 32
_FEW: Final = 24
"""Up to this many candidates, every pair is compared."""
_BLOCK: Final = 32
"""Elements that are tested at once for one that is kept."""
_RARE: Final = 64
"""Blocks are tested if fewer than one element in this many is kept."""
_PASSES: Final = 4
"""Work per element, in steps along a line."""
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def lower_select(b: LoopBuilder, buffers: Buffers, op: SelectOp, target: Target) -> None:
    """Emit the positions of the elements at the given ranks, line by line."""
    *others, length = buffers.shape(op.source)
    source, positions = buffers.buffer(op.source), buffers.buffer(op.positions)
    dtype = element_dtype(op.source, is_unsigned=op.unsigned is not None)
    assert isinstance(op.positions.type, TensorType)
    count = buffers.shape(op.positions)[-1]

    def begin() -> Callable[[list[Scalar]], None]:
        memory = _Memory(b, b.allocate(i64, [length]), b.allocate(i64, [_SAMPLE]))

        def select(where: list[Scalar]) -> None:
            def key(k: Scalar) -> Scalar:
                return _key(b, b.fetch(source, [*where, k], dtype))

            def put(k: Scalar, position: Scalar) -> None:
                b.store(b.cast(position, "int64"), positions, [*where, k])

            if op.ranks is None:
                _collect(b, memory, key, length, count, op.kind.data == "last", put)
                return
            ranks = buffers.buffer(op.ranks)

            def at_rank(k: Scalar, before: list[Scalar]) -> Sequence[Scalar]:
                rank = b.cast(b.fetch(ranks, [k], "int64"), "index")
                ahead = b.sub(rank, before[0])
                found, equal = b.branch(
                    b.and_(b.compare("ge", ahead, b.index(0)), b.compare("le", ahead, b.index(1))),
                    lambda: _next(b, key, length, rank, before),
                    lambda: _find(b, memory, key, length, rank),
                )
                put(k, _position(b, key, found, equal))
                return rank, found, equal

            nothing = [b.index(-2), b.constant(0, "int64"), b.index(0)]
            b.loop(0, count, nothing, at_rank, is_vectorisable=False, is_unrolled=False)

        return select

    passes = b.imul(length, _PASSES * STEP)
    each_line(b, op, target, others, passes if op.ranks is None else b.imul(passes, count), begin)


@dataclass(frozen=True)
class _Memory:
    """Buffers for the keys of a line's candidates, and for a sample of them."""

    b: LoopBuilder
    candidates: SSAValue
    sample: SSAValue

    def candidate(self, k: Scalar) -> Scalar:
        return self.b.fetch(self.candidates, [k], "int64")

    def sampled(self, k: Scalar) -> Scalar:
        return self.b.fetch(self.sample, [k], "int64")


def _key(b: LoopBuilder, x: Scalar) -> Scalar:
    """An int64 key in the order of x.

    Keys of 0 and −0 are equal; keys of all nan are equal, and larger than all others.
    """
    if x.dtype in ("float32", "float64"):
        x = b.cast(x, "float64")
        bits = b.bitcast(b.select(b.compare("eq", x, b.constant(0, "float64")), b.constant(0, "float64"), x), "int64")
        sign = b.shift_right(bits, b.constant(63, "int64"))
        ordered = b.xor(bits, b.and_(sign, b.constant(_MOST, "int64")))
        return b.select(b.is_nan(x), b.constant(_MOST, "int64"), ordered)
    if x.dtype == "uint64":
        return b.xor(Scalar(x.ssa, "int64"), b.constant(_LEAST, "int64"))
    return b.cast(x, "int64")


@dataclass(frozen=True)
class _State:
    """The state of a search.

    low, high: range of the candidates' keys. count: their number. rank: of the wanted one. half: halve the range next?
    """

    low: Scalar
    high: Scalar
    count: Scalar
    rank: Scalar
    half: Scalar

    @staticmethod
    def of(values: list[Scalar]) -> _State:
        return _State(*values)

    def values(self) -> list[Scalar]:
        return [self.low, self.high, self.count, self.rank, self.half]


def _next(b: LoopBuilder, key: Keys, length: Extent, rank: Scalar, before: list[Scalar]) -> Sequence[Scalar]:
    """The result of `_find` for the previous rank or the rank after it, in one sweep over the keys.

    before: the previous rank, and the result of `_find` for it.
    """
    last, found, equal = before
    most, zero, one = b.constant(_MOST, "int64"), b.index(0), b.index(1)

    def step(k: Scalar, carried: list[Scalar]) -> list[Scalar]:
        upto, above = carried
        x = key(k)
        is_above = b.compare("gt", x, found)
        return [b.add(upto, b.select(is_above, zero, one)), b.minimum(above, b.select(is_above, x, most))]

    upto, above = b.loop(0, length, [zero, most], step)
    is_equal = b.compare("lt", rank, upto)
    return b.select(is_equal, found, above), b.select(is_equal, b.sub(b.add(equal, rank), last), zero)


def _find(b: LoopBuilder, memory: _Memory, key: Keys, length: Extent, rank: Scalar) -> tuple[Scalar, Scalar]:
    """The key at a rank, and how many keys equal to it precede it in the sorted line."""
    least, most = (b.constant(x, "int64") for x in (_LEAST, _MOST))
    start = _State(least, most, b.index(length), rank, b.constant(False, "bool"))
    state = _round(b, memory, key, start)

    def goes_on(values: list[Scalar]) -> Scalar:
        now = _State.of(values)
        return b.and_(b.compare("ne", now.low, now.high), b.compare("gt", now.count, b.index(_FEW)))

    ended = _State.of(
        b.loop_while(
            state.values(), goes_on, lambda values: _round(b, memory, memory.candidate, _State.of(values)).values()
        )
    )

    def of_few() -> Sequence[Scalar]:
        found, _, before, _ = _of_few(b, memory.candidate, ended.count, ended.rank, ended.rank)
        return found, b.sub(ended.rank, before)

    found, equal = b.branch(b.compare("eq", ended.low, ended.high), lambda: (ended.low, ended.rank), of_few)
    return found, equal


def _round(b: LoopBuilder, memory: _Memory, key: Keys, state: _State) -> _State:
    """Emit one round: choose two keys; of the candidates below, between and above, keep the part with the rank."""
    u, v = b.branch(state.half, lambda: _middle(b, state), lambda: _pivots(b, memory, key, state))
    zero, one = b.index(0), b.index(1)

    def count(k: Scalar, counted: list[Scalar]) -> list[Scalar]:
        x = key(k)
        tests = (b.compare("lt", x, u), b.compare("le", x, v))
        return [b.add(n, b.select(test, one, zero)) for n, test in zip(counted, tests, strict=True)]

    less, upto = b.loop(0, state.count, [zero, zero], count)
    is_less, is_more = b.compare("lt", state.rank, less), b.compare("ge", state.rank, upto)

    def part(below: Scalar, above: Scalar, between: Scalar) -> Scalar:
        return b.select(is_less, below, b.select(is_more, above, between))

    unit = b.constant(1, "int64")
    low = part(state.low, b.add(v, unit), u)
    high = part(b.sub(u, unit), state.high, v)
    kept = part(less, b.sub(state.count, upto), b.sub(upto, less))
    rank = b.sub(state.rank, part(zero, upto, less))

    def keep() -> Sequence[Scalar]:
        def step(k: Scalar, carried: list[Scalar]) -> list[Scalar]:
            (end,) = carried
            x = key(k)
            b.store(x, memory.candidates, [end])  # discarded candidates are overwritten
            is_kept = b.and_(b.compare("ge", x, low), b.compare("le", x, high))
            return [b.add(end, b.select(is_kept, one, zero))]

        def is_kept(k: Scalar) -> Scalar:
            x = key(k)
            return b.and_(b.compare("ge", x, low), b.compare("le", x, high))

        _sweep(b, state.count, [zero], step, is_kept, kept)
        return ()

    b.branch(b.compare("ne", low, high), keep, lambda: ())
    half = b.compare("gt", b.add(kept, kept), state.count)
    return _State(low, high, kept, rank, half)


def _middle(b: LoopBuilder, state: _State) -> Sequence[Scalar]:
    """Twice the middle of the range of keys, as two equal keys to partition by."""
    one = b.constant(1, "int64")
    differ = b.shift_right(b.xor(state.low, state.high), one)
    middle = b.add(b.and_(state.low, state.high), differ)
    return middle, middle


def _pivots(b: LoopBuilder, memory: _Memory, key: Keys, state: _State) -> Sequence[Scalar]:
    """Two keys of a sample, chosen by rank so that they likely enclose the wanted key."""
    size = b.imax(b.imin(b.div(state.count, b.index(_SHARE)), _SAMPLE), 1)
    n = b.index(size)
    distance = b.div(state.count, n)

    def take(k: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        b.store(key(b.mul(k, distance)), memory.sample, [k])
        return ()

    b.loop(0, n, (), take)
    middle = b.div(b.mul(state.rank, n), state.count)
    apart = b.add(b.div(n, b.index(16)), b.index(4))
    first, last = b.imax(b.sub(middle, apart), 0), b.imin(b.add(middle, apart), b.sub(n, b.index(1)))
    u, v, *_ = _of_few(b, memory.sampled, n, b.index(first), b.index(last))
    return u, v


def _of_few(b: LoopBuilder, key: Keys, count: Scalar, first: Scalar, second: Scalar) -> list[Scalar]:
    """The keys at two ranks, and how many keys are smaller than each, for few keys: compares every pair."""
    zero, one = b.index(0), b.index(1)

    def rank(i: Scalar, found: list[Scalar]) -> list[Scalar]:
        x = key(i)

        def compare(k: Scalar, counted: list[Scalar]) -> list[Scalar]:
            tests = (b.compare("lt", key(k), x), b.compare("le", key(k), x))
            return [b.add(n, b.select(test, one, zero)) for n, test in zip(counted, tests, strict=True)]

        less, upto = b.loop(0, count, [zero, zero], compare)
        here = [b.and_(b.compare("ge", n, less), b.compare("lt", n, upto)) for n in (first, second)]
        keys = [b.select(is_here, x, old) for is_here, old in zip(here, found[:2], strict=True)]
        return [*keys, *(b.select(is_here, less, old) for is_here, old in zip(here, found[2:], strict=True))]

    nothing = b.constant(0, "int64")
    return b.loop(0, count, [nothing, nothing, zero, zero], rank, is_vectorisable=False, is_unrolled=False)


def _position(b: LoopBuilder, key: Keys, found: Scalar, equal: Scalar) -> Scalar:
    """The position of the element with key `found` that has `equal` elements of the same key before it."""
    zero, one = b.index(0), b.index(1)

    def goes_on(carried: list[Scalar]) -> Scalar:
        k, left = carried
        return b.or_(b.compare("gt", left, zero), b.compare("ne", key(k), found))

    def step(carried: list[Scalar]) -> Sequence[Scalar]:
        k, left = carried
        return b.add(k, one), b.sub(left, b.select(b.compare("eq", key(k), found), one, zero))

    position, _ = b.loop_while([zero, equal], goes_on, step)
    return position


def _collect(
    b: LoopBuilder, memory: _Memory, key: Keys, length: Extent, count: Extent, is_last: bool,
    put: Callable[[Scalar, Scalar], None],
) -> None:  # fmt: skip
    """Put the positions of the `count` smallest, or largest (`is_last`), elements, in their order along the line.

    A bound separates both parts. Of the keys equal to it, the first `equal` count as smaller, the others as larger.
    """
    if count == 0:
        return
    zero, one = b.index(0), b.index(1)
    rank = b.index(b.isub(length, count) if is_last else b.isub(count, 1))
    found, equal = _find(b, memory, key, length, rank)
    quota = equal if is_last else b.add(equal, one)

    def step(k: Scalar, carried: list[Scalar]) -> list[Scalar]:
        end, seen = carried
        x = key(k)
        is_equal = b.compare("eq", x, found)
        in_front = b.compare("lt", seen, quota)
        is_chosen = b.or_(
            b.compare("gt" if is_last else "lt", x, found),
            b.and_(is_equal, b.not_(in_front) if is_last else in_front),
        )

        def store() -> Sequence[Scalar]:
            put(end, k)
            return ()

        b.branch(b.compare("lt", end, b.index(count)), store, lambda: ())
        return [b.add(end, b.select(is_chosen, one, zero)), b.add(seen, b.select(is_equal, one, zero))]

    def is_near(k: Scalar) -> Scalar:
        return b.compare("ge" if is_last else "le", key(k), found)

    _sweep(b, b.index(length), [zero, zero], step, is_near, b.index(count))


def _sweep(
    b: LoopBuilder, length: Scalar, carried: Sequence[Scalar], step: Callable[[Scalar, list[Scalar]], Sequence[Scalar]],
    is_found: Callable[[Scalar], Scalar], found: Scalar,
) -> Sequence[Scalar]:  # fmt: skip
    """Emit the scalar loop carried = step(k, carried) over a line, or only over blocks that contain matching elements.

    is_found: does `step` do anything for element k? found: estimated number of such elements. A block is tested by
    vectors, at the rate at which the line is read.
    """
    zero, one, size = b.index(0), b.index(1), b.index(_BLOCK)

    def over(first: Extent, last: Extent, values: Sequence[Scalar]) -> Sequence[Scalar]:
        return b.loop(first, last, values, step, is_vectorisable=False)

    def by_blocks() -> Sequence[Scalar]:
        whole = b.mul(b.div(length, size), size)

        def block(first: Scalar, values: list[Scalar]) -> Sequence[Scalar]:
            last = b.add(first, size)

            def count(k: Scalar, counted: list[Scalar]) -> Sequence[Scalar]:
                return [b.add(counted[0], b.select(is_found(k), one, zero))]

            (number,) = b.loop(first, last, [zero], count)
            return b.branch(b.compare("gt", number, zero), lambda: over(first, last, values), lambda: values)

        return over(whole, length, b.loop(0, whole, carried, block, _BLOCK, is_vectorisable=False, is_unrolled=False))

    is_rare = b.compare("lt", b.mul(found, b.index(_RARE)), length)
    return b.branch(is_rare, by_blocks, lambda: over(0, length, carried))

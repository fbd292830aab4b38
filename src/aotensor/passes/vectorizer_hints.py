"""Set vectorization and unrolling hints of innermost loops where LLVM's own heuristics are known to be worse.

    scf.for %i = 0 to %n {                  scf.for %i = 0 to %m { … } {interleave = 4, lane_bits = 32}
      … func.call @aot.exp.f32 …      →     scf.for %i = %m to %n { … } {interleave = 1, lane_bits = 32, masked}
      %s = arith.addf … : f64
    }

Polynomials are dependence chains: four interleaved vectors keep the units busy that one leaves idle. A loop in float32
with a sum in float64 is vectorized by the float32 width; LLVM does not vectorize its epilogue, so the epilogue becomes
a separate masked loop.

Vectors of 64 bytes that are read at three or more positions along a row cross a cache line nearly each time, those of
32 bytes every second time: such loops use vectors of 32 bytes.

LLVM unrolls a nest of known extents up to thousands of instructions; `nounroll` prevents it for nests of more than a
few iterations, which compile several times as fast and run no slower.

Sums over the chunks of a parallel loop, of at most a few dozen numbers, are neither vectorized nor unrolled: LLVM made
seventy lines of each, a third of the time to compile 300 such sums.

A short loop that reads adjacent numbers at each step, such as the parts of complex entries, is not vectorized: a vector
would have to gather them, and complex products with sparse matrices took 1.3 to 2.1 times as long as SciPy's.

Neither are short loops that gather, x[at[i]], where vectors have no masks: LLVM loads the lanes of a masked vector
one by one, behind a branch each. Products with sparse matrices took 1.6 to 2.7 times as long with AVX2, 1.4 to 2 times
with SSE. SSE and NEON lack masked loads of adjacent elements, too: sums of rows took 1.5 times as long.

Neither are short loops that scatter-add at positions that they read, y[at[i]] += x[i]: with eight copies of such a load
and store, products with transposed sparse matrices take up to 1.16 times as long.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerAttr, ModuleOp, UnitAttr, VectorType
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Block, Operation, SSAValue

from aotensor.ir.location import builder_before
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import f32, f64, i64
from aotensor.ir.upstream import walk
from aotensor.passes.nest.cores.chunks import CHUNKS
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import analysis, applied, missed
from aotensor.passes.target import Target

LARGEST_UNROLLED: Final = 64  # iterations of a nest
WIDEST: Final = 256
"""Width in bits: half of the vectors of this width cross no cache line, for any start of the row."""
_NEIGHBOURS: Final = 3
_CHEAP: Final = (math.AbsFOp, math.FloorOp, math.CeilOp, math.TruncOp, math.RoundEvenOp, math.CopySignOp, math.SqrtOp)


@ir_pass(
    "vectorizer-hints",
    level="loops",
    topic="vectors",
    former="hint-vectors",
    options={
        "interleave": Option(
            1,
            16,
            "interleaved vectors in loops with long chains of elementary functions, a power of two from 1 to 16; "
            "by default 4, in loops with more than 20 functions 2",
            ("interleave", "interleave_crowded"),
            is_power=True,
        )
    },
)
def vectorizer_hints(module: ModuleOp, target: Target) -> None:
    """Sets vectorizer hints on innermost loops: interleaves four vectors where elementary functions have long
    latency; float32 vectors with a float64 sum, with a masked remainder; vectors of 32 bytes where neighbours along
    a row are read; limits LLVM's unrolling, and leaves short scatters scalar.
    """
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp) and function.sym_name.data.endswith(".kernel"):
            _limit_unrolling(function.body.block)
            for op in list(walk(function)):
                if isinstance(op, scf.ForOp) and _is_innermost(op) and "novector" not in op.attributes:
                    _annotate(op, target)


def _limit_unrolling(block: Block) -> int:
    """Disable unrolling of loops with too many iterations, inner loops multiplied in; return the largest number."""
    most = 1
    for op in block.ops:
        inside = max((_limit_unrolling(inner) for region in op.regions for inner in region.blocks), default=1)
        if isinstance(op, scf.ForOp):
            inside *= _iterations(op)
            if inside > LARGEST_UNROLLED:
                applied("{} not unrolled: its trip count is {}", op, inside)
                op.attributes["nounroll"] = UnitAttr()
        most = max(most, inside)
    return most


def _iterations(op: scf.ForOp) -> int:
    """The trip count of a loop if it is known, else 1: LLVM itself limits unrolling of unknown trip counts."""
    bounds = [x.owner.value.value.data for x in (op.lb, op.ub, op.step)
              if isinstance(x.owner, arith.ConstantOp) and isinstance(x.owner.value, IntegerAttr)]  # fmt: skip
    return len(range(*bounds)) if len(bounds) == 3 else 1


def _is_innermost(op: scf.ForOp) -> bool:
    return not any(inner.regions for inner in op.body.block.ops)


def _annotate(op: scf.ForOp, target: Target) -> None:
    if _is_over_chunks(op):
        analysis("partial sums of {}, one per chunk, are added by a scalar loop", op)
        op.attributes |= {"novector": UnitAttr(), "nounroll": UnitAttr()}
        return
    if "short" in op.attributes and _adds_at_positions(op.body.block):
        applied("{} not vectorized: it is a scatter", op)
        op.attributes["nounroll"] = UnitAttr()
        return
    if "short" in op.attributes and _reads_pairs(op):
        applied("{} not vectorized: it reads neighbouring elements, which would be gathers", op)
        op.attributes["novector"] = UnitAttr()
        return
    functions = sum(map(_is_elementary, op.body.block.ops))
    is_narrow, is_long, is_crowded = (
        _computes_in_float32(op.body.block),
        functions > 0,
        _has_many_functions(functions, target),
    )
    together = target.interleave_crowded if is_crowded else target.interleave
    lanes = target.register_bits // _lane_bits(op.body.block)
    is_short = "short" in op.attributes and not is_long
    if is_short and not target.has_masks and _gathers(op.body.block):
        applied("{} not vectorized: it gathers elements, and the target has no masked gathers", op)
        op.attributes |= {"novector": UnitAttr(), "nounroll": UnitAttr()}
        return
    if is_short and target.has_masked_loads and "parallel_accesses" in op.attributes and _has_only_sums(op):
        applied("vectorized {} as one masked vector (width: {}): its trip count is short", op, lanes)
        op.attributes["masked"] = UnitAttr()
        op.attributes["lane_bits"] = IntegerAttr(32 if is_narrow or not _has_float64(op.body.block) else 64, i64)
        return
    if is_short and not target.has_masked_loads:
        analysis("{} left to LLVM's vectorizer: the target has no masked loads", op)
        return
    if is_short:
        hint = "use --fp contract or fast, and compute other carried values in an expression of their own"
        missed("{} not vectorized with masks: it carries values other than reassociable sums", op, hint=hint)
    if is_narrow:
        applied("{} uses float32 vectors, with its sum in float64", op)
        op.attributes["lane_bits"] = IntegerAttr(32, i64)
    if is_long and is_narrow:
        _split_off_rest(op, together * target.lanes(32))
    if is_long:
        what = "loop {} interleaved (count: {}, width: {}): its elementary functions have long latency"
        applied(what, op, together, lanes)
        op.attributes["interleave"] = IntegerAttr(together, i64)
        if is_crowded and not is_narrow:  # LLVM would plan for vectors of all other widths, too
            op.attributes["lane_bits"] = IntegerAttr(_lane_bits(op.body.block), i64)
    elif not op.results and _is_for_vectors(op) and _reads_neighbours(op.body.block):
        applied("loop {} limited to vectors of {} bytes: it reads neighbouring elements of a row", op, WIDEST // 8)
        op.attributes["lane_bits"] = IntegerAttr(_lane_bits(op.body.block), i64)
        op.attributes["widest"] = IntegerAttr(WIDEST, i64)
    elif _is_for_vectors(op):
        analysis("loop {} left to LLVM's vectorizer (width: {})", op, lanes)


def _is_over_chunks(op: scf.ForOp) -> bool:
    """Does a loop sum numbers over the chunks of a parallel loop, one partial sum per chunk?"""
    bound = op.ub.owner
    is_count = isinstance(bound, Operation) and CHUNKS in bound.attributes
    return is_count and bool(op.results) and _has_only_sums(op)


def _has_many_functions(functions: int, target: Target) -> bool:
    """Does a loop compute too many elementary functions to profit from interleaving?"""
    return functions > target.few_functions


def _is_for_vectors(op: scf.ForOp) -> bool:
    """Are the iterations of a loop independent (or sums), and is the loop not explicitly vectorized yet?"""
    if any(isinstance(x.type, VectorType) for inner in op.body.block.ops for x in inner.results):
        return False
    return ("parallel_accesses" in op.attributes or bool(op.results)) and _has_only_sums(op)


def _reads_neighbours(body: Block) -> bool:
    """Does a loop read a buffer at several positions along its rows?"""
    found: dict[SSAValue, set[SSAValue]] = defaultdict(set)
    for op in body.ops:
        if isinstance(op, memref.LoadOp) and op.indices:
            found[op.memref].add(op.indices[-1])
    return any(len(columns) >= _NEIGHBOURS for columns in found.values())


def _reads_pairs(op: scf.ForOp) -> bool:
    """Does a loop read adjacent elements of a row in each iteration, and another row in the next one?"""
    found: dict[tuple[SSAValue, ...], set[SSAValue]] = defaultdict(set)
    for inner in op.body.block.ops:
        if isinstance(inner, memref.LoadOp) and len(inner.indices) > 1 and op.body.block.args[0] in inner.indices[:-1]:
            found[(inner.memref, *inner.indices[:-1])].add(inner.indices[-1])
    return any(len(columns) > 1 for columns in found.values())


def _adds_at_positions(body: Block) -> bool:
    """Does a loop update elements of a buffer at positions that are read from another one?"""
    read = {(op.memref, *op.indices) for op in body.ops if isinstance(op, memref.LoadOp)}
    written = {(op.memref, *op.indices) for op in body.ops if isinstance(op, memref.StoreOp)}
    return any(_is_read(indices[-1], body) for _, *indices in read & written if indices)


def _gathers(body: Block) -> bool:
    """Does a loop read elements at positions that it reads from another buffer?"""
    return any(_is_read(index, body) for op in body.ops if isinstance(op, memref.LoadOp) for index in op.indices)


def _is_read(x: SSAValue, body: Block) -> bool:
    """Is an index computed from a value that the loop loads?"""
    op = x.owner
    if not isinstance(op, Operation) or op.parent is not body:
        return False
    return isinstance(op, memref.LoadOp) or any(_is_read(operand, body) for operand in op.operands)


def _lane_bits(body: Block) -> int:
    """Bits of the widest floating-point type in a loop; it determines the number of lanes."""
    kinds = [x.type for op in body.ops for x in op.results]
    return max((x.bitwidth for x in kinds if isinstance(x, Float32Type | Float64Type)), default=64)


def _computes_in_float32(body: Block) -> bool:
    """Does a loop compute in float32, apart from a sum in float64?"""
    kinds = [op.results[0].type for op in body.ops if len(op.results) == 1]
    return kinds.count(f64) in range(1, kinds.count(f32) // 2 + 1)


def _has_only_sums(op: scf.ForOp) -> bool:
    """Are all loop-carried values reassociable sums? LLVM warns about hints on other loops."""
    block = op.body.block
    last = block.last_op
    assert last is not None
    for carried, handed in zip(block.args[1:], last.operands, strict=True):
        total = handed.owner
        if not isinstance(total, arith.AddiOp | arith.AddfOp):
            return False
        if isinstance(total, arith.AddfOp) and FastMathFlag.REASSOC not in total.fastmath.data:
            return False
        if carried not in total.operands or not carried.has_one_use():
            return False
    return True


def _has_float64(body: Block) -> bool:
    return any(x.type == f64 for op in body.ops for x in op.results)


def _is_elementary(op: Operation) -> bool:
    return isinstance(op, func.CallOp) or (op.name.startswith("math.") and not isinstance(op, _CHEAP))


def _split_off_rest(op: scf.ForOp, widest: int) -> None:
    """Split off an epilogue: the loop covers whole groups of `widest` elements, a masked copy of it the remainder."""
    rest = op.clone()
    rest.attributes["masked"] = UnitAttr()
    block = op.parent
    assert block is not None
    block.insert_op_after(rest, op)
    low, high = Scalar(op.lb, "index"), Scalar(op.ub, "index")
    with LoopBuilder(builder_before(op)).active():
        middle = low + (high - low) / widest * widest
    op.operands[1] = middle.ssa
    for old, new in zip(op.results, rest.results, strict=True):
        old.replace_all_uses_with(new)
    rest.operands[0] = middle.ssa
    for position, result in enumerate(op.results):
        rest.operands[3 + position] = result

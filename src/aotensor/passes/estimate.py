"""Estimate the work of a compiled function: its floating-point operations, as a formula of its dims.

Operations are counted in loop IR: a trip count is a polynomial of the dims, and the loop's body counts that often. A
division that unrolling introduces counts as exact, so that main loop and epilogue add up to the whole. A slice of a
sparse matrix counts as one of mean length, which is exact for the sum over all slices. Trip counts of while loops and
the branch taken depend on values: then the count is a lower bound, or that of the longer branch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import Float32Type, IntegerAttr, MemRefType, ModuleOp, VectorType
from xdsl.ir import Block, Operation, SSAValue

from aotensor.core.polynomial import Monomial, Polynomial
from aotensor.ir.types import element_bytes, index, lane_type
from aotensor.ir.upstream import GatherOp, ParallelOp
from aotensor.passes.emit.balance import BALANCED
from aotensor.passes.emit.library import PREFIX as PRODUCT_PREFIX
from aotensor.passes.gemm.position_product import PREFIX_AT
from aotensor.passes.lapack.routines import PREFIX as LAPACK_PREFIX
from aotensor.passes.lapack.routines import WORK
from aotensor.passes.nest.cores.chunks import CHUNK_SIZE, CHUNKS
from aotensor.passes.outlining.outline import OUTLINED
from aotensor.passes.report.flops import float_lanes, flops_of
from aotensor.passes.scalar_math.table import is_lane_function

Shape: TypeAlias = Sequence[int | str | None]

KINDS: Final = ("scalar", "f32", "f64", "product32", "product64", "lapack")
"""Kinds of floating-point operations: outside loops, in loops by the bits of the result, in matrix products, and in
LAPACK routines."""
OTHERS: Final = ("bytes", "gathers")
"""Other costs: bytes read and written (every access counts), and elements at gathered addresses."""


@dataclass(frozen=True)
class Estimate:
    """The operations of one call. parts: formula by kind, KINDS and OTHERS. is_exact: false for a lower bound."""

    parts: Mapping[str, Polynomial]
    is_exact: bool

    @property
    def flops(self) -> Polynomial:
        """The sum of all floating-point operations."""
        return Polynomial.sum(self.parts[kind] for kind in KINDS if kind in self.parts)

    def __str__(self) -> str:
        return str(self.flops) if self.is_exact else f"at least {self.flops}"


def count_flops(
    module: ModuleOp,
    kernel: str,
    shapes: Sequence[Shape],
    slices: Mapping[int, tuple[int | str, int | str]] | None = None,
    counts: Mapping[int, str] | None = None,
) -> Estimate:
    """Count the floating-point operations of function `kernel` of a loop-level module.

    shapes: shapes of its first arguments, in order; an extent is a number, the name of a dim, or unknown. slices:
    number of an indptr argument → the matrix's numbers of entries and of slices. counts: number of an integer argument
    that is a trip count → its name in the formula. One fused multiply-add counts two, a vector operation one per lane,
    and an expanded elementary function all operations of its polynomial.
    """
    counter = _Counter({op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)})
    function = counter.functions.get(kernel)
    if function is None or function.is_declaration:
        return Estimate({}, False)
    arguments = function.body.block.args
    counter.shapes.update(zip(arguments, shapes, strict=False))
    for number, (entries, count) in (slices or {}).items():
        mean = Polynomial.from_value(entries).divide(Polynomial.from_value(count))
        if mean is not None:
            counter.starts[arguments[number]] = _Starts(mean)
    counter.counts = {arguments[number]: name for number, name in (counts or {}).items()}
    total = counter.block(function.body.block)
    parts = {kind: total.part(_tag(kind)) for kind in (*KINDS, *OTHERS)}
    is_exact = counter.is_exact and not any(parts[kind].has_unknowns() for kind in KINDS)
    return Estimate({kind: x.without_unknowns() for kind, x in parts.items()}, is_exact)


def _tag(kind: str) -> str:
    """The factor by which polynomials tag a kind of operations; no dim has such a name."""
    return f"~{kind}"


@lru_cache(maxsize=256)
def _multiple(kind: str, count: int) -> Polynomial:
    """So many operations of a kind. Equal ones are one object, which `Polynomial.sum` counts."""
    return Polynomial.from_value(count) * Polynomial.from_value(_tag(kind))


_NOTHING: Final = Polynomial()


@dataclass
class _Starts:
    """Starts of slices. mean: entries per slice. known: slice number without constant → (constant, start)."""

    mean: Polynomial
    known: dict[frozenset[tuple[Monomial, Fraction]], tuple[Fraction, Polynomial]] = field(default_factory=dict)


class _Counter:
    def __init__(self, functions: Mapping[str, func.FuncOp]) -> None:
        self.functions = functions
        self.starts: dict[SSAValue, _Starts] = {}
        self.counts: dict[SSAValue, str] = {}
        self.depth = 0
        """Number of loops around the current operation."""
        self._places: set[SSAValue] = set()
        """Integers that were loaded, and those computed from them: indices of gathers."""
        self.shapes: dict[SSAValue, Shape] = {}
        self.values: dict[SSAValue, Polynomial] = {}
        self.is_exact = True
        self._called: dict[tuple[object, ...], Polynomial] = {}
        """Operation counts of called functions, in loops or outside; of outlined ones also by arguments."""

    def block(self, block: Block) -> Polynomial:
        """Count the operations of one execution of a block."""
        return Polynomial.sum(self._operation(op) for op in block.ops)

    def _operation(self, op: Operation) -> Polynomial:
        match op:
            case _ if type(op) not in _NESTED:
                self._evaluate(op)
                return self._count_operation(op)
            case scf.ForOp():
                return self._loop(op.body.block) * self._trips(op.lb, op.ub, op.step)
            case ParallelOp():
                return self._loop(op.body.block) * self._trips(op.lower, op.upper, op.step)
            case scf.IfOp() if BALANCED in op.attributes:
                made = op.true_region.block.last_op
                assert made is not None
                self.values[op.results[0]] = self._value(made.operands[0])
                return Polynomial()
            case scf.IfOp():
                branches = [self.block(region.block) for region in op.regions if region.blocks]
                return max(branches, key=Polynomial.typical_value, default=Polynomial())
            case func.CallOp():
                return self._call(op)
            case _:  # a while loop
                self.is_exact = False
                return self._loop(op.regions[0].block) + self._loop(op.regions[1].block)

    def _loop(self, body: Block) -> Polynomial:
        self.depth += 1
        total = self.block(body)
        self.depth -= 1
        return total

    def _count_operation(self, op: Operation) -> Polynomial:
        """Count one operation: its own flops, and the elements that it reads or writes."""
        if not self._places.isdisjoint(op.operands) or (
            isinstance(op, memref.LoadOp) and op.memref not in self.starts and not float_lanes(op.res.type)
        ):
            self._places.update(x for x in op.results if not float_lanes(x.type))
        count = flops_of(op)
        if count:
            kind = lane_type(op.results[0].type)
            name = "scalar" if not self.depth else "f32" if isinstance(kind, Float32Type) else "f64"
            return _multiple(name, count)
        return self._accessed(op)

    def _accessed(self, op: Operation) -> Polynomial:
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            value = op.res if isinstance(op, memref.LoadOp) else op.value
            indices: Sequence[SSAValue] = op.indices
        elif op.name in _ACCESSES:
            value = op.results[0] if op.results else op.operands[-1 if op.name == "vector.maskedstore" else 0]
            indices = op.operands
        else:
            return _NOTHING
        lanes = value.type.element_count() if isinstance(value.type, VectorType) else 1
        if op.name == GatherOp.name or (indices and indices[-1] in self._places):
            return _multiple("gathers", lanes)
        return _multiple("bytes", lanes * element_bytes(lane_type(value.type)))

    def _trips(self, lower: SSAValue, upper: SSAValue, by: SSAValue) -> Polynomial:
        first, end, step = (self._value(x) for x in (lower, upper, by))
        trips = (end - first).divide(step)
        if trips is None:
            return self._unknown(upper)
        number = trips.number()
        return Polynomial() if number is not None and number < 0 else trips  # partial sums, if there is a single chunk

    def _value(self, x: SSAValue) -> Polynomial:
        """The polynomial of an integer value; a new name if the value is unknown."""
        return self.values[x] if x in self.values else self._unknown(x)

    def _unknown(self, x: SSAValue) -> Polynomial:
        self.values[x] = Polynomial.from_value(f"#{len(self.values)}")
        return self.values[x]

    def _call(self, op: func.CallOp) -> Polynomial:
        name = op.callee.root_reference.data
        if name.startswith(f"{PRODUCT_PREFIX}."):
            return self._product(op)
        if name.startswith(f"{PREFIX_AT}."):
            return self._product_at(op)
        if name.startswith(LAPACK_PREFIX):
            return self._linear_algebra(name, op)
        if is_lane_function(name):
            return self._count_operation(op)
        function = self.functions.get(name)
        if function is None or function.is_declaration:
            self.is_exact = False
            return Polynomial()
        outlined = function.body.block.args if OUTLINED in function.attributes else ()
        return self._body(function, list(zip(op.arguments, outlined, strict=bool(outlined))))

    def _body(self, function: func.FuncOp, given: Sequence[tuple[SSAValue, SSAValue]]) -> Polynomial:
        """Count the body of a function, once for equal arguments up to names of unknowns.

        given: for an outlined function the operands of the call, each with the argument that it becomes.
        """
        names: dict[str, str] = {}
        known: list[object] = []
        for x, argument in given:
            if all(isinstance(use.operation, memref.ViewOp) and use.index == 1 for use in argument.uses):
                continue  # where a buffer begins in the workspace
            value, starts = self.values.get(x), self.starts.get(x)
            for name in sorted(value.unknowns()) if value else ():
                names.setdefault(name, f"#{len(names)} given")
            terms = value and frozenset(value.renamed(names).terms.items())
            known += [tuple(self.shapes.get(x, ())), terms, id(starts)]
        key = function.sym_name.data, self.depth > 0, tuple(known)
        if key not in self._called:
            for x, argument in given:
                self.shapes[argument] = self.shapes.get(x, ())
                if x in self.values:
                    self.values[argument] = self.values[x]
                if x in self.starts:
                    self.starts[argument] = self.starts[x]
            self._called[key] = self.block(function.body.block).renamed(names)
        return self._called[key].renamed({new: old for old, new in names.items()})

    def _linear_algebra(self, name: str, op: func.CallOp) -> Polynomial:
        """Count a LAPACK call, from its integer arguments; for a triangular solve also from its side."""
        routine = name.removeprefix(LAPACK_PREFIX).split(".")[0]
        if routine in ("trsm", "trmm"):
            routine += " from the left" if self._value(op.arguments[0]).number() == ord("L") else " from the right"
        if routine not in WORK:
            self.is_exact = False
            return Polynomial()
        factor, exponents = WORK[routine]
        total = Polynomial({(): factor}) * Polynomial.from_value(_tag("lapack"))
        integers = (x for x in op.arguments if x.type == index)
        for x, exponent in zip(integers, exponents, strict=False):
            for _ in range(exponent):
                total *= self._value(x)
        return total

    def _product(self, op: func.CallOp) -> Polynomial:
        """Count a matrix product: 2·m·n·k."""
        is_transposed = self.values.get(op.arguments[0], Polynomial()).number()
        left, result = (self._extents(op.arguments[number]) for number in (2, 4))
        inner = left[0 if is_transposed else 1] if len(left) == 2 else None
        if inner is None or len(result) != 2 or None in result:
            self.is_exact = False
            return Polynomial()
        assert isinstance(op.arguments[4].type, MemRefType)
        is_single = isinstance(op.arguments[4].type.element_type, Float32Type)
        total = (
            inner * Polynomial.from_value(2) * Polynomial.from_value(_tag("product32" if is_single else "product64"))
        )
        for extent in result:
            total *= extent or Polynomial()
        return total

    def _product_at(self, op: func.CallOp) -> Polynomial:
        """Count a product of elements at positions: 2·g·m·n·k, from the extents of its position vectors."""
        kind = op.arguments[0].type
        assert isinstance(kind, MemRefType)
        is_single = isinstance(kind.element_type, Float32Type)
        total = Polynomial.from_value(2) * Polynomial.from_value(_tag("product32" if is_single else "product64"))
        for number in (5, 9, 10, 11):  # along p, g, i and j
            (extent,) = self._extents(op.arguments[number])
            if extent is None:
                self.is_exact = False
                return Polynomial()
            total *= extent
        return total

    def _extents(self, x: SSAValue) -> list[Polynomial | None]:
        """The extents of a buffer; None for unknown ones."""
        assert isinstance(x.type, MemRefType)
        owner = x.owner
        if isinstance(owner, memref.ReinterpretCastOp | memref.SubviewOp | memref.ViewOp):
            sizes = iter(owner.sizes)
            return [self.values.get(next(sizes)) if n < 0 else Polynomial.from_value(n) for n in x.type.get_shape()]
        if isinstance(owner, memref.CastOp):
            return self._extents(owner.source)
        known = self.shapes.get(x, x.type.get_shape())
        return [None if n is None or n == -1 or n in _DYNAMIC else Polynomial.from_value(n) for n in known]

    def _evaluate(self, op: Operation) -> None:
        """Record the value of integer arithmetic on dims."""
        found: Polynomial | None = None
        match op:
            case _ if type(op) not in _INTEGERS:
                pass
            case arith.ConstantOp(value=IntegerAttr() as literal):
                found = Polynomial.from_value(int(literal.value.data))
            case memref.DimOp():
                axis = self.values.get(op.index)
                number = axis.number() if axis is not None else None
                extents = self._extents(op.source)
                found = extents[int(number)] if number is not None and number < len(extents) else None
            case _ if type(op) in _MOVED:
                found = self.values.get(op.operands[-1])
            case arith.MuliOp() if CHUNK_SIZE in op.attributes:
                found = self._unknown(op.result)
            case arith.DivSIOp() if CHUNKS in op.attributes:
                found = Polynomial()  # the cost of adding their parts is negligible
            case arith.MinSIOp():
                found = self._end_of_block(*op.operands) or self._extreme(op.operands, min)
            case arith.MaxSIOp():
                found = self._extreme(op.operands, max)
            case memref.LoadOp() if op.memref in self.starts and len(op.indices) == 1:
                found = self._start(self.starts[op.memref], self._value(op.indices[0]), op.res)
            case memref.LoadOp() if op.memref in self.counts:
                found = Polynomial.from_value(self.counts[op.memref])
            case _ if type(op) in _ARITHMETIC:
                found = self._arithmetic(op)
        if found is not None:
            self.values[op.results[0]] = found

    def _end_of_block(self, one: SSAValue, other: SSAValue) -> Polynomial | None:
        """The value of min(i + rows, n), the end of a block, estimated as i + rows."""
        inside = [value for value in (self._value(one), self._value(other)) if value.has_unknowns()]
        return inside[0] if len(inside) == 1 else None

    def _extreme(self, operands: Sequence[SSAValue], choose: Callable[..., Polynomial]) -> Polynomial | None:
        """The smaller or the larger operand, decided for large dims: max(n − 2, 0) is n − 2."""
        values = [self._value(x) for x in operands]
        return None if any(x.has_unknowns() for x in values) else choose(values, key=Polynomial.typical_value)

    def _start(self, starts: _Starts, number: Polynomial, x: SSAValue) -> Polynomial:
        """The estimated start of a slice: the mean slice length times the distance from a slice with known start."""
        key = frozenset((name, factor) for name, factor in number.terms.items() if name)
        place = number.terms.get((), Fraction(0))
        if key not in starts.known:
            starts.known[key] = place, Polynomial() if not number.terms else self._unknown(x)
        first, start = starts.known[key]
        return start + starts.mean * Polynomial({(): place - first} if place != first else {})

    def _arithmetic(self, op: Operation) -> Polynomial | None:
        left, right = (self._value(x) for x in op.operands)
        match op:
            case arith.AddiOp():
                return left + right
            case arith.SubiOp():
                return left - right
            case arith.MuliOp():
                product = left * right
                return None if any(abs(factor) > _LARGEST for factor in product.terms.values()) else product
            case _:
                return left.divided(right)


_LARGEST: Final = 1 << 63
"""Bound on extents; a larger product wraps around, such as a power by repeated squaring."""

_ARITHMETIC: Final = (
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.FloorDivSIOp, arith.DivSIOp, arith.CeilDivSIOp,
)  # fmt: skip
_MOVED: Final = (arith.IndexCastOp, arith.ExtSIOp, arith.SelectOp)  # of a quotient, where the divisor is not 0
_OTHERS: Final = (arith.ConstantOp, memref.DimOp, arith.MinSIOp, arith.MaxSIOp, memref.LoadOp)
_INTEGERS: Final = frozenset({*_OTHERS, *_MOVED, *_ARITHMETIC})
_NESTED: Final = frozenset({scf.ForOp, ParallelOp, scf.IfOp, func.CallOp, scf.WhileOp})
_ACCESSES: Final = frozenset(
    {"vector.load", "vector.store", "vector.maskedload", "vector.maskedstore", "vector.gather", "vector.transfer_read",
     "vector.transfer_write"}
)  # fmt: skip

_DYNAMIC: Final = frozenset({-(2**63)})
"""MLIR's marker of a dynamic extent."""

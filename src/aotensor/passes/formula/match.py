"""One formula to simplify: queries about its terms, and its replacement by another value."""

from __future__ import annotations

from math import copysign
from typing import Final

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import AnyFloat, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from aotensor.ir.location import builder_before
from aotensor.ir.scalar_builder import NO_FAST_MATH, Scalar, ScalarBuilder
from aotensor.ir.types import DTYPE_OF_FLOAT
from aotensor.passes.formula.terms import Reader, Term, constant_of

LARGEST_PROOF: Final = 8  # operations deep


class Formula:
    """The formula whose root is an operation, with its terms. `b` builds before the root."""

    def __init__(self, reader: Reader, root: Operation) -> None:
        self.reader = reader
        self.root = root
        self.operands = [reader.term(x) for x in root.operands]
        fastmath = getattr(root, "fastmath", None) or NO_FAST_MATH
        self.b = ScalarBuilder(builder_before(root), fastmath)

    # --- what is found -----------------------------------------------------------------------------------------------

    def is_number(self, term: Term, number: float) -> bool:
        return constant_of(term, self.reader) == number

    def is_false(self, term: Term) -> bool:
        owner = term.made_by(arith.ConstantOp)
        return owner is not None and isinstance(owner.value, IntegerAttr) and owner.value.value.data == 0

    def one_plus(self, term: Term) -> Term | None:
        """Match 1 + x: return x, or None if the term has another form."""
        if term.made_by(arith.AddfOp):
            x, y = self.reader.operands(term)
            if self.is_number(x, 1) or self.is_number(y, 1):
                return y if self.is_number(x, 1) else x
        return None

    def one_minus(self, term: Term) -> Term | None:
        """Match 1 − x or 1 + (−x): return x, or None if the term has another form."""
        if term.made_by(arith.SubfOp):
            x, y = self.reader.operands(term)
            return y if self.is_number(x, 1) else None
        other = self.one_plus(term)
        return self.argument(other, arith.NegfOp) if other is not None else None

    def argument(self, term: Term, kind: type[Operation]) -> Term | None:
        """Match f(x) for a unary operation f: return x, or None if the term has another form."""
        return self.reader.operands(term)[0] if term.made_by(kind) else None

    def special_argument(self, term: Term, name: str) -> Term | None:
        """Match a call of @aot.<name>: return its argument x, or None if the term has another form."""
        call = term.made_by(func.CallOp)
        if call is None or not call.callee.root_reference.data.startswith(f"aot.{name}."):
            return None
        return self.reader.operands(term)[0]

    def is_nonnegative(self, term: Term, depth: int = 0) -> bool:
        """True if a term is proved to be +0, positive or nan."""
        number = constant_of(term, self.reader)
        if number is not None:
            return copysign(1, number) > 0
        if depth == LARGEST_PROOF:
            return False
        summand = self.reader.summand(term)
        if summand is not None:
            return self.is_nonnegative(summand, depth + 1)
        if term.made_by(math.ExpOp) or term.made_by(math.AbsFOp):
            return True
        if any(self.special_argument(term, name) for name in ("sigmoid", "softplus", "logistic_density")):
            return True
        if (t := self.one_minus(term)) is not None and self.special_argument(t, "sigmoid") is not None:
            return True
        operands = self.reader.operands(term)
        if term.made_by(arith.MulfOp) and operands[0] == operands[1]:
            return True
        if isinstance(term.value.owner, arith.AddfOp | arith.MulfOp | arith.DivfOp | arith.ExtFOp | arith.TruncFOp):
            return all(self.is_nonnegative(x, depth + 1) for x in operands)
        return False

    # --- what is made ------------------------------------------------------------------------------------------------

    def use(self, term: Term) -> Scalar:
        """Materialise a term as a value that new operations can use as operand."""
        value = self.reader.materialise(term, self.root)
        assert isinstance(value.type, AnyFloat)
        return Scalar(value, DTYPE_OF_FLOAT[value.type])

    def negated(self, term: Term) -> Scalar:
        """−x; the argument of −x if the term is a negation already."""
        inner = self.argument(term, arith.NegfOp)
        return self.use(inner) if inner is not None else -self.use(term)

    def replace(self, value: SSAValue) -> None:
        """Replace the root by a value."""
        self.root.results[0].replace_all_uses_with(value)
        Rewriter.erase_op(self.root)

"""Replace formulas that cancel or overflow by stable functions.

    log(1 + x)            →  log1p(x)              log(1 + exp(x)), log1p(exp(x))   →  softplus(x)
    log(1 − x)            →  log1p(−x)             log(sigmoid(x))                  →  −softplus(−x)
    exp(x) − 1            →  expm1(x)              log(1 − sigmoid(x))              →  −softplus(x)
    1 − sigmoid(x)        →  sigmoid(−x)           log(1 − exp(x))                  →  log1mexp(x)
    log(exp(x)/s), s ≥ 0  →  x − log(s)            log(exp(x)), log1p(expm1(x))     →  x

    1/(1 + exp(−x)), exp(x)/(1 + exp(x))  →  sigmoid(x)      and products of such factors: `passes.formula.logistic`

    y < 0 for nonnegative y               →    false           and the selections that depend on it: derivatives of log

Each holds for every x, nan and infinities included, with at least the accuracy of the original: where the results
differ, the original overflowed or cancelled. Formulas are matched across elementwise operations:
`passes.formula.terms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i1
from aotensor.ir.upstream import declare_special_functions, walk
from aotensor.passes.dead_code import erase_dead
from aotensor.passes.formula.logistic import logistic_product
from aotensor.passes.formula.match import Formula
from aotensor.passes.formula.terms import Reader, Term, constant_of, has_no_effect
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied

_OCCASIONS: Final = (math.ExpOp, math.ExpM1Op, math.LogOp, math.Log1pOp, func.CallOp, arith.CmpfOp)
"""Operations that occur in every formula to rewrite."""

_LESS: Final = 4  # arith.cmpf's predicate number of `olt`


@ir_pass("stabilize", level="tensor", topic="arithmetic")
def stabilize(module: ModuleOp) -> None:
    """Replaces formulas that overflow or cancel, also across ops: `log(1 + exp(x))` → softplus, `exp(x) - 1` →
    expm1.
    """
    for function in module.body.block.ops:
        if isinstance(function, func.FuncOp) and any(isinstance(op, _OCCASIONS) for op in walk(function)):
            scalars = Reader(None)
            for op in list(function.body.block.ops):
                if isinstance(op, GenericOp):
                    _rewrite_body(op)
                else:
                    _rewrite(scalars, op)
            erase_dead(function.body.block, has_no_effect)
    declare_special_functions(module)


def _rewrite_body(op: GenericOp) -> None:
    reader = Reader(op)
    changes = [_rewrite(reader, inner) for inner in list(op.body.block.ops)]
    if any(changes):
        reader.finish()


def _rewrite(reader: Reader, root: Operation) -> bool:
    """Replace an operation if a rewrite rule matches the formula whose root it is."""
    rule = RULES.get(type(root))
    if rule is None or not root.results[0].uses:
        return False
    formula = Formula(reader, root)
    with formula.b.active():
        found = rule(formula)
    if found is None:
        return False
    value = found.ssa if isinstance(found, Scalar) else found
    applied("replaced {} by {}, without overflow and cancellation", root, _name_of(value))
    formula.replace(value)
    return True


def _name_of(x: SSAValue) -> str:
    """A readable name of the operation that computes a value, such as `softplus`."""
    if isinstance(x.owner, func.CallOp):
        return x.owner.callee.root_reference.data.split(".")[1]
    return x.owner.name.split(".")[1] if isinstance(x.owner, math.Log1pOp | math.ExpM1Op) else "a shorter formula"


# --- logarithms ----------------------------------------------------------------------------------------------------


def _log(f: Formula) -> Scalar | None:
    (x,) = f.operands
    if (t := f.one_plus(x)) is not None:
        u = f.argument(t, math.ExpOp)
        return f.b.special("softplus", f.use(u)) if u is not None else f.b.math("log1p", f.use(t))
    if (t := f.one_minus(x)) is not None:
        u = f.special_argument(t, "sigmoid")
        return -f.b.special("softplus", f.use(u)) if u is not None else f.b.math("log1p", f.negated(t))
    if (u := f.special_argument(x, "sigmoid")) is not None:
        return -f.b.special("softplus", f.negated(u))
    if (u := f.argument(x, math.ExpOp)) is not None:
        return f.use(u)
    if (t := f.argument(x, arith.NegfOp)) is not None and (u := f.argument(t, math.ExpM1Op)) is not None:
        return f.b.special("log1mexp", f.use(u))
    return _log_of_quotient(f, x)


def _log_of_quotient(f: Formula, x: Term) -> Scalar | None:
    """Rewrite log(exp(u)/s) = u − log(s), as in the logarithm of a softmax, which contains exp(u)·(1/s)."""
    for e, s in _quotients(f, x):
        u = f.argument(e, math.ExpOp)
        if u is not None and f.is_nonnegative(s):
            return f.use(u) - f.b.math("log", f.use(s))
    return None


def _quotients(f: Formula, x: Term) -> Iterator[tuple[Term, Term]]:
    """Match x as a quotient: yield numerator and denominator, also for a product with an inverse."""
    if x.made_by(arith.DivfOp):
        numerator, denominator = f.reader.operands(x)
        yield numerator, denominator
    elif x.made_by(arith.MulfOp):
        first, second = f.reader.operands(x)
        for e, inverse in ((first, second), (second, first)):
            if inverse.made_by(arith.DivfOp):
                unit, s = f.reader.operands(inverse)
                if f.is_number(unit, 1):
                    yield e, s


def _log1p(f: Formula) -> Scalar | None:
    (x,) = f.operands
    if (u := f.argument(x, math.ExpOp)) is not None:
        return f.b.special("softplus", f.use(u))
    if (u := f.argument(x, math.ExpM1Op)) is not None:
        return f.use(u)
    if (t := f.argument(x, arith.NegfOp)) is not None:
        if (u := f.special_argument(t, "sigmoid")) is not None:
            return -f.b.special("softplus", f.use(u))
        if (u := f.argument(t, math.ExpOp)) is not None:
            return f.b.special("log1mexp", f.use(u))
    return None


# --- sums and products ---------------------------------------------------------------------------------------------


def _difference(f: Formula) -> Scalar | None:
    x, y = f.operands
    if f.is_number(y, 1) and (u := f.argument(x, math.ExpOp)) is not None:
        return f.b.math("expm1", f.use(u))
    if not f.is_number(x, 1):
        return None
    if (u := f.argument(y, math.ExpOp)) is not None:
        return -f.b.math("expm1", f.use(u))
    u = f.special_argument(y, "sigmoid")  # a second sigmoid would cost more than it gains
    if u is not None and f.reader.is_only_reader(f.root.operands[1]):
        return f.b.special("sigmoid", f.negated(u))
    return None


def _sum(f: Formula) -> Scalar | None:
    for x, y in (f.operands, f.operands[::-1]):
        if f.is_number(y, -1) and (u := f.argument(x, math.ExpOp)) is not None:
            return f.b.math("expm1", f.use(u))
    return None


def _product(f: Formula) -> Scalar | None:
    return logistic_product(f, f.reader.term(f.root.results[0]))


# --- guards --------------------------------------------------------------------------------------------------------


def _comparison(f: Formula) -> Scalar | None:
    """Fold a comparison: y < c is false for y ≥ 0 ≥ c, and for nan."""
    assert isinstance(f.root, arith.CmpfOp)
    y, c = f.operands
    bound = constant_of(c, f.reader)
    if f.root.predicate.value.data != _LESS or bound is None or bound > 0 or not f.is_nonnegative(y):
        return None
    return f.b.constant(False, "bool")


def _both(f: Formula) -> Scalar | None:
    is_bool = f.root.results[0].type == i1
    return f.b.constant(False, "bool") if is_bool and any(map(f.is_false, f.operands)) else None


def _either(f: Formula) -> SSAValue | None:
    x, y = f.operands
    return f.root.operands[1] if f.is_false(x) else f.root.operands[0] if f.is_false(y) else None


def _choice(f: Formula) -> SSAValue | None:
    return f.root.operands[2] if f.is_false(f.operands[0]) else None


_Rule: TypeAlias = Callable[[Formula], Scalar | SSAValue | None]
RULES: Final[dict[type[Operation], _Rule]] = {
    math.LogOp: _log,
    math.Log1pOp: _log1p,
    arith.SubfOp: _difference,
    arith.AddfOp: _sum,
    arith.MulfOp: _product,
    arith.DivfOp: _product,
    arith.CmpfOp: _comparison,
    arith.AndIOp: _both,
    arith.OrIOp: _either,
    arith.SelectOp: _choice,
}

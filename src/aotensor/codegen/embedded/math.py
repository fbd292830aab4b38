"""The libm functions that code generators call where a machine has no instruction, without a C library.

    floor, ceil, trunc, rint, nearbyint, roundeven   by the bits of the number
    sqrt, fmod                                       bit by bit
    fma                                              exact product in 128 bits, one rounding
    fmin, fmax                                       by comparison

for float64, and with the suffix `f` for float32. They are written with integers, so that none calls another, and
internal, so that two libraries, or a libm, do not conflict. Results are those of IEEE 754, rounded to nearest, ties to
even.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from aotensor.codegen import llvm
from aotensor.codegen.embedded.fma import define_fma
from aotensor.codegen.embedded.real import Real
from aotensor.codegen.embedded.symbols import undefined_symbols
from aotensor.codegen.llvm import Module, ModuleRef, Type, Value, f32, f64

if TYPE_CHECKING:
    from aotensor.codegen.machine import Machine


_Rounding: TypeAlias = Callable[[Real, Value, Value, Value], Value]
"""(bits, fraction bits below the integer part, least bit of the integer part) → the value to add before truncation."""


def _define_rounding(name: str, module: Module, kind: Type, rounding: _Rounding, small: _Rounding) -> None:
    """Define rounding to an integer. small: builds the result for |x| < 1 from x's bits, magnitude and sign."""
    c = Real(module, name, kind, 1)
    b = c.builder
    x = c.arguments[0]
    bits = c.raw(x)
    magnitude, sign = c.magnitude(bits), c.sign(bits)
    c.nan_when(b.icmp_unsigned(">", magnitude, c.constant(c.infinity)), x)
    exponent = c.exponent(magnitude)
    c.ret_if(b.icmp_unsigned(">=", exponent, c.constant(c.bias + c.mantissa)), x)
    c.ret_if(b.icmp_unsigned("<", exponent, c.constant(c.bias)), c.real(small(c, bits, magnitude, sign)))
    unit = b.shl(c.constant(1), b.sub(c.constant(c.bias + c.mantissa), exponent))
    rest = b.sub(unit, c.constant(1))
    raised = b.add(bits, rounding(c, bits, rest, unit))
    c.ret(c.real(b.and_(raised, b.not_(rest))))


def _up(c: Real, bits: Value, rest: Value, unit: Value) -> Value:
    is_positive = c.builder.icmp_signed(">=", bits, c.constant(0))
    return c.builder.select(is_positive, rest, c.constant(0))


def _down(c: Real, bits: Value, rest: Value, unit: Value) -> Value:
    is_negative = c.builder.icmp_signed("<", bits, c.constant(0))
    return c.builder.select(is_negative, rest, c.constant(0))


def _to_even(c: Real, bits: Value, rest: Value, unit: Value) -> Value:
    """The number to add before truncation for rounding to even: half a unit, minus one bit if the integer is even."""
    b = c.builder
    is_odd = b.icmp_unsigned("!=", b.and_(bits, unit), c.constant(0))
    return b.add(b.lshr(rest, c.constant(1)), b.zext(is_odd, c.word))


def _one(c: Real) -> Value:
    return c.constant(c.bias << c.mantissa)


def _small_up(c: Real, bits: Value, magnitude: Value, sign: Value) -> Value:
    is_above = c.builder.icmp_signed(">", bits, c.constant(0))
    return c.builder.select(is_above, _one(c), sign)


def _small_down(c: Real, bits: Value, magnitude: Value, sign: Value) -> Value:
    b = c.builder
    is_below = b.and_(b.icmp_signed("<", bits, c.constant(0)), b.icmp_unsigned("!=", magnitude, c.constant(0)))
    return b.select(is_below, b.or_(sign, _one(c)), sign)


def _small_even(c: Real, bits: Value, magnitude: Value, sign: Value) -> Value:
    """The bits of the rounded result for |x| < 1: zero for |x| ≤ ½, else one, with the sign of x."""
    b = c.builder
    is_large = b.icmp_unsigned(">", magnitude, c.constant((c.bias - 1) << c.mantissa))
    return b.select(is_large, b.or_(sign, _one(c)), sign)


_ROUNDINGS: Final[dict[str, tuple[_Rounding, _Rounding]]] = {
    "floor": (_down, _small_down),
    "ceil": (_up, _small_up),
    "trunc": (lambda c, bits, rest, unit: c.constant(0), lambda c, bits, magnitude, sign: sign),
    "rint": (_to_even, _small_even),
    "nearbyint": (_to_even, _small_even),
    "roundeven": (_to_even, _small_even),
}


def _define_fmod(name: str, module: Module, kind: Type) -> None:
    """Define fmod: x - y·trunc(x / y), exactly, by long division, one bit of the quotient at a time."""
    c = Real(module, name, kind, 2)
    b = c.builder
    x, y = c.arguments
    bits = c.raw(x)
    left, right, sign = c.magnitude(bits), c.magnitude(c.raw(y)), c.sign(bits)
    limit = c.constant(c.infinity)
    c.nan_when(b.icmp_unsigned(">", right, limit), y)
    c.nan_when(b.or_(b.icmp_unsigned(">=", left, limit), b.icmp_unsigned("==", right, c.constant(0))), x)
    c.ret_if(b.icmp_unsigned("<", left, right), x)
    rest, high = c.normalised(left)
    divisor, low = c.normalised(right)
    remainder, steps = c.slot(c.word, rest), c.slot(c.word, b.sub(high, low))
    head, body, done = (c.function.append_basic_block(label) for label in ("head", "body", "done"))
    b.branch(head)
    b.position_at_end(head)
    value = remainder.get()
    value = b.select(b.icmp_unsigned(">=", value, divisor), b.sub(value, divisor), value)
    remainder.set(value)
    b.cbranch(b.icmp_signed(">", steps.get(), c.constant(0)), body, done)
    b.position_at_end(body)
    remainder.set(b.shl(remainder.get(), c.constant(1)))
    steps.set(b.sub(steps.get(), c.constant(1)))
    b.branch(head)
    b.position_at_end(done)
    value = remainder.get()
    c.ret_if(b.icmp_unsigned("==", value, c.constant(0)), c.real(sign))
    c.ret(c.real(b.or_(sign, _packed(c, value, low))))


def _packed(c: Real, mantissa: Value, exponent: Value) -> Value:
    """The bits of mantissa·2**exponent (biased), exact for a mantissa of at most the fraction bits plus one."""
    b = c.builder
    shift = b.sub(c.zeros_above(mantissa), c.constant(c.bits - 1 - c.mantissa))
    raised = b.sub(exponent, shift)
    is_normal = b.icmp_signed(">", raised, c.constant(0))
    up = b.select(is_normal, shift, c.constant(0))
    normal = b.add(
        b.and_(b.shl(mantissa, up), c.constant((1 << c.mantissa) - 1)), b.shl(raised, c.constant(c.mantissa))
    )
    lift = b.select(is_normal, c.constant(1), exponent)  # of a subnormal result: its unit is that of exponent 1
    is_up = b.icmp_signed(">=", lift, c.constant(1))
    higher = b.shl(mantissa, b.select(is_up, b.sub(lift, c.constant(1)), c.constant(0)))
    lower = b.lshr(mantissa, b.select(is_up, c.constant(0), b.sub(c.constant(1), lift)))
    return b.select(is_normal, normal, b.select(is_up, higher, lower))


def _define_sqrt(name: str, module: Module, kind: Type) -> None:
    """Define sqrt: computed one bit at a time, with one more bit for rounding."""
    c = Real(module, name, kind, 1)
    b = c.builder
    (x,) = c.arguments
    bits = c.raw(x)
    magnitude = c.magnitude(bits)
    c.ret_if(b.icmp_unsigned("==", magnitude, c.constant(0)), x)
    c.nan_when(b.icmp_unsigned(">", magnitude, c.constant(c.infinity)), x)
    c.nan_when(b.icmp_signed("<", bits, c.constant(0)), x)
    c.ret_if(b.icmp_unsigned("==", magnitude, c.constant(c.infinity)), x)
    mantissa, exponent = c.normalised(magnitude)
    power = b.sub(exponent, c.constant(c.bias))
    is_odd = b.and_(power, c.constant(1))
    rest, root = c.slot(c.word, b.shl(mantissa, b.add(is_odd, c.constant(1)))), c.slot(c.word, c.constant(0))
    digit, total = c.slot(c.word, c.constant(1 << (c.mantissa + 1))), c.slot(c.word, c.constant(0))
    head, body, done = (c.function.append_basic_block(label) for label in ("head", "body", "done"))
    b.branch(head)
    b.position_at_end(head)
    b.cbranch(b.icmp_unsigned("!=", digit.get(), c.constant(0)), body, done)
    b.position_at_end(body)
    trial = b.add(total.get(), digit.get())
    fits = b.icmp_unsigned("<=", trial, rest.get())
    rest.set(b.select(fits, b.sub(rest.get(), trial), rest.get()))
    total.set(b.select(fits, b.add(trial, digit.get()), total.get()))
    root.set(b.add(root.get(), b.select(fits, digit.get(), c.constant(0))))
    rest.set(b.shl(rest.get(), c.constant(1)))
    digit.set(b.lshr(digit.get(), c.constant(1)))
    b.branch(head)
    b.position_at_end(done)
    # the root has one bit more than the mantissa; it is never half way, so that any rest rounds by this bit
    found = root.get()
    rounded = b.add(b.lshr(found, c.constant(1)), b.and_(found, c.constant(1)))
    half = b.ashr(b.sub(power, is_odd), c.constant(1))
    c.ret(c.real(b.add(rounded, b.shl(b.add(half, c.constant(c.bias - 1)), c.constant(c.mantissa)))))


def _define_larger(name: str, module: Module, kind: Type, comparison: str) -> None:
    """Define fmax or fmin, which ignore a nan operand."""
    c = Real(module, name, kind, 2)
    b = c.builder
    x, y = c.arguments
    chosen = b.select(b.fcmp_ordered(comparison, x, y), x, y)
    c.ret(b.select(b.fcmp_unordered("uno", y, y), x, chosen))


def _makers() -> dict[str, Callable[[Module], None]]:
    found: dict[str, Callable[[Module], None]] = {}
    for end, kind in (("", f64), ("f", f32)):
        for stem, (rounding, small) in _ROUNDINGS.items():
            name = stem + end
            found[name] = lambda m, n=name, k=kind, r=rounding, s=small: _define_rounding(n, m, k, r, s)  # type: ignore[misc]
        found["fmod" + end] = lambda m, n="fmod" + end, k=kind: _define_fmod(n, m, k)  # type: ignore[misc]
        found["sqrt" + end] = lambda m, n="sqrt" + end, k=kind: _define_sqrt(n, m, k)  # type: ignore[misc]
        found["fma" + end] = lambda m, n="fma" + end, k=kind: define_fma(Real(m, n, k, 3))  # type: ignore[misc]
        for stem, comparison in (("fmax", ">"), ("fmin", "<")):
            name = stem + end
            found[name] = lambda m, n=name, k=kind, s=comparison: _define_larger(n, m, k, s)  # type: ignore[misc]
    return found


OWN_MATH: Final = _makers()
"""Functions of libm → the function that defines them in a module."""


def add_math(machine: Machine, module: ModuleRef) -> None:
    """Define the libm functions that the code generated for an optimised module calls."""
    missing = [name for name in undefined_symbols(machine.object_code(module)) if name in OWN_MATH]
    if not missing:
        return
    own = llvm.ir.Module(name="math", context=llvm.ir.Context())
    own.triple, own.data_layout = machine.triple, machine.data_layout()
    for name in missing:
        OWN_MATH[name](own)
    made = machine.optimise(own)
    module.link_in(llvm.binding.parse_assembly(str(made), module._context))
    for name in missing:
        module.get_function(name).linkage = "internal"

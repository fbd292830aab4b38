"""The function fma, x·y + z with one rounding, in integers of twice the width.

product  mx·my            its leading bit near the top, zeros below
sum      ± mz, aligned    bits shifted out are kept as one sticky bit
result   the upper bits, rounded to nearest, ties to even
"""

from __future__ import annotations

from aotensor.codegen.embedded.real import Real
from aotensor.codegen.llvm import Value, constant, integer


def define_fma(c: Real) -> None:
    """Write the body of the function fma(x, y, z) = x·y + z."""
    b = c.builder
    x, y, z = c.arguments
    left, right, added = (c.magnitude(c.raw(value)) for value in c.arguments)
    zero, limit = c.constant(0), c.constant(c.infinity)
    product = b.fmul(x, y)
    is_special = c.any(*(b.icmp_unsigned(">=", value, limit) for value in (left, right, added)))
    is_zero = b.or_(b.icmp_unsigned("==", left, zero), b.icmp_unsigned("==", right, zero))
    c.ret_if(b.or_(is_special, is_zero), b.fadd(product, z))
    c.ret_if(b.icmp_unsigned("==", added, zero), product)
    _Wide(c).give_sum(left, right, added)


class _Wide:
    """Numbers as integers of twice the width, times a power of two."""

    def __init__(self, c: Real) -> None:
        self.c, self.size = c, 2 * c.bits
        self.kind = integer(self.size)
        self.top = self.size - 4  # least position of both terms' leading bit, with room for their sum above

    def constant(self, value: int) -> Value:
        return constant(self.kind, value)

    def widen(self, x: Value) -> Value:
        return self.c.builder.zext(x, self.kind)

    def give_sum(self, left: Value, right: Value, added: Value) -> None:
        """Write the return of x·y + z. left, right, added: magnitudes of x, y and z, finite and nonzero."""
        c, b = self.c, self.c.builder
        (mx, ex), (my, ey), (mz, ez) = (c.normalised(value) for value in (left, right, added))
        bits = [c.raw(value) for value in c.arguments]
        spare = self.top - 2 * c.mantissa
        product = b.shl(b.mul(self.widen(mx), self.widen(my)), self.constant(spare))
        at = b.sub(b.add(ex, ey), c.constant(2 * (c.bias + c.mantissa) + spare))  # the exponent of its last bit
        term = b.shl(self.widen(mz), self.constant(self.top - c.mantissa))
        term_at = b.sub(ez, c.constant(c.bias + self.top))
        ahead = b.sub(at, term_at)
        is_ahead = b.icmp_signed(">=", ahead, c.constant(0))
        product = b.select(is_ahead, product, self.shift_right_sticky(product, b.sub(c.constant(0), ahead)))
        term = b.select(is_ahead, self.shift_right_sticky(term, ahead), term)
        at = b.select(is_ahead, at, term_at)
        sign, term_sign = c.sign(b.xor(bits[0], bits[1])), c.sign(bits[2])
        is_same = b.icmp_unsigned("==", sign, term_sign)
        is_larger = b.icmp_unsigned(">=", product, term)
        difference = b.select(is_larger, b.sub(product, term), b.sub(term, product))
        total = b.select(is_same, b.add(product, term), difference)
        c.ret_if(b.icmp_unsigned("==", total, self.constant(0)), c.real(c.constant(0)))
        c.ret(c.real(b.or_(b.select(is_larger, sign, term_sign), self.round_to_format(total, at))))

    def shift_right_sticky(self, x: Value, by: Value) -> Value:
        """x shifted right, with the last bit set if nonzero bits were lost; undefined for a negative shift."""
        c, b = self.c, self.c.builder
        by = self.widen(b.select(b.icmp_unsigned("<", by, c.constant(self.size - 1)), by, c.constant(self.size - 1)))
        result = b.lshr(x, by)
        is_inexact = b.icmp_unsigned("!=", b.shl(result, by), x)
        return b.or_(result, b.zext(is_inexact, self.kind))

    def round_to_format(self, total: Value, at: Value) -> Value:
        """The bits of total·2**at, rounded to the format, without a sign."""
        c, b = self.c, self.c.builder
        leading = b.sub(c.constant(self.size - 1), b.trunc(c.zeros_above(total), c.word))
        exponent = b.add(b.add(leading, at), c.constant(c.bias))
        is_normal = b.icmp_signed(">=", exponent, c.constant(1))
        lost = b.sub(leading, c.constant(c.mantissa))
        lost = b.select(is_normal, lost, b.add(lost, b.sub(c.constant(1), exponent)))
        is_tiny = b.icmp_signed(">", lost, b.add(leading, c.constant(1)))
        is_left = b.icmp_signed("<=", lost, c.constant(0))
        raised = b.shl(total, self.widen(b.select(is_left, b.sub(c.constant(0), lost), c.constant(0))))
        by = self.widen(b.select(b.or_(is_left, is_tiny), c.constant(1), lost))
        whole = b.lshr(total, by)
        rest, half = b.sub(total, b.shl(whole, by)), b.shl(self.constant(1), b.sub(by, self.constant(1)))
        is_odd = b.icmp_unsigned("!=", b.and_(whole, self.constant(1)), self.constant(0))
        is_tie = b.and_(b.icmp_unsigned("==", rest, half), is_odd)
        up = b.zext(b.or_(b.icmp_unsigned(">", rest, half), is_tie), self.kind)
        value = b.select(is_left, raised, b.select(is_tiny, self.constant(0), b.add(whole, up)))
        head = b.shl(b.sub(exponent, c.constant(1)), c.constant(c.mantissa))
        bits = b.add(b.trunc(value, c.word), b.select(is_normal, head, c.constant(0)))
        return b.select(b.icmp_signed(">", exponent, c.constant(2 * c.bias)), c.constant(c.infinity), bits)

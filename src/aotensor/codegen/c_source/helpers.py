"""Small C functions that expressions call; a file defines those that it uses.

They give the results of LLVM's operations where C has no operator, or one that is undefined for some operands.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_FLOATS: Final = (("f32", "float"), ("f64", "double"))
_BITS: Final = (("f32", "float", "i32", "int32_t"), ("f64", "double", "i64", "int64_t"))


def helper_text(names: Collection[str]) -> str:
    """The C definitions of the named helper functions, in a fixed order."""
    wanted = {*names, *(["aot_high_unsigned_64"] if "aot_high_signed_64" in names else [])}
    return "\n\n".join(text for name, text in _ALL.items() if name in wanted)


def _chosen(name: str, suffix: str, kind: str, sign: str) -> str:
    """C of IEEE 754's maximum or minimum: nan if one operand is nan; 0 is larger than -0."""
    negative, positive = ("y", "x") if sign == ">" else ("x", "y")
    return f"""static inline {kind} aot_{name}_{suffix}({kind} x, {kind} y) {{
  if (x != x || y != y) {{
    return x + y;
  }}
  if (x == y) {{
    return signbit(x) ? {negative} : {positive};
  }}
  return x {sign} y ? x : y;
}}"""


def _number(name: str, suffix: str, kind: str, sign: str) -> str:
    """C of the maximum or minimum that ignores nan: if one operand is nan, the result is the other one."""
    return f"""static inline {kind} aot_{name}_{suffix}({kind} x, {kind} y) {{
  if (x != x) {{
    return y;
  }}
  return y {sign} x ? y : x;
}}"""


def _bits(old: str, old_type: str, new: str, new_type: str) -> str:
    return f"""static inline {new_type} aot_bits_{old}_{new}({old_type} x) {{
  {new_type} bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}}"""


def _divided(name: str, kind: str, bits: int, correction: str) -> str:
    return f"""static inline {kind} aot_{name}_i{bits}({kind} x, {kind} y) {{
  const {kind} quotient = ({kind})(x / y);
  return x % y != 0 && {correction} : quotient;
}}"""


def _to_integer(sign: str, bits: int) -> str:
    """C of a conversion of a float to an integer; outside of the range the result is that of x86 processors."""
    kind = f"{'u' if sign == 'unsigned' else ''}int{bits}_t"
    low, high = ("-1.0", f"0x1p{bits}") if sign == "unsigned" else (f"-0x1p{bits - 1}", f"0x1p{bits - 1}")
    first = ">" if sign == "unsigned" or bits == 32 else ">="
    low = "-0x1.00000002p31" if sign == "signed" and bits == 32 else low
    missing = "0" if sign == "unsigned" else f"INT{bits}_MIN"
    return f"""static inline {kind} aot_to_{sign}_{bits}(double x) {{
  return x {first} {low} && x < {high} ? ({kind})x : {missing};
}}"""


def _counts(bits: int) -> dict[str, str]:
    kind, wide = f"int{bits}_t", f"uint{bits}_t"
    return {
        f"aot_count_ones_i{bits}": f"""static inline {kind} aot_count_ones_i{bits}({kind} x) {{
  {wide} rest = ({wide})x;
  {kind} count = 0;
  for (int k = 0; k < {bits}; ++k) {{
    count = ({kind})(count + ({kind})(rest & 1U));
    rest = ({wide})(rest >> 1);
  }}
  return count;
}}""",
        f"aot_leading_zeros_i{bits}": f"""static inline {kind} aot_leading_zeros_i{bits}({kind} x) {{
  {wide} rest = ({wide})x;
  {kind} count = {bits};
  for (int k = 0; k < {bits} && rest != 0; ++k) {{
    count = ({kind})(count - 1);
    rest = ({wide})(rest >> 1);
  }}
  return count;
}}""",
        f"aot_trailing_zeros_i{bits}": f"""static inline {kind} aot_trailing_zeros_i{bits}({kind} x) {{
  {wide} rest = ({wide})x;
  {kind} count = 0;
  for (int k = 0; k < {bits} && (rest & 1U) == 0; ++k) {{
    count = ({kind})(count + 1);
    rest = ({wide})(rest >> 1);
  }}
  return count;
}}""",
    }


_HIGH: Final = {
    "aot_high_unsigned_32": """static inline int32_t aot_high_unsigned_32(int32_t x, int32_t y) {
  return (int32_t)(uint32_t)(((uint64_t)(uint32_t)x * (uint64_t)(uint32_t)y) >> 32);
}""",
    "aot_high_signed_32": """static inline int32_t aot_high_signed_32(int32_t x, int32_t y) {
  return (int32_t)(((int64_t)x * (int64_t)y) >> 32);
}""",
    "aot_high_unsigned_64": """static inline int64_t aot_high_unsigned_64(int64_t x, int64_t y) {
  const uint64_t half = UINT64_C(0xffffffff);
  const uint64_t x0 = (uint64_t)x & half;
  const uint64_t x1 = (uint64_t)x >> 32;
  const uint64_t y0 = (uint64_t)y & half;
  const uint64_t y1 = (uint64_t)y >> 32;
  const uint64_t middle = x1 * y0 + ((x0 * y0) >> 32);
  const uint64_t other = x0 * y1 + (middle & half);
  return (int64_t)(x1 * y1 + (middle >> 32) + (other >> 32));
}""",
    "aot_high_signed_64": """static inline int64_t aot_high_signed_64(int64_t x, int64_t y) {
  uint64_t high = (uint64_t)aot_high_unsigned_64(x, y);
  high -= x < 0 ? (uint64_t)y : 0U;
  high -= y < 0 ? (uint64_t)x : 0U;
  return (int64_t)high;
}""",
}

_MEMORY: Final = {
    "aot_bytes": """/* The product of two numbers that are not negative; -1 if there is none in 63 bits. */
static inline int64_t aot_bytes(int64_t x, int64_t y) {
  return x < 0 || y < 0 || (y != 0 && x > INT64_MAX / y) ? -1 : x * y;
}""",
    "aot_room": """/* What malloc is asked for: it fails for a size that is negative. */
static inline size_t aot_room(int64_t bytes) {
  return bytes < 0 || bytes > PTRDIFF_MAX ? (size_t)PTRDIFF_MAX : bytes == 0 ? 1U : (size_t)bytes;
}""",
}

_ALL: Final[dict[str, str]] = {
    **{f"aot_maximum_{x}": _chosen("maximum", x, kind, ">") for x, kind in _FLOATS},
    **{f"aot_minimum_{x}": _chosen("minimum", x, kind, "<") for x, kind in _FLOATS},
    **{f"aot_maxnum_{x}": _number("maxnum", x, kind, ">") for x, kind in _FLOATS},
    **{f"aot_minnum_{x}": _number("minnum", x, kind, "<") for x, kind in _FLOATS},
    **{f"aot_bits_{a}_{c}": _bits(a, b, c, d) for a, b, c, d in _BITS},
    **{f"aot_bits_{c}_{a}": _bits(c, d, a, b) for a, b, c, d in _BITS},
    **{
        f"aot_{name}_i{bits}": _divided(name, f"int{bits}_t", bits, correction.replace("int_t", f"int{bits}_t"))
        for bits in (8, 16, 32, 64)
        for name, correction in (
            ("floor_div", "(x < 0) != (y < 0) ? (int_t)(quotient - 1)"),
            ("ceil_div", "(x < 0) == (y < 0) ? (int_t)(quotient + 1)"),
        )
    },
    **{
        f"aot_ceil_div_unsigned_i{bits}": f"""/* As numbers without sign. */
static inline int{bits}_t aot_ceil_div_unsigned_i{bits}(int{bits}_t x, int{bits}_t y) {{
  const uint{bits}_t n = (uint{bits}_t)x;
  const uint{bits}_t d = (uint{bits}_t)y;
  return (int{bits}_t)(n / d + (n % d != 0 ? 1U : 0U));
}}"""
        for bits in (32, 64)
    },
    **{f"aot_to_{sign}_{bits}": _to_integer(sign, bits) for sign in ("signed", "unsigned") for bits in (32, 64)},
    **{name: text for bits in (8, 16, 32, 64) for name, text in _counts(bits).items()},
    **_HIGH,
    **_MEMORY,
}

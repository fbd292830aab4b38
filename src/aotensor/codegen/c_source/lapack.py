"""Calls of the caller's LAPACK table: a C function for each symbol such as `@aot_lapack_potrf.f64`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aotensor.passes.gemm.dispatch import BLAS_PREFIX
from aotensor.passes.lapack.routines import COMPLEX_ROUTINES, PREFIX, ROUTINES, TOO_LARGE, function_name

_ELEMENTS: Final = {"f32": "float", "f64": "double", "c64": "float", "c128": "double"}


def external_text(symbol: str, name: str) -> str | None:
    """The C definition of a function that loop IR only declares; None if the BLAS and LAPACK table does not have it."""
    if symbol.startswith(PREFIX):
        return _lapack(symbol, name)
    if symbol.startswith(BLAS_PREFIX):
        return _no_blas(symbol, name)
    return None


def _no_blas(symbol: str, name: str) -> str:
    """C of a BLAS product that always returns false, so that the bits of products do not depend on the caller."""
    element = _ELEMENTS[symbol.rpartition(".")[2]]
    matrices = ", ".join(
        f"{const}{element} *{x}, int64_t {x}_rows, int64_t {x}_columns"
        for x, const in zip("abc", ("const ", "const ", ""), strict=True)
    )
    names = ["turned_a", "turned_b", *(f"{x}{end}" for x in "abc" for end in ("", "_rows", "_columns")), "context"]
    body = "\n".join(f"  (void){x};" for x in names)
    head = f"static bool {name}(bool turned_a, bool turned_b, {matrices}, const int8_t *context) {{"
    return f"{head}\n{body}\n  return false;\n}}\n"


def _lapack(symbol: str, name: str) -> str:
    routine, suffix = symbol.removeprefix(PREFIX).split(".")
    letters = (COMPLEX_ROUTINES if suffix.startswith("c") else ROUTINES)[routine]
    element = _ELEMENTS[suffix]
    declared: list[str] = []
    before: list[str] = []
    given: list[str] = []
    large: list[str] = []
    for k, letter in enumerate(letters):
        x = f"x{k}"
        match letter:
            case "c":
                declared.append(f"int8_t {x}")
                before.append(f"const char c{k} = (char){x};")
                given.append(f"&c{k}")
            case "i":
                declared.append(f"int64_t {x}")
                before.append(f"const int32_t n{k} = (int32_t){x};")
                given.append(f"&n{k}")
                large.append(f"{x} > {TOO_LARGE} || {x} < INT32_MIN")
            case "f":
                declared.append(f"{element} {x}")
                given.append(f"&{x}")
            case "a" | "p":
                kind = element if letter == "a" else "int32_t"
                declared += [f"{kind} *{x}", f"int64_t {x}_size", f"int64_t {x}_start"]
                before.append(f"(void){x}_size;")
                given.append(_array(x, suffix, letter))
            case _:
                given.append("&info")
    return _body(symbol, name, declared, before, given, large)


def _array(x: str, suffix: str, letter: str) -> str:
    if letter == "a" and suffix.startswith("c"):
        return f"(void *)({x} + {x}_start)"
    return f"{x} + {x}_start"


def _body(
    symbol: str, name: str, declared: Sequence[str], before: Sequence[str], given: Sequence[str], large: Sequence[str]
) -> str:
    lines = [f"static int32_t {name}(", *(f"    {x}," for x in declared), "    int8_t *context) {"]
    if large:
        lines += [f"  if ({' || '.join(large)}) {{", f"    return {TOO_LARGE};", "  }"]
    lines += ["  int32_t info = 0;", *(f"  {x}" for x in before)]
    lines += [
        "  const aotensor_context *own = (const aotensor_context *)(const void *)context;",
        f"  own->blas->{function_name(symbol)}({', '.join(given)});",
        "  return info;",
        "}",
    ]
    return "\n".join(lines) + "\n"

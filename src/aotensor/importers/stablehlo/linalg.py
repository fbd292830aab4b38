"""Products, Fourier transforms, triangular systems, and LAPACK calls that JAX emits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from aotensor.importers.base import Unsuited
from aotensor.importers.stablehlo.structure import Operation, Value
from aotensor.importers.stablehlo.table import Step, in_rank, ints, may_be, number, operands, translates

_FFTS: Final = ("FFT", "IFFT", "RFFT", "IRFFT")
_MOST_AXES: Final = 25
"""Axes of an operand of a product, of which each has a letter."""


@translates("fft")
def _fft(found: Operation) -> Step:
    words = str(found.attributes.get("type", found.attributes.get("fft_type", ""))).split()
    kind = words[-1].rstrip(">") if words else ""
    if kind not in _FFTS:
        raise Unsuited(f"its fft_type is {kind!r}, not {', '.join(_FFTS)}")
    lengths = ints(found, "length", "fft_length")
    (x,) = operands(found, 1)
    if not 1 <= len(lengths) <= min(x.aval.ndim, 3):
        raise Unsuited(f"it transforms {len(lengths)} axes of {x.aval}, and 1 to 3 axes are supported")
    shape = found.results[0].aval.shape if kind == "IRFFT" else x.aval.shape
    if len(shape) != x.aval.ndim or list(shape[len(shape) - len(lengths) :]) != lengths:
        raise Unsuited(f"its fft_length {lengths} does not match its operand {x.aval} and its result")
    return Step("fft", [x], {"fft_type": _FFTS.index(kind), "fft_lengths": lengths})


@translates(
    "dot_general", note="in the dtype of the result; `precision` changes nothing, products are never less precise"
)
def _dot_general(found: Operation) -> Step:
    x, y = operands(found, 2)
    both: dict[str, list[list[int]]] = {}
    record = found.attributes.get("dot_dimension_numbers")
    for short, long in (("contracting_dims", "contracting"), ("batching_dims", "batching")):
        if isinstance(record, dict):
            pair = [record.get(f"{side}_{long}_dimensions", []) for side in ("lhs", "rhs")]
        else:
            pair = found.attributes.get(short, [[], []])
        is_pair = isinstance(pair, list) and len(pair) == 2 and all(isinstance(p, list) for p in pair)
        if not is_pair or len(pair[0]) != len(pair[1]) or not all(type(n) is int for p in pair for n in p):
            raise Unsuited(f"its {short} are {pair!r:.40}, not two lists of equally many axes")
        for numbers, operand in zip(pair, (x, y), strict=True):
            for n in numbers:
                in_rank(n, operand.aval.ndim)
        both[short] = pair
    for k, operand in enumerate((x, y)):
        used = [*both["contracting_dims"][k], *both["batching_dims"][k]]
        if len(set(used)) < len(used) or operand.aval.ndim > _MOST_AXES:
            raise Unsuited(f"it names an axis twice, or an operand has more than {_MOST_AXES} axes")
    for first, second in both.values():
        if not may_be([x.aval.shape[d] for d in first], [y.aval.shape[d] for d in second]):
            raise Unsuited(f"the contracted or batched extents of {x.aval} and {y.aval} differ")
    dims = (both["contracting_dims"], both["batching_dims"])
    return Step("dot_general", [x, y], {"dimension_numbers": dims})


@translates("dot")
def _dot(found: Operation) -> Step:
    x, y = operands(found, 2)
    if not 1 <= x.aval.ndim <= 2 or not 1 <= y.aval.ndim <= 2 or not may_be(x.aval.shape[-1:], y.aval.shape[:1]):
        raise Unsuited(f"{x.aval} and {y.aval} are not vectors or matrices with equal inner extents")
    return Step("dot_general", [x, y], {"dimension_numbers": (([x.aval.ndim - 1], [0]), ([], []))})


def _square(x: Value) -> None:
    """Check for a stack of square float matrices.   Raises: Unsuited"""
    if x.aval.ndim < 2 or x.aval.shape[-2] != x.aval.shape[-1] or None in x.aval.shape[-2:] or not _is_inexact(x):
        raise Unsuited(f"{x.aval} is not a stack of square floating matrices with known extents")


def _is_inexact(x: Value) -> bool:
    return isinstance(x.aval.dtype, np.dtype) and x.aval.dtype.kind in "fc"


@translates("cholesky", note="nan where the matrix is not positive definite")
def _cholesky(found: Operation) -> Step:
    (x,) = operands(found, 1)
    _square(x)
    if not found.attributes.get("lower", False):
        raise Unsuited("it reads the upper triangle, and only the lower one is supported")
    return Step("cholesky", [x])


@translates("triangular_solve", note="a zero on the diagonal gives nan")
def _triangular_solve(found: Operation) -> Step:
    kind = str(found.attributes.get("transpose_a", "NO_TRANSPOSE"))
    return _solved(
        found, bool(number(found, "left_side")), bool(number(found, "lower")), bool(number(found, "unit_diagonal")),
        "NO_TRANSPOSE" not in kind, "ADJOINT" in kind,
    )  # fmt: skip


def _solved(
    found: Operation, is_left: bool, is_lower: bool, is_unit: bool, is_transposed: bool, is_adjoint: bool
) -> Step:
    a, b = operands(found, 2)
    _square(a)
    axis = -2 if is_left else -1
    if b.aval.ndim != a.aval.ndim or not may_be([b.aval.shape[axis]], a.aval.shape[-1:]):
        raise Unsuited(f"the extents of the matrix {a.aval} and of the right-hand side {b.aval} do not match")
    params = {"left_side": is_left, "lower": is_lower, "unit_diagonal": is_unit, "transpose_a": is_transposed,
              "conjugate_a": is_adjoint}  # fmt: skip
    return Step("triangular_solve", [a, b], params)


def _options(found: Operation) -> Mapping[str, Any]:
    """The options that JAX passes to LAPACK: character codes.   Raises: Unsuited"""
    config = found.attributes.get("mhlo.backend_config", found.attributes.get("backend_config", {}))
    if not isinstance(config, dict):
        raise Unsuited("its backend_config is not a dictionary; export the program with JAX 0.4.36 or later")
    return {key: chr(value) if type(value) is int and 0 < value < 128 else value for key, value in config.items()}


def _potrf(found: Operation) -> Step:
    (x,) = operands(found, 1, 2)
    _square(x)
    if _options(found).get("uplo") != "L":
        raise Unsuited("it reads the upper triangle, and only the lower one is supported")
    return Step("lapack potrf", [x])


def _getrf(found: Operation) -> Step:
    (x,) = operands(found, 1, 3)
    _square(x)
    return Step("lapack getrf", [x])


def _geqrf(found: Operation) -> Step:
    (x,) = operands(found, 1, 2)
    if x.aval.ndim < 2 or None in x.aval.shape[-2:] or not _is_inexact(x):
        raise Unsuited(f"{x.aval} is not a stack of floating matrices with known extents")
    return Step("lapack geqrf", [x])


def _orgqr(found: Operation) -> Step:
    x, scales = operands(found, 2)
    rows, columns = x.aval.shape[-2:] if x.aval.ndim >= 2 else (None, None)
    if rows is None or columns is None or not columns <= rows or scales.aval.ndim != x.aval.ndim - 1:
        raise Unsuited(
            f"{x.aval} and {scales.aval} are not a stack of matrices with at least as many rows as columns, and a "
            "vector "
            "of scales for each"
        )
    if scales.aval.shape[-1] is None or scales.aval.shape[-1] > columns:
        raise Unsuited(f"its scales {scales.aval} are more than the columns of {x.aval}, or their number is unknown")
    return Step("lapack orgqr", [x, scales])


def _gesdd(found: Operation) -> Step:
    (x,) = operands(found, 1, 5)
    mode = _options(found).get("mode")
    if x.aval.ndim < 2 or mode not in ("A", "S", "N") or not _is_inexact(x):
        raise Unsuited(
            f"its operand is {x.aval} and its mode {mode!r}, not a stack of floating matrices and 'A', 'S' or 'N'"
        )
    return Step("lapack gesdd", [x], {"full_matrices": mode == "A", "compute_uv": mode != "N", "subset_by_index": None})


def _syevd(found: Operation) -> Step:
    (x,) = operands(found, 1, 3)
    _square(x)
    options = _options(found)
    if options.get("mode") not in ("V", "N") or options.get("uplo") not in ("L", "U"):
        mode, uplo = options.get("mode"), options.get("uplo")
        raise Unsuited(f"its mode is {mode!r} and its uplo {uplo!r}, not 'V' or 'N' and 'L' or 'U'")
    return Step("lapack syevd", [x], {"lower": options["uplo"] == "L", "subset_by_index": None})


def _trsm(found: Operation) -> Step:
    options = _options(found)
    given = [options.get(key) for key in ("side", "uplo", "diag", "trans_x")]
    for letter, allowed in zip(given, ("LR", "LU", "UN", "NTC"), strict=True):
        if not isinstance(letter, str) or letter not in allowed:
            raise Unsuited(f"its options side, uplo, diag and trans_x are {given}, which LAPACK does not define")
    side, uplo, diag, trans = given
    return _solved(found, side == "L", uplo == "L", diag == "U", trans != "N", trans == "C")


_LETTERS: Final = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}
_LAPACK: Final[Mapping[str, Callable[[Operation], Step]]] = {
    "potrf": _potrf, "getrf": _getrf, "geqrf": _geqrf, "orgqr": _orgqr, "ungqr": _orgqr, "gesdd": _gesdd,
    "syevd": _syevd, "heevd": _syevd, "trsm": _trsm,
}  # fmt: skip


def lapack(found: Operation, target: str) -> Step | None:
    """The translation of a LAPACK call; None for other calls.   Raises: Unsuited for a form that JAX does not emit"""
    for letter, dtype in _LETTERS.items():
        routine = target.removeprefix(f"lapack_{letter}").removesuffix("_ffi")
        if target == f"lapack_{letter}{routine}_ffi" and routine in _LAPACK:
            if any(str(x.aval.dtype) != dtype for x in found.operands):
                shown = ", ".join(str(x.aval) for x in found.operands)
                raise Unsuited(f"its operands are {shown}, not of dtype {dtype}")
            return _LAPACK[routine](found)
    return None


def names() -> Sequence[str]:
    """Names of the supported LAPACK calls."""
    return sorted(_LAPACK)

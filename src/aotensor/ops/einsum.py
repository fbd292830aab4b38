"""einsum: any number of operands, as diagonals, sums and contractions of two operands at a time."""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import normalise_axes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.contract import Contract
from aotensor.ops.diagonal import diagonal
from aotensor.ops.elementwise.arithmetic import mul
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.reduce.sums import any as any_over
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import squeeze, transpose
from aotensor.ops.shape.broadcast import specify_shape
from aotensor.ops.shape.extents import extent_of

_LETTERS: Final = string.ascii_lowercase + string.ascii_uppercase
_TYPICAL: Final = 100
"""Assumed size of unknown extents when the order of contractions is chosen."""


@frozen_dataclass
class _Term:
    """A factor of the product: a tensor, and a letter for each axis."""

    x: Variable
    letters: str


@coerced
def einsum(subscripts: str, *operands: Any, optimize: Any = None) -> Variable:
    """np.einsum: "ij,jk->ik" sums the product of the operands over the letters that the result leaves out.

    A letter that an operand repeats takes its diagonal, "..." stands for the axes without a letter, and without "->"
    the result has the letters that occur once, in alphabetical order. Axes of static extent 1 broadcast. Two operands
    at a time are contracted: the pair with the least growth comes next; an unknown extent counts as 100.
    optimize: NumPy's strategies for that order; ignored here.

    Raises: GraphTypeError if `subscripts` is not a str, GraphValueError for a formula that is wrong or does not fit the
    ranks, and for extents that differ (at run time where they are not known).
    """
    if not isinstance(subscripts, str):
        raise GraphTypeError(f"einsum: the subscripts must be a str, not {subscripts!r:.60}")
    variables = [as_tensor(x) for x in operands]
    lines = [x.describe() for x in variables]
    try:
        inputs, out = parse_subscripts(subscripts, [x.ndim for x in variables])
        common = dtypes.promote(*(x.dtype for x in variables))
        terms = [_without_repeats(_Term(cast(x, common), axes)) for x, axes in zip(variables, inputs, strict=True)]
        terms = _without_broadcast(terms)
        return _contracted([_without_private(term, terms, out) for term in terms], out)
    except GraphValueError as error:
        title = error.diagnostic.title
        text = title if title.startswith("einsum") else f"einsum: {title}"
        raise GraphValueError(text, lines=lines, hint=error.diagnostic.hint) from error


# --- the formula -----------------------------------------------------------------------------------------------------


def parse_subscripts(subscripts: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with new letters for the axes of "...".

    Raises: GraphValueError for a formula that is wrong, or does not fit the ranks of the operands.
    """
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise GraphValueError(f"einsum: {len(parts)} terms in {subscripts!r} for {len(ranks)} operands")
    for part in (*parts, right):
        if part.replace("...", "", 1).strip(_LETTERS):
            raise GraphValueError(f"einsum: {part!r} is not a list of letters with at most one '...'")
    free = [letter for letter in _LETTERS if letter not in left + right]
    hidden = [_hidden(part, rank) for part, rank in zip(parts, ranks, strict=True)]
    rest = "".join(free[: max(hidden)])
    inputs = [part.replace("...", rest[len(rest) - n :]) for part, n in zip(parts, hidden, strict=True)]
    if not arrow:
        counts = Counter(left.replace(",", "").replace(".", ""))
        return inputs, rest + "".join(sorted(letter for letter, n in counts.items() if n == 1))
    out = right.replace("...", rest)
    if rest and "..." not in right:
        raise GraphValueError(f"einsum: an operand of {subscripts!r} has '...', so the result must have it too")
    if len(set(out)) != len(out) or not set(out) <= set("".join(inputs)):
        raise GraphValueError(f"einsum: the result {right!r} repeats a letter, or has one that no operand has")
    return inputs, out


def _hidden(part: str, rank: int) -> int:
    """The number of axes that "..." represents in one term of the subscripts."""
    named = len(part.replace("...", ""))
    if named > rank or (named < rank and "..." not in part):
        raise GraphValueError(f"einsum: {part!r} does not fit an operand of rank {rank}")
    return rank - named


# --- one operand -----------------------------------------------------------------------------------------------------


def _without_repeats(term: _Term) -> _Term:
    """The diagonal of a term along each pair of axes that share a letter."""
    x, letters = term.x, term.letters
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first, second = letters.index(letter), letters.rindex(letter)
            x = diagonal(_with_equal_extents(x, first, second), 0, first, second)
            letters = "".join(other for axis, other in enumerate(letters) if axis not in (first, second)) + letter
    return _Term(x, letters)


def _with_equal_extents(x: Variable, first: int, second: int) -> Variable:
    """x, checked to have equal extents along two axes."""
    shape = x.tensor_type.shape
    if shape[first] == shape[second] and shape[first] is not None:
        return x
    wanted: list[Any] = [None] * x.ndim
    wanted[second] = extent_of(x, first)
    return specify_shape(x, wanted)


def _without_broadcast(terms: Sequence[_Term]) -> list[_Term]:
    """The terms without axes of extent 1 that broadcast against another term."""
    longer = {
        letter for term in terms for letter, dim in zip(term.letters, term.x.tensor_type.shape, strict=True) if dim != 1
    }
    result = []
    for term in terms:
        shape = term.x.tensor_type.shape
        ones = [axis for axis, letter in enumerate(term.letters) if shape[axis] == 1 and letter in longer]
        kept = "".join(letter for axis, letter in enumerate(term.letters) if axis not in ones)
        result.append(_Term(squeeze(term.x, ones), kept) if ones else term)
    return result


def _without_private(term: _Term, terms: Sequence[_Term], out: str) -> _Term:
    """A term, summed over the axes whose letters occur neither in other terms nor in the result."""
    others = out + "".join(other.letters for other in terms if other is not term)
    axes = normalise_axes([axis for axis, letter in enumerate(term.letters) if letter not in others], term.x.ndim)
    if not axes:
        return term
    x = term.x
    total = any_over(x, axis=axes) if x.dtype == "bool" else sum_over(x, axis=axes, dtype=x.dtype)
    return _Term(total, "".join(letter for axis, letter in enumerate(term.letters) if axis not in axes))


# --- several operands ------------------------------------------------------------------------------------------------


def _contracted(terms: Sequence[_Term], out: str) -> Variable:
    """The product of the terms, summed over letters that are not in `out`."""
    remaining = list(terms)
    extents = {
        letter: dim
        for term in terms
        for letter, dim in zip(term.letters, term.x.static_shape, strict=True)
        if dim is not None
    }
    while len(remaining) > 1:
        pair = min(combinations(range(len(remaining)), 2), key=lambda pair: _growth(remaining, pair, out, extents))
        result = _product_of(remaining, pair, out)
        remaining = [term for position, term in enumerate(remaining) if position not in pair]
        remaining.insert(pair[0], result)
    (last,) = remaining
    return transpose(last.x, [last.letters.index(letter) for letter in out])


def _kept_letters(terms: Sequence[_Term], pair: tuple[int, int], out: str) -> str:
    """Letters of two factors that the result or another term needs: common ones, those of the first, of the second."""
    first, second = (terms[position].letters for position in pair)
    needed = out + "".join(term.letters for position, term in enumerate(terms) if position not in pair)
    if len(terms) == 2:
        return out
    shared = [letter for letter in first if letter in second]
    order = [*shared, *(x for x in first if x not in second), *(x for x in second if x not in first)]
    return "".join(letter for letter in order if letter in needed)


def _growth(
    terms: Sequence[_Term], pair: tuple[int, int], out: str, extents: Mapping[str, int]
) -> tuple[int, int, tuple[int, int]]:
    """The order key of a contraction: the increase in elements, then the multiplications; the least comes next."""

    def size(letters: str) -> int:
        return math.prod(extents.get(letter, _TYPICAL) for letter in letters)

    first, second = (terms[position].letters for position in pair)
    work = size("".join(set(first + second)))
    return size(_kept_letters(terms, pair, out)) - size(first) - size(second), work, pair


def _product_of(terms: Sequence[_Term], pair: tuple[int, int], out: str) -> _Term:
    first, second = (terms[position] for position in pair)
    kept = _kept_letters(terms, pair, out)
    if not first.letters or not second.letters:
        return _Term(mul(first.x, second.x), first.letters or second.letters)
    plain = dict(zip(dict.fromkeys(first.letters + second.letters), _LETTERS, strict=False))
    left, right, result = ("".join(plain[letter] for letter in part) for part in (first.letters, second.letters, kept))
    return _Term(Contract(f"{left},{right}->{result}")(first.x, second.x), kept)

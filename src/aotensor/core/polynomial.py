"""Polynomials in the dims of a program: formulas of the work or memory of a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import floor
from typing import TypeAlias

Monomial: TypeAlias = tuple[tuple[str, int], ...]
"""Sorted pairs (name, exponent); exponents may be negative."""


@dataclass(frozen=True)
class Polynomial:
    """Σ coefficient · monomial. Prints as `4*n*p + 12*n`.

    Names that begin with `#` denote run-time values such as the number of rows in a block: they are expected to
    cancel, as blocks · rows per block is the number of rows.
    """

    terms: Mapping[Monomial, Fraction] = field(default_factory=dict)

    @staticmethod
    def from_value(value: int | str) -> Polynomial:
        """Convert a number or the name of a dim to a polynomial."""
        key: Monomial = ((value, 1),) if isinstance(value, str) else ()
        factor = 1 if isinstance(value, str) else value
        return Polynomial({key: Fraction(factor)} if factor else {})

    @staticmethod
    def sum(summands: Iterable[Polynomial]) -> Polynomial:
        """The sum of many polynomials, in time proportional to the number of terms of distinct objects."""
        counted: dict[int, tuple[Polynomial, int]] = {}
        for one in summands:
            counted[id(one)] = one, counted.get(id(one), (one, 0))[1] + 1
        found = counted.values()
        return _collected((key, factor * count) for one, count in found for key, factor in one.terms.items())

    def __add__(self, other: Polynomial) -> Polynomial:
        if not other.terms:
            return self
        if not self.terms:
            return other
        return Polynomial.sum((self, other))

    def __mul__(self, other: Polynomial) -> Polynomial:
        pairs = product(self.terms.items(), other.terms.items())
        return _collected((_product(key, other_key), factor * by) for (key, factor), (other_key, by) in pairs)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other * Polynomial.from_value(-1)

    def divide(self, other: Polynomial) -> Polynomial | None:
        """The quotient, defined if `other` has one term."""
        if len(other.terms) != 1:
            return None
        ((key, factor),) = other.terms.items()
        return self * Polynomial({tuple((name, -power) for name, power in key): 1 / factor})

    def divided(self, other: Polynomial) -> Polynomial | None:
        """The quotient; of two integers it is rounded down, otherwise it is the result of `divide`."""
        found = self.divide(other)
        number = None if found is None else found.number()
        return found if number is None else Polynomial.from_value(floor(number))

    def number(self) -> Fraction | None:
        """The value of a constant polynomial."""
        return self.terms.get((), Fraction(0)) if all(not key for key in self.terms) else None

    def unknowns(self) -> set[str]:
        """The names of the run-time values."""
        return {name for key in self.terms for name, _ in key if name.startswith("#")}

    def has_unknowns(self) -> bool:
        """Does the polynomial depend on a run-time value?"""
        return bool(self.unknowns())

    def renamed(self, names: Mapping[str, str]) -> Polynomial:
        """The polynomial with other names."""
        if not names:
            return self
        changed = {tuple(sorted((names.get(name, name), x) for name, x in key)): y for key, y in self.terms.items()}
        return Polynomial(changed)

    def without_unknowns(self) -> Polynomial:
        """The polynomial with every run-time value set to 1."""
        terms = self.terms.items()
        return _collected((tuple(item for item in key if not item[0].startswith("#")), x) for key, x in terms)

    def part(self, name: str) -> Polynomial:
        """The coefficient of the first power of `name`, as a polynomial in the other names."""
        found = {key: factor for key, factor in self.terms.items() if (name, 1) in key}
        return Polynomial({tuple(item for item in key if item[0] != name): x for key, x in found.items()})

    def typical_value(self) -> Fraction:
        """The value with 1000 substituted for every name, to compare formulas."""
        powers = [(factor, sum(power for _, power in key)) for key, factor in self.terms.items()]
        return sum((factor * Fraction(1000) ** power for factor, power in powers), Fraction(0))

    def __str__(self) -> str:
        ordered = sorted(self.terms.items(), key=lambda item: (-sum(power for _, power in item[0]), item[0]))
        return " + ".join(_term_text(key, factor) for key, factor in ordered) or "0"


def _collected(terms: Iterable[tuple[Monomial, Fraction]]) -> Polynomial:
    found: dict[Monomial, Fraction] = {}
    for key, factor in terms:
        found[key] = found[key] + factor if key in found else factor
    return Polynomial({key: factor for key, factor in found.items() if factor})


def _product(one: Monomial, other: Monomial) -> Monomial:
    powers = dict(one)
    for name, power in other:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _term_text(key: Monomial, factor: Fraction) -> str:
    names = ["*".join([name] * power) if power > 0 else f"{name}^{power}" for name, power in key]
    number = [] if factor == 1 and names else [f"{float(factor):.12g}"]
    return "*".join([*number, *names])

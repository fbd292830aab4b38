"""Hash-consed expressions: equal ones have one number, from either nest, and index arithmetic is in normal form.

    i + (n - i)  →  n           (s·k) / s  →  k           min(b, a, a)  →  min(a, b)

A sum is `lin`: a constant and a coefficient for each other expression. A variable is the iteration of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

Term: TypeAlias = int
"""The number of an expression in its table."""


_NONE: Final[frozenset[int]] = frozenset()


@dataclass(frozen=True)
class Node:
    """An expression of the table: its operation, constant attributes and operands."""

    tag: str
    fact: Hashable
    args: tuple[Term, ...]


class Table:
    """A table with one entry per expression, numbered in the order of creation."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._terms: dict[Node, Term] = {}
        self._free: list[frozenset[Term]] = []
        self._count = 0

    def make(self, tag: str, fact: Hashable = None, args: Iterable[Term] = ()) -> Term:
        node = Node(tag, fact, tuple(args))
        found = self._terms.get(node)
        if found is None:
            found = self._terms[node] = len(self.nodes)
            self.nodes.append(node)
            is_variable = tag == "var"
            self._free.append(frozenset({found}) if is_variable else _NONE.union(*(self._free[x] for x in node.args)))
        return found

    def variable(self) -> Term:
        """A new variable, different from all others."""
        self._count += 1
        return self.make("var", self._count)

    def is_variable(self, x: Term) -> bool:
        return self.nodes[x].tag == "var"

    def free(self, x: Term) -> frozenset[Term]:
        """The free variables of an expression x."""
        return self._free[x]

    def parts(self, x: Term, known: Container[Term]) -> list[Term]:
        """An expression and its subexpressions, operands first, without those in `known` and below these."""
        found, pending = set[Term](), [x]
        while pending:
            y = pending.pop()
            if y not in found and y not in known:
                found.add(y)
                pending += self.nodes[y].args
        return sorted(found)  # operands are created first, and so have smaller numbers

    def in_order(self, terms: Iterable[Term], below: Callable[[Term], Sequence[Term]]) -> Iterator[Term]:
        """Iterate over `terms` and the expressions `below` them, each once and in order, if they contain variables."""
        seen: set[Term] = set()
        for x in terms:
            pending = [x]
            while pending:
                y = pending.pop()
                if y not in seen and self._free[y]:
                    seen.add(y)
                    yield y
                    pending += reversed(below(y))

    def replace(self, x: Term, new: Mapping[Term, Term], known: dict[Term, Term] | None = None) -> Term:
        """Substitute variables in an expression x, and normalise it. known: cache of earlier substitutions."""
        known = {} if known is None else known
        pending = [x]
        while pending:
            y = pending[-1]
            node = self.nodes[y]
            if y in known:
                pending.pop()
            elif y in new:
                known[y] = new[y]
            elif not node.args or node.tag == "value":
                known[y] = y  # a value is closed: it has no free variables
            elif missing := [z for z in node.args if z not in known]:
                pending += missing
            else:
                known[y] = self.again(node, [known[z] for z in node.args])
        return known[x]

    def again(self, node: Node, args: Sequence[Term]) -> Term:
        """Apply the operation of a node to other operands, and normalise the result."""
        rule = _RULES.get(node.tag)
        return rule(self, node, args) if rule is not None else self.make(node.tag, node.fact, args)

    # --- index arithmetic ----------------------------------------------------------------------------------------

    def number(self, value: int) -> Term:
        return self.make("lin", (value, ()))

    def value(self, x: Term) -> int | None:
        """The integer that a constant expression equals; None for any other expression."""
        constant, parts = self._parts(x)
        return None if parts else constant

    def _parts(self, x: Term) -> tuple[int, dict[Term, int]]:
        node = self.nodes[x]
        if node.tag != "lin":
            return 0, {x: 1}
        constant, coefficients = cast(tuple[int, tuple[int, ...]], node.fact)
        return constant, dict(zip(node.args, coefficients, strict=True))

    def sum(self, terms: Iterable[tuple[Term, int]], constant: int = 0) -> Term:
        """The normalised expression constant + Σ coefficient · term."""
        parts: dict[Term, int] = {}
        for x, factor in terms:
            number, inner = self._parts(x)
            constant += factor * number
            for y, coefficient in inner.items():
                parts[y] = parts.get(y, 0) + factor * coefficient
        kept = sorted((y, c) for y, c in parts.items() if c)
        if constant == 0 and len(kept) == 1 and kept[0][1] == 1:
            return kept[0][0]
        return self.make("lin", (constant, tuple(c for _, c in kept)), (y for y, _ in kept))

    def add(self, x: Term, y: Term) -> Term:
        return self.sum([(x, 1), (y, 1)])

    def subtract(self, x: Term, y: Term) -> Term:
        return self.sum([(x, 1), (y, -1)])

    def multiply(self, x: Term, y: Term) -> Term:
        for a, b in ((x, y), (y, x)):
            number = self.value(a)
            if number is not None:
                return self.sum([(b, number)])
        return self.make("mul", None, sorted((x, y)))

    def divide(self, x: Term, y: Term) -> Term:
        """The normalised integer quotient x / y, for nonnegative numbers."""
        node, divisor = self.nodes[x], self.value(y)
        if divisor == 1:
            return x
        if node.tag == "mul" and y in node.args:
            first, second = node.args
            return second if first == y else first
        if divisor is not None and divisor > 1:
            constant, parts = self._parts(x)
            if not parts and constant >= 0:
                return self.number(constant // divisor)
            if not any(c % divisor for c in (constant, *parts.values())):
                return self.sum([(z, c // divisor) for z, c in parts.items()], constant // divisor)
        return self.make("div", None, (x, y))

    def round_up(self, x: Term, y: Term) -> Term:
        """⌈x / y⌉, the number of blocks of size y that cover x."""
        return self.divide(self.sum([(x, 1), (y, 1)], -1), y)

    def extremum(self, tag: str, args: Iterable[Term]) -> Term:
        """The smallest (`min`) or the largest (`max`) of some expressions."""
        flat: set[Term] = set()
        for x in args:
            flat.update(self.nodes[x].args if self.nodes[x].tag == tag else (x,))
        numbers = [n for x in flat if (n := self.value(x)) is not None]
        rest = sorted(x for x in flat if self.value(x) is None)
        if numbers:
            rest.append(self.number(min(numbers) if tag == "min" else max(numbers)))
        return rest[0] if len(rest) == 1 else self.make(tag, None, sorted(rest))

    # --- bounds --------------------------------------------------------------------------------------------------

    def least(self, x: Term) -> int | None:
        """A lower bound on an index expression, None if none is known."""
        node = self.nodes[x]
        match node.tag:
            case "lin":
                return self._of_sum(x, self.least, self.upper_bound)
            case "dim" | "var" | "extent":
                return 0
            case "mul":
                both = [self.least(y) for y in node.args]
                return both[0] * both[1] if all(n is not None and n >= 0 for n in both) else None  # type: ignore[operator]
            case "max":
                return max((n for y in node.args if (n := self.least(y)) is not None), default=None)
            case "min":
                found = [self.least(y) for y in node.args]
                return None if None in found else min(found)  # type: ignore[type-var]
            case "div":
                return self._least_quotient(*node.args)
            case _:
                return None

    def _least_quotient(self, x: Term, y: Term) -> int | None:
        low, divisor = self.least(x), self.least(y)
        if low is None or divisor is None or low < 0 or divisor < 1:
            return None
        rest = self.least(self.sum([(x, 1), (y, -1)], 0))
        if rest is not None and rest >= 0:
            return 1
        high = self.upper_bound(y)
        return low // high if high is not None else 0

    def upper_bound(self, x: Term) -> int | None:
        """An upper bound on an index expression, None if none is known."""
        node = self.nodes[x]
        match node.tag:
            case "lin":
                return self._of_sum(x, self.upper_bound, self.least)
            case "min":
                return min((n for y in node.args if (n := self.upper_bound(y)) is not None), default=None)
            case "max":
                found = [self.upper_bound(y) for y in node.args]
                return None if None in found else max(found)  # type: ignore[type-var]
            case "mul":
                quotient = next((y for y in node.args if self.nodes[y].tag == "div"), None)
                if quotient is not None:  # (a / b)·b ≤ a
                    a, b = self.nodes[quotient].args
                    return self.upper_bound(a) if tuple(sorted((quotient, b))) == node.args else None
                return None
            case "div":
                high, divisor = self.upper_bound(node.args[0]), self.least(node.args[1])
                return None if high is None or divisor is None or divisor < 1 else high // divisor
            case _:
                return None

    def _of_sum(self, x: Term, same: Callable[[Term], int | None], other: Callable[[Term], int | None]) -> int | None:
        constant, parts = self._parts(x)
        for y, coefficient in parts.items():
            bound = same(y) if coefficient > 0 else other(y)
            if bound is None:
                return None
            constant += coefficient * bound
        return constant


_RULES: Final[Mapping[str, Callable[[Table, Node, Sequence[Term]], Term]]] = {
    "lin": lambda t, node, args: t.sum(zip(args, node.fact[1], strict=True), node.fact[0]),  # type: ignore[index]
    "mul": lambda t, node, args: t.multiply(args[0], args[1]),
    "div": lambda t, node, args: t.divide(args[0], args[1]),
    "min": lambda t, node, args: t.extremum("min", args),
    "max": lambda t, node, args: t.extremum("max", args),
}

"""Recognise small regions by their form: sums, positions of extrema, and sort orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from aotensor.importers.base import Unsuited
from aotensor.importers.stablehlo.elementwise import comparison
from aotensor.importers.stablehlo.structure import Operation, Region, Value

_LARGEST: Final = 256
"""Operations of a region whose form is looked at."""

_COUNTS: Final = {"select": 3, "compare": 2, "and": 2, "or": 2}
_MONOIDS: Final = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def merged(region: Region) -> list[str] | None:
    """The operation of each result of a region that combines its k-th with its (n + k)-th argument; None for other
    regions. "second" returns the later argument; "subtract" subtracts the later one from the first.
    """
    count = len(region.results)
    if len(region.arguments) != 2 * count:
        return None
    made = {id(x): operation for operation in region.operations for x in operation.results}
    found = []
    for k, x in enumerate(region.results):
        pair = [region.arguments[k], region.arguments[count + k]]
        operation = made.get(id(x))
        if x is pair[1]:
            found.append("second")
            continue
        name = operation.name.removeprefix("stablehlo.") if operation is not None else ""
        if operation is None or len(operation.operands) != 2:
            return None
        if name == "subtract" and operation.operands[0] is pair[0] and operation.operands[1] is pair[1]:
            found.append(name)
            continue
        if name not in _MONOIDS:
            return None
        if {id(v) for v in operation.operands} != {id(v) for v in pair}:
            return None
        found.append(name)
    return found


@dataclass(frozen=True, eq=False)
class Tree:
    """A value of a region as an expression tree; in one forest, equal trees are one object. name: of the operation,
    with its comparison; argument: its number; value: of a constant
    """

    name: str
    parts: tuple[Tree, ...] = ()
    argument: int = -1
    value: Any = None


class Forest:
    """Hash-consed expression trees. functions: regions that may be called, by name"""

    def __init__(self, functions: Mapping[str, Region]) -> None:
        self._known: dict[Any, Tree] = {}
        self._functions = functions
        self._left = _LARGEST

    def tree(self, name: str, *parts: Tree, argument: int = -1, value: Any = None) -> Tree:
        """The tree of this form."""
        key = (name, tuple(map(id, parts)), argument, repr(value))
        return self._known.setdefault(key, Tree(name, parts, argument, value))

    def trees_of(self, region: Region, constants: Mapping[int, Any]) -> list[Tree]:
        """The trees of the values that a region returns.   constants: by the identity of a Value

        Raises: Unsuited if it does more than compute
        """
        arguments = [self.tree("argument", argument=k) for k in range(len(region.arguments))]
        return self._returned(region, arguments, constants)

    def _returned(self, region: Region, arguments: Sequence[Tree], constants: Mapping[int, Any]) -> list[Tree]:
        known = {id(x): tree for x, tree in zip(region.arguments, arguments, strict=True)}
        for operation in region.operations:
            self._left -= 1
            if self._left < 0:
                raise Unsuited(f"its region has more than {_LARGEST} operations")
            if operation.regions or len(operation.results) != 1:
                raise Unsuited(f"its region contains {operation.name}, which is not supported there")
            known[id(operation.results[0])] = self._made(operation, known, constants)
        return [self._found(x, known, constants) for x in region.results]

    def _made(self, operation: Operation, known: Mapping[int, Tree], constants: Mapping[int, Any]) -> Tree:
        name = operation.name.removeprefix("stablehlo.")
        if name == "constant":
            return self._constant(operation.attributes["value"])
        parts = [self._found(x, known, constants) for x in operation.operands]
        if len(parts) != _COUNTS.get(name, len(parts)):
            raise Unsuited(f"its region contains {name} with {len(parts)} operands instead of {_COUNTS[name]}")
        if name == "compare":
            name = comparison(operation)[0]
        if name == "func.call":
            inner = self._functions.get(str(operation.words[0] if operation.words else ""))
            if inner is None or len(inner.arguments) != len(parts) or len(inner.results) != 1:
                raise Unsuited("its region calls a function that is unknown or has other arguments or results")
            return self._returned(inner, parts, constants)[0]
        return self.tree(name, *parts)

    def _found(self, x: Value, known: Mapping[int, Tree], constants: Mapping[int, Any]) -> Tree:
        return known[id(x)] if id(x) in known else self._constant(constants.get(id(x)))

    def _constant(self, value: Any) -> Tree:
        """A constant tree; an unknown value from outside is different from all others."""
        is_one = isinstance(value, np.ndarray) and value.size == 1
        return self.tree("constant", value=value.ravel()[0].item()) if is_one else Tree("constant")


def _bare(tree: Tree) -> Tree:
    """x of select(x ≠ x, nan, select(x = 0, 0, x)): the order in which nan are last and zeros equal."""
    if tree.name == "select" and tree.parts[0].name == "NE" and tree.parts[0].parts[0] == tree.parts[0].parts[1]:
        x, inner = tree.parts[0].parts[0], tree.parts[2]
        is_nan = isinstance(tree.parts[1].value, float) and np.isnan(tree.parts[1].value)
        return x if is_nan and _bare(inner) == x else tree
    if tree.name == "select" and tree.parts[0].name == "EQ" and tree.parts[1].value == 0:
        test, x = tree.parts[0].parts, tree.parts[2]
        return x if test[0] == x and test[1].value == 0 else tree
    return tree


def _key(tree: Tree, name: str) -> int | None:
    """The operand whose two elements are compared in this way; None for other trees."""
    if tree.name != name or len(tree.parts) != 2:
        return None
    first, second = (_bare(part) for part in tree.parts)
    if first.argument < 0 or first.argument % 2 or second.argument != first.argument + 1:
        return None
    return first.argument // 2


def sort_keys(tree: Tree) -> tuple[list[int], bool]:
    """The sort keys, the most significant first, and whether the order is descending.   Raises: Unsuited"""
    for name, is_down in (("LT", False), ("GT", True)):
        keys: list[int] = []
        rest: Tree | None = tree
        while rest is not None:
            key = _key(rest, name)
            if key is not None:
                return [*keys, key], is_down
            rest = _next(rest, name, keys)
    raise Unsuited("its comparator is not the ascending or descending order of its operands")


def _next(tree: Tree, name: str, keys: list[int]) -> Tree | None:
    """`rest` of `x < y or (x = y and rest)`; the key is appended to `keys`."""
    if tree.name != "or" or len(tree.parts) != 2:
        return None
    first, second = tree.parts
    key = _key(first, name)
    if key is None or second.name != "and" or _key(second.parts[0], "EQ") != key:
        return None
    keys.append(key)
    return second.parts[1]


def extreme_position(forest: Forest, results: Sequence[Tree]) -> str:
    """ "argmax" or "argmin" for a region that keeps the first extreme value and its position, else ""."""
    if len(results) != 2:
        return ""
    x, i, y, j = (forest.tree("argument", argument=k) for k in range(4))
    for name, found in (("GT", "argmax"), ("LT", "argmin")):
        better = forest.tree(name, x, y)
        is_earlier = forest.tree("and", forest.tree("EQ", x, y), forest.tree("LT", i, j))
        for wins in (better, forest.tree("or", better, forest.tree("NE", x, x))):
            picked = forest.tree("select", wins, x, y)
            place = forest.tree("select", forest.tree("or", wins, is_earlier), i, j)
            if results[0] is picked and results[1] is place:
                return found
    return ""


def is_logaddexp(region: Region, functions: Mapping[str, Region]) -> bool:
    """Is it log(exp x + exp y), in JAX's form? functions: that it may call"""
    forest = Forest(functions)
    try:
        results = forest.trees_of(region, {})
    except Unsuited:
        return False
    x, y = (forest.tree("argument", argument=k) for k in range(2))
    gap = forest.tree("subtract", x, y)
    decay = forest.tree("exponential", forest.tree("negate", forest.tree("abs", gap)))
    value = forest.tree("add", forest.tree("maximum", x, y), forest.tree("log_plus_one", decay))
    whole = forest.tree("select", forest.tree("NE", gap, gap), forest.tree("add", x, y), value)
    return len(region.arguments) == 2 and results == [whole]

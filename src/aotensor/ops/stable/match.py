"""Match formulas: find operands through casts, signs and constants, within limits."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, Variable
from aotensor.ops.create import Alloc, FullLike
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.index import Subtensor
from aotensor.ops.linalg.determinant import Determinant
from aotensor.ops.reduce.extremum import Extremum
from aotensor.ops.reduce.normalise import Softmax
from aotensor.ops.reduce.sums import Prod, Sum
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.extents import ShapeI

DEEPEST: Final = 8
"""Longest chain of nodes that is searched for a formula."""

_NEAR: Final = 4
_WIDEST: Final = 8
"""Nodes on a path, and nodes at equal distance from the root, that are searched for a rounding."""

FAR: Final = DEEPEST + 4
"""Most nodes between the root of a formula and its functions, counting those of a product."""

SOURCES: Final = frozenset(
    {
        "beta", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "gamma", "i0", "iv", "kv", "sigmoid", "sinh", "softplus",
        "tanh", Determinant, Prod, Softmax,
    }
)  # fmt: skip
"""Functions that overflow or underflow, which make formulas unstable."""

_NONNEGATIVE: Final = frozenset(
    {"abs", "cosh", "erfc", "erfcx", "exp", "exp2", "i0", "isfinite", "kv", "kve", "sigmoid", "softplus", "sqr", "sqrt"}
)
_KEEPS_SIGN: Final = frozenset({"add", "cast", "identity", "maximum", "minimum", "mul", "reciprocal", "true_div"})


def kind_of(node: Apply) -> str | type:
    """The key of a node in tables of rules: the name of an elementwise op, the class of another one."""
    return node.op.row.name if isinstance(node.op, Elementwise) else type(node.op)


@frozen_dataclass
class Look:
    """A matcher of formulas on one graph.

    kept: variables at which the search ends, because their own cotangents, tangents or values are used.
    is_value: is it for compiled values, for which the pass `stabilize` rewrites formulas of scalars?
    readers: the number of nodes that read a variable, for values. distance: the number of nodes between a
    variable and the nearest of `SOURCES` that it depends on, up to `FAR`.
    """

    kept: Collection[Variable]
    is_value: bool = False
    readers: Mapping[Variable, int] = field(default_factory=dict)
    distance: dict[Variable, int] = field(default_factory=dict)

    def at(self, node: Apply) -> Look:
        """The matcher for formulas with this root: the pass `stabilize` does not recognise one across a rounding."""
        return replace(self, is_value=False) if self.is_value and _is_rounded_inside(node) else self

    def node(self, x: Variable) -> Apply | None:
        """The node of x, looking through floating casts; None if the search must not continue."""
        while x.owner is not None and x not in self.kept:
            node = x.owner
            if kind_of(node) not in ("cast", "identity") or not _is_real(node.inputs[0]):
                return node
            x = node.inputs[0]
        return None

    def argument(self, x: Variable, name: str) -> Variable | None:
        """u where x is f(u), for f the elementwise function of that name."""
        node = self.node(x)
        return as_float(node.inputs[0], node) if node is not None and kind_of(node) == name else None

    def number(self, x: Variable) -> float | None:
        """The number that all elements of x equal, if known."""
        for _ in range(DEEPEST):
            if isinstance(x, Constant):
                return _uniform(x)
            node = x.owner
            if node is None or x in self.kept:
                return None
            if isinstance(node.op, DimShuffle | Alloc | FullLike) or kind_of(node) in ("cast", "identity"):
                x = node.inputs[0]
            elif kind_of(node) == "second":
                x = node.inputs[1]
            else:
                return None
        return None

    def square_base(self, x: Variable) -> Variable | None:
        """u where x is u²."""
        node = self.node(x)
        if node is not None and kind_of(node) == "sqr":
            return node.inputs[0]
        if node is None or kind_of(node) != "mul" or len(node.inputs) != 2:
            return None
        return node.inputs[0] if is_same(*node.inputs) else None

    def scaled_square(self, x: Variable) -> Variable | None:
        """u where x is u², or √c·u where x is c·u² or u²/(1/c) for a number c > 0."""
        u, node = self.square_base(x), self.node(x)
        if u is not None or node is None or kind_of(node) not in ("mul", "true_div") or len(node.inputs) != 2:
            return u if u is None or dtypes.is_float(u.dtype) else None
        pairs = (node.inputs, node.inputs[::-1]) if kind_of(node) == "mul" else (node.inputs,)
        for square, factor in pairs:
            number, u = self.number(factor), self.square_base(square)
            if u is not None and number is not None and 0 < number < math.inf and dtypes.is_float(u.dtype):
                return u * math.sqrt(number) if kind_of(node) == "mul" else u / math.sqrt(number)
        return None

    def opposite(self, x: Variable) -> Variable | None:
        """u where x is −u."""
        node = self.node(x)
        if node is None:
            return None
        if kind_of(node) == "neg":
            return node.inputs[0]
        if kind_of(node) == "sub" and self.number(node.inputs[0]) == 0:
            return node.inputs[1]
        if kind_of(node) == "mul" and len(node.inputs) == 2:
            for u, factor in (node.inputs, node.inputs[::-1]):
                if self.number(factor) == -1:
                    return u
        return None

    def one_plus(self, x: Variable) -> Variable | None:
        """u where x is 1 + u."""
        node = self.node(x)
        if node is not None and kind_of(node) == "add" and len(node.inputs) == 2:
            for u, other in (node.inputs, node.inputs[::-1]):
                if self.number(other) == 1:
                    return u
        return None

    def one_minus(self, x: Variable) -> Variable | None:
        """u where x is 1 − u, or 1 + (−u)."""
        node = self.node(x)
        if node is not None and kind_of(node) == "sub" and self.number(node.inputs[0]) == 1:
            return node.inputs[1]
        u = self.one_plus(x)
        return None if u is None else self.opposite(u)

    def less_one(self, x: Variable) -> Variable | None:
        """u where x is u − 1, or u + (−1)."""
        node = self.node(x)
        if node is None or len(node.inputs) != 2:
            return None
        first, second = node.inputs
        if kind_of(node) == "sub":
            return first if self.number(second) == 1 else None
        pairs = ((first, second), (second, first)) if kind_of(node) == "add" else ()
        return next((u for u, one in pairs if self.number(one) == -1), None)

    def is_nonnegative(self, x: Variable, depth: int = 0) -> bool:
        """Is every element of x provably at least 0, or nan?"""
        if isinstance(x, Constant):
            return not bool((x.data < 0).any())
        if dtypes.is_discrete(x.dtype) and x.dtype.startswith("u"):
            return True
        node = x.owner
        if node is None or depth == DEEPEST:
            return False
        kind, inputs = kind_of(node), node.inputs
        if kind in _NONNEGATIVE or kind in (Softmax, ShapeI):
            return True
        if kind in _KEEPS_SIGN or kind in (Sum, Prod, Extremum):
            is_square = kind == "mul" and len(inputs) == 2 and inputs[0] is inputs[1]
            if is_square or all(self.is_nonnegative(y, depth + 1) for y in inputs):
                return True
        if kind in (DimShuffle, Subtensor, Alloc):
            return self.is_nonnegative(inputs[0], depth + 1)
        for u in (self.one_minus(x), self.one_plus(x)):
            if u is not None and any(self.argument(u, name) is not None for name in ("sigmoid", "erf")):
                return True
        return False

    def is_shifted(self, u: Variable) -> bool:
        """Is u of the form x − max x, so that exp(u) does not overflow?"""
        node = self.node(u)
        return node is not None and kind_of(node) == "sub" and _is_maximum(node.inputs[1], DEEPEST)


def as_float(x: Variable, node: Apply) -> Variable:
    """An operand of a node, cast to the floating dtype of the node if it is an integer."""
    return x if dtypes.is_float(x.dtype) else cast(x, node.outputs[0].dtype)


def is_same(x: Variable, y: Variable, depth: int = 0) -> bool:
    """Are two variables provably equal: equal ops on equal inputs?"""
    if x is y:
        return True
    if isinstance(x, Constant) and isinstance(y, Constant):
        return x.type == y.type and bool(np.array_equal(x.data, y.data))
    one, other = x.owner, y.owner
    if one is None or other is None or depth == DEEPEST // 2 or x.index != y.index or one.op != other.op:
        return False
    return all(is_same(a, b, depth + 1) for a, b in zip(one.inputs, other.inputs, strict=True))


def _is_real(x: Variable) -> bool:
    return not x.is_sparse and dtypes.is_float(x.dtype)


def _uniform(x: Constant) -> float | None:
    if not x.data.size or dtypes.is_complex(x.dtype) or x.is_sparse:
        return None
    first = x.data.flat[0]
    return float(first) if x.data.size == 1 or bool((x.data == first).all()) else None


def _is_maximum(x: Variable, depth: int) -> bool:
    """Is x a maximum, perhaps after moves, cut derivatives, or a `switch` that replaces values that are not finite?"""
    node = x.owner
    if node is None or depth == 0:
        return False
    if isinstance(node.op, Extremum):
        return node.op.kind == "max"
    found = node.inputs[1:] if kind_of(node) == "switch" else node.inputs[:1]
    is_view = kind_of(node) in ("cast", "identity", "switch", "maximum") or not isinstance(node.op, Elementwise)
    return is_view and any(_is_maximum(y, depth - 1) for y in found)


def _is_rounded_inside(root: Apply) -> bool:
    """Is a part of a formula computed in a narrower dtype than its root, as every op on float16 is?"""
    level = [root]
    for _ in range(_NEAR):
        inputs = [x for node in level for x in node.inputs]
        if any(_is_rounded(x) for x in inputs):
            return True
        level = [x.owner for x in inputs if x.owner is not None and isinstance(x.owner.op, Elementwise)][:_WIDEST]
    return False


def _is_rounded(x: Variable) -> bool:
    """Is x a computed number of a narrower floating dtype, cast to a wider one?"""
    if x.owner is None or kind_of(x.owner) != "cast" or not _is_real(x.owner.inputs[0]):
        return False
    (y,) = x.owner.inputs
    return y.owner is not None and dtypes.itemsize(y.dtype) < dtypes.itemsize(x.dtype)

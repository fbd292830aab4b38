"""Check from the graph that an expression is a holomorphic function of a variable, by tracking linear maps of parts.

    real(w)  ↦  {(1, w, 0): 1}      A·x − B·y  ↦  {(A, w, 0): 1, (B, w, 1): −1}      x + iy: is i·dx = −dy?

The differential of a real value is a sum of linear maps, identified by the ops that they consist of, of the parts of
complex values w that are known to be holomorphic functions. Multiplying dw by i swaps the parts, real ones with a
minus: x + iy is holomorphic if that turns the sum of x into minus that of y. So expansions of ops on complex values
are recognised, and the conjugate of a conjugate; unknown cases are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.errors import UnsupportedError
from aotensor.graph.expression import expression_of
from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import toposort
from aotensor.ops.complex.functions import ComplexFunction
from aotensor.ops.complex.holomorphic import HolomorphicView
from aotensor.ops.complex.parts import FromParts, Part
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.linear import ConstantOp, DiscreteOp, MultilinearOp, SolveOp
from aotensor.ops.scan.branch import IfElse
from aotensor.ops.shape.join import Split
from aotensor.sparse.csm import CSM, CSMProperties

Terms: TypeAlias = dict[tuple[int, int, int], float]
"""Real differential: (number of a linear map, of a holomorphic value, its part) → coefficient; empty for a constant."""
Number: TypeAlias = tuple[Terms, Terms]

_LARGEST_SUM: Final = 256  # largest number of terms; longer sums are not analysed
_SAME: Final = -1
"""The number of the identity map."""
_LINEAR: Final = {"true_div": ((0,),), "second": ((1,),), "switch": ((1, 2),)}
"""Elementwise ops with groups of operands that they are linear in, as `MultilinearOp.linear_in`."""


@frozen_dataclass
class _Opaque:
    """A differential that depends on z in an unknown way."""


OPAQUE: Final = _Opaque()
Differential: TypeAlias = Terms | Number | _Opaque


def check_holomorphic(name: str, expression: Variable, z: Variable, stop: Collection[Variable]) -> None:
    """Check that `expression` is a holomorphic function of a complex z.   Raises: UnsupportedError if not provably so.

    name: of the calling function, for the message. stop: variables that count as constants.
    """
    found = _Analysis(z, stop)
    if found.is_holomorphic(expression):
        return
    culprit = next(
        (y for node in toposort([expression], stop=[z, *stop]) for y in node.outputs if found.is_bad(y)),
        expression,
    )
    where = f" made at {culprit.site}" if culprit.site is not None else ""
    raise UnsupportedError(
        f"{name}: {expression} is not known to be a holomorphic function of {z}",
        lines=[expression.describe(), f"{expression_of(culprit)} is not{where}"],
        hint="conj, real, imag, abs, angle, sign and loops are not; make it of real variables with complex(x, y)",
    )


@dataclass
class _Analysis:
    """Differentials of variables as functions of that of z."""

    z: Variable
    stop: Collection[Variable]
    known: dict[Variable, Differential] = field(default_factory=dict)
    numbers: dict[Variable, int] = field(default_factory=dict)
    _values: dict[Hashable, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known[self.z] = self._atom(self.z)
        for x in self.stop:
            self.known.setdefault(x, _constant(x))

    def is_holomorphic(self, z: Variable) -> bool:
        """Is a complex value a holomorphic function of z, or independent of z?"""
        self._walk([z])
        found = self.known[z]
        return isinstance(found, tuple) and _is_transposed(*found)

    def is_bad(self, x: Variable) -> bool:
        """Is a visited value complex and not holomorphic, or real with an unknown dependence on z?"""
        found = self.known.get(x, OPAQUE)
        return isinstance(found, _Opaque) or (isinstance(found, tuple) and not _is_transposed(*found))

    # --- which values are the same --------------------------------------------------------------------------------

    def _number(self, x: Variable) -> int:
        """The value number of x: equal numbers mean the same ops applied to the same inputs."""
        if x not in self.numbers:
            for node in toposort([x], stop=self.numbers):
                for y in node.outputs:
                    self.numbers.setdefault(y, self._numbered(self._meaning(y, node)))
            if x not in self.numbers:
                self.numbers[x] = self._leaf(x)
        return self.numbers[x]

    def _meaning(self, y: Variable, node: Apply) -> Hashable:
        inputs = tuple(self.numbers[x] if x in self.numbers else self._leaf(x) for x in node.inputs)
        return (node.op, inputs, y.index)

    def _leaf(self, x: Variable) -> int:
        is_value = isinstance(x, Constant) and not x.is_sparse
        return self._numbered((x.dtype, x.data.shape, x.data.tobytes()) if is_value else x)  # type: ignore[attr-defined]

    def _numbered(self, meaning: Hashable) -> int:
        return self._values.setdefault(meaning, len(self._values))

    # --- differentials --------------------------------------------------------------------------------------------

    def _atom(self, x: Variable) -> Number:
        number = self._number(x)
        return {(_SAME, number, 0): 1.0}, {(_SAME, number, 1): 1.0}

    def _walk(self, outputs: Sequence[Variable]) -> None:
        for node in toposort(outputs, stop=self.known):
            found = self._propagate(node)
            for y, differential in zip(node.outputs, found, strict=True):
                self.known.setdefault(y, _shortened(differential))
        for x in outputs:
            self.known.setdefault(x, _constant(x))

    def _differential_of(self, x: Variable) -> Differential:
        return self.known.setdefault(x, _constant(x))

    def _propagate(self, node: Apply) -> list[Differential]:
        """The differentials of the outputs of a node."""
        given = [self._differential_of(x) for x in node.inputs]
        moving = [k for k, d in enumerate(given) if not _is_zero_differential(d)]
        if not moving or isinstance(node.op, ConstantOp | DiscreteOp):
            return [_constant(y) for y in node.outputs]
        if isinstance(node.op, HolomorphicView):
            is_known = moving[-1] > 0 and self._are_holomorphic(given[1:])
            return [self._atom(node.outputs[0]) if is_known else given[0]]
        if node.op.is_holomorphic and self._are_holomorphic(given):
            return [self._atom(y) if dtypes.is_complex(y.dtype) else OPAQUE for y in node.outputs]
        if node.op.is_check:
            return given[: len(node.outputs)]
        if any(isinstance(given[k], _Opaque) for k in moving):
            return [_constant(y) if dtypes.is_discrete(y.dtype) else OPAQUE for y in node.outputs]
        found = self._complex(node, given) or self._real(node, given, moving)
        return self._expanded(node) if found is None else found

    @staticmethod
    def _are_holomorphic(given: Sequence[Differential]) -> bool:
        return all(_is_zero_differential(d) or (isinstance(d, tuple) and _is_transposed(*d)) for d in given)

    def _complex(self, node: Apply, given: Sequence[Any]) -> list[Differential] | None:
        """Differentials of ops that convert between complex values and their parts; None for other ops."""
        match node.op:
            case FromParts(count=count):
                pairs = zip(given[:count], given[count:], node.outputs, strict=True)
                return [self._atom(y) if _is_transposed(re, im) else (re, im) for re, im, y in pairs]
            case Part(index=index):
                return [given[0][index]]
            case ComplexFunction(function="add" | "sub" | "neg" as name):
                sides = [d if isinstance(d, tuple) else (d, {}) for d in given]
                signs = [-1.0 if name == "neg" or (name == "sub" and k) else 1.0 for k in range(len(sides))]
                return [tuple(self._sum(node, [d[k] for d in sides], signs) for k in range(2))]  # type: ignore[list-item]
            case ComplexFunction(function="mul"):
                return self._scaled(node, given)
            case CSM():
                return [given[0]]
            case CSMProperties():
                return [given[0], {}, {}, {}]
        return None

    def _scaled(self, node: Apply, given: Sequence[Any]) -> list[Differential] | None:
        """The differential of a product with constant scalars such as 1j; None for other ops."""
        factor, rest = 1 + 0j, []
        for x, d in zip(node.inputs, given, strict=True):
            if isinstance(x, Constant) and x.data.size == 1:
                factor *= complex(x.data.item())
            else:
                rest.append((x, d))
        if len(rest) != 1 or _is_repeated(rest[0][0], node.outputs[0]):
            return None
        re, im = rest[0][1] if isinstance(rest[0][1], tuple) else (rest[0][1], {})
        both = [re, im]
        return [(_total(both, [factor.real, -factor.imag]), _total(both, [factor.imag, factor.real]))]

    def _real(self, node: Apply, given: Sequence[Any], moving: Sequence[int]) -> list[Differential] | None:
        """Differentials of ops on real values that are linear in their varying operands; None for other ops."""
        if any(isinstance(given[k], tuple) for k in moving):
            return None
        live = [y for y in node.outputs if dtypes.is_inexact(y.dtype)]
        if not live:
            return [{} for _ in node.outputs]
        match node.op:
            case Elementwise(name="add" | "sub" | "neg" as name):
                signs = [-1.0 if name == "neg" or (name == "sub" and k) else 1.0 for k in range(len(given))]
                return [self._sum(node, given, signs)]
            case Elementwise(name="cast" | "identity"):
                return [given[0]]
            case Elementwise(name=name):
                groups = tuple((k,) for k in range(len(given))) if name == "mul" else _LINEAR.get(name, ())
                positions = {k for group in groups for k in group} | node.op.row.unread
                return self._sum_differentials(node, given, moving, groups) if {*moving} <= positions else None
            case MultilinearOp() if len(live) == len(node.outputs) == 1:
                return self._sum_differentials(node, given, moving, node.op.groups(len(given)))
            case SolveOp() if [k for k in moving if node.op.connection_pattern(node)[k][0]] == [
                range(len(given))[node.op.side]
            ]:
                return self._sum_differentials(node, given, moving, [(range(len(given))[node.op.side],)])
            case Split() if moving == [0]:
                return [self._mapped(self._step(node, 0, (0,), y), given[0]) for y in node.outputs]
            case IfElse(count=count) if 0 not in moving:
                return [self._chosen(node, given, k, count) for k in range(count)]
        return None

    def _expanded(self, node: Apply) -> list[Differential]:
        """Differentials of the outputs of an op by its expansion; opaque if it has none."""
        found = node.op.expand(node.inputs)
        if found is None:
            return [_constant(y) if dtypes.is_discrete(y.dtype) else OPAQUE for y in node.outputs]
        self._walk(found)
        return [self._differential_of(y) for y in found]

    def _sum_differentials(
        self, node: Apply, given: Sequence[Any], moving: Sequence[int], groups: Sequence[tuple[int, ...]]
    ) -> list[Differential]:
        """The sum of the mapped differentials of all varying inputs that are in a linear group."""
        own = {k: group for group in groups for k in group}
        mapped = [self._mapped(self._step(node, k, own[k]), given[k]) for k in moving if k in own]
        return [_total(mapped, [1.0] * len(mapped))]

    def _chosen(self, node: Apply, given: Sequence[Any], k: int, count: int) -> Terms:
        condition = self._number(node.inputs[0])
        sides = [self._mapped(("ifelse", condition, side), given[1 + k + side * count]) for side in range(2)]
        return _total(sides, [1.0, 1.0])

    def _step(self, node: Apply, position: int, group: Collection[int], y: Variable | None = None) -> Hashable:
        """A key for the linear map from one input of a linear group to an output, with the other inputs fixed."""
        others = tuple((k, self._number(x)) for k, x in enumerate(node.inputs) if k not in group)
        return (node.op, position, others, 0 if y is None else y.index)

    def _mapped(self, step: Hashable, terms: Terms) -> Terms:
        """Differential terms after the application of another linear map."""
        return {(self._numbered(("map", step, map)), w, part): c for (map, w, part), c in terms.items()}

    def _sum(self, node: Apply, given: Sequence[Terms], signs: Sequence[float]) -> Terms:
        """The differential of an elementwise sum or difference; broadcasting an operand counts as a linear map."""
        (y,) = node.outputs
        terms = []
        for k, (x, d) in enumerate(zip(node.inputs, given, strict=True)):
            terms.append(self._mapped(self._step(node, k, (k,)), d) if d and _is_repeated(x, y) else d)
        return _total(terms, signs)


def _constant(x: Variable) -> Differential:
    return ({}, {}) if dtypes.is_complex(x.dtype) else {}


def _is_repeated(x: Variable, y: Variable) -> bool:
    """Does x broadcast to y?"""
    return x.ndim != y.ndim or any(n == 1 != m for n, m in zip(x.static_shape, y.static_shape, strict=True))


def _is_zero_differential(d: Differential) -> bool:
    return not isinstance(d, _Opaque) and not (d[0] or d[1] if isinstance(d, tuple) else d)


def _is_transposed(re: Any, im: Any) -> bool:
    """Is the differential of re + i·im complex linear in dz?"""
    if isinstance(re, _Opaque) or isinstance(im, _Opaque):
        return False
    turned = {(map, w, 1 - part): -c if part == 0 else c for (map, w, part), c in re.items()}
    return turned == {key: -c for key, c in im.items()}


def _total(terms: Sequence[Terms], signs: Sequence[float]) -> Terms:
    found: Terms = {}
    for one, sign in zip(terms, signs, strict=True):
        for key, c in one.items():
            found[key] = found.get(key, 0.0) + sign * c
    return {key: c for key, c in found.items() if c}


def _shortened(d: Differential) -> Differential:
    sides = d if isinstance(d, tuple) else (d,)
    return OPAQUE if any(not isinstance(s, _Opaque) and len(s) > _LARGEST_SUM for s in sides) else d

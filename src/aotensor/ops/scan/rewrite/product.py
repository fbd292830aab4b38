"""Lower contractions over several axes to matrix products, for library kernels."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aotensor.graph.site import variables_at
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.ops.contract import Contract
from aotensor.ops.scan.extents import rebuilt
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, product
from aotensor.ops.shape.reshape import reshape

STEP = "z"
"""The letter of the axis of steps, which contractions from `dot` and `matmul` do not use."""


def as_products(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """The pass: the graph, with contractions as matrix products if the axes of each group are contiguous."""
    known: dict[Variable, Variable] = {}
    for node in toposort(outputs, stop=stop):
        with variables_at(node.outputs[0].site):
            if isinstance(node.op, Contract):
                x, y = (known.get(one, one) for one in node.inputs)
                known[node.outputs[0]] = contracted(node.op.spec, x, y)
            else:
                known.update(rebuilt(node, known))
    return [known.get(x, x) for x in outputs]


def contracted(spec: str, x: Variable, y: Variable) -> Variable:
    """The contraction `Contract(spec)` of x, y as a matrix product: "zbk,kj->zbj" as ((z·b), k) times (k, j)."""
    operands, out = spec.split("->")
    left, right = operands.split(",")
    inner = "".join(letter for letter in left if letter in right and letter not in out)
    rows = "".join(letter for letter in out if letter in left and letter not in right)
    columns = "".join(letter for letter in out if letter in right and letter not in left)
    is_matrix = len(left) <= 2 and len(right) <= 2
    is_batch = len(rows) + len(columns) != len(out)
    if is_matrix or is_batch or not inner or not _are_adjacent(left, right, inner, rows, columns):
        return Contract(spec)(x, y)  # type: ignore[no-any-return]
    extents = _extents(left, x) | _extents(right, y)
    a, first = _flat(x, left, rows, inner, "m", extents)
    b, second = _flat(y, right, columns, inner, "n", extents)
    target = ("m" if rows else "") + ("n" if columns else "")
    whole = Contract(f"{first},{second}->{target}")(a, b)
    spread = reshape(whole, [extents[letter] for letter in rows + columns])
    return dimshuffle(spread, [(rows + columns).index(letter) for letter in out])


def _extents(letters: str, x: Variable) -> dict[str, SymbolicExtent]:
    return {letter: extent_of(x, axis) for axis, letter in enumerate(letters)}


def _are_adjacent(left: str, right: str, inner: str, rows: str, columns: str) -> bool:
    return left in (rows + inner, inner + rows) and right in (columns + inner, inner + columns)


def _flat(
    x: Variable, letters: str, own: str, inner: str, name: str, extents: dict[str, SymbolicExtent]
) -> tuple[Variable, str]:
    """(x with its own letters merged into one axis and the inner letters into one, the letters of these axes)."""
    groups = [(own, name), (inner, "k")] if letters == own + inner else [(inner, "k"), (own, name)]
    groups = [group for group in groups if group[0]]
    shape = [product(extents[letter] for letter in group) for group, _ in groups]
    return reshape(x, shape), "".join(letter for _, letter in groups)

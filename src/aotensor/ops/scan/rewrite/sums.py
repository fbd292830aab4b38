"""Find states of loops that are sums over the steps."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.ops.contract import Contract
from aotensor.ops.elementwise.arithmetic import add
from aotensor.ops.reduce.sums import Sum
from aotensor.ops.scan.rewrite.draft import Draft
from aotensor.ops.scan.rewrite.product import STEP
from aotensor.ops.shape.axes import DimShuffle


def accumulators(draft: Draft, nodes: Sequence[Apply]) -> dict[int, list[Variable]]:
    """State → its terms, for states that are sums over the steps and have no other reader: x ↦ x + term + …"""
    readers: dict[Variable, int] = {}
    for x in [*(x for node in nodes for x in node.inputs), *draft.made.flat()]:
        readers[x] = readers.get(x, 0) + 1
    found: dict[int, list[Variable]] = {}
    for k, (new, slots) in enumerate(zip(draft.made.states, draft.slots.taps, strict=True)):
        if draft.taps[k] != (-1,) or draft.is_stacked[k] or readers.get(slots[0]) != 1 or readers[new] != 1:
            continue
        terms = _terms(new, readers)
        if slots[0] in terms and all((x.dtype, x.ndim) == (new.dtype, new.ndim) for x in terms):
            found[k] = [x for x in terms if x is not slots[0]]
    return found


def _terms(x: Variable, readers: dict[Variable, int]) -> list[Variable]:
    """The terms of a sum, including those of nested sums that have no other readers."""
    pending, found = [x], list[Variable]()
    while pending:
        one = pending.pop(0)
        if one.owner is not None and one.owner.op == add and readers[one] == 1:
            pending = [*one.owner.inputs, *pending]
        else:
            found.append(one)
    return found


def is_product(term: Variable) -> bool:
    """Is it an outer product, or a product of matrices, with more elements than its operands?"""
    node = term.owner
    if node is None or term.ndim < 2:
        return False
    if isinstance(node.op, DimShuffle) and sorted(x for x in node.op.pattern if x is not None) == list(
        range(term.ndim)
    ):
        return node.inputs[0].ndim == term.ndim and is_product(node.inputs[0])
    if not isinstance(node.op, Contract):
        return False
    left, right, out = node.op.parts()
    is_batch = any(letter in left and letter in right for letter in out)
    return not is_batch and STEP not in left + right and all(x.ndim <= term.ndim for x in node.inputs)


def product_node(term: Variable) -> Apply:
    """The Contract node of a product."""
    node = term.owner
    assert node is not None
    return product_node(node.inputs[0]) if isinstance(node.op, DimShuffle) else node


def product_of(term: Variable) -> tuple[str, Sequence[Variable]]:
    """(spec, left operand, right operand) of a product, with the result's axes in the order that a transposition
    gives.
    """
    node = term.owner
    assert node is not None
    if isinstance(node.op, DimShuffle):
        spec, operands = product_of(node.inputs[0])
        front, out = spec.split("->")
        return f"{front}->{''.join(out[axis] for axis in node.op.pattern if axis is not None)}", operands
    assert isinstance(node.op, Contract)
    return node.op.spec, node.inputs


def summand(term: Variable) -> Variable:
    """The value that is summed over the steps, before its sum over axes in each step."""
    is_sum = (
        term.owner is not None and isinstance(term.owner.op, Sum) and term.owner.op.dtype == term.owner.op.acc_dtype
    )
    return term.owner.inputs[0] if is_sum and term.owner is not None else term

"""Merge outlined functions that are equal, or differ in numbers only: keep one, and redirect all calls to it.

    func.call @f.chunk0(%x, %y, %i)          func.call @f.chunk0(%x, %y, %i)
    func.call @f.chunk1(%z, %t, %i)     →    func.call @f.chunk0(%z, %t, %i)

Layers of a network and terms of a sum give equal loops over different buffers, and buffers are arguments of the
functions that `outline` and `outline-chunks` have made. Later passes and LLVM compile each such loop once. Equal loops
of different source lines are not merged: line tables and error messages name the lines.

Steps of a solver and terms of a series give loops that differ in coefficients. These become arguments, unless an
operation reads them for which LLVM or `expand-math` knows better code with a known operand, such as a power.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import Float32Type, Float64Type, FunctionType, ModuleOp, SymbolRefAttr

from aotensor.ir.upstream import parallel_loop_around, walk
from aotensor.passes.keys import block_parts
from aotensor.passes.memory.plan_memory import SCOPE
from aotensor.passes.outlining.outline import NO_ALIAS, OUTLINED
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied

_ARITHMETIC: Final = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.CmpfOp, memref.StoreOp)
"""Operations that are as fast with a number in a register as with a literal."""


@ir_pass("merge-functions", level="loops", topic="code")
def merge_functions(module: ModuleOp) -> None:
    """Merges outlined functions that are equal, as layers of a network and terms of a sum give, or differ in
    coefficients only: each loop is compiled once. Loops of different lines stay apart.
    """
    _merge_equal(module)
    _merge_up_to_numbers(module)


def _merge_equal(module: ModuleOp) -> None:
    found = _outlined(module)
    equal: dict[object, list[func.FuncOp]] = {}
    while found:
        for function in found:
            equal.setdefault(_key(function), []).append(function)
        merged = {x.sym_name.data: group[0].sym_name.data for group in equal.values() for x in group[1:]}
        for group in equal.values():
            if len(group) > 1:
                applied("merged functions: {} and {} more have equal code", group[0], len(group) - 1)
            for function in group[1:]:
                function.detach()
                function.erase()
            del group[1:]
        found = _redirected(module, merged)  # may be equal now to others that call the same
        changed = set(found)
        equal = {key: [x for x in group if x not in changed] for key, group in equal.items()}


def _merge_up_to_numbers(module: ModuleOp) -> None:
    """Merge functions that differ in the numbers that their arithmetic reads, which become their first arguments."""
    alike: dict[object, list[tuple[func.FuncOp, list[arith.ConstantOp]]]] = {}
    for function in _outlined(module):
        numbers = [op for op in walk(function) if isinstance(op, arith.ConstantOp) and _is_coefficient(op)]
        if numbers:
            alike.setdefault(_key(function, numbers), []).append((function, numbers))
    given: dict[str, tuple[str, Sequence[arith.ConstantOp]]] = {}
    for group in alike.values():
        (first, own), *others = group
        varying = [k for k, op in enumerate(own) if any(numbers[k].value != op.value for _, numbers in others)]
        if not varying:
            continue
        applied("merged functions: {} and {} more differ in coefficients, their arguments", first, len(others))
        for function, numbers in group:
            given[function.sym_name.data] = first.sym_name.data, [numbers[k].clone() for k in varying]
        for function, _ in others:
            function.detach()
            function.erase()
        _take_as_arguments(first, [own[k] for k in varying])
    for call in list(walk(module)) if given else ():
        if isinstance(call, func.CallOp) and call.callee.string_value() in given:
            _give_numbers(call, *given[call.callee.string_value()])


def _take_as_arguments(function: func.FuncOp, numbers: Sequence[arith.ConstantOp]) -> None:
    """Replace constants of a function by its first arguments."""
    for k, op in enumerate(numbers):
        op.result.replace_all_uses_with(function.body.block.insert_arg(op.result.type, k))
        op.detach()
        op.erase()
    function.properties["function_type"] = FunctionType.from_lists(
        [x.type for x in function.body.block.args], list(function.function_type.outputs)
    )


def _give_numbers(call: func.CallOp, symbol: str, numbers: Sequence[arith.ConstantOp]) -> None:
    """Let a call hand numbers to another function."""
    place = parallel_loop_around(call) or call
    copies = [op.clone() for op in numbers]
    for copy in copies:
        copy.location = call.location
        assert place.parent is not None
        place.parent.insert_op_before(copy, place)
    call.operands = [*(copy.result for copy in copies), *call.operands]
    call.properties["callee"] = SymbolRefAttr(symbol)


def _outlined(module: ModuleOp) -> list[func.FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and OUTLINED in op.attributes]


def _key(function: func.FuncOp, unread: Sequence[arith.ConstantOp] = ()) -> object:
    """Equal for functions of equal code, but for the values of constants `unread`."""
    parts = block_parts(function.body.block, {}, numbered=[SCOPE], located=True, unread=frozenset(unread))
    return NO_ALIAS in function.attributes, tuple(parts)


def _is_coefficient(op: arith.ConstantOp) -> bool:
    """Is a constant a number that only arithmetic reads?"""
    is_number = isinstance(op.result.type, Float32Type | Float64Type)
    return is_number and all(isinstance(use.operation, _ARITHMETIC) for use in op.result.uses)


def _redirected(module: ModuleOp, merged: Mapping[str, str]) -> list[func.FuncOp]:
    """Redirect calls to other functions; return the outlined functions that contain some."""
    changed: dict[func.FuncOp, None] = {}
    functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
    for function in functions if merged else ():
        for call in walk(function):
            if type(call) is func.CallOp and call.callee.string_value() in merged:
                call.properties["callee"] = SymbolRefAttr(merged[call.callee.string_value()])
                if OUTLINED in function.attributes:
                    changed[function] = None
    return list(changed)

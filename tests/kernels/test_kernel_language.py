"""The kernel language: folded constants, branches, and errors at the line of unsupported code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from aotensor.errors import KernelError
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.types import memref_type
from aotensor.kernels.language import Bool, Index, Indices, Reals, is_nan, parallel, rolled, unrolled
from aotensor.passes.kernels.translate import inline_kernel

WIDTH = 3


def _translated(kernel: Callable[..., Any], *constants: Any) -> str:
    """The text of a kernel with a vector of float64, one of int64, and constants as further arguments."""
    module = ModuleOp([])
    kinds = [memref_type("float64", [None]), memref_type("int64", [None])]
    op = func.FuncOp("f", (kinds, []))
    module.body.block.add_op(op)
    b = LoopBuilder(Builder(InsertPoint.at_end(op.body.block)))
    inline_kernel(b, kernel, *op.body.block.args, *constants)
    b.builder.insert(func.ReturnOp())
    module.verify()
    return str(module)


def test_numbers_that_are_known_decide() -> None:
    def kernel(x: Reals, found: Indices, n: Index, has_sum: Bool) -> None:
        total = 0.0
        for k in unrolled(WIDTH):
            if has_sum:
                total += x[n + k]
        x[0] = total if has_sum else -1.0

    assert _translated(kernel, 4, True).count("arith.addf") == WIDTH
    text = _translated(kernel, 4, False)
    assert "addf" not in text and "scf.if" not in text


def test_results_of_branches_are_in_the_order_of_the_text() -> None:
    """Not in that of a set of names, which differs between processes."""

    def kernel(x: Reals, found: Indices, n: Index) -> None:
        if found[0] > n:
            first, second, third, fourth, fifth, sixth = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
            x[0] = 0.0
        else:
            sixth, fifth, fourth, third, second, first = 7.0, 8.0, 9.0, 10.0, 11.0, 12.0
        x[1] = first + second + third + fourth + fifth + sixth

    text = _translated(kernel, 4)
    constants = dict(re.findall(r"(%\d+) = arith.constant (\S+) : f64", text))
    yielded = [line.partition(" : ")[0].split()[1:] for line in text.splitlines() if "scf.yield %" in line]
    values = [[float(constants[name.rstrip(",")]) for name in names] for names in yielded]
    assert values == [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [12.0, 11.0, 10.0, 9.0, 8.0, 7.0]]


def test_both_sides_are_computed_if_they_cannot_fail() -> None:
    def cheap(x: Reals, found: Indices, n: Index) -> None:
        for k in rolled(n):
            here = x[k]
            x[k] = here if here > 0.0 and not is_nan(here) else -here

    def reads(x: Reals, found: Indices, n: Index) -> None:
        for k in rolled(n):
            x[k] = x[k + 1] if k + 1 < n and x[k + 1] > 0.0 else 0.0

    assert "scf.if" not in _translated(cheap, 9)
    assert _translated(reads, 9).count("scf.if") == 2


def _assigns_counter(x: Reals, found: Indices) -> None:
    for k in range(4):
        k = k + 1


def _mixes(x: Reals, found: Indices) -> None:
    x[0] = x[1] + found[0]


def _stores_another(x: Reals, found: Indices) -> None:
    found[0] = x[0]


def _breaks(x: Reals, found: Indices) -> None:
    for k in range(4):
        found[k] = 0
        break


def _lacks_value(x: Reals, found: Indices) -> None:
    for k in range(4):
        last = found[k]
    found[0] = last


def _reuses_name(x: Reals, found: Indices) -> None:
    k = found[0]
    for k in range(4):
        found[k] = 0


def _changes_dtype(x: Reals, found: Indices) -> None:
    total = 0
    for k in range(4):
        total = x[k]
    found[0] = total


def _shares_sum(x: Reals, found: Indices) -> None:
    total = 0.0
    for k in parallel(0, 4, 1):
        total += x[k]


def _unrolls_unknown(x: Reals, found: Indices) -> None:
    for k in unrolled(found[0]):
        found[k] = 0


def _calls_unknown(x: Reals, found: Indices) -> None:
    x[0] = sum(x)


def _returns_early(x: Reals, found: Indices) -> None:
    if found[0] > 0:
        return
    found[0] = 1


def _reads_float_position(x: Reals, found: Indices) -> None:
    x[0] = x[x[1]]


ERRORS: dict[Callable[..., Any], tuple[int, str]] = {
    _assigns_counter: (2, "k is the variable of a loop, which the loop alone assigns"),
    _mixes: (1, "float64 and index are mixed"),
    _stores_another: (1, "float64 where index is needed"),
    _breaks: (3, "not a part of the kernel language"),
    _lacks_value: (3, "last may have no value here"),
    _reuses_name: (2, "k has a value before the loop whose variable it is"),
    _changes_dtype: (3, "total is index before and float64 after"),
    _shares_sum: (2, "a loop on several cores assigns total"),
    _unrolls_unknown: (1, "must be known when compiling"),
    _calls_unknown: (1, "not a part of the kernel language"),
    _returns_early: (2, "not a part of the kernel language"),
    _reads_float_position: (1, "float64 where index is needed"),
}


@pytest.mark.parametrize("kernel", ERRORS, ids=lambda kernel: kernel.__name__)
def test_errors_name_the_line(kernel: Callable[..., Any]) -> None:
    offset, text = ERRORS[kernel]
    line = inspect.getsourcelines(kernel)[1] + offset
    with pytest.raises(KernelError, match=rf"test_kernel_language.py:{line}: kernel {kernel.__name__}: .*{text}"):
        _translated(kernel)

"""Operators on scalars emit the operations of the builder that is active."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.dialects.builtin import VectorType, f32, f64, i1, i64
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

from aotensor.ir.index_builder import IndexBuilder
from aotensor.ir.scalar_builder import CONTRACT, NO_FAST_MATH, RAW, Scalar, ScalarBuilder
from aotensor.ir.types import index

KINDS = {"float64": f64, "int64": i64, "uint64": i64, "bool": i1, "index": index}


def _scalars(dtype: str) -> tuple[Builder, Scalar, Scalar]:
    """A builder of a block, and its two arguments."""
    block = Block(arg_types=[KINDS[dtype]] * 2)
    return Builder(InsertPoint.at_end(block)), Scalar(block.args[0], dtype), Scalar(block.args[1], dtype)


def _names(builder: Builder) -> list[str]:
    return [op.name for op in builder.insertion_point.block.ops]


@pytest.mark.parametrize(
    ("function", "dtype", "name"),
    [
        (operator.add, "float64", "addf"), (operator.sub, "int64", "subi"), (operator.mul, "bool", "andi"),
        (operator.truediv, "float64", "divf"), (operator.truediv, "int64", "divsi"), (operator.mod, "uint64", "remui"),
        (operator.floordiv, "index", "floordivsi"), (operator.and_, "bool", "andi"), (operator.or_, "int64", "ori"),
        (operator.xor, "int64", "xori"), (operator.lshift, "int64", "shli"), (operator.rshift, "int64", "shrsi"),
        (operator.rshift, "uint64", "shrui"), (operator.lt, "float64", "cmpf"), (operator.ge, "uint64", "cmpi"),
    ],
)  # fmt: skip
def test_an_operator_is_an_operation_of_its_dtype(function: Callable[..., Any], dtype: str, name: str) -> None:
    builder, x, y = _scalars(dtype)
    with ScalarBuilder(builder).active():
        made = function(x, y)
    assert _names(builder) == [f"arith.{name}"]
    assert made.dtype == ("bool" if name.startswith("cmp") else dtype)


def test_a_number_has_the_dtype_of_the_other_operand() -> None:
    """On both sides; NumPy's numbers are numbers, too."""
    builder, x, _ = _scalars("float64")
    with ScalarBuilder(builder).active():
        made = [2 * x, x - np.float64(2.0), np.float64(2.0) / x, x < 2]
    assert _names(builder) == ["arith.constant", "arith.mulf", "arith.constant", "arith.subf",
                               "arith.constant", "arith.divf", "arith.constant", "arith.cmpf"]  # fmt: skip
    assert [one.dtype for one in made] == ["float64", "float64", "float64", "bool"]


def test_extents_are_folded_and_shared() -> None:
    builder, n, m = _scalars("index")
    with IndexBuilder(builder, CONTRACT).active():
        assert n + 0 is n and 1 * n is n and n // 1 is n
        assert n - n == 0
        assert (n + m).ssa is (n + m).ssa
    assert _names(builder) == ["arith.addi"]


def test_the_innermost_active_builder_emits_with_its_flags() -> None:
    (outer, x, y), (inner, u, _) = _scalars("float64"), _scalars("float64")
    with ScalarBuilder(outer).active():
        with ScalarBuilder(inner, NO_FAST_MATH).active() as b:
            exact = x + u
            with b.using(CONTRACT):
                contracted = x + u
        x + y
    assert (len(_names(inner)), len(_names(outer))) == (2, 1)
    assert [one.ssa.owner.fastmath for one in (exact, contracted)] == [NO_FAST_MATH, CONTRACT]  # type: ignore[union-attr]


def test_vectors_have_operators() -> None:
    block = Block(arg_types=[VectorType(f32, [8])] * 2 + [VectorType(i1, [8])] * 2)
    x, y, mask, other = (Scalar(argument, RAW) for argument in block.args)
    builder = Builder(InsertPoint.at_end(block))
    with ScalarBuilder(builder).active() as b:
        b.select(mask ^ other, x * y, x)
    assert _names(builder) == ["arith.xori", "arith.mulf", "arith.select"]


def test_without_an_active_builder_an_operator_is_an_error() -> None:
    _, x, y = _scalars("float64")
    with pytest.raises(LookupError, match="active builder"):
        x + y

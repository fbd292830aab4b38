"""MLIR's own tools and our loop level: mlir-opt accepts every module, mlir-runner computes the same numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from corpus import CORPUS, EXTENTS, draw, expected, texts_of
from levels import levels
from upstream import count_mismatches, printed, rejected

from aotensor.ir.build import Program
from aotensor.ir.context import parse_module

SAMPLE = (
    "scalars_only", "static_ones", "one_value_twice", "input_returned", "constants_returned", "integer_division",
    "unsigned_wide", "casts", "sums_of_rank_3", "argmax_of_rows", "softmax_rows", "reshape_and_back", "slices",
    "sums_of_slices", "subtensors_set", "concatenations", "running_sums", "sorting", "dots", "logistic", "noise",
    "rejected_draws", "sparse_products", "sparse_patterns",
)  # fmt: skip


@pytest.mark.needs("mlir-opt")
@texts_of()
def test_mlir_opt_accepts_every_module(make: Callable[[], Program]) -> None:
    assert rejected(levels(make)["library"]) == ""


@pytest.mark.needs("mlir-opt", "mlir-runner")
@pytest.mark.parametrize("name", SAMPLE)
def test_mlir_runner_agrees(name: str) -> None:
    program = CORPUS[name]()
    text = levels(CORPUS[name])["library"]
    for size in ("usual", "large"):
        arrays = draw([x for _, x in program.inputs], EXTENTS[size])
        assert count_mismatches(text, program, arrays, expected(program, arrays)) == 0, size


@pytest.mark.needs("mlir-opt", "mlir-runner")
def test_the_comparison_sees_a_difference() -> None:
    program = CORPUS["scalars_only"]()
    arrays = draw([x for _, x in program.inputs], EXTENTS["usual"])
    wanted = expected(program, arrays)
    wanted[1] = wanted[1] * 1.001
    text = levels(CORPUS["scalars_only"])["library"]
    assert count_mismatches(text, program, arrays, wanted) == 1


@pytest.mark.needs("mlir-opt")
@pytest.mark.parametrize("name", ["chain_and_sum", "logistic", "sorting"])
def test_what_mlir_opt_prints_is_read_back(name: str) -> None:
    """The other way round: a module in upstream's own style parses here."""
    parse_module(printed(levels(CORPUS[name])["library"])).verify()

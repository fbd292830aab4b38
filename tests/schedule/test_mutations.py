"""Nests that are edited at random: what is accepted computes the same, and what cannot is refused, never a crash."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from corpus import CORPUS, draw, expected
from mutations import KINDS, mutated
from tiny_target import TINY
from xdsl.dialects.builtin import ModuleOp

from aotensor.core.types import Array
from aotensor.errors import ScheduleError
from aotensor.ir.build import Program, build
from aotensor.ir.context import parse_module
from aotensor.ir.interpreter.interpret import interpret
from aotensor.ir.text import text_of
from aotensor.passes.pipeline import NEST, TENSOR_RECIPE, PassRunner, recipe
from aotensor.passes.schedule import accept as acceptance
from aotensor.passes.schedule.accept import accept

SIZES = ({"n": 5, "m": 4, "k": 3, "l": 3}, {"n": 37, "m": 11, "k": 9, "l": 6})
PROGRAMS = ("logistic", "softmax_rows", "two_layers", "sparse_products", "sums_over_axes", "batched_products")
BEYOND = {"static_small", "exponentials"}
"""Nests that the terms cannot say: short vectors of one loop, a buffer in a block that is read as a whole."""


@cache
def own_nest(name: str) -> tuple[Program, str]:
    program = CORPUS[name]()
    module, _ = build([program])
    PassRunner().run(module, (*TENSOR_RECIPE, *recipe(NEST, TINY)))
    return program, text_of(module)


def check(module: ModuleOp, program: Program) -> None:
    for extents in SIZES:
        arrays = draw([x for _, x in program.inputs], extents)
        for x, y in zip(interpret(module, program.name, *arrays), expected(program, arrays), strict=True):
            found: Array = x.view(y.dtype) if y.dtype.kind == "u" else x
            tolerance = 2e-5 if y.dtype == np.float32 else 1e-12
            np.testing.assert_allclose(found, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CORPUS)
def test_every_nest_is_a_schedule_of_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the whole proof is made, which the same text does without."""
    _, text = own_nest(name)
    accept(parse_module(text), text, "own", TINY)
    monkeypatch.setattr(acceptance, "rows_of", lambda function: object())
    if name in BEYOND:
        with pytest.raises(ScheduleError, match="does not support schedules"):
            accept(parse_module(text), text, "own", TINY)
    else:
        accept(parse_module(text), text, "own", TINY)


def edits() -> Iterator[Any]:
    """Every kind on every program, few and many times."""
    for name, kind in product(PROGRAMS, KINDS):
        yield pytest.param(name, kind, range(2), id=f"{name}-{kind}-few")
        yield pytest.param(name, kind, range(2, 9), id=f"{name}-{kind}-many")


@pytest.mark.parametrize(("name", "kind", "seeds"), [*edits()])
def test_what_is_accepted_computes_the_same(name: str, kind: str, seeds: range) -> None:
    program, text = own_nest(name)
    refused = 0
    for seed in seeds:
        module = mutated(parse_module(text), Random(seed), kind)
        if module is None:
            continue
        try:
            found = accept(parse_module(text), text_of(module), "edited", TINY)
        except ScheduleError as error:
            assert str(error).startswith("edited:")
            refused += 1
        else:
            check(found, program)
    if kind in ("drop", "bound", "subscript"):
        assert refused >= len(seeds) - 1  # one may hit what makes no difference, such as a loop over the same extent


PIPELINES = ("parallelize", "unroll-and-jam", "vectorize", "strip-mine")
"""Passes that keep statements. `coalesce` flattens their operands: a nest without it is refused where it applies."""


@pytest.mark.parametrize("left_out", PIPELINES)
@pytest.mark.parametrize("name", ["logistic", "two_layers", "softmax_rows"])
def test_a_nest_without_a_pass_is_a_schedule(name: str, left_out: str) -> None:
    """Chunks and their sums, blocks and their buffers, leave no trace in what a nest computes."""
    program = CORPUS[name]()
    module, _ = build([program])
    steps = [step for step in recipe(NEST, TINY) if step.name != left_out]
    PassRunner().run(module, (*TENSOR_RECIPE, *steps))
    _, text = own_nest(name)
    check(accept(parse_module(text), text_of(module), "other", TINY), program)


def damaged(text: str, random: Random) -> str:
    """A text with a part cut off, taken out or put in, or with two lines in each other's place."""
    lines, k = text.splitlines(keepends=True), random.randrange(len(text))
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    swapped = list(lines)
    swapped[one], swapped[two] = lines[two], lines[one]
    word = random.choice(["%x", "}", "{", '"', "-1", "9" * 20, "\0", "\u00e9", "nest.", "[", "loc(", "#", "@f", "!"])
    return random.choice([
        text[:k], text[:k] + text[k + random.randrange(1, 12) :], text[:k] + word + text[k:], "".join(swapped),
        "".join(lines[:one] + lines[one + 1 :]),
    ])  # fmt: skip


@pytest.mark.unlimited("the one test of damaged schedules", "ci")
def test_damaged_texts_are_refused_or_mean_the_same() -> None:
    program, text = own_nest("logistic")
    refused = 0
    for seed in range(80):
        try:
            found = accept(parse_module(text), damaged(text, Random(seed)), "damaged", TINY)
        except ScheduleError as error:
            assert str(error).startswith("damaged:")
            refused += 1
        else:
            check(found, program)
    assert refused > 40


def test_a_string_without_an_end_is_refused_at_once() -> None:
    """xDSL's expression for strings would take time that doubles with each character of the line."""
    _, text = own_nest("logistic")
    for quote in ('"', '"\\q"', '"a\\'):
        broken = text.replace("nest.for", quote + "nest.for", 1)
        with pytest.raises(ScheduleError, match=r"damaged:\d+: this string has no end"):
            accept(parse_module(text), broken, "damaged", TINY)
    check(
        accept(parse_module(text), text.replace("nest.for", '// a "quote\nnest.for', 1), "other", TINY),
        own_nest("logistic")[0],
    )

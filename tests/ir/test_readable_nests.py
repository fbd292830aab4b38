"""Nests as people read them: sizes in a table, index arithmetic as expressions, statements as assignments."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from corpus import CORPUS, EXTENTS, draw, texts_of
from levels import levels
from xdsl.dialects import arith
from xdsl.utils.exceptions import ParseError

import aotensor as aot
import aotensor.tensor as at
from aotensor.ir.build import Program
from aotensor.ir.context import generic_text, parse_module
from aotensor.ir.interpreter.interpret import interpret
from aotensor.ir.nest.loops import ForOp
from aotensor.ir.text import text_of
from aotensor.ir.upstream import walk

MODEL = """
func.func @f(%x: tensor<?x?xf64>, %w: tensor<?xf64>) -> tensor<?xf64> attributes {dims = [["n", "p"], ["p"]], results = ["y"]} {
  nest.sizes {
    %n = dim(%x, 0)
    %p = dim(%x, 1)
    %m = max(%p - 1, 0)
  }
  %y = nest.value[%n] init 0.5 : f64 output 0 : tensor<?xf64>
  nest.for %i.n in %n {
    nest.for %i.i in %m {
      nest.do %y[%i.n] += %x[%i.n, %i.i + 1] * -%w[%i.i] fastmath<contract> reassoc
    }
  }
  func.return %y : tensor<?xf64>
}
"""  # noqa: E501


@texts_of()
def test_they_print_parse_and_print_again(make: Callable[[], Program]) -> None:
    text = text_of(parse_module(levels(make)["nest"]), brief=True)
    parsed = parse_module(text)
    parsed.verify()
    assert text_of(parsed, brief=True) == text
    assert text_of(parse_module(generic_text(text)), brief=True) == text


@pytest.mark.parametrize("name", ["logistic", "sparse_products", "softmax_rows"])
def test_they_compute_the_same(name: str) -> None:
    plain = parse_module(levels(CORPUS[name])["nest"])
    program = CORPUS[name]()
    arrays = draw([x for _, x in program.inputs], EXTENTS["usual"])
    found = interpret(parse_module(text_of(plain, brief=True)), program.name, *arrays)
    for x, y in zip(found, interpret(plain, program.name, *arrays), strict=True):
        np.testing.assert_array_equal(x, y)


def test_an_expression_is_what_it_says() -> None:
    x, w = np.arange(6.0).reshape(2, 3), np.array([2.0, 3.0, 5.0])
    (found,) = interpret(parse_module(MODEL), "f", x, w)
    np.testing.assert_array_equal(found, 0.5 - x[:, 1:] @ w[:-1])
    assert MODEL.strip() in text_of(parse_module(MODEL), brief=True).replace("\n  ", "\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    %m = max(%p - 1, 0)\n", "", r"f\.mlir:9:.*%m is not in the table of sizes"),
        ("%p - 1", "%q - 1", r"f\.mlir:6:.*%q is not in the table of sizes"),
        ("dim(%x, 1)", "dim(%x, 0)", r"f\.mlir:5:.*%p is equal to %n"),
        (
            "%n = dim(%x, 0)\n    %p = dim(%x, 1)",
            "%p = dim(%x, 0)\n    %n = dim(%x, 1)",
            r"f\.mlir:4:.*%p is not this",
        ),
        ("%m = max(%p - 1, 0)", "%m = 7", r"f\.mlir:6:.*%m is not computed"),
        ("%m = max(%p - 1, 0)", "%m = largest(%p)", r"f\.mlir:6:.*'largest' is not an operation of sizes"),
        ("max(%p - 1, 0)", "max(%p - 1)", r"f\.mlir:6:.*max of 1 operands"),
        ("max(%p - 1, 0)", "max(%p - 1.5, 0)", r"f\.mlir:6:.*1\.5 is not a number of type index"),
        ("+= %x", "+= sin(%n) + %x", r"f\.mlir:11:.*a number of type index in a statement of f64"),
        ("* -%w", "div %w", r"f\.mlir:11:.*div of numbers of type f64"),
        ("<contract>", "<quick>", r"f\.mlir:11:.*'quick' is not a permission"),
    ],
)
def test_a_wrong_text_is_refused_with_its_line(old: str, new: str, said: str) -> None:
    assert MODEL.count(old) >= 1
    with pytest.raises(ParseError) as caught:
        parse_module(MODEL.replace(old, new), "f.mlir").verify()
    assert re.search(said, re.sub(r"\s+", " ", str(caught.value)))


def test_invariant_operations_are_before_their_loop() -> None:
    inner = MODEL.replace("%w[%i.i]", "%w[%i.n rem %p]").replace("%x[%i.n, %i.i + 1]", "%x[%i.n + 1, %i.i]")
    loops = [op for op in walk(parse_module(inner)) if isinstance(op, ForOp)]
    held = [[type(op) for op in loop.body.block.ops] for loop in loops]
    assert arith.AddiOp in held[0] and arith.AddiOp not in held[1]
    assert arith.RemSIOp in held[1], "a division may trap, and the loop may have no iterations"


@pytest.mark.parametrize("inside", [False, True])
def test_long_chains_are_not_one_expression(inside: bool) -> None:
    """A chain of 700 extents, in the table or in a loop, has names in between: printer and parser are recursive."""
    links = list(pairwise(["%i.n" if inside else "%p", *(f"%c{k}" for k in range(1, 700)), "%m"]))
    entry, loop = "    %m = max(%p - 1, 0)\n", "    nest.for %i.i in %m"
    if inside:
        chain = "".join(
            f"      %o{k} = arith.constant {k} : index\n      {new} = arith.maxsi {old}, %o{k} : index\n"
            for k, (old, new) in enumerate(links)
        )
        text = (
            MODEL.replace(entry, "").replace(loop, chain + loop).replace("%i.i + 1", "0").replace("%w[%i.i]", "%w[0]")
        )
    else:
        text = MODEL.replace(entry, "".join(f"    {new} = max({old}, {k})\n" for k, (old, new) in enumerate(links)))
    printed = text_of(parse_module(text), brief=True)
    assert 10 < max(line.count("max(") for line in printed.splitlines()) <= 33
    assert text_of(parse_module(printed), brief=True) == printed


def test_names_with_numbers() -> None:
    """A parser reads `%n_1` as a second `%n`, and a vector without names of dims has the dim x_0."""
    x, y = at.vector("x"), at.matrix("y", shape=("n", "n_1"))
    for f in (aot.function([x], at.sin(x)), aot.function([x, y], [x * 2.0, y.sum(axis=1), at.exp(y)])):
        text = f.ir("nest")
        assert text_of(parse_module(text), brief=True) == text
        assert set(re.findall(r"nest.for %i\.(\S+)", text)) == {
            line.split()[0] for line in str(f.schedule).splitlines() if line.strip()
        }


def test_chunks_keep_their_invariant_operations() -> None:
    """A chunk computes bounds of its own: parsed, they are not shared with those of other loops."""
    x, w = at.tensor4("x"), at.tensor4("w")
    text = aot.function([x, w], aot.grad((at.conv2d(x, w) ** 2).sum(), w), name="f").ir("nest")
    assert "cores" in text and "i64(" in text
    assert text_of(parse_module(text), brief=True) == text

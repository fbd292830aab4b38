"""Every IR prints, parses, and prints again unchanged, at all levels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from corpus import CORPUS, texts_of
from levels import levels
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.utils.exceptions import ParseError

import aotensor as aot
import aotensor.tensor as at
from aotensor.ir.build import Program, build
from aotensor.ir.context import generic_text, make_context, parse_module
from aotensor.ir.forms import LOOP_FORM, NEST_FORM, TENSOR_FORM
from aotensor.ir.interpreter.interpret import interpret
from aotensor.ir.text import text_of

FULL = [CORPUS[name] for name in ("logistic", "two_layers", "sparse_products", "running_sum")]
FULL += [make for make in list(CORPUS.values())[::5] if make not in FULL]
PROGRAMS = texts_of()


def check_round_trip(text: str, is_brief: bool = False) -> None:
    """Our printer's text, in every form, and that of xDSL's printer for what was parsed.

    is_brief: leave out that of xDSL's printer, which is a matter of operations that other levels have too.
    """
    parsed = parse_module(text)
    parsed.verify()
    assert text_of(parsed) == text
    assert text_of(parse_module(generic_text(text))) == text
    if is_brief:
        return
    custom = text_of(parsed, generic=())
    assert custom == str(parsed) + "\n"
    again = parse_module(custom)  # with properties in another order
    assert text_of(again, generic=()) == custom
    assert again.is_structurally_equivalent(parsed)


@pytest.mark.parametrize("level", ["tensor", "tensor-opt", "nest", "loops"])
@PROGRAMS
def test_all_levels(make: Callable[[], Program], level: str) -> None:
    check_round_trip(levels(make)[level], is_brief=level != "tensor-opt" and make not in FULL)


def test_several_programs_in_one_module() -> None:
    programs = [CORPUS[name]() for name in ("chain_and_sum", "logistic", "dots")]
    module, built = build(programs)
    check_round_trip(text_of(module))
    assert module.is_structurally_equivalent(parse_module(text_of(module)))
    assert [b.program.name for b in built] == [p.name for p in programs]


def test_zeros_keep_their_signs() -> None:
    lines = [f"  %{k} = arith.constant {x} : f64\n" for k, x in enumerate(("0.000000e+00", "-0.000000e+00"))]
    text = "builtin.module {\n" + "".join(lines) + "}\n"
    assert text_of(parse_module(text)) == text


def test_the_same_program_gives_the_same_text() -> None:
    first, second = (str(build([CORPUS["two_layers"]()])[0]) for _ in range(2))
    assert first == second


def test_context_has_the_dialects_of_all_forms_and_no_others() -> None:
    assert (
        set(make_context().registered_dialect_names) == TENSOR_FORM.dialects | NEST_FORM.dialects | LOOP_FORM.dialects
    )


def test_an_error_names_the_position() -> None:
    with pytest.raises(ParseError, match=r"broken\.mlir:3"):
        parse_module("func.func @f() {\n  nonsense\n}\n", "broken.mlir")


def test_xdsl_prints_each_kind_of_operation_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each text: a library has four of them."""
    text = text_of(build([CORPUS["logistic"]()])[0])
    monkeypatch.setattr("aotensor.ir.text._template", lambda op, *_: pytest.fail(f"{op.name} is printed again"))
    assert text_of(build([CORPUS["logistic"]()])[0]) == text


@pytest.mark.parametrize("count", [3, 300])
def test_constants_keep_the_signs_of_zeros(count: int) -> None:
    """xDSL prints numbers that compare equal as one number."""
    x, values = at.dvector("x"), np.where(np.arange(count) % 2, -0.0, 0.0)
    module = parse_module(aot.function([x], x[:count] * values, name="f").ir("tensor"))
    (found,) = interpret(module, "f", np.ones(count))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(values))


def test_large_constants_are_printed_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant of a million numbers, or of one number a million times, is no tuple of Python's numbers."""
    x, y = at.dvector("x"), at.dvector("y")
    f = aot.function([x, y], x * np.arange(300.0) + y * at.constant(np.full(200, 0.1))[:1], name="f")
    module, asked = parse_module(f.ir("tensor")), list[int]()
    values = DenseIntOrFPElementsAttr.get_values

    def get_values(self: DenseIntOrFPElementsAttr) -> object:
        asked.append(len(self))
        return values(self)

    monkeypatch.setattr(DenseIntOrFPElementsAttr, "get_values", get_values)
    text = text_of(module)
    assert text.count('dense<"0x') == 1 and "dense<1.000000e-01> : tensor<200xf64>" in text
    assert not [n for n in asked if n > 100]

"""Every IR prints, parses, and prints again unchanged, at all levels."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from corpus import CORPUS, texts_of
from levels import levels
from xdsl.utils.exceptions import ParseError

from aotensor.ir.build import Program, build
from aotensor.ir.context import generic_text, make_context, parse_module
from aotensor.ir.forms import LOOP_FORM, NEST_FORM, TENSOR_FORM
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

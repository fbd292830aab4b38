"""The properties of loops: each is declared once, and read back from both forms of a nest."""

from __future__ import annotations

from dataclasses import fields

import pytest
from xdsl.dialects import scf
from xdsl.utils.exceptions import VerifyException

from aotensor.ir.context import generic_text, parse_module
from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.schedule import HINTS, UNSCHEDULED, Schedule
from aotensor.ir.text import text_of
from aotensor.ir.upstream import walk
from aotensor.passes.emit.emit_loops import emit_loops
from aotensor.passes.target import Target

NEST = """builtin.module {
  func.func @f(%x: tensor<8xf64>) -> tensor<8xf64> attributes {dims = [[""]]} {
    nest.sizes {
      %n = dim(%x, 0)
    }
    %y = nest.value[%n] output 0 : tensor<8xf64>
    nest.for %i in %n {
      nest.do %y[%i] = %x[%i]
    }
    func.return %y : tensor<8xf64>
  }
}
"""
NAMES = [x.name for x in fields(Schedule)]


def loop_of(text: str) -> LoopOp:
    return next(op for op in walk(parse_module(text)) if isinstance(op, LoopOp))


@pytest.mark.parametrize("name", NAMES)
def test_a_property_comes_back_from_both_forms(name: str) -> None:
    value = 4 if getattr(UNSCHEDULED, name) == 1 else True
    word = name if value is True else f"{name} 4"
    text = text_of(parse_module(NEST.replace("in %n {", f"in %n {word} {{")), brief=True)
    assert f" {word} " in text
    generic = generic_text(text)
    assert f"#nest.schedule<{word}>" in generic
    for form in (text, generic):
        assert loop_of(form).schedule == Schedule(**{name: value})  # type: ignore[arg-type]


def test_properties_are_set_and_removed() -> None:
    loop = loop_of(NEST)
    loop.reschedule(jam=8, parallel=True)
    assert loop.schedule.is_grouped and list(loop.schedule.words) == ["jam", "parallel"]
    loop.reschedule(jam=1, parallel=False)
    assert loop.schedule is UNSCHEDULED and "schedule" not in loop.properties
    loop.reschedule(lanes=0)
    with pytest.raises(VerifyException, match="lanes 0 is not a number of iterations"):
        loop.verify()


def test_phrases_begin_with_cores_and_end_with_independence() -> None:
    many = Schedule(jam=2, parallel=True, masked=True, cores=True, terms=9)
    assert many.phrases == [
        "on several cores", "2 at a time, which share what they read", "the rest under a mask",
        "iterations are independent",
    ]  # fmt: skip
    assert set(NAMES) >= HINTS


@pytest.mark.parametrize("word", ["", "parallel", "short", "parallel short"])
def test_flags_for_llvm_become_attributes_of_the_emitted_loop(word: str) -> None:
    module = parse_module(NEST.replace("in %n {", f"in %n {word} {{"))
    emit_loops(module, Target())
    (loop,) = [op for op in walk(module) if isinstance(op, scf.ForOp)]
    wanted = {"parallel": "parallel_accesses", "short": "short"}
    assert set(loop.attributes) == {wanted[x] for x in word.split()}

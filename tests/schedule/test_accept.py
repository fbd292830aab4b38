"""Nests that somebody edited: those that compute the same are compiled, all others are refused with their lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hand import check, check_results, edited, line_of, logistic, nest, refusal

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.hand import HandSchedule
from aotensor.driver.recipe import Options, lower
from aotensor.errors import ScheduleError
from aotensor.ir.context import parse_module
from aotensor.ir.text import text_of
from aotensor.passes.target import Target


def statement(part: str, text: str) -> str:
    """The lines of the statement that a text stands in, up to the brace that closes it."""
    lines = text.splitlines(keepends=True)
    first = next(k for k, line in enumerate(lines) if part in line and "nest.do" in line)
    indent = re.match(" *", lines[first])
    assert indent is not None
    last = next(k for k in range(first, len(lines)) if lines[k] == f"{indent[0]}}}\n")
    return "".join(lines[first : last + 1])


def model_line(lines: str) -> str:
    """Of a statement of the nest, as the text with locations has it."""
    count = nest()[: nest().index(lines)].count("nest.do(")
    located = text_of(parse_module(logistic().ir("nest", locations=True)), locations=True).split("nest.do(")[count + 1]
    found = re.search(r'^ *\} loc\("(.*)":(\d+):0\)', located, re.MULTILINE)
    assert found is not None
    return f"{found[1]}:{found[2]}"


def with_constant(text: str, name: str, value: int) -> str:
    """A number more at the beginning of the function."""
    first = "    %0 = arith.constant 0 : index\n"
    return text.replace(first, f"{first}    %{name} = arith.constant {value} : index\n", 1)


def test_the_own_nest_is_a_schedule() -> None:
    check(nest())
    check(logistic().ir("nest"))


def test_generic_texts_and_those_with_locations_are_schedules() -> None:
    check(logistic().ir("nest", locations=True))
    for text in (logistic().ir("nest", generic=True), logistic().ir("nest", locations=True, generic=True)):
        assert text.count("nest.schedule<jam 8") == nest().count("jam 8") > 0
        check(text.replace("nest.schedule<jam 8", "nest.schedule<jam 16"))
        assert "at most 16 iterations" in str(refusal(text.replace("nest.schedule<jam 8", "nest.schedule<jam 32")))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" jam 8", " jam 16"),
        (" jam 8", ""),
        ("nest.for %i.p.1 in %p parallel", "nest.for %i.p.1 in %p lanes 16 parallel masked"),
        (" parallel", ""),
        (" cores", ""),
    ],
    ids=["jam more", "jam none", "lanes", "nothing parallel", "one core"],
)  # fmt: skip
def test_words_of_loops(old: str, new: str, tmp_path: Path) -> None:
    text = nest()
    assert old in text
    if old == " cores":
        assert "may have `first`" in str(refusal(text.replace(old, new)))
    else:
        check_results(logistic(), tmp_path, text.replace(old, new))


def test_blocks_of_other_sizes(tmp_path: Path) -> None:
    """Chunks are a multiple of what a block has, and a buffer has as many elements."""
    text = nest()
    chunk = re.search(r"nest.for %i.n.chunks in %n step (%\d+)", text)
    block = re.search(r"nest.for %i.n.blocks = %i.n.chunks to %\d+ step (%\d+)", text)
    assert chunk is not None
    assert block is not None
    text = with_constant(text, "b", 100)
    whole = re.sub(rf"{block[1]}\b(?! =)", "%b", text)
    check_results(logistic(), tmp_path, whole)
    uneven = with_constant(whole, "uneven", 250).replace(f"step {chunk[1]} cores", "step %uneven cores")
    error = refusal(uneven)
    assert "hand.nest.mlir:" in str(error)
    too_long = refusal(whole.replace("%b = arith.constant 100", "%b = arith.constant 2000"))
    assert "is in its buffer" in str(too_long)


def test_a_swapped_dependence_is_named_with_both_lines() -> None:
    """What the loss is made of is read before it is computed."""
    text = nest()
    first = statement("%y[", text)
    at = text.index(first)
    second = statement("nest.do", text[at + len(first) :])
    assert text.count(first + second) == 1
    swapped = text.replace(first + second, second + first)
    error = refusal(swapped)
    read, written = line_of(swapped, second.splitlines()[0]), line_of(swapped, first.splitlines()[0])
    title = str(error.diagnostic.title)
    assert title.startswith(f"hand.nest.mlir:{read}: %")
    assert "is read before it is written" in title
    model = [model_line(s) for s in (first, second)]
    assert f"line {read} ({model[1]}) depends on line {written} ({model[0]})" in title
    assert [line.split()[:2] for line in error.diagnostic.lines] == [
        [f"hand.nest.mlir:{written}", model[0]], [f"hand.nest.mlir:{read}", model[1]],
    ]  # fmt: skip
    assert all("nest.do(" in line for line in error.diagnostic.lines)


BEYOND = """    %far = nest.value : tensor<f64>
    %million = arith.constant 1000000 : index
    nest.do(%x0 = %y[%million] : tensor<?xf64>) -> (%x1 = %far[] : tensor<f64>) {
      nest.yield %x0 : f64
    }
"""
"""Reads what may not be there, for nothing."""


def words(new: str) -> Callable[[str], str]:
    """The loop of the products of a row runs so."""
    return lambda text: text.replace("nest.for %i.p.1 in %p parallel", f"nest.for %i.p.1 in %p {new}")


def bounds(new: str) -> Callable[[str], str]:
    return lambda text: text.replace("nest.for %i.p.1 in %p ", f"nest.for %i.p.1 {new} ")


def pattern(old: str, new: str, count: int = 0) -> Callable[[str], str]:
    return lambda text: re.sub(old, new, text, count=count)


def made_late(text: str) -> str:
    late = "    %late = arith.constant 64 : index\n    func.return"
    return pattern(r"step %\d+ cores", "step %late cores", 1)(text).replace("    func.return", late, 1)


WRONG: Mapping[str, tuple[Callable[[str], str], str]] = {
    "a statement is dropped": (
        lambda t: t.replace(statement("%X[%i.n, %i.p.1]", t), ""), "a statement of the model is missing|other elements"
    ),
    "bounds": (bounds("in %n"), "other iterations"),
    "begin with 1": (bounds("= %1 to %p"), "other iterations"),
    "subscript": (lambda t: t.replace("%w[%i.p.1]", "%w[%i.n]"), "other elements"),
    "operation": (lambda t: t.replace("arith.negf", "math.absf", 1), "not a statement of the model"),
    "operand": (pattern(r"(nest.do\(%\d+ = )%y\[", r"\1%w["), "other elements"),
    "parallel on a sum": (pattern(r"(nest.for %i.i.1 = .*) \{", r"\1 parallel {"), "write the same elements"),
    "another part": (pattern(r"(part %\d+ : \S+ number )%\d+", r"\1%i.n.chunks"), "not added up as they should"),
    "no part": (pattern(r"part %\d+ : \S+ number %\d+ ", ""), "not a partial sum of a chunk"),
    "cores inside": (pattern(r"(step %\d+) \{", r"\1 cores {"), "can run on several cores|only an outermost loop"),
    "too many jammed": (lambda t: t.replace("jam 8", "jam 17", 1), "at most 16 iterations"),
    "odd lanes": (words("lanes 6 parallel masked"), "power of two"),
    "lanes without a mask": (words("lanes 8 parallel"), "only a masked loop"),
    "rows": (words("rows 8 parallel"), "only the compiler"),
    "masked": (words("parallel masked"), "no lanes"),
    "used before it is made": (made_late, "%late is used before it is defined"),
    "no step": (
        lambda t: pattern(r"step %\d+ cores", "step %zero cores", 1)(with_constant(t, "zero", 0)),
        "the step is at least 1",
    ),
    "another output": (lambda t: t.replace("output 1", "output 0", 1), "other outputs"),
    "over an argument": (
        pattern(r"over %\w+ : tensor<\?xf64>", "over %w : tensor<?xf64>"), "other outputs|belongs to the caller"
    ),
    "another result": (pattern(r"func.return %\w+, ", "func.return %l2, ", 1), "missing|returns"),
    "no result": (pattern(r" +func.return %\w+, .*\n", "", 1), "hand.nest.mlir:"),
    "what nobody reads": (lambda t: t.replace("    func.return", f"{BEYOND}    func.return", 1), "other elements"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "reason"), WRONG.values(), ids=WRONG)
def test_what_computes_something_else_is_refused(change: Callable[[str], str], reason: str) -> None:
    text = change(nest())
    assert text != nest()
    error = refusal(text)
    assert re.search(reason, str(error)), str(error)
    assert re.match(r"hand\.nest\.mlir(:\d+)?: ", str(error))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "hand.nest.mlir:1: "),
        ("builtin.module {\n}\n", "schedule of nothing, not of logistic"),
        ("hello\n", "hand.nest.mlir:1: "),
        ("builtin.module {\n  nonsense.op\n}\n", "hand.nest.mlir:2: "),
        (
            "builtin.module {\n  func.func @f() {\n    nest.for %i in %n {\n    }\n    func.return\n  }\n}\n",
            "hand.nest.mlir",
        ),
        ("\0\1\2", "hand.nest.mlir:1: "),
    ],
)
def test_what_is_no_nest(text: str, what: str) -> None:
    assert what in str(refusal(text))


def test_of_another_function_or_version() -> None:
    x, y = at.vector("x", shape=("n",)), at.vector("y", shape=("n",))
    f = aot.function([x], x.sum(), name="total")
    assert "a schedule of logistic, not of total" in str(refusal(nest(), f))
    two = aot.function([x, y], (x * y).sum(), name="total")
    assert "other inputs or outputs" in str(refusal(f.ir("nest"), two))
    other = aot.function([x], at.exp(x).sum(), name="total")
    assert "a statement of the model is missing (test_accept.py:" in str(refusal(f.ir("nest"), other))


def test_a_machine_without_masks_has_no_lanes() -> None:
    text = edited("nest.for %i.p.1 in %p parallel", "nest.for %i.p.1 in %p lanes 4 parallel masked")
    options = Options(schedule=HandSchedule(text, "hand.nest.mlir"), facts=Target(has_masks=False))
    with pytest.raises(ScheduleError, match="lanes 4: the machine does not have masked vectors"):
        lower([logistic()], options, texts=())


def test_the_order_of_a_sum_is_kept_where_it_is_fixed() -> None:
    """`strict` sums go as written: jamming both loops of one would take the terms in another order."""
    x = at.matrix("X", shape=("n", "p"))
    f = aot.function([x], x.sum(), name="total")
    lowered = lower([f], Options(fp="strict", schedule=None), ["nest"])
    text = lowered.texts["nest"]
    strict = Options(fp="strict", schedule=HandSchedule(text, "hand.nest.mlir"))
    lower([f], strict, texts=())
    loose = f.ir("nest")
    assert loose != text
    with pytest.raises(ScheduleError):
        lower([f], Options(fp="strict", schedule=HandSchedule(loose, "hand.nest.mlir")), texts=())

"""Values that several statements write: stacked columns, each written by a statement of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from hand import check, line_of, plain, refusal
from mutations import KINDS, mutated
from tiny_target import TINY

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.recipe import Options, lower
from aotensor.errors import ScheduleError
from aotensor.ir.context import functions_of, parse_module
from aotensor.ir.interpreter.interpret import interpret
from aotensor.ir.nest.tree import sole_writer, writers
from aotensor.ir.text import text_of
from aotensor.passes.schedule import accept as acceptance
from aotensor.passes.schedule.accept import accept

Program = Callable[[Any], list[Any]]


def columns(u: Any) -> Any:
    return at.stack([u[:, 0] * u[:, 1], at.exp(u[:, 2]), u[:, 0] + u[:, 2]], axis=1)


def nested(u: Any) -> Any:
    shared = at.tanh(u[:, 0])
    parts = [[u[:, 0] + u[:, 1], shared], [shared, u[:, 2]]]
    return at.stack([at.stack(part, axis=1) for part in parts], axis=1)


PROGRAMS: dict[str, Program] = {
    "columns": lambda u: [columns(u)],
    "what reads them": lambda u: [(columns(u) ** 2).sum(axis=1), columns(u).sum(axis=0)],
    "stacks of stacks": lambda u: [nested(u), nested(u).sum(axis=2)],
    "sums": lambda u: [at.stack([u.sum(axis=1), (u * u).sum(axis=1), u.max(axis=1)], axis=1)],
    "joined": lambda u: [at.join(1, u[:, 1:2], at.exp(u[:, :1]), u[:, 2:3]), at.join(1, u, u * 2.0, u[:, :1])],
    "of integers": lambda u: [at.stack([(u[:, 0] * 10).astype("int32"), (u[:, 1] * 7).astype("int32")], axis=1)],
}


@cache
def function(name: str) -> aot.Function:
    u = at.matrix("u", dtype="float64", shape=("n", 3))
    return aot.function([u], PROGRAMS[name](u), name="f")


@cache
def own(name: str) -> str:
    """As it is on a machine on which every loop has several chunks."""
    text = lower([function(name)], Options(facts=TINY), texts=["nest"]).texts["nest"]
    return plain(text)


def taken(name: str, text: str) -> None:
    """Raises: ScheduleError"""
    accept(parse_module(own(name)), text, "hand.nest.mlir", TINY)


def compare(name: str, text: str) -> None:
    """What is accepted computes what the function does."""
    module = accept(parse_module(own(name)), text, "hand.nest.mlir", TINY)
    for rows in (1, 2, 9, 40):
        u = np.random.default_rng(rows).normal(size=(rows, 3))
        wanted = function(name).reference(u)
        for x, y in zip(interpret(module, "f", u), wanted if isinstance(wanted, list) else [wanted], strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def statements(text: str) -> list[str]:
    return re.findall(r"^ *nest\.do\(.*?^ *\}\n", text, re.MULTILINE | re.DOTALL)


def writing(text: str, column: int) -> str:
    """The statement that writes a column of the value that three statements write."""
    found = [s for s in statements(text) if re.search(rf"-> \(%\d+ = %\w+\[(?:%[\w.]+, )?{column}\]", s)]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_own_nest_is_a_schedule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptance, "rows_of", lambda function: object())
    values = [op.results[0] for op in functions_of(parse_module(own(name)))[0].walk() if op.name == "nest.value"]
    assert any(len(writers(x)) > 1 and sole_writer(x) is None for x in values)
    compare(name, own(name))
    check(function(name).ir("nest"), function(name))


def test_writers_of_different_columns_change_places() -> None:
    text = own("columns")
    first, second = writing(text, 1), writing(text, 2)
    assert text.count(first + second) + text.count(second + first) == 1
    both = first + second if first + second in text else second + first
    compare("columns", text.replace(both, second + first if both == first + second else first + second))


def test_columns_are_written_in_loops_of_their_own() -> None:
    """The loop is distributed, and one of its parts goes by tiles."""
    text = own("columns")
    last = writing(text, 2)
    head = re.search(r"^( *)nest\.for (%[\w.]+) = (%[\w.]+) to (%\d+) .*\{\n", text, re.MULTILINE)
    assert head is not None
    assert text.index(head[0]) < text.index(last)
    alone = head[0].replace(head[2], "%alone", 1) + last.replace(f"{head[2]}]", "%alone]").replace(
        f"{head[2]},", "%alone,"
    )
    end = re.compile(rf"^{head[1]}\}}\n", re.MULTILINE).search(text, text.index(head[0]))
    assert end is not None
    whole = text[: end.end()] + alone + f"{head[1]}}}\n" + text[end.end() :]
    compare("columns", whole.replace(last, "", 1))


def moved(text: str, what: str, before: str) -> str:
    assert text.count(what) == text.count(before) == 1
    return text.replace(what, "").replace(before, what + before)


def test_a_reader_in_front_of_one_of_the_writers_is_refused() -> None:
    """By name, with the lines of both: the loop over the columns of a row reads all of them."""
    f = function("what reads them")
    text = plain(f.schedule.text())
    late = writing(text, 2)
    start = text.index("nest.for", text.index(late))
    indent = len(text[:start]) - len(text[:start].rstrip(" "))
    close = re.compile(rf"^ {{{indent}}}\}}\n", re.MULTILINE).search(text, start)
    assert close is not None
    loop = text[start - indent : close.end()]
    total = re.search(r"^ *%\d+ = nest.value init .*\n", text[text.index(late) : start], re.MULTILINE)
    assert total is not None
    broken = moved(moved(text, loop, late), total[0], loop)
    error = refusal(broken, f)
    title = str(error.diagnostic.title)
    written = line_of(broken, late.splitlines()[0])
    assert re.match(
        r"hand\.nest\.mlir:\d+: %\d+ is read before it is written: line \d+ \(test_writers\.py:\d+\)", title
    )
    assert f"depends on line {written} (test_writers.py:" in title
    assert len(error.diagnostic.lines) == 2
    check(moved(text, total[0], late), f)  # what begins the sum may stand there


WRONG: dict[str, Callable[[str], str]] = {
    "another column": lambda t: t.replace(writing(t, 2), re.sub(r", 2\](.*\) \{)", r", 1]\1", writing(t, 2), count=1)),
    "a column is missing": lambda t: t.replace(writing(t, 1), ""),
    "a column twice": lambda t: t.replace(writing(t, 1), writing(t, 1) * 2),
}


@pytest.mark.parametrize("edit", WRONG.values(), ids=WRONG)
def test_columns_that_are_written_wrongly_are_refused(edit: Callable[[str], str]) -> None:
    text = own("columns")
    assert edit(text) != text
    with pytest.raises(ScheduleError, match=r"^hand\.nest\.mlir:"):
        taken("columns", edit(text))


OVERLAPPING = """builtin.module {
  func.func @f(%u: tensor<?x?xf64>) -> tensor<?x?xf64> {
    %0 = arith.constant 0 : index
    %n = tensor.dim %u, %0 : tensor<?x?xf64>
    %z = nest.value[%n, %n] output 0 : tensor<?x?xf64>
    nest.for %i in %n {
      nest.for %j in %n {
        nest.do(%a = %u[%i, %j] : tensor<?x?xf64>) -> (%b = %z[%i, %j] : tensor<?x?xf64>) {
          nest.yield %a : f64
        }
      }
      nest.for %k in %n {
        nest.do(%c = %u[%k, %k] : tensor<?x?xf64>) -> (%d = %z[%k, %i] : tensor<?x?xf64>) {
          nest.yield %c : f64
        }
      }
    }
    func.return %z : tensor<?x?xf64>
  }
}
"""


def test_loops_around_statements_that_set_the_same_elements_stay() -> None:
    """Who is the last one depends on the order of the loops, which each statement alone does not show."""
    accept(parse_module(OVERLAPPING), OVERLAPPING.replace("%k", "%l"), "hand.nest.mlir", TINY)
    other = OVERLAPPING.replace("%z[%i, %j]", "%z[%j, %i]").replace("%u[%i, %j]", "%u[%j, %i]")
    other = other.replace("%z[%k, %i]", "%z[%i, %k]").replace("%u[%k, %k]", "%u[%i, %i]")
    with pytest.raises(ScheduleError, match=r"^hand\.nest\.mlir:"):
        accept(parse_module(OVERLAPPING), other, "hand.nest.mlir", TINY)


@pytest.mark.parametrize("seeds", [range(2), range(2, 12)], ids=["few", "many"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_edits_at_random_compute_the_same_or_are_refused(name: str, kind: str, seeds: range) -> None:
    refused = 0
    for seed in seeds:
        module = mutated(parse_module(own(name)), Random(seed), kind)
        if module is None:
            continue
        try:
            taken(name, text_of(module))
        except ScheduleError as error:
            assert str(error).startswith("hand.nest.mlir:")
            refused += 1
        else:
            compare(name, text_of(module))
    if kind in ("drop", "subscript"):
        assert refused > len(seeds) // 2


SHARED = """builtin.module {
  func.func @f(%u: tensor<?xf64>) -> tensor<?xf64> {
    %0 = arith.constant 0 : index
    %n = tensor.dim %u, %0 : tensor<?xf64>
    %y = nest.value[%n] output 0 : tensor<?xf64>
    %a = nest.value[%n] : tensor<?xf64>
    nest.for %i in %n {
      nest.do(%p = %u[%i] : tensor<?xf64>) -> (%q = %a[%i] : tensor<?xf64>) {
        %r = math.exp %p : f64
        nest.yield %r : f64
      }
    }
    %b = nest.value[%n] : tensor<?xf64>
    %c = nest.value[%n] : tensor<?xf64>
    nest.for %j in %n {
      nest.do(%s = %a[%j] : tensor<?xf64>) -> (%t = %b[%j] : tensor<?xf64>) {
        %v = math.sqrt %s : f64
        nest.yield %v : f64
      }
    }
    nest.for %k in %n {
      nest.do(%w = %u[%k] : tensor<?xf64>) -> (%x = %c[%k] : tensor<?xf64>) {
        %z = math.sin %w : f64
        nest.yield %z : f64
      }
    }
    nest.for %l in %n {
      nest.do(%d = %b[%l] : tensor<?xf64>, %e = %c[%l] : tensor<?xf64>) -> (%g = %y[%l] : tensor<?xf64>) {
        %h = arith.addf %d, %e : f64
        nest.yield %h : f64
      }
    }
    func.return %y : tensor<?xf64>
  }
}
"""


def over(text: str, name: str, old: str) -> str:
    """One value takes the memory of another one."""
    return text.replace(
        f"%{name} = nest.value[%n] : tensor<?xf64>",
        f"%{name} = nest.value[%n] over %{old} : tensor<?xf64> : tensor<?xf64>",
    )


def test_memory_is_taken_by_one_value_and_in_the_same_iterations() -> None:
    own = parse_module(SHARED)
    for name in "bc":
        accept(own, over(SHARED, name, "a"), "hand.nest.mlir", TINY)
    with pytest.raises(ScheduleError, match="two values share the memory of the same value"):
        accept(own, over(over(SHARED, "b", "a"), "c", "a"), "hand.nest.mlir", TINY)
    with pytest.raises(ScheduleError, match="is overwritten before it is read for the last time"):
        accept(own, over(SHARED, "c", "b"), "hand.nest.mlir", TINY)


def test_a_value_of_one_iteration_does_not_lie_over_one_of_all() -> None:
    """Its elements are others in each iteration, though both are written as the counter of the same loop."""
    inner = """builtin.module {
  func.func @f(%u: tensor<?x?xf64>, %v: tensor<?xf64>) -> tensor<?xf64> {
    %0 = arith.constant 0 : index
    %n = tensor.dim %v, %0 : tensor<?xf64>
    %zero = arith.constant 0.0 : f64
    %y = nest.value[%n] output 0 : tensor<?xf64>
    %a = nest.value[%n] : tensor<?xf64>
    nest.for %i in %n {
      nest.do(%p = %v[%i] : tensor<?xf64>) -> (%q = %a[%i] : tensor<?xf64>) {
        %r = math.exp %p : f64
        nest.yield %r : f64
      }
    }
    nest.for %j in %n {
      nest.do(%s = %a[%j] : tensor<?xf64>) -> (%t = %y[%j] : tensor<?xf64>) {
        nest.yield %s : f64
      }
      %b = nest.value[%n] : tensor<?xf64>
      nest.for %k in %n {
        nest.do(%w = %u[%j, %k] : tensor<?x?xf64>) -> (%x = %b[%k] : tensor<?xf64>) {
          nest.yield %w : f64
        }
      }
      nest.for %l in %n {
        nest.do(%c = %b[%l] : tensor<?xf64>) -> (%d = %y[%j] : tensor<?xf64>) {
          %e = arith.addf %d, %c fastmath<reassoc> : f64
          nest.yield %e : f64
        }
      }
    }
    func.return %y : tensor<?xf64>
  }
}
"""
    accept(parse_module(inner), inner.replace("%k", "%m"), "hand.nest.mlir", TINY)
    with pytest.raises(ScheduleError, match="is overwritten before it is read for the last time"):
        accept(parse_module(inner), over(inner, "b", "a"), "hand.nest.mlir", TINY)

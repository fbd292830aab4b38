"""Graphs as trees: what is shared once, bodies below, in each of the forms that a file may have."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import AotensorError

X = at.vector("x", shape=("n",))
SHARED = """\
mul [id A] <float64[n]>
 ├─ add [id B] <float64[n]> 'y'
 │  ├─ x [id C] <float64[n]>
 │  └─ 1.0 [id D] <float64>
 └─ add [id B] <float64[n]> 'y'
    └─ ···
sort{axis=0}.1 [id E] <int64[n]>
 └─ x [id C] <float64[n]>
"""
LOOP = """\
h = scan [id 0]
     ├─ shape_i{axis=0} [id 1]
     │  └─ x [id 2]
     ├─ x [id 2]
     └─ dimshuffle{pattern=(None,)} [id 3]
        └─ 0.0 [id 4]

Inner graphs:

scan [id 0]
 body(x[t] [id 5], input [id 6])
  ← add [id 7]
     ├─ input [id 6]
     └─ sqr [id 8]
        └─ x[t] [id 5]
"""


def shared() -> list[Any]:
    y = X + 1
    y.name = "y"
    return [y * y, at.argsort(X)]


@pytest.mark.shows("tensor/10-dprint")
def test_what_is_shared_is_drawn_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert aot.dprint(shared(), file="str") == SHARED
    target = io.StringIO()
    assert aot.dprint(shared(), file=target) is None and target.getvalue() == SHARED
    aot.dprint(shared(), stop_on_name=True, id_type="", print_type=False)
    assert capsys.readouterr().out == "mul\n ├─ add 'y'\n └─ add 'y'\nsort{axis=0}.1\n └─ x\n"
    assert aot.dprint(shared()[0], depth=1, file="str") == SHARED.splitlines(keepends=True)[0]


@pytest.mark.shows("tensor/10-dprint")
def test_bodies_of_loops_stand_below() -> None:
    h = aot.scan(lambda x, s: s + x**2, sequences=[X], outputs_info=[at.constant(0.0)], return_updates=False)
    for graph in ({"h": h}, aot.function([X], {"h": h})):
        assert aot.dprint(graph, file="str", id_type="int", print_type=False) == LOOP


def test_deep_graphs_and_many_ids() -> None:
    y = X
    for _ in range(3000):
        y = at.sin(y)
    text = aot.dprint(y, file="str", depth=800)
    assert text is not None and text.count("\n") == 800 and "[id Z]" in text and "[id AA]" in text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: aot.dprint(3), "expected variables or a Function, found int"),
        (lambda: aot.dprint("x"), "expected variables or a Function, found str"),
        (lambda: aot.dprint(X, depth=0), "depth is 0"),
        (lambda: aot.dprint(X, id_type="hex"), "id_type must be one of"),
        (lambda: aot.dprint(X, file="x.txt"), "'x.txt' has no method write"),
    ],
)
def test_what_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(AotensorError, match=text):
        call()

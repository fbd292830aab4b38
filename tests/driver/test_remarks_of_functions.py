"""Remarks on their way out: from a Function, through a library, and back from what may be no remarks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.graph.passes.remarks import Remark
from aotensor_cli.reading.remarks import recorded_remarks
from aotensor_runtime.container import Container


def model() -> aot.Function:
    X, y = at.dmatrix("X"), at.dvector("y")
    z = X @ y
    return aot.function([X, y], (at.exp(z) + 1) / at.exp(z).sum(), name="model")


def test_a_function_answers_and_filters() -> None:
    found = model().remarks()
    assert {"fuse", "scalar-replacement", "mark-independent"} <= {x.pass_name for x in found}
    fused = found.about("fuse", kind="applied")
    assert fused and all(x.pass_name == "fuse" and x.kind == "applied" for x in fused)
    line = fused[0].line
    assert all(x.line == line for x in found.about(line=line)) and len(found.about(line=line)) < len(found)
    assert found.about(op="z") and all("`z`" in str(x) or "(z)" in str(x) for x in found.about(op="z"))
    assert found.about(op="/") and not found.about(op="z /") and len(found.about(op="exp")) < len(found)
    assert str(found).count("\n") == len(found) - 1
    assert "test_remarks_of_functions.py:" in str(found)
    assert "<table>" in found._repr_html_() and "`exp(z)`" in found._repr_html_()
    with pytest.raises(GraphValueError, match="kind must be one of 'applied', 'missed', 'analysis'"):
        found.about(kind="done")


def test_names_are_those_of_the_arguments() -> None:
    x = at.dvector()
    (found,) = aot.function([aot.In(x, name="given")], at.exp(x) * 2.0, name="f").remarks().about("fuse-elementwise")
    assert "`exp(given)`" in found.message


def test_names_are_those_of_the_program() -> None:
    """Local variables and keys of results, beside arguments; what has a name of its own keeps that."""
    X, y, w = at.dmatrix("X"), at.dvector("y"), at.dvector("w")
    r = X @ w - y
    energy = at.exp(r)
    energy.name = "E"
    f = aot.function(
        [X, y, w],
        {"loss": (energy / (r.sum() + energy.sum())).max() * 2.0, "grad_w": aot.grad((r**2).sum(), w)},
        name="f",
    )
    text = str(f.remarks())
    assert all(f"`{name}`" in text for name in ("r", "E", "grad_w", "E / (sum(r) + sum(E))"))
    assert "energy" not in text and "X @ w - y" not in text


def test_values_that_are_not_of_the_function_give_no_names() -> None:
    x = at.dvector("x")
    other = at.exp(x)  # the same, and not what is compiled
    found = aot.function([x], at.exp(x) * 2.0 + at.exp(x).sum(), name="f").remarks()
    assert found and not any("`other`" in r.message for r in found)
    assert other.name is None


def test_a_library_carries_them(tmp_path: Path) -> None:
    f = model()
    library = aot.compile(f, tmp_path).library
    assert recorded_remarks(Container(library.read_bytes())) == list(f.remarks())


def test_functions_keep_theirs_apart() -> None:
    x = at.dvector("x")
    one, other = aot.function([x], at.exp(x) * 2.0, name="one"), aot.function([x], at.sin(x) * 3.0, name="other")
    assert {x.function for x in one.remarks()} == {"one"}
    assert not any("exp" in x.message for x in other.remarks())


@pytest.mark.parametrize(
    "row",
    [
        None,
        [],
        {},
        ["fuse", "applied", "f", "text", "x", "a.py", 3, "", ""],
        ["fuse", "applied", "f", "text", "x", "a.py", "3", "", "", 1],
        ["fuse", "applied", "f", "text", "x", "a.py", True, "", "", 1],
        ["fuse", "applied", "f", "text", "x", "a.py", 3, "", "", 1, None],
        ["fuse", "applied", "f", "text", "x", "a.py", 3, "", "", 1, "", ""],
        ["fuse", "perhaps", "f", "text", "x", "a.py", 3, "", "", 1],
    ],
)
def test_what_is_no_remark_is_refused(row: object) -> None:
    with pytest.raises(ValueError, match="a remark"):
        Remark.from_row(row)


def test_rows_of_older_libraries_have_no_hint() -> None:
    row = ["fuse", "missed", "f", "text", "x", "a.py", 3, "", "", 1]
    assert Remark.from_row(row) == Remark("fuse", "missed", "f", "text", "x", "a.py", 3)


def test_rows_come_back() -> None:
    for x in model().remarks():
        assert Remark.from_row(json.loads(json.dumps(x.to_row()))) == x
        assert list(x.to_json()) == [
            "pass", "kind", "function", "message", "value", "file", "line", "bytes", "flops", "count",
            "hint",
        ]  # fmt: skip

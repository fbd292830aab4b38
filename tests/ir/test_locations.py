"""Every operation knows the user's line, from the import of the graph down to the loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import corpus
import pytest
from corpus import CORPUS, texts_of
from upstream import rejected
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.ir.build import Program, build
from aotensor.ir.context import parse_module
from aotensor.ir.location import Locations, is_located
from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.text import text_of
from aotensor.passes.pipeline import LOOP_RECIPE, NEST_RECIPE, TENSOR_RECIPE, PassRunner

PROGRAMS = texts_of()
FILES = {path.name for path in Path(corpus.__file__).parent.glob("*.py")}
WORK = ("linalg.", "nest.do", "nest.product", "aot.", "memref.load", "memref.dim", "vector.", "math.")


def works(op: Operation) -> bool:
    """Does an operation compute or move anything? Numbers belong to many lines, once they are shared."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, func.FuncOp):
        if isinstance(parent, scf.ForOp | scf.WhileOp | LoopOp | GenericOp):
            return op.name != "arith.constant"
        parent = parent.parent_op()
    return op.name.startswith(WORK)


def lost(module: ModuleOp) -> list[str]:
    """Working operations that do not know where they come from, or know another file than those of the corpus."""
    found = []
    for function in module.body.block.ops:
        for op in function.walk():
            where = op.location
            is_known = isinstance(where, FileLineColLoc) and where.filename.data in FILES and where.line.data > 1
            if works(op) and not is_known:
                found.append(f"{op.name} {where}")
    return found


@PROGRAMS
def test_no_pass_loses_a_location(make: Callable[[], Program]) -> None:
    module, _ = build([make()])
    assert [op.name for op in module.walk() if works(op)]
    assert lost(module) == []
    for step in (*TENSOR_RECIPE, *NEST_RECIPE, *LOOP_RECIPE):
        PassRunner().run(module, [step])
        assert lost(module) == [], step.name


@pytest.mark.parametrize("name", ["logistic", "two_layers", "running_sum", "sparse_products", "one_of_two", "sorting"])
def test_texts_with_locations_are_read_back(name: str) -> None:
    module, _ = build([CORPUS[name]()])
    for recipe in (TENSOR_RECIPE, NEST_RECIPE, LOOP_RECIPE):
        PassRunner().run(module, recipe)
        text = text_of(module, locations=True)
        parsed = parse_module(text)
        assert text_of(parsed, locations=True) == text
        assert text_of(parsed) == text_of(module)
        assert any(is_located(op) for op in parsed.walk())


@pytest.mark.needs("mlir-opt")
@pytest.mark.parametrize("name", ["logistic", "running_sum", "sparse_products", "sorting"])
def test_mlir_opt_reads_locations(name: str) -> None:
    module, _ = build([CORPUS[name]()])
    PassRunner().run(module, (*TENSOR_RECIPE, *NEST_RECIPE, *LOOP_RECIPE))
    assert rejected(text_of(module, locations=True)) == ""


def line_of(text: str) -> int:
    """The number of a line of this file, by what is written there."""
    return next(k for k, line in enumerate(Path(__file__).read_text().splitlines(), 1) if f"# {text}" in line)


def located(text: str, start: str) -> Sequence[str]:
    """The locations of the operations of a text that begin so."""
    return [
        line.rsplit(" loc(", 1)[1].rstrip(")")
        for line in text.splitlines()
        if f" = {start} " in line or f" = {start.removeprefix('math.')}(" in line
    ]


def test_lines_are_those_of_the_user() -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    y = at.exp(x)  # first
    z = at.sin(y).sum()  # second
    f = aot.function([x], [z, at.exp(x)], name="f")
    for stage in ("tensor", "tensor-opt", "nest", "loops"):
        text = f.ir(stage, locations=True)
        assert set(located(text, "math.exp")) == {f'"test_locations.py":{line_of("first")}:0'}  # equal ones: the first
        assert set(located(text, "math.sin")) == {f'"test_locations.py":{line_of("second")}:0'}
        assert "loc(" not in f.ir(stage)


def test_a_derivative_belongs_to_the_line_of_grad() -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    loss = at.exp(at.sin(x)).sum()
    g = aot.grad(loss, x)  # third
    text = aot.function([x], g, name="f").ir("loops", locations=True)
    assert f'"test_locations.py":{line_of("third")}:0' in located(text, "math.cos")


def test_llvm_has_no_locations() -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    f = aot.function([x], at.exp(x), name="f")
    with pytest.raises(GraphValueError, match="stage llvm has no source locations"):
        f.ir("llvm", locations=True)
    assert f.ir("graph", locations=True) == f.ir("graph")


def test_a_node_without_a_line_has_no_location() -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    y = at.exp(x)
    y.site = None
    locations = Locations()
    build([Program("f", (("x", x),), (("y", y),))], locations=locations)
    assert y.owner is not None and locations.location_of(y.owner) is UNKNOWN_LOC
    assert locations.node(UNKNOWN_LOC) is None
    z = at.sin(x)
    assert z.owner is not None and locations.node(locations.location_of(z.owner)) is z.owner

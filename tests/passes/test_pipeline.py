"""Pipelines: as text, with passes left out, and in orders that cannot work; no optimisation changes a result."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import fields
from functools import reduce
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from optimisation_programs import recurrent, scattered, two_products, vectors
from optimisations import BY_PASS
from xdsl.dialects.builtin import ModuleOp

import aotensor as aot
import aotensor.tensor as at
from aotensor.api.remarks import Remarks
from aotensor.codegen.machine import Machine
from aotensor.codegen.targets.machine_properties import passes_left_out
from aotensor.driver.cache import _key
from aotensor.driver.prepare import GRAPH_RECIPE
from aotensor.driver.recipe import Options, lower
from aotensor.errors import GraphTypeError, GraphValueError, InternalError
from aotensor.graph.passes.pipeline import DEFAULT, Pipeline, pipeline_of
from aotensor.graph.passes.run import GraphPass, run_passes
from aotensor.graph.passes.steps import BY_NAME, OPTIMISATIONS, RENAMED, STEPS, Step
from aotensor.ir.build import Program, build
from aotensor.ir.forms import NEST_FORM, Form
from aotensor.passes.nest.fuse import fuse
from aotensor.passes.pipeline import (
    LOOP_RECIPE,
    LOOPS,
    MATH,
    MATH_RECIPE,
    NEST,
    NEST_RECIPE,
    TENSOR_RECIPE,
    PassRunner,
)
from aotensor.passes.registry import Pass, declaration
from aotensor.passes.target import Target
from aotensor_runtime import load

NEEDED = "expand,lower-to-nest,emit-loops,plan-memory,expand-math"
JAM = "unroll-and-jam"
PROGRAMS = {name: row.program for name, row in BY_PASS.items() if name in OPTIMISATIONS}


def test_the_table_is_what_runs() -> None:
    recipes = (*GRAPH_RECIPE, *TENSOR_RECIPE, *NEST_RECIPE, *LOOP_RECIPE, *MATH_RECIPE)
    assert [one.name for one in DEFAULT.passes] == [step.name for step in recipes]
    assert {step.name for step in STEPS} == {step.name for step in recipes}
    assert set(OPTIMISATIONS) == set(PROGRAMS)


def test_tables_follow_the_declarations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs")
    tables = importlib.import_module("pass_tables")
    for path, text in ((tables.TABLE, tables.table()), (tables.PAGE, tables.page())):
        assert path.read_text(encoding="utf-8") == text, "run python docs/build.py"


@pytest.mark.parametrize("step", [x for f in (*NEST, *LOOPS, *MATH) if (x := declaration(f).step).options])
def test_options_override_the_facts_that_they_name(step: Step) -> None:
    for name, option in step.options.items():
        assert {*option.facts} <= {x.name for x in fields(Target)}
        assert bool(option.facts) is (name.replace("-", "_") not in signature(fuse).parameters)


def test_only_passes_are_left_out() -> None:
    names = passes_left_out(Machine.parse(), checks=True, allocates=False, scalar=True)
    vectors = {"tile-columns", "vectorize-rows", "vectorize-known-trip-count", "vectorize", "vectorize-functions"}
    cores = {"tile-scan-batch", "parallelize"}
    assert names == {*vectors, *cores, "small-matrices", "unroll-and-jam", "prefetch", "outline-math"}
    host, small = Machine.parse(), Machine.parse("thumbv7em-none-eabihf")
    assert passes_left_out(host, checks=False, allocates=True, scalar=False) == frozenset()
    assert passes_left_out(host, checks=False, allocates=False, scalar=False) == cores
    assert passes_left_out(small, checks=False, allocates=True, scalar=False) == {*vectors, "small-matrices"}


def test_the_options_are_described() -> None:
    text = (Path(__file__).parents[2] / "docs/ir.md").read_text()
    options = {(step.name, option): kind.most for step in STEPS for option, kind in step.options.items()}
    described = re.findall(r"^\| `([\w-]+)\{([\w-]+)=N\}`", text, re.MULTILINE)
    assert sorted(described) == sorted(options)
    for (name, option), most in options.items():
        assert pipeline_of(re.sub(f",{name}(?=,|$)", f",{name}{{{option}={most}}}", str(DEFAULT))) != DEFAULT


def test_text_comes_back() -> None:
    assert pipeline_of(str(DEFAULT)) == pipeline_of() == DEFAULT == Pipeline()
    text = "expand,licm,cse,licm,stabilize,lower-to-nest,fuse{max-statements=3},unroll-and-jam{by=2},emit-loops"
    text += ",plan-memory,expand-math"
    assert str(pipeline_of(text)) == text
    assert str(pipeline_of(text.replace(",", " ,\n "), [JAM, "licm"])) == text.replace(
        ",unroll-and-jam{by=2}", ""
    ).replace(",licm", "")


@pytest.mark.parametrize(
    ("passes", "disabled", "message", "hint"),
    [
        ("fuze", (), "there is no pass 'fuze'", "did you mean fuse?"),
        (None, ["fuze"], "there is no pass 'fuze'", "did you mean fuse?"),
        ("fuse{most=3}", (), "pass fuse has no option 'most'", "known names: max-statements, reorder"),
        ("fuse{reorder=2}", (), "option reorder of pass fuse is 2, not a number from 0 to 1", None),
        ("unroll-and-jam{bye=3}", (), "pass unroll-and-jam has no option 'bye'", "did you mean by?"),
        ("cse{by=3}", (), "pass cse has no option 'by'", "it has no options"),
        ("unroll-and-jam{by=two}", (), "option 'by=two' of pass unroll-and-jam is not understood", "name=number"),
        ("unroll-and-jam{by=1}", (), "option by of pass unroll-and-jam is 1, not a number from 2 to 16", None),
        ("vectorizer-hints{interleave=3}", (), "is 3, not a power of two from 1 to 16", None),
        ("vectorize{interleave=12}", (), "is 12, not a power of two from 2 to 16", None),
        (
            "unroll-and-jam{by=4",
            (),
            "the pipeline is not understood at 'unroll-and-jam{by=4'",
            "write names with commas",
        ),
        ("", (), "the pipeline is not understood at ''", "write names with commas"),
        (f"{NEEDED},", (), "the pipeline is not understood", "write names with commas"),
        ("expand,fuse", (), "the pipeline lacks pass lower-to-nest: it makes the nests", "put it after expand"),
        ("fuse," + NEEDED, (), "pass expand cannot run after fuse", "put expand before fuse"),
        (NEEDED.replace("emit", "fuse,interchange,emit"), (), "pass interchange cannot run after fuse", " before "),
        (NEEDED.replace("emit", "fuse,fuse,emit"), (), "pass fuse is listed twice", None),
        (NEEDED + ",vectorizer-hints", (), "pass vectorizer-hints cannot run after expand-math", " before "),
        (None, ["emit-loops"], "pass emit-loops cannot be left out: it makes the loops", "optimisations only"),
        (None, ["plan-memory"], "pass plan-memory cannot be left out", "optimisations only"),
    ],
)
def test_what_cannot_work_is_one_error(passes: Any, disabled: Any, message: str, hint: str | None) -> None:
    (x,) = vectors("x")
    for make in (pipeline_of, lambda *given: aot.function([x], x, passes=given[0], disable_passes=given[1])):
        with pytest.raises(GraphValueError, match=r"pass|pipeline") as caught:
            make(passes, disabled)
        found = caught.value.diagnostic
        assert message in found.title
        assert hint is None or hint in (found.hint or "")


@pytest.mark.parametrize(("passes", "disabled"), [(3, ()), (None, "fuse"), (None, 3), (None, [3]), (["fuse"], ())])
def test_pipelines_are_text(passes: Any, disabled: Any) -> None:
    (x,) = vectors("x")
    with pytest.raises(GraphTypeError):
        aot.function([x], x, passes=passes, disable_passes=disabled)


def result(f: aot.Function, folder: Path, **options: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    arrays = []
    for x in f.inputs:
        shape = tuple(n if isinstance(n, int) else 4 for n in x.type.shape)
        if x.is_sparse:
            arrays.append(scipy.sparse.random_array(shape, density=0.5, rng=1, format="csr", dtype=x.dtype))
        elif x.dtype == "bool":
            arrays.append(np.asarray(True))
        else:
            drawn = rng.uniform(0.5, 1.5, shape)
            arrays.append((drawn + drawn.T + 4 * np.eye(4) if shape == (4, 4) else drawn).astype(x.dtype))
    found = aot.compile(f, folder, **options).load()[f.name](*arrays)
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_optimisation_changes_a_result(name: str, tmp_path: Path) -> None:
    usual, without = (result(PROGRAMS[name](), tmp_path / key, **options) for key, options in (
        ("usual", {}), ("without", {"disable_passes": [name]})
    ))  # fmt: skip
    for x, y in zip(usual, without, strict=True):
        dense = [z.toarray() if hasattr(z, "toarray") else z for z in (x, y)]
        np.testing.assert_allclose(*dense, rtol=1e-12 if dense[0].dtype != np.float32 else 1e-5)


@pytest.mark.parametrize(
    ("make", "step"), [(two_products, "fuse{reorder=0}"), (scattered, "tile-columns{prefetch-distance=0}")]
)
def test_an_option_that_turns_a_decision_off_changes_no_result(
    make: Callable[[], aot.Function], step: str, tmp_path: Path
) -> None:
    passes = str(DEFAULT).replace(f",{step.partition('{')[0]},", f",{step},")
    usual, other = result(make(), tmp_path / "usual"), result(make(), tmp_path / "other", passes=passes)
    for x, y in zip(usual, other, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_without_any_optimisation() -> None:
    x, y = at.dmatrix("x"), at.dvector("y")
    loss = at.softplus(x @ y).sum()
    f = aot.function([x, y], [loss, aot.grad(loss, y)], name="f", passes=NEEDED)
    arrays = np.random.default_rng(0).normal(size=(7, 3)), np.ones(3)
    for found, wanted in zip(f(*arrays), f.reference(*arrays), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def loops(**options: Any) -> str:
    x, y = at.matrix("x", dtype="float64", shape=("n", "p")), at.vector("y", dtype="float64", shape=("p",))
    z = x @ y
    return aot.function([x, y], [at.exp(z), z, at.sin(z).sum()], name="f", **options).ir("nest", short=True)


def test_rows_are_jammed_by_what_they_compute() -> None:
    """Eight where the loops inside are terms of products; four where there is more to compute."""
    X, w = at.matrix("X", shape=("n", "p")), at.vector("w", shape=("p",))
    for y, count in ((X @ w, 8), (at.exp(X * w).sum(axis=1), 4)):
        text = aot.function([X, w], y).ir("nest", short=True)
        assert re.findall(r" jam (\d+)", text) == [str(count)], text


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_gives_the_new_one(old: str, new: str) -> None:
    assert new in BY_NAME and old not in BY_NAME
    with pytest.raises(GraphValueError, match=f"there is no pass '{old}'") as caught:
        pipeline_of(None, [old])
    assert f"it is called {new}" in str(caught.value)
    with pytest.raises(GraphValueError, match=f"it is called {new}"):
        Remarks("f", []).about(old)


def test_options_reach_their_passes() -> None:
    assert "jam 8" in loops() and "jam 2" in loops(
        passes=str(DEFAULT).replace("unroll-and-jam", "unroll-and-jam{by=2}")
    )
    apart = loops(
        passes=str(DEFAULT)
        .replace("fuse,", "fuse{max-statements=1},")
        .replace("unroll-and-jam", "unroll-and-jam{by=2}")
    )
    assert apart.count("nest.for") > loops().count("nest.for")
    (x,) = vectors("x")
    wide = aot.function(
        [x], at.exp(x), passes=str(DEFAULT).replace("vectorizer-hints", "vectorizer-hints{interleave=2}")
    )
    assert "interleave = 2" in wide.ir("loops")


@pytest.mark.parametrize("functions", [1, 24])
def test_a_number_of_vectors_is_that_of_every_loop(functions: int) -> None:
    """Where the default is 4 and 2."""
    (x,) = vectors("x")
    y = reduce(lambda y, k: at.sin(y) + k, range(functions), x)
    for count in (1, 8):
        text = str(DEFAULT).replace("vectorizer-hints", f"vectorizer-hints{{interleave={count}}}")
        assert f"interleave = {count} " in aot.function([x], y, passes=text).ir("loops")


def test_a_number_of_vectors_without_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aotensor.passes.nest.vectorize.SMALLEST_BODY", 30)
    (x,) = vectors("x")
    y = reduce(lambda y, k: at.maximum(y * k, y - k), range(1, 20), x)
    options = Options(facts=Target())  # a machine that has masks
    for count in (None, 4, 8):
        step = "vectorize" if count is None else f"vectorize{{interleave={count}}}"
        f = aot.function([x], y, passes=str(DEFAULT).replace(",vectorize,", f",{step},"))
        lowered = lower([f], options, ["nest"])
        assert f"lanes {8 * (count or 2)}" in lowered.texts["nest"]


def test_key_manifest_and_records_know_the_pipeline(tmp_path: Path) -> None:
    (x,) = vectors("x")
    usual, other = aot.function([x], at.exp(x).sum()), aot.function([x], at.exp(x).sum(), disable_passes=["fuse"])
    assert _key(usual) != _key(other)
    paths = [aot.compile(f, tmp_path / str(k)).library for k, f in enumerate((usual, other))]
    assert load(paths[0]).manifest.pipeline == ""
    assert load(paths[1]).manifest.pipeline == str(pipeline_of(None, ["fuse"]))
    names = [record.name for record in lower([other], Options(), texts=()).records]
    assert "fuse" not in names and "scalar-replacement" in names


def test_compile_replaces_what_functions_ask_for(tmp_path: Path) -> None:
    (x,) = vectors("x")
    f = aot.function([x], at.exp(x).sum(), name="f", disable_passes=["fuse"])
    g = aot.function([x], at.exp(x).sum(), name="g")
    with pytest.raises(GraphValueError, match="f, g have different passes"):
        aot.compile([f, g], tmp_path)
    library = aot.compile([f, g], tmp_path, disable_passes=[JAM]).load()
    assert library.manifest.pipeline == str(pipeline_of(None, [JAM]))


def test_graph_passes_can_be_left_out() -> None:
    f = recurrent()
    assert f.under(pipeline_of(None, ["licm"])).graph_text("graph-opt") != f.graph_text("graph-opt")
    assert f.under(pipeline_of(None, [JAM])).graph_text("graph-opt") == f.graph_text("graph-opt")


# --- passes that break what they work on ------------------------------------------------------------------------------


def without_yields(module: ModuleOp) -> None:
    for op in list(module.walk()):
        if op.name == "nest.yield":
            op.detach()


def failing(module: ModuleOp) -> None:
    raise KeyError("a loop")


@pytest.mark.parametrize(("run", "message"), [(without_yields, "left invalid IR"), (failing, "failed: KeyError")])
@pytest.mark.parametrize(("name", "form"), [("coalesce", NEST_FORM), ("unroll-and-jam", NEST_FORM)])
def test_a_nest_pass_that_breaks_is_named(name: str, form: Form, run: Any, message: str) -> None:
    (x,) = vectors("x")
    module, _ = build([Program("f", (("x", x),), (("y", at.exp(x).sum()),))])
    broken = [Pass(name, run, form, form) if step.name == name else step for step in NEST_RECIPE]
    with pytest.raises(InternalError, match=f"pass {name} {message}"):
        PassRunner(verify=True).run(module, (*TENSOR_RECIPE, *broken))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_graph_pass_that_breaks_is_named(dtype: str) -> None:
    (x,) = vectors("x")
    broken = GraphPass("cse", lambda outputs, stop: [at.vector("other", dtype=dtype) for _ in outputs])
    reason = "other is not an input" if dtype == "float64" else "outputs are"
    with pytest.raises(InternalError, match=f"pass cse broke the graph: {reason}"):
        list(run_passes([at.exp(x)], [x], [broken]))

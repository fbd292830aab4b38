"""Start values and dependencies of an FMU: in modelDescription.xml, in the library, and as FMPy reads them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.api.interfaces.dependencies import dependencies
from aotensor.codegen.declarations.fmi import model_description
from aotensor.errors import GraphTypeError, GraphValueError, LibraryError
from aotensor_cli.main import run
from aotensor_runtime.container import Container
from aotensor_runtime.manifest import Manifest

LEVELS, GAIN, FLOW = np.array([1.5, -2.25, 0.1]), np.array([0.5, 2.0], dtype="float32"), 0.125


def tanks() -> aot.Function:
    levels, flow, count = at.vector("levels", shape=(3,)), at.scalar("flow"), at.scalar("count", dtype="int32")
    is_open, gain = at.scalar("is_open", dtype="bool"), at.vector("gain", dtype="float32", shape=(2,))
    outputs = {
        "mean": levels.sum() / 3,
        "scaled": gain * flow,
        "gated": at.switch(is_open, flow, 0.0) + at.sqrt(at.abs(levels[0])),
        "rounded": at.floor(flow) + flow,
        "more": count + 1,
    }
    inputs = [
        aot.In(levels, start=LEVELS), aot.In(flow, start=FLOW), aot.In(count, start=3), aot.In(is_open, start=True),
        aot.In(gain, start=GAIN, data=True),
    ]  # fmt: skip
    return aot.function(inputs, outputs, name="tanks")


OUTPUTS = {
    "mean": ("1", "constant"),
    "scaled": ("2", "tunable"),
    "gated": ("1 2 4", "dependent discrete dependent"),
    "rounded": ("2", "dependent"),
    "more": ("3", "dependent"),
}
INITIAL = {
    "mean": ("1", "constant"),
    "scaled": ("2 5", "dependent dependent"),
    "gated": ("1 2 4", "dependent dependent dependent"),
    "rounded": ("2", "dependent"),
    "more": ("3", "dependent"),
}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return aot.compile(tanks(), tmp_path_factory.mktemp("tanks"), abi="fmi", opt_level=0, cpu="generic").library


def of(library: Path) -> Manifest:
    return Container(library.read_bytes()).manifest()


def test_start_values_and_structure(library: Path) -> None:
    manifest = of(library)
    assert Manifest.from_json(manifest.to_json()) == manifest
    tree = ElementTree.fromstring(model_description(manifest, "1"))
    names = {x.get("valueReference"): str(x.get("name")) for x in tree.find("ModelVariables") or ()}
    starts = {x.get("name"): x.get("start") for x in tree.find("ModelVariables") or () if x.get("start")}
    expected = {"levels": "1.5 -2.25 0.1", "flow": "0.125", "count": "3", "is_open": "true", "gain": "0.5 2.0"}
    assert starts == expected
    for kind, wanted in (("Output", OUTPUTS), ("InitialUnknown", INITIAL)):
        elements = tree.findall(f"ModelStructure/{kind}")
        found = {names[x.get("valueReference")]: (x.get("dependencies"), x.get("dependenciesKind")) for x in elements}
        assert found == wanted


X, Y = at.vector("x", shape=(3,)), at.vector("y", shape=(3,))
ONCE = aot.OpFromGraph([X], [2 * X])
CASES: list[tuple[Any, dict[int, str]]] = [
    (at.dot(np.eye(3), X) + Y * Y, {0: "constant", 1: "dependent"}),
    (at.cumsum(X)[::-1] - at.exp(2.0), {0: "constant"}),
    (X * Y, {0: "dependent", 1: "dependent"}),
    (at.concatenate([X, at.zeros_like(Y)]), {0: "constant"}),
    (at.where(X > 0, Y, 2 * Y), {0: "dependent", 1: "dependent"}),
    (at.cast(at.cast(X, "int64"), "float64") + X, {0: "dependent"}),
    (X[0] / at.sin(np.ones(3)), {0: "constant"}),
    (1 / X, {0: "dependent"}),
    (at.ones_like(X) * 2, {}),
]


@pytest.mark.parametrize(("y", "expected"), CASES)
def test_dependencies(y: Any, expected: dict[int, str]) -> None:
    """Against differences of differences: a factor is constant where values at three points are on a line."""
    assert dependencies([y], [X, Y], [False, False]) == [expected]
    f = aot.function([X, Y], y, mode="FAST_COMPILE", on_unused_input="ignore")
    rng = np.random.default_rng(0)
    point = [rng.normal(size=3), rng.normal(size=3)]
    for k in range(2):
        step = [rng.normal(size=3) * (k == side) for side in range(2)]
        values = [f(*(x + t * h for x, h in zip(point, step, strict=True))) for t in (0.0, 1.0, 3.0)]
        is_straight = np.allclose(3 * (values[1] - values[0]), values[2] - values[0])
        assert is_straight or expected[k] == "dependent"
        assert np.array_equal(values[0], values[1]) == (k not in expected)


def test_manifests_that_do_not_fit(library: Path) -> None:
    manifest = of(library)
    (interface,) = manifest.interfaces
    for changes in (
        {"starts": interface.starts[1:]}, {"starts": ("1.0", *interface.starts[1:])},
        {"dependencies": interface.dependencies[1:]}, {"dependencies": ("9:constant", *interface.dependencies[1:])},
        {"dependencies": ("0:unheard", *interface.dependencies[1:])},
    ):  # fmt: skip
        with pytest.raises(LibraryError, match="interface fmi of tanks"):
            model_description(replace(manifest, interfaces=(replace(interface, **changes),)), "1")
    text = manifest.to_json().replace('"0.125"', '"<x>"')
    with pytest.raises(LibraryError, match="expected numbers"):
        Manifest.from_json(text)
    earlier = replace(manifest, interfaces=(replace(interface, starts=(), dependencies=()),))
    assert "dependencies" not in model_description(earlier, "1")


def test_start_values_that_do_not_fit() -> None:
    dynamic, matrix = at.vector("v", shape=("n",)), sp.csr_matrix("A", shape=(2, 2))
    for x, start, error, message in (
        (X, [1.0, 2.0], GraphTypeError, "does not fit float64"),
        (X, np.nan, GraphValueError, "is not finite"),
        (at.scalar("k", dtype="int32"), 1.5, GraphTypeError, "does not fit int32"),
        (dynamic, 1.0, GraphTypeError, "dense arrays of static shape"),
        (matrix, 1.0, GraphTypeError, "dense arrays of static shape"),
    ):
        with pytest.raises(error, match=message):
            aot.In(x, start=start)
    assert np.array_equal(aot.In(X, start=2).start, [2.0, 2.0, 2.0])


@pytest.mark.needs("fmpy")
def test_fmpy_reads_both(library: Path, tmp_path: Path) -> None:
    import fmpy
    from fmpy.fmi3 import FMU3Model
    from fmpy.validation import validate_fmu

    assert run(["package", str(library), "--fmu", "-o", str(tmp_path)]) == 0
    path = str(tmp_path / "tanks.fmu")
    assert validate_fmu(path) == []
    about = fmpy.read_model_description(path)
    (gated,) = (x for x in about.outputs if x.variable.name == "gated")
    assert [x.name for x in gated.dependencies] == ["levels", "flow", "is_open"]
    assert gated.dependenciesKind == ["dependent", "discrete", "dependent"]
    number = {x.name: x.valueReference for x in about.modelVariables}
    one = FMU3Model(
        guid=about.guid, unzipDirectory=fmpy.extract(path, str(tmp_path / "out")), instanceName="one",
        modelIdentifier="tanks",
    )  # fmt: skip
    one.instantiate()
    for _ in range(2):
        one.enterInitializationMode()
        one.exitInitializationMode()
        assert one.getFloat64([number["levels"]], 3) == list(LEVELS)
        expected = [LEVELS.mean(), FLOW + np.sqrt(1.5)]
        np.testing.assert_allclose(one.getFloat64([number["mean"], number["gated"]]), expected, rtol=1e-15)
        assert one.getInt32([number["more"]]) == [4]
        one.setFloat64([number["levels"]], [9.0, 9.0, 9.0])
        one.reset()
    one.freeInstance()

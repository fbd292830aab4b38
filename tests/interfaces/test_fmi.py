"""FMI 3.0: the functions by ctypes, and an FMU in FMPy, which validates, simulates and differentiates it."""

from __future__ import annotations

import ctypes
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.verification.compilation import check_symbols
from aotensor_cli.main import run
from aotensor_runtime.container import Container

A, V, S, P = np.arange(6.0).reshape(2, 3) / 5, np.array([0.3, -1.0, 2.0]), 1.5, np.array([1.0, 2.0, 3.0])
Q = np.array([0.25, 0.5], dtype="float32")
OK, DISCARD, ERROR = 0, 2, 3
FLOATS, LOG = ctypes.POINTER(ctypes.c_double), ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_char_p] * 2)


def plant() -> aot.Function:
    """Inputs of several types, and an output that has the name of an input."""
    a, v, s, p = at.matrix("A", shape=(2, 3)), at.vector("v", shape=(3,)), at.scalar("s"), at.vector("p", shape=(3,))
    k, on, q = at.scalar("k", dtype="int32"), at.scalar("on", dtype="bool"), at.vector("q", dtype="float32", shape=(2,))
    outputs = {"y": at.tanh(a @ v) * s + q, "T": aot.Out(at.sin(a.T), layout="F"), "n": 2 * k, "off": ~on}
    outputs |= {"pick": (v * p)[k], "s": q.sum()}
    return aot.function([aot.In(a, layout="F"), v, s, k, on, q, aot.In(p, data=True)], outputs, name="plant")


NUMBERS = {"A": 1, "v": 2, "s": 3, "k": 4, "on": 5, "q": 6, "p": 7, "y": 8, "T": 9, "n": 10, "off": 11, "pick": 12}
NUMBERS["s_out"] = 13


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fmi")
    return aot.compile(plant(), folder, abi="fmi", opt_level=0, cpu="generic").library


@pytest.fixture(scope="session")
def fmu(library: Path) -> Path:
    assert run(["package", str(library), "--fmu", "-o", str(library.parent), "--version", "1.2"]) == 0
    return library.with_name("plant.fmu")


def description(fmu: Path) -> ElementTree.Element:
    with zipfile.ZipFile(fmu) as archive:
        return ElementTree.fromstring(archive.read("modelDescription.xml"))


class Instance:
    """An instance by ctypes, and the messages that it logs."""

    def __init__(self, library: Path, token: str) -> None:
        self._lib, self.messages = ctypes.CDLL(str(library)), list[str]()
        self._log = LOG(lambda _environment, _status, _category, text: self.messages.append(text.decode()))
        make = self._lib.fmi3InstantiateModelExchange
        make.restype = ctypes.c_void_p
        self.address = make(b"one", token.encode(), None, False, False, None, self._log)

    def __call__(self, name: str, *arguments: Any) -> int:
        return int(getattr(self._lib, name)(ctypes.c_void_p(self.address), *arguments))

    def on(self, name: str, variables: list[str], array: Any) -> int:
        """Get or set variables of one type."""
        found = np.atleast_1d(array)
        return self(name, *_references(variables), found.ctypes.data_as(FLOATS), ctypes.c_size_t(found.size))

    def set_all(self) -> None:
        values = np.concatenate([A.ravel(), V, [S], P])
        assert self.on("fmi3SetFloat64", ["A", "v", "s", "p"], values) == OK
        assert self.on("fmi3SetFloat32", ["q"], Q) == self.on("fmi3SetInt32", ["k"], np.int32(2)) == OK
        assert self.on("fmi3SetBoolean", ["on"], np.uint8(7)) == OK

    def derivative(self, kind: str, unknowns: list[str], knowns: list[str], seed: Any, size: int) -> Any:
        """Sensitivities, or the status."""
        given, found = np.asarray(seed, dtype=float), np.full(size, np.nan)
        pairs = [(x.ctypes.data_as(FLOATS), ctypes.c_size_t(x.size)) for x in (given, found)]
        status = self(f"fmi3Get{kind}Derivative", *_references(unknowns), *_references(knowns), *pairs[0], *pairs[1])
        return found if status == OK else status


def _references(variables: list[str]) -> tuple[Any, ctypes.c_size_t]:
    numbers = [NUMBERS.get(name, 0 if name == "time" else 99) for name in variables]
    return (ctypes.c_uint * len(numbers))(*numbers), ctypes.c_size_t(len(numbers))


@pytest.fixture
def instance(library: Path, fmu: Path) -> Instance:
    made = Instance(library, description(fmu).get("instantiationToken", ""))
    assert made.address
    return made


def test_outputs_are_those_of_the_inputs(instance: Instance) -> None:
    instance.set_all()
    time = ctypes.c_double(3.0)
    assert instance("fmi3SetTime", time) == OK
    got = np.zeros(10)
    assert instance.on("fmi3GetFloat64", ["y", "T", "pick", "time"], got) == OK
    y = np.tanh(A @ V) * S + Q
    np.testing.assert_allclose(got, [*y, *np.sin(A.T).ravel(), 6.0, 3.0], rtol=1e-14)
    n, off, total = np.zeros(1, "int32"), np.ones(1, "bool"), np.zeros(1, "float32")
    assert instance.on("fmi3GetInt32", ["n"], n) == instance.on("fmi3GetBoolean", ["off"], off) == OK
    assert instance.on("fmi3GetFloat32", ["s_out"], total) == OK
    assert (n[0], off[0], total[0]) == (4, False, 0.75) and not instance.messages


def test_derivatives(instance: Instance) -> None:
    """Against closed forms: y = tanh(A v) s + q."""
    instance.set_all()
    slope = 1 - np.tanh(A @ V) ** 2
    seed = [1.0, 0.0, -2.0, 0.5, 0.0, 1.0]
    found = instance.derivative("Directional", ["s_out", "y"], ["v", "s", "q"], seed, 3)
    expected = slope * S * (A @ seed[:3]) + 0.5 * np.tanh(A @ V) + [0.0, 1.0]
    np.testing.assert_allclose(found, [1.0, *expected], rtol=1e-14)
    weights = np.array([1.0, 2.0])
    found = instance.derivative("Adjoint", ["y"], ["q", "A", "v", "time"], weights, 12)
    expected = [*weights, *np.outer(weights * slope * S, V).ravel(), *(A.T @ (weights * slope * S)), 0.0]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_what_importers_do_wrong(instance: Instance, library: Path) -> None:
    instance.set_all()
    assert instance.derivative("Directional", ["n"], ["v"], [1.0] * 3, 1) == ERROR
    assert instance.derivative("Directional", ["y"], ["k"], [1.0], 2) == ERROR
    assert instance.derivative("Adjoint", ["y"], ["y"], [1.0] * 2, 2) == ERROR
    assert instance.derivative("Adjoint", ["y"], ["v"], [1.0], 3) == ERROR
    assert instance.derivative("Adjoint", ["y"], ["v"], [1.0] * 2, 4) == ERROR
    assert instance.on("fmi3GetFloat64", ["nothing"], 0.0) == instance.on("fmi3GetFloat64", ["k"], 0.0) == ERROR
    assert instance.on("fmi3SetFloat64", ["y"], np.zeros(2)) == instance.on("fmi3SetFloat64", ["v"], 1.0) == ERROR
    assert instance("fmi3GetFloat64", *_references(["y"]), None, ctypes.c_size_t(2)) == ERROR
    assert instance.on("fmi3GetString", ["y"], 0.0) == ERROR and instance.on("fmi3GetString", [], np.zeros(0)) == OK
    assert instance.on("fmi3SetInt32", ["k"], np.int32(9)) == OK
    assert instance.on("fmi3GetFloat64", ["pick"], 0.0) == DISCARD
    assert instance.messages[:2] == [
        "fmi3GetDirectionalDerivative: variable 10 (n) is not continuous",
        "fmi3GetDirectionalDerivative: variable 4 (k) is not continuous",
    ]
    assert "index 9 is out of range" in instance.messages[-1] and len(instance.messages) == 12
    stranger = Instance(library, "{another}")
    assert stranger.address is None and "instantiationToken" in stranger.messages[0]
    assert stranger("fmi3Terminate") == stranger("fmi3GetFloat64", None, 0, None, 0) == ERROR


def test_states(instance: Instance) -> None:
    instance.set_all()
    state, size, found = ctypes.c_void_p(), ctypes.c_size_t(), np.zeros(2)
    assert instance("fmi3GetFMUState", ctypes.byref(state)) == OK
    assert instance("fmi3SerializedFMUStateSize", state, ctypes.byref(size)) == OK
    kept = ctypes.create_string_buffer(size.value)
    assert instance("fmi3SerializeFMUState", state, kept, size) == OK
    assert instance("fmi3FreeFMUState", ctypes.byref(state)) == OK and state.value is None
    assert instance("fmi3Reset") == instance.on("fmi3GetFloat64", ["y"], found) == OK and not found.any()
    assert instance("fmi3DeserializeFMUState", kept, size, ctypes.byref(state)) == OK
    assert instance("fmi3SetFMUState", state) == instance.on("fmi3GetFloat64", ["y"], found) == OK
    np.testing.assert_allclose(found, np.tanh(A @ V) * S + Q, rtol=1e-14)
    assert instance("fmi3FreeFMUState", ctypes.byref(state)) == OK
    instance("fmi3FreeInstance")


def test_files_of_an_fmu(fmu: Path, library: Path) -> None:
    with zipfile.ZipFile(fmu) as archive:
        names = ["modelDescription.xml", "binaries/x86_64-linux/plant.so", "documentation/licenses/license.txt"]
        assert archive.namelist() == names and archive.read(names[1]) == library.read_bytes()
    variables = description(fmu).find("ModelVariables")
    assert variables is not None
    assert {x.get("name"): int(x.get("valueReference", -1)) for x in variables} == {"time": 0, **NUMBERS}
    data = library.read_bytes()
    assert "exported" in check_symbols(data, Container(data).manifest())


@pytest.mark.needs("fmpy")
def test_fmpy(fmu: Path, tmp_path: Path) -> None:
    """Unchanged, it finds no problems, and gets the values of the reference in both kinds of simulation."""
    import fmpy
    from fmpy.fmi3 import FMU3Slave
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(fmu)) == []
    about = fmpy.read_model_description(str(fmu))
    assert about.modelExchange.providesAdjointDerivatives and about.coSimulation.providesAdjointDerivatives
    start = {"v": V, "A": A.ravel(), "p": P, "q": Q, "k": 1}
    signal = np.array([(0.0, 1.0), (1.0, 3.0)], dtype=[("time", float), ("s", float)])
    for kind in ("CoSimulation", "ModelExchange"):
        found = fmpy.simulate_fmu(
            str(fmu), fmi_type=kind, stop_time=1, output_interval=0.25, start_values=start, input=signal,
            output=["s", "y", "n"],
        )  # fmt: skip
        np.testing.assert_allclose(found["y"], np.tanh(A @ V) * found["s"][:, None] + Q, rtol=1e-14)
        assert found["s"][-1] > 2.4 and (found["n"] == 2).all()
    one = FMU3Slave(
        guid=about.guid, unzipDirectory=fmpy.extract(str(fmu), str(tmp_path)), instanceName="one",
        modelIdentifier=about.coSimulation.modelIdentifier,
    )  # fmt: skip
    one.instantiate()
    one.enterInitializationMode()
    one.setFloat64([NUMBERS[x] for x in ("A", "v", "s", "p")], [*A.ravel(), *V, S, *P])
    one.exitInitializationMode()
    slope = (1 - np.tanh(A @ V) ** 2) * S
    found = one.getDirectionalDerivative([NUMBERS["y"]], [NUMBERS["v"]], [1.0, 2.0, 3.0], 2)
    np.testing.assert_allclose(found, slope * (A @ [1.0, 2.0, 3.0]), rtol=1e-14)
    found = one.getAdjointDerivative([NUMBERS["y"]], [NUMBERS["v"]], [1.0, -1.0], 3)
    np.testing.assert_allclose(found, A.T @ (slope * [1.0, -1.0]), rtol=1e-14)
    one.terminate()
    one.freeInstance()


REFUSED = [
    (at.vector("x", shape=("n",)), r"x of f is float64\[n\], and variables of FMI have a static shape"),
    (at.vector("x", dtype="complex128", shape=(2,)), r"x of f is complex128\[2\], and FMI has no complex128"),
    (at.vector("x", dtype="float16", shape=(2,)), r"x of f is float16\[2\], and FMI has no float16"),
    (sp.csr_matrix("x", shape=(2, 2)), "x of f is .*, and variables of FMI are dense"),
]


@pytest.mark.parametrize(("x", "message"), REFUSED, ids=["dynamic", "complex", "half", "sparse"])
def test_models_that_do_not_fit(x: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(GraphTypeError, match=message):
        aot.compile(aot.function([x], x * 2, name="f"), tmp_path, abi="fmi")


def test_one_model_without_state(tmp_path: Path, library: Path, capfd: pytest.CaptureFixture[str]) -> None:
    x, count = at.vector("x", shape=(2,)), aot.shared(0.0, name="count")
    f, g = aot.function([x], x + 1, name="f"), aot.function([x], x.sum(), name="g")
    with pytest.raises(GraphValueError, match="an FMU contains one model, found f, g"):
        aot.compile([f, g], tmp_path, abi="fmi")
    with pytest.raises(GraphValueError, match="f has shared variables, count"):
        aot.compile(aot.function([x], x * count, updates={count: count + 1}, name="f"), tmp_path, abi="fmi")
    plain = aot.compile(f, tmp_path / "plain", opt_level=0, cpu="generic").library
    assert run(["package", str(plain), "--fmu", "-o", str(tmp_path / "new")]) == 2
    assert "compile its model with --abi fmi" in capfd.readouterr().err and not (tmp_path / "new").exists()
    assert run(["package", str(library), str(library), "--fmu", "-o", str(tmp_path / "new")]) == 2


@pytest.mark.needs("zig")
def test_an_fmu_for_several_systems(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One file, whose libraries have one description."""
    x = at.vector("x", shape=(2,))
    f, made = aot.function([x], at.sin(x), name="f"), []
    for target in ("x86_64-linux-gnu", "x86_64-windows-gnu", "arm64-macos"):
        folder = tmp_path / target
        made.append(aot.compile(f, folder, abi="fmi", target=target, opt_level=0, cpu="generic").library)
    assert run(["package", *map(str, made), "--fmu", "-o", str(tmp_path)]) == 0, capfd.readouterr().err
    with zipfile.ZipFile(tmp_path / "f.fmu") as archive:
        binaries = [name for name in archive.namelist() if name.startswith("binaries/")]
        expected = ["x86_64-linux/f.so", "x86_64-windows/f.dll", "aarch64-darwin/f.dylib"]
        assert binaries == [f"binaries/{name}" for name in expected]
        assert [archive.read(name) for name in binaries] == [path.read_bytes() for path in made]

"""Libraries of every release load in this runtime, give the recorded results, and are inspected and verified.

Made by `python -m tools.stored_libraries`. A failure here breaks the promise of docs/abi.md: change the runtime, not
the stored files.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "interfaces"))

from bridgestan_client import Client
from ipopt_client import Problem
from sundials_client import Vector, user_data
from tools.stored_libraries.calls import CALLS, Stored, decode, here, read_release, repeat

from aotensor.verification.library import verify_library
from aotensor_cli.main import run
from aotensor_runtime import Library

RELEASES = sorted(
    (path.parent for path in Path(__file__).parent.glob(f"*/{CALLS}")), key=lambda x: [*map(int, x.name.split("."))]
)
STORED = {f"{one.release} {one.name}": one for folder in RELEASES for one in read_release(folder)}
MOST = 1 << 20
"""Bytes of the stored files of a release."""

promised = pytest.mark.unlimited("docs/abi.md promises it of every library")
each = pytest.mark.parametrize("stored", STORED.values(), ids=STORED)


def loadable(stored: Stored) -> Stored:
    """The same, unless it is for another platform: then the test is skipped."""
    if stored.platform != here():
        pytest.skip(f"{stored.name} of {stored.release} is for {stored.platform}, not {here()}")
    return stored


def test_releases_are_small() -> None:
    assert [folder.name for folder in RELEASES][:1] == ["0.2.0"]
    for folder in RELEASES:
        files = {path.name for path in folder.iterdir()}
        assert files == {CALLS, *(f"{one.file}.xz" for one in read_release(folder))}
        assert sum(path.stat().st_size for path in folder.iterdir()) < MOST


@promised
@each
def test_calls(stored: Stored) -> None:
    library = Library(loadable(stored).data)
    assert library.manifest.aotensor == stored.release and stored.calls
    repeat(library, stored.calls)


@promised
@each
def test_inspection(stored: Stored, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the manifest in the file, also of libraries for other systems."""
    path = tmp_path / stored.file
    path.write_bytes(stored.data)
    assert run(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["aotensor"] == stored.release
    assert {f["name"] for f in found["functions"]} >= {call.function for call in stored.calls} - {""}


@each
def test_verification(stored: Stored, tmp_path: Path) -> None:
    """Checksum, manifest, machine and test vectors."""
    path = tmp_path / loadable(stored).file
    path.write_bytes(stored.data)
    report = verify_library(path, stored.data)
    assert report, report.to_json()


@each
def test_interfaces(stored: Stored) -> None:
    """Every symbol of another project's interface that the manifest lists is exported."""
    library = Library(loadable(stored).data)
    for interface in library.manifest.interfaces:
        assert interface.symbols and all(hasattr(library._handle, symbol) for symbol in interface.symbols)


Case: TypeAlias = tuple[Path, dict[str, Any], dict[str, Any]]
"""File of a library; the arguments of its calls; the results of each function."""


@pytest.fixture(params=[folder.name for folder in RELEASES])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Case]:
    """The library of an interface, by name."""

    def read(name: str) -> Case:
        stored = loadable(STORED[f"{request.param} {name}"])
        path = tmp_path / stored.file
        path.write_bytes(stored.data)
        given = {key: decode(x) for key, x in stored.calls[0].arguments.items()}
        return path, given, {call.function: decode(call.results) for call in stored.calls}

    return read


def test_casadi(case: Callable[[str], Case]) -> None:
    path, given, results = case("casadi")
    wanted = results["mats"].values()
    passed, found = [x.ravel(order="F") for x in given.values()], [np.zeros(x.size) for x in wanted]
    pointers = [(ctypes.c_void_p * len(xs))(*(x.ctypes.data for x in xs)) for xs in (passed, found)]
    assert ctypes.CDLL(str(path)).mats(*pointers, None, None, 0) == 0
    np.testing.assert_allclose(np.concatenate(found), np.concatenate([*wanted]), rtol=1e-12)


def test_bridgestan(case: Callable[[str], Case]) -> None:
    path, given, results = case("bridgestan")
    client = Client(path, json.dumps({"y": given["y"].tolist()}))
    q = np.array([given["mean"], np.log(given["sigma"])])
    assert client.log_density(q, jacobian=False) == pytest.approx(float(results["normal"]), rel=1e-12)


def test_ipopt(case: Callable[[str], Case]) -> None:
    path, given, results = case("ipopt")
    problem = Problem(path, "hs71", given["c"])
    f, slope, g = np.zeros(1), np.zeros(4), np.zeros(2)
    assert problem.call("eval_f", given["x"], 1, f) == problem.call("eval_grad_f", given["x"], 0, slope) == 1
    assert problem.call("eval_g", given["x"], 0, 2, g) == 1
    found, wanted = np.concatenate([f, slope, g]), [results[f"hs71_{part}"] for part in ("f", "grad_f", "g")]
    np.testing.assert_allclose(found, np.concatenate([np.ravel(x) for x in wanted]), rtol=1e-12)


def test_sundials(case: Callable[[str], Case]) -> None:
    path, given, results = case("sundials")
    y, out = Vector(given["y"]), Vector(np.zeros(3))
    t = ctypes.c_double(float(given["t"]))
    assert ctypes.CDLL(str(path)).rob_cv_rhs(t, y.address, out.address, user_data(given["k"])) == 0
    np.testing.assert_allclose(out.data, results["rob"], rtol=1e-12)

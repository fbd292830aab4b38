"""Libraries of every release load in this runtime, give the recorded results, and are inspected and verified.

Made by `python -m tools.stored_libraries`. A failure here breaks the promise of docs/abi.md: change the runtime, not
the stored files.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "interfaces"))

from bridgestan_client import Client
from tools.stored_libraries.calls import CALLS, Stored, decode, here, read_release, repeat

from aotensor.verification.library import verify_library
from aotensor_cli.main import run
from aotensor_runtime import Library
from aotensor_runtime.container import Container

RELEASES = sorted(path.parent for path in Path(__file__).parent.glob(f"*/{CALLS}"))
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


@pytest.mark.parametrize("name", ["bridgestan", "casadi", "ipopt", "sundials"])
@pytest.mark.parametrize("release", [folder.name for folder in RELEASES])
def test_interfaces(release: str, name: str, tmp_path: Path) -> None:
    """Every symbol of another project's interface that the manifest lists is exported."""
    stored = loadable(STORED[f"{release} {name}"])
    path = tmp_path / stored.file
    path.write_bytes(stored.data)
    handle, (interface,) = ctypes.CDLL(str(path)), Container(stored.data).manifest().interfaces
    assert interface.name == name and all(hasattr(handle, symbol) for symbol in interface.symbols)


@pytest.mark.parametrize("release", [folder.name for folder in RELEASES])
def test_values_by_interfaces(release: str, tmp_path: Path) -> None:
    """CasADi's and BridgeStan's entries give the recorded results."""
    paths = {}
    for name in ("casadi", "bridgestan"):
        stored = loadable(STORED[f"{release} {name}"])
        paths[name] = tmp_path / stored.file
        paths[name].write_bytes(stored.data)
        (call,) = stored.calls
        given, wanted = {key: decode(x) for key, x in call.arguments.items()}, decode(call.results)
        if name == "casadi":
            passed = [x.ravel(order="F") for x in given.values()]
            found = [np.zeros(x.size) for x in wanted.values()]
            pointers = [(ctypes.c_void_p * len(xs))(*(x.ctypes.data for x in xs)) for xs in (passed, found)]
            assert ctypes.CDLL(str(paths[name])).mats(*pointers, None, None, 0) == 0
            np.testing.assert_allclose(np.concatenate(found), np.concatenate(list(wanted.values())), rtol=1e-12)
        else:
            client = Client(paths[name], json.dumps({"y": given["y"].tolist()}))
            q = np.array([given["mean"], np.log(given["sigma"])])
            assert client.log_density(q, jacobian=False) == pytest.approx(float(wanted), rel=1e-12)

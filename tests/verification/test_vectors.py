"""Test vectors: packed, unpacked, replayed, damaged; and what the dynamic loader is asked for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.targets.linkage import read_linkage
from aotensor.sampling.vectors import make_vectors
from aotensor.verification.library import verify_library
from aotensor_runtime import load
from aotensor_runtime.elf import ElfFile
from aotensor_runtime.errors import DamagedLibrary
from aotensor_runtime.vectors import SECTION, Vector, is_near, pack, replay, unpack


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two functions, one with state."""
    x = at.vector("x", dtype="float32", shape=("n",))
    i = at.lvector("i", shape=("n",))
    total = aot.shared(np.float32(2), name="total")
    functions = [
        aot.function([x, i], [at.exp(x), i * 2, x.sum() > 0], name="several"),
        aot.function([x], updates={total: total + x.sum()}, name="step"),
    ]
    return aot.compile(functions, tmp_path_factory.mktemp("vectors"), name="both").library


def test_vectors_travel_and_are_right(library: Path) -> None:
    lib = load(library)
    vectors = unpack(lib.section(SECTION))
    assert [v.function for v in vectors] == ["several", "several", "step", "step"]
    assert [x.problem for x in replay(lib)] == [None] * 4
    assert lib.step.state["total"] == 2, "the state is put back"
    assert library.stat().st_size < 100_000  # bytes


def test_pack_and_unpack() -> None:
    arrays = (np.array([[1.5, -0.0]], dtype="float32"), np.zeros((0, 3), dtype="uint16"), np.array(True))
    (found,) = unpack(pack([Vector("f", arrays, arrays[:1], (1e-5,))]))
    assert found.function == "f" and found.tolerances == (1e-5,)
    for x, y in zip(found.inputs, arrays, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape and np.array_equal(x, y)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[",
        b"[1]",
        b'[["f",[["float64",[4]]],[],[]]]\n123',
        b'[["f",[["object",[4]]],[],[]]]\n',
        b'[["f",[["float64",[-1]]],[],[]]]\n',
        b'[["f",[["float64",["4"]]],[],[]]]\n',
        b'[["f",[["float64",[99999999999999999999]]],[],[]]]\n',
    ],
)
def test_damaged_vectors_are_refused(content: bytes) -> None:
    with pytest.raises(DamagedLibrary, match="test vectors are damaged"):
        unpack(content)


def test_is_near() -> None:
    nan, inf = np.nan, np.inf
    assert is_near(np.array([1.0, nan, inf]), np.array([1.1, nan, inf]), 0.2)
    assert not is_near(np.array([1.0]), np.array([1.1]), 0.01)
    assert not is_near(np.array([1.0]), np.array([nan]), 1)
    assert not is_near(np.array([1]), np.array([2]), 5)
    assert not is_near(np.zeros(2), np.zeros(3), 1)


def test_large_functions_have_none() -> None:
    x = at.matrix("x", shape=(200, 200))
    assert make_vectors([aot.function([x], x + 1)]) == b""


def test_loops_that_are_long_have_none() -> None:
    """A loop evaluates each node of its body by NumPy in each step: what takes too long is left out, not waited for."""

    def made(steps: int) -> bytes:
        x = at.scalar("x")
        states, _ = aot.scan(lambda state: at.sin(state) * x, outputs_info=[x], n_steps=steps)
        return make_vectors([aot.function([x], states[-1])])

    assert len(unpack(made(100))) == 2
    assert made(10**9) == b""


def test_a_reference_that_refuses_gives_none() -> None:
    x = at.vector("x", shape=("n",))
    assert make_vectors([aot.function([x], x[50])]) == b""


def test_library_verifies(library: Path) -> None:
    report = verify_library(library, library.read_bytes())
    assert report, str(report)
    assert report.checks[-1].detail == "4 calls give the recorded values"


def test_linkage_is_what_readelf_says(library: Path) -> None:
    linkage = read_linkage(ElfFile(library.read_bytes()))
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    assert sorted(line.split()[-1] for line in done.stdout.splitlines()) == list(linkage.exported)
    assert set(linkage.needed) <= {"libc.so.6", "libm.so.6"}
    assert "several_call" in linkage.exported


def test_vectors_are_the_same_every_time() -> None:
    def make() -> bytes:
        x = at.matrix("x", dtype="float32")
        return make_vectors([aot.function([x], [at.softplus(x).sum(), x.T], name="f")])

    assert make() == make() != b""

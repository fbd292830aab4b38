"""Files of weights on other systems: on AArch64 by path and from memory, on Windows from memory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import foreign
import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor_runtime.abi import Status

SOURCE = Path(__file__).with_name("weights_driver.c")


def built(target: str, emit: str, folder: Path, link: list[str]) -> np.ndarray:
    """Make the library and the program; three numbers of the expected result."""
    weights = np.random.default_rng(3).normal(size=(90, 70))
    x = at.matrix("x", shape=("n", 90))
    f = aot.function([x], x @ weights, name="layer")
    aot.compile(f, folder, weights=True, target=target, emit=emit, opt_level=1)
    shutil.copy(SOURCE, folder)
    foreign.run([*foreign.ZIG, "cc", "-target", target, *foreign.FLAGS, SOURCE.name, *link], folder)
    values = np.array([(k % 17 - 8) / 64 for k in range(180)]).reshape(2, 90)
    return (values @ weights).ravel()[[0, 70, 139]]


def compare(said: str, expected: np.ndarray, missing: str) -> None:
    first, damaged, last = said.strip().splitlines()
    assert first.startswith(f"{Status.NO_WEIGHTS:d} layer: the weights layer.safetensors {missing}: expected ")
    assert damaged.startswith(f"{Status.WRONG_WEIGHTS:d} layer: weights: data have another digest, expected ")
    status, *numbers = last.split()
    assert status == "0"
    np.testing.assert_allclose([float.fromhex(x) for x in numbers], expected, rtol=1e-12)


@pytest.mark.needs("zig", "qemu")
@pytest.mark.parametrize(
    "triple",
    [
        "aarch64-linux-gnu",
        pytest.param("aarch64-linux-musl", marks=pytest.mark.level("all", "zig compiles the C library first, 60 s")),
    ],
)
def test_aarch64(triple: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()  # not the folder of the weights, which are looked for beside the program
    link = ["liblayer.a", "-lm", "-lpthread", "-o", "bin/driver"]
    expected = built(triple, "static", tmp_path, link)
    root = ["-L", foreign.c_library(triple)] if triple.endswith("gnu") else []
    qemu = foreign.tool("qemu-aarch64", "qemu-user")
    for words in ([], ["layer.safetensors"]):
        said = foreign.run([qemu, *root, "bin/driver", *words], tmp_path)
        compare(said, expected, "are not there or cannot be read")


@pytest.mark.needs("zig", "wine")
@pytest.mark.level("all", "making wine's folder takes far longer than the program")
def test_windows(tmp_path: Path) -> None:
    expected = built("x86_64-windows-gnu", "lib", tmp_path, ["liblayer.dll.a", "-o", "driver.exe"])
    wine = foreign.tool("wine", "wine, wine64")
    quiet = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(tmp_path / "wine")}
    compare(foreign.run([wine, "driver.exe"], tmp_path, env=quiet), expected, "are not in memory")

"""Packages of a library with a file of weights: it is in each of them, next to the library, and listed."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from needs import path_of
from packaged import Package

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime

FILE = "model.safetensors"
CLIENT = """
#include <stdio.h>
#include "model.h"
int main(void) {
  double x[80], y[40];
  for (int k = 0; k < 80; k++) x[k] = k;
  int32_t status = layer(x, y, 0);
  printf("%d %a\\n", (int)status, y[39]);
  return status;
}
"""


@pytest.fixture(scope="module")
def weights() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(80, 40))


@pytest.fixture(scope="module")
def folder(weights: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    x = at.vector("x", shape=(80,))
    f = aot.function([x], x @ weights, name="layer")
    aot.compile(f, folder, name="model", cpu="generic", weights=True, opt_level=1)
    return folder


def test_wheel(folder: Path, weights: np.ndarray, package: Package, tmp_path: Path) -> None:
    answer = package(folder / "libmodel.so", "-o", tmp_path, "--emit", "wheel", "--version", "1.0", "--json")
    assert answer.code == 0, answer.err
    (path,) = json.loads(answer.out)["files"]
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(tmp_path / "site")
    content = (folder / FILE).read_bytes()
    assert (tmp_path / "site" / "model" / FILE).read_bytes() == content
    program = "import model, numpy as np; print(float(model.layer(np.arange(80.0))[39]).hex())"
    search = f"{tmp_path / 'site'}:{Path(aotensor_runtime.__file__).parents[1]}"
    done = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": search}, capture_output=True, check=True)
    np.testing.assert_allclose(float.fromhex(done.stdout.decode()), (np.arange(80.0) @ weights)[39], rtol=1e-12)
    (info,) = (tmp_path / "site").glob("*.dist-info")
    bill = json.loads((info / "sboms" / "aotensor.cdx.json").read_bytes())
    digest = hashlib.sha256(content).hexdigest()
    (component,) = (x for x in bill["components"] if x["name"] == FILE)
    assert component["type"] == "data" and component["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert {"ref": "file:libmodel.so", "dependsOn": [f"file:{FILE}"]} in bill["dependencies"]
    provenance = json.loads((info / "sboms" / "aotensor.provenance.json").read_bytes())
    assert {"name": FILE, "digest": {"sha256": digest}} in provenance["subject"]


@pytest.mark.needs("cc")
def test_sdk(folder: Path, weights: np.ndarray, package: Package, tmp_path: Path) -> None:
    answer = package(folder / "libmodel.so", "-o", tmp_path, "--emit", "sdk", "--version", "1.0", "--json")
    assert answer.code == 0, answer.err
    (path,) = json.loads(answer.out)["files"]
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    sdk = tmp_path / "model-1.0"
    assert (sdk / "lib" / FILE).read_bytes() == (folder / FILE).read_bytes()
    config = (sdk / "lib" / "cmake" / "model" / "model-config.cmake").read_text()
    assert f'AOTENSOR_WEIGHTS "${{_model_root}}/lib/{FILE}"' in config
    assert f"weights_model=${{prefix}}/lib/{FILE}\n" in (sdk / "lib" / "pkgconfig" / "model.pc").read_text()
    (sdk / "main.c").write_text(CLIENT)
    flags = ["-Iinclude", "main.c", "-Llib", "-lmodel", "-lm", "-Wl,-rpath,$ORIGIN/lib"]
    subprocess.run([path_of("cc"), *flags, "-o", "main"], cwd=sdk, check=True)
    moved = sdk.rename(tmp_path / "elsewhere")
    status, last = subprocess.run([moved / "main"], capture_output=True, text=True, check=True).stdout.split()
    assert status == "0"
    np.testing.assert_allclose(float.fromhex(last), (np.arange(80.0) @ weights)[39], rtol=1e-12)


@pytest.mark.parametrize("damage", ["missing", "wrong"])
def test_an_incomplete_library_is_not_packed(damage: str, folder: Path, package: Package, tmp_path: Path) -> None:
    library = tmp_path / "libmodel.so"
    library.write_bytes((folder / "libmodel.so").read_bytes())
    if damage == "wrong":
        (tmp_path / FILE).write_bytes((folder / FILE).read_bytes()[:-1] + b"!")
    answer = package(library, "-o", tmp_path / "out", "--version", "1.0")
    assert answer.code == 2
    reason = "were not found" if damage == "missing" else "do not belong to the library"
    assert f"the weights {tmp_path / FILE} {reason}" in answer.err
    assert not (tmp_path / "out").exists()

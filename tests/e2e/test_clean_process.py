"""A library runs in a process that has the runtime and NumPy and nothing else of ours."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import aotensor_runtime

COMPILER = ["aotensor", "aotensor_cli", "llvmlite", "xdsl", "click", "rich", "scipy"]

SCRIPT = """
import json, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {compiler}:
            raise ImportError(f"{{name}} must not be imported")

sys.meta_path.insert(0, Refuse())
sys.path.insert(0, {folder!r})
import numpy as np
import aotensor_runtime
assert aotensor_runtime.__file__.startswith({folder!r})
lib = aotensor_runtime.load({library!r})
X, y = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]]), np.array([1.0, -1.0, 1.0])
got = lib.logistic(X, y, np.zeros(2), 0.01)
print(json.dumps({{"loss": float(got["loss"]), "grad_w": got["grad_w"].tolist(), "modules": sorted(sys.modules)}}))
"""


def test_load_needs_numpy_only(logistic_folder: Path, tmp_path: Path) -> None:
    source = Path(aotensor_runtime.__file__).parent
    shutil.copytree(source, tmp_path / "aotensor_runtime", ignore=shutil.ignore_patterns("__pycache__"))
    library = str(logistic_folder / "liblogistic.so")
    script = SCRIPT.format(compiler=set(COMPILER), folder=str(tmp_path), library=library)
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert abs(answer["loss"] - 0.6931471805599453) < 1e-15
    assert answer["grad_w"] == [0.25, -0.5416666666666666]
    assert not {name.partition(".")[0] for name in answer["modules"]} & set(COMPILER)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="no readelf on the path")
def test_library_needs_libc_and_libm_only(logistic_folder: Path) -> None:
    command = ["readelf", "--wide", "--dynamic", "--dyn-syms", str(logistic_folder / "liblogistic.so")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
    assert needed <= {"libc.so.6", "libm.so.6"}, text
    exported = set(re.findall(r"(?:FUNC|OBJECT) +GLOBAL +DEFAULT +\d+ (\S+)", text))
    foreign = {name for name in exported if not name.startswith(("aotensor_", "logistic"))}
    assert not foreign, f"exported, but not in the header: {sorted(foreign)}"


def test_library_is_small(logistic_folder: Path) -> None:
    assert (logistic_folder / "liblogistic.so").stat().st_size < 100_000  # bytes, as the README says

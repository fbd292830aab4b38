"""The same model gives the same bytes on two machines: other folders, times, locales, users and hash seeds."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from aotensor.codegen.machine import Machine

MODEL = """
import aotensor as aot, aotensor.tensor as at
x = at.vector("x", dtype="float64", shape=("n",))
y = at.exp(x).sum()
f = aot.function([x], {"y": y, "g": aot.grad(y, x)}, name="f")
"""
COMPILE = """
import sys
from aotensor_cli.main import run
for options in sys.argv[1:]:
    if run(["compile", "model.py", "-q", "-o", "out-" + options.split()[-1], *options.split()]):
        raise SystemExit(options)
"""
FORMS = "--emit lib --emit header"


def test_two_machines(tmp_path: Path) -> None:
    """Only the cache of zig is shared, where the C libraries are that it has compiled."""
    zig = importlib.util.find_spec("ziglang") is not None
    targets = ("x86_64-windows-gnu", "arm64-macos", "wasm32-wasi") if zig else ()
    builds = [f"{FORMS} --target {target}" for target in targets] + ["--emit static " + FORMS]
    if Machine.host().triple.startswith("x86_64"):
        builds.append(f"{FORMS} --cpu v2,v3")
    cache = os.environ.get("ZIG_GLOBAL_CACHE_DIR", str(Path.home() / ".cache" / "zig"))
    found = []
    for name, environment in (
        ("one", {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC", "USER": "ada"}),
        ("the other,/süß one", {"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo", "USER": "bob",
                               "SOURCE_DATE_EPOCH": "1000000000"}),
    ):  # fmt: skip
        folder = tmp_path / name
        (folder / "home").mkdir(parents=True)
        (folder / "tmp").mkdir()
        (folder / "model.py").write_text(MODEL)
        own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "ZIG_GLOBAL_CACHE_DIR": cache}
        command = [sys.executable, "-c", COMPILE, *builds]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **own, **environment}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        os.utime(folder / "model.py", (0, 0))
        found.append({path.relative_to(folder): path.read_bytes() for path in folder.glob("out-*/*")})
    assert len(found[0]) >= 2 * len(builds)
    assert found[0].keys() == found[1].keys()
    assert [str(path) for path in found[0] if found[0][path] != found[1][path]] == []
    assert not [str(path) for path in found[0] if str(tmp_path).encode() in found[0][path]], "no folder is inside"

"""Import the programs that tests of JAX, PyTensor and autograd differentiate, and compare derivatives with their own.

    git clone --depth 1 --branch jax-v0.10.2 https://github.com/jax-ml/jax FOLDER
    python -m tools.gradient_tests jax FOLDER                         all files: counts, and what is wrong
    python -m tools.gradient_tests jax FOLDER --only custom_api       files whose names contain this
    python -m tools.gradient_tests jax FOLDER --test test_remat       tests whose names contain this
    python -m tools.gradient_tests jax FOLDER --write                 docs/jax_gradient_tests.md
    python -m tools.gradient_tests jax_numpy FOLDER --write           docs/jax_numpy_gradient_tests.md, values
    python -m tools.gradient_tests pytensor FOLDER --write            docs/pytensor_gradient_tests.md
    python -m tools.gradient_tests autograd FOLDER --write            docs/autograd_gradient_tests.md, of HIPS/autograd

The tests run as they are; a plugin keeps each function and point that they differentiate. Each file runs in a process
of its own, and its results are kept in FOLDER/aotensor. `--kept` shows them without running again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.gradient_tests.page import FILES, page, reason_of
from tools.gradient_tests.record import RECORD

ROOT = Path(__file__).parents[2]


def run(framework: str, folder: Path, name: str, test: str, seconds: float) -> str:
    """Run one file of tests from the start, and return how it ended."""
    record = _record(folder, name)
    record.parent.mkdir(exist_ok=True)
    record.write_text("")
    environment = os.environ | {
        RECORD: str(record),
        "JAX_ENABLE_X64": "1",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        "PYTENSOR_FLAGS": os.environ.get("PYTENSOR_FLAGS", "cxx=,mode=FAST_COMPILE"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    plugins = [
        "-p",
        f"tools.gradient_tests.{framework.removesuffix('_numpy')}_plugin",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
        "-o",
        "required_plugins=",
    ]
    chosen = ["-k", test] if test else []
    command = [sys.executable, "-m", "pytest", *plugins, "-q", "--tb=no", *chosen, f"tests/{name}"]
    try:
        made = subprocess.run(
            command, cwd=folder, env=environment, timeout=seconds, check=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "cut"
    # 0 and 1: all pass, or some fail, as they may for other reasons; 5: none is chosen
    return "done" if made.returncode in (0, 1, 5) else "crashed"


def load(folder: Path, name: str) -> list[dict[str, Any]]:
    """The recorded results of a file."""
    record = _record(folder, name)
    return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()] if record.exists() else []


def _record(folder: Path, name: str) -> Path:
    return folder / "aotensor" / ("gradients+" + name.replace("/", "+") + "l")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests, print what is wrong, and write the page if requested."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.gradient_tests", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("framework", choices=sorted(FILES))
    parser.add_argument("folder", type=Path, help="a checkout of the framework, at the version that is installed")
    parser.add_argument("--only", default="", metavar="WORD", help="files whose names contain this")
    parser.add_argument("--test", default="", metavar="WORD", help="tests whose names contain this, as `pytest -k`")
    parser.add_argument("--kept", action="store_true", help="run nothing: only what is kept of earlier runs")
    parser.add_argument("--seconds", type=float, default=3600, help="how long a file may take (default: 3600)")
    parser.add_argument("--write", action="store_true", help="write the page of docs; needs all tests")
    options = parser.parse_args(arguments)
    if options.write and (options.only or options.test):
        parser.error("--write needs all tests: leave out --only and --test")
    folder = options.folder.resolve()
    if not (folder / "tests").is_dir():
        parser.error(f"{options.folder} has no folder tests: a checkout of {options.framework} is expected")
    found = {}
    for name in FILES[options.framework]:
        if options.only in name:
            end = "" if options.kept else run(options.framework, folder, name, options.test, options.seconds)
            if end in ("cut", "crashed"):
                sys.stdout.write(f"{name}: {end}\n")
            found[name] = load(folder, name)
    lines = [line for made in found.values() for line in made]
    wrong = [line for line in lines if line["verdict"] == "wrong" and not reason_of(line)]
    for line in wrong:
        sys.stdout.write(f"wrong: {line['test']}: {line['what']}: {line['reason']}\n")
    sys.stdout.write(f"{dict(Counter(line['verdict'] for line in lines))}\n")
    if options.write:
        (ROOT / "docs" / f"{options.framework}_gradient_tests.md").write_text(
            page(options.framework, found), encoding="utf-8"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

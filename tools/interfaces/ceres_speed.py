"""The reprojection error of bundle adjustment and its Jacobians: this library, SymForce's C++ and `ceres::Jet`.

Needs `pip install symforce` and Debian's libceres-dev.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
from tools.interfaces.turns import machine

import aotensor as aot

TESTS = Path(__file__).parents[2] / "tests"
_ROWS = ("residual", "both Jacobians", "camera's only", "point's only")
_COMPILERS = (("-O3", "-march=native"), ("-O2",))


def main() -> None:
    """Print a table in Markdown for each set of options of the C++ compiler: nanoseconds of a call."""
    sys.path[:0] = [str(TESTS), str(TESTS / "interfaces")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = aot.compile(importlib.import_module("test_ceres").reprojection(), folder, abi="ceres", name="bal")
        click.echo(f"{machine()}; SymForce {_generate(folder)}")
        for flags in _COMPILERS:
            lines = _run(folder, made.library, flags)
            click.echo(f"\n{' '.join(flags)}; largest difference of SymForce's derivatives {lines[0]}\n")
            click.echo("| | this library | SymForce | ceres::Jet |\n|---|---:|---:|---:|")
            for title, line in zip(_ROWS, lines[1:], strict=True):
                numbers = line.split()
                triples = [numbers[k : k + 3] for k in range(0, 9, 3)]
                cells = " | ".join(f"{median} ({low} to {high})" for low, median, high in triples)
                click.echo(f"| {title} | {cells} |")


def _generate(folder: Path) -> str:
    """Write the headers of the residual, and of residual and Jacobians; returns SymForce's version."""
    symforce = importlib.import_module("symforce")
    symforce.set_epsilon_to_symbol()  # before its other modules are imported
    codegen, sf = importlib.import_module("symforce.codegen"), importlib.import_module("symforce.symbolic")

    def reproject(camera: Any, point: Any, seen: Any, epsilon: Any) -> Any:
        """The residual of BAL, with SymForce's own rotations."""
        turned = sf.Rot3.from_tangent(sf.V3(camera[:3]), epsilon) * point + sf.V3(camera[3:6])
        x = sf.V2(-turned[0] / turned[2], -turned[1] / turned[2])
        r = x.dot(x)
        return camera[6] * (1 + r * (camera[7] + camera[8] * r)) * x - seen

    types = [sf.V9, sf.V3, sf.V2, sf.Scalar]
    residual = codegen.Codegen.function(reproject, config=codegen.CppConfig(), input_types=types)
    for made in (residual, residual.with_jacobians(which_args=["camera", "point"])):
        made.generate_function(output_dir=folder / "sym", skip_directory_nesting=True)
    return str(symforce.__version__)


def _run(folder: Path, library: Path, flags: tuple[str, ...]) -> list[str]:
    source = Path(__file__).with_suffix(".cpp")
    command = ["g++", "-std=c++17", *flags, f"-I{folder}", "-isystem", "/usr/include/eigen3", str(source)]
    command += [str(library), f"-Wl,-rpath,{folder}", "-lceres", "-lglog", "-o", "speed"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(["./speed"], cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()

"""Pictures and output of the examples, kept in docs/gallery: `python docs/build.py pictures [NAME ...]`.

They take minutes, and some need other frameworks, so a build of the site takes them as they are.
"""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import drawings
from links import ROOT
from stages import printed

import aotensor as aot

GALLERY: Final = ROOT / "docs" / "gallery"
EXAMPLES: Final = ROOT / "examples"
ARGUMENTS: Final = {
    "out_of_core": None, "logistic_with_mpi": None, "poisson_on_dask": ["--rows", "20000"],
    "mixture_by_chunks": ["--rows", "20000"],
}  # fmt: skip
"""What an example is run with; None for one that needs several processes, or files first."""

STYLE: Final = {
    "svg.hashsalt": "aotensor", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 8,
    "legend.frameon": False, "savefig.dpi": 144, "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip


def make(names: list[str]) -> None:
    """Run examples, and write what they print and a picture of what they find."""
    GALLERY.mkdir(exist_ok=True)
    for name in names or [path.stem for path in sorted(EXAMPLES.glob("*.py"))]:
        found, output = _run(name)
        if output:
            (GALLERY / f"{name}.txt").write_text(output, encoding="utf-8")
        svg = _drawn(name, found)
        if svg:
            (GALLERY / f"{name}.svg").write_text(svg, encoding="utf-8")


def _run(name: str) -> tuple[dict[str, Any], str]:
    """The globals of an example after it ran, and what it printed."""
    given, output, here = ARGUMENTS.get(name, []), io.StringIO(), Path.cwd()
    arguments, sys.argv = sys.argv, [name, *(given or [])]
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(output):
        os.chdir(folder)
        try:
            found = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="example" if given is None else "__main__")
        finally:
            os.chdir(here)
            sys.argv = arguments
    return found, output.getvalue().replace(str(Path.cwd()), ".")


def _drawn(name: str, found: dict[str, Any]) -> str:
    """Draw by the example's function in `drawings`, else the loops of its first function; nothing without functions."""
    draw = getattr(drawings, name, None)
    if draw is None:
        functions = [value for value in found.values() if isinstance(value, aot.Function)]
        inspected = ["inspect", str(EXAMPLES / f"{name}.py"), "--format", "svg", "--stage", "nest"]
        return printed(inspected) if functions else ""
    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.use("svg")
    matplotlib.rcParams.update(STYLE)
    count = drawings.AXES.get(name, 1)
    figure, axes = plt.subplots(1, count, figsize=(5.2 if count == 1 else 6.2, 3.2), layout="constrained")
    draw(found, axes)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n"))

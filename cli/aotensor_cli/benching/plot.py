"""Plot the times of `bench`: a bar for each function, size and number of threads, with the machine's limit."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aotensor_cli.options import Exit, Refusal
from aotensor_runtime.notebook.html import clipped, plain

FORMATS: Final = (".svg", ".png")
MOST: Final = 200
"""Bars of a picture."""
_COLOURS: Final = ("#3b76af", "#c9783b", "#4f9a62", "#8a63a8", "#a89238", "#b0507a")
_STYLE: Final[Any] = {"svg.fonttype": "none", "svg.hashsalt": "aotensor", "font.size": 9.0}
"""Texts stay texts, and the same rows give the same file."""


@dataclass(frozen=True)
class Bar:
    """A row of `bench`.   seconds: the median, with those that a tenth of the turns are below, and above

    least: what the machine needs at least, compared: the time of another library; None if they are not known.
    """

    label: str
    threads: int
    seconds: float
    low: float
    high: float
    least: float | None
    compared: float | None


def check_plot(path: Path) -> None:
    """Check before any measurement that a plot can be written to the path.

    Raises: Refusal for a suffix that is not of a picture, a missing folder, and without matplotlib
    """
    if path.suffix.lower() not in FORMATS:
        raise Refusal(f"--plot {path}: the name of a picture ends in {' or '.join(FORMATS)}")
    if path.is_dir() or not path.parent.is_dir():
        raise Refusal(f"--plot {path}: {'this is a folder' if path.is_dir() else f'there is no folder {path.parent}'}")
    try:
        importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise Refusal(
            f"--plot needs matplotlib, which cannot be imported ({error})", "pip install 'aotensor[plot]'", Exit.TOOL
        ) from error


def write_plot(path: Path, bars: Sequence[Bar]) -> None:
    """Write the plot.   Raises: Refusal for too many bars, OSError"""
    import matplotlib
    from matplotlib.figure import Figure

    if len(bars) > MOST:
        raise Refusal(f"--plot: {len(bars)} measurements are more than the {MOST} that a picture shows")
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(7.5, 1.4 + 0.32 * len(bars)), layout="constrained")
        _draw(figure.add_subplot(), bars)
        kind = path.suffix.lower()[1:]
        figure.savefig(path, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else {"Software": None})


def _draw(axes: Any, bars: Sequence[Bar]) -> None:
    counts = sorted({bar.threads for bar in bars})
    shown = set()
    for place, bar in enumerate(bars):
        name = f"{bar.threads} thread{'s' * (bar.threads > 1)}"
        colour = _COLOURS[counts.index(bar.threads) % len(_COLOURS)]
        spread = [[max(bar.seconds - bar.low, 0.0)], [max(bar.high - bar.seconds, 0.0)]]
        axes.barh(
            place, bar.seconds, height=0.7, color=colour, xerr=spread, error_kw={"elinewidth": 0.8, "ecolor": "#555"},
            label=None if name in shown else name,
        )  # fmt: skip
        shown.add(name)
    for of, marker, name in (("least", "|", "limit of the machine"), ("compared", "D", "the other library")):
        points = [(getattr(bar, of), place) for place, bar in enumerate(bars) if getattr(bar, of) is not None]
        if points:
            x, y = zip(*points, strict=True)
            size = 220 if marker == "|" else 22
            axes.scatter(x, y, marker=marker, s=size, color="#111", linewidths=1.6, zorder=3, label=name)
    axes.set_xscale("log")
    axes.set_xlabel("time per call in seconds, log scale")
    axes.set_ylabel("function, sizes, threads")
    labels = [f"{plain(clipped(bar.label, 60))}, {bar.threads}" for bar in bars]
    axes.set_yticks(range(len(bars)), labels, parse_math=False)
    axes.invert_yaxis()
    axes.grid(axis="x", color="#ddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.figure.legend(loc="outside lower center", ncols=4, frameon=False)

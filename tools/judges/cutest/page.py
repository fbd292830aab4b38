"""The page docs/judges/cutest.md: a row for each problem, and medians by size."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

PAGE: Final = Path(__file__).parents[3] / "docs" / "judges" / "cutest.md"
_SIZES: Final = ((1, 9), (10, 99), (100, 999), (1000, 10**9))
_FIGURES: Final = ("compile", "call", "compile_hessian", "call_hessian")


def page(rows: Sequence[tuple[str, dict[str, Any]]], sample: int | None, seed: int, largest: int) -> str:
    """The text of the page.   rows: verdict and results of the worker"""
    drawn = f"{sample} of them, drawn with seed {seed}" if sample is not None else "all of them"
    text = _INTRODUCTION.format(largest=largest, drawn=drawn, sif2jax=version("sif2jax"), jax=version("jax"))
    done = [found for _, found in rows if "errors" in found]
    right = sum(one == "right" for one, _ in rows)
    text += f"\n{right} of {len(rows)} problems are right, {len(done)} are imported.\n"
    text += "\n| variables | problems | " + " | ".join(_NAMES) + " |\n|---|---:|" + "---:|" * len(_NAMES) + "\n"
    for least, most in (*_SIZES, (1, 10**9)):
        group = [found for found in done if least <= found["n"] <= most]
        if group:
            label = "all" if (least, most) == (1, 10**9) else f"{least} to {most}" if most < 10**9 else f"from {least}"
            cells = [f"{median(f['theirs'][key] / f['ours'][key] for f in group):.2f}" for key in _FIGURES]
            text += f"| {label} | {len(group)} | {' | '.join(cells)} |\n"
    text += _HEAD + "".join(_row(one, found) for one, found in rows if "errors" in found)
    failed = [f"- {found['name']}: {found['failed']}\n" for _, found in rows if "failed" in found]
    return text + ("\n## Without a result\n\n" + "".join(failed) if failed else "")


_NAMES: Final = ("compile value + gradient", "value + gradient", "compile Hessian", "Hessian")
_INTRODUCTION: Final = """# CUTEst, compared with JAX

Written by `python -m tools.judges cutest --page`. Problems of [CUTEst](https://github.com/ralna/CUTEst) with at most
{largest} variables, as [sif2jax](https://github.com/johannahaffner/sif2jax) {sif2jax} writes them in JAX; {drawn}.
`from_jax` imports objective and constraints, `aot.nlp` makes their sparse derivatives. The reference is JAX {jax}.

- error: the largest of the differences of value, constraints, gradient, Jacobian of the constraints and Hessian of the
  Lagrangian, at the start and at two random points, each relative to the largest element; 1e-8 is allowed.
- Both differentiate the Lagrangian f + λ·g with fixed random λ. Hessians are dense in JAX, by `jax.hessian`, and the
  sparse lower triangle in aotensor. Times of a call are the shortest of many averages on fixed buffers, on one core;
  compile times are processor seconds from the Python function to a program that can be called.

The first table has the medians of JAX's time divided by aotensor's: more than 1 means that aotensor is faster.
"""
_HEAD: Final = (
    "\n| problem | n | m | entries | error | compile s | JAX | µs | JAX "
    "| compile Hessian s | JAX | Hessian µs | JAX |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
)


def _row(verdict: str, found: dict[str, Any]) -> str:
    cells = [str(found["n"]), str(found["m"]), str(found["ours"]["entries"]), f"{max(found['errors'].values()):.0e}"]
    for key in _FIGURES:
        scale, form = (1.0, ".2f") if key.startswith("compile") else (1e6, ".3g")
        cells += [format(scale * found[side][key], form) for side in ("ours", "theirs")]
    return f"| {found['name']}{' wrong' if verdict == 'wrong' else ''} | {' | '.join(cells)} |\n"

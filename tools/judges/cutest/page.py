"""The page docs/judges/cutest.md: a row for each problem, and medians by size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

PAGE: Final = Path(__file__).parents[3] / "docs" / "judges" / "cutest.md"
_EXPLAINED: Final = {
    "DALLASS": "at its start the argument of an arcsine is 1 - 3e-6: the exact second derivative is 2821.09, JAX's is "
    "2814.19, ours 2814.18",
    "A0NNDNDL": "with 16 GB: the program that JAX makes of it has a dense matrix of several GB as a constant",
    "EXTROSNBNE": "it is JAX's compiler that takes so long",
    "GENROSEBNE": "it is JAX's compiler that takes so long",
    "GENROSENE": "it is JAX's compiler that takes so long",
}
_SIZES: Final = ((1, 9), (10, 99), (100, 999), (1000, 10**9))
_FIGURES: Final = ("compile", "call", "compile_hessian", "call_hessian")


def page(rows: Sequence[tuple[str, dict[str, Any]]], drawn: str, is_noisy: bool = False) -> str:
    """The text of the page.   rows: verdict and results of the worker; drawn: which problems these are"""
    text = _INTRODUCTION.format(drawn=drawn, sif2jax=version("sif2jax"), jax=version("jax"))
    text += _NOISE if is_noisy else ""
    done = [found for _, found in rows if "errors" in found]
    right = sum(one == "right" for one, _ in rows)
    text += (
        f"\n{right} of {len(rows)} problems are right, {len(done)} are imported.\n\n{_headline(done)}{_patterns(done)}"
    )
    text += "\n| variables | problems | " + " | ".join(_NAMES) + " |\n|---|---:|" + "---:|" * len(_NAMES) + "\n"
    for least, most in (*_SIZES, (1, 10**9)):
        group = [found for found in done if least <= found["n"] <= most]
        if group:
            label = "all" if (least, most) == (1, 10**9) else f"{least} to {most}" if most < 10**9 else f"from {least}"
            cells = [_median([r for f in group if (r := ratio(f)) is not None]) for ratio in _RATIOS]
            text += f"| {label} | {len(group)} | {' | '.join(cells)} |\n"
    text += _HEAD + "".join(_row(one, found) for one, found in rows if "errors" in found)
    wrong = [f"- {found['name']}: {_EXPLAINED.get(found['name'], 'not looked into')}\n" for one, found in rows
             if one == "wrong"]  # fmt: skip
    text += "\n## Differences\n\n" + "".join(wrong) if wrong else ""
    failed = [f"- {found['name']}: {_reason(found)}\n" for _, found in rows if "failed" in found]
    return text + ("\n## Without a result\n\n" + "".join(failed) if failed else "")


def _reason(found: dict[str, Any]) -> str:
    """The reason of a missing result, with its explanation if it has one."""
    told = found["failed"].strip(": ")
    return f"{told}; {_EXPLAINED[found['name']]}" if found["name"] in _EXPLAINED else told


def _of_jax(key: str) -> Callable[[dict[str, Any]], float | None]:
    return lambda found: found["theirs"][key] / found["ours"][key] if key in found["theirs"] else None


def _of_asdex(key: str, ours: str) -> Callable[[dict[str, Any]], float | None]:
    return lambda found: found["asdex"][key] / found["ours"][ours] if key in found.get("asdex", {}) else None


_RATIOS: Final = (
    *map(_of_jax, _FIGURES),
    _of_asdex("asdex_compile_hessian", "compile_hessian"),
    _of_asdex("asdex_hessian", "call_hessian"),
)


def _median(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.2f}" if ratios else ""


def _headline(done: Sequence[dict[str, Any]]) -> str:
    """The two aims of the comparison, with their figures."""
    calls, compiles = (
        [r for f in done if (r := _of_jax(key)(f)) is not None] for key in ("call_hessian", "compile_hessian")
    )
    if not calls:
        return ""
    call, compiled = median(calls), median(compiles)
    return (
        f"Aims: the sparse Hessian 10 times as fast as `jax.hessian` in the median: {call:.2f} times, "
        f"{'met' if call >= 10 else 'missed'}. A median compile time below JAX's: {1 / compiled:.2f} of JAX's, "
        f"{'met' if compiled > 1 else 'missed'}{'' if compiled > 1 else WHY}.\n"
    )


WHY: Final = ", because passes and texts in Python take three fifths of the time of a small program, and LLVM the rest"


def _patterns(done: Sequence[dict[str, Any]]) -> str:
    """How the sparsity patterns compare with asdex's."""
    text = ""
    for name, label in (("hessian", "Hessians"), ("jacobian", "Jacobians")):
        known = [f for f in done if "asdex" in f.get("patterns", {}).get(name, {})]
        if known:
            fewer = sum(f["patterns"][name]["ours"] < f["patterns"][name]["asdex"] for f in known)
            more = [f["name"] for f in known if f["patterns"][name]["extra"]]
            true = sum(f["patterns"][name]["ours"] == f["patterns"][name].get("true") for f in known)
            text += (
                f"{label}: of {len(known)} patterns, {true} are those of the values, {fewer} have fewer entries than "
            )
            text += f"asdex's, {len(more)} entries that asdex's lack{': ' + ', '.join(more) if more else ''}.\n"
    failed = [f["name"] for f in done if any("failed" in one for one in f.get("patterns", {}).values())]
    return "\n" + text + (f"asdex has no pattern of {', '.join(failed)}.\n" if failed else "") if text else ""


_NAMES: Final = (
    "compile value + gradient",
    "value + gradient",
    "compile Hessian",
    "Hessian",
    "asdex: compile Hessian",
    "asdex: Hessian",
)
_NOISE: Final = (
    "- Times of this page were taken on a machine with other work: they are no evidence of small differences.\n"
)
_INTRODUCTION: Final = """# CUTEst, compared with JAX

Written by `python -m tools.judges cutest --page`. Problems of [CUTEst](https://github.com/ralna/CUTEst), as
[sif2jax](https://github.com/johannahaffner/sif2jax) {sif2jax} writes them in JAX: {drawn}.
`from_jax` imports objective and constraints, `aot.nlp` makes their sparse derivatives. The reference is JAX {jax}.

- error: the largest of the differences of value, constraints, gradient, Jacobian of the constraints and Hessian of the
  Lagrangian, at the start and at two random points (not where value or gradient is infinite or nan), each relative
  to the largest element; 1e-8 is allowed. From 2001 variables on, products of Jacobian and Hessian with three
  random vectors are compared, and JAX has no dense Hessian.
- entries: stored entries of the lower triangle of the Hessian, and of the Jacobian; asdex: those of
  [asdex](https://github.com/adrhill/asdex), which detects patterns by tracing JAX. All elements that are not zero,
  beyond rounding, at one of the points must be stored.
- Both differentiate the Lagrangian f + λ·g with fixed random λ. Hessians are dense in JAX, by `jax.hessian`, and the
  sparse lower triangle in aotensor. Times of a call are the shortest of many averages on fixed buffers, on one core;
  compile times are processor seconds from the Python function to a program that can be called.
- The first table has the medians of JAX's or asdex's time divided by aotensor's: more than 1 means that aotensor is
  faster.
"""
_HEAD: Final = (
    "\n| problem | n | m | entries | asdex | Jacobian entries | asdex | error | compile s | JAX | µs | JAX "
    "| compile Hessian s | JAX | Hessian µs | JAX | asdex |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
)


def _row(verdict: str, found: dict[str, Any]) -> str:
    cells = [str(found["n"]), str(found["m"])]
    for name in ("hessian", "jacobian"):
        pattern = found.get("patterns", {}).get(name, {})
        cells += [str(pattern.get(side, "")) for side in ("ours", "asdex")]
    cells[2] = str(found["ours"]["entries"])
    cells.append(f"{max(found['errors'].values()):.0e}")
    for key in _FIGURES:
        scale, form = (1.0, ".2f") if key.startswith("compile") else (1e6, ".3g")
        cells += [format(scale * x, form) if (x := found[side].get(key)) else "" for side in ("ours", "theirs")]
    cells.append(f"{1e6 * x:.3g}" if (x := found.get("asdex", {}).get("asdex_hessian")) else "")
    return f"| {found['name']}{' wrong' if verdict == 'wrong' else ''} | {' | '.join(cells)} |\n"

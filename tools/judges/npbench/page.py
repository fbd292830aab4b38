"""docs/judges/npbench.md: a row for each kernel and size, with geometric means and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from math import exp, log
from pathlib import Path
from typing import Any, Final

from tools.judges.npbench.kernels import KERNELS

PAGE: Final = Path(__file__).parents[3] / "docs" / "judges" / "npbench.md"
PEERS: Final = {"numpy": "NumPy", "jax": "JAX", "numba": "Numba", "dace": "DaCe"}

_INTRODUCTION: Final = """# NPBench, compared with NumPy and JAX

Written by `python -m tools.judges npbench --data FOLDER --page`, where FOLDER is a checkout of
[NPBench](https://github.com/spcl/npbench). Its kernels are written anew with `aotensor.tensor`; data, sizes and dtypes
are NPBench's. Versions: {versions}.

- error: the largest difference from the NumPy version, relative to the largest element of each result; 1e-9 is
  allowed, and 2e-5 for float32, or ten times as much as NumPy's own results change where inputs change by up to two
  units in the last place (in brackets).
- gradient: of the sum of all floating results, real and imaginary parts, by all arrays of floats; error against
  the gradient of the JAX version, relative to the largest element or to cost / Σ\\|x\\|; *differences*: against
  differences of the NumPy version along a direction, or a complex step, where JAX has no gradient.
- Times are the shortest of many calls, all programs on one core; NumPy's and JAX's time divided by aotensor's: more
  than 1 means that aotensor is faster. In JAX and aotensor arrays and NumPy's scalars are inputs, Python's numbers
  constants, so that loops have known lengths. Of two JAX versions the faster one counts. compile: processor seconds.
{noise}
"""
_NOISE: Final = (
    "- Times of this page were taken on a machine with other work, in several runs: they are no evidence until it is\n"
    "  written again."
)
_HEAD: Final = (
    "\n| kernel | error | compile s | ms | {peers} | gradient error | compile s | ms | JAX |\n"
    "|---|---:|---:|---:|{rule}---:|---:|---:|---:|\n"
)


def page(rows: Sequence[tuple[str, dict[str, Any]]], is_noisy: bool = False) -> str:
    """The text of the page.   rows: verdict and results of the worker"""
    peers = [name for name in PEERS if any(name in found for _, found in rows)]
    shown = {name: _version(name) for name in peers}
    for _, found in rows:
        if "dace" in found:
            shown["dace"] = found["dace"]["version"]
    versions = ", ".join(f"{name} {found}" for name, found in shown.items() if found)
    text = _INTRODUCTION.format(versions=versions, noise=_NOISE if is_noisy else "").rstrip() + "\n"
    if "dace" in peers:
        text += (
            "- DaCe: its `auto_optimize` for CPUs, on one core and without a BLAS library: its products are loops.\n"
        )
    peers = [name for name in PEERS if name in ("numpy", "jax") or name in peers]
    for size in dict.fromkeys(found["size"] for _, found in rows):
        group = [(one, found) for one, found in rows if found["size"] == size]
        text += f"\n## Size {size}\n\n{_summary(group)}"
        if len(group) < len(KERNELS):
            text += f"{len(group)} of the {len(KERNELS)} kernels have been run at this size.\n"
        for name in peers[2:]:
            count = sum(name in f or f"{name}_failed" in f for _, f in group)
            if count < len(group):
                text += f"{PEERS[name]} has been run on {count} of these kernels.\n"
        text += _aims([found for _, found in group]) if len(group) == len(KERNELS) else ""
        text += _HEAD.format(peers=" | ".join(PEERS[name] for name in peers), rule="---:|" * len(peers))
        text += "".join(_row(one, found, peers) for one, found in group)
    return text + _reasons(rows)


def _summary(rows: Sequence[tuple[str, dict[str, Any]]]) -> str:
    counts = {key: sum(one == key for one, _ in rows) for key in ("right", "wrong", "refused")}
    text = f"{len(rows)} kernels: " + ", ".join(f"{count} {key}" for key, count in counts.items()) + ".\n"
    for peer, label in PEERS.items():
        text += _mean(label, "values", [f[peer]["call"] / f["ours"]["call"] for _, f in rows if peer in f])
    done = [f for _, f in rows if "gradient" in f.get("jax", {}) and "gradient" in f["ours"]]
    return text + _mean("JAX", "gradients", [f["jax"]["gradient"] / f["ours"]["gradient"] for f in done])


def _aims(rows: Sequence[dict[str, Any]]) -> str:
    """The aims of the comparison with JAX, and the kernels that are behind."""
    ratios = {f["name"]: f["jax"]["call"] / f["ours"]["call"] for f in rows if "jax" in f and "call" in f["ours"]}
    slopes = [f["jax"]["gradient"] / f["ours"]["gradient"] for f in rows if "gradient" in f.get("jax", {})]
    if not ratios or not slopes:
        return ""
    faster, mean = sum(ratio > 1 for ratio in ratios.values()), exp(sum(map(log, slopes)) / len(slopes))
    behind = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items() if ratio <= 1)
    return (
        f"\nAims: faster than JAX on 50 kernels: {faster}, {'met' if faster >= 50 else 'missed'}"
        f"{f' (behind: {behind})' if behind else ''}. Gradients 20 times as fast as JAX's in the geometric mean: "
        f"{mean:.2f}, {'met' if mean >= 20 else 'missed'}.\n"
    )


def _mean(label: str, what: str, ratios: Sequence[float]) -> str:
    if not ratios:
        return ""
    mean = exp(sum(map(log, ratios)) / len(ratios))
    faster = sum(ratio > 1 for ratio in ratios)
    return f"{label}, {what}: faster than {label} on {faster} of {len(ratios)}, {mean:.2f} in the geometric mean.\n"


def _row(verdict: str, found: dict[str, Any], peers: Sequence[str]) -> str:
    start = f"| {found['name']}{'' if verdict == 'right' else f' **{verdict}**'} |"
    if "failed" in found:
        return start + " |" * (7 + len(peers)) + "\n"
    ours = found["ours"]
    cells = [_error(found, "error", "rounding"), f"{ours['compile']:.2f}", f"{1e3 * ours['call']:.3g}"]
    cells += [_ratio(found, peer, "call") for peer in peers]
    if "gradient" not in ours:
        return f"{start} {' | '.join(cells)} |" + " |" * 4 + "\n"
    if "error_gradient" in found:
        cells.append(_error(found, "error_gradient", "rounding_gradient"))
    else:
        cells.append(f"differences {_error(found, 'error_differences', 'rounding_gradient')}")
    cells += [f"{ours['compile_gradient']:.2f}", f"{1e3 * ours['gradient']:.3g}", _ratio(found, "jax", "gradient")]
    return f"{start} {' | '.join(cells)} |\n"


def _error(found: dict[str, Any], key: str, rounding: str) -> str:
    return f"{found[key]:.0e}" + (f" ({found[rounding]:.0e})" if rounding in found else "")


def _ratio(found: dict[str, Any], peer: str, key: str) -> str:
    theirs = found.get(peer, {})
    return f"{theirs[key] / found['ours'][key]:.2f}" if key in theirs else ""


def _reasons(rows: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """The reasons of refusals and of failures of peers, by the first size with each."""
    text = ""
    for title, key in (
        ("Refused by aotensor", "failed"),
        ("Gradients refused by aotensor", "failed_gradient"),
        ("JAX versions that fail", "jax_failed"),
        ("Gradients that JAX does not have", "jax_gradient_failed"),
        ("Numba versions that fail", "numba_failed"),
        ("DaCe versions that fail", "dace_failed"),
    ):
        found = {one["name"]: one[key] for _, one in reversed(rows) if key in one}
        if found:
            text += f"\n## {title}\n\n" + "".join(f"- {name}: {found[name]}\n" for name in sorted(found))
    notes = sorted({one["name"] for _, one in rows if KERNELS[one["name"]].note})
    return text + ("\n## Notes\n\n" + "".join(f"- {name}: {KERNELS[name].note}.\n" for name in notes) if notes else "")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""

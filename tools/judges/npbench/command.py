"""Run kernels, judge them, and write the page."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from tools.judges.npbench.kernels import KERNELS
from tools.judges.npbench.page import PAGE, page
from tools.judges.npbench.worker import BY_DIFFERENCES
from tools.judges.origin import write_page
from tools.judges.workers import run as run_worker

CLOSE_DACE: Final = 1e-6
"""How much DaCe's values may differ: where more, its version computes something else."""
ROUNDING: Final = 10
"""How many times as much as results change by rounding of the inputs they may differ."""


def verdict(name: str, found: dict[str, Any]) -> str:
    """right, wrong, or refused: of the values and, where there is one, of the gradient."""
    if "failed" in found:
        return "refused"
    close = KERNELS[name].close
    allowed = max(close, ROUNDING * found.get("rounding", 0.0))
    by_rounding = ROUNDING * found.get("rounding_gradient", 0.0)
    is_right = (
        found["error"] <= allowed
        and found.get("error_gradient", 0.0) <= max(close, by_rounding)
        and found.get("error_differences", 0.0) <= max(BY_DIFFERENCES, by_rounding)
    )
    if not is_right:
        return "wrong"
    return "refused" if "failed_gradient" in found else "right"


def run(options: argparse.Namespace) -> int:
    """Run the selected kernels; returns 1 if one is wrong."""
    names = options.only.split(",") if options.only else list(KERNELS)
    if unknown := sorted(set(names) - set(KERNELS)):
        raise SystemExit(f"there is no kernel {', '.join(unknown)}: there are {', '.join(KERNELS)}")
    kept = options.results.read_text(encoding="utf-8").splitlines() if _exists(options.results) else []
    known = {(found["name"], found["size"]): found for found in map(json.loads, kept)}
    rows = []
    for size in options.sizes.split(","):
        for name in names:
            found = known.get((name, size))
            if found is None and options.kept:
                continue
            if found is None:
                arguments = [str(options.data.resolve()), name, size, options.peers]
                found = run_worker("tools.judges.npbench.worker", arguments, options.seconds)
                found = {"name": name, "size": size, **found, **(_by_dace(options, name, size) if options.dace else {})}
                if options.results is not None:
                    with options.results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(found) + "\n")
            rows.append((verdict(name, found), found))
            if not options.json:
                sys.stdout.write(_line(*rows[-1]) + "\n")
                sys.stdout.flush()
    counts = {key: sum(one == key for one, _ in rows) for key in ("right", "wrong", "refused")}
    if options.json:
        sys.stdout.write(json.dumps([{"verdict": one, **found} for one, found in rows], indent=1) + "\n")
    else:
        sys.stdout.write(", ".join(f"{count} {key}" for key, count in counts.items()) + "\n")
    if options.page:
        PAGE.parent.mkdir(exist_ok=True)
        write_page(PAGE, page(rows, options.noisy))
    return 1 if counts["wrong"] else 0


def _by_dace(options: argparse.Namespace, name: str, size: str) -> dict[str, Any]:
    """DaCe's facts, or the reason why there are none."""
    arguments = [str(options.data.resolve()), name, size]
    made = run_worker("tools.judges.npbench.dace_worker", arguments, options.seconds, python=str(options.dace))
    if "failed" in made:
        return {"dace_failed": made["failed"]}
    if not made["error"] <= max(CLOSE_DACE, KERNELS[name].close):
        return {"dace_failed": f"its values differ from NumPy's by {made['error']:.0e}"}
    return {"dace": made}


def _exists(path: Path | None) -> bool:
    return path is not None and path.exists()


def _line(one: str, found: dict[str, Any]) -> str:
    start = f"{found['name']} {found['size']}: {one}"
    if "failed" in found:
        return f"{start}: {found['failed']}"
    ours = found["ours"]
    text = f"{start}: error {found['error']:.0e}, {1e3 * ours['call']:.3g} ms, compiled in {ours['compile']:.2f} s"
    for peer in ("numpy", "jax", "numba", "dace"):
        if peer in found:
            text += f", {peer} {found[peer]['call'] / ours['call']:.2f}"
    if "failed_gradient" in found:
        return f"{text}; gradient refused: {found['failed_gradient']}"
    if "gradient" in ours:
        error = found.get("error_gradient", found.get("error_differences"))
        text += f"; gradient: error {error:.0e}, {1e3 * ours['gradient']:.3g} ms"
        if "gradient" in found.get("jax", {}):
            text += f", jax {found['jax']['gradient'] / ours['gradient']:.2f}"
    return text

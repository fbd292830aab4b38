"""The output of `aotensor diff`, as tables and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aotensor.api.cost.inputs import dims_text
from aotensor.graph.passes.remarks import Remark
from aotensor_cli.comparing.manifests import Fact, Pair
from aotensor_cli.comparing.measure import Measurements
from aotensor_cli.comparing.sides import Side
from aotensor_cli.terminal.render import show, show_table, time_text
from aotensor_runtime.notebook.html import clipped

_MOST_DECISIONS: Final = 20
"""Of one function, in the text."""
_LONGEST_CELL: Final = 60
"""Characters of a list, in the text."""


@dataclass
class Comparison:
    """The two sides and all differences.   found: by the name of the old function

    notes: what could not be compared, and why. slow: functions slower than allowed, one sentence each
    """

    old: Side
    new: Side
    facts: list[Fact]
    pairs: list[Pair]
    found: dict[str, Measurements]
    notes: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)

    @property
    def only(self) -> tuple[list[str], list[str]]:
        """Names of functions that only one side has."""
        old, new = {pair.old.name for pair in self.pairs}, {pair.new.name for pair in self.pairs}
        return [x for x in self.old.names if x not in old], [x for x in self.new.names if x not in new]

    @property
    def is_same_signatures(self) -> bool:
        """Has the new side every function of the old one, with the same inputs and outputs?"""
        return not self.only[0] and all(pair.is_same_signature for pair in self.pairs)

    @property
    def is_same_values(self) -> bool | None:
        """Are all values within their tolerances? None if none were compared."""
        judged = [found for found in self.found.values() if found.is_judged]
        return all(found.is_same for found in judged) if judged else None

    @property
    def is_ok(self) -> bool:
        """Is the exit code 0: are signatures and values equal, and is nothing slower than allowed?"""
        return self.is_same_signatures and self.is_same_values is not False and not self.slow

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON values, in the schema of docs/diff.md."""
        return {
            "ok": self.is_ok,
            "signatures": self.is_same_signatures,
            "values": self.is_same_values,
            "slow": self.slow,
            "notes": self.notes,
            "old": self.old.label,
            "new": self.new.label,
            "library": [fact.to_json() for fact in self.facts],
            "only_old": self.only[0],
            "only_new": self.only[1],
            "functions": [_pair_json(pair, self.found.get(pair.old.name, Measurements())) for pair in self.pairs],
        }

    def show(self) -> None:
        """Print the differences, and one line for everything that is equal."""
        changed = [fact for fact in self.facts if not fact.is_same]
        rows = [("library", self.old.label, self.new.label), *map(_row, changed)]
        show_table(("", "old", "new"), rows, wrap=sys.stdout.isatty())
        same = [fact.what for fact in self.facts if fact.is_same]
        if same:
            show(f"the same: {', '.join(same)}")
        for names, which in zip(self.only, ("old", "new"), strict=True):
            if names:
                show(f"\nonly the {which} one has {', '.join(names)}")
        for pair in self.pairs:
            _show_pair(pair, self.found.get(pair.old.name, Measurements()))
        for note in self.notes:
            show(f"\nnote: {note}")
        show(f"\n{self.summary}")

    @property
    def summary(self) -> str:
        """The result in one sentence."""
        said = [f"signatures {'are the same' if self.is_same_signatures else 'differ'}"]
        values = {None: "values were not compared", True: "values agree", False: "values differ"}
        said += [values[self.is_same_values], *self.slow]
        return "; ".join(said)


def _pair_json(pair: Pair, found: Measurements) -> dict[str, Any]:
    gone, new = pair.decisions or ([], [])
    return {
        "name": pair.old.name,
        "new_name": pair.new.name,
        "signature": pair.is_same_signature,
        "facts": [fact.to_json() for fact in pair.facts],
        "decisions": None
        if pair.decisions is None
        else {"gone": [x.to_json() for x in gone], "new": [x.to_json() for x in new]},
        "not_called": pair.obstacle,
        "failure": found.failure,
        "values": found.values,
        "work": [{"dims": x["dims"], "old": x["rows"][0], "new": x["rows"][1]} for x in found.work],
        "times": [{"dims": x["dims"], **x["rows"][0]} for x in found.times],
    }


def _row(fact: Fact) -> tuple[str, str, str]:
    old, new = (text if fact.what == "signature" else clipped(text, _LONGEST_CELL) for text in (fact.old, fact.new))
    return fact.what, old, new if fact.change is None else f"{new} ({100 * fact.change:+.1f} %)"


def _show_pair(pair: Pair, found: Measurements) -> None:
    is_same = pair.is_same_signature
    show(f"\n{pair.name}: {'the same signature' if is_same else 'the signature differs'}")
    changed = [fact for fact in pair.facts if not fact.is_same and (fact.what != "signature" or not is_same)]
    rows = [(f"  {what}", *rest) for what, *rest in [*map(_row, changed), *_work_rows(found)]]
    if rows:
        show_table(("", "old", "new"), rows, wrap=sys.stdout.isatty())
    if pair.obstacle is not None:
        show(f"  not called: {pair.obstacle}")
    if found.failure is not None:
        show(f"  {found.failure}")
    if found.values:
        headers: tuple[str, ...] = ("  values on", "output", "differ", "ulp", "of largest", "")
        show_table(headers, _value_rows(found), wrap=sys.stdout.isatty())
    if found.times:
        headers = ("  time on", "old", "new", "new / old", "95 % interval", "")
        show_table(headers, [_time_row(x) for x in found.times], wrap=sys.stdout.isatty())
    if pair.decisions is not None:
        _show_decisions(*pair.decisions)


def _work_rows(found: Measurements) -> list[tuple[str, str, str]]:
    """Rows of operation counts and workspace bytes that differ at the sizes of the calls."""
    rows = []
    for x in found.work:
        old, new = x["rows"]
        for what, unit in (("flops", "flops"), ("workspace", "workspace, bytes")):
            if old[what] != new[what]:
                cells = ["unknown" if n is None else f"{n:.0f}" for n in (old[what], new[what])]
                rows.append((f"{unit} at {_at(x)}", cells[0], cells[1]))
    return rows


def _at(row: dict[str, Any]) -> str:
    return dims_text(row["dims"]) or "known sizes"


def _value_rows(found: Measurements) -> list[tuple[str, ...]]:
    """A row for each output; the test vectors of one library are summarised in one row."""
    rows: list[tuple[str, ...]] = []
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for x in found.values:
        where = _at(x) if x["source"] == "seeded" else f"{x['source'].replace('vector', 'test vectors')}"
        if x["problem"]:
            rows.append((f"  {where}", "", "", "", "", x["problem"]))
        for row in x["rows"]:
            groups.setdefault((where, row["output"]), []).append(row)
    for (where, output), group in groups.items():
        different, elements = (sum(x[key] for x in group) for key in ("different", "elements"))
        ulp, relative = ([x[key] for x in group] for key in ("ulp", "relative"))
        problem = next((x["problem"] for x in group if x["problem"]), None)
        rows.append((
            f"  {where}", output, f"{different} of {elements}",
            "-" if None in ulp else str(max(ulp)), "-" if None in relative else f"{max(relative):.1e}",
            f"BEYOND THE TOLERANCE: {problem}" if problem else "agree" if different else "equal",
        ))  # fmt: skip
    return rows


def _time_row(found: dict[str, Any]) -> tuple[str, ...]:
    x = found["rows"][0]
    return (
        f"  {_at(found)}", time_text(x["old"]), time_text(x["new"]), f"{x['ratio']:.3f}",
        f"{x['low']:.3f} to {x['high']:.3f}", x["verdict"],
    )  # fmt: skip


def _show_decisions(gone: Sequence[Remark], new: Sequence[Remark]) -> None:
    rows = [("-", x) for x in gone] + [("+", x) for x in new]
    if not rows:
        show("  decisions: the same")
        return
    rows.sort(key=lambda row: (row[1].file, row[1].line))
    show(f"  decisions: {len(gone)} only in the old one (-), {len(new)} only in the new one (+)")
    for mark, x in rows[:_MOST_DECISIONS]:
        show(f"    {mark} {x}")
    if len(rows) > _MOST_DECISIONS:
        show(f"    and {len(rows) - _MOST_DECISIONS} more: --json has all of them")

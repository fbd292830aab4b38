"""The output of `aotensor profile --json`: measured time by line, for pages and exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aotensor.api.cost.inputs import dims_text
from aotensor_cli.options import Refusal
from aotensor_cli.page.measurements import number, positive, read_output, whole

_HINT: Final = "write one by: aotensor profile MODEL --json > profile.json"


@dataclass(frozen=True)
class MeasuredLine:
    """A line of the model with its time, or a part of a call outside of lines (line 0).

    where: `model.py:8`, or the name of another part. share: of the time, the sum of forward and derivative.
    rates: bytes and operations per second, None where not known. bound: the limit that it reaches the part
    `of_limit` of. kernels: kernel or library → its share.
    """

    file: str
    line: int
    where: str
    share: float
    forward: float
    derivative: float
    seconds: float
    rates: tuple[float | None, float | None]
    bound: str
    of_limit: float | None
    kernels: dict[str, float]


@dataclass(frozen=True)
class MeasuredLines:
    """The profile of one function.   seconds: of a call. samples: number of samples, 0 if not known"""

    function: str
    sizes: dict[str, int]
    threads: int
    seconds: float
    samples: int
    rows: list[MeasuredLine]

    @property
    def sizes_text(self) -> str:
        """`n=1000, p=100`, "" for a function without dims."""
        return dims_text(self.sizes)

    def to_json(self) -> dict[str, Any]:
        """As values for the script of a page."""
        return {**vars(self), "sizes": self.sizes_text, "rows": [vars(row) for row in self.rows]}


def read_profiles(path: Path) -> list[MeasuredLines]:
    """The profiles in a file, one for each function.   Raises: Refusal if it is not output of `profile --json`"""
    found = read_output(path, "profile", "profiles", _profile)
    if not found:
        raise Refusal(f"{path}: the file contains no profile", _HINT)
    return found


def select_profiles(profiles: Sequence[MeasuredLines], names: Sequence[str]) -> list[MeasuredLines]:
    """The profiles of some functions.   Raises: Refusal if there are profiles, but none of these functions"""
    found = [x for x in profiles if x.function in names]
    if profiles and not found:
        raise Refusal(f"the profile was made for {profiles[0].function}, not for {', '.join(names)}")
    return found


def _profile(tree: dict[str, Any]) -> MeasuredLines:
    sizes = {str(name): whole(n) for name, n in tree["sizes"].items()}
    rows = sorted((_line(row) for row in tree["rows"]), key=lambda row: -row.share)
    seconds = positive(tree["seconds"])
    return MeasuredLines(str(tree["function"]), sizes, whole(tree["threads"]), seconds, whole(tree["samples"]), rows)


def _line(tree: dict[str, Any]) -> MeasuredLine:
    rates = [None if tree[key] is None else number(tree[key]) for key in ("bytes_per_second", "flops_per_second")]
    of_limit = tree["share_of_limit"]
    return MeasuredLine(
        str(tree["file"]), whole(tree["line"]), str(tree["name"]), _part(tree["share"]), _part(tree["forward"]),
        _part(tree["derivative"]), number(tree["seconds"]), (rates[0], rates[1]), str(tree["bound"]),
        None if of_limit is None else number(of_limit),
        {str(name): _part(share) for name, share in tree["kernels"].items()},
    )  # fmt: skip


def _part(x: Any) -> float:
    """Raises: ValueError for a number that is not from 0 to 1, apart from rounding"""
    if number(x) > 1 + 1e-6:
        raise ValueError("a share must be at most 1")
    return float(x)

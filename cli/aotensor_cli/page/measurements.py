"""Read the output of `aotensor bench --json`: times of functions, and limits of the machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from aotensor_cli.options import Refusal

_T = TypeVar("_T")


@dataclass(frozen=True)
class Row:
    """A function at given sizes and number of threads.   seconds: the median of a call; flops: None if not known

    bandwidth, peak: bytes and operations per second that the machine does, None if they were not measured.
    """

    function: str
    sizes: dict[str, int]
    threads: int
    seconds: float
    bytes: float
    flops: float | None
    bandwidth: float | None
    peak: float | None


def read_bench(path: Path) -> list[Row]:
    """The rows of a file.   Raises: Refusal if it is not output of `bench --json`"""
    rows = read_output(path, "bench", "rows", _row)
    if not rows:
        raise Refusal(f"{path}: the file contains no measurement")
    return rows


def read_output(path: Path, command: str, key: str, read: Callable[[Any], _T]) -> list[_T]:
    """The rows that a command wrote with --json, each converted by `read`.   key: of the rows

    Raises: Refusal if the file cannot be read, or is not output of the command
    """
    try:
        return [read(one) for one in json.loads(path.read_bytes())[key]]
    except OSError as error:
        raise Refusal(f"{path}: cannot be read ({(error.strerror or str(error)).lower()})") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = f"write one by: aotensor {command} MODEL --json > {command}.json"
        raise Refusal(f"{path}: this is not output of aotensor {command} --json", hint) from error


def _row(tree: dict[str, Any]) -> Row:
    limits = tree.get("limits") or {}
    sizes = {str(name): whole(n) for name, n in tree["sizes"].items()}
    flops = tree.get("flops")
    peak = [positive(limits[key]) for key in ("flops_per_second", "product_flops_per_second") if limits.get(key)]
    bandwidth = limits.get("bytes_per_second")
    return Row(
        str(tree["function"]), sizes, whole(tree["threads"]), positive(tree["seconds"]["median"]),
        float(tree["bytes"]), None if not flops else positive(flops),
        None if bandwidth is None else positive(bandwidth), max(peak, default=None),
    )  # fmt: skip


def positive(x: Any) -> float:
    """A positive number of JSON.   Raises: ValueError for another value"""
    if number(x) <= 0:
        raise ValueError("a number must be positive")
    return float(x)


def number(x: Any) -> float:
    """A number of JSON that is at least 0.   Raises: ValueError for another value"""
    if not isinstance(x, int | float) or isinstance(x, bool) or not isfinite(x) or x < 0:
        raise ValueError("a number must be at least 0")
    return float(x)


def whole(x: Any) -> int:
    """A whole number of JSON that is at least 0.   Raises: ValueError for another value"""
    if not isinstance(x, int) or isinstance(x, bool) or x < 0:
        raise ValueError("a number must be whole")
    return x

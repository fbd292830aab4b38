"""`aotensor bench`: time per call of the functions of a model or a library, compared with the machine's limits."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from aotensor.api.cost.clock import Timing, time_calls
from aotensor.api.cost.inputs import dims_of, dims_text, make_inputs, whole_numbers
from aotensor.api.cost.limits import Limits, measured_limits, streams_over
from aotensor.api.cost.turns import Ratio, in_turns
from aotensor.api.cost.work import bytes_of, flops_of
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor_cli.benching.agreement import difference
from aotensor_cli.benching.inputs import known_dims, parse_sizes
from aotensor_cli.benching.plot import Bar, check_plot, write_plot
from aotensor_cli.model import load_model
from aotensor_cli.options import Exit, Refusal, percent, similar
from aotensor_cli.reading.library import is_library, read_library, refuse_extents, split_name
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, show, show_json, show_table, talk, time_text
from aotensor_runtime import Library, LibraryFunction
from aotensor_runtime.errors import ArgumentError
from aotensor_runtime.systems.limits import MOST_THREADS
from aotensor_runtime.threads import default_threads


@dataclass(frozen=True)
class Row:
    """A function on inputs of given sizes and a number of threads.

    other: the time of the library to compare with. against: the ratio to the library of `--against`.
    """

    function: str
    dims: Mapping[str, int]
    threads: int
    time: Timing
    bytes: int
    flops: float | None
    is_exact: bool
    has_products: bool
    limits: Limits | None
    other: Timing | None = None
    against: Ratio | None = None

    @property
    def share(self) -> float | None:
        """Of the machine's limit: how much of the time is needed at least. What a call reaches is no more than that."""
        if self.limits is None:
            return None
        least = self.limits.least_seconds(self.bytes, self.flops or 0.0, self.has_products)
        return min(least / self.time.median, 1.0)

    @property
    def where(self) -> str:
        """`f at n=1000 on 2 threads`"""
        at = f" at {dims_text(self.dims)}" if self.dims else ""
        return f"{self.function}{at} on {self.threads} thread{'s' * (self.threads > 1)}"

    @property
    def bar(self) -> Bar:
        """The row as a bar of the plot."""
        return Bar(
            f"{self.function} {dims_text(self.dims)}".strip(), self.threads,
            self.time.median, self.time.low, self.time.high,
            None if self.share is None else self.share * self.time.median,
            None if self.other is None else self.other.median,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        limits = self.limits and {
            "bytes_per_second": self.limits.bandwidth, "flops_per_second": self.limits.flops,
            "product_flops_per_second": self.limits.products, "gathers_per_second": self.limits.gathers,
        }  # fmt: skip
        found = {
            "function": self.function, "sizes": dict(self.dims), "threads": self.threads, "seconds": vars(self.time),
            "bytes": self.bytes, "flops": self.flops, "flops_are_all": self.is_exact, "limits": limits,
            "share_of_limit": self.share,
        }  # fmt: skip
        found |= {} if self.other is None else {"compared": vars(self.other)}
        return found if self.against is None else found | {"against": self.against.to_json()}


@dataclass(frozen=True)
class PeerLibraries:
    """Libraries whose calls alternate with ours.   compared, against: by `--compare` and `--against`"""

    compared: Library | None = None
    against: Library | None = None


def run(
    subject: str, sizes: tuple[str, ...], threads: str | None, seconds: float, seed: int, limits: bool,
    compare: Path | None, against: Path | None, slowdown: str | None, plot: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Run `aotensor bench` with the parameters that `commands/bench.py` declares; returns the exit code."""
    if plot is not None:
        check_plot(plot)
    if slowdown is not None and against is None:
        raise Refusal("--max-slowdown needs --against", "add --against OLD.so, the library to compare with")
    most = percent("--max-slowdown", slowdown or "5%")
    library = _library(subject)
    counts = _threads(threads)
    others = PeerLibraries(*(None if path is None else _loaded(path) for path in (compare, against)))
    wanted = [parse_sizes(text) for text in sizes] or [{}]
    chosen = _chosen(library, subject)
    dims = known_dims([f.spec for f in chosen], wanted)
    found: dict[int, Limits] = {}
    if limits:
        with progress("measuring the machine"), without_remarks():
            found = measured_limits(counts, 0.2)
    rows: list[Row] = []
    for f in chosen:
        for one in wanted:
            sizes_of_f = {name: n for name, n in one.items() if name in dims[f.spec.name]}
            with progress(f"running {f.spec.name}"):
                measured = _measured(library, f, sizes_of_f, counts, seconds, seed, found, others)
            if measured is None:
                return Exit.WRONG
            rows += measured
    if plot is not None:
        write_plot(plot, [row.bar for row in rows])
    slow = [text for row in rows if row.against and (text := row.against.slowness(row.where, most))]
    if as_json:
        show_json({"rows": [row.to_json() for row in rows], **({"slow": slow} if against else {})})
    else:
        _show(rows, found)
    for text in slow:
        talk(text)
    return Exit.WRONG if slow else Exit.DONE


def _library(subject: str) -> Library:
    path, _ = split_name(subject)
    if is_library(path):
        refuse_extents(path)
        return _loaded(path)
    functions = load_model(subject).functions
    build = Build(list(functions), None, Options())
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        return Library(build.shared)


def _loaded(path: Path) -> Library:
    return Library(read_library(path), path)


def _chosen(library: Library, subject: str) -> list[LibraryFunction]:
    path, name = split_name(subject)
    if not is_library(path):  # of a model, it was made of the chosen ones
        name = None
    names = list(library.functions)
    if name is not None and name not in names:
        raise Refusal(f"there is no function {name}", similar(name, names) or f"it has {', '.join(names)}")
    return [f for key, f in library.functions.items() if name in (None, key)]


def _threads(text: str | None) -> list[int]:
    if text is None:
        return sorted({1, default_threads()})
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 1 <= int(part[:10]) <= MOST_THREADS for part in parts):
        raise Refusal(
            f"--threads {text!r:.100} is not understood", f"write numbers from 1 to {MOST_THREADS}, such as 1,2"
        )
    return list(dict.fromkeys(map(int, parts)))


def _measured(
    library: Library, f: LibraryFunction, sizes: Mapping[str, int], counts: Sequence[int], seconds: float, seed: int,
    limits: Mapping[int, Limits], others: PeerLibraries,
) -> list[Row] | None:  # fmt: skip
    """A row for each number of threads; None if another library gives other values."""
    dims = dims_of(f.spec, sizes)
    inputs = make_inputs(f, dims, seed)
    bound: dict[Any, Any] = {("ours", count): f.bind(**inputs, num_threads=count) for count in counts}
    for call in bound.values():
        call()
    for other in (others.compared, others.against):
        if other is None:
            continue
        if f.spec.name not in other.functions:
            raise Refusal(f"the library to compare with has no function {f.spec.name}")
        calls = {("other", count): _bound(other.functions[f.spec.name], inputs, count) for count in counts}
        problem = difference(bound["ours", counts[0]], calls["other", counts[0]])
        if problem is not None:
            talk(problem)
            return None
        bound |= calls if other is others.compared else {}
    first = bound["ours", counts[0]]
    total = bytes_of([*first.inputs.values(), *first.outputs.values()])
    moved: dict[Any, int] = {}
    for count in limits:  # in turns with the function: other work on the machine slows down both
        for name, (call, size) in streams_over(total, count).items():
            bound[name, count], moved[name, count] = call, size
    times = time_calls(bound, seconds)
    reached = {key: size / times[key].best for key, size in moved.items()}
    found = {
        count: replace(known, bandwidth=max(known.bandwidth, *(reached[name, count] for name in ("stream", "read"))))
        for count, known in limits.items()
    }
    flops, is_exact = flops_of(library, f.spec.name, {**whole_numbers(inputs), **dims})
    has_products = f.spec.calls_blas or bool(f.spec.lapack)
    against = {} if others.against is None else _against(f, others.against, inputs, counts, seconds)
    return [
        Row(
            f.spec.name, dims, count, times["ours", count], total, flops, is_exact, has_products, found.get(count),
            times.get(("other", count)), against.get(count),
        )
        for count in counts
    ]  # fmt: skip


def _bound(f: LibraryFunction, inputs: Mapping[str, Any], count: int) -> Any:
    """The function of another library after one call.   Raises: Refusal if it does not take these inputs"""
    try:
        call = f.bind(**inputs, num_threads=count)
        call()
    except ArgumentError as error:
        title = f"the library to compare with does not take these inputs: {error.diagnostic.title}"
        raise Refusal(title, "see what differs: aotensor diff OLD NEW") from error
    return call


def _against(
    f: LibraryFunction, old: Library, inputs: Mapping[str, Any], counts: Sequence[int], seconds: float
) -> dict[int, Ratio]:
    """Number of threads → times per call of the function and of the old library's function."""
    both = old.functions[f.spec.name], f
    binders = {count: [partial(x.bind, **inputs, num_threads=count) for x in both] for count in counts}
    return {count: in_turns(first, second, seconds) for count, (first, second) in binders.items()}


def _show(rows: Sequence[Row], limits: Mapping[int, Limits]) -> None:
    headers = ["function", "sizes", "threads", "time", "spread", "GB/s", "GFLOP/s", "of limit"]
    headers += ["compared"] if any(row.other for row in rows) else []
    headers += ["to the old one, 95 % interval"] if any(row.against for row in rows) else []
    show_table(headers, [_cells(row) for row in rows], wrap=sys.stdout.isatty())
    for count, found in limits.items():
        rates = f"{found.bandwidth / 1e9:.1f} GB/s, {found.flops / 1e9:.1f} GFLOP/s"
        others = f"{found.products / 1e9:.1f} GFLOP/s in matrix products, {found.gathers / 1e6:.0f} million gathers/s"
        show(f"limit, {count} thread{'s' * (count > 1)}: {rates}; {others}")


def _cells(row: Row) -> list[str]:
    time = row.time
    rate = "-" if row.flops is None else f"{'' if row.is_exact else '> '}{row.flops / time.median / 1e9:.2f}"
    cells = [
        row.function,
        dims_text(row.dims) or "-",
        str(row.threads),
        time_text(time.median),
        f"{time_text(time.low)} to {time_text(time.high)}",
        f"{row.bytes / time.median / 1e9:.2f}",
        rate,
        "-" if row.share is None else f"{100 * row.share:.0f} %",
    ]
    cells += [] if row.other is None else [f"{row.other.median / time.median:.2f} x as long"]
    return cells if row.against is None else [*cells, f"{row.against.ratio:.3f} ({row.against.range_text})"]

"""Measure how compile time grows with a program: seconds from symbols to the first results, derivatives included.

    python benchmarks/growth.py [--kinds sin,products] [--sizes 2] [--without CasADi]

Each program runs in a separate process, which has imported the framework and compiled a small function. In "first",
aotensor's cache is empty, and the process has compiled nothing; "second" uses the cache that "first" filled with shared
parts of libraries, but not the library itself. JAX has no cache on disk, and CasADi writes C for `cc -O1`. Results
are compared before times are printed: a row whose sums of absolute values differ by more than 1e-6 says so instead.
The growth of a kind is the exponent between its two largest sizes, of clock seconds, "second". Memory is the largest
resident size of the process. With all kinds and sizes, the table is written to benchmarks/results/growth.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from math import isclose, log
from pathlib import Path
from time import perf_counter, process_time
from typing import Final, TypeAlias

from growing.chains import CHAINS, FUNCTION_CHAINS
from growing.contenders import CONTENDERS, Missing, digest
from growing.kind import Kind
from growing.problems import PROBLEMS
from growing.tensors import TENSORS

KINDS: Final = CHAINS | FUNCTION_CHAINS | TENSORS | PROBLEMS
LONGEST: Final = 100.0
"""Seconds that a process may take; a framework that takes more is not asked for longer programs of the kind."""
STEEPEST: Final = 1.2
"""A kind that grows with a larger exponent has a defect."""
RESULTS: Final = Path(__file__).parent / "results" / "growth.md"
HEADER: Final = (
    "| program | size | first, s | second, s | processor, s | JAX, s | processor, s | CasADi, s | second / JAX "
    "| growth | JAX's | MiB | JAX's |\n|---|" + "---:|" * 12
)


@dataclass(frozen=True)
class Figures:
    """What one process measured. seconds: on the clock, processor: of all its cores, with its children."""

    seconds: float
    processor: float
    mebibytes: int
    digest: float


Outcome: TypeAlias = Figures | str
"""A reason instead of figures."""


def measure(contender: str, kind: Kind, size: int, is_warm: bool) -> Figures:
    """The figures of this process."""
    if is_warm:
        CONTENDERS[contender](_SMALL, 1)()
    run = CONTENDERS[contender](kind, size)
    start, clock, before = process_time(), perf_counter(), os.times()
    results = run()
    seconds, processor, after = perf_counter() - clock, process_time() - start, os.times()
    processor += after.children_user + after.children_system - before.children_user - before.children_system
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Figures(seconds, processor, mebibytes, digest(results))


_SMALL: Final = Kind(
    "exp and tanh, to warm up", (1,), lambda x, f, _: [f.tanh(f.exp(-x[0] * x[0]) * os.getpid())], casadi=True
)


def measured(contender: str, name: str, size: int, cache: Path, is_warm: bool = True) -> Outcome:
    """The figures of a process of its own."""
    command = [sys.executable, __file__, "--one", contender, name, str(size), str(int(is_warm))]
    environment = os.environ | {"AOTENSOR_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return f"> {LONGEST:.0f}"
    if done.returncode != 0:
        print(f"{contender}, {name} {size}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return "not installed" if "ModuleNotFoundError" in done.stderr else "failed"
    figures = json.loads(done.stdout.splitlines()[-1])
    return Figures(**figures) if isinstance(figures, dict) else str(figures)


def rows(names: Sequence[str], count: int | None, without: Sequence[str]) -> Iterator[str]:
    """The rows of the table. count: of sizes of each kind, from the smallest; None for all."""
    for name in names:
        kind = KINDS[name]
        known: dict[str, list[Outcome]] = {}
        sizes = kind.sizes[:count]
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                for one in ("first", *CONTENDERS):
                    contender = "aotensor" if one == "first" else one
                    earlier = known.setdefault(one, [])
                    if contender in without or (earlier and str(earlier[-1]).startswith((">", "-"))):
                        earlier.append("-")
                    else:
                        earlier.append(measured(contender, name, size, Path(folder), is_warm=one != "first"))
            yield _row(name, sizes, known)


def _row(name: str, sizes: Sequence[int], known: dict[str, list[Outcome]]) -> str:
    last = {one: outcomes[-1] for one, outcomes in known.items()}
    digests = [outcome.digest for outcome in last.values() if isinstance(outcome, Figures)]
    if any(not isclose(one, digests[0], rel_tol=1e-6) for one in digests):
        return f"| {KINDS[name].title} (`{name}`) | {sizes[len(known['first']) - 1]} | results differ: {digests} |"
    growth = {one: _growth(sizes, known[one]) for one in ("aotensor", "JAX")}
    ours, theirs = last["aotensor"], last["JAX"]
    ratio = ours.seconds / theirs.seconds if isinstance(ours, Figures) and isinstance(theirs, Figures) else None
    cells = [
        f"{KINDS[name].title} (`{name}`)" if len(known["first"]) == 1 else "",
        str(sizes[len(known["first"]) - 1]),
        *(_seconds(last[one]) for one in ("first", "aotensor")), _seconds(ours, of_processor=True),
        _seconds(theirs), _seconds(theirs, of_processor=True), _seconds(last["CasADi"]),
        "" if ratio is None else f"{ratio:.2f}" if ratio <= 1 else f"**{ratio:.2f}**",
        *growth.values(), *(str(one.mebibytes) if isinstance(one, Figures) else "" for one in (ours, theirs)),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _seconds(outcome: Outcome, of_processor: bool = False) -> str:
    if isinstance(outcome, str):
        return outcome
    return f"{outcome.processor if of_processor else outcome.seconds:.2f}"


def _growth(sizes: Sequence[int], outcomes: Sequence[Outcome]) -> str:
    """The exponent between the two largest sizes, once these are known."""
    if len(outcomes) < max(len(sizes), 2):
        return ""
    a, b = outcomes[-2:]
    if not (isinstance(a, Figures) and isinstance(b, Figures)):
        return ""
    exponent = log(b.seconds / a.seconds) / log(sizes[-1] / sizes[-2])
    return f"**{exponent:.2f}**" if exponent > STEEPEST else f"{exponent:.2f}"


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: the kinds are {', '.join(KINDS)}")
    return names


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        sys.setrecursionlimit(100_000)
        contender, name, size, is_warm = sys.argv[2:]
        try:
            print(json.dumps(vars(measure(contender, KINDS[name], int(size), is_warm == "1"))))
        except Missing as reason:
            print(json.dumps(str(reason)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=_names, metavar="KIND,...", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--sizes", type=int, metavar="N", help="only the N smallest sizes of each kind")
    parser.add_argument("--without", type=lambda text: text.split(","), default=[], metavar="CONTENDER,...")
    asked = parser.parse_args()
    lines = [HEADER]
    print(HEADER)
    for row in rows(asked.kinds or list(KINDS), asked.sizes, asked.without):
        lines.append(row)
        print(row, flush=True)
    if asked.kinds is None and asked.sizes is None and not asked.without:
        _write("\n".join(lines))


def _write(table: str) -> None:
    """Put the table between the marks of the page, with today's date."""
    before, _, rest = RESULTS.read_text(encoding="utf-8").partition("<!-- growth -->")
    after = rest.partition("<!-- end -->")[2]
    text = f"Measured on {date.today()}.\n\n{table}"
    RESULTS.write_text(f"{before}<!-- growth -->\n{text}\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

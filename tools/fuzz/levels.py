"""Random programs on short vectors, each compiled at every level, on poisoned memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any, Final

from tools.fuzz.campaign import Campaign
from tools.fuzz.child import Child, Death
from tools.fuzz.compare import Finding
from tools.fuzz.draft import drawn_small
from tools.fuzz.graphs import BATCH, WORKER
from tools.fuzz.program import Options, Program, to_json
from tools.fuzz.shrink import program_text, shrunk

import aotensor as aot
import aotensor.tensor as at
from aotensor_runtime.errors import UnsupportedMachine

SECONDS: Final = 1200.0
"""That a batch may take at all levels, on a machine that does other things too."""
LEVELS: Final = (
    Options(0, is_static=True),
    *(Options(3, cpu=f"x86-64-v{k}", is_static=True) for k in (2, 3, 4)),
    Options(3, fp="strict", is_static=True),
    Options(3, cpu="x86-64-v3"),
    Options(3, fp="strict"),
)


@cache
def levels() -> tuple[Options, ...]:
    """The levels whose code this machine runs."""
    return tuple(level for level in LEVELS if _runs(level.cpu))


def _runs(cpu: str) -> bool:
    x = at.scalar("x")
    with tempfile.TemporaryDirectory(prefix="aotensor-fuzz-") as folder:
        try:
            aot.compile(aot.function([x], x, name="probe"), folder, cpu=cpu).load()
        except UnsupportedMachine:
            return False
    return True


def run(campaign: Campaign, is_shrinking: bool = True) -> None:
    """Batches of random programs; what fails at a level is made smaller there and reported."""
    child = Child(WORKER)
    try:
        for seeds in campaign.batches(BATCH):
            programs = [drawn_small(seed) for seed in seeds]
            for finding in _findings(child, programs):
                campaign.add(finding.signature, partial(_report, child, finding, is_shrinking))
    finally:
        child.close()


def _findings(child: Child, programs: Sequence[Program], at: Sequence[Options] = ()) -> list[Finding]:
    """Of each program and kind, the first; of each program alone if the batch ends the process."""
    request = {"levels": [asdict(x) for x in at or levels()], "programs": [to_json(x) for x in programs]}
    answer: Any = child.ask(request, SECONDS)
    if isinstance(answer, Death):
        if len(programs) > 1:
            return [x for one in programs for x in _findings(child, [one], at)]
        return [Finding(programs[0].seed, answer.how, answer.said)]
    found = [Finding(**x) for x in answer]
    return list({(x.seed, x.kind): x for x in reversed(found)}.values())


def _report(child: Child, finding: Finding, is_shrinking: bool) -> str:
    head = f"seed {finding.seed}\n{finding.detail}"
    if not is_shrinking:
        return head
    program = drawn_small(finding.seed)
    for level in _failing(child, finding, program):

        def fails(candidate: Program, level: Options = level) -> bool:
            return any(x.kind == finding.kind for x in _findings(child, [candidate], [level]))

        small = shrunk(replace(program, options=level), fails)
        return f"{head}\n-- smaller:\n{program_text(small)}"
    return head


def _failing(child: Child, finding: Finding, program: Program) -> Iterator[Options]:
    """The levels at which a program fails alone."""
    for level in levels():
        if any(x.kind == finding.kind for x in _findings(child, [program], [level])):
            yield level

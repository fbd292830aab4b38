"""Random programs on short vectors, each compiled at every level, on poisoned memory."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any, Final

from tools.fuzz.campaign import Campaign
from tools.fuzz.child import Child, ChildEnd
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
CPUS: Final = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def levels_of(seed: int) -> list[Options]:
    """The levels of the batch that begins with a seed: at `-O 0`, and at `-O 3` for each CPU that this machine has.

    Each program meets static and named dims, strict and contract; six batches have all their combinations with a CPU.
    The first level has the loop level of one of the others, with static dims.
    """
    number = seed // BATCH
    found = []
    for k, cpu in enumerate(CPUS):
        fp = ("contract", "strict")[(number + k) % 2]
        if can_run(cpu):
            found.append(Options(3, fp, cpu, is_static=k != number % 3))
    static = [x for x in found if x.is_static] or [Options(is_static=True)]
    return [replace(static[number % len(static)], opt_level=0), *found]


@cache
def can_run(cpu: str) -> bool:
    """True if this machine runs code for a CPU."""
    x = at.scalar("x")
    with tempfile.TemporaryDirectory(prefix="aotensor-fuzz-") as folder:
        try:
            aot.compile(aot.function([x], x, name="probe"), folder, cpu=cpu).load()
        except UnsupportedMachine:
            return False
    return True


def run(campaign: Campaign, is_shrinking: bool = True) -> None:
    """Run batches of random programs; programs that fail at a level are shrunk at this level and reported."""
    child = Child(WORKER)
    try:
        for seeds in campaign.batches(BATCH):
            programs = [drawn_small(seed) for seed in seeds]
            levels = levels_of(seeds[0])
            for finding in _findings(child, programs, levels):
                campaign.add(finding.signature, partial(_report, child, finding, levels, is_shrinking))
    finally:
        child.close()


def _findings(child: Child, programs: Sequence[Program], levels: Sequence[Options]) -> list[Finding]:
    """The findings of a batch, the first per program and kind; programs run alone if the batch ends the process."""
    request = {"levels": [asdict(x) for x in levels], "programs": [to_json(x) for x in programs]}
    answer: Any = child.ask(request, SECONDS)
    if isinstance(answer, ChildEnd):
        if len(programs) > 1:
            return [x for one in programs for x in _findings(child, [one], levels)]
        return [Finding(programs[0].seed, answer.how, answer.said)]
    found = [Finding(**x) for x in answer]
    return list({(x.seed, x.kind): x for x in reversed(found)}.values())


def _report(child: Child, finding: Finding, levels: Sequence[Options], is_shrinking: bool) -> str:
    head = f"seed {finding.seed}\n{finding.detail}"
    program = drawn_small(finding.seed)
    for level in levels if is_shrinking else ():

        def fails(candidate: Program, level: Options = level) -> bool:
            return any(x.kind == finding.kind for x in _findings(child, [candidate], [level]))

        if fails(program):
            try:
                return f"{head}\n-- smaller:\n{program_text(shrunk(replace(program, options=level), fails))}"
            except Exception as error:
                return f"{head}\n(no text: {error})"
    return head

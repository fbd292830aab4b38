"""Random programs through the compiler, each batch one library in a process of its own."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any, Final

import numpy as np
from tools.fuzz.campaign import Campaign
from tools.fuzz.child import Child, ChildEnd
from tools.fuzz.compare import Finding
from tools.fuzz.draft import drawn
from tools.fuzz.program import Options, Program, to_json
from tools.fuzz.shrink import program_text, shrunk

BATCH: Final = 16
"""Programs per library."""
SECONDS: Final = 300.0
"""That a batch may take, on a machine that does other things too."""
WORKER: Final = "tools.fuzz.graph_worker"


def options_of(first: int) -> Options:
    """The compile options of the batch that begins with a seed; most have a low optimisation level."""
    rng = np.random.default_rng(first)
    level = int(rng.choice([0, 1, 2, 3], p=[0.6, 0.25, 0.05, 0.1]))
    cpu = str(rng.choice(["host", "x86-64-v3", "generic"], p=[0.7, 0.2, 0.1]))
    fp, is_checked = str(rng.choice(["contract", "strict"], p=[0.8, 0.2])), bool(rng.random() < 0.15)
    return Options(level, fp, cpu, is_checked, bool(rng.random() < 0.5))


def run(campaign: Campaign, is_shrinking: bool = True) -> None:
    """Run batches of random programs; failing programs are shrunk and reported."""
    child = Child(WORKER)
    try:
        for seeds in campaign.batches(BATCH):
            options = options_of(seeds[0])
            for finding in _findings(child, list(seeds), options):
                campaign.add(finding.signature, partial(_report, child, finding, options, is_shrinking))
    finally:
        child.close()


def _findings(child: Child, seeds: list[int], options: Options) -> list[Finding]:
    """The findings of a batch, one per kind and seed; programs run alone if the batch ends the process."""
    answer = child.ask({"seeds": seeds, "options": asdict(options)}, SECONDS)
    if isinstance(answer, ChildEnd):
        if len(seeds) > 1:
            return [x for seed in seeds for x in _findings(child, [seed], options)]
        return [Finding(seeds[0], answer.how, answer.said)]
    found = [Finding(**x) for x in answer]
    return list({(x.seed, x.kind): x for x in reversed(found)}.values())


def _report(child: Child, finding: Finding, options: Options, is_shrinking: bool) -> str:
    head = f"seed {finding.seed}, {options}\n{finding.detail}"
    try:
        program = drawn(finding.seed, options)
    except Exception:
        return head
    if not is_shrinking:
        return head

    def fails(candidate: Program) -> bool:
        return any(x.signature == finding.signature for x in _alone(child, candidate))

    small = shrunk(program, fails) if fails(program) else program
    details = [x.detail for x in _alone(child, small) if x.kind == finding.kind]
    try:
        text = program_text(small)
    except Exception as error:
        text = f"{small}\n(no text: {error})"
    return f"{head}\n-- smaller: {details[:1]}\n{text}"


def _alone(child: Child, program: Program) -> list[Finding]:
    answer: Any = child.ask({"programs": [to_json(program)]}, SECONDS)
    if isinstance(answer, ChildEnd):
        return [Finding(program.seed, answer.how, answer.said)]
    return [Finding(**x) for x in answer]

"""Random programs on short vectors at loop level, lowered and run by MLIR's own tools.

A program that is right here and wrong as machine code is a wrong promise to LLVM, or a fault of LLVM; one that is wrong
here is a wrong pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tools.fuzz.campaign import Campaign
from tools.fuzz.compare import Finding
from tools.fuzz.draft import drawn_small
from tools.fuzz.from_tests import from_tests
from tools.fuzz.graphs import BATCH
from tools.fuzz.levels import CPUS
from tools.fuzz.program import Options, Program, build
from tools.fuzz.sanitizers import arguments_of, dense

from aotensor.driver import recipe
from aotensor.ir.text import text_of


def is_possible() -> bool:
    """True if mlir-opt and mlir-runner are on the path."""
    upstream = from_tests("ir", "upstream")
    return upstream.MLIR_OPT is not None and upstream.MLIR_RUNNER is not None


def run(campaign: Campaign) -> None:
    """Run batches of random programs, for one CPU after the other.   Raises: FileNotFoundError without MLIR's tools"""
    if not is_possible():
        raise FileNotFoundError("mlir-opt and mlir-runner are not on the path: apt-get install mlir-22-tools")
    for seeds in campaign.batches(BATCH):
        options = Options(3, cpu=CPUS[seeds[0] // BATCH % len(CPUS)], is_static=True)
        for finding in findings([dense(drawn_small(seed)) for seed in seeds], options):
            campaign.add(finding.signature, finding.report)


def findings(programs: Sequence[Program], options: Options) -> list[Finding]:
    """Differences between results of the loop level, run by MLIR's tools, and the reference."""
    found = []
    given = recipe.Options(cpu=options.cpu, opt_level=options.opt_level, fp=options.fp, threads=False)
    for program in programs:
        built = build(program)
        arrays = arguments_of(program, built)
        expected = [np.asarray(x) for x in built.function.reference(*arrays)]
        lowered = recipe.lower([built.function], given, texts=())
        try:
            text = text_of(lowered.module)
            count = from_tests("ir", "upstream").count_mismatches(text, lowered.built[0].program, arrays, expected)
        except AssertionError as error:
            found.append(Finding(program.seed, "error", f"mlir-opt or mlir-runner: {error}"))
            continue
        if count:
            size = sum(x.size for x in expected)
            found.append(Finding(program.seed, "loops", f"{count} of {size} elements differ at loop level, {options}"))
    return found

"""Read damaged files in every way: libraries, entries of the cache, inputs of `aotensor run`.

Nothing may crash, hang, report a bug of aotensor (exit code 70), or give a wrong result.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final

from tools.fuzz.campaign import Campaign
from tools.fuzz.child import Child, ChildEnd
from tools.fuzz.compare import Finding

BATCH: Final = 100
SECONDS: Final = 120.0
WORKER: Final = "tools.fuzz.artifact_worker"


def run(campaign: Campaign) -> None:
    """Batches of damaged files. The file of a finding stays in the folder of the reports."""
    child, work = Child(WORKER, most=20), Path(tempfile.mkdtemp(prefix="aotensor-fuzz-"))
    try:
        for seeds in campaign.batches(BATCH):
            for finding in _findings(child, list(seeds), work):
                campaign.add(finding.signature, finding.report)
    finally:
        child.close()
        shutil.rmtree(work, ignore_errors=True)


def _findings(child: Child, seeds: list[int], work: Path) -> list[Finding]:
    answer = child.ask({"seeds": seeds, "folder": str(work)}, SECONDS)
    if isinstance(answer, ChildEnd):
        if len(seeds) > 1:
            half = len(seeds) // 2
            return _findings(child, seeds[:half], work) + _findings(child, seeds[half:], work)
        return [Finding(seeds[0], answer.how, answer.said)]
    return [Finding(**x) for x in answer]

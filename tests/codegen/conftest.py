"""Upstream's opinion on the modules of a file of tests, asked for once: a process for each takes as long as a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from emit_harness import MLIR_OPT, PARSED, rejected


@pytest.fixture(autouse=True, scope="module")
def accepted_upstream() -> Iterator[None]:
    """What the tests of this file parse, mlir-opt accepts; else texts, and the tests that parsed them, are named."""
    PARSED.clear()
    yield
    if MLIR_OPT is not None and rejected([*PARSED]):
        wrong = [f"{test}\n{text}\n{said}" for text, test in PARSED.items() if (said := rejected([text]))]
        pytest.fail("mlir-opt refuses what these tests parse:\n\n" + "\n".join(wrong), pytrace=False)

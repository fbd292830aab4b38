"""docs/targets.md has the table that `aotensor doctor` and the tests go by, and every target of it is tested."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from aotensor.codegen.targets.support import EXECUTED, support, table
from aotensor.codegen.targets.triples import BARE, TARGETS
from aotensor_cli.main import run

ROOT = Path(__file__).parents[2]


def test_the_table() -> None:
    text = (ROOT / "docs" / "targets.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- made by docs/build.py -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert found is not None and found[1] == table(), "run python docs/build.py"


def test_every_target_has_tests() -> None:
    assert tuple(EXECUTED) == TARGETS + BARE
    tests = {path: path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")}
    for triple in TARGETS + BARE:
        if triple != "x86_64-linux-gnu":  # all other tests
            assert any(f'"{triple}"' in text for text in tests.values()) or "linux-musl" in triple


def test_doctor(capfd: pytest.CaptureFixture[str]) -> None:
    """What it says of a target is what a compilation finds."""
    assert run(["doctor", "--json"]) == 0
    findings = {x["name"]: x for x in json.loads(capfd.readouterr().out)["findings"]}
    for triple in TARGETS + BARE:
        found = findings[f"target {triple}"]
        assert found["detail"] == support(triple).text and "compiled" in found["detail"]
        assert (found["verdict"] == "ok") == (bool(support(triple).linkers) and bool(support(triple).runner))
    assert findings["target arm64-macos"]["verdict"] == "optional"
    assert support("soup-linux-gnu").text.startswith("target soup-linux-gnu is not known to LLVM")

"""`aotensor doctor`, and the pages that are made from the help texts."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from command_line import Call

from aotensor_cli import doctor
from aotensor_cli.reading.version import installed

DOCS = Path(__file__).parents[2] / "docs"


def test_finds_what_is_needed(call: Call) -> None:
    answer = call("doctor")
    assert answer.code == 0, answer.out
    for what in ("llvmlite", "linker", "BLAS", "target wasm32-wasi", "cache"):
        assert what in answer.out
    tree = json.loads(call("doctor", "--json").out)
    assert tree["ok"] is True
    assert {x["verdict"] for x in tree["findings"]} <= {"ok", "optional"}


def test_missing_linker_is_4_with_advice(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("aotensor.codegen.targets.linker._has_zig", lambda: False)
    answer = call("doctor")
    assert answer.code == 4
    assert "hint: linker: install a C compiler" in answer.out


def test_a_runtime_of_another_version(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """aotensor requires aotensor-runtime of its own version."""
    for version, verdict in (("0.0.1", "optional"), (installed("aotensor"), "ok")):
        versions = {"aotensor-runtime": version}
        monkeypatch.setattr(doctor, "installed", lambda name, v=versions: v.get(name) or installed(name))
        findings = {x["name"]: x for x in json.loads(call("doctor", "--json").out)["findings"]}
        assert findings["aotensor-runtime"]["verdict"] == verdict
        assert ("pip install aotensor-runtime==" in findings["aotensor-runtime"]["hint"]) == (verdict == "optional")


def test_how_calls_are_made(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    for state, text, verdict in (
        ("used", "by the C extension", "ok"),
        ("off", "since AOTENSOR_NO_EXTENSION is set", "ok"),
        ("missing", "by ctypes: a call takes 1 us more", "optional"),
    ):
        monkeypatch.setattr("aotensor_runtime.extension.state", lambda found=state: found)
        findings = {x["name"]: x for x in json.loads(call("doctor", "--json").out)["findings"]}
        assert text in findings["fast calls"]["detail"] and findings["fast calls"]["verdict"] == verdict
        assert len(f"hint: fast calls: {findings['fast calls']['hint']}") <= 100


def test_pages_are_the_help_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    spec = importlib.util.spec_from_file_location("docs_build", DOCS / "build.py")
    assert spec is not None and spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    wanted = build.pages()
    assert {path: path.read_text(encoding="utf-8") for path in (DOCS / "cli").glob("*.md")} == wanted, (
        "run python docs/build.py"
    )

"""`aotensor inspect`: models and libraries, every stage, and files that are no libraries."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Call

from aotensor.codegen.container import seal
from aotensor.driver.stages import STAGES
from aotensor_runtime.abi import ABI_VERSION


def test_summary_of_a_library(call: Call, library: Path) -> None:
    answer = call("inspect", library)
    assert (answer.code, answer.err) == (0, "")
    assert "logistic(X: float64[n, p], y: float64[n], w: float64[p]) -> loss: float64" in answer.out
    assert "8*n*p + 8*n + 8*p + 8 of inputs and outputs" in answer.out
    assert "2*n*p" in answer.out
    assert "libc.so.6" in answer.out
    assert "emit-loops" in answer.out


def test_summary_as_json_has_it_all(call: Call, library: Path) -> None:
    tree = json.loads(call("inspect", library, "--json", "--function", "logistic_grad").out)
    (function,) = tree["functions"]
    assert function["name"] == "logistic_grad"
    assert function["dims"] == ["n", "p"]
    assert function["estimate"]["flops"].startswith("4*n*p + ")
    assert tree["size"] == library.stat().st_size
    assert tree["needed"] == ["libc.so.6"]
    assert "logistic_grad_call" in tree["symbols"]
    assert {"expand", "canonicalize", "fuse", "emit-loops"} <= {step["name"] for step in tree["passes"]}


def test_summary_of_a_model_times_the_passes(call: Call, model: Path) -> None:
    tree = json.loads(call("inspect", f"{model}:twice", "--format", "json").out)
    assert tree["functions"][0]["estimate"] == {"bytes": "16*p", "flops": "p"}
    assert all(row["seconds"] >= 0 for row in tree["passes"])


@pytest.mark.parametrize("stage", STAGES)
def test_stages_of_a_model(call: Call, model: Path, stage: str) -> None:
    answer = call("inspect", f"{model}:twice", "--stage", stage)
    assert answer.code == 0
    assert "doubled" in answer.out


def test_a_stage_with_the_lines_of_the_model(call: Call, model: Path, library: Path) -> None:
    plain = call("inspect", f"{model}:twice", "--stage", "loops").out
    located = call("inspect", f"{model}:twice", "--stage", "loops", "--locations").out
    assert "loc(" not in plain
    assert re.search(r'memref\.load .* loc\("model\.py":\d+:0\)$', located, re.MULTILINE)
    assert str(model.parent) not in located
    for arguments, reason in (
        ((model, "--locations"), "--locations needs a stage with locations"),
        ((model, "--stage", "asm", "--locations"), "--locations needs a stage with locations"),
        ((library, "--stage", "loops", "--locations"), "the IR in a library has no locations"),
    ):
        answer = call("inspect", *arguments)
        assert (answer.code, answer.out) == (2, "") and reason in answer.err


def test_remarks_by_line_of_the_model(call: Call, model: Path, library: Path) -> None:
    of_model, of_library = call("inspect", model, "--remarks"), call("inspect", library, "--remarks")
    for answer in (of_model, of_library):
        assert answer.code == 0
        assert re.search(r"^logistic$", answer.out, re.MULTILINE)
        assert re.search(r"^model\.py:\d+$|^model\.py:\d+  \w", answer.out, re.MULTILINE)
        assert re.search(r"^  loops +[+=-] ", answer.out, re.MULTILINE)
    one = call("inspect", f"{library}:doubled", "--remarks").out
    assert one.startswith("doubled\n") and "logistic" not in one


def test_remarks_as_json(call: Call, library: Path, model: Path) -> None:
    found = json.loads(call("inspect", library, "--remarks", "--json", "--function", "logistic").out)["remarks"]
    assert {x["function"] for x in found} == {"logistic"}
    for x in found:
        assert " ".join(x) == "pass kind function message value file line bytes flops count hint"
        assert x["kind"] in ("applied", "missed", "analysis")
        assert x["file"] in ("model.py", "") and type(x["line"]) is type(x["count"]) is int
    again = json.loads(call("inspect", f"{model}:logistic", "--remarks", "--json").out)["remarks"]
    assert again == found


def test_remarks_that_cannot_be_shown(call: Call, library: Path, model: Path) -> None:
    for arguments, reason in (
        ((model, "--remarks", "--stage", "loops"), "--remarks cannot be combined with --stage"),
        ((library, "--remarks", "--function", "doublet"), "there is no function doublet"),
    ):
        answer = call("inspect", *arguments)
        assert (answer.code, answer.out) == (2, "") and reason in answer.err


@pytest.mark.parametrize("stage", ["graph", "graph-opt", "tensor", "tensor-opt", "nest", "loops"])
def test_stages_of_a_library(call: Call, library: Path, stage: str) -> None:
    whole = call("inspect", library, "--stage", stage).out
    one = call("inspect", library, "--stage", stage, "--function", "doubled").out
    assert 0 < len(one) < len(whole)
    assert "doubled" in one and "logistic" not in one
    assert json.loads(call("inspect", library, "--stage", stage, "--json").out) == {"stage": stage, "text": whole}


def test_stages_that_do_not_travel(call: Call, library: Path) -> None:
    answer = call("inspect", library, "--stage", "asm")
    assert answer.code == 2
    assert answer.err == f"error: {library}: stage asm is not stored in a library\nhint: inspect the model instead\n"


def test_unknown_function(call: Call, library: Path) -> None:
    answer = call("inspect", library, "--function", "soup")
    assert answer.code == 2
    assert "hint: it has logistic, doubled, logistic_grad, logistic_hvp" in answer.err


def test_graph_for_graphviz(call: Call, model: Path, library: Path) -> None:
    answer = call("inspect", f"{model}:twice", "--format", "dot")
    assert answer.out.startswith("digraph aotensor {")
    assert '[label="w: float64[p]"]' in answer.out
    assert call("inspect", library, "--format", "dot").code == 2


def test_model_without_linker_is_still_inspected(call: Call, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aotensor.codegen.targets.linker._has_zig", lambda: False)
    answer = call("inspect", f"{model}:twice", PATH="")
    assert answer.code == 0
    assert "not linked" in answer.out
    assert "warning: no linker" in answer.err


def _truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _foreign(_: bytes) -> bytes:
    return b"GIF89a"


def _other_elf(content: bytes) -> bytes:
    return content.replace(b".aotensor.manifest", b".somebody.manifest")


def _too_new(content: bytes) -> bytes:
    version = b'"abi":%d,' % ABI_VERSION
    assert version in content
    return seal(content.replace(version, b'"abi":9,'))


def _big_endian(content: bytes) -> bytes:
    return content[:5] + struct.pack("B", 2) + content[6:]


@pytest.mark.parametrize("command", ["inspect", "verify", "run"])
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_truncated, "section table"),
        (_foreign, "this is not an ELF file"),
        (_other_elf, "aotensor did not build this file: it has no manifest"),
        (_too_new, f"the library has ABI version 9, and this runtime supports {ABI_VERSION}"),
        (_big_endian, "this is not a 64-bit little-endian ELF file"),
        (lambda _: b"", "this is not an ELF file"),
    ],
)
def test_files_that_are_no_libraries(
    call: Call, library: Path, tmp_path: Path, command: str, damage: Callable[[bytes], bytes], reason: str
) -> None:
    path = tmp_path / "libbad.so"
    path.write_bytes(damage(library.read_bytes()))
    answer = call(command, path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {path}: {reason}")
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("command", ["inspect", "verify", "run"])
def test_library_that_is_not_there(call: Call, tmp_path: Path, command: str) -> None:
    answer = call(command, tmp_path / "libnone.so")
    assert answer.code == 2
    assert answer.err.splitlines()[0] == f"error: {tmp_path / 'libnone.so'}: there is no such file"

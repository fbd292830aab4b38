"""`aotensor inspect MODEL --stage asm --function f`: the kernel of f alone, with the lines of the model."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import Call

LINE = "loss = at.softplus(-y * (X @ w)).mean()"


def test_the_kernel_is_alone_and_says_its_lines(spawn: Call, model: Path) -> None:
    answer = spawn("inspect", model, "--stage", "asm", "--function", "logistic")
    assert answer.code == 0, answer.err
    assert re.search(rf"^(#|//|@)   model\.py:8  {re.escape(LINE)}$", answer.out, re.MULTILINE)
    symbols = re.findall(r"^([A-Za-z_][\w.]*):", answer.out, re.MULTILINE)
    assert symbols[0].endswith("logistic.kernel") and all("logistic." in name for name in symbols)
    whole = spawn("inspect", f"{model}:logistic", "--stage", "asm").out
    assert len(answer.out) < len(whole) / 2 and "doubled" not in answer.out
    instructions = [line for line in answer.out.splitlines() if line.startswith("\t") and "\t." not in line]
    assert instructions and set(instructions) <= set(whole.splitlines())


def test_it_can_be_assembled(spawn: Call, model: Path, tmp_path: Path) -> None:
    """Comments are comments, and no label is missing."""
    if shutil.which("as") is None:
        pytest.skip("no assembler")
    text = spawn("inspect", model, "--stage", "asm", "--function", "logistic").out
    (tmp_path / "kernel.s").write_text(text, encoding="utf-8")
    subprocess.run(["as", "-o", tmp_path / "kernel.o", tmp_path / "kernel.s"], check=True, capture_output=True)


def test_it_as_json_and_what_is_not_there(call: Call, model: Path, library: Path) -> None:
    tree = json.loads(call("inspect", model, "--stage", "asm", "--function", "doubled", "--json").out)
    assert tree["stage"] == "asm" and "doubled.kernel:" in tree["text"]
    answer = call("inspect", model, "--stage", "asm", "--function", "double")
    assert answer.code == 2 and "there is no Function double" in answer.err and "did you mean doubled?" in answer.err
    answer = call("inspect", library, "--stage", "asm", "--function", "doubled")
    assert (answer.code, answer.out) == (2, "") and "stage asm is not stored in a library" in answer.err

"""`aotensor verify`: tables, JSON, and exit code 1 for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Call


def test_model_passes(call: Call, model: Path) -> None:
    answer = call("verify", f"{model}:logistic", "--samples", "4")
    assert answer.code == 0, answer.out
    assert answer.out.startswith("logistic: 10 ok\n")
    for check in ("IR at every stage", "compiled against reference", "gradients by duality", "header compiles"):
        assert check in answer.out


def test_tolerance_of_nothing_fails_with_1(call: Call, model: Path) -> None:
    answer = call("verify", f"{model}:logistic", "--rtol", "0", "--no-gradients", "--samples", "6", "--json")
    tree = json.loads(answer.out)
    assert answer.code == 1
    assert tree["ok"] is False
    verdicts = {check["name"]: check["verdict"] for check in tree["reports"][0]["checks"]}
    assert verdicts["compiled against reference"] == "failed"
    assert verdicts["header compiles"] == "ok"
    assert "gradients by duality" not in verdicts


def test_library_passes_with_its_vectors(call: Call, library: Path) -> None:
    answer = call("verify", library)
    assert answer.code == 0, answer.out
    assert "8 calls give the recorded values" in answer.out


def test_changed_library_fails_with_1(call: Call, library: Path, tmp_path: Path) -> None:
    content = bytearray(library.read_bytes())
    content[0x1000 + len(content) // 8] ^= 1
    path = tmp_path / "libchanged.so"
    path.write_bytes(bytes(content))
    answer = call("verify", path)
    assert answer.code == 1
    assert "the checksum does not fit: the file was changed after it was built" in answer.out
    assert "test vectors" not in answer.out  # code that was changed is never run

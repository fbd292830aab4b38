"""What a shell offers: targets, CPUs, forms, stages, passes, and functions without running the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Call

TEXT = """import aotensor as aot, aotensor.tensor as at
x = at.vector("x")
loss = aot.function([x], x.sum())
_ = aot.function([x], x, name="copied")
raise SystemExit("it must not be run")
"""


def offered(spawn: Call, folder: Path, line: str, shell: str = "bash") -> list[str]:
    """The words; `|` stands where the cursor is."""
    words = line.removesuffix("|")
    environment = {"_AOTENSOR_COMPLETE": f"{shell}_complete", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(words.count(" ")) if shell == "bash" else words.rpartition(" ")[2]
    answer = spawn(cwd=folder, **environment)
    assert (answer.code, answer.err) == (0, "")
    return [text.partition(",")[2] for text in answer.out.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("completion")
    (found / "m.py").write_text(TEXT)
    return found


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("aotensor compile m.py --target x86_64-l|", ["x86_64-linux-gnu", "x86_64-linux-musl"]),
        ("aotensor compile m.py --cpu haswe|", ["haswell"]),
        ("aotensor compile m.py --target aarch64-linux-gnu --cpu cortex-a71|", ["cortex-a710", "cortex-a715"]),
        ("aotensor compile m.py --emit tensor|", ["tensor-opt", "tensor"]),
        ("aotensor compile m.py --features +avx512vbm|", ["+avx512vbmi", "+avx512vbmi2"]),
        ("aotensor compile m.py --disable-pass licm|", ["licm"]),
        ("aotensor inspect m.py --stage llvm|", ["llvm", "llvm-opt"]),
        ("aotensor inspect m.py --function |", ["loss", "copied"]),
        ("aotensor inspect m.py : lo|", ["loss"]),
        ("aotensor compile m.py :|", ["loss", "copied"]),
        ("aotensor diff m.py m.py : c|", ["copied"]),
        ("aotensor profile m.py --format fold|", ["folded"]),
    ],
)
def test_bash(spawn: Call, folder: Path, line: str, words: list[str]) -> None:
    """Bash takes a colon for a word of its own."""
    assert offered(spawn, folder, line) == words


def test_other_shells(spawn: Call, folder: Path) -> None:
    answer = spawn(
        cwd=folder, _AOTENSOR_COMPLETE="fish_complete", COMP_WORDS="aotensor verify m.py:c", COMP_CWORD="m.py:c"
    )
    assert answer.out == "plain,m.py:copied\n"


def test_functions_of_a_library(spawn: Call, library: Path) -> None:
    assert "logistic_grad" in offered(spawn, library.parent, f"aotensor inspect {library.name} --function logistic|")

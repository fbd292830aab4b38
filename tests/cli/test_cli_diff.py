"""`aotensor inspect --stage X --diff Y`: what a pass left, and what turned one text into another."""

from __future__ import annotations

import difflib
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from command_line import Call, on_a_terminal

from aotensor.driver.stages import IR_STAGES

ROOT = Path(__file__).parents[2]


def shown(call: Call, *arguments: object) -> str:
    """What goes to stdout, all being well."""
    answer = call("inspect", *arguments)
    assert answer.code == 0, answer.err
    return answer.out.removeprefix("said while loading\n")


def changes(text: str) -> tuple[list[str], list[str]]:
    """The lines that a diff takes away, and those that it adds."""
    body = [line for line in text.splitlines() if not line.startswith(("---", "+++"))]
    return [x[1:] for x in body if x.startswith("-")], [x[1:] for x in body if x.startswith("+")]


@pytest.mark.parametrize("name", ["expand", "canonicalize", "fuse", "unroll-and-jam", "emit-loops", "expand-math"])
def test_what_a_pass_left_is_what_is_dumped(spawn: Call, model: Path, tmp_path: Path, name: str) -> None:
    short = ["--short"] if name in ("fuse", "unroll-and-jam") else []
    answer = spawn("inspect", f"{model}:logistic", "--stage", name, *short, AOTENSOR_DUMP=str(tmp_path))
    assert answer.code == 0, answer.err
    *_, last = sorted(tmp_path.glob(f"[0-9][0-9]-{name}.*"))
    assert answer.out == last.read_text(encoding="utf-8") and "logistic" in answer.out


def test_runs_of_a_pass_have_numbers(call: Call) -> None:
    example = ROOT / "examples" / "logistic.py"
    first, last = (shown(call, example, "--stage", f"canonicalize.{n}") for n in (1, 3))
    assert first != last and last == shown(call, example, "--stage", "canonicalize")
    assert all(changes(shown(call, example, "--stage", "canonicalize.3", "--diff", "canonicalize.1")))


def test_a_diff_shows_what_one_pass_did(call: Call, model: Path) -> None:
    text = shown(call, f"{model}:logistic", "--stage", "unroll-and-jam", "--diff", "before")
    assert text.startswith("--- before unroll-and-jam\n+++ unroll-and-jam\n@@ ")
    less, more = changes(text)
    assert less and [line.replace(" jam 8 ", " ") for line in more] == less
    same = shown(call, f"{model}:logistic", "--stage", "unroll-and-jam", "--diff", "vectorize-rows")
    assert changes(same) == changes(text)


def test_a_value_keeps_its_name(call: Call, model: Path) -> None:
    """What a pass puts in front does not number the rest anew, as two texts by themselves are."""
    text = shown(call, f"{model}:logistic", "--stage", "fuse", "--diff", "before")
    alone = [
        shown(call, f"{model}:logistic", "--stage", name, "--short").splitlines() for name in ("interchange", "fuse")
    ]
    less, _ = changes(text)
    far, _ = changes("\n".join(difflib.unified_diff(*alone, lineterm="")))
    assert less and len(less) < len(far)
    assert set(less) < set(alone[0])  # the first text is as it is by itself


def test_a_diff_goes_from_one_to_the_other_and_back(call: Call, model: Path) -> None:
    there = changes(shown(call, f"{model}:logistic", "--stage", "coalesce", "--diff", "fuse"))
    back = changes(shown(call, f"{model}:logistic", "--stage", "fuse", "--diff", "coalesce"))
    assert there == (back[1], back[0]) and all(there)


@pytest.mark.parametrize(("stage", "base"), [("nest", "tensor-opt"), ("graph-opt", "graph"), ("llvm", "loops")])
def test_diffs_of_stages(call: Call, model: Path, stage: str, base: str) -> None:
    text = shown(call, f"{model}:logistic", "--stage", stage, "--diff", base)
    assert text.startswith(f"--- {base}\n+++ {stage}\n") and all(changes(text))


def test_diffs_of_all_stages_of_a_library(call: Call, library: Path) -> None:
    for base, stage in pairwise(IR_STAGES):
        text = shown(call, library, "--stage", stage, "--diff", base, "--function", "logistic")
        short = {"nest": ["--short"]}
        texts = [
            shown(call, library, "--stage", x, "--function", "logistic", *short.get(x, [])).splitlines()
            for x in (base, stage)
        ]
        assert changes(text) == changes("\n".join(difflib.unified_diff(*texts, lineterm="")))
        assert "doubled" not in text


def test_a_pass_that_did_nothing(call: Call, model: Path) -> None:
    answer = call("inspect", f"{model}:twice", "--stage", "tile-columns", "--diff", "before")
    assert answer.code == 0 and "@@" not in answer.out
    assert answer.err.endswith("there is no difference between before tile-columns and tile-columns\n")


def test_diffs_and_passes_as_json(call: Call, model: Path) -> None:
    answer = json.loads(shown(call, f"{model}:logistic", "--stage", "unroll-and-jam", "--diff", "before", "--json"))
    assert list(answer) == ["stage", "diff", "text"] and (answer["stage"], answer["diff"]) == (
        "unroll-and-jam",
        "before",
    )
    assert answer["text"] == shown(call, f"{model}:logistic", "--stage", "unroll-and-jam", "--diff", "before")
    assert (
        json.loads(shown(call, f"{model}:logistic", "--stage", "unroll-and-jam", "--json"))["stage"] == "unroll-and-jam"
    )


def test_passes_have_locations_too(call: Call, model: Path) -> None:
    text = shown(call, f"{model}:logistic", "--stage", "fuse", "--locations")
    assert re.search(r'nest\.do.* loc\("model\.py":8:0\)|loc\("model\.py":8:0\)$', text, re.MULTILINE)


def test_what_cannot_be_compared(call: Call, model: Path, library: Path) -> None:
    for arguments, reason, hint in (
        ((model, "--diff", "fuse"), "--diff needs --stage", "add --stage"),
        ((model, "--remarks", "--diff", "fuse"), "--diff needs --stage", "add --stage"),
        ((f"{model}:twice", "--stage", "merge-loops"), "pass merge-loops did not run", "it has expand, "),
        ((f"{model}:twice", "--stage", "canonicalize.9"), "pass canonicalize.9 did not run", "canonicalize.3"),
        (
            (f"{model}:twice", "--stage", "unroll-and-jam", "--disable-pass", "unroll-and-jam"),
            "pass unroll-and-jam did not run",
            "it has expand, ",
        ),
        (
            (f"{model}:twice", "--stage", "nest", "--diff", "before"),
            "nest is a stage",
            "",
        ),
        ((f"{model}:twice", "--stage", "fuze"), "invalid value for '--stage'", ""),
        ((f"{model}:twice", "--stage", "fuse", "--diff", "soup"), "invalid value for '--diff'", ""),
        ((f"{model}:twice", "--stage", "nest.1"), "invalid value for '--stage'", ""),
        ((library, "--stage", "fuse"), "pass fuse is not stored in a library", "inspect the model instead"),
        ((library, "--stage", "nest", "--diff", "asm"), "stage asm is not stored in a library", ""),
        ((library, "--stage", "nest", "--diff", "before"), "before nest is not stored in a library", ""),
    ):
        answer = call("inspect", *arguments)
        assert answer.code == 2 and reason in answer.err and hint in answer.err and "@@" not in answer.out, arguments


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_diff_has_colours_on_a_terminal_that_wants_them(model: Path, is_plain: bool) -> None:
    answer = on_a_terminal(
        ["inspect", f"{model}:logistic", "--stage", "unroll-and-jam", "--diff", "before"],
        model.parent,
        NO_COLOR="1" if is_plain else "",
    )
    assert answer.code == 0 and "+++ unroll-and-jam" in answer.out
    assert ("\x1b[32m+      nest" in answer.out or "\x1b[32m+    nest" in answer.out) is not is_plain
    assert ("\x1b[31m-" in answer.out) is not is_plain and ("\x1b" in answer.out) is not is_plain

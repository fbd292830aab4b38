"""`aotensor inspect --remarks`: the report by line of the model, what it is about, and lines that have changed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import Call, on_a_terminal

LINE = "loss = at.softplus(-y * (X @ w)).mean()"


def found(call: Call, *arguments: object) -> list[dict[str, Any]]:
    """The remarks that are shown, as data."""
    answer = call("inspect", *arguments, "--remarks", "--json")
    assert (answer.code, answer.err) == (0, "")
    remarks: list[dict[str, Any]] = json.loads(answer.out)["remarks"]
    return remarks


def test_a_report_shows_the_lines_of_the_model(call: Call, model: Path, tmp_path: Path) -> None:
    answer = call("inspect", f"{model}:logistic", "--remarks")
    assert answer.code == 0
    assert re.search(rf"^model\.py:8  {re.escape(LINE)}$", answer.out, re.MULTILINE)
    assert re.search(r"^\d+ decisions to do something \(\+\), \d+ not to \(-\)", answer.out, re.MULTILINE)
    assert re.search(r"^  memory +\+ scalar replacement: `X @ w` stays in a register.*$", answer.out, re.MULTILINE)
    assert "[scalar-replacement]" in answer.out and "dimshuffle" not in answer.out
    assert max(map(len, answer.out.replace(LINE, "").splitlines())) <= 100


def test_a_report_of_a_library_has_lines_where_the_file_is_and_has_not_changed(
    call: Call, library: Path, tmp_path: Path
) -> None:
    copy = tmp_path / library.name
    copy.write_bytes(library.read_bytes())
    assert LINE not in call("inspect", copy, "--remarks").out  # no file of this name near
    source = tmp_path / "model.py"
    source.write_text("\n" * 7 + LINE + "\n", encoding="utf-8")
    before, after = (copy.stat().st_mtime + seconds for seconds in (-60, 60))
    os.utime(source, (before, before))
    assert f"model.py:8  {LINE}\n" in call("inspect", copy, "--remarks").out
    os.utime(source, (after, after))
    answer = call("inspect", copy, "--remarks")
    assert answer.code == 0 and LINE not in answer.out
    assert "note: model.py was changed after this was compiled" in answer.err


def test_remarks_are_chosen_by_line_op_and_pass(call: Call, library: Path) -> None:
    every = found(call, library)
    for option in ("8", "model.py:8", "some/folder/model.py:8", "008"):
        chosen = found(call, library, "--line", option)
        assert chosen == [x for x in every if x["line"] == 8] and 0 < len(chosen) < len(every)
    of_pass = found(call, library, "--pass", "fuse")
    assert of_pass and of_pass == [x for x in every if x["pass"] == "fuse"]
    of_op = found(call, library, "--op", "softplus")
    assert 0 < len(of_op) < len(every) and all("softplus" in x["message"] + x["value"] for x in of_op)
    assert all(" @ " in x["message"] + x["value"] for x in found(call, library, "--op", "@"))
    both = found(call, library, "--line", "8", "--pass", "fuse", "--pass", "scalar-replacement")
    assert {x["pass"] for x in both} == {"fuse", "scalar-replacement"} and {x["line"] for x in both} == {8}
    text = call("inspect", library, "--remarks", "--pass", "fuse").out
    assert "[fuse]" in text and "[scalar-replacement]" not in text


def test_a_pass_that_said_nothing_is_no_error(call: Call, model: Path) -> None:
    answer = call("inspect", f"{model}:twice", "--remarks", "--pass", "tile-columns")
    assert (answer.code, answer.out) == (0, "said while loading\nno remarks\n") or answer.out == "no remarks\n"


@pytest.mark.parametrize(
    ("options", "reason", "hint"),
    [
        (["--remarks", "--line", "99"], "no remark is about line 99", "it has model.py:8"),
        (["--remarks", "--line", "other.py:8"], "no remark is about line other.py:8", "it has model.py:8"),
        (
            ["--remarks", "--line", "eight"],
            "--line eight does not name a line",
            "write a number, or a file and a number",
        ),
        (["--remarks", "--op", "sofplus"], "no remark names sofplus", "did you mean softplus?"),
        (["--remarks", "--op", "bessel"], "no remark names bessel", "it has X, "),
        (["--remarks", "--pass", "fuze"], "there is no pass 'fuze'", "did you mean fuse"),
        (["--line", "8"], "--line, --op and --pass need --remarks", "add --remarks"),
    ],
)
def test_choices_that_find_nothing(call: Call, library: Path, options: list[str], reason: str, hint: str) -> None:
    answer = call("inspect", f"{library}:logistic", *options)
    assert (answer.code, answer.out) == (2, "")
    assert reason in answer.err and f"hint: {hint}" in answer.err and "Traceback" not in answer.err


def test_a_name_in_a_library_cannot_command_the_terminal(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        "import aotensor as aot, aotensor.tensor as at\n"
        "x = at.vector('x', dtype='float64', shape=('n',))\n"
        "y = at.exp(x)\ny.name = '\\x1b[31mred\\u202e'\n"
        "f = aot.function([x], y / y.sum(), name='f')  # \x1b]0;title\x07\n",
        encoding="utf-8",
    )
    answer = call("inspect", path, "--remarks")
    assert answer.code == 0 and "\\x1b[31mred\\u202e" in answer.out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", answer.out)


@pytest.mark.parametrize("is_plain", [False, True])
def test_colours_are_for_terminals_that_want_them(library: Path, is_plain: bool) -> None:
    answer = on_a_terminal(
        ["inspect", str(library), "--remarks", "--pass", "fuse"], library.parent, NO_COLOR="1" if is_plain else ""
    )
    assert answer.code == 0 and "[fuse]" in answer.out
    assert ("\x1b[32m+\x1b[0m" in answer.out) is not is_plain and ("\x1b" in answer.out) is not is_plain

"""`--schedule` beside other options, in reproducers and remarks; and what is refused, in one error each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import LOGISTIC, Answer, Call

from aotensor.ir.context import parse_module
from aotensor.ir.text import text_of
from aotensor_runtime import load

MODEL = LOGISTIC.replace('twice = aot.function([w], 2 * w, name="doubled")\n', "").replace(
    'print("said while loading")\n', ""
)
PRODUCTS = " jam 8"
"""What the loop of the products of a row says."""


@pytest.fixture(scope="module")
def own_nest(spawn: Call, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The nest that the compiler gives the model."""
    model = tmp_path_factory.mktemp("own") / "model.py"
    model.write_text(MODEL)
    own = spawn("compile", model, "--emit", "nest")
    assert own.code == 0
    return text_of(parse_module(own.out))


@pytest.fixture
def compiled(own_nest: str, call: Call, tmp_path: Path) -> Callable[..., Answer]:
    """Compiles the model by an edited nest, with more options."""
    model, nest = tmp_path / "model.py", tmp_path / "logistic.nest.mlir"
    model.write_text(MODEL)

    def edited(edit: Callable[[str], str], *options: object) -> Answer:
        nest.write_text(edit(own_nest))
        return call("compile", model, "--schedule", nest, "-o", tmp_path / "made", *options)

    return edited


def jam(text: str) -> str:
    assert PRODUCTS in text
    return text.replace(PRODUCTS, " jam 16")


def lanes(count: int) -> Callable[[str], str]:
    """So many lanes for what is inside of the products of a row."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        first = next(k for k, line in enumerate(lines) if PRODUCTS in line)
        loop = next(k for k in range(first + 1, len(lines)) if "nest.for" in lines[k])
        assert lines[loop].endswith("parallel {\n")
        lines[loop] = lines[loop].replace("parallel {", f"lanes {count} parallel masked {{")
        return "".join(lines)

    return edit


def one_error(answer: Answer, title: str, code: int = 3) -> None:
    """One line says what is wrong; nothing is printed or written."""
    assert (answer.code, answer.out) == (code, ""), answer.err
    errors = [line for line in answer.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, answer.err
    assert title in errors[0]
    assert "Traceback" not in answer.err


def test_a_checking_library_has_the_schedule(compiled: Callable[..., Answer], tmp_path: Path) -> None:
    for edit in (jam, lanes(8)):
        answer = compiled(edit, "--check")
        assert answer.code in (0, 3), answer.err
        if answer.code == 3:
            one_error(answer, "lanes 8")
            assert "hint: the loops of the compiler differ by --check" in answer.err
            continue
        rng = np.random.default_rng(0)
        X, y, w = rng.normal(size=(70, 5)), np.sign(rng.normal(size=70)), rng.normal(size=5)
        found = load(tmp_path / "made" / "liblogistic.so").logistic(X, y, w)["loss"]
        np.testing.assert_allclose(found, np.logaddexp(0, -y * (X @ w)).mean(), rtol=1e-13)


def test_verify_finds_a_library_with_a_schedule_right(
    compiled: Callable[..., Answer], call: Call, tmp_path: Path
) -> None:
    assert compiled(jam).code == 0
    assert call("verify", tmp_path / "made" / "liblogistic.so").code == 0


def test_a_reproducer_has_the_schedule(compiled: Callable[..., Answer], tmp_path: Path) -> None:
    """It is repeated without the file, as it was: also where it was refused."""
    archive, nest = tmp_path / "repeat.pyz", tmp_path / "logistic.nest.mlir"
    for edit, code in ((jam, 0), (lambda text: text.replace(PRODUCTS, " jam 32"), 3)):
        assert compiled(edit, "--reproducer", archive).code == code
        nest.unlink()
        done = subprocess.run([sys.executable, archive], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stderr
        assert ("at most 16 iterations" in done.stderr) == (code == 3)


def test_another_target_takes_the_schedule_or_names_the_option(compiled: Callable[..., Answer], tmp_path: Path) -> None:
    answer = compiled(jam, "--target", "aarch64-linux-gnu", "--emit", "obj")
    assert answer.code == 0, answer.err
    assert (tmp_path / "made" / "logistic.o").read_bytes()[18:20] == b"\xb7\x00"  # the ELF number of AArch64
    answer = compiled(lanes(8), "--target", "aarch64-linux-gnu", "--emit", "llvm")
    one_error(answer, "lanes 8: the machine does not have masked vectors")
    assert "hint: the loops of the compiler differ by --target aarch64-linux-gnu" in answer.err
    answer = compiled(lanes(8), "--cpu", "x86-64-v3", "--emit", "llvm")
    one_error(answer, "lanes 8: the machine does not have masked vectors")
    assert "hint: the loops of the compiler differ by --cpu x86-64-v3" in answer.err


@pytest.mark.parametrize(
    ("options", "title"),
    [
        (("--fp", "strict"), "other numbers, functions or fastmath flags than the model"),
        (("--grad", "w"), "this is a schedule of logistic, not of logistic, logistic_grad"),
    ],
    ids=lambda x: x[0] if isinstance(x, tuple) else "",
)
def test_options_by_which_the_own_nest_differs_are_named(
    compiled: Callable[..., Answer], options: tuple[str, ...], title: str
) -> None:
    answer = compiled(jam, *options)
    one_error(answer, title)
    written = " ".join(options)
    assert (
        f"hint: the loops of the compiler differ by {written}: write the schedule with the same options" in answer.err
    )


def test_vectors_of_a_machine_that_has_masks(compiled: Callable[..., Answer]) -> None:
    """As many as it has, and no more."""
    machine = ("--target", "x86_64-linux-gnu", "--cpu", "icelake-server", "--emit", "llvm")
    assert compiled(lanes(16), *machine).code == 0
    one_error(compiled(lanes(1024), *machine), "lanes 1024: a vector of the machine has 8 lanes of float64")
    one_error(compiled(lanes(12), *machine), "lanes must be a power of two of at most 128")


def test_schedules_of_another_function_or_model(compiled: Callable[..., Answer], call: Call, tmp_path: Path) -> None:
    assert compiled(jam).code == 0
    nest, model = tmp_path / "logistic.nest.mlir", tmp_path / "model.py"
    changes = {
        "this is a schedule of logistic, not of other": ("{'loss': loss})", "{'loss': loss}, name='other')"),
        "logistic.nest.mlir:2: logistic has other inputs or outputs in this version of the model": (
            "at.vector('w', dtype='float64', shape=('p',))", "at.vector('w', dtype='float32', shape=('p',))"
        ),
        "logistic.nest.mlir:": ("at.softplus(-y * (X @ w)).mean()", "at.softplus(-y * (X @ w)).max()"),
    }  # fmt: skip
    for title, (old, new) in changes.items():
        text = MODEL.replace('"', "'")
        assert old in text
        other = tmp_path / "other.py"
        other.write_text(text.replace(old, new).replace("logistic = aot", "logistic = aot"))
        one_error(call("compile", other, "--schedule", nest, "-o", tmp_path / "none"), title)
    assert not (tmp_path / "none").exists()
    assert call("compile", model, "--schedule", nest, "-o", tmp_path / "same").code == 0


def inserted(line: str) -> Callable[[str], str]:
    """With a line more behind the first of the function."""
    return lambda text: text.replace("index\n", f"index\n    {line}\n", 1)


DAMAGED: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda t: "", "logistic.nest.mlir"),
    "cut": (lambda t: t[: len(t) // 2], "logistic.nest.mlir:"),
    "an operation of another version": (
        inserted('"nest.future"() : () -> ()'), "logistic.nest.mlir:4: Operation nest.future is not registered"
    ),
    "a word of another version": (lambda t: t.replace(PRODUCTS, " swizzle 4", 1), "logistic.nest.mlir:"),
    "an unknown function is called": (
        lambda t: t.replace("@aot.softplus.f64(%", "@aot.softminus.f64(%", 1), "logistic.nest.mlir:"
    ),
    "an unknown function is declared": (
        lambda t: t.replace("@aot.softplus.f64(f64)", "@aot.softminus.f64(f64)"), "logistic.nest.mlir"
    ),
    "an unknown function is there": (
        lambda t: t.rstrip()[:-1] + "  func.func @more() {\n    func.return\n  }\n}\n", "a schedule of logistic, more,"
    ),
    "a brace is missing": (lambda t: t.replace("}", "", 1), "logistic.nest.mlir:"),
    "a number twice": (inserted("%0 = arith.constant 7 : index"), "logistic.nest.mlir:4: "),
    "a number that nothing makes": (lambda t: t.replace("%X[", "%Z[", 1), "logistic.nest.mlir:"),
    "another program": (lambda t: "int main(void) { return 0; }\n", "logistic.nest.mlir:1: "),
    "a level below": (
        lambda t: "builtin.module {\n  %x = memref.alloc() : memref<4xf64>\n}\n", "logistic.nest.mlir"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "title"), [pytest.param(*x, id=k) for k, x in DAMAGED.items()])
def test_damaged_texts_are_one_error(compiled: Callable[..., Answer], edit: Callable[[str], str], title: str) -> None:
    one_error(compiled(edit), title)


def test_remarks_say_that_a_schedule_changed_the_loops(
    compiled: Callable[..., Answer], call: Call, tmp_path: Path
) -> None:
    note = "compiled with the schedule logistic.nest.mlir; remarks about its loops describe the nest before it"
    assert compiled(jam).code == 0
    library = tmp_path / "made" / "liblogistic.so"
    shown = call("inspect", library, "--remarks").out
    assert shown.startswith(f"{note}\n\nlogistic\n")
    assert json.loads(call("inspect", library, "--remarks", "--json").out)["note"] == note
    assert call("inspect", tmp_path / "model.py", "--remarks").out.startswith("logistic\n")
    nest = tmp_path / "logistic.nest.mlir"
    scheduled = tmp_path / "scheduled.py"
    scheduled.write_text(f"{MODEL}logistic = logistic.with_schedule({str(nest)!r})\n")
    shown = call("inspect", scheduled, "--remarks").out
    assert note in shown
    assert "note" not in json.loads(call("inspect", tmp_path / "model.py", "--remarks", "--json").out)

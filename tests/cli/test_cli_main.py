"""The command group: help, versions, speed, and what becomes of errors."""

from __future__ import annotations

import gc
import os
import shlex
import subprocess
import sys
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path

import llvmlite.binding
import pytest
from command_line import Call

from aotensor_cli import main, options
from aotensor_cli.reading import version
from aotensor_cli.terminal import failure
from aotensor_runtime.abi import ABI_VERSION

IMPORTED = (
    "import sys; from aotensor_cli.main import run; run({arguments!r}); print(sorted(sys.modules), file=sys.stderr)"
)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_and_version_load_no_heavy_module(arguments: list[str]) -> None:
    command = [sys.executable, "-c", IMPORTED.format(arguments=arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for heavy in ("numpy", "scipy", "llvmlite", "xdsl", "aotensor", "rich"):
        assert f"'{heavy}'" not in done.stderr
    assert done.stdout


HEAVY = ("numpy", "scipy", "llvmlite", "xdsl", "rich", "aotensor", "aotensor_runtime")

STARTS = f"""
import contextlib, io, os, sys
from aotensor_cli.main import run

def loads(label, *arguments):
    out = io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        run(arguments)
    loaded = [name for name in {HEAVY} if sys.modules.pop(name, None)]
    print(label, "answers" if out.buffer.getvalue() else "is silent", *loaded, sep="|")

for name in sys.argv[1:]:
    loads(name + " --help", name, "--help")
os.environ["_AOTENSOR_COMPLETE"] = "bash_complete"
values = ("compile --emit ", "compile --target ", "compile --disable-pass ", "inspect --stage ", "inspect --pass ")
for line in ("", *(name + " --" for name in sys.argv[1:]), *values):
    os.environ["COMP_WORDS"] = "aotensor " + line
    os.environ["COMP_CWORD"] = str(1 + line.count(" "))
    loads(line)
"""


def test_help_and_completion_of_commands_load_no_compiler() -> None:
    """One process for all, in which each answer is blamed for what it loads."""
    command = [sys.executable, "-c", STARTS, *main.COMMANDS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 2 * len(main.COMMANDS) + 6
    assert [line for line in lines if not line.endswith("|answers")] == []


@pytest.mark.parametrize("name", main.COMMANDS)
def test_run_accepts_the_parameters_that_are_declared(name: str) -> None:
    declared = import_module(f"aotensor_cli.commands.{name}").command.params
    accepted = signature(import_module(f"aotensor_cli.{name}").run).parameters
    given = {x.name for x in declared if x.expose_value}
    given |= {"session"} & accepted.keys()  # of `click.pass_obj`
    others = any(x.kind is Parameter.VAR_KEYWORD for x in accepted.values())
    named = {x.name for x in accepted.values() if x.kind is not Parameter.VAR_KEYWORD}
    assert named <= given if others else named == given


def test_the_collector_of_garbage_starts_after_the_command_is_imported(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its modules are frozen then, which live until the end of the process."""
    frozen = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(gc.isenabled()))
    assert call("cache").code == 0 and frozen == []
    gc.disable()  # as `main` does
    try:
        assert call("cache").code == 0
        assert frozen == [False] and gc.isenabled()
    finally:
        gc.enable()


def test_help_is_fast(spawn: Call) -> None:
    """Processor time, best of three: other work on the machine must not fail it."""
    times = []
    for _ in range(3):
        before = os.times()
        assert spawn("--help").code == 0
        after = os.times()
        times.append(sum(after[2:4]) - sum(before[2:4]))
    assert min(times) < 0.2  # seconds of user and system time of child processes


def test_version_names_aotensor_llvm_and_abi(call: Call) -> None:
    answer = call("--version")
    assert answer.code == 0
    llvm = ".".join(map(str, llvmlite.binding.llvm_version_info[:2]))
    assert answer.out.startswith("aotensor ")
    assert f"LLVM {llvm} in llvmlite {llvmlite.__version__}, ABI {ABI_VERSION}" in answer.out
    assert version.abi_version() == ABI_VERSION


def test_no_command_is_help(spawn: Call) -> None:
    answer, asked = spawn(), spawn("--help")
    assert (answer.code, answer.out, answer.err) == (0, asked.out, "")


def test_every_command_has_its_summary_as_first_line(call: Call) -> None:
    group_help = call("--help").out
    for name, summary in main.COMMANDS.items():
        assert summary in group_help
        assert summary in call(name, "--help").out


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (("frobnicate",), "no such command 'frobnicate'"),
        (("compile",), "missing argument 'MODEL'"),
        (("compile", "x.py", "--frob"), "no such option '--frob'"),
        (("compile", "x.py", "-O", "9"), "invalid value for '-O': 9 is not in the range 0<=x<=3"),
        (("inspect", "x.py", "--stage", "soup"), "invalid value for '--stage'"),
        (("verify", "x.py", "--samples", "0"), "invalid value for '--samples'"),
    ],
)
def test_wrong_usage(call: Call, arguments: tuple[str, ...], title: str) -> None:
    answer = call(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    first, hint = answer.err.splitlines()
    assert first.startswith(f"error: {title}")
    assert hint.startswith("hint: see aotensor") and hint.endswith("--help")


def test_bug_of_ours_is_70_without_traceback(call: Call, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aotensor_cli.compile.Build", None)
    answer = call("compile", model)
    assert answer.code == 70
    assert answer.err.splitlines()[-2:] == [
        "error: internal error: TypeError: 'NoneType' object is not callable",
        "hint: this is a bug of aotensor: run again with --debug and report what it prints",
    ]
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("arguments", [("--debug", "compile"), ("compile", "--debug")])
def test_debug_shows_the_traceback(
    call: Call, model: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr("aotensor_cli.compile.Build", None)
    answer = call(*arguments, model)
    assert answer.code == 70
    assert "Traceback (most recent call last)" in answer.err


def test_interrupt_is_130(call: Call, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("aotensor_cli.compile.load_model", interrupt)
    assert call("compile", model).code == options.Exit.INTERRUPTED


def test_out_of_memory_is_no_bug() -> None:
    assert failure.explain(MemoryError()).code == options.Exit.TOOL


def test_module_runs_like_the_command(spawn: Call) -> None:
    answer = spawn("frobnicate")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: no such command 'frobnicate'\n")


def test_closed_pipe_ends_quietly(model: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -m aotensor_cli compile {model} --emit loops | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "builtin.module {\n"
    assert "error" not in done.stderr

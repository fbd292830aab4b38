"""Compile a model in a child process, so that a hang or crash does not end the application.

compiled(("model.py", "--stage", "nest"), 60)   →   the document of `aotensor inspect --json --all`, or a Problem
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

_KEPT: Final = 4000
"""The number of last bytes of the stderr of the process that are kept."""
_POSIX: Final = os.name == "posix"
_RUNNING: Final[set[asyncio.subprocess.Process]] = set()


@dataclass(frozen=True)
class Problem:
    """The reason that a compilation failed.

    file, line: of the user's program, without folder; "" and 0 where that is unknown. code: exit code of the command
    line, None for a process that hung or died.
    """

    title: str
    hint: str = ""
    lines: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    code: int | None = None


async def compiled(arguments: Sequence[str], seconds: float) -> dict[str, Any] | Problem:
    """Run `aotensor inspect ARGUMENTS --json --all`.   seconds: after which the process is killed

    A task that is cancelled kills the process, too.
    """
    command = (sys.executable, "-m", "aotensor_cli", "inspect", *arguments, "--json", "--all")
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        start_new_session=_POSIX, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    _RUNNING.add(process)
    try:
        async with asyncio.timeout(seconds):
            out, said, _ = await asyncio.gather(process.stdout.read(), _tail(process.stderr), process.wait())
    except TimeoutError:
        return Problem(f"the model does not end: it was stopped after {seconds:g} s", "look for an endless loop")
    finally:
        _kill(process)
        await process.wait()
        _RUNNING.discard(process)
    return _outcome(process.returncode or 0, out, said)


async def _tail(stream: asyncio.StreamReader) -> bytes:
    """The end of the text that is written; the rest is read and dropped."""
    kept = b""
    while piece := await stream.read(1 << 16):
        kept = (kept + piece)[-_KEPT:]
    return kept


def end_all() -> None:
    """Kill all running child processes; called when this process exits."""
    for process in _RUNNING:
        _kill(process)


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a process, if it still runs, and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if _POSIX:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _outcome(code: int, out: bytes, said: bytes) -> dict[str, Any] | Problem:
    try:
        tree = json.loads(out)
    except ValueError:
        tree = None
    if isinstance(tree, dict) and code == 0:
        return tree
    if isinstance(tree, dict) and "error" in tree:
        error = tree["error"]
        return Problem(
            error["title"], error["hint"] or "", tuple(error["lines"]), error["file"] or "", error["line"] or 0, code
        )
    lines = tuple(said.decode(errors="replace").splitlines()[-3:])
    if code < 0:
        return Problem(f"the process that runs the model was ended by {_signal(-code)}", lines=lines)
    return Problem(f"the process that runs the model ended with code {code} and without a result", lines=lines)


def _signal(number: int) -> str:
    """The name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

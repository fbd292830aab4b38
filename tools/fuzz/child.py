"""A process that answers requests, one JSON line each, and may crash or hang without harm."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
MEMORY: Final = 12 << 30
"""Bytes of address space that a child may have."""
POISONED: Final = {"AOTENSOR_POISON": "1", "MALLOC_PERTURB_": "128"}
"""Results, workspaces, and what the C library allocates hold patterns before a call."""


@dataclass(frozen=True)
class ChildEnd:
    """How a child ended before it answered.   how: a signal's name, an exit code, or "hang"; said: its last words"""

    how: str
    said: str


class Child:
    """A child process `python -m <module>` that answers requests; it is restarted after it dies, and after `most`
    requests.
    """

    def __init__(self, module: str, most: int = 40) -> None:
        self.module, self.most = module, most
        self._process: subprocess.Popen[str] | None = None
        self._asked = 0

    def ask(self, request: Any, seconds: float) -> Any | ChildEnd:
        """The answer to a request, or how the process died of it."""
        if self._asked >= self.most:
            self.close()
        if self._process is None:
            self._process, self._asked = self._started(), 0
        process = self._process
        self._asked += 1
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._reap("")
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        if not ready:
            process.kill()
            return self._reap("hang")
        line = process.stdout.readline()
        return json.loads(line) if line.endswith("\n") else self._reap("")

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [sys.executable, "-m", self.module],
            stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, bufsize=1, env={**os.environ, **POISONED},
        )  # fmt: skip

    def _reap(self, how: str) -> ChildEnd:
        assert self._process is not None
        _, said = self._process.communicate()
        code = self._process.returncode
        self._process = None
        return ChildEnd(how or (signal.Signals(-code).name if code < 0 else f"exit {code}"), said[-2000:])


def serve(answer: Callable[[Any], Any]) -> None:
    """Answer the requests on stdin until it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    replies, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        replies.write(json.dumps(answer(json.loads(line))) + "\n")
        replies.flush()

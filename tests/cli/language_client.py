"""A client of the Language Server Protocol, written by hand: messages over the pipes of a process."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any, Final

from command_line import PYTHON

_PATIENCE: Final = 120.0
"""Seconds: the machine may be busy."""


class Client:
    """A server and the conversation with it.   heard: notifications and requests of the server so far"""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen([*PYTHON, "lsp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.inbox: queue.Queue[dict[str, Any]] = queue.Queue()
        self.heard: list[dict[str, Any]] = []
        self.number = 0
        threading.Thread(target=self._read, daemon=True).start()
        abilities = {
            "workspace": {"inlayHint": {"refreshSupport": True}},
            "window": {"showDocument": {"support": True}},
            "general": {"positionEncodings": ["utf-16"]},
        }
        self.abilities = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": abilities})
        self.tell("initialized", {})

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = int(header.split(b":")[1])
            while stream.readline().strip():
                pass
            self.inbox.put(json.loads(stream.read(length)))

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def tell(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: object) -> Any:
        """Send a request; returns its result."""
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        while True:
            message = self._next()
            if message.get("id") == self.number and "method" not in message:
                assert "error" not in message, message
                return message["result"]

    def wait(self, method: str, uri: str | None = None) -> Any:
        """The parameters of the next notification or request of this name, about a file, that was not asked for yet."""
        while True:
            for message in self.heard:
                if message["method"] == method and uri in (None, message.get("params", {}).get("uri")):
                    self.heard.remove(message)
                    return message.get("params")
            self._next()

    def _next(self) -> dict[str, Any]:
        message = self.inbox.get(timeout=_PATIENCE)
        if "method" in message:
            self.heard.append(message)
            if "id" in message:  # a request of the server
                self._send({"id": message["id"], "result": {"success": True}})
        return message

    def open(self, path: Path) -> str:
        """Open a file; returns its URI."""
        uri = path.as_uri()
        document = {"uri": uri, "languageId": "python", "version": 1, "text": path.read_text(encoding="utf-8")}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return uri

    def diagnostics(self, uri: str) -> list[Any]:
        """Those of a file that are published next."""
        return list(self.wait("textDocument/publishDiagnostics", uri)["diagnostics"])

    def hints(self, uri: str, last: int = 1000) -> dict[int, str]:
        """Row, from 0 → what stands behind it."""
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": last, "character": 0}}
        found = self.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole})
        return {x["position"]["line"]: x["label"] for x in found}

    def close(self) -> int:
        """End the server; returns its exit code."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        code = self.process.wait(timeout=_PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        return code

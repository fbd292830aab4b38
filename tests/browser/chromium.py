"""A headless Chromium, driven by the DevTools protocol over a pair of pipes: nothing but the browser is needed."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
import time
from fcntl import F_DUPFD_CLOEXEC, fcntl
from pathlib import Path
from select import select
from typing import Any, Final

from needs import path_of

PATIENCE: Final = 20.0  # seconds for one answer

_KEYS: Final = {
    "Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "Tab": ("Tab", 9, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "ArrowUp": ("ArrowUp", 38, ""), "ArrowLeft": ("ArrowLeft", 37, ""), "ArrowRight": ("ArrowRight", 39, ""),
    "End": ("End", 35, ""), "Home": ("Home", 36, ""),
}  # fmt: skip


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are not 3 and 4, which the browser wants to have."""
    ends = os.pipe()
    moved = tuple(fcntl(end, F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


class Browser:
    """One page in a browser of its own; `complaints` are its errors, as the console shows them."""

    def __init__(self, width: int = 1600, height: int = 950) -> None:
        program = path_of("chromium")
        self._folder = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        to_browser, from_browser = _pipe(), _pipe()
        command = [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
            f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}", "--remote-debugging-pipe",
            "about:blank",
        ]  # fmt: skip

        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{to_browser[0]} 4>&{from_browser[1]}', *command],
            pass_fds=(to_browser[0], from_browser[1]), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser[0])
        os.close(from_browser[1])
        self._out, self._in, self._rest, self._number = to_browser[1], from_browser[0], b"", 0
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self._folder.cleanup()

    # --- the protocol ---

    def _call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        wanted = self._number
        while True:
            answer = self._next(PATIENCE)
            if answer.get("id") == wanted:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self, patience: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select([self._in], [], [], patience)
            assert ready, "the browser does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(str(details.get("exception", {}).get("description", details.get("text"))))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([x.get("value", x.get("description")) for x in parameters["args"]]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True

    # --- what a user does ---

    def open(self, path: Path, anchor: str = "") -> float:
        """Load a file; gives the seconds until it is loaded and painted."""
        return self.visit(f"{path.resolve().as_uri()}{anchor}")

    def visit(self, url: str) -> float:
        """Load a page; gives the seconds until it is loaded and painted."""
        self._go("about:blank")  # a page that differs in its anchor alone would not be loaded again
        self.complaints.clear()
        self.requests.clear()
        start = time.monotonic()
        self._go(url)
        self.settle()
        return time.monotonic() - start

    def _go(self, url: str) -> None:
        self._loaded = False
        self._call("Page.navigate", url=url)
        end = time.monotonic() + PATIENCE
        while not self._loaded:
            assert time.monotonic() < end, f"{url} is not loaded"
            self._next(PATIENCE)

    def settle(self) -> None:
        """Wait until what was asked for is painted."""
        self.run(
            "new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 160))"
        )

    def wait_for(self, selector: str) -> None:
        """Wait until there is such an element, five seconds at most: a busy machine paints late."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(
            "new Promise((done) => { const end = Date.now() + 5000;"
            f"const look = () => {found} || Date.now() > end ? done(true) : setTimeout(look, 20); look(); }})"
        )

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, selector: str, text: str | None = None, count: int = 1) -> None:
        """Click in the middle of what is visible of the first element of a selector, whose text holds `text`."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})]"
        if text is not None:
            found += f".filter((x) => x.textContent.includes({json.dumps(text)}))"
        spot = self.run(
            f"(() => {{ const x = {found}[0]; if (!x) return null; x.scrollIntoView({{block: 'nearest'}});"
            "const b = x.getBoundingClientRect(); "
            "return [Math.min(b.left + b.width / 2, b.left + 150), b.top + b.height / 2]; })()"
        )
        assert spot is not None, f"there is no {selector} {text or ''}"
        for number in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self._call(
                    "Input.dispatchMouseEvent", type=kind, x=spot[0], y=spot[1], button="left", clickCount=number
                )
        self.settle()

    def wheel(self, selector: str, down: float) -> None:
        """Turn the wheel over an element."""
        x, y = self.run(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            "return [b.left + b.width / 2, b.top + b.height / 2]; })()"
        )
        self._call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=down)
        self.settle()

    def press(self, key: str, times: int = 1) -> None:
        """Press a key."""
        name, code, text = _KEYS.get(key, (key, 0, key))
        for _ in range(times):
            common = {"key": name, "windowsVirtualKeyCode": code} if code else {"key": key}
            self._call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
            self._call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.settle()

    def write(self, text: str) -> None:
        """Type a text."""
        self._call("Input.insertText", text=text)
        self.settle()

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a select."""
        self.run(
            f"(() => {{ const x = document.querySelector({json.dumps(selector)}); x.value = {json.dumps(value)};"
            "x.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )
        self.settle()

    def resize(self, width: int, height: int) -> None:
        """Change the size of the window."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self.settle()

    def scheme(self, name: str) -> None:
        """Light or dark, as the system says."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])
        self.settle()

    def picture(self, path: Path) -> None:
        """What is to be seen, as PNG."""
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

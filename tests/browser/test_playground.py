"""The playground in a browser: an input is moved, and value and gradient are those of NumPy and of differences."""

from __future__ import annotations

import http.server
import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from chromium import Browser

pytestmark = pytest.mark.needs("chromium", "zig")

ROOT = Path(__file__).parents[2]
Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
STATE = """
JSON.stringify([...document.querySelectorAll("#models section")].map((section) => {
  const panel = window.playground[section.id.replace("model-", "")];
  const read = (values) => Array.from(values, Number);
  return {
    theta: read(panel.theta), grad: read(panel.grad), loss: panel.loss, curve: read(panel.curve),
    x: read(panel.model.x), y: read(panel.y), status: section.querySelector(".status").textContent,
    shown: [...section.querySelectorAll("tr > td:nth-child(4)")].map((cell) => cell.textContent),
  };
}))
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of a page that has the playground, and nothing else of the site."""
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    try:
        import playground
    finally:
        sys.path.pop(0)
    folder = tmp_path_factory.mktemp("playground")
    shutil.copytree(ROOT / "docs" / "assets", folder / "assets")
    markdown = (ROOT / "docs" / playground.PAGE).read_text(encoding="utf-8")
    for name, content in playground.library(markdown).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    html = f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">{playground.fragment(markdown)}'
    (folder / "index.html").write_text(html, encoding="utf-8")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        server.shutdown()
        thread.join()


def ringing(theta: Array, x: Array) -> Array:
    height, decay, frequency, level = theta
    return np.asarray(height * np.exp(-decay * x) * np.cos(frequency * x) + level)


def swing(theta: Array, x: Array) -> Array:
    angle, speed, stiffness, friction = theta
    h, found = x[1] - x[0], [angle]
    for _ in x[1:]:
        half = speed + h / 2 * (-stiffness * np.sin(angle) - friction * speed)
        angle = angle + h * half
        speed = (half - h / 2 * stiffness * np.sin(angle)) / (1 + h / 2 * friction)
        found.append(angle)
    return np.array(found)


def check(state: dict[str, Any], model: Callable[[Array, Array], Array]) -> None:
    theta, x, y = (np.array(state[name]) for name in ("theta", "x", "y"))

    def loss(at: Array) -> float:
        return float(((model(at, x) - y) ** 2).mean())

    np.testing.assert_allclose(state["curve"], model(theta, x), rtol=1e-10, atol=1e-12)
    assert state["loss"] == pytest.approx(loss(theta), rel=1e-11)
    differences = [(loss(theta + h) - loss(theta - h)) / 2e-5 for h in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(state["grad"], differences, rtol=1e-6, atol=1e-8)
    assert state["shown"] == [f"{value:.4f}" for value in state["grad"]]


def test_inputs_move(browser: Browser, address: str) -> None:
    browser.visit(address)
    browser.wait_for("#model-swing .status")
    first = json.loads(browser.run(STATE))
    for state, model in zip(first, (ringing, swing), strict=True):
        check(state, model)
    for section in ("ringing", "swing"):
        browser.run(f'document.querySelector("#model-{section} [type=range]").focus()')
        browser.press("End")  # the first parameter at its largest
    moved = json.loads(browser.run(STATE))
    for before, after, model in zip(first, moved, (ringing, swing), strict=True):
        assert after["theta"][0] == 3 > before["theta"][0] and after["theta"][1:] == before["theta"][1:]
        check(after, model)
    assert browser.complaints == []


def test_descent_fits(browser: Browser, address: str) -> None:
    browser.visit(address)
    browser.wait_for("#model-swing .status")
    before = json.loads(browser.run(STATE))
    browser.click("#model-swing button", "One step")
    after = json.loads(browser.run(STATE))
    assert after[1]["loss"] < before[1]["loss"] and after[0] == before[0]
    check(after[1], swing)
    browser.run("for (let k = 0; k < 600; k++) Object.values(window.playground).forEach((panel) => panel.descend())")
    fitted = json.loads(browser.run(STATE))
    for state, model, noise in zip(fitted, (ringing, swing), (0.2, 0.12), strict=True):
        check(state, model)
        assert state["loss"] < noise**2
    browser.click("#model-swing button", "Descend")
    browser.click("#model-swing button", "Stop")
    browser.click("#model-swing button", "Start again")
    assert json.loads(browser.run(STATE))[1]["theta"] == before[1]["theta"]
    assert browser.complaints == []

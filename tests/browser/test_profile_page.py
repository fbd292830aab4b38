"""The page of a model with its profile: bars, columns, links, search and narrow windows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from chromium import Browser

pytestmark = pytest.mark.needs("chromium")

MODEL = """import aotensor as aot, aotensor.tensor as at
X = at.matrix("X", dtype="float64", shape=("n", "p"))
w = at.vector("w", dtype="float64", shape=("p",))
r = X @ w
loss = (r ** 2).sum() + at.exp(r).sum()
f = aot.function([X, w], {"loss": loss, "g": aot.grad(loss, w)}, name="f")
"""


def row(line: int, forward: float, derivative: float, **changes: object) -> dict[str, object]:
    share = forward + derivative
    return {
        "file": "m.py" if line else "", "line": line, "name": f"m.py:{line}", "share": share, "forward": forward,
        "derivative": derivative, "seconds": share * 1e-4, "bytes_per_second": None, "flops_per_second": None,
        "bound": "", "share_of_limit": None, "kernels": {}, **changes,
    }  # fmt: skip


LIMITED = {"bytes_per_second": 2e10, "flops_per_second": 5e9, "bound": "memory", "share_of_limit": 0.6}
PROFILE = {
    "function": "f", "sizes": {"n": 2000, "p": 60}, "threads": 1, "seconds": 1e-4, "samples": 400,
    "rows": [
        row(4, 0.45, 0.25, **LIMITED, kernels={"aot_gemm": 0.2}), row(5, 0.2, 0.05),
        row(0, 0.0, 0.0, name="the call itself: checks, copies", share=0.05, bound="overhead"),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def page(command: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profile")
    (folder / "m.py").write_text(MODEL)
    (folder / "p.json").write_text(json.dumps({"profiles": [PROFILE]}))
    command("inspect", "m.py", "--format", "html", "--profile", "p.json", "-o", "page.html", cwd=folder)
    return folder / "page.html"


def test_lines_have_bars_columns_and_links(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.run("panes[0].choice.value") == "profile"
    rows = "[...document.querySelectorAll('.profile tbody')]"
    lengths = browser.run(f"{rows}.map((x) => x.querySelector('.stack i').parentElement.scrollWidth)")
    assert len(lengths) == 3
    product = f"{rows}.find((x) => x.textContent.includes('r = X @ w'))"
    kinds = browser.run(f"[...{product}.querySelectorAll('.stack i')].map((x) => x.className)")
    assert kinds == ["forward", "derivative"]
    cells = browser.run(f"[...{product}.querySelectorAll('td')].map((x) => x.textContent)")
    assert cells[1:] == ["70.0 %", "45.0 %", "25.0 %", "20.00", "5.00", "memory, 60 % of a limit"]
    shown = browser.run("shares().get('m.py:4')")
    assert f"{100 * shown:.1f} %" == cells[1], "the source shows the measured share"
    browser.click(".profile tbody", "r = X @ w")
    assert browser.run("state.key") == "m.py:4"
    assert browser.run("document.querySelector('#pane-source .l.picked').textContent").endswith("r = X @ w")
    browser.click("#pane-source .l.linked", "loss = ")
    assert "loss" in browser.run("document.querySelector('.profile .picked.chosen').textContent")
    browser.click("#pane-source button", "columns")
    line = "[...document.querySelectorAll('#pane-source .lines .l')].find((x) => x.textContent.includes('r = X @ w'))"
    assert browser.run(f"[...{line}.querySelectorAll('.cells span')].map((x) => x.textContent)") == cells[2:]
    spans = "[...document.querySelectorAll('#pane-source {} .cells span')].slice(0, 5)"
    lefts = [f"{spans}.map((x) => x.getBoundingClientRect().left)".replace("{}", x) for x in (".heads", ".lines .l")]
    assert browser.run(lefts[0]) == browser.run(lefts[1]), "heads stand above their columns"
    browser.click("[data-order=line]")
    assert browser.run(f"{rows}.map((x) => x.querySelector('.where').textContent)")[0].startswith("m.py:4")
    browser.press("/")
    browser.write("X @ w")
    assert browser.run("document.querySelectorAll('.profile .found').length") == 1
    assert browser.complaints == []


def test_a_narrow_window_has_views_that_scroll(browser: Browser, page: Path) -> None:
    """Each view is at most as high as the window, so that long texts stay virtual, and nothing is cut at the right."""
    browser.resize(390, 800)
    try:
        browser.open(page)
        heights = browser.run("[...document.querySelectorAll('.pane')].map((x) => x.getBoundingClientRect().height)")
        assert max(heights) <= 800
        assert browser.run("document.querySelectorAll('#pane-b .l').length") < 200
        assert browser.run("document.documentElement.scrollWidth") <= 390
        assert browser.run("[...document.querySelectorAll('.profile')].every((x) => x.scrollWidth <= x.clientWidth)")
    finally:
        browser.resize(1600, 950)

"""Pages of hostile names and texts, of libraries, and of large graphs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from chromium import Browser

from aotensor.graph.passes.remarks import Remark
from aotensor_cli.page.content import Content
from aotensor_cli.page.html import page_html
from aotensor_cli.page.profiles import MeasuredLine, MeasuredLines
from aotensor_cli.page.sources import Source
from aotensor_cli.page.stage_lines import StageLines

pytestmark = pytest.mark.needs("chromium")

HOSTILE = "</script><script>window.ran=1</script><img src=x onerror='window.ran=1'>\"'`<!--<script>\u202e\u2028\x1b[31m"

HOSTILE_MODEL = """# </script><script>window.ran = 1</script><!--
import aotensor as aot, aotensor.tensor as at
x = at.vector("x", dtype="float64", shape=("n",))
z = at.exp(x) + 1.0
z.name = "</script><script>window.ran=1</script>"
s = z.sum()
f = aot.function([x], {"</script><img src=x onerror=window.ran=1>": z / s, "s": s}, name="f")
"""

DEEP_MODEL = """import aotensor as aot, aotensor.tensor as at
x = at.vector("x", dtype="float64", shape=("n",))
def layer(h, k):
    a = at.tanh(h * (0.5 + k))
    return (h + a) * 0.9
h = x
for k in range(1000):
    h = layer(h, k / 1000)
deep = aot.function([x], h, name="deep")
"""


def views(browser: Browser) -> list[str]:
    found = browser.run("CHOICES.map(([, value]) => value)")
    assert isinstance(found, list)
    return found


def test_hostile_texts_stay_texts_wherever_they_stand(browser: Browser, tmp_path: Path) -> None:
    node = {"kind": "op", "label": HOSTILE, "detail": HOSTILE, "file": HOSTILE, "line": 1, "inputs": []}
    loop = {
        "kind": "loop", "text": [HOSTILE], "how": [HOSTILE], "value": HOSTILE, "file": HOSTILE, "line": 1,
        "trips": [3], "seconds": [1.0], "at": 0, "body": [],
    }  # fmt: skip
    line = MeasuredLine(HOSTILE, 1, HOSTILE, 1.0, 0.5, 0.5, 1.0, (1.0, None), HOSTILE, 0.5, {HOSTILE: 0.5})
    profile = MeasuredLines(HOSTILE, {HOSTILE: 3}, 1, 1.0, 9, [line])
    content = Content(
        HOSTILE, "library", [(HOSTILE, HOSTILE)],
        [{"name": HOSTILE, "signature": HOSTILE, "rows": [(HOSTILE, HOSTILE)]}],
        [Source(HOSTILE, [HOSTILE], HOSTILE, [(1, 1, HOSTILE)])], {"nest": StageLines([HOSTILE], [(HOSTILE, 1)])},
        [Remark(HOSTILE, "missed", HOSTILE, HOSTILE, HOSTILE, HOSTILE, 1, HOSTILE, HOSTILE)], [HOSTILE],
        {"graph": {HOSTILE: [node]}}, {HOSTILE: {"seconds": [1.0], "nodes": [loop]}}, {HOSTILE: {(HOSTILE, 1): [1.0]}},
        {}, [(HOSTILE, 3)], [{"name": HOSTILE, "before": 1, "after": 2}], [HOSTILE], [profile], {"memory": HOSTILE},
    )  # fmt: skip
    page = tmp_path / "hostile.html"
    page.write_text(page_html(content))
    assert page.read_text().count("</script>") == 2, "the data, and the script"
    browser.open(page)
    for view in views(browser):
        browser.choose("#pane-b .tools > select", view)
    browser.click("#pane-source .l.linked")
    assert browser.run("typeof window.ran") == "undefined"
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.querySelector('h1').textContent").startswith("</script><script>")
    assert "\u202e" not in page.read_text()
    assert browser.complaints == []


def test_a_script_that_gets_in_does_not_run(browser: Browser, tmp_path: Path) -> None:
    """Should escaping ever fail, the policy of the page holds."""
    page = tmp_path / "broken.html"
    text = page_html(Content("x", "library"))
    page.write_text(
        text.replace("<header>", "<script>window.ran = 1</script><img src=x onerror='window.ran=2'><header>")
    )
    browser.open(page)
    assert browser.run("typeof window.ran") == "undefined"
    assert any("Content Security Policy" in x for x in browser.complaints)


def test_a_hostile_model_and_its_library(browser: Browser, command: Callable[..., str], tmp_path: Path) -> None:
    model = tmp_path / "<img src=x onerror='window.ran=1'>.py"
    model.write_text(HOSTILE_MODEL)
    command("inspect", model.name, "--format", "html", "-o", "model.html", cwd=tmp_path)
    command("compile", model.name, "-o", "build", "--name", "f", cwd=tmp_path)
    command("inspect", "build/libf.so", "--format", "html", "-o", "library.html", "--source", model.name, cwd=tmp_path)
    for name in ("model.html", "library.html"):
        browser.open(tmp_path / name)
        for view in views(browser):
            browser.choose("#pane-b .tools > select", view)
        browser.click("#pane-source .l", "z = at.exp")
        assert browser.run("typeof window.ran") == "undefined"
        assert browser.run("document.querySelectorAll('img').length") == 0
        assert browser.run("[...document.querySelectorAll('.remark')].length") > 0
        assert browser.complaints == []


def test_a_library_says_what_it_does_not_hold(browser: Browser, command: Callable[..., str], tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(HOSTILE_MODEL)
    command("compile", model, "-o", tmp_path, "--name", "f")
    command("inspect", tmp_path / "libf.so", "--format", "html", "-o", tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    notes = browser.run("document.getElementById('notes').textContent")
    assert "not in this library: the source" in notes
    assert "The source is not in a library" in browser.run("document.getElementById('pane-source').textContent")
    browser.choose("#pane-b .tools > select", "memory")
    assert "holds no memory plan" in browser.run("document.getElementById('pane-b').textContent")
    browser.choose("#pane-b .tools > select", "graph-view")
    assert browser.run("panes[1].view.nodes.filter((x) => x.kind === 'op').length") >= 4
    assert browser.complaints == []


def test_a_graph_of_five_thousand_nodes_stays_usable(
    browser: Browser, command: Callable[..., str], tmp_path: Path
) -> None:
    """Folded it is a few boxes; unfolded, only what is in sight is in the document."""
    (tmp_path / "deep.py").write_text(DEEP_MODEL)
    command("inspect", tmp_path / "deep.py", "--format", "html", "-o", tmp_path / "deep.html")
    # Mostly LLVM IR and assembly, whose length depends on the vectors of the processor.
    assert (tmp_path / "deep.html").stat().st_size < 25e6
    browser.open(tmp_path / "deep.html", "#a=graph-view&b=about")
    assert browser.run("panes[0].view.nodes.length") >= 5000
    assert browser.run("document.querySelectorAll('#graph-canvas g').length") < 20
    browser.choose('select[aria-label="fold the graph by"]', "function")
    assert "layer" in browser.run("document.querySelector('#graph-canvas g.folded').textContent")
    browser.choose('select[aria-label="fold the graph by"]', "ops")
    assert 5 < browser.run("document.querySelectorAll('#graph-canvas g').length") <= 1500
    for _ in range(3):  # all of it, and back
        browser.run(
            "(panes[0].view.zoom(1 / 40), panes[0].view.paint(), panes[0].view.zoom(40), panes[0].view.paint())"
        )
    browser.press("/")
    browser.write("tanh")
    browser.press("Enter")
    assert "tanh" in browser.run("document.querySelector('#graph-canvas g.at').textContent")
    assert browser.complaints == []

"""The page of an example in a browser: links both ways, folding, search, keys, light and dark, and no complaint."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Browser

from aotensor.driver.stages import STAGES

pytestmark = pytest.mark.needs("chromium")

LOSS = "loss = at.softplus"


@pytest.fixture(autouse=True)
def fresh(browser: Browser, logistic: Path) -> None:
    """The page as it is when it is opened; whatever a test does, the console stays empty and nothing is loaded."""
    browser.open(logistic)


@pytest.fixture(autouse=True)
def silence(browser: Browser) -> None:
    yield  # type: ignore[misc]
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith("file:")] == []


def texts(browser: Browser, selector: str) -> list[str]:
    found = browser.run(f"[...document.querySelectorAll('{selector}')].map((x) => x.textContent)")
    assert isinstance(found, list)
    return found


def is_in_sight(browser: Browser, selector: str) -> bool:
    return bool(
        browser.run(
            f"""(() => {{ const x = document.querySelector('{selector}'); if (!x) return false;
            const [a, b] = [x.getBoundingClientRect(), x.closest('.body').getBoundingClientRect()];
            return a.top >= b.top - 1 && a.bottom <= b.bottom + 1; }})()"""
        )
    )


def test_it_is_one_file_that_opens_soon(browser: Browser, logistic: Path) -> None:
    text = logistic.read_text()
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'' in text
    assert "src=" not in text.replace("script-src", "").replace("style-src", "").replace("default-src", "")
    assert browser.run("document.title") == "logistic - aotensor"
    assert "logistic(X: float64[n, p]" in browser.run("document.getElementById('signature').textContent")


def test_bars_and_their_labels_stand_apart(browser: Browser) -> None:
    """In the loops and in the source; the time is the measured one."""
    for row in (".node .share", ".l .h"):
        pairs = browser.run(
            f"""[...document.querySelectorAll('{row}')].filter((x) => x.querySelector('i')).map((x) =>
            [x.querySelector('i').getBoundingClientRect().right, x.querySelector('b').getBoundingClientRect().left,
             x.querySelector('b').scrollWidth - x.querySelector('b').clientWidth])"""
        )
        assert pairs, row
        assert all(bar <= label + 0.5 and over <= 0 for bar, label, over in pairs), (row, pairs)
    measured = browser.run("DATA.loops.logistic.measured[0]")
    assert f"takes {float(f'{1e6 * measured:.3g}'):g} µs on one core" in texts(browser, ".tree p")[0]


def test_a_stranger_finds_why_two_ops_share_no_loop(browser: Browser) -> None:
    """By the button `missed` and the pass fuse: the products with X and X.T, and the reason."""
    browser.click("#pane-remarks button", "missed")
    browser.choose("#pane-remarks select", "fuse")
    (remark,) = texts(browser, ".remark")
    assert "not fused with" in remark
    assert "a value that is complete only after that loop" in remark
    browser.click(".remark")
    assert browser.run("state.key").startswith("logistic.py:")
    assert is_in_sight(browser, "#pane-source .l.picked")


def test_a_stranger_finds_what_the_hot_loop_does_for_each_row(browser: Browser) -> None:
    """X[i, j] * w[j] in a loop over the columns, then the functions of one number, then the row times it."""
    hot = texts(browser, "#pane-a .node")
    shares = [int(x.split(" %")[0]) for x in hot if x[0].isdigit()]
    assert max(shares) >= 99
    product = next(n for n, x in enumerate(hot) if "+= X[i, j] * w[j]" in x)
    functions = next(n for n, x in enumerate(hot) if "= softplus(-y[i] *" in x)
    gradient = next(n for n, x in enumerate(hot) if "grad_w[j] += X[i, j] *" in x)
    assert product < functions < gradient
    assert "for j in p" in hot[product - 1] and "× 100" in hot[product - 1]
    assert "8 at a time, which share what they read" in hot[product - 2]
    assert int(hot[product].split(" %")[0]) + int(hot[gradient].split(" %")[0]) > 90


def test_a_line_lights_up_everywhere(browser: Browser) -> None:
    browser.click("#pane-source .l", LOSS)
    key = browser.run("state.key")
    assert key.startswith("logistic.py:")
    assert browser.run("document.getElementById('selection').textContent") == key
    assert f"at {key}" in texts(browser, "#pane-remarks .count")[0]
    assert all(key in x for x in texts(browser, ".remark .source"))
    for stage in STAGES:
        browser.choose("#pane-b .tools > select", stage)
        assert texts(browser, "#pane-b .l.picked") != [], stage
        assert is_in_sight(browser, "#pane-b .l.picked.at"), stage
        assert texts(browser, "#pane-b .tools > .count")[0].endswith(f"from {key}")
    browser.press("Escape")
    assert texts(browser, ".picked") == []


def test_and_the_other_way_round(browser: Browser) -> None:
    browser.choose("#pane-b .tools > select", "loops")
    browser.wait_for("#pane-b .l.linked")
    first = browser.run(
        "(() => { const v = panes[1].view, first = v.lines.keys.findIndex((k, n) => n > 300 && k);"
        "v.element.scrollTop = 18 * (first - 3); return first; })()"
    )
    line = f'#pane-b .l[data-n="{first}"]'  # lines above the ones in sight are painted, too: clicking these scrolls
    browser.wait_for(line)
    browser.settle()
    browser.click(line)
    browser.wait_for("#pane-source .l.picked")
    key = browser.run("state.key")
    assert browser.run("panes[1].view.lines.keys[panes[1].view.cursor]") == key
    (source,) = texts(browser, "#pane-source .l.picked")
    assert source.startswith(key.split(":")[1])
    assert is_in_sight(browser, "#pane-source .l.picked")
    assert texts(browser, "#pane-a .node.picked") != []


def test_a_loop_shows_its_line_its_remarks_and_its_text(browser: Browser) -> None:
    browser.choose("#pane-b .tools > select", "nest")
    browser.click("#pane-a .node .what", "grad_w[j] += X[i, j]")
    assert "nest.do" in texts(browser, "#pane-b .l.at")[0]
    assert "%" in texts(browser, "#pane-b .l .h")[0] or any("%" in x for x in texts(browser, "#pane-b .l .h"))
    assert texts(browser, "#pane-source .l.picked") != []
    assert "near" in browser.run("document.querySelector('.remark').className")


def test_loops_fold(browser: Browser) -> None:
    before = len(texts(browser, "#pane-a .node"))
    browser.click("#pane-a .node[aria-expanded=true] .fold")
    assert len(texts(browser, "#pane-a .node")) < before
    browser.click("#pane-a .node[aria-expanded=false] .fold")
    browser.run("document.querySelector('#pane-a .tree').focus()")
    browser.press("End")
    browser.press("Home")
    browser.press("ArrowRight")
    assert browser.run("document.querySelector('#pane-a .node.chosen').getAttribute('aria-expanded')") == "true"
    browser.press("ArrowLeft")
    assert browser.run("document.querySelector('#pane-a .node.chosen').getAttribute('aria-expanded')") == "false"


def test_search_goes_through_all_that_is_in_sight(browser: Browser) -> None:
    browser.choose("#pane-b .tools > select", "loops")
    browser.press("/")
    assert browser.run("document.activeElement.id") == "search"
    browser.write("softplus")
    assert texts(browser, "#pane-b .tools > .count") == [f"{browser.run('panes[1].view.hits.length')} found"]
    browser.press("Enter")
    assert is_in_sight(browser, "#pane-b .l.at.found")
    first = browser.run("panes[1].view.cursor")
    browser.press("Enter")
    assert browser.run("panes[1].view.cursor") > first
    assert is_in_sight(browser, "#pane-source .l.found")
    assert texts(browser, "#pane-a .node.found") != []
    assert texts(browser, ".remark.found") != []
    browser.press("Escape")
    assert texts(browser, ".found") == []


def test_keys_alone_do(browser: Browser) -> None:
    browser.run("document.querySelector('#pane-source .lines').focus()")
    browser.press("Home")
    browser.press("ArrowDown", 34)
    assert texts(browser, "#pane-source .l.at")[0].startswith("35")
    browser.press("Enter")
    assert browser.run("state.key") == "logistic.py:35"
    view = browser.run("panes[1].choice.value")
    browser.press("]")
    assert browser.run("panes[1].choice.value") != view
    browser.press("[")
    assert browser.run("panes[1].choice.value") == view
    browser.press("?")
    assert browser.run("document.getElementById('keys').open")
    browser.press("Escape")
    assert not browser.run("document.getElementById('keys').open")
    reached = set()
    for _ in range(40):
        browser.run("0")
        browser.press("Tab")
        reached.add(browser.run("document.activeElement.closest('section')?.id ?? ''"))
    assert {"pane-source", "pane-remarks"} <= reached


def test_the_graph_folds_zooms_and_links(browser: Browser) -> None:
    browser.choose("#pane-a .tools > select", "graph-view")
    assert len(texts(browser, "#graph-canvas g")) == browser.run("panes[0].view.nodes.length")
    browser.choose('select[aria-label="fold the graph by"]', "line")
    folded = texts(browser, "#graph-canvas g.folded")
    assert {x.split("⊞ ")[1].split(":")[0] for x in folded} == {"logistic.py"}
    browser.click("#graph-canvas g.folded", "logistic.py:35")
    assert browser.run("state.key") == "logistic.py:35"
    assert texts(browser, "#pane-source .l.picked")[0].startswith("35")
    browser.run("panes[0].view.element.focus()")
    browser.press("f")
    assert len(texts(browser, "#graph-canvas g.picked")) > 5
    browser.press("f")
    assert len(texts(browser, "#graph-canvas g.folded")) == len(folded)
    scale = browser.run("panes[0].view.view.scale")
    browser.press("+")
    assert browser.run("panes[0].view.view.scale") > scale
    at = browser.run("panes[0].view.at")
    browser.press("ArrowDown")
    assert browser.run("panes[0].view.at") != at


def test_memory_and_roofline_are_pictures(browser: Browser) -> None:
    browser.choose("#pane-a .tools > select", "memory")
    assert "workspace of" in texts(browser, "#pane-a svg")[0]
    browser.click("#pane-a svg .linked")
    assert texts(browser, "#pane-source .l.picked") != []
    assert texts(browser, "#pane-a svg .linked.picked") != []
    browser.choose("#pane-b .tools > select", "roofline")
    assert "flop/s" in texts(browser, "#pane-b svg")[0]
    assert "logistic n=10000, p=100" in texts(browser, "#pane-b svg")[0]


def test_light_and_dark(browser: Browser) -> None:
    paper = "getComputedStyle(document.getElementById('pane-a')).backgroundColor"
    light = browser.run(paper)
    browser.scheme("dark")
    dark = browser.run(paper)
    assert light != dark
    browser.press("t")
    assert browser.run(paper) == light
    browser.press("t")
    assert browser.run(paper) == dark
    browser.run("(delete document.documentElement.dataset.theme, localStorage.clear())")
    browser.scheme("light")
    assert browser.run(paper) == light


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_of_text_can_be_read(browser: Browser, scheme: str) -> None:
    """Contrast of at least 4.5 : 1 (WCAG 2, AA) with what it stands on."""
    browser.scheme(scheme)
    names = ("ink", "soft", "accent", "good", "bad", "word", "text", "number", "name")
    grounds = ("paper", "box", "picked", "cursor")
    colours = browser.run(
        f"""(() => {{ const probe = document.body.appendChild(document.createElement('i')), found = {{}};
        for (const name of {[*names, *grounds]}) {{ probe.style.color = `var(--${{name}})`;
        found[name] = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number); }}
        probe.remove(); return found; }})()"""
    )
    browser.scheme("light")

    def luminance(rgb: list[float]) -> float:
        parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb[:3]]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    for name in names:
        for ground in grounds:
            low, high = sorted((luminance(colours[name]), luminance(colours[ground])))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ground)


def test_the_address_remembers(browser: Browser, logistic: Path) -> None:
    browser.open(logistic, "#a=memory&b=graph-opt&line=logistic.py%3A36")
    assert browser.run("panes.map((x) => x.choice.value)") == ["memory", "graph-opt"]
    assert texts(browser, "#pane-source .l.picked")[0].startswith("36")
    browser.open(logistic, "#a=%3Cscript%3E&b=nothing&line=nowhere")
    assert browser.run("panes.map((x) => x.choice.value)") == ["tree", "asm"]

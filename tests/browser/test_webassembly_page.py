"""A library for WebAssembly in a browser: the module that is written beside it, as a page imports it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from chromium import Browser

import aotensor as aot
import aotensor.tensor as at

pytestmark = pytest.mark.needs("chromium", "zig")

CALL = """
(async () => {{
  const {{ load, AotensorError }} = await import("data:text/javascript;base64,{module}");
  const bytes = Uint8Array.from(atob("{library}"), (x) => x.charCodeAt(0));
  const model = await load(bytes);
  const {{ y, g }} = model.f(Float64Array.from({{ length: 1000 }}, (_, k) => k / 1000));
  let message = "";
  try {{ model.pick([1, 2], 5); }}
  catch (error) {{ message = `${{error instanceof AotensorError}} ${{error.message}}`; }}
  return JSON.stringify([y, ...g.data, message]);
}})()
"""


def test_module(browser: Browser, tmp_path: Path) -> None:
    x, i = at.vector("x", dtype="float64", shape=("n",)), at.scalar("i", dtype="int64")
    y = at.exp(x).sum()
    functions = [aot.function([x], {"y": y, "g": aot.grad(y, x)}, name="f"), aot.function([x, i], x[i], name="pick")]
    made = aot.compile(functions, tmp_path, name="web", target="wasm32-wasi", fp="strict")
    module, library = (base64.b64encode(path.read_bytes()).decode() for path in (tmp_path / "web.mjs", made.library))
    value, *gradient, message = json.loads(browser.run(CALL.format(module=module, library=library)))
    here = aot.compile(functions, tmp_path / "here", name="web", fp="strict").load()
    wanted = here.f(np.arange(1000) / 1000)
    assert value == wanted["y"] and gradient == wanted["g"].tolist()
    assert message.startswith("true pick: ")

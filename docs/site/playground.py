"""The models of the playground, compiled to WebAssembly from the text of its page."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import aotensor as aot

PAGE: Final = "playground.md"
FOLDER: Final = "assets/playground"
_FILE: Final = re.compile(r"^```python file=models\.py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PLACE: Final = re.compile(r'^<div id="models">.*?</script>$', re.MULTILINE | re.DOTALL)


def functions(markdown: str) -> list[aot.Function]:
    """The functions that the block `models.py` of a page defines."""
    found = _FILE.search(markdown)
    assert found is not None
    with TemporaryDirectory() as folder:
        model = Path(folder, "models.py")
        model.write_text(found[1], encoding="utf-8")
        names = runpy.run_path(str(model))
    return [value for value in names.values() if isinstance(value, aot.Function)]


def library(markdown: str) -> dict[str, bytes]:
    """Path on the site → the files that the page loads.   Raises: ToolError without a linker for WebAssembly"""
    with TemporaryDirectory() as folder:
        aot.compile(functions(markdown), folder, name="models", target="wasm32-wasi", fp="strict")
        return {f"{FOLDER}/{name}": Path(folder, name).read_bytes() for name in ("models.mjs", "models.wasm")}


def fragment(markdown: str) -> str:
    """The HTML of the playground for a page."""
    found = _PLACE.search(markdown)
    assert found is not None
    return found[0]

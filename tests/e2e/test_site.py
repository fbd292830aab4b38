"""The site is built without a warning, has all pages and names, and asks no other server for anything."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from programs import ROOT

DOCS = ROOT / "docs"
FOREIGN = re.compile(r"""<(?:script|link|img)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//(?!127)[^"'\s>]*""")
LISTED = ("aotensor", "aotensor.tensor", "aotensor.sparse", "aotensor.gradient", "aotensor.errors", "aotensor_runtime")


def test_site(tmp_path: Path) -> None:
    for need in ("mkdocs", "material", "mkdocstrings", "ziglang"):
        if importlib.util.find_spec(need) is None:
            pytest.skip(f"no {need}: pip install 'aotensor[docs]'")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    environment = os.environ | {
        "NO_MKDOCS_2_WARNING": "1"
    }  # what is said of the generator's future is no fault of a page
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stdout + done.stderr

    hidden = {DOCS / "site"}
    pages = [path for path in DOCS.rglob("*.md") if not hidden & set(path.parents)]
    assert [path for path in pages if not (site / path.relative_to(DOCS).with_suffix(".html")).exists()] == []
    for name in ("overview", "changelog", "contributing", "benchmarks/speed", "decisions/index"):
        assert (site / f"{name}.html").exists()
    examples = [path.stem for path in (ROOT / "examples").glob("*.py")]
    assert [name for name in examples if not (site / "gallery" / f"{name}.html").exists()] == []
    listing = (site / "index.html").read_text()
    assert all(f"{folder}/" in listing or f'"{folder}' in listing for folder in ("howto", "reference", "playground"))

    asked = {match for page in site.rglob("*.html") for match in FOREIGN.findall(page.read_text(encoding="utf-8"))}
    assert asked == set()

    reference = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    names = [name for module in LISTED for name in import_module(module).__all__ if _is_told(module, name)]
    assert len(names) > 700
    assert [name for name in names if not re.search(rf"[.>]{name}[\"<]", reference)] == []
    assert "<p>Raises:" not in reference and reference.count("<strong>Raises</strong>") > 300
    assert "Blanchard, Higham" in reference  # a source
    assert "(…, m, k)·(…, k, n) → (…, m, n)" in reference  # shapes

    stages = (site / "stages.html").read_text(encoding="utf-8")
    assert stages.count("All of it") >= 5 and "stages-nest.svg" in stages
    assert (site / "assets" / "playground" / "models.wasm").read_bytes().startswith(b"\0asm")


def test_pictures_are_of_examples() -> None:
    """Whatever lies in the gallery is of an example that is there; each that draws does so for one."""
    examples = {path.stem for path in (ROOT / "examples").glob("*.py")}
    found = {path.stem for path in (DOCS / "gallery").iterdir()}
    assert found - examples == set()
    tree = ast.parse((DOCS / "site" / "drawings.py").read_text())
    drawn = {x.name for x in tree.body if isinstance(x, ast.FunctionDef) and not x.name.startswith("_")}
    assert drawn <= {path.stem for path in (DOCS / "gallery").glob("*.svg")}


def _is_told(module: str, name: str) -> bool:
    value = getattr(import_module(module), name)
    return callable(value) and bool(value.__doc__)

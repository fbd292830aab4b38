"""What the documents name is there: files behind links, stages, passes, commands."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from programs import ROOT

from aotensor.driver.prepare import GRAPH_RECIPE
from aotensor.driver.stages import STAGES
from aotensor.passes.pipeline import LOOP_RECIPE, NEST_RECIPE, TENSOR_RECIPE, library_recipe
from aotensor_cli.main import group

LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
DOCUMENTS = [
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    targets = LINK.findall(document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_every_stage_and_pass_is_described() -> None:
    text = (ROOT / "docs" / "ir.md").read_text()
    passes = [step.name for step in (*GRAPH_RECIPE, *TENSOR_RECIPE, *NEST_RECIPE, *LOOP_RECIPE, *library_recipe(256))]
    assert [name for name in (*STAGES, *passes) if f"`{name}`" not in text] == []


def test_readme_is_short_and_shows_commands_that_exist() -> None:
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") <= 170
    shown = {
        name
        for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        for name in re.findall(r"^aotensor (\w+)", block, re.M)
    }
    assert shown and shown <= set(group.list_commands(click.Context(group)))


def test_every_decision_has_its_parts() -> None:
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        text = path.read_text()
        assert text.startswith(f"# {path.name[:4]} ")
        assert all(f"**{part}.**" in text for part in ("Context", "Choice", "Cost")), path.name


def test_the_glossary_is_ordered_and_made_of_sentences() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (\[.*) \|$", (ROOT / "docs" / "glossary.md").read_text(), re.M)
    terms = [term.partition(" (")[0].lower().replace("-", " ").replace(",", "") for term, _, _ in rows]
    assert len(terms) >= 60 and terms == sorted(set(terms))
    assert [meaning for _, meaning, _ in rows if not re.fullmatch(r"[A-Z⟨].*\.", meaning)] == []

"""Hooks of mkdocs: add pages from outside of docs, rewrite links, and complete the navigation.

    mkdocs build --strict        build/site
    mkdocs serve                 http://127.0.0.1:8000, for those who write

The pages of docs are read as they are; what else is shown is made here, at each build, from the repository.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import gallery
import links
import playground
import reference
import stages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = links.ROOT
DOCS: Final = ROOT / "docs"
_NOT_SEARCHED: Final = "---\nsearch:\n  exclude: true\n---\n\n"
_TITLES: Final = {
    "speed": "Dense programs", "sparse": "Sparse programs", "growth": "Compile times", "startup": "Start-up times",
    "calls": "Overhead of calls",
}  # fmt: skip
"""Table of measurements → title of its page; others have their names as titles."""
_ORIGINS: Final[dict[str, str]] = {}
"""Page on the site → where its text is in the repository."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the lists of the navigation that are folders, and add the pages that it does not name."""
    assert config.nav is not None
    named = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    examples = [path.stem for path in sorted((ROOT / "examples").glob("*.py"))]
    added: dict[str, list[Any]] = {
        "Gallery": [{name: [f"gallery/{x}.md" for x in listed]} for name, listed in gallery.groups(examples).items()],
        "Command line": [{path.stem: f"cli/{path.name}"} for path in _pages("cli") if path.stem != "index"],
        "Decisions": [f"decisions/{path.name}" for path in _pages("decisions")],
        "How to": [f"howto/{path.name}" for path in _pages("howto") if f"howto/{path.name}" not in named],
        "Explanation": [path.name for path in _pages("") if path.name not in named],
    }
    _fill(config.nav, added)
    assert not added, f"mkdocs.yml has no section {', '.join(added)}"
    return config


def _pages(folder: str) -> list[Path]:
    return sorted((DOCS / folder).glob("*.md"))


def _fill(sections: list[Any], added: dict[str, list[Any]]) -> None:
    """Append pages to the sections of these titles, wherever they are in the navigation, and take them from `added`."""
    for section in sections:
        for title, pages in section.items() if isinstance(section, dict) else ():
            if isinstance(pages, list):
                _fill(pages, added)
                pages += added.pop(title, [])


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages from other folders, generated pages, and files that pages link to."""
    _ORIGINS.clear()
    for origin in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", *_benchmarks()]:
        _add_page(files, config, origin)
    for name, text in {**reference.pages(), **gallery.pages(), "decisions/index.md": _decisions()}.items():
        files.append(File.generated(config, name, content=text))
    _complete_stages(files, config)
    _compile_playground(files, config)
    for file in list(files.documentation_pages()):
        origin = _ORIGINS.setdefault(file.src_uri, f"docs/{file.src_uri}")
        for target in sorted(links.targets(file.content_string, origin)):
            name = links.place(target)
            if files.get_file_from_path(name) is None and (ROOT / target).is_file():
                _add_page(files, config, target) if name.endswith(".md") else files.append(
                    File.generated(config, name, abs_src_path=str(ROOT / target))
                )
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links, and add titles to code blocks that are files."""
    text = links.rewritten(markdown, _ORIGINS[page.file.src_uri], page.file.src_uri)
    return re.sub(r"^```(\w+) file=(\S+)$", r'```\1 title="\2"', text, flags=re.MULTILINE)


def _add_page(files: Files, config: MkDocsConfig, origin: str) -> None:
    name = links.place(origin)
    _ORIGINS[name] = origin
    text, path = (ROOT / origin).read_text(encoding="utf-8"), ROOT / origin
    if not text.startswith("# "):  # a table of measurements, maybe with its chart
        chart = f"![{path.stem}]({path.stem}.svg)\n\n" if path.with_suffix(".svg").exists() else ""
        title = _TITLES.get(path.stem, path.stem.capitalize())
        text = f"{_NOT_SEARCHED}# {title}\n\n{chart}{text}"
    files.append(File.generated(config, name, content=text))


def _complete_stages(files: Files, config: MkDocsConfig) -> None:
    page = files.get_file_from_path(stages.PAGE)
    assert page is not None
    page.content_string, pictures = stages.completed(page.content_string)
    for name, svg in pictures.items():
        files.append(File.generated(config, name, content=svg))


def _compile_playground(files: Files, config: MkDocsConfig) -> None:
    page = files.get_file_from_path(playground.PAGE)
    assert page is not None
    for name, content in playground.library(page.content_string).items():
        files.append(File.generated(config, name, content=content))


def _benchmarks() -> list[str]:
    found = [ROOT / "benchmarks" / "misses.md", *sorted((ROOT / "benchmarks" / "results").glob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in found]


def _decisions() -> str:
    """The list of decisions by their titles."""
    lines = ["# Decisions", "", "Context, choice and cost of each decision, on half a page.", ""]
    for path in sorted((DOCS / "decisions").glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines) + "\n"

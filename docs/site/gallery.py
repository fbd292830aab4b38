"""The gallery: a page per example, with its docstring, picture, source and output."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Final

from links import ROOT

EXAMPLES: Final = ROOT / "examples"
GALLERY: Final = ROOT / "docs" / "gallery"
_LISTED: Final = {
    "Fits": (
        "logistic",
        "trust_region",
        "gaussian_process",
        "heavy_tails",
        "lifetimes",
        "spectrum",
        "power_flow",
        "eight_schools",
        "reaction",
        "shooting",
    ),
    "Networks": ("mlp", "convnet", "recurrent"),
    "Sparse": (
        "bundle_adjustment",
        "diffusion",
        "disease_map",
        "implicit_diffusion",
        "pagerank",
        "text_classification",
    ),
    "Many rows, many machines": ("out_of_core", "mixture_by_chunks", "poisson_on_dask", "logistic_with_mpi"),
}
"""Groups of the list; what none names comes last."""


def pages() -> dict[str, str]:
    """Path on the site → Markdown."""
    names = [path.stem for path in sorted(EXAMPLES.glob("*.py"))]
    return {"gallery/index.md": _index(names), **{f"gallery/{name}.md": _page(name) for name in names}}


def groups(names: list[str]) -> dict[str, list[str]]:
    """Title → the names of its examples."""
    rest = [name for name in names if not any(name in listed for listed in _LISTED.values())]
    found = {title: [name for name in listed if name in names] for title, listed in _LISTED.items()}
    return {**found, "More": rest}


def _index(names: list[str]) -> str:
    lines = [
        "# Gallery",
        "",
        "Programs that you can run, most of them on real data; the tests check their results.",
    ]
    for title, listed in groups(names).items():
        lines += ["", f"## {title}", "", '<div class="grid cards gallery" markdown>', ""]
        for name in listed:
            first = _prose(name)[0]
            lines += [
                f"- [![{name}]({_picture(name)})]({name}.md)\n\n    **[{_title(name)}]({name}.md)**\n\n    {first}",
                "",
            ]
        lines += ["</div>"]
    return "\n".join(lines) + "\n"


def _page(name: str) -> str:
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    lines = [f"# {_title(name)}", ""]
    lines += [f"![{name}]({_picture(name)})", ""]
    lines += [*(f"{paragraph}\n" for paragraph in _prose(name)), "## Output", ""]
    printed = GALLERY / f"{name}.txt"
    if printed.exists():
        lines += [f"```text\n{printed.read_text(encoding='utf-8').rstrip()}\n```", ""]
    else:
        lines += ["It needs several processes; the tests run it.", ""]
    lines += ["## The program", "", f'```python title="examples/{name}.py"', source.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def _picture(name: str) -> str:
    """The picture of an example: its own, else that of rounds if it uses them, else the general one."""
    if (GALLERY / f"{name}.svg").exists():
        return f"{name}.svg"
    return "../rounds.svg" if name in _LISTED["Many rows, many machines"] else "../road.svg"


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize().replace("jax", "JAX").replace("mpi", "MPI").replace("Mlp", "MLP")


def _prose(name: str) -> list[str]:
    """The paragraphs of an example's docstring, with indented text and commands as code."""
    text = ast.get_docstring(ast.parse(Path(EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))) or name
    found = []
    for paragraph in text.split("\n\n"):
        first_words = ("    ", "python ", "mpiexec ", "aotensor ", "pip ")
        if all(line.startswith(first_words) for line in paragraph.split("\n")):
            found.append(f"```text\n{textwrap.dedent(paragraph)}\n```")
        else:
            found.append(paragraph.replace("*", r"\*").replace("|", r"\|"))
    return found

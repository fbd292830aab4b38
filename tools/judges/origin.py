"""What was measured, and where: the line of all pages that names the commit of aotensor and the machine."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from aotensor.driver.common import package_version

ROOT: Final = Path(__file__).parents[2]


@cache
def commit(*folders: str) -> str:
    """The current commit, with a plus if files of these folders have changes; "" without git."""

    def git(*arguments: str) -> str:
        made = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
        return made.stdout.strip()

    try:
        return git("rev-parse", "--short=7", "HEAD") + "+" * bool(git("status", "--porcelain", "--", *folders))
    except (OSError, subprocess.CalledProcessError):
        return ""


def processor() -> str:
    """The name of the processor."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())


def origin() -> str:
    """What is measured now: version and commit of aotensor, and the machine."""
    where = commit("src", "runtime", "tools/judges")
    return f"aotensor {package_version()}{where and f' at {where}'}, {platform.machine()}, {processor()}"


def measured(origins: Mapping[str, str]) -> str:
    """The line of a page.   origins: of results by their names, that of most first; {} for one that is made now"""
    groups: dict[str, list[str]] = {}
    for name, where in origins.items():
        groups.setdefault(where, []).append(name)
    most, *others = sorted(groups or {origin(): []}, key=lambda where: -len(groups.get(where, [])))
    return f"Measured: {most}." + "".join(f" {', '.join(groups[where])}: {where}." for where in others)


def write_page(page: Path, text: str, origins: Mapping[str, str] | None = None) -> None:
    """Write a page with the line `measured` behind its title.   origins: as there"""
    title, _, rest = text.partition("\n\n")
    page.write_text(f"{title}\n\n{measured(origins or {})}\n\n{rest}", encoding="utf-8")

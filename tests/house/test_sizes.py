"""Files and folders that stay small enough to be read: a size that is passed asks a question."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from sources import PACKAGES, ROOT, sources

LARGEST_FILE = 400  # lines
LARGEST_FOLDER = 20  # Python files
ALLOWED = {"src/aotensor/ops": 40}  # one file per family of ops
TOOLS = ("tests", "tools", "benchmarks", "examples", "docs")


def python_files() -> list[Path]:
    others = (path for folder in TOOLS for path in (ROOT / folder).rglob("*.py"))
    return sorted({source.path for source in sources().values()} | set(others))


def test_files_stay_short() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()
    }
    assert {name: length for name, length in lengths.items() if length > LARGEST_FILE} == {}


def test_folders_stay_small() -> None:
    counts = Counter(str(source.path.parent.relative_to(ROOT)) for source in sources().values())
    assert {name: n for name, n in counts.items() if n > ALLOWED.get(name, LARGEST_FOLDER)} == {}


def test_every_folder_of_a_package_is_one() -> None:
    folders = {source.path.parent for source in sources().values()}
    missing = [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").exists()]
    assert sorted(missing) == []
    assert all(folder.is_dir() for folder in PACKAGES.values())

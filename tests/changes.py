"""What changed in the repository since a commit, and which recorded tests it reaches.

A changed function reaches the tests that run it. What cannot run reaches those of the functions around it:

- a class, or a method that nothing has run yet: the tests that run any method of the class;
- a statement with functions inside, such as an op of a table: the tests that run one, and the cases that have its name;
- a new function, or another statement: the tests of the functions that name it, and the cases that have its name;
- a row of a table: the cases that have the name of the row, or else what the table reaches;
- if none of these is known: the tests that run anything of the module;
- any file: the tests that read it, list its folder if it is new or gone, or hand its folder to a program.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from reach import FILE, Reach
from units import IMPORTS, Units, changed

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = ("src", "cli", "runtime", "tests", "tools", "benchmarks", "examples", "docs")
DEPTH: Final = 3
"""Names of names of names: so far from a statement of a module are the functions that show its value."""


class NoHistory(Exception):
    """Git does not tell what changed; the text says why."""


@dataclass(frozen=True)
class Change:
    """A file that differs: the names of its units that do, if it is one of Python's; is_moved: new or gone.

    words: those of the changed lines of a unit, such as `masked` of `if is_masked(x):`.
    """

    path: str
    units: frozenset[str] = frozenset()
    is_moved: bool = False
    words: frozenset[str] = frozenset()


@dataclass
class Affected:
    """Tests by their positions in the record; readers see files as texts, new ones are functions or files by id.

    guessed: test files without any record that import what changed, or have its name.
    """

    tests: set[int] = field(default_factory=set)
    readers: set[int] = field(default_factory=set)
    new: set[str] = field(default_factory=set)
    guessed: set[str] = field(default_factory=set)
    unreached: list[str] = field(default_factory=list)


def base_of(given: str | None) -> tuple[str, str]:
    """(commit, how it is called) that changes count from: what was asked for, or what is not upstream yet.

    Without an upstream: the last commit, or the one before if nothing has changed since the last.
    """
    if given is not None:
        return _git("rev-parse", "--verify", f"{given}^{{commit}}").strip(), given
    try:
        upstream = _git("rev-parse", "--abbrev-ref", "@{upstream}").strip()
        base = _git("merge-base", "HEAD", upstream).strip()
        if base != _git("rev-parse", "HEAD").strip() or _is_dirty():
            return base, f"the last commit that {upstream} has"
    except NoHistory:
        pass
    if _is_dirty():
        return _git("rev-parse", "HEAD").strip(), "the last commit"
    return _git("rev-parse", "HEAD~1").strip(), "the commit before the last one, as nothing is uncommitted"


def changes_since(base: str) -> list[Change]:
    """The files that differ between a commit and the working tree, new ones included.

    Raises: NoHistory; SyntaxError for a file that Python cannot read
    """
    lines = _git("diff", "--name-status", "--no-renames", "-z", base).split("\0")[:-1]
    found = list(zip(lines[1::2], lines[::2], strict=True))
    found += [(path, "A") for path in _git("ls-files", "-o", "--exclude-standard", "-z").split("\0") if path]
    return [change for path, status in sorted(found) if (change := _change(base, path, status)).path != _RECORD]


_RECORD: Final = str(FILE.relative_to(ROOT))


def _change(base: str, path: str, status: str) -> Change:
    is_moved = status in "AD"
    if not path.endswith(".py"):
        return Change(path, is_moved=is_moved)
    old = "" if status == "A" else _git("show", f"{base}:{path}")
    new = "" if status == "D" else (ROOT / path).read_text(encoding="utf-8")
    try:
        return Change(
            path, frozenset(changed(old, new)), is_moved, _words_of({*old.splitlines()} ^ {*new.splitlines()})
        )
    except SyntaxError as error:
        raise SyntaxError(f"{path}:{error.lineno}: {error.msg}") from error


def _words_of(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(word for line in lines for word in plain(line).split("-") if len(word) > 2)


def _is_dirty() -> bool:
    return bool(_git("status", "--porcelain", "-uall").strip())


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoHistory("git is not installed") from error
    if done.returncode:
        raise NoHistory((done.stderr.strip() or "git failed").splitlines()[0])
    return done.stdout


# --- from changes to tests -------------------------------------------------------------------------------------------


class Search:
    """Finds the tests that changes reach, by a record."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.units: Final = frozenset(reach.units)
        self.sizes: Final = reach.sizes()

    def tests_of(self, changes: list[Change]) -> Affected:
        """The tests of several changes."""
        found = Affected()
        for change in changes:
            found.readers |= self._readers(change)
            if not change.path.startswith(tuple(f"{folder}/" for folder in SOURCES)):
                continue
            found.guessed |= {*self._guessed(change.path)}
            names = change.units - {IMPORTS} or change.units  # imports alone reach what the module does
            for name in sorted(names):
                if change.path.rpartition("/")[2].startswith("test_") and name.startswith("test_"):
                    found.new.add(f"{change.path}::{name}")
                    continue
                tests = self.of_unit(change.path, name)
                files = [*self._importers(change.path)] if not tests else []
                tests |= {test for file in files for test in self.of_file(file)}
                found.tests |= tests
                found.new |= {file for file in files if not self.of_file(file)}
                if not tests and not files:
                    found.unreached.append(f"{change.path}: {name}")
        return found

    def of_file(self, path: str) -> list[int]:
        """The tests of a file."""
        return [k for k, test in enumerate(self.reach.tests) if test.startswith(f"{path}::")]

    def of_unit(self, path: str, name: str) -> set[int]:
        """The tests that a unit reaches."""
        tests = self._near(path, name, DEPTH, set())
        return tests or self._of_all(path, "")

    def _near(self, path: str, name: str, depth: int, seen: set[tuple[str, str]]) -> set[int]:
        if (path, name) in seen or name == IMPORTS:
            return set()
        seen.add((path, name))
        tests = {*self.reach.tests_of(f"{path}::{name}")}
        owner = name.rpartition(".")[0]
        is_class = any(unit.startswith(f"{path}::{name}.") for unit in self.units)
        if is_class or (owner and not tests):
            return tests | self._of_all(path, f"{name if is_class else owner}.")
        table, _, key = name.partition("[")
        if key:
            words = re.findall(r"\w+", key)
            rows = {row for word in words[:1] for row in self.named(word)}
            return tests | rows or self._near(path, table, depth, seen)
        if not depth or (tests and not _is_statement(path, name)):
            return tests
        runs = bool(tests)  # functions inside of a statement, such as the rules of an op
        for word in name.split(","):
            tests |= self.named(word) if not word.startswith("_") else set()
            for file, unit in _naming(word, path) if not runs else ():
                tests |= self._near(file, unit, depth - 1, seen)
        return tests

    def _of_all(self, path: str, prefix: str) -> set[int]:
        """The tests that run any unit of a file whose name has a prefix."""
        start = f"{path}::{prefix}"
        return {test for unit in self.units if unit.startswith(start) for test in self.reach.tests_of(unit)}

    @cache  # noqa: B019  (one search in a process)
    def named(self, word: str) -> frozenset[int]:
        """The tests whose case has a name among its words, or their function if it has no cases.

        A row of a table of tests that has the name as a text, `Row("loops are one", without_pass("fuse"))`, counts too.
        """
        if len(word) < 2:
            return frozenset()
        pattern = re.compile(rf"(?<![a-z0-9]){re.escape(plain(word))}(?![a-z0-9])")
        rows = {plain(row) for row in _rows_with(plain(word))}
        return frozenset(k for k, test in enumerate(self._plain) if test in rows or pattern.search(test))

    def with_words(self, words: Iterable[str], most: int) -> set[int]:
        """The tests whose case, or function, has one of some words, of those words that at most so many tests have."""
        if not hasattr(self, "_by_word"):
            self._by_word: defaultdict[str, set[int]] = defaultdict(set)
            for k, text in enumerate(self._plain):
                for word in text.split("-"):
                    self._by_word[word].add(k)
        return {k for word in words if len(self._by_word.get(word, ())) <= most for k in self._by_word.get(word, ())}

    @property
    def _plain(self) -> list[str]:
        if not hasattr(self, "_texts"):
            self._texts = [plain(test.partition("[")[2] or test.rpartition("::")[2]) for test in self.reach.tests]
        return self._texts

    def _readers(self, change: Change) -> set[int]:
        folder = change.path.rpartition("/")[0]
        units = [change.path, *([f"{folder}/"] if change.is_moved else [])]
        parts = change.path.split("/")
        units += ["/".join(parts[:k]) + "/**" for k in range(1, len(parts))]
        return {test for unit in units for test in self.reach.tests_of(unit)}

    def _guessed(self, path: str) -> Iterator[str]:
        """Test files without a record that import a module, or have its name."""
        recorded = {test.partition("::")[0] for test in self.reach.tests}
        parts = Path(path).with_suffix("").parts[1 if path.startswith(("src/", "cli/", "runtime/")) else 0 :]
        module, package = ".".join(parts), ".".join(parts[:-1])
        pattern = re.compile(rf"^(from|import) {module}\b|^from {package or '-'} import .*\b{parts[-1]}\b", re.M)
        for file, text in _texts().items():
            is_new = file.startswith("tests/") and Path(file).name.startswith("test_") and file not in recorded
            if is_new and (f"-{plain(parts[-1])}-" in f"-{plain(Path(file).stem)}-" or pattern.search(text)):
                yield file

    def _importers(self, path: str) -> Iterator[str]:
        """Test files that import a module of the tests, or lie below a conftest; a test file itself."""
        if not path.startswith("tests/") or not (ROOT / path).exists():
            return
        name = Path(path).stem
        if name.startswith("test_"):
            yield path
        for file in sorted((ROOT / path).parent.rglob("test_*.py")):
            if name == "conftest" or re.search(rf"^(from|import) {name}\b", file.read_text(encoding="utf-8"), re.M):
                yield str(file.relative_to(ROOT))


def plain(name: str) -> str:
    """A name as it is written in cases of tests: `NestFuse` and `nest_fuse` are nest-fuse."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _rows_with(text: str) -> Iterator[str]:
    """The names of rows in the tests, `Row("name", …)`, that have another text inside."""
    for file, source in _texts().items():
        if file.startswith("tests/") and f'"{text}"' in source:
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                    inner = [x.value for x in ast.walk(node) if isinstance(x, ast.Constant)]
                    if text in inner[1:] and isinstance(inner[0], str):
                        yield inner[0]


@cache
def _texts() -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for folder in SOURCES
        for path in (ROOT / folder).rglob("*.py")
    }


@cache
def _parsed(path: str) -> Units:
    return Units(_texts().get(path, ""))


def _is_statement(path: str, name: str) -> bool:
    """True for a unit that is neither a function nor a class."""
    nodes = [node for unit in _parsed(path).all if unit.name == name for node in unit.nodes]
    return not any(type(node).__name__.endswith("FunctionDef") for node in nodes)


@cache
def _naming(word: str, path: str) -> list[tuple[str, str]]:
    """(file, unit) of those that use a name: in the file that defines it, or in one that imports it."""
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    files = [file for file, text in _texts().items() if word in text and pattern.search(text)]
    stem = Path(path).stem
    defines = Path(path).parent.name if stem.startswith("__") else stem
    others = [] if word.startswith("_") else files  # a private name stays in its file
    near = [
        file
        for file in {path, *others} & {*files}
        if file == path or re.search(rf"\b{re.escape(defines)}\b", _texts()[file])
    ]
    return [
        (file, unit.name)
        for file in near
        for unit in _parsed(file).all
        if word in unit.words and not (file == path and unit.name == word)
    ]

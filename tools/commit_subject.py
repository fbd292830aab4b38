"""Checks the subject of a commit: `area: imperative`, at most 72 characters.

python -m tools.commit_subject FILE    the message in a file, as a commit-msg hook of git gives it
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

LONGEST: Final = 72
_FORM: Final = re.compile(r"[a-z0-9][\w ,./-]*: \S.*[^.\s]")
_GENERATED: Final = ("Merge ", "Revert ", "fixup! ", "squash! ")


def fault(subject: str) -> str | None:
    """The fault of a subject; None if it is right."""
    if subject.startswith(_GENERATED):
        return None
    if len(subject) > LONGEST:
        return f"{len(subject)} characters, at most {LONGEST}"
    if not _FORM.fullmatch(subject):
        return "not 'area: imperative', as in 'fuse: join loops of equal extent'"
    verb = subject.partition(": ")[2].split()[0]
    if verb[0].isupper() or (verb.endswith(("ing", "ed")) and verb not in ("bring", "embed", "feed", "need", "string")):
        return f"'{verb}' is not an imperative in lower case"
    return None


def main(arguments: list[str]) -> int:
    """Check the message in a file; the exit status is 1 if its subject is wrong."""
    (subject, *_), *_ = [Path(path).read_text(encoding="utf-8").splitlines() or [""] for path in arguments]
    found = fault(subject)
    if found:
        sys.stderr.write(f"commit subject: {found}\n  {subject}\n")
    return int(found is not None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

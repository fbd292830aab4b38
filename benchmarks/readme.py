"""Copies what the tables say into docs/speed.md, between the marks that are there: `python benchmarks/readme.py`.

<!-- speed -->  ...  <!-- end of speed -->
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from harness import HERE, RESULTS
from targets import summary

PAGE = HERE.parent / "docs" / "speed.md"
TABLES = ("speed", "sparse")


def updated(text: str, results: Path) -> str:
    """The text with the rows of the table's own size.   Raises: ValueError without the marks"""
    for name in TABLES:
        found = json.loads((results / f"{name}.json").read_text())
        rows = summary(record for record in found["cases"] if record.get("scale", 1.0) == 1.0)
        inside = f"<!-- {name} -->\n{rows}\n<!-- end of {name} -->"
        text, count = re.subn(f"<!-- {name} -->.*?<!-- end of {name} -->", lambda _, x=inside: x, text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"docs/speed.md has no place for the table {name}")
    return text


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(), RESULTS))

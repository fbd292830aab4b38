"""Compare derivatives of imported programs with those of their frameworks, and write the tables in docs.

python -m tools.derivatives jax                 what differs; the exit status says whether it has no reason
python -m tools.derivatives jax --write         docs/jax_derivatives.md
python -m tools.derivatives pytensor            the same for PyTensor, docs/pytensor_derivatives.md
"""

from __future__ import annotations

import importlib
import sys


def main() -> None:
    """Run the table of one framework with the rest of the arguments."""
    names = ("jax", "pytensor")
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        raise SystemExit(f"{__doc__}\nexpected one of: {', '.join(names)}")
    importlib.import_module(f"tools.derivatives.{sys.argv[1]}").main(sys.argv[2:])


if __name__ == "__main__":
    main()

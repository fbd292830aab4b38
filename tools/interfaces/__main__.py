"""`python -m tools.interfaces NAME`"""

from __future__ import annotations

import importlib
import sys

if __name__ == "__main__":
    names = ("bridgestan", "casadi", "ceres")
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        sys.exit(f"one of {', '.join(names)} is expected")
    importlib.import_module(f"tools.interfaces.{sys.argv[1]}_speed").main()

"""The typed IR: builders over xDSL, our dialect, the forms of each stage, and an interpreter.

xDSL installs a finder on `sys.meta_path`, which queries the current folder whenever an import fails: if that folder was
deleted, each such import of the user's program raises FileNotFoundError. This package does not need the finder and
removes it, unless the user's program has loaded xDSL before.
"""

import sys

if "xdsl.dialects" not in sys.modules:
    _before = list(sys.meta_path)
    import xdsl.dialects  # noqa: F401

    sys.meta_path[:] = [finder for finder in sys.meta_path if finder in _before]

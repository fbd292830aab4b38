"""The typed IR: builders over xDSL, our dialect, the forms that stages keep, and an interpreter.

xDSL puts a finder of its own on `sys.meta_path`, which asks for the current folder whenever an import fails: where that
folder is gone, each such import of the user's program is a FileNotFoundError. Nothing here needs it, so it is removed,
unless the user's program has loaded xDSL before.
"""

import sys

if "xdsl.dialects" not in sys.modules:
    _before = list(sys.meta_path)
    import xdsl.dialects  # noqa: F401

    sys.meta_path[:] = [finder for finder in sys.meta_path if finder in _before]

"""Passes over the IR: each file is named after its pass, and `pipeline.py` lists them in order."""

import aotensor.ir  # noqa: F401  (before xDSL)

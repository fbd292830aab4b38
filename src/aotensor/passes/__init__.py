"""Passes over the IR: each file is named for its pass, `pipeline.RECIPE` lists them in order."""

import aotensor.ir  # noqa: F401  (before xDSL)

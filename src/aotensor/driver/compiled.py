"""What `Function` needs of the compiler, behind one late import: xDSL and LLVM load at the first compile."""

from __future__ import annotations

from aotensor.driver.artifact import Artifact, library_bytes, write_artifact
from aotensor.driver.debug import checked_call
from aotensor.driver.recipe import Options, stage_text
from aotensor.driver.verify import verify_function

__all__ = ["Artifact", "Options", "checked_call", "library_bytes", "stage_text", "verify_function", "write_artifact"]

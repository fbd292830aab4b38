"""Import ONNX models as Functions.

from aotensor.importers.onnx import from_onnx

f = from_onnx("model.onnx")
f(x=...)  # {"y": ...}; aot.compile(f, "build") writes a library
"""

try:
    import onnx  # noqa: F401  (the modules below need it)
except ImportError as error:
    raise ModuleNotFoundError(
        f"aotensor.importers.onnx needs the package onnx ({error}): pip install 'aotensor[onnx]'", name="onnx"
    ) from error

from aotensor.importers.errors import NoCounterpart
from aotensor.importers.onnx.functions import from_onnx
from aotensor.importers.onnx.rules import COUNTERPARTS

__all__ = ["COUNTERPARTS", "NoCounterpart", "from_onnx"]

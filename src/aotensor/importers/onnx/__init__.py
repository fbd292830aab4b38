"""Models in ONNX files as Functions of ours.

from aotensor.importers.onnx import from_onnx

f = from_onnx("model.onnx")
f(x=...)  # {"y": ...}; aot.compile(f, "build") writes a library
"""

from aotensor.importers.errors import NoCounterpart
from aotensor.importers.onnx.functions import from_onnx

__all__ = ["NoCounterpart", "from_onnx"]

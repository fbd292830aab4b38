"""One model in a process of its own: values, sizes and times beside onnxruntime's, as JSON on standard output.

    python -m tools.judges.onnx.worker MODEL FOLDER values
    python -m tools.judges.onnx.worker MODEL FOLDER gradient

FOLDER holds the wheels. The library is made of the file as it is; where aotensor needs to know extents, those of the
inputs are given.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime
from tools.judges.onnx.doubles import doubled
from tools.judges.onnx.models import MODELS, Arrays, Shipped, inputs_of, wheel_of
from tools.judges.workers import in_turns, shortest

import aotensor as aot
from aotensor.errors import AotensorError
from aotensor.importers.onnx import from_onnx
from aotensor.importers.onnx.functions import FixedExtents, function_of

TIMING: Final = 1.0
"""Seconds of timing for each figure."""

CLOSE_GRADIENT: Final = 1e-3
"""How much a gradient of float32 may differ from differences in float64 along a direction."""

SLOW: Final = 5.0
"""Seconds of an evaluation by the reference from which on differences are of compiled code."""

BESIDE: Final = 1e-3
"""Distance of the point of a gradient from an input of a file, relative to its root mean square."""

STEPS: Final = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
"""Steps of central differences, relative to the root mean square of what is changed. Networks with millions of kinks,
such as pdnsmos sig_bak_ovr, have some within all but the last one."""


def session_of(model: Path, threads: int) -> Any:
    """A session of onnxruntime with its default optimisations."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def caller(session: Any, inputs: Arrays) -> Callable[[], Any]:
    """A call on bound buffers, or by names if the model's outputs have other ranks than declared."""
    binding = session.io_binding()
    for name, x in inputs.items():
        binding.bind_cpu_input(name, np.ascontiguousarray(x))
    for item in session.get_outputs():
        binding.bind_output(item.name)
    try:
        for _ in range(2):  # the first makes the buffers, which the second writes into
            session.run_with_iobinding(binding)
    except RuntimeError:
        return lambda: session.run(None, inputs)
    return lambda: session.run_with_iobinding(binding)


def difference(found: Any, wanted: Any) -> float:
    """The largest difference relative to the largest element; inf for other shapes, dtypes or places of nan."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return float("inf")
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted)) if wanted.dtype.kind == "f" else found == wanted
    if same.all():
        return 0.0
    apart = np.abs(found.astype("float64") - wanted.astype("float64"))[~same]
    largest = np.abs(wanted[np.isfinite(wanted)].astype("float64")).max(initial=0)
    return float(apart.max() / max(largest, 1e-30)) if np.isfinite(apart).all() else float("inf")


class Measured:
    """The measurements of a model. facts: results by name"""

    def __init__(self, model: Shipped, wheel: Path, folder: Path) -> None:
        self.model, self.facts = model, dict[str, Any]()
        rng = np.random.default_rng(0)
        with zipfile.ZipFile(wheel) as archive:
            self.path = Path(archive.extract(model.path, folder))
            self.inputs = [inputs_of(model, rng), inputs_of(model, rng)]
            real = model.real(archive, model) if model.real is not None else []
        self.facts["real"] = len(real)
        self.inputs += [{name: np.ascontiguousarray(x) for name, x in inputs.items()} for inputs in real]

    def imported(self, **options: Any) -> aot.Function:
        """The Function of the file, imported with fixed extents of the inputs if it is refused with dynamic ones.

        Raises: AotensorError where both are
        """
        try:
            return from_onnx(self.path, name="model", **options)
        except AotensorError as error:
            self.facts["open"] = _first_lines(error)
            shapes = {name: x.shape for name, x in self.inputs[0].items()}
            return from_onnx(self.path, name="model", shapes=shapes, **options)

    def compare(self) -> None:
        """Compile, and compare values, sizes and times with onnxruntime's."""
        facts = self.facts
        began, ready = process_time(), perf_counter()
        function = self.imported()
        facts["import"] = process_time() - began
        made = aot.compile(function, tempfile.mkdtemp())
        facts["compile"] = process_time() - began
        facts["bytes"] = Path(made.library).stat().st_size
        library = made.load().model
        library(*self.inputs[0].values())
        facts["first"] = perf_counter() - ready
        ready = perf_counter()
        session = session_of(self.path, 1)
        session.run(None, self.inputs[0])
        facts["first_theirs"] = perf_counter() - ready
        facts["file"] = self.path.stat().st_size
        errors, theirs = [], []
        for inputs in self.inputs:
            wanted = session.run(None, inputs)
            for ulps in (1, 2, 3):
                near = {
                    k: (x * (1 + ulps * 2.0**-23)).astype(x.dtype) if x.dtype == np.float32 else x
                    for k, x in inputs.items()
                }
                theirs.append(max(difference(x, y) for x, y in zip(session.run(None, near), wanted, strict=True)))
            found = library(*inputs.values())
            errors.append(max(difference(x, y) for x, y in zip(found.values(), wanted, strict=True)))
        facts["error"], facts["error_theirs"] = max(errors), max(theirs)
        names = [item.name for item in library.spec.inputs]
        for threads in (1, 2):
            arrays = dict(zip(names, self.inputs[0].values(), strict=True))
            calls = library.bind(num_threads=threads, **arrays), caller(session_of(self.path, threads), self.inputs[0])
            clock = thread_time if threads == 1 else perf_counter
            facts[f"call{threads}"], facts[f"theirs{threads}"] = in_turns(calls, TIMING, clock)

    def differentiate(self) -> None:
        """Compile the gradient of a random sum of the first output, and check it by differences."""
        facts, inputs = self.facts, self.inputs[-1]
        slope = self._slope_name()
        facts["wrt"] = slope
        if slope in inputs and facts["real"]:
            inputs = inputs | {slope: _beside(inputs[slope])}
        if any(node.op_type == "DynamicQuantizeLinear" for node in onnx.load(self.path).graph.node):
            raise ValueError("not checked: the model rounds its input to bytes, so that it has no differences")
        began = process_time()
        function = self.imported(**({} if slope in inputs else {"trainable": slope}))
        rng = np.random.default_rng(1)
        session = session_of(self.path, 1)
        first = np.asarray(session.run(None, inputs)[0])
        weights = rng.normal(size=first.shape).astype(first.dtype)
        position = list(inputs).index(slope) if slope in inputs else None
        gradient = gradient_of(function, weights, position)
        made = aot.compile(gradient, tempfile.mkdtemp())
        facts["compile_gradient"] = process_time() - began
        facts["bytes_gradient"] = Path(made.library).stat().st_size
        library = made.load().gradient
        found = library(*inputs.values())["slope"]
        facts["error_gradient"] = self._by_differences(slope, inputs, weights, np.asarray(found, "float64"))
        names = [item.name for item in library.spec.inputs]
        known = dict(zip(names, inputs.values(), strict=False))
        [facts["gradient1"]] = in_turns([library.bind(num_threads=1, **known)], TIMING, thread_time)
        facts["gradient2"] = shortest(library.bind(num_threads=2, **known), TIMING)

    def _slope_name(self) -> str:
        """The first floating-point input, else the largest floating-point initializer."""
        for name, x in self.inputs[0].items():
            if x.dtype.kind == "f":
                return name
        graph = onnx.load(self.path).graph
        floats = [item for item in graph.initializer if item.data_type == onnx.TensorProto.FLOAT]
        return str(max(floats, key=lambda item: np.prod(item.dims)).name)

    def _by_differences(self, slope: str, inputs: Arrays, weights: Any, found: Any) -> float:
        """The least relative difference between found·d and central differences along a direction d, over all steps.

        The differences are of the reference, in float64, or, where one evaluation takes longer than SLOW, of the value
        compiled for float64 once it equals the reference at the point. The direction leans to the gradient, so that the
        sum does not cancel. Where float32 is far from them, `error_double` is the same of the gradient compiled for
        float64.
        """
        model = doubled(onnx.load(self.path))
        wide = {name: x.astype("float64") if x.dtype == np.float32 else x for name, x in inputs.items()}
        shapes = {name: x.shape for name, x in inputs.items()}
        trainable = () if slope in inputs else (slope,)
        function = function_of(model, None, "doubled", fixed=FixedExtents({}, shapes), trainable=trainable)
        x = wide[slope] if slope in inputs else function.shared[0].get_value()
        norm = float(np.sqrt(np.mean(np.square(found)))) or 1.0
        direction = np.random.default_rng(2).normal(size=x.shape) + found / norm

        def value(point: Any, evaluate: Callable[..., Any] = function.reference) -> float:
            if slope not in inputs:
                function.shared[0].set_value(point)
            given = {**wide, slope: point} if slope in inputs else wide
            results = evaluate(*given.values())
            return float((next(iter(results.values())) * weights.astype("float64")).sum())

        began = perf_counter()
        exact_value = value(x)
        if slope in inputs and perf_counter() - began > SLOW:
            compiled = aot.compile(function, tempfile.mkdtemp()).load()[function.name]
            if _relative(value(x, compiled), exact_value) > 1e-12:
                raise ValueError("the value compiled for float64 differs from the reference")
            value = partial(value, evaluate=compiled)
        steps = [step * (float(np.sqrt(np.mean(np.square(x)))) or 1.0) for step in STEPS]
        wanted: list[float] = []
        for h in steps:  # smaller ones where kinks are near
            wanted.append((value(x + h * direction) - value(x - h * direction)) / (2 * h))
            error = min(_relative(float((found * direction).sum()), one) for one in wanted)
            if error <= CLOSE_GRADIENT:
                break
        if error > CLOSE_GRADIENT:
            if slope not in inputs:
                function.shared[0].set_value(x)
            position = list(inputs).index(slope) if slope in inputs else None
            gradient = gradient_of(function, weights.astype("float64"), position)
            exact = aot.compile(gradient, tempfile.mkdtemp()).load().gradient(*wide.values())["slope"]
            self.facts["error_double"] = min(_relative(float((exact * direction).sum()), one) for one in wanted)
        return error


def _beside(x: Any) -> Any:
    """A random point near an array.

    Flat areas of a picture give equal elements in maxima and zeros in rectifiers, where a network has no derivative.
    """
    size = float(np.sqrt(np.mean(np.square(x, dtype="float64")))) or 1.0
    return (x + BESIDE * size * np.random.default_rng(3).normal(size=x.shape)).astype(x.dtype)


def gradient_of(function: aot.Function, weights: Any, position: int | None) -> aot.Function:
    """A weighted sum of the first output, and its gradient with respect to an input or the shared variable."""
    loss = (next(iter(function.outputs.values())) * weights).sum()
    [x] = function.shared if position is None else [function.inputs[position]]
    outputs = {"loss": loss, "slope": aot.grad(loss, x)}
    return aot.function(function.inputs, outputs, name="gradient", on_unused_input="ignore")


def _relative(found: float, wanted: float) -> float:
    return abs(found - wanted) / max(abs(found), abs(wanted), 1e-30)


def _first_lines(error: BaseException) -> str:
    """The first lines of an error, joined to one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("hint")]
    return f"{type(error).__name__}: {'; '.join(lines[:3])}"[:400].rstrip()


def main(name: str, folder: str, part: str) -> None:
    """Print the measurements of a model, or {"failed": reason}.   part: values or gradient"""
    [model] = [model for model in MODELS if model.name == name]
    wheel = wheel_of(Path(folder), model.package)
    assert wheel is not None
    with tempfile.TemporaryDirectory() as place:
        one = Measured(model, wheel, Path(place))
        try:
            one.compare() if part == "values" else one.differentiate()
        except Exception as error:  # a refusal or a bug: a row either way
            one.facts["failed"] = _first_lines(error)
    sys.stdout.write("\n" + json.dumps(one.facts) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

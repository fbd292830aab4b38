"""The interface `onnx.backend.base.Backend`: models and nodes in memory, run by aotensor.

    import aotensor.importers.onnx.backend as backend
    from onnx.backend.test import BackendTest

    [y] = backend.run_model(model, [x])
    globals().update(BackendTest(backend.AotensorBackend, __name__).test_cases)  # for pytest

What aotensor cannot compile is refused with `Refused`, which test suites count as skipped.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

import aotensor as aot
from aotensor.errors import ArgumentTypeError, OptionError, UnsupportedError
from aotensor.importers.errors import NoCounterpart, Untranslated
from aotensor.importers.names import function_name
from aotensor.importers.onnx.functions import function_of
from aotensor.importers.onnx.model import OLDEST, opsets_of

__all__ = [
    "AotensorBackend",
    "AotensorRep",
    "Refused",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]

_LONGEST: Final = 64
"""Elements of an input whose values a library may be made for."""


class Refused(UnsupportedError, unittest.SkipTest):
    """A model that aotensor cannot compile; ONNX's test suite counts it as skipped.

    operations: the unsupported ones, each with its reason and node.
    """

    operations: Sequence[Untranslated] = ()


class AotensorRep(BackendRep):  # type: ignore[misc]  # onnx is not typed where it is not installed
    """A model that is ready to run. function: its Function, None if values of inputs are needed to build it Some
    operators need values when the model is imported, such as the axes of a reduction. Where inputs give them, a
    library is made for each combination of values that `run` receives.
    """

    def __init__(self, model: Any, evaluate: str = "compiled") -> None:
        """Raises: Refused, and GraphError for a model that contradicts itself; OptionError for another `evaluate`"""
        if evaluate not in ("compiled", "reference"):
            raise OptionError(f"prepare: evaluate must be 'compiled' or 'reference', not {evaluate!r}")
        self._model, self._evaluate = model, evaluate
        self._name = function_name(model.graph.name, "model")
        embedded = {item.name for item in model.graph.initializer}
        self._inputs = [item for item in model.graph.input if item.name not in embedded]
        self._special = dict[tuple[Any, ...], aot.Function]()
        self._outputs = namedtupledict("Outputs", [item.name for item in model.graph.output])
        self._refusal: UnsupportedError | None = None
        self.function: aot.Function | None = None
        _check_opsets(model)
        try:
            self.function = function_of(model, None, self._name)
        except UnsupportedError as error:
            if not any(map(_may_be_embedded, self._inputs)):
                raise _refused(error) from error
            self._refusal = error

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """The outputs as a named tuple, in the order of the graph.

        inputs: arrays in the order of the graph's inputs, or by name; one array for a model with one input.

        Raises: ArgumentTypeError for another number of inputs, or options, and as a Function does; Refused where the
        model cannot be compiled with the values of its inputs known, either.
        """
        if kwargs:
            raise ArgumentTypeError(f"run: unknown option {next(iter(kwargs))!r}; run accepts none")
        function, arguments = self.specialised(self._arrays(inputs))
        try:
            results = function.reference(*arguments) if self._evaluate == "reference" else function(*arguments)
        except UnsupportedError as error:
            raise _refused(error) from error
        return self._outputs(*results.values())

    def _arrays(self, inputs: Any) -> list[Any]:
        if isinstance(inputs, Mapping):
            names = [item.name for item in self._inputs]
            if set(inputs) != set(names):
                raise ArgumentTypeError(f"run: expected the inputs {names}, found {sorted(inputs)}")
            inputs = [inputs[name] for name in names]
        elif not isinstance(inputs, Sequence):
            inputs = [inputs]
        if len(inputs) != len(self._inputs):
            raise ArgumentTypeError(f"run: expected {len(self._inputs)} inputs, found {len(inputs)}")
        return [numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x for x in inputs]

    def specialised(self, inputs: Sequence[Any]) -> tuple[aot.Function, list[Any]]:
        """The Function for these inputs, and its arguments: the inputs whose values are not constants in it.

        Raises: Refused
        """
        if self.function is not None:
            return self.function, list(inputs)
        pairs = list(zip(self._inputs, inputs, strict=True))
        known = {item.name: np.asarray(x) for item, x in pairs if _may_be_embedded(item) and _is_short(x)}
        key = tuple((name, x.dtype.str, x.shape, x.tobytes()) for name, x in known.items())
        if key not in self._special:
            model = onnx.ModelProto()
            model.CopyFrom(self._model)
            model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in known.items())
            try:
                self._special[key] = function_of(model, None, self._name)
            except UnsupportedError as error:
                assert self._refusal is not None
                raise _refused(error if isinstance(error, NoCounterpart) else self._refusal) from error
        return self._special[key], [x for item, x in pairs if item.name not in known]


class AotensorBackend(Backend):  # type: ignore[misc]
    """The backend as a class, for `onnx.backend.test.BackendTest`."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Can the model be compiled, as far as this is known without values of its inputs?"""
        try:
            cls.prepare(model, device, **kwargs)
        except Refused:
            return False
        return True

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", *, evaluate: str = "compiled", **kwargs: Any) -> AotensorRep:
        """Import and compile a model. device: "CPU". evaluate: "compiled" code, or the "reference"

        Raises: Refused for a model that aotensor cannot compile, and another device; onnx's ValidationError for one
        that is not valid; OptionError for options that there are not.
        """
        unknown = sorted(set(kwargs) - {"rtol", "atol"})  # those of the test suite
        if unknown:
            raise OptionError(f"prepare: unknown option {unknown[0]!r}", hint="the only option is evaluate")
        if not cls.supports_device(device):
            raise Refused(f"device {device!r}: aotensor compiles for the CPU only")
        return AotensorRep(model, evaluate)

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        """Run a model: `prepare(model).run(inputs)`.   Raises: as both"""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: Any,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        *,
        opset_version: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run one node, by the newest version of the standard operators unless `opset_version` is given.

        inputs: in the node's order, without those that it leaves out, or by name. outputs_info: dtypes and shapes,
        which follow from the node and are not needed.

        Raises: as `run_model`.
        """
        names = [name for name in dict.fromkeys(node.input) if name]
        if isinstance(inputs, Mapping):
            arrays = [np.asarray(inputs[name]) for name in names]
        else:
            given = inputs if isinstance(inputs, Sequence) else [inputs]
            [*values] = (name for name in node.input if name)
            if len(given) != len(values):
                raise ArgumentTypeError(f"run_node: expected {len(values)} inputs, found {len(given)}")
            by_name = dict(zip(values, map(np.asarray, given), strict=True))
            arrays = [by_name[name] for name in names]
        pairs = zip(names, arrays, strict=True)
        infos = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in pairs
        ]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        version = onnx.defs.onnx_opset_version() if opset_version is None else opset_version
        opsets = [onnx.helper.make_opsetid("", version)]
        if node.domain not in ("", "ai.onnx"):
            newest = onnx.defs.get_schema(node.op_type, domain=node.domain).since_version
            opsets.append(onnx.helper.make_opsetid(node.domain, newest))
        graph = onnx.helper.make_graph([node], node.op_type, infos, outputs)
        return cls.run_model(onnx.helper.make_model(graph, opset_imports=opsets), arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Is it the CPU?"""
        try:
            return bool(Device(device).type == DeviceType.CPU)
        except AttributeError:  # a name that onnx does not know
            return False


def _check_opsets(model: Any) -> None:
    """Raises: Refused for a model of an unsupported opset"""
    version = opsets_of(model).get("", OLDEST)
    if version < OLDEST:
        raise Refused(f"its operators are of opset {version}, and the oldest supported opset is {OLDEST}")


def _refused(error: UnsupportedError) -> Refused:
    found = error.diagnostic
    refused = Refused(found.title, lines=found.lines, hint=found.hint)
    refused.operations = error.operations if isinstance(error, NoCounterpart) else ()
    return refused


def _may_be_embedded(item: Any) -> bool:
    """May a rule need the values of this input at import? So it is for short integer vectors, scalars, and scales or
    regions of Resize.
    """
    tensor = item.type.tensor_type
    if item.type.WhichOneof("value") != "tensor_type":
        return False
    extents = [dim.dim_value if dim.HasField("dim_value") else 1 for dim in tensor.shape.dim]
    count = int(np.prod(extents, dtype=np.int64))
    kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)).kind
    return (kind in "iub" and count <= _LONGEST) or count == 1 or (len(extents) == 1 and count <= 2 * _AXES)


_AXES: Final = 8
"""Axes of a tensor, of each of which an input may say something."""


def _is_short(x: Any) -> bool:
    return int(np.asarray(x).size) <= _LONGEST


is_compatible: Callable[..., bool] = AotensorBackend.is_compatible
prepare: Callable[..., AotensorRep] = AotensorBackend.prepare
run_model: Callable[..., Any] = AotensorBackend.run_model
run_node: Callable[..., Any] = AotensorBackend.run_node
supports_device: Callable[[str], bool] = AotensorBackend.supports_device

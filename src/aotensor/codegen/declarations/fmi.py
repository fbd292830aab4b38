"""modelDescription.xml of a library for FMI 3.0: variables, and the functions that an importer may call.

Source: "Functional Mock-up Interface Specification", version 3.0, section 2.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Final, TypeAlias
from xml.sax.saxutils import quoteattr

from aotensor.codegen.abi.fmi.variables import (
    DERIVATIVES,
    TYPES,
    Variable,
    derivative_name,
    time_name,
    token_of,
    variables_of,
)
from aotensor_runtime.json_node import require
from aotensor_runtime.manifest import FunctionSpec, InterfaceSpec, Manifest
from aotensor_runtime.signature import typed_line
from aotensor_runtime.typed.parameters import c_suffix

_KINDS: Final = ("dependent", "constant", "tunable", "discrete")
_TIME: Final = 'valueReference="0" causality="independent" variability="continuous"'


def model_identifier(manifest: Manifest) -> str:
    """The name of the library's file in an FMU, which is a C identifier."""
    name = c_suffix(manifest.name)
    return f"x{name}" if name[:1].isdigit() else name


def model_description(manifest: Manifest, version: str) -> str:
    """The text, of a library that has the interface `fmi`: the model is its first function.   version: of the model

    Raises: ManifestError for start values or dependencies that do not fit the model
    """
    spec = manifest.functions[0]
    (interface,) = (one for one in manifest.interfaces if one.name == "fmi")
    variables = variables_of(spec)
    derivatives = [
        f'provides{what}Derivatives="true"'
        for role, what in DERIVATIVES.items()
        if derivative_name(spec, role, manifest.functions) is not None
    ]
    able = " ".join([
        f'modelIdentifier="{model_identifier(manifest)}"', 'canGetAndSetFMUState="true"',
        'canSerializeFMUState="true"', *derivatives,
    ])  # fmt: skip
    starts, dependencies = _facts(spec, interface)
    numbered = list(enumerate(variables, 1))
    outputs = list(zip([k for k, x in numbered if x.is_output], dependencies, strict=True))
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="3.0" modelName={quoteattr(spec.name)}',
        f'    version={quoteattr(version)} instantiationToken="{token_of(spec, interface.starts)}"',
        f"    description={quoteattr(spec.doc or typed_line(spec))}",
        f'    generationTool={quoteattr(f"aotensor {manifest.aotensor}")} variableNamingConvention="flat">',
        f"  <ModelExchange {able}/>",
        f'  <CoSimulation {able} canHandleVariableCommunicationStepSize="true"/>',
        '  <LogCategories><Category name="logStatusError" description="errors"/></LogCategories>',
        '  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.1"/>',
        "  <ModelVariables>",
        f"    <Float64 name={quoteattr(time_name(variables))} {_TIME}/>",
        *(line for (k, x), start in zip(numbered, starts, strict=True) for line in _variable(k, x, start)),
        "  </ModelVariables>",
        "  <ModelStructure>",
        *(f'    <Output valueReference="{k}"{_continuous(variables, pairs)}/>' for k, pairs in outputs),
        *(f'    <InitialUnknown valueReference="{k}"{_initial(pairs)}/>' for k, pairs in outputs),
        "  </ModelStructure>",
        "</fmiModelDescription>",
    ]
    return "\n".join(lines) + "\n"


_Pairs: TypeAlias = "list[tuple[int, str]] | None"
"""Inputs that an output depends on, and how; None if that is not known, as of libraries of earlier versions."""


def _facts(spec: FunctionSpec, interface: InterfaceSpec) -> tuple[list[str], list[_Pairs]]:
    """Start values of all variables, dependencies of the outputs.   Raises: ManifestError"""
    where, (n, m) = f"interface {interface.name} of {spec.name}", (len(spec.inputs), len(spec.outputs))
    starts, texts = interface.starts or [""] * n, interface.dependencies
    require(len(starts) == n and len(texts) in (0, m), where, "it is of other inputs or outputs")
    for value, start in zip(spec.inputs, starts, strict=True):
        count = prod(k for k in value.shape if isinstance(k, int))
        require(start == "" or len(start.split(" ")) == count, where, f"the start of {value.name} has another length")
    pairs: list[_Pairs] = []
    for text in texts:
        split = (pair.partition(":") for pair in text.split())
        pairs.append([(int(number), kind) for number, _, kind in split])
        is_known = all(k < n and kind in _KINDS for k, kind in pairs[-1] or ())
        require(is_known, where, f"unknown dependencies {text!r:.60}")
    return [*starts, *[""] * m], pairs or [None] * m


def _continuous(variables: Sequence[Variable], pairs: _Pairs) -> str:
    """The inputs that an output depends on, and how. Parameters are not among the knowns of an output."""
    return "" if pairs is None else _attributes([(k, kind) for k, kind in pairs if not variables[k].is_data])


def _initial(pairs: _Pairs) -> str:
    """The same during initialisation, where parameters are known, and a factor is constant or not."""
    if pairs is None:
        return ""
    return _attributes([(k, kind if kind == "constant" else "dependent") for k, kind in pairs])


def _attributes(pairs: Sequence[tuple[int, str]]) -> str:
    numbers, kinds = " ".join(str(k + 1) for k, _ in pairs), " ".join(kind for _, kind in pairs)
    return f' dependencies="{numbers}" dependenciesKind="{kinds}"'


def _variable(k: int, x: Variable, start: str) -> Iterator[str]:
    kind = TYPES[x.dtype]
    causality = "output" if x.is_output else "parameter" if x.is_data else "input"
    variability = "tunable" if x.is_data else "continuous" if x.is_continuous else "discrete"
    head = (
        f'    <{kind} name={quoteattr(x.name)} valueReference="{k}" causality="{causality}" variability="{variability}"'
    )
    if not x.is_output:
        head += f' start="{start or " ".join(["false" if x.dtype == "bool" else "0"] * x.count)}"'
    if not x.shape:
        yield f"{head}/>"
        return
    yield f"{head}>"
    yield "      " + "".join(f'<Dimension start="{n}"/>' for n in x.shape)
    yield f"    </{kind}>"

"""modelDescription.xml of a library for FMI 3.0: variables, and what an importer may call.

Source: "Functional Mock-up Interface Specification", version 3.0, section 2.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
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
from aotensor.codegen.entry.names import c_suffix
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.signature import typed_line

_TIME: Final = 'valueReference="0" causality="independent" variability="continuous"'


def model_identifier(manifest: Manifest) -> str:
    """The name of the library's file in an FMU, an identifier of C."""
    name = c_suffix(manifest.name)
    return f"x{name}" if name[:1].isdigit() else name


def model_description(manifest: Manifest, version: str) -> str:
    """The text, of a library that has the interface `fmi`: the model is its first function.   version: of the model"""
    spec = manifest.functions[0]
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
    numbered = list(enumerate(variables, 1))
    outputs = [k for k, x in numbered if x.is_output]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="3.0" modelName={quoteattr(spec.name)}',
        f'    version={quoteattr(version)} instantiationToken="{token_of(spec)}"',
        f"    description={quoteattr(spec.doc or typed_line(spec))}",
        f'    generationTool={quoteattr(f"aotensor {manifest.aotensor}")} variableNamingConvention="flat">',
        f"  <ModelExchange {able}/>",
        f'  <CoSimulation {able} canHandleVariableCommunicationStepSize="true"/>',
        '  <LogCategories><Category name="logStatusError" description="errors"/></LogCategories>',
        '  <DefaultExperiment startTime="0" stopTime="1" stepSize="0.1"/>',
        "  <ModelVariables>",
        f"    <Float64 name={quoteattr(time_name(variables))} {_TIME}/>",
        *(line for k, x in numbered for line in _variable(k, x)),
        "  </ModelVariables>",
        "  <ModelStructure>",
        *(f'    <Output valueReference="{k}"/>' for k in outputs),
        *(f'    <InitialUnknown valueReference="{k}"/>' for k in outputs),
        "  </ModelStructure>",
        "</fmiModelDescription>",
    ]
    return "\n".join(lines) + "\n"


def _variable(k: int, x: Variable) -> Iterator[str]:
    kind = TYPES[x.dtype]
    causality = "output" if x.is_output else "parameter" if x.is_data else "input"
    variability = "tunable" if x.is_data else "continuous" if x.is_continuous else "discrete"
    head = (
        f'    <{kind} name={quoteattr(x.name)} valueReference="{k}" causality="{causality}" variability="{variability}"'
    )
    if not x.is_output:
        head += f' start="{" ".join(["false" if x.dtype == "bool" else "0"] * x.count)}"'
    if not x.shape:
        yield f"{head}/>"
        return
    yield f"{head}>"
    yield "      " + "".join(f'<Dimension start="{n}"/>' for n in x.shape)
    yield f"    </{kind}>"

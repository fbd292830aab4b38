"""The C++ header of a library: its typed entries behind std::span, with exceptions instead of statuses.   C++20

namespace aotensor::<library>
  f(dims..., inputs..., outputs..., workspace)      writes where the caller says
  f(dims..., inputs...)                             gives vectors, where all sizes follow from dims
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aotensor.codegen.entry.names import OwnSymbols, Symbols
from aotensor_cli.packaging.cpp_sizes import size_checks
from aotensor_runtime.abi import STRUCTS
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.signature import FunctionSpec, OutputSpec, typed_line
from aotensor_runtime.typed.parameters import (
    C_TYPES,
    Parameter,
    c_suffix,
    entry_parameters,
    is_reserved,
    parameter_names,
)

_COMMON: Final = """#if __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "this header is for C++20, which has std::span; the C header of the library is for any version"
#endif

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef AOTENSOR_STATUS_ERROR
#define AOTENSOR_STATUS_ERROR
namespace aotensor {

/* A call that has failed: what() is the message of its status. */
class status_error : public std::runtime_error {
 public:
  status_error(std::int32_t status, const char *message) : std::runtime_error(message), status_(status) {}
  std::int32_t status() const noexcept { return status_; }

 private:
  std::int32_t status_;
};

namespace of_every_library {

/* Elements of an array; a negative extent is the library's to refuse. */
inline std::size_t elements(std::initializer_list<std::int64_t> extents) {
  std::size_t product = 1;
  for (std::int64_t n : extents) product *= n < 0 ? 0 : static_cast<std::size_t>(n);
  return product;
}

inline void require(std::size_t found, std::size_t expected, const char *name) {
  if (found != expected)
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(found) + " elements, not " +
                                std::to_string(expected));
}

/* An address for arrays without elements, too, whose pointers may be null. */
template <class T>
inline T *address(std::span<T> values) {
  alignas(64) static std::byte nothing[64];
  return values.data() ? values.data() : reinterpret_cast<T *>(nothing);
}

}  // namespace of_every_library
}  // namespace aotensor
#endif"""

_STRUCTS: Final = frozenset(STRUCTS).difference(C_TYPES.values())
"""Structs that describe arrays, not elements of them."""


def namespace(manifest: Manifest) -> str:
    """The name of a library's namespace inside `aotensor::`."""
    suffix = c_suffix(manifest.name)
    return _free(f"library_{suffix}" if suffix[0].isdigit() else suffix, ("of_every_library", "status_error"))


def cpp_text(manifest: Manifest) -> str:
    """Text of `<name>.hpp`, which includes `<name>.h`."""
    space = namespace(manifest)
    names: list[str] = []
    functions = [_function(manifest, spec, f"::aotensor::{space}", names) for spec in manifest.functions]
    return "\n\n".join([
        f"/* {manifest.name}: made by aotensor {manifest.aotensor}. {manifest.name}.h for C++20. */\n#pragma once",
        f'#include "{manifest.name}.h"',
        _COMMON,
        f"namespace aotensor::{space} {{",
        f"/* Throws status_error for a status that is not 0. */\n{_check(manifest)}",
        *functions,
        f"}}  // namespace aotensor::{space}\n",
    ])  # fmt: skip


_CHECK: Final = "check_status_"
"""The function that raises."""


def _check(manifest: Manifest) -> str:
    message = OwnSymbols.from_manifest(manifest).check_message
    return (
        f"static inline void {_CHECK}(std::int32_t status) {{\n  if (status == 0) return;\n"
        f"  const char *text = ::{message}(status);\n"
        f"  throw status_error(status, text ? text : {manifest.prefix}aotensor_status_message(status));\n}}"
    )


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken or is_reserved(name) or name == _CHECK:
        name += "_"
    return name


@dataclass(frozen=True)
class _Entry:
    """A typed entry.   values: its parameters but the workspace, which is the last one. dims: their names in C"""

    spec: FunctionSpec
    symbols: Symbols
    values: tuple[Parameter, ...]
    workspace: str
    dims: Mapping[str, str]

    @staticmethod
    def from_spec(manifest: Manifest, spec: FunctionSpec) -> _Entry:
        *values, workspace = entry_parameters(spec)
        dims = dict(zip(spec.typed_dims, parameter_names(spec), strict=False))
        return _Entry(spec, Symbols.in_library(manifest, spec.name), tuple(values), workspace.name, dims)

    def size(self, x: Parameter) -> str | None:
        """The C++ expression of an array's size; None if an extent is neither a number nor a dim."""
        assert x.value is not None
        extents = [str(n) if isinstance(n, int) else self.dims.get(n or "") for n in x.value.shape]
        if any(n is None for n in extents):
            return None
        return f"::aotensor::of_every_library::elements({{{', '.join(str(n) for n in extents)}}})"


def _function(manifest: Manifest, spec: FunctionSpec, space: str, names: list[str]) -> str:
    """Both forms of one function; its names are added to those of the namespace.

    Calls are qualified: a parameter may have the name of what is called.
    """
    entry, name = _Entry.from_spec(manifest, spec), _free(spec.name, names)
    names.append(name)
    body = [
        f'  ::aotensor::of_every_library::require({x.name}.size(), {size}, "{x.name}");'
        for x in entry.values
        if _is_span(x) and (size := entry.size(x)) is not None
    ]
    scratch, given = f"void *{entry.workspace} = nullptr", entry.workspace
    if not spec.is_sparse:  # whose size follows from the dims
        scratch, given = f"std::span<std::byte> {given} = {{}}", f"{given}.data()"
        needed = f"::{entry.symbols.workspace}({', '.join(entry.dims.values())})"
        body.append(
            f"  if (!{entry.workspace}.empty() && static_cast<std::int64_t>({entry.workspace}.size()) < {needed})\n"
            f'    throw std::invalid_argument("{entry.workspace} is too small");'
        )
    unsized = [x for x in entry.values if _is_span(x) and entry.size(x) is None]
    if unsized:
        calls = f"::{entry.symbols.uniform}", f"{space}::{_CHECK}"
        body += size_checks(spec, entry.values, unsized, entry.dims, _argument, calls)
    arguments = ", ".join([*map(_argument, entry.values), given])
    body.append(f"  {space}::{_CHECK}(::{entry.symbols.typed}({arguments}));")
    declared = ", ".join([*map(_declared, entry.values), scratch])
    text = f"/* {typed_line(spec).replace('*/', '* /')} */\n{_defined('void', name, declared, body)}"
    returning = _returning(entry, name, space, names)
    return f"{text}\n\n{returning}" if returning else text


def _returning(entry: _Entry, name: str, space: str, names: list[str]) -> str | None:
    """The overload that returns the results; None without results, or if their sizes depend on values."""
    outputs = [x for x in entry.values if isinstance(x.value, OutputSpec)]
    if not outputs or entry.spec.takes_context or entry.spec.is_sparse or None in map(entry.size, outputs):
        return None
    taken = [x for x in entry.values if x not in outputs]
    result = _free("result", [x.name for x in taken])
    types = [f"std::vector<{x.type}>" if _is_span(x) else x.type for x in outputs]
    if len(outputs) == 1:
        (x,) = outputs
        places, struct, gives = [result], "", types[0]
        made = [f"  {gives} {result}{f'({entry.size(x)})' if _is_span(x) else '{}'};"]
    else:
        gives = _free(f"{name}_result", names)
        names.append(gives)
        fields = "".join(f"  {kind} {x.name}{{}};\n" for x, kind in zip(outputs, types, strict=True))
        places, struct = [f"{result}.{x.name}" for x in outputs], f"struct {gives} {{\n{fields}}};\n\n"
        made = [f"  {gives} {result};"]
        made += [f"  {result}.{x.name}.resize({entry.size(x)});" for x in outputs if _is_span(x)]
    body = [*made, f"  {space}::{name}({', '.join([*(x.name for x in taken), *places])});", f"  return {result};"]
    return struct + _defined(gives, name, ", ".join(map(_declared, taken)), body)


def _defined(gives: str, name: str, declared: str, body: Sequence[str]) -> str:
    return "\n".join([f"static inline {gives} {name}({declared}) {{", *body, "}"])


def _is_span(x: Parameter) -> bool:
    """Is a value a dense array of at least one dim in the caller's memory?"""
    is_struct = x.type in _STRUCTS
    return not is_struct and x.value is not None and bool(x.value.shape)


def _declared(x: Parameter) -> str:
    """A parameter of the C++ function: numbers by value, results and structs by reference, arrays as spans."""
    if _is_span(x):
        return f"std::span<{'const ' * x.is_read_only}{x.type}> {x.name}"
    if not x.is_pointer or (x.is_read_only and x.type not in _STRUCTS):
        return f"{x.type} {x.name}"
    return f"{'const ' * x.is_read_only}{x.type} &{x.name}"


def _argument(x: Parameter) -> str:
    """The C++ expression that passes the parameter to the C entry."""
    if _is_span(x):
        return f"::aotensor::of_every_library::address({x.name})"
    return f"&{x.name}" if x.is_pointer else x.name

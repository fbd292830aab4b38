"""Generate a Fortran 2018 module for a library: a subroutine for each function, and interfaces of its C entries.

    call f(inputs..., outputs..., status, message, num_threads)     the last three are optional
    status = f_c(dims..., inputs..., outputs..., workspace)          the typed entry, on row-major memory

The subroutine passes descriptors with the strides of Fortran's arrays, so that X(i, j) is the model's X[i - 1, j - 1].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from aotensor.codegen.entry.names import Symbols
from aotensor_cli.bindings.arguments import Argument, arguments, distinct, wrapped
from aotensor_runtime.abi import Blas, Status
from aotensor_runtime.manifest import FunctionSpec, Manifest
from aotensor_runtime.signature import typed_line
from aotensor_runtime.typed.parameters import Parameter, c_suffix, entry_parameters

_KINDS: Final = {
    "float64": "real(c_double)", "float32": "real(c_float)", "complex128": "complex(c_double_complex)",
    "complex64": "complex(c_float_complex)", "int64": "integer(c_int64_t)", "int32": "integer(c_int32_t)",
    "int16": "integer(c_int16_t)", "int8": "integer(c_int8_t)", "bool": "logical(c_bool)",
}  # fmt: skip
_MOST_AXES: Final = 15
_LONGEST: Final = 63
"""Characters of a name."""
_WIDTH: Final = 120
_OF_C: Final = (
    "c_associated", "c_bool", "c_char", "c_double", "c_double_complex", "c_f_pointer", "c_float", "c_float_complex",
    "c_funloc", "c_funptr", "c_int16_t", "c_int32_t", "c_int64_t", "c_int8_t", "c_loc", "c_null_char",
    "c_null_funptr", "c_null_ptr", "c_ptr", "c_size_t", "c_sizeof",
)  # fmt: skip
_LOCALS: Final = (
    "context", "inputs", "outputs", "extents", "steps", "buffer", "code", "table", "describe", "status_text", "fail",
    "aotensor_array", "aotensor_context", "aotensor_blas", "present", "shape", "int",
)  # fmt: skip
_NOTE: Final = """\
! X(i, j) is the model's X[i - 1, j - 1]. The library copies an array that it has row-major; it makes no copy if the
! model says aot.In(X, layout="F") or aot.Out(Y, layout="F"). <function>_c is the entry of C: it makes no copies, and
! expects row-major arrays, X(j, i).
"""
_TYPES: Final = """
  ! Descriptors and contexts of the C header.
  type, bind(C), public :: aotensor_array
    type(c_ptr) :: data = c_null_ptr, shape = c_null_ptr, strides = c_null_ptr
    integer(c_int32_t) :: rank = 0, dtype = 0
  end type

  type, bind(C), public :: aotensor_context
    integer(c_int64_t) :: struct_size = 0
    type(c_funptr) :: allocate = c_null_funptr
    type(c_ptr) :: user = c_null_ptr, message = c_null_ptr
    integer(c_int64_t) :: message_size = 0
    type(c_ptr) :: workspace = c_null_ptr
    integer(c_int64_t) :: workspace_bytes = 0
    type(c_ptr) :: blas = c_null_ptr
    integer(c_int32_t) :: num_threads = 0, flags = 0
    type(c_funptr) :: parallel_for = c_null_funptr
    type(c_ptr) :: pool = c_null_ptr, kept = c_null_ptr
  end type
"""
_HELPERS: Final = """
  ! A descriptor of a column-major array; `nothing` where it has no elements.
  subroutine describe(array, data, extents, steps, dtype)
    type(aotensor_array), intent(out) :: array
    type(c_ptr), intent(in), value :: data
    integer(c_int64_t), intent(in), contiguous, target :: extents(:)
    integer(c_int64_t), intent(inout), contiguous, target :: steps(:)
    integer(c_int32_t), intent(in), value :: dtype
    integer :: axis
    array%data = data
    if (any(extents == 0)) array%data = c_loc(nothing)
    array%rank = int(size(extents), c_int32_t)
    array%dtype = dtype
    if (size(extents) == 0) return
    array%shape = c_loc(extents)
    array%strides = c_loc(steps)
    steps(1) = 1
    do axis = 2, size(extents)
      steps(axis) = steps(axis - 1) * extents(axis - 1)
    end do
  end subroutine

  subroutine fail(code, buffer)
    integer(c_int32_t), intent(in) :: code
    character(kind=c_char), intent(in) :: buffer(:)
    character(:), allocatable :: text
    text = status_text(code, buffer)
    error stop text
  end subroutine

  ! The message of a call that failed, or that of its status.
  function status_text(code, buffer) result(text)
    integer(c_int32_t), intent(in) :: code
    character(kind=c_char), intent(in) :: buffer(:)
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: k
    text = ''
    if (code == 0) return
    do k = 1, size(buffer)
      if (buffer(k) == c_null_char) exit
      text = text // buffer(k)
    end do
    if (len(text) > 0) return
    call c_f_pointer(aotensor_message(code), letters, [4096])
    do k = 1, size(letters)
      if (letters(k) == c_null_char) exit
      text = text // letters(k)
    end do
  end function
"""
_MESSAGE: Final = """
    function aotensor_message(code) bind(C, name="{symbol}") result(text)
      import :: c_int32_t, c_ptr
      integer(c_int32_t), intent(in), value :: code
      type(c_ptr) :: text
    end function
"""
_OPTIONS: Final = (
    "integer(c_int32_t), intent(out), optional :: {}",
    "character(:), allocatable, intent(out), optional :: {}",
    "integer, intent(in), optional :: {}",
)
"""Declarations of status, message and num_threads."""


def module_name(manifest: Manifest) -> str:
    """The name of the Fortran module: `<library>_library`."""
    return distinct([f"{re.sub(r'^[0-9_]', 'x', c_suffix(manifest.name))}_library"], longest=_LONGEST)[0]


def fortran_files(manifest: Manifest, file: str) -> dict[str, str]:
    """`<library>.f90`.   Raises: Refusal for what Fortran cannot express"""
    return {f"{manifest.name}.f90": _text(manifest, file)}


def _text(manifest: Manifest, file: str) -> str:
    module = module_name(manifest)
    taken = [module, *_OF_C, *_LOCALS, "nothing", "aotensor_message"]
    lapack = sorted({name for spec in manifest.functions for name in spec.lapack})
    taken += [f"lapack_{name}" for name in lapack]
    names = _distinct((spec.name for spec in manifest.functions), taken)
    entries = _distinct((f"{name}_c" for name in names), [*taken, *names])
    sizes = _distinct((f"{name}_workspace" for name in names), [*taken, *names, *entries])
    functions = [
        _Function(manifest, spec, *chosen)
        for spec, *chosen in zip(manifest.functions, names, entries, sizes, strict=True)
    ]
    lines = [
        f"! {file}: functions that aotensor {manifest.aotensor} has compiled, for Fortran 2018.",
        *_NOTE.splitlines(),
        f"module {module}",
        *wrapped("  use, intrinsic :: iso_c_binding, only: ", _OF_C, "", _WIDTH, "    ", " &"),
        "  implicit none",
        "  private",
        *wrapped("  public :: ", [*names, *entries, *sizes], "", _WIDTH, "    ", " &"),
        *_TYPES.rstrip().splitlines(),
        *(_table(lapack) if lapack else []),
        "",
        "  integer(c_int64_t), target, save :: nothing(8) = 0",
        "",
        "  interface",
        *_MESSAGE.format(symbol=f"{manifest.prefix}aotensor_status_message").strip("\n").splitlines(),
        *(line for name in lapack for line in _external(name)),
        *(line for f in functions for line in f.interfaces()),
        "  end interface",
        "",
        "contains",
        *(line for f in functions for line in f.subroutine()),
        *_HELPERS.rstrip().splitlines(),
        "end module",
    ]
    return "\n".join(lines) + "\n"


def _distinct(names: Iterable[str], taken: Sequence[str]) -> list[str]:
    return distinct(names, taken, _LONGEST, str.lower)


def _table(lapack: Sequence[str]) -> list[str]:
    """Declare the struct of pointers to BLAS and LAPACK functions."""
    fields = [f"{name} = c_null_funptr" for name, *_ in Blas._fields_[1:]]
    return [
        "", "  type, bind(C) :: aotensor_blas", "    integer(c_int64_t) :: struct_size = 0",
        *wrapped("    type(c_funptr) :: ", fields, "", _WIDTH, "      ", " &"), "  end type",
    ]  # fmt: skip


def _external(name: str) -> list[str]:
    """Declare a LAPACK function whose address alone is used."""
    return ["", f'    subroutine lapack_{name}() bind(C, name="{name}_")', "    end subroutine"]


class _Function:
    """The text of one function.   name, entry, size: of the subroutine, of the C entry and that for its workspace"""

    def __init__(self, manifest: Manifest, spec: FunctionSpec, name: str, entry: str, size: str) -> None:
        self._spec, self._name, self._entry, self._size = spec, name, entry, size
        self._symbols = Symbols.in_library(manifest, spec.name)
        given = [*_OF_C, *_LOCALS, name]
        self._arguments = arguments("Fortran", spec, _KINDS, _MOST_AXES, lambda found: _distinct(found, given))
        taken = [*_OF_C, *_LOCALS, name, *(x.name for x in self._arguments)]
        self._options = _distinct(["status", "message", "num_threads"], taken)
        self._uniform = _distinct([f"{name}_call"], [*taken, *self._options])[0]

    @property
    def _inputs(self) -> list[Argument]:
        return [x for x in self._arguments if not x.is_output]

    @property
    def _outputs(self) -> list[Argument]:
        return [x for x in self._arguments if x.is_output]

    def interfaces(self) -> list[str]:
        """The interface blocks of the typed entry and of its workspace function."""
        parameters = entry_parameters(self._spec)
        names = _distinct((x.name for x in parameters), [*_OF_C, self._entry, "status_code"])
        dims = names[self._spec.takes_context :][: len(self._spec.workspace_dims)]
        kinds = (
            "c_bool, c_double, c_double_complex, c_float, c_float_complex, c_int16_t, c_int32_t, c_int64_t, c_int8_t"
        )
        given = f"      import :: {kinds}, c_ptr"
        lines = ["", f"    ! {typed_line(self._spec)}"]
        lines += self._declared("function", self._entry, names, self._symbols.typed, "status_code")
        lines += [given, "      import :: aotensor_array, aotensor_context"]
        lines += [f"      {_raw(x, name)}" for x, name in zip(parameters, names, strict=True)]
        lines += ["      integer(c_int32_t) :: status_code", "    end function", ""]
        lines += self._declared("function", self._size, dims, self._symbols.workspace, "bytes_")
        lines += ["      import :: c_int64_t"]
        lines += [f"      integer(c_int64_t), intent(in), value :: {name}" for name in dims]
        return [*lines, "      integer(c_int64_t) :: bytes_", "    end function"]

    @staticmethod
    def _declared(kind: str, name: str, names: Sequence[str], symbol: str, result: str) -> list[str]:
        tail = f') bind(C, name="{symbol}") result({result})'
        found = wrapped(f"    {kind} {name}(", names or [""], ")", _WIDTH - 4, "      ", " &")
        found[-1] = found[-1].removesuffix(")") + " &"
        return [*found, f"      {tail}"]

    def subroutine(self) -> list[str]:
        """The subroutine that takes and returns Fortran arrays."""
        status, message, threads = self._options
        extents = sum(x.rank for x in self._arguments)
        n, m = len(self._inputs), len(self._outputs)
        head = f"  subroutine {self._name}("
        lines = ["", f"  ! {typed_line(self._spec)}", *(f"  !   {x.about}" for x in self._arguments if "(" in x.about)]
        lines += wrapped(head, [*(x.name for x in self._arguments), *self._options], ")", _WIDTH, "      ", " &")
        lines += [f"    {self._formal(x)}" for x in self._arguments]
        lines += [f"    {form.format(name)}" for form, name in zip(_OPTIONS, self._options, strict=True)]
        lines += [
            f"    integer(c_int64_t), target :: extents({max(extents, 1)}), steps({max(extents, 1)})",
            f"    type(aotensor_array), target :: inputs({max(n, 1)}), outputs({max(m, 1)})",
            "    type(aotensor_context), target :: context",
            *(["    type(aotensor_blas), target :: table"] if self._spec.lapack else []),
            "    character(kind=c_char), target :: buffer(800)",
            "    integer(c_int32_t) :: code",
            "    interface",
            f'      function {self._uniform}(context, inputs, outputs) bind(C, name="{self._symbols.uniform}") &',
            "          result(code)",
            "        import :: c_int32_t, aotensor_array, aotensor_context",
            "        type(aotensor_context), intent(inout) :: context",
            "        type(aotensor_array), intent(in) :: inputs(*)",
            "        type(aotensor_array), intent(inout) :: outputs(*)",
            "        integer(c_int32_t) :: code",
            "      end function",
            "    end interface",
        ]
        lines += [line for k, x in enumerate(self._inputs, 1) for line in _described(x, f"inputs({k})")]
        for k, x in enumerate(self._outputs, 1):
            lines += _unknown(x, f"outputs({k})") if x.is_allocated else _described(x, f"outputs({k})")
        lines += [
            "    buffer = c_null_char",
            "    context%struct_size = c_sizeof(context)",
            "    context%message = c_loc(buffer)",
            "    context%message_size = 800",
            f"    if (present({threads})) context%num_threads = int({threads}, c_int32_t)",
        ]
        if self._spec.lapack:
            lines += ["    table%struct_size = c_sizeof(table)", "    context%blas = c_loc(table)"]
            lines += [f"    table%{name} = c_funloc(lapack_{name})" for name in self._spec.lapack]
        lines.append(f"    code = {self._uniform}(context, inputs, outputs)")
        lines += self._again()
        return [
            *lines,
            f"    if (present({message})) {message} = status_text(code, buffer)",
            f"    if (present({status})) then",
            f"      {status} = code",
            "    else if (code /= 0) then",
            "      call fail(code, buffer)",
            "    end if",
            "  end subroutine",
        ]

    def _again(self) -> list[str]:
        """Code of the second call, after allocation of the outputs whose sizes the first call returned."""
        found = [(k, x) for k, x in enumerate(self._outputs, 1) if x.is_allocated]
        if not found:
            return []
        needed = int(Status.OUTPUTS_NEEDED)
        lines = [f"    if (code == 0 .or. code == {needed}) then  ! 0: no output has elements"]
        for k, x in found:
            sizes = ", ".join(f"extents({x.first + axis})" for axis in range(1, x.rank + 1))
            lines += [f"      allocate({x.name}({sizes}))", *(f"  {line}" for line in _described(x, f"outputs({k})"))]
        return [*lines, "    end if", f"    if (code == {needed}) code = {self._uniform}(context, inputs, outputs)"]

    @staticmethod
    def _formal(x: Argument) -> str:
        axes = f"({', '.join(':' * x.rank)})" if x.rank else ""
        if x.is_allocated:
            return f"{x.kind}, allocatable, intent(out), target :: {x.name}{axes}"
        intent = "intent(inout)" if x.is_output else "intent(in)"
        return f"{x.kind}, {intent}{', contiguous' * bool(x.rank)}, target :: {x.name}{axes}"


def _range(x: Argument) -> str:
    return f"({x.first + 1}:{x.first + x.rank})"


def _described(x: Argument, array: str) -> list[str]:
    lines = [f"    extents{_range(x)} = shape({x.name}, kind=c_int64_t)"] if x.rank else []
    at = _range(x)
    return [*lines, f"    call describe({array}, c_loc({x.name}), extents{at}, steps{at}, {x.code}_c_int32_t)"]


def _unknown(x: Argument, array: str) -> list[str]:
    """Code of a descriptor without memory; the call fills in its extents."""
    fields = (f"shape = c_loc(extents({x.first + 1}))", f"rank = {x.rank}", f"dtype = {x.code}")
    return [f"    {array}%{field}" for field in fields]


def _raw(x: Parameter, name: str) -> str:
    """Declare a parameter of the C entry."""
    if x.value is None:
        if not x.is_pointer:
            return f"integer(c_int64_t), intent(in), value :: {name}"
        is_context = x.type == "aotensor_context"
        return f"type(aotensor_context), intent(inout) :: {name}" if is_context else f"type(c_ptr), value :: {name}"
    intent = "intent(in)" if x.is_read_only else "intent(inout)"
    if x.type == "aotensor_array":
        return f"type(aotensor_array), {intent} :: {name}"
    return f"{_KINDS[x.value.dtype]}, {intent} :: {name}{'(*)' if x.value.shape else ''}"

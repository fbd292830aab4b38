"""C99 source of functions, lowered for one core and without vectors, with the products and solvers that they call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Options, lower
from aotensor.errors import OptionError
from aotensor_runtime.manifest import Manifest


def refuse_weights(options: Options) -> None:
    """Check that no file of weights is requested: C source has none.   Raises: OptionError"""
    if options.weights is not None:
        raise OptionError(
            "C source holds its constants itself: it has no file of weights", hint="leave out --weights (weights=False)"
        )


def c_source(functions: Sequence[Definition], options: Options, manifest: Manifest) -> str:
    """The text of `<name>.c` for the functions of a library.

    options, manifest: of the library

    Raises: UnsupportedError for what C source does not have; OptionError for a file of weights; as `recipe.lower`.
    """
    from aotensor.codegen.c_source.file import c_file
    from aotensor.codegen.c_source.shared_modules import line_of, shared_modules

    refuse_weights(options)
    lowered = lower(functions, replace(options, scalar=True, threads=False), texts=())
    own = lowered.options
    shared = shared_modules(lowered.module, lowered.machine, own.fp, own.allocates, own.facts)
    return c_file([lowered.module, *shared], manifest, lambda where: line_of(lowered.sites, where))

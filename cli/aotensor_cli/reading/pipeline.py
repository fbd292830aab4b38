"""The pass pipeline of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.errors import GraphError
from aotensor.graph.passes.pipeline import Pipeline, pipeline_of
from aotensor_cli.options import Refusal


def chosen_pipeline(passes: str | None, disabled: Sequence[str]) -> Pipeline | None:
    """The pipeline of `--passes` and `--disable-pass`, None to keep the functions' own pipelines.

    Raises: Refusal of a pipeline that is none.
    """
    if passes is None and not disabled:
        return None
    try:
        return pipeline_of(passes, disabled)
    except GraphError as error:
        raise Refusal(error.diagnostic.title, error.diagnostic.hint) from error

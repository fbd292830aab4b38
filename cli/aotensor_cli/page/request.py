"""Check the options of pages and pictures of `inspect`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aotensor_cli.benching.inputs import parse_sizes
from aotensor_cli.options import Refusal
from aotensor_cli.page.measurements import Row, read_bench
from aotensor_cli.page.options import DRAWN, EXPORTED, EXPORTS, MEMORY
from aotensor_cli.page.profiles import MeasuredLines, read_profiles


@dataclass(frozen=True)
class PageOptions:
    """The options of a page or a picture.   sizes: sets of dims; rows: measurements; sources: of a library

    profiles: measured time by line
    """

    form: str
    stage: str | None
    sizes: Sequence[dict[str, int]]
    rows: list[Row]
    sources: tuple[Path, ...]
    profiles: list[MeasuredLines]


def chosen(
    form: str, stage: str | None, is_library: bool, bench: Path | None, profile: Path | None,
    sizes: Sequence[str], sources: tuple[Path, ...],
) -> PageOptions | None:  # fmt: skip
    """Check options of pages and pictures; None for another format.   Raises: Refusal for options that clash"""
    if form not in ("html", "svg", *EXPORTS):
        for given, name in ((bench, "--bench"), (profile, "--profile"), (sizes, "--sizes"), (sources, "--source")):
            if given:
                raise Refusal(f"{name} needs a page, picture or export", "add --format html")
        if stage == MEMORY:
            raise Refusal("the memory plan can only be drawn", "add --format svg")
        return None
    if form == "html" and stage is not None:
        raise Refusal("--format html shows all stages, so --stage is not supported", "leave out --stage")
    if form in EXPORTS:
        _check_export(form, stage, is_library, bench)
    if form == "svg":
        if stage not in DRAWN:
            raise Refusal("--format svg needs one stage of a model", f"add --stage: {', '.join(DRAWN)}")
        if is_library:
            raise Refusal(
                "--format svg is not supported for a library", "use --format html for a library, or draw the model"
            )
        for measured, name in ((bench, "--bench"), (profile, "--profile")):
            if measured is not None:
                raise Refusal(f"{name} needs a page", "use --format html")
    if sources and not is_library:
        raise Refusal("--source is supported only for libraries", "leave it out: the source of a model is known")
    if sizes and is_library:
        raise Refusal(
            "--sizes is supported only for models: a library contains no estimates", "make the page of the model"
        )
    rows = [] if bench is None else read_bench(bench)
    profiles = [] if profile is None else read_profiles(profile)
    return PageOptions(form, stage, [parse_sizes(text) for text in sizes], rows, sources, profiles)


def _check_export(form: str, stage: str | None, is_library: bool, bench: Path | None) -> None:
    """Refuse options that do not apply to exports for graph viewers."""
    if is_library:
        raise Refusal(f"--format {form} is not supported for a library", "use --format html for a library")
    if stage is not None and stage not in EXPORTED:
        raise Refusal(f"--format {form} has no stage {stage}", f"write one of {', '.join(EXPORTED)}")
    if bench is not None:
        raise Refusal("--bench needs a page", "use --format html; exports support --profile")

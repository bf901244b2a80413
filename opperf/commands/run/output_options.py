"""The output of a run and the run file to resume, read from the options."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from opperf.errors import UsageError
from opperf.reports.formats import RUN, format_named
from opperf.results.kept import is_name as is_kept_name
from opperf.results.kept_facts import read_facts
from opperf.results.run_files import locate as locate_run_file
from opperf.sources.base import SourceFile

STEM = "{framework}_operator_benchmarks"


def read_resume(options: Mapping[str, Any]) -> str | None:
    """Returns the run file to finish; empty for that of the output, None if none is. Raises
    `UsageError` for options that do not go with it."""
    resume: str | None = options["resume"]
    if resume is not None and options["overwrite"]:
        raise UsageError("--resume finishes a run and --overwrite replaces it; use one of them")
    if options["retry"] and resume is None:
        raise UsageError("--retry needs --resume")
    return str(locate_run_file(resume)) if resume and is_kept_name(resume) else resume


def output_framework(options: Mapping[str, Any], files: Iterable[SourceFile]) -> str:
    """Returns the framework that the default output is named after: that of the first case, if
    files alone are measured."""
    framework: str = options["framework"]
    if options["names"] or options["ops"]:
        return framework
    cases = (case for file in files for case in file.source.cases())
    return next((case.target.framework for case in cases), framework)


def read_output(
    options: Mapping[str, Any],
    explicit: Collection[str],
    resume: str | None,
    framework: str,
    stem: str = STEM,
) -> tuple[Path, str, bool]:
    """Returns the output file, its format, and whether the user named none. `resume` is the run
    file to finish; empty for that of the output. The default is `stem`, named after the
    framework."""
    output_format: str = options["output_format"]
    is_named = bool(resume)
    if resume and is_kept_name(options["resume"]) and "output_format" in explicit:
        # The default output of a run that is called by its id.
        is_named = False
        framework = next(iter(read_facts(Path(resume)).frameworks), framework)
    default_stem = Path(stem.format(framework=framework))
    named = Path(resume) if resume and is_named else None
    if named and named.suffix == ".jsonl" and options["output_file"] is None:
        # A run file named alone is also the output, or other formats' files are named after it.
        default_stem = named.with_suffix("")
        output_format = output_format if "output_format" in explicit else "jsonl"
    extension = format_named(output_format, RUN).extension
    default = default_stem.with_name(f"{default_stem.name}{extension}")
    if named and output_format == "jsonl":
        default = named
    return (
        options["output_file"] or default,
        output_format,
        options["output_file"] is None and named is None,
    )

"""The fields of requests for the output of a run, and for a run that is finished later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

from opperf.errors import UsageError
from opperf.reports.formats import RUN, format_named
from opperf.requests.declaring import ENDING, OUTPUT, Group, Option
from opperf.requests.outputs import output_of
from opperf.requests.parsers import parse_labels, parse_retried
from opperf.results.kept import is_name as is_kept_name
from opperf.results.kept_facts import read_facts
from opperf.results.run_files import locate

Labels = Annotated[
    dict[str, str],
    Option(
        "--label",
        "A label of your own in the results: commit=1a2b3c, branch=main, build=nightly.",
        gather=parse_labels,
        metavar="KEY=VALUE",
        section=OUTPUT,
    ),
]


class Resumption(Group, frozen=True, kw_only=True):
    """How a run is finished, and what its end says."""

    resume: Annotated[
        str | None,
        Option(
            "--resume",
            "Finish an interrupted run: that of the output file, or of RUNFILE, as @ID.",
            metavar="[RUNFILE]",
            alone="",
            section=ENDING,
            excludes={"overwrite": "the one finishes a run and the other replaces it"},
        ),
    ] = None
    retry: Annotated[
        tuple[str, ...],
        Option(
            "--retry",
            "With --resume: measure cases of these statuses again: failed, crashed, timeout, "
            "skipped.",
            gather=parse_retried,
            metavar="STATUSES",
            section=ENDING,
        ),
    ] = ()
    strict: Annotated[
        bool,
        Option(
            "--strict",
            "Exit with 1 if a case failed, or a result is wrong (--verify).",
            section=ENDING,
        ),
    ] = False
    quiet: Annotated[bool, Option("--quiet", "Print only errors.", section=OUTPUT)] = False

    def run_file(self) -> str | None:
        """Returns the run file to finish; empty for that of the output, None if none is. Raises
        `UsageError` for statuses without it."""
        if self.retry and self.resume is None:
            raise UsageError("--retry needs --resume")
        if self.resume and is_kept_name(self.resume):
            return str(locate(self.resume))
        return self.resume


class NamedOutput(NamedTuple):
    """The output of a run."""

    path: Path
    format: str
    is_default: bool
    """Whether the user named none."""


def named_output(
    output_file: Path | None,
    output_format: str,
    resumption: Resumption,
    framework: str,
    default_format: str = "json",
    stem: str = "{framework}_operator_benchmarks",
) -> NamedOutput:
    """Returns the output of a run; an empty format is that of the extension, or the default. The
    default output is `stem`, named after the framework. Raises `UsageError`."""
    resume = resumption.run_file()
    chosen = output_of(output_file or Path(), output_format, RUN, default_format).format
    is_named = bool(resume)
    if resume and is_kept_name(resumption.resume or "") and output_format:
        # The default output of a run that is called by its id.
        is_named = False
        framework = next(iter(read_facts(Path(resume)).frameworks), framework)
    default_stem = Path(stem.format(framework=framework))
    named = Path(resume) if resume and is_named else None
    if named and named.suffix == ".jsonl" and output_file is None:
        # A run file named alone is also the output, or other formats' files are named after it.
        default_stem = named.with_suffix("")
        chosen = output_format or "jsonl"
    extension = format_named(chosen, RUN).extension
    default = default_stem.with_name(f"{default_stem.name}{extension}")
    if named and chosen == "jsonl":
        default = named
    return NamedOutput(output_file or default, chosen, output_file is None and named is None)

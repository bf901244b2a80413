"""The fields of requests for outputs, whose formats their extensions decide, and for a run that
is finished later."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

from opperf.errors import UsageError, suggest
from opperf.model.declaring import Read
from opperf.reports.formats import (
    REPORT,
    RUN,
    built_in_names,
    format_named,
    format_of_extension,
    formats_of,
)
from opperf.requests.declaring import Group, Option, Request, argument
from opperf.requests.parsers import parse_labels, parse_retried
from opperf.results.kept import is_name as is_kept_name
from opperf.results.kept_facts import read_facts
from opperf.results.output import STDOUT, Output, check_output
from opperf.results.run_files import locate

RunFile = Annotated[Path, argument("RUNFILE", locate)]
"""A run file, or a kept run."""

RunFiles = Annotated[tuple[Path, ...], argument("RUNFILE...", locate)]

Overwrite = Annotated[bool, Option("Replace the output file if it exists.", section="Output")]


def file_option(help: str) -> Option:
    """Returns the declaration of an output file."""
    return Option(help, section="Output", spellings="-o --output-file")


def format_option(
    what: str,
    help: str = "Format of the report; md suits a comment on a pull request.",
    default: str = "text",
    spellings: str = "-f --format",
) -> Option:
    """Returns the declaration of the format of runs or reports; its field's default is empty, for
    that of the file's extension, or else `default`."""
    return Option(
        f"{help}  [default: by the output file's extension, else {default}]",
        read_format(what),
        metavar="FORMAT",
        choices=built_in_names(what),
        section="Output",
        spellings=spellings,
    )


def read_format(what: str) -> Read:
    """Returns the parser of a format's name, of another package's too."""

    def read(text: str) -> str:
        if text.lower() in built_in_names(what):
            return text.lower()
        known = formats_of(what)
        if text not in known:
            words = ", ".join(map(repr, known))
            raise ValueError(f"{text!r} is not one of {words}{suggest(text, known)}")
        return text

    return read


def output_of(path: Path, named: str, what: str, default: str = "text") -> Output:
    """Returns an output with its format: that which is named, or else of the path's extension, or
    else the default. Raises `UsageError` for an extension of no format of these outputs, and for a
    name that contradicts it."""
    if not path.suffix or path == STDOUT:
        return Output(path, named or default)
    meant = format_of_extension(path.suffix.lower(), what)
    if meant is None:
        known = dict.fromkeys(format.extension for format in formats_of(what).values())
        raise UsageError(
            f"{str(path)!r}: {path.suffix} is not an extension of what is written here; use "
            f"{', '.join(known)}, or a name without an extension"
        )
    if named and path.suffix.lower() not in format_named(named, what).extensions:
        raise UsageError(
            f"--format {named} contradicts the extension of the output file {str(path)!r}; change "
            "one of them, or omit --format"
        )
    return Output(path, named or meant.name)


class ReportedRequest(Request, frozen=True, kw_only=True):
    """A request whose result is a report, in one or several files."""

    output_format: Annotated[str, format_option(REPORT)] = ""
    output_files: Annotated[
        tuple[Path, ...],
        file_option(
            "Write the report to this file, in the format of its extension; - prints it. Repeat "
            "it for several: -o report.md -o report.xml."
        ),
    ] = (STDOUT,)
    overwrite: Overwrite = False

    reported: ClassVar[str] = REPORT
    """Content that its formats write: `REPORT` or `DRAWN`."""

    @property
    def default_format(self) -> str:
        """That of files without an extension, where none is named."""
        return "text"

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The files, each with the format of its extension, or else that which is named. Raises
        `UsageError` for an extension of none, one that contradicts the only name, and for a file
        that is named twice."""
        files = self.output_files
        for path in files:
            if files.count(path) > 1:
                raise UsageError(f"--output-file {path} is named twice")
        # Where a file without an extension needs the format, it is of that alone.
        is_needed = any(not path.suffix for path in files)
        return tuple(
            output_of(
                path,
                "" if is_needed and path.suffix else self.output_format,
                self.reported,
                self.default_format,
            )
            for path in files
        )

    def check_outputs(self, inputs: Iterable[Path] = (), may_replace: bool = False) -> None:
        """Raises `OpperfError` for an output that is an input or could not be written later."""
        files = tuple(filter(Path.is_file, inputs))
        for path, _ in self.outputs:
            check_output(path, self.overwrite or may_replace, files)


class JsonRequest(ReportedRequest, frozen=True, kw_only=True):
    """A request whose result is a report, with an option for JSON."""

    json: Annotated[bool, Option("The same as --format json.", section="Output")] = False

    @property
    def default_format(self) -> str:
        return "json" if self.json else "text"


Labels = Annotated[
    dict[str, str],
    Option(
        "A label of your own in the results: commit=1a2b3c, branch=main, build=nightly.",
        gather=parse_labels,
        metavar="KEY=VALUE",
        section="Output",
        spellings="--label",
    ),
]


class Resumption(Group, frozen=True, kw_only=True):
    """How a run is finished, and what its end says."""

    section: ClassVar[str] = "Plan, resumption and exit code"

    resume: Annotated[
        str | None,
        Option(
            "Finish an interrupted run: that of the output file, or of RUNFILE, as @ID.",
            metavar="[RUNFILE]",
            alone="",
            excludes={"overwrite": "the one finishes a run and the other replaces it"},
        ),
    ] = None
    retry: Annotated[
        tuple[str, ...],
        Option(
            "With --resume: measure cases of these statuses again: failed, crashed, timeout, "
            "skipped.",
            gather=parse_retried,
            metavar="STATUSES",
        ),
    ] = ()
    strict: Annotated[
        bool, Option("Exit with 1 if a case failed, or a result is wrong (--verify).")
    ] = False
    quiet: Annotated[bool, Option("Print only errors.", section="Output")] = False

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

"""Fields for outputs: files, and formats that their extensions decide."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar

from opperf.errors import UsageError, suggest
from opperf.model import Run
from opperf.model.declaring import Read
from opperf.reports.formats import (
    REPORT,
    built_in_names,
    format_named,
    format_of_extension,
    formats_of,
)
from opperf.requests.declaring import OUTPUT, Option, Request, Say, argument
from opperf.requests.parsers import locate_kept
from opperf.results.output import STDOUT, Output, check_output

RunFile = Annotated[Path, argument("RUNFILE", locate_kept)]
"""A run file, or a kept run."""

RunFiles = Annotated[tuple[Path, ...], argument("RUNFILE...", locate_kept)]

Overwrite = Annotated[
    bool, Option("--overwrite", "Replace the output file if it exists.", section=OUTPUT)
]


def file_option(help: str) -> Option:
    """Returns the declaration of an output file."""
    return Option("-o --output-file", help, Path, metavar="FILE", section=OUTPUT)


def format_option(
    what: str,
    help: str = "Format of the report; md suits a comment on a pull request.",
    default: str = "text",
    spellings: str = "-f --format",
) -> Option:
    """Returns the declaration of the format of runs or reports; its field's default is empty, for
    that of the file's extension, or else `default`."""
    return Option(
        spellings,
        f"{help}  [default: by the output file's extension, else {default}]",
        read_format(what),
        metavar="FORMAT",
        choices=built_in_names(what),
        section=OUTPUT,
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
    """What its formats write: `REPORT` or `DRAWN`."""

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

    json: Annotated[bool, Option("--json", "The same as --format json.", section=OUTPUT)] = False

    @property
    def default_format(self) -> str:
        return "json" if self.json else "text"


def read_told(path: Path, say: Say) -> Run:
    """Returns the content of a run file, and says what is doubtful. Raises `RunFileError`."""
    # Help and completion do without the import.
    from opperf.results.runfile import read_run

    run, warnings = read_run(path)
    for warning in warnings:
        say(f"warning: {warning}")
    return run

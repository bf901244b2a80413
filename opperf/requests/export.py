"""Writes a run file in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from opperf.errors import RunFileError, UsageError
from opperf.reports.formats import RUN, built_in_names, format_named, formats_of
from opperf.requests.declaring import OUTPUT, Option, Request, Say
from opperf.requests.fields import Columns
from opperf.requests.outputs import Overwrite, RunFile, file_option, output_of, read_format
from opperf.results.output import STDOUT, Output


class ExportRequest(Request, frozen=True, kw_only=True):
    """Writes a run file in the format of another tool, or as a page."""

    run_file: RunFile
    tool: Annotated[
        str,
        Option(
            "--to",
            "pytest-benchmark; bencher, which reads it with --adapter json; "
            "github-action-benchmark, which reads it as customSmallerIsBetter; md, a page to read; "
            "or another format of `opperf run`.",
            read_format(RUN),
            metavar="FORMAT",
            choices=built_in_names(RUN),
            section=OUTPUT,
        ),
    ]
    output_file: Annotated[Path, file_option("Write to this file; - prints.")] = STDOUT
    overwrite: Overwrite = False
    columns: Columns = ()

    @property
    def output(self) -> Output:
        """The file and its format. Raises `UsageError` for an extension of another."""
        output_of(self.output_file, "", RUN)
        path, extensions = self.output_file, format_named(self.tool, RUN).extensions
        if path.suffix and path.suffix.lower() not in extensions:
            raise UsageError(
                f"{path}: --to {self.tool} writes {extensions[0]}; name such a file with -o"
            )
        return Output(path, self.tool)

    def run(self, say: Say) -> None:
        """Writes the file. Raises `OpperfError`."""
        # Help and completion do without the imports.
        from opperf.reports.writing import check_exported, write
        from opperf.results.kept import streams_of
        from opperf.results.output import check_output
        from opperf.results.runfile import read_run

        format, output, path = format_named(self.tool, RUN), self.output.path, self.run_file
        if self.columns and not format.has_columns:
            having = ", ".join(name for name, one in formats_of(RUN).items() if one.has_columns)
            raise UsageError(f"--columns is for --to {having}; {self.tool} has no columns")
        if format.folder is None or not output.is_dir():
            check_output(output, self.overwrite, [path])
        run, warnings = read_run(path)
        check_exported(path, run)
        try:
            missing = write(run, output, self.tool, self.columns, streams_of(path))
        except RunFileError as error:
            raise RunFileError(f"{path}: {error}") from error
        for warning in (*warnings, *(f"{path}: {what}" for what in missing)):
            say(f"warning: {warning}")

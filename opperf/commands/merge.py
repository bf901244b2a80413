"""The command `merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.errors import UsageError
from opperf.parameters import debug, written_file
from opperf.parsing import KeptPath


@command(
    examples={
        "The parts of an array job": "opperf merge part-0.jsonl part-1.jsonl -o whole.jsonl",
    }
)
@click.argument("paths", metavar="RUNFILE...", nargs=-1, required=True, type=KeptPath())
@written_file("The run file of all.")
@debug
@click.pass_context
def merge(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Join run files, as those of the jobs of one run with --partition-id, into one, each case
    once, and copy the streams of their programs beside it. Of a case in several files the record
    that ended ok counts, or else the last file's. What none has measured is measured by `opperf run
    --resume FILE`."""
    ctx.exit(_merge(**options))


def _merge(paths: tuple[Path, ...], output: Path, overwrite: bool) -> int:
    # Help and completion do without the imports.
    from opperf.plurals import pluralize
    from opperf.reports.writing import runfile_text
    from opperf.results.merging import Part, copy_streams, merge_parts
    from opperf.results.messages import tell
    from opperf.results.output import check_output, replace
    from opperf.results.runfile import read_visits

    for path in paths:
        if path.resolve() == output.resolve():
            raise UsageError(f"{path} is also the output; name another file with -o")
    check_output(output, overwrite, paths)
    parts = []
    for path in dict.fromkeys(paths):
        run, doubts = read_visits(path)
        parts.append(Part(path, run))
        for doubt in doubts:
            tell(f"warning: {doubt}")
    merged, warnings = merge_parts(parts)
    for warning in warnings:
        tell(f"warning: {warning}")
    replace(output, runfile_text(merged).encode())
    copy_streams(parts, merged, output)
    tell(
        f"{pluralize(len(merged.records), 'record')} of {pluralize(len(parts), 'file')} written "
        f"to {output}"
    )
    return 0

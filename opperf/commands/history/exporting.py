"""The command `history export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opperf.commands.command import command
from opperf.commands.history.options import project, store
from opperf.parameters import debug


@command(
    "export",
    examples={
        "A folder that asv publish reads": (
            "opperf history export --to asv --branch main -o results"
        ),
        "The data of github-action-benchmark's pages": (
            "opperf history export --to github-action-benchmark -o data.js"
        ),
        "The latest run, for bencher run --adapter json": "opperf history export --to bencher",
    },
)
@click.option(
    "--to",
    "form",
    required=True,
    metavar="FORM",
    help="asv, a folder; github-action-benchmark; pytorch, records of its dashboard; or of one "
    "run, the latest or that of --run: bencher, pytest-benchmark, operator-benchmark.",
)
@click.option(
    "-o",
    "--output-file",
    default="-",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Write to this file, or this new folder; - prints.  [default: -]",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
@store
@project
@click.option(
    "--branch", default="", metavar="NAME", help="Only this branch.  [default: the only one]"
)
@click.option("--environment", default="", metavar="KEY", help="Only figures of this environment.")
@click.option("--run", default="", metavar="ID", help="Only this run.")
@debug
@click.pass_context
def export_history(ctx: click.Context, /, debug: bool, **options: Any) -> None:
    """Write the runs of a branch in the form of another tool. What the form has no place for is
    said. Runs of trees with uncommitted changes are omitted."""
    ctx.exit(_export(**options))


def _export(
    form: str,
    output_file: Path,
    overwrite: bool,
    store: str | None,
    project: str,
    branch: str,
    environment: str,
    run: str,
) -> int:
    # Help and completion do without the imports.
    from opperf.errors import UsageError, unknown
    from opperf.history.export.forms import FORMS
    from opperf.history.store.opening import Store, default_store
    from opperf.reports.writing import write_folder
    from opperf.results.messages import tell
    from opperf.results.output import STDOUT, check_output, write_report

    if form not in FORMS:
        raise unknown("form", form, FORMS)
    chosen = FORMS[form]
    if not chosen.is_folder:
        check_output(output_file, overwrite)
    elif output_file == STDOUT or overwrite:
        raise UsageError(f"--to {form} writes a new folder; name one with -o")
    with Store(store or default_store(), must_exist=True) as opened:
        from opperf.history.export.collecting import collect
        from opperf.history.store.reading import find_project

        of = find_project(opened, project)
        exported = collect(opened, of, branch, environment, run)
    written = chosen.write(exported)
    for warning in written.warnings:
        tell(f"warning: {warning}")
    if chosen.is_folder:
        write_folder(output_file, written.files)
        tell(f"written to {output_file}")
    else:
        (content,) = written.files.values()
        write_report(output_file, content.decode())
    return 0

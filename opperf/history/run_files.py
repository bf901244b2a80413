"""A run file as a history takes it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from opperf.errors import RunFileError
from opperf.formats.exporting import submission_of
from opperf.formats.model import Submission
from opperf.history.model import CommitsOf
from opperf.model import Record, Run
from opperf.model.runs import SELECTION
from opperf.plurals import pluralize
from opperf.repository import Checkout
from opperf.results.kept import display
from opperf.results.outliers import commands_for
from opperf.results.runfile import read_run

OF_PYTHON = ("values", "swept_shapes", "sweeps")
"""Fields of a selection whose cases `--id` alone does not name."""


def read_submission(
    path: Path, checkout: Checkout, commits_of: CommitsOf, may_be_partial: bool = False
) -> tuple[Submission, list[str]]:
    """Returns a run file's figures, and what is doubtful about the file, a line each. Raises
    `RunFileError` for a file that is none, that has no record, or, unless it `may_be_partial`, of a
    run that was not finished."""
    run, warnings = read_run(path)
    if not run.records:
        raise RunFileError(f"{path}: the run has no record yet; there is nothing to add")
    if run.closing is None and not may_be_partial:
        # As series that end there, and as outcomes that are missing, it would look like a change.
        left = len(set(run.planned) - {record.id for record in run.records})
        raise RunFileError(
            f"{path}: the run was not finished, or the file was cut short: "
            f"{pluralize(left, 'case')} without a record; finish it with `opperf run --resume "
            f"{display(path)}`, or add what it has with --partial"
        )
    submission = submission_of(
        run,
        checkout.commit,
        path,
        commits_of is CommitsOf.FRAMEWORK,
        lambda record: _command(run, record),
    )
    return msgspec.structs.replace(
        submission, branch=checkout.branch, is_dirty=checkout.is_dirty
    ), warnings


def _command(run: Run, record: Record) -> str:
    """Returns the command that measures a case again; empty for one that no command names."""
    selection = run.header.options.get(SELECTION)
    if not record.case.pattern or not selection or any(map(selection.get, OF_PYTHON)):
        return ""
    return commands_for(run, record).get("run", "")

"""The commands on changes of a history, and on what it keeps."""

from __future__ import annotations

from opperf.commands.options import command, write
from opperf.errors import FOUND
from opperf.plurals import pluralize
from opperf.requests.history.changes import (
    AliasRequest,
    BlessRequest,
    CheckRequest,
    CleanRequest,
    ConfirmRequest,
)
from opperf.results.messages import tell


@command(
    CheckRequest,
    examples={
        "What changed on a branch, with 1 if somebody has to look": (
            "opperf history check --branch main"
        ),
        "Alerts as a team reads them: at most two a week": (
            "opperf history check --branch main --alerts-per-week 2 -o changes.md"
        ),
        "Only what this check found first ends with 1": (
            "opperf history check --branch main --fail-on new"
        ),
    },
)
def check(request: CheckRequest) -> int:
    """Look for changes in the series of a branch, against all of its runs and not the last one, and
    keep them as events. An event is open until it is measured again and not found (noise: `opperf
    history add` of a session), until the series is back (fixed), or until somebody accepts it
    (blessed): in the store by `opperf history bless`, or in the project's file, which is reviewed
    as code is."""
    found = request.run(tell)
    write(found.report, request)
    request.notify_of(found, tell)
    return FOUND if request.fails(found) else 0


@command(
    BlessRequest,
    examples={
        "A change that was wanted, in the project's file for the next review": (
            "opperf history bless 12 --why 'exact results for long rows'"
        ),
        "The same in the store alone": (
            "opperf history bless 12 --why 'exact results for long rows' --in store"
        ),
    },
)
def bless(request: BlessRequest) -> int:
    """Accept a change: it is blessed from the next `opperf history check` on, or at once in the
    store."""
    file = request.run(tell)
    print(f"event {request.event} is blessed{f' in {file}; commit it' if file else ''}")
    return 0


@command(
    ConfirmRequest,
    examples={
        "What measuring both commits in turn said": (
            "opperf history confirm 12 --noise --why 'ab: same within 1 %'"
        )
    },
)
def confirm(request: ConfirmRequest) -> int:
    """Say of a change that it was measured again, and found, or not. `opperf history bisect` does
    so itself."""
    print(f"event {request.event} is {request.run(tell).value}")
    return 0


@command(
    AliasRequest,
    examples={
        "A renamed function's series goes on": (
            "opperf history alias '#12' '#340' --why 'fused_gelu is now gelu'"
        )
    },
)
def alias(request: AliasRequest) -> int:
    """Let the points of the case OLD go on as those of NEW, all of its metrics: after a rename, or
    a change of the case that does not matter. Each is the id of a case, or #NUMBER of stored of its
    series."""
    old, new = request.run(tell)
    print(f"{old} goes on as {new}")
    return 0


@command(
    CleanRequest,
    examples={
        "Runs of trees with uncommitted changes, older than a month": (
            "opperf history gc --dirty --until 30d --dry-run"
        )
    },
)
def gc(request: CleanRequest) -> int:
    """Delete runs from a history with their figures, and the series and commits that have none
    left."""
    project, runs = request.run(tell)
    verb = "would be deleted" if request.dry_run else "deleted"
    print(f"{pluralize(len(runs), 'run')} of {project.name} {verb}")
    return 0

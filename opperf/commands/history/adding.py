"""The commands that add what was measured elsewhere to a history."""

from __future__ import annotations

from collections import Counter

from opperf.commands.options import command
from opperf.history.model import Added
from opperf.plurals import pluralize
from opperf.repository import sha_text
from opperf.requests.history.adding import AddedFiles, AddRequest, ImportRequest
from opperf.results.kept import display
from opperf.results.messages import tell


@command(
    AddRequest,
    examples={
        "The run that just ended, as that of the commit that is checked out": (
            "opperf history add @last"
        ),
        "Runs of another machine, of a commit that is named": (
            "opperf history add nightly.jsonl --commit v1.4.0 --branch main"
        ),
        "In a CI, to a store that all its machines share": (
            "opperf history add run.jsonl --store postgresql://ci@db.example.org/perf"
        ),
        "The verdicts of a session, which decide the changes between its commits": (
            "opperf history add ab.jsonl --commit-a v1.4.0 --commit-b HEAD"
        ),
    },
)
def add(request: AddRequest) -> int:
    """Add run files to a history, each as the figures of a commit, and sessions of `opperf ab`,
    each as the verdicts on two commits. All are added, or none. A file that is there already
    changes nothing, and more of the same adds what is new. A verdict confirms or refutes the open
    changes between its commits that `opperf history check` found."""
    found = request.run(tell)
    for path, one in found.runs:
        print(f"{display(path)}: {_what_was_added(one, found)}")
    for path, session, new in found.sessions:
        print(f"{display(path)}: ", end="")
        if not new:
            print(f"is in {found.project} already, session {session.id}")
            continue
        counts = Counter(verdict.verdict.value for verdict in session.verdicts)
        print(
            f"{pluralize(new, 'verdict')} added to {found.project}, {session.b.short} against "
            f"{session.a.short}: {', '.join(f'{n} {verdict}' for verdict, n in counts.items())}"
        )
    for event, why, _ in found.decided:
        print(f"event {event.id} is {event.state.value}: {why}")
    tell(f"store: {found.store}")
    return 0


def _what_was_added(added: Added, to: AddedFiles) -> str:
    checkout = to.checkout
    assert checkout is not None, "a run is of a commit"
    at = f"{sha_text(added.sha)} ({added.branch})"
    if not added.figures and not added.failures:
        is_other = added.sha != checkout.commit.sha or added.branch != checkout.branch
        return f"is in {to.project} already, at {at}{', where it stays' if is_other else ''}"
    new = f", {added.series} of them the first of their series" if added.series else ""
    dirty = ", of a tree with uncommitted changes" if checkout.is_dirty else ""
    failed = f" and {pluralize(added.failures, 'failure')}" if added.failures else ""
    return f"{pluralize(added.figures, 'figure')}{failed} added to {to.project} at {at}{dirty}{new}"


@command(
    ImportRequest,
    name="import",
    examples={
        "All results of asv, their commits as the repository has them": (
            "opperf history import asv/results --repository ~/src/numerics --branch main"
        ),
        "The pages of github-action-benchmark": (
            "opperf history import dev/bench/data.js --project numerics"
        ),
        "A file that says neither commit nor machine": (
            "opperf history import bencher.json --commit v1.4.0 --machine runner-2"
        ),
    },
)
def import_results(request: ImportRequest) -> int:
    """Add results of other tools to a history: each FILE is a file or a folder. All are added, or
    none; what is there already changes nothing. Commits are looked up in the repository, which
    knows their order; those that it does not have are in the order of their times."""
    project, store, files = request.run(tell)
    for path, intake, added in files:
        failures = sum(run.failures for run in added)
        failed = f" and {pluralize(failures, 'new failure')}" if failures else ""
        print(
            f"{path}: {pluralize(len(added), 'run')} of {intake.submissions[0].source}, "
            f"{pluralize(sum(run.figures for run in added), 'new figure')}{failed} in "
            f"{project}, {sum(run.series for run in added)} new series"
        )
    tell(f"store: {store}")
    return 0

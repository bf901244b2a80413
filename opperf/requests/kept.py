"""Lists and deletes the runs that opperf keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Literal

from opperf.errors import UsageError
from opperf.requests.declaring import Option, Request, Say, argument
from opperf.requests.fields import AsJson
from opperf.requests.parsers import parse_labels, parse_moment, split_commas

if TYPE_CHECKING:
    from opperf.reports.kept_runs import KeptFacts


class RunsRequest(Request, frozen=True, kw_only=True):
    """Finds the runs and sessions that opperf keeps, and deletes them if asked."""

    names: Annotated[tuple[str, ...], argument("[OPERATOR|@RUN]...", gather=split_commas)] = ()
    kind: Annotated[
        Literal["run", "ab"] | None,
        Option("--kind", "Only runs, or only sessions of `opperf ab`."),
    ] = None
    framework: Annotated[
        str | None,
        Option(
            "--framework",
            "Only runs with cases of this framework; a name or glob.",
            str.lower,
            metavar="NAME",
        ),
    ] = None
    labels: Annotated[
        Mapping[str, str],
        Option(
            "--label",
            "Only runs with this label, as `opperf run --label` set it; the value may be a glob.",
            gather=parse_labels,
            metavar="KEY=VALUE",
        ),
    ] = {}
    since: Annotated[
        datetime | None,
        Option(
            "--since",
            "Only runs since then: 2026-01-31, 2026-01-31T12:30, or 3d, 12h, 30m for days, hours "
            "and minutes ago.",
            parse_moment,
            metavar="DATE",
        ),
    ] = None
    until: Annotated[
        datetime | None,
        Option("--until", "Only runs until then, likewise.", parse_moment, metavar="DATE"),
    ] = None
    unfinished: Annotated[bool, Option("--unfinished", "Only runs that were not finished.")] = False
    delete: Annotated[
        bool, Option("--delete", "Delete the runs that are found, with --all every one.")
    ] = False
    everything: Annotated[bool, Option("--all", "With --delete alone: all kept runs.")] = False
    json: AsJson = False

    def run(self, say: Say) -> list[KeptFacts]:
        """Returns the runs that are chosen, the latest first; with `delete` those that are deleted.
        Raises `UsageError` for a run that is not there, and for a deletion of no chosen run."""
        # Help and completion do without the imports.
        from opperf.plurals import pluralize
        from opperf.reports.kept_runs import read_kept
        from opperf.results.kept import remove

        restrictions = (self.kind, self.framework, self.labels, self.since, self.until)
        chooses = any((*restrictions, self.names, self.unfinished))
        if self.everything and (chooses or not self.delete):
            raise UsageError("--all is for --delete without a choice of runs")
        if self.delete and not (chooses or self.everything):
            raise UsageError("--delete needs a choice of runs, e.g. @ID or --until 30d, or --all")
        found = list(filter(self._has, read_kept()))
        if not self.delete:
            return found
        deleted = [entry for entry in found if not entry.run.is_being_written]
        for entry in deleted:
            remove(entry.run.path)
        left = len(found) - len(deleted)
        if left:
            say(f"{pluralize(left, 'run')} in progress stay")
        return deleted

    def _has(self, found: KeptFacts) -> bool:
        facts = found.facts
        return (
            _is_named(found, self.names)
            and self.kind in (None, facts.kind)
            and (
                self.framework is None
                or any(fnmatchcase(name, self.framework) for name in facts.frameworks)
            )
            and all(
                fnmatchcase(facts.labels.get(key, ""), value) and key in facts.labels
                for key, value in self.labels.items()
            )
            and (self.since is None or self.since <= found.run.time)
            and (self.until is None or found.run.time <= self.until)
            and not (self.unfinished and facts.is_finished)
        )


def _is_named(found: KeptFacts, names: Sequence[str]) -> bool:
    # Help and completion do without the imports.
    from opperf.results.kept import is_name, resolve
    from opperf.sources.selecting import as_operator, find_matching

    if not names:
        return True
    runs = [resolve(name) for name in names if is_name(name)]
    operators = [as_operator(case) for case in found.facts.cases]
    return found.run.path in runs or any(
        find_matching(name, operators) for name in names if not is_name(name)
    )

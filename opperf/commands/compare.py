"""The command `compare`, and the end of every command that compares."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from opperf.commands.options import command, write
from opperf.requests.comparing import CompareRequest
from opperf.requests.judging import Judged
from opperf.requests.outputs import ReportedRequest
from opperf.results.messages import tell

if TYPE_CHECKING:
    from opperf.requests.ab.planning import Planned
    from opperf.requests.ab.sessions import Ended


@command(
    CompareRequest,
    examples={
        "What changed between two runs": "opperf compare before.jsonl after.jsonl",
        "A gate at 5 % of the instructions": (
            "opperf compare before.jsonl after.jsonl --metric instructions --threshold 5% "
            "--fail-on regressed"
        ),
        "A page for a pull request and a file for a CI's view of tests": (
            "opperf compare before.jsonl after.jsonl -o report.md -o report.xml"
        ),
    },
)
def compare(request: CompareRequest) -> int:
    """Compare two files of results, BASE and NEW: what got slower, faster, larger or smaller, and
    which cases are new or missing.

    The files are run files (-f jsonl), kept runs (`opperf compare @-2 @last`; `opperf runs` lists
    them), or JSON of `opperf run`, which has averages only. Two runs
    made at different times also differ by chance: this command calls a time at most suspect, and
    prints the command that can confirm it.
    """
    return finish(request.run(tell), request)


def finish(found: Judged[Any], request: ReportedRequest) -> int:
    """Prints the comparison, or writes it; the exit code."""
    write(found.report, request)
    if found.reason:
        sys.stdout.flush()
        tell(f"opperf: {found.reason}")
    return found.code


def end(found: Judged[Any] | Planned | Ended, request: ReportedRequest) -> int:
    """Prints a comparison that a session made, or its plan; the exit code."""
    from opperf.requests.ab.planning import Planned
    from opperf.requests.ab.sessions import Ended

    if isinstance(found, Planned):
        for line in found.lines:
            tell(line, sys.stdout)
        if found.table:
            print(found.table)
        return 0
    if isinstance(found, Ended):
        if found.reason:
            tell(found.reason)
        return found.code
    return finish(found, request)

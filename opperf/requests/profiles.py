"""Explains the difference of two counts of instructions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from opperf.errors import OutputError, UsageError
from opperf.requests.declaring import COMPARISON, OUTPUT, Option, Say, argument
from opperf.requests.fields import count_option
from opperf.requests.outputs import ReportedRequest, format_option
from opperf.requests.parsers import locate_kept

if TYPE_CHECKING:
    from opperf.comparison.explaining.choosing import Chosen
    from opperf.reports.model import Report


class ExplainRequest(ReportedRequest, frozen=True, kw_only=True):
    """Finds the functions that made the difference between two counts of instructions."""

    command = "explain"
    base: Annotated[Path, argument("BASE", locate_kept)]
    new: Annotated[Path | None, argument("[NEW]", locate_kept)] = None
    """None, or the case, for a session, whose file has both sides."""
    id: Annotated[str | None, argument("[ID]")] = None
    measured_pass: Annotated[
        Literal["forward", "backward"],
        Option("--pass", "The pass of the case.", section=COMPARISON),
    ] = "forward"
    sort: Annotated[
        Literal["exclusive", "inclusive"],
        Option(
            "--sort",
            "What comes first: the largest change of a function's own code, or of all that runs "
            "while it does.",
            section=COMPARISON,
        ),
    ] = "exclusive"
    top: Annotated[
        int | None,
        count_option(
            "--top", "Number of functions to show.  [default: 20; all in json]", COMPARISON
        ),
    ] = None
    event: Annotated[
        str,
        Option(
            "--event",
            "What to compare, by callgrind's name, e.g. Ir (instructions), D1mr (cache misses).  "
            "[default: the first that the files count]",
            metavar="NAME",
            section=COMPARISON,
        ),
    ] = ""
    no_python: Annotated[
        bool,
        Option(
            "--no-python",
            "Show the functions of the Python interpreter itself as one line.",
            section=COMPARISON,
        ),
    ] = False
    flame: Annotated[
        Path | None,
        Option(
            "--flame",
            "Write a flame graph of the difference, .svg or .html.",
            metavar="FILE",
            section=OUTPUT,
        ),
    ] = None
    output_format: Annotated[str, format_option("explain")] = ""

    def run(self, say: Say) -> Report:
        """Returns the report, and writes the flame graph if one is named. Raises `OpperfError` for
        files that cannot be compared, and for an output that cannot be written."""
        # Help and completion do without the imports.
        from opperf.comparison.explaining.callgrind import read_dump
        from opperf.comparison.explaining.difference import compare_dumps
        from opperf.comparison.explaining.paths import make_graph
        from opperf.comparison.explaining.reports.difference_report import report_of
        from opperf.comparison.explaining.reports.flame import WRITERS
        from opperf.results.output import check_output, replace

        chosen = self._choose()
        inputs = tuple(filter(None, (self.base, self.new, chosen.base, chosen.new)))
        check_output(self.output.path, self.overwrite, inputs)
        self._check_flame(inputs)
        for warning in chosen.warnings:
            say(f"warning: {warning}")
        base, new = read_dump(chosen.base), read_dump(chosen.new)
        python = not self.no_python
        difference = compare_dumps(base, new, self.event, self.sort, python)
        if self.flame is not None:
            graph = make_graph(base, new, difference.event, python)
            write = WRITERS[self.flame.suffix.lower()]
            replace(self.flame, write(graph, difference, chosen.title).encode())
            say(f"written to {self.flame}")
        return report_of(difference, chosen.title, self.top, chosen.results)

    def _choose(self) -> Chosen:
        """Returns the profiles to compare. Raises `UsageError` for a single run."""
        # Help and completion do without the imports.
        from opperf.comparison.ab.gate import as_counted, why_not_counted
        from opperf.comparison.ab.session_file import find_pair, session_of
        from opperf.comparison.explaining.choosing import choose, choose_dumps
        from opperf.comparison.results import ResultsRow
        from opperf.results.kept_facts import is_session
        from opperf.results.runfile import read_run

        base, new, wanted = self.base, self.new, self.id
        if not is_session(base):
            if new is None:
                raise UsageError(f"{base} is no session: name BASE and NEW, two files, and a case")
            return choose(base, new, wanted, self.measured_pass)
        if wanted is not None:
            raise UsageError(
                f"{base} is a session, which has both sides: opperf explain {base} {wanted}"
            )
        # With one file, the second argument is the case.
        run, warnings = read_run(base)
        session = session_of(base, run)
        pair = find_pair(base, session, None if new is None else str(new))
        group = session.group_of[pair[0].id]
        results = tuple(
            ResultsRow.of(group, own.label, own.inputs, check)
            for own in session.pairs
            if own.id == group and (check := session.checks.get(group)) is not None
        )
        if session.plan.gate is not None:
            why = why_not_counted(*pair)
            if why:
                raise UsageError(f"{base}: instructions of {pair[0].label} were not counted: {why}")
            pair = as_counted(pair[0]), as_counted(pair[1])
        chosen = choose_dumps((base, base), (run, run), pair, self.measured_pass, warnings)
        return chosen._replace(results=results)

    def _check_flame(self, inputs: tuple[Path, ...]) -> None:
        """Raises `UsageError` for an unknown extension of the flame graph, and `OutputError` if it
        cannot be written."""
        # Help and completion do without the imports.
        from opperf.comparison.explaining.reports.flame import WRITERS
        from opperf.results.output import check_output

        if self.flame is None:
            return
        if self.flame.suffix.lower() not in WRITERS:
            raise UsageError(
                f"{self.flame}: the name of a flame graph ends in {' or '.join(WRITERS)}"
            )
        if self.flame == self.output.path:
            raise OutputError(f"{self.flame} is named as two outputs; choose another name for one")
        check_output(self.flame, self.overwrite, inputs)

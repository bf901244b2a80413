"""Explains the difference of two counts of instructions, and shows what is in traces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from opperf.errors import OutputError, UsageError
from opperf.plurals import pluralize
from opperf.requests.declaring import Option, Say, argument, warn
from opperf.requests.outputs import ReportedRequest
from opperf.results.kept_facts import is_session
from opperf.results.output import check_output, replace
from opperf.results.run_files import locate
from opperf.results.runfile import read_run

if TYPE_CHECKING:
    from opperf.comparison.explaining.choosing import Chosen
    from opperf.reports.model import Report
    from opperf.traces.trace import Trace


class ExplainRequest(ReportedRequest, frozen=True, kw_only=True):
    """Finds the functions that made the difference between two counts of instructions."""

    section: ClassVar[str] = "Comparison"

    base: Annotated[Path, argument("BASE", locate)]
    new: Annotated[Path | None, argument("[NEW]", locate)] = None
    """None, or the case, for a session, whose file has both sides."""
    id: Annotated[str | None, argument("[ID]")] = None
    measured_pass: Annotated[
        Literal["forward", "backward"], Option("The pass of the case.", spellings="--pass")
    ] = "forward"
    sort: Annotated[
        Literal["exclusive", "inclusive"],
        Option(
            "What comes first: the largest change of a function's own code, or of all that runs "
            "while it does."
        ),
    ] = "exclusive"
    top: Annotated[
        int | None, Option("Number of functions to show.  [default: 20; all in json]", low=1)
    ] = None
    event: Annotated[
        str,
        Option(
            "What to compare, by callgrind's name, e.g. Ir (instructions), D1mr (cache misses).  "
            "[default: the first that the files count]",
            metavar="NAME",
        ),
    ] = ""
    no_python: Annotated[
        bool, Option("Show the functions of the Python interpreter itself as one line.")
    ] = False
    flame: Annotated[
        Path | None,
        Option("Write a flame graph of the difference, .svg or .html.", section="Output"),
    ] = None

    def run(self, say: Say) -> Report:
        """Returns the report, and writes the flame graph if one is named."""
        from opperf.comparison.explaining.callgrind import read_dump
        from opperf.comparison.explaining.difference import compare_dumps
        from opperf.comparison.explaining.difference_report import report_of
        from opperf.comparison.explaining.flame import WRITERS
        from opperf.comparison.explaining.paths import make_graph

        chosen = self._choose()
        inputs = tuple(filter(None, (self.base, self.new, chosen.base, chosen.new)))
        self.check_outputs(inputs)
        self._check_flame(inputs)
        warn(say, chosen.warnings)
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
        from opperf.comparison.ab.gate import as_counted, why_not_counted
        from opperf.comparison.ab.session_file import find_pair, session_of
        from opperf.comparison.explaining.choosing import choose, choose_dumps
        from opperf.comparison.results import ResultsRow

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
        from opperf.comparison.explaining.flame import WRITERS

        if self.flame is None:
            return
        if self.flame.suffix.lower() not in WRITERS:
            raise UsageError(
                f"{self.flame}: the name of a flame graph ends in {' or '.join(WRITERS)}"
            )
        if self.flame in self.output_files:
            raise OutputError(f"{self.flame} is named as two outputs; choose another name for one")
        check_output(self.flame, self.overwrite, inputs)


DEPTH = 4
"""Levels of a tree: steps, what a program labels in them, operators, and what these call."""

DEEPEST = 64
"""Most levels of a tree; programs nest fewer."""

MOST_NAMED = 4
"""Traces that a message names."""


class TraceRequest(ReportedRequest, frozen=True, kw_only=True):
    """Shows what is in traces of a program, or writes their calls."""

    files: Annotated[tuple[Path, ...], argument("FILE...")]
    tree: Annotated[bool, Option("Show the nodes as a tree, in place of the operators.")] = False
    depth: Annotated[int, Option("Levels of --tree.", low=1, high=DEEPEST)] = DEPTH
    node: Annotated[
        int | None,
        Option(
            "Show this node: arguments, tensors, what is above and below it, times.",
            low=0,
            metavar="ID",
        ),
    ] = None
    tensor: Annotated[
        int | None,
        Option(
            "Show this tensor: which call made it, which use it, and its storage.",
            low=0,
            metavar="ID",
        ),
    ] = None
    rank: Annotated[int | None, Option("Only the trace of this rank, of several.", low=0)] = None
    written: Annotated[
        Path | None,
        Option(
            "Write the calls for `opperf run`, by the extension: .jsonl, a recording with counts, "
            "places and times; .txt, a log of operator inputs; .json, a configuration of PARAM's.",
            spellings="--to",
        ),
    ] = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, those of each rank together if all names have one."""
        from opperf.traces.archives import rank_in

        ranks = {path: rank_in(path.name) for path in self.files}
        if None in ranks.values():
            return self.files
        return tuple(sorted(self.files, key=lambda path: ranks[path] or 0))

    def run(self, say: Say) -> Report | None:
        """Returns the report that is asked for; None if the calls are written instead."""
        part = self._part()
        if self.written is not None:
            check_output(self.written, self.overwrite, self.files)
            from opperf.execution.written_traces import write_calls

            paths, file = self.paths, self.written
            made, calls = write_calls(paths, self.rank, file, self.overwrite, say)
            say(f"written to {file}, {pluralize(made, 'case')} of {pluralize(calls, 'call')}")
            return None
        self.check_outputs(self.files)
        return self._overview() if part is None else self._report_of(part)

    def _part(self) -> str | None:
        for path in self.files:
            if self.files.count(path) > 1:
                raise UsageError(f"{path} is named twice; name each trace once")
        asked = {
            "--tree": self.tree,
            "--node": self.node is not None,
            "--tensor": self.tensor is not None,
        }
        parts = [option for option, is_asked in asked.items() if is_asked]
        given = [*parts, *(["--to"] if self.written is not None else [])]
        if len(given) > 1:
            raise UsageError(f"{' and '.join(given)} are different things to do; choose one")
        if "depth" in self.given and not self.tree:
            raise UsageError("--depth is for --tree")
        if self.written is not None:
            self._check_written(self.written)
        return next(iter(parts), None)

    def _check_written(self, file: Path) -> None:
        from opperf.execution.written_traces import WRITERS

        if file.suffix not in WRITERS:
            raise UsageError(
                f"--to {file}: its extension says what is written: {', '.join(WRITERS)}"
            )
        if self.given & {"output_files", "output_format"}:
            raise UsageError(f"--to writes {file}, and no report; omit -o and -f")

    def _traces(self) -> Iterator[Trace]:
        from opperf.traces.reading import of_rank, read_traces

        return of_rank(read_traces(self.paths), self.rank)

    def _overview(self) -> Report:
        from opperf.reports.traces import overview_report, rank_report
        from opperf.traces.overview import overview_of
        from opperf.traces.rank_comparison import compare_ranks

        # A trace takes much memory, and what is shown of it little.
        overviews = [overview_of(trace) for trace in self._traces()]
        if len(overviews) == 1:
            return overview_report.report_of(overviews[0])
        return rank_report.report_of(compare_ranks(overviews))

    def _report_of(self, part: str) -> Report:
        from opperf.reports.traces.cells import outline_report
        from opperf.reports.traces.node_report import node_report, tensor_report
        from opperf.traces.outline import outline_of

        trace = self._only(part)
        if self.node is not None:
            return node_report(trace, self.node)
        if self.tensor is not None:
            return tensor_report(trace, self.tensor)
        return outline_report(trace, outline_of(trace, self.depth))

    def _only(self, option: str) -> Trace:
        found: list[Trace] = []
        names: list[str] = []
        for trace in self._traces():
            names.append(trace.name if trace.rank is None else f"rank {trace.rank}")
            found = found or [trace]
        if len(names) > 1:
            more = len(names) - MOST_NAMED
            others = f" and {pluralize(more, 'other')}" if more > 0 else ""
            raise UsageError(
                f"{option} is of one trace, and here are {', '.join(names[:MOST_NAMED])}{others}; "
                "choose one with --rank, or name its file"
            )
        return found[0]

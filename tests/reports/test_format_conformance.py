"""What every format is held to, built-in or of another package: the toy stands for those."""

import csv
import dataclasses
import io
import json
import math
import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

from opperf.commands import COMMANDS
from opperf.comparison.ab.session_plan import Lacking
from opperf.comparison.ab.telling import telling_of as of_session
from opperf.comparison.compared import ComparedRow, Comparison, Side
from opperf.comparison.explaining.difference import (
    ChangedFunction,
    Counts,
    DumpDifference,
    DumpTotals,
)
from opperf.comparison.explaining.difference_report import report_of as of_functions
from opperf.comparison.explaining.functions import Function
from opperf.comparison.files.telling import telling_of as of_files
from opperf.comparison.nodes import telling_of as of_nodes
from opperf.comparison.report import report_of
from opperf.comparison.suites.comparing import compare
from opperf.comparison.suites.comparing import telling_of as of_suites_compared
from opperf.comparison.suites.score_report import milabench_report as of_milabench
from opperf.comparison.suites.score_report import report_of as of_scores
from opperf.comparison.versus.judging import ArmRow, Total, Versus
from opperf.comparison.versus.report import report_of as of_implementations
from opperf.errors import UsageError
from opperf.history.attempts import Attempt, Outcome
from opperf.history.bisection.report import report_for as of_bisection
from opperf.history.checking import Checked, Noted
from opperf.history.detection.findings import NoteKind, SeriesNote
from opperf.history.events import Event
from opperf.history.events import Kind as EventKind
from opperf.history.reports.checked import check_report, rows_of
from opperf.history.reports.listing import (
    attempts_report,
    projects_report,
    runs_report,
    series_report,
    verdicts_report,
)
from opperf.history.reports.showing import show_report
from opperf.history.store.adding import add_runs
from opperf.history.store.opening import Store
from opperf.history.store.reading import find_project, read_environments, read_failures
from opperf.history.timelines import read_history
from opperf.history.verdicts import NOTHING
from opperf.model import ListedOperator, Listing, Note, NoteCode, Operator, Status
from opperf.opperf import load_command
from opperf.reports import formats
from opperf.reports.coverage import coverage
from opperf.reports.coverage import report_of as of_coverage
from opperf.reports.formats import BUILT_IN, DRAWN, REPORT, RUN, Format, format_named
from opperf.reports.hotspots.data import find_hotspots
from opperf.reports.hotspots.ranking_report import recording_of
from opperf.reports.hotspots.ranking_report import report_of as of_ranking
from opperf.reports.listing import categories_report, operators_report
from opperf.reports.pages import page
from opperf.reports.pages.page import SCRIPTS
from opperf.reports.run_plans import plan_report
from opperf.reports.showing import report_of as of_operator
from opperf.reports.validations import report_of as of_validation
from opperf.requests.outputs import ReportedRequest
from opperf.results.runfile import read_run
from opperf.results.units import Figure
from opperf.statistics.data import Verdict
from opperf.suites.results.layers import OWN, validate
from opperf.suites.results.scores import scores_of
from tests.commands.bisect.test_confirming import FOUND as BISECTED
from tests.comparison.ab.test_report import report as session  # noqa: F401
from tests.comparison.files.reports.conftest import NASTY, everything, hostile  # noqa: F401
from tests.history.sessions import verdict
from tests.history.submissions import entry, failure, submission
from tests.recordings import called, measured, site, transformer
from tests.reports.machine_reports import of_this_machine
from tests.reports.trace_reports import reports_of_traces
from tests.suites.results.making import facts_of, record_of, script_case, suite
from tests.web_pages import read_markdown, read_page, read_part

PAGES = Path(page.__file__).parent

# Not by the path of imports, where every later test would find it as an installed one.
TSV = runpy.run_path(str(Path(__file__).parents[1] / "toy_format" / "toy_format.py"))["TSV"]

EVERY = {format.name: format for format in (*BUILT_IN, TSV)}


@pytest.fixture(params=EVERY.values(), ids=EVERY.keys())
def format(request):
    return request.param


@pytest.fixture
def odd_run(run, make_record):
    """A run with a record of every status, notes, labels that are markup, and NaN."""
    stalled = Note("forward", NoteCode.STALL, NASTY)
    nan = {"mean": math.nan, "median": math.nan, "p90": math.nan}
    whole = make_record(NASTY.replace("\x07", ""))
    figure = msgspec.structs.replace(whole.summaries["forward"], **nan)
    records = (
        msgspec.structs.replace(make_record("relu"), notes=(stalled,)),
        whole,
        msgspec.structs.replace(make_record("exp"), summaries={"forward": figure}),
        *(make_record(status.value, status, reason=NASTY) for status in Status if status != "ok"),
    )
    cases = tuple(record.case for record in records)
    return msgspec.structs.replace(run, records=records, cases=cases)


@pytest.fixture
def found(odd_run, everything, hostile, session, tmp_path):  # noqa: F811
    """Reports of every command, among them such of names that are markup."""
    first, *others = session.rows
    rows = (msgspec.structs.replace(first, operator=NASTY, inputs=NASTY, note=NASTY), *others)
    odd = msgspec.structs.replace(
        session, rows=rows, sides=(Side(NASTY), Side(NASTY)), reasons={NASTY: {NASTY: NASTY}}
    )
    side = DumpTotals(NASTY, 1, {"Ir": 5.0}, None)
    changed = ChangedFunction(Function(NASTY, NASTY), "", Counts(5.0, 5.0), Counts(7.0, 7.0))
    functions = DumpDifference(side, side, "Ir", "exclusive", (changed,))
    listed = ListedOperator(
        operator=Operator(framework="mxnet", namespace="nd", name=NASTY, aliases=(NASTY,)),
        rule=NASTY,
        whys=(NASTY,),
        cases=1,
    )
    listing = Listing(NASTY, NASTY, 1, (listed,))
    case = odd_run.records[1].case
    return {
        "list": [
            plan_report(odd_run.cases, [NASTY]),
            operators_report([listed]),
            categories_report([listed]),
        ],
        "show": [of_operator(listed, [case], [f"print({NASTY!r})"])],
        "coverage": [of_coverage(coverage(listing, odd_run.records))],
        "compare": [report_of(one, of_files(one)) for one in (everything, hostile)],
        "ab": [report_of(one, of_session(one)) for one in (session, odd)],
        "versus": [of_implementations(implementations())],
        "report": [of_ranking(find_hotspots([odd_run])), *map(of_recording, recordings())],
        "explain": [of_functions(functions, NASTY)],
        "trace": list(reports_of_traces(NASTY)),
        "nodes": [report_of(nodes_compared(), of_nodes(nodes_compared(), NASTY))],
        **of_this_machine(NASTY, odd_run.cases, tmp_path),
        **of_suites(tmp_path),
        **of_history(tmp_path),
        "bisect": [of_bisection(bisection(), Path(NASTY.replace("\x07", "")))],
    }


def implementations():
    """Two arms, of which one is slower, and one that is absent."""
    first = ArmRow("1", NASTY, NASTY, "forward", NASTY, NASTY, Figure(1.0), results="base")
    other = ArmRow(
        *("1", NASTY, NASTY, "forward", "b", NASTY, Figure(2.0, 0.5)),
        ratio=2.0,
        verdict=Verdict.REGRESSED,
        results="same",
        difference=NASTY,
        note=NASTY,
    )
    lacking = (Lacking(NASTY, NASTY, "b", NASTY),)
    return Versus(
        arms=(NASTY, "b"),
        rows=(first, other),
        totals=(Total(NASTY, 1.0, 1, 1, 1, 1, 0, 0), Total("b", None, 0, 0, 1, 0, 1, 1)),
        lacking=lacking,
        absent={NASTY: NASTY},
        numerics={NASTY: {NASTY: NASTY}, "b": {NASTY: "off"}},
        fail_on=("wrong",),
    )


def nodes_compared():
    """Nodes, of which one is slower, one of another kind, and one without a figure."""
    verdicts = [Verdict.REGRESSED, *[Verdict.NO_CLEAR_CHANGE] * 3]
    rows = tuple(
        ComparedRow(
            str(n), NASTY, "", "figures", one, NASTY, ratio=2.0, low=1.0, high=3.0, note=NASTY
        )
        for n, one in enumerate(verdicts)
    )
    reasons = {"Not compared": {NASTY: NASTY}, "Not measured": {NASTY: NASTY}}
    sides = (Side(NASTY),) * len(rows)
    return Comparison("nodes", sides, 0.02, rows=rows, reasons=reasons)


def bisection():
    """A bisection whose names are markup."""
    commits = tuple(
        msgspec.structs.replace(commit, subject=NASTY) for commit in BISECTED.state.commits
    )
    state = msgspec.structs.replace(BISECTED.state, commits=commits, skipped={NASTY: NASTY})
    ends = tuple(
        msgspec.structs.replace(end, operator=NASTY, inputs=NASTY) for end in BISECTED.ends
    )
    return msgspec.structs.replace(BISECTED, state=state, ends=ends, end=ends[0], notes=(NASTY,))


def of_history(folder):
    """Reports on a history whose names are markup."""
    name = NASTY.replace("\x07", "")
    with Store(str(folder / "history.sqlite")) as store:
        runs = [
            submission(number, entry(100.0 * number, name=name), failure(name, "c1"), branch=name)
            for number in (1, 2)
        ]
        add_runs(store, name, runs)
        project = find_project(store)
        history, environments = read_history(store, project), read_environments(store)
        failures = read_failures(store, project)
    line = history.timelines[0]
    change = {"branch": name, "environment": "e0", "ratio": 1.1, "method": name}
    events = [
        Event(EventKind.SERIES, last_good=name, first_bad=name, series=line.id, id=1, **change),
        Event(EventKind.MACHINE, last_good=name, first_bad=name, id=2, **change),
        Event(EventKind.STOPPED, last_good=name, first_bad=name, series=line.id, id=3, **change),
    ]
    note = SeriesNote(name, NoteKind.BREAK, "e0", 1, name)
    checked = Checked(
        found=[],
        over_budget=events,
        ended=[],
        pending=[],
        notes=[Noted(line.id, note, name), Noted(None, note, name)],
        order={name: 1},
        gone=[],
        settings=name,
    )
    machines = {"e0": name}
    rows = rows_of(events, {line.id: line}, [1], NOTHING, machines, {})
    return {
        "history list": [
            series_report(history, project, environments),
            runs_report(history.runs, project, {run.id: 1 for run in history.runs}),
            projects_report([project]),
            verdicts_report([verdict(Verdict.REGRESSED, 1.1, a=1, b=2, operator=name)], project),
        ],
        "history run": [
            attempts_report(
                [run.commit for run in history.runs[:1]],
                {history.runs[0].commit.sha: Attempt(Outcome.FAILED, 1, name)},
                name,
            )
        ],
        "history check": [check_report(rows, checked, history, project, name, machines)],
        "history show": [show_report(history, project, environments, failures)],
    }


def of_suites(folder):
    """Reports on suites, of a bench that worked, one that failed and one that never started."""
    name = NASTY.replace("\x07", "")
    good, bad = (
        record_of(script_case(f"{name}{end}", argv=(NASTY,)), rates, status, NASTY)
        for end, rates, status in (("", [5.0] * 20, Status.OK), ("!", None, Status.TIMEOUT))
    )
    benches = [
        facts_of(good, name=name, group=NASTY, point={NASTY: NASTY}),
        facts_of(bad, name=f"{name}!", tags=(NASTY,)),
        facts_of(name=f"{name}?", why_not=NASTY),
    ]
    run = suite(folder, benches, [good, bad])
    compared = compare(run, run, by=(NASTY, "group"))
    return {
        "suite report": [
            of_scores(scores_of(run)),
            of_scores(scores_of(run, run, by=(NASTY, "group"), price=10.0)),
            of_milabench(dataclasses.replace(run, name=NASTY), 10.0),
        ],
        "suite validate": [of_validation(validate(run, OWN))],
        "suite compare": [report_of(compared, of_suites_compared(compared))],
    }


def reporting():
    """Yields the names of the commands whose request says that its result is a report."""
    for name in COMMANDS:
        made = load_command(name)
        for inner in getattr(made, "table", ()):
            if issubclass(made.get_command(None, inner).kind, ReportedRequest):
                yield f"{name} {inner}"
        if issubclass(getattr(made, "kind", Format), ReportedRequest):
            yield name


def recordings():
    """Recordings that were timed, were not, and were measured, with names that are markup."""
    odd = called(NASTY, site(f"{NASTY}.0.{NASTY}", 2, file=NASTY, phase=NASTY, function=NASTY))
    timed = transformer(command=NASTY, notes=(NASTY,))
    timed = msgspec.structs.replace(timed, cases=(*timed.cases, odd))
    return [timed, transformer(is_timed=False), measured(timed, {NASTY: 1.0, "addmm": 2.0})]


def of_recording(run):
    found = find_hotspots([run])
    factors = {} if found.basis.name == "calls" else {"addmm": 0.5}
    return of_ranking(found, None, recording_of(found, [run], factors), has_tree=True)


def check_json(text):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    try:
        json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError:
        # A value on each line.
        for line in text.rstrip("\n").split("\n"):
            json.loads(line, parse_constant=refuse)


def check_csv(text):
    header, *rows = csv.reader(io.StringIO(text))
    assert header and {len(row) for row in rows} <= {len(header)}


def check_html(text):
    is_page = text.startswith("<!DOCTYPE html>")
    tags = read_page(text).tags if is_page else set(read_part(text).seen)
    assert not {"b", "img", "iframe"} & tags and (is_page or "script" not in tags)
    if is_page and "script" in tags:
        # The data of a page, and what draws them.
        page = read_page(text)
        json.loads(*page.data)
        assert page.scripts == [(PAGES / name).read_text() for name in SCRIPTS]


def check_svg(text):
    kinds = {element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()}
    assert kinds <= {"svg", "g", "title", "rect", "text"}


def check_markdown(text):
    assert not set(read_markdown(text).seen) & {"a", "b", "img", "script", "s", "iframe"}
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


CHECKS = {
    ".json": check_json,
    ".jsonl": check_json,
    ".csv": check_csv,
    ".xml": ET.fromstring,
    ".html": check_html,
    ".svg": check_svg,
    ".md": check_markdown,
    ".txt": lambda text: None,
    ".tsv": lambda text: None,
}


def check(format, text):
    assert text.endswith("\n")
    CHECKS[format.extension](text)


def test_every_report_is_held_to_it(found):
    assert set(found) == set(reporting())


def test_it_says_what_it_writes(format):
    assert re.fullmatch(r"\.\w+", format.extension)
    written = [what for what in (RUN, DRAWN) if format.writes(what)]
    assert written and isinstance(format, Format)


def test_it_writes_a_run_with_every_status_and_odd_names(format, odd_run):
    if not format.writes(RUN) or format.folder is not None:
        pytest.skip("not a format of runs that is one file")
    text, missing = format.write_run(odd_run)
    check(format, text)
    assert (text, missing) == format.write_run(odd_run), "the same for the same run"


def test_every_format_writes_every_report_with_odd_names(found):
    for command, reports in found.items():
        for format in EVERY.values():
            if format.writes(DRAWN if command == "report" else REPORT):
                for report in reports:
                    check(format, format.write_report(report))


def test_a_terminal_is_not_exceeded(found):
    for command, reports in found.items():
        for report in reports:
            text = format_named("text", REPORT).write_report(report, 100)
            # Code and commands are for copying.
            lines = [one for one in text.splitlines() if not one.startswith(("    ", "  opperf"))]
            assert max(map(len, lines)) <= 100, command


def test_a_run_file_is_read_again(odd_run, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(EVERY["jsonl"].write_run(odd_run)[0])
    again, warnings = read_run(path)
    assert not warnings and [one.id for one in again.records] == [one.id for one in odd_run.records]


@pytest.mark.parametrize(
    "declared, said",
    [("no format", "is no Format"), (TSV._replace(name="md"), "already a format 'md'")],
)
def test_a_declaration_that_is_none_is_refused(monkeypatch, declared, said):
    class Entry:
        value = "toy_format:TSV"

        def load(self):
            return declared

    monkeypatch.setattr("opperf.declared.declared", lambda group: (Entry(),))
    with pytest.raises(UsageError, match=said):
        formats.known_formats()

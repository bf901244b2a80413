"""The file of a session: what is in it, and what it is repaired to."""

import json
import math

import msgspec
import pytest

from opperf.comparison.ab.arms import with_all_threads
from opperf.comparison.ab.judging import comparison_of
from opperf.comparison.ab.process import Absence, Lost
from opperf.comparison.ab.session_file import SessionWriter, read_session
from opperf.comparison.ab.telling import telling_of
from opperf.comparison.report import report_of
from opperf.errors import OutputError, RunFileError
from opperf.model import Check, Closing, Difference, Place, ProcessLine, Settings, Status, Tolerance
from opperf.results.runfile import read_run, read_visits
from opperf.sources.selecting import Selection
from opperf.statistics.data import Analysis, CaseVerdict, Thresholds, Verdict
from tests.comparison.ab.sessions import at, case, crashed, ok, session_of
from tests.verifications import FAILED, verified

RELU = case("relu", threads=2)
CLOSING = Closing("then", 1.0, {"same": 1})


@pytest.fixture
def session():
    return session_of(
        RELU,
        thresholds=Thresholds(threshold=0.05),
        seed=3,
        selection=Selection(patterns=("relu",)),
        absences=(Absence("1", "dot", "x: (2, 2)", ("forward",), {"B": "none"}, is_missing=True),),
        visit_s={RELU.id: 0.25},
    )


def place(position, phase="comparison"):
    arm = "AB"[position % 2]
    return Place(phase, 0, position, arm, arm)


def add(writer, position):
    """Writes a process as it is measured: its record, and that it has ended."""
    here = place(position)
    (planned,) = writer.session.cases_of(here.arm).values()
    record = at(ok(planned, 10.0 * (position + 1)), here)
    writer.store.record(record)
    writer.add(ProcessLine(here, "", 1.0), [record])


@pytest.fixture
def written(session, tmp_path):
    path = tmp_path / "ab.jsonl"
    with SessionWriter.create(path, session, overwrite=False) as writer:
        for position in range(3):
            add(writer, position)
        writer.close_session(CLOSING)
    return path


def test_round_trip(session, written):
    found, warnings = read_session(written)
    assert warnings == []
    assert found == session and len(found.processes) == 3 and found.closing == CLOSING
    assert [one.values[f"{RELU.id} forward"] for one in found.replicates] == [
        math.log(10.0 * n) for n in (1, 2, 3)
    ]
    assert [(one.arm, one.position) for one in found.replicates] == [("A", 0), ("B", 1), ("A", 2)]


def test_a_page_has_the_medians_of_the_processes_of_both_arms(session, written):
    found, _ = read_session(written)
    analysis = Analysis(
        True, Thresholds(), None, (CaseVerdict(f"{RELU.id} forward", Verdict.SAME),)
    )
    compared = comparison_of(found, analysis, name="my session.jsonl")
    rows = report_of(compared, telling_of(compared)).changes.table.rows
    (row,) = (row for row in rows if row.samples)
    a, b = row.samples
    assert (a.side, a.values, a.median) == ("A", pytest.approx([10.0, 30.0]), pytest.approx(20.0))
    assert (b.side, b.values) == ("B", pytest.approx([20.0]))
    commands = [command for _, command in row.code]
    ids = [found.cases_of(arm)[RELU.id].id for arm in "AB"]
    assert commands == [f"opperf run 'my session.jsonl' --id {id}" for id in ids]
    assert comparison_of(found, analysis).again == {}, "a session that is not kept has no file"


def test_the_time_of_a_wrong_result_is_lost(session, tmp_path):
    with SessionWriter.create(tmp_path / "ab.jsonl", session, overwrite=False) as writer:
        (planned,) = session.cases_of("B").values()
        record = at(verified(ok(planned), FAILED), place(1))
        writer.add(ProcessLine(place(1), "", 1.0), [record])
    assert writer.session.lost[RELU.id].reason == "B: wrong result: output: its error is 0.01"
    assert not writer.session.processes[0].values


def test_it_is_a_run_file_with_a_record_of_each_case(session, written):
    run, _ = read_run(written)
    a, b = run.records
    assert (a.samples["forward"], b.samples["forward"]) == ([10.0, 30.0], [20.0])
    assert (a.summaries["forward"].median, a.place, a.case.settings.env) == (20.0, None, {})
    assert b.case.settings.env == {"X": "B"}
    assert [record.place for record in read_visits(written)[0].records] == [
        place(position) for position in range(3)
    ]


def test_going_on_cuts_off_the_closing_line(written):
    with SessionWriter.resume(written) as writer:
        assert writer.session.closing is None and len(writer.session.processes) == 3
        add(writer, 3)
        assert len(writer.session.processes) == 4
    assert len(read_session(written)[0].processes) == 4


def test_cut_within_the_last_process(session, tmp_path):
    path = tmp_path / "ab.jsonl"
    with SessionWriter.create(path, session, overwrite=False) as writer:
        add(writer, 0)
        before = path.stat().st_size
        add(writer, 1)
    whole = path.read_bytes()
    # Around the ends of lines, and at some places within them.
    ends = [place for place in range(before, len(whole)) if whole[place] == ord("\n")]
    near = {end + step for end in (before, *ends) for step in (-1, 0, 1, 2)}
    for size in sorted(near & {*range(before, len(whole))} | {*range(before, len(whole), 29)}):
        path.write_bytes(whole[:size])
        found, warnings = read_session(path)
        is_torn = whole[size - 1 : size] != b"\n"
        assert len(found.processes) == 1 and len(warnings) == is_torn
        with SessionWriter.resume(path) as writer:
            # The record of a process that was cut short is measured again, and counts once.
            add(writer, 1)
        assert len(read_session(path)[0].processes) == 2
        assert len(read_visits(path)[0].records) == 2


def test_it_is_replaced_only_when_told(session, written):
    before = written.read_bytes()
    with pytest.raises(OutputError, match="--overwrite to replace it, or --resume"):
        SessionWriter.create(written, session, overwrite=False)
    assert written.read_bytes() == before
    with SessionWriter.create(written, session, overwrite=True):
        assert read_session(written)[0].processes == []


def test_a_second_writer_is_refused(session, written):
    with SessionWriter.resume(written):
        with pytest.raises(RunFileError, match="being written by another opperf"):
            SessionWriter.resume(written)
        with pytest.raises(RunFileError, match="being written by another opperf"):
            SessionWriter.create(written, session, overwrite=True)
    assert len(read_session(written)[0].processes) == 3


def test_a_run_is_refused(written):
    header, *lines = written.read_bytes().splitlines(keepends=True)
    run = {**msgspec.json.decode(header), "session": {}}
    for bad, words in (
        (run, "it is a run, and no session of `opperf ab`"),
        ({**run, "session": {"kind": "times"}}, "its plan is not valid: "),
    ):
        written.write_bytes(b"".join([msgspec.json.encode(bad) + b"\n", *lines[:-1]]))
        before = written.read_bytes()
        for attempt in (read_session, SessionWriter.resume):
            with pytest.raises(RunFileError) as caught:
                attempt(written)
            assert f"{written}: {words}" in str(caught.value)
        assert written.read_bytes() == before


def with_lost(session, *processes, phase="comparison"):
    """Adds processes with these records."""
    for position, records in enumerate(processes):
        session.add(ProcessLine(place(position, phase), "", 1.0), records)
    return session


def test_what_ended_a_process_is_remembered():
    x, y = case("x"), case("y")
    session = session_of(x, y)
    of_a, of_b = (session.cases_of(arm) for arm in "AB")
    failed = msgspec.structs.replace(ok(of_a[x.id]), status=Status.FAILED, reason="once")
    again = ok(of_b[x.id], 0.0)
    with_lost(session, [failed, crashed(of_a[y.id])], [again, ok(of_b[y.id])])
    assert session.lost == {
        x.id: Lost("B: forward: its median is zero; backward: its median is zero"),
        y.id: Lost("A: crashed: SIGSEGV", ended=True),
    }
    assert session.ended == {f"{y.id} {metric}" for metric in y.passes}


def test_a_case_that_ends_its_process_with_all_threads_costs_no_verdict(session):
    coarse = {arm: with_all_threads(session.cases_of(arm)[RELU.id]) for arm in "AB"}
    with_lost(session, [crashed(coarse["A"])], [ok(coarse["B"])], phase="coarse")
    assert session.lost == {} and session.ended == frozenset()
    assert session.coarse_lost == {RELU.id: Lost("A: crashed: SIGSEGV", ended=True)}


def test_threads_of_the_plan():
    assert str(session_of(RELU).threads) == "all"
    one = Selection(settings=Settings(threads=1))
    coarse = session_of(RELU, selection=one, thresholds=Thresholds(coarse_blocks=2))
    assert str(coarse.threads) == "1,all"


def test_arms_are_compared_with_the_first():
    session = session_of(RELU, arms=("base", "new", "other"))
    for position, arm in enumerate(("base", "new", "other", "other", "new", "base")):
        here = Place("comparison", 0, position, arm, arm)
        record = ok(session.cases_of(arm)[RELU.id], 100.0 + position)
        session.add(ProcessLine(here, "", 1.0), [record])
    control = Place("control", 0, 0, "base", "new")
    session.add(ProcessLine(control, "", 1.0), [ok(session.cases_of("base")[RELU.id])])
    for own, places in zip(session.comparisons, ("A0 B1 B4 A5", "A0 B2 B3 A5"), strict=True):
        *compared, of_control = own
        assert " ".join(f"{one.arm}{one.position}" for one in compared) == places
        assert (of_control.phase, of_control.arm) == ("control", "B")
    assert session.pairs_of("new", "other")[RELU.id].b == session.cases_of("other")[RELU.id]


def test_a_block_that_another_node_has_begun_is_measured_again(session, tmp_path):
    """Of two records and lines of one place the later ones count."""

    def measured(writer, block, position, value):
        here = msgspec.structs.replace(place(position), block=block)
        (planned,) = writer.session.cases_of(here.arm).values()
        record = msgspec.structs.replace(at(ok(planned, value), here), node=writer.node)
        writer.store.record(record)
        writer.add(ProcessLine(here, "", 1.0), [record])

    path = tmp_path / "ab.jsonl"
    with SessionWriter.create(path, session, overwrite=False, node="a") as writer:
        for position in range(4):
            measured(writer, 0, position, 10.0)
        measured(writer, 1, 0, 10.0)
        measured(writer, 1, 1, 10.0)
    with SessionWriter.resume(path, "a") as writer:
        assert len(writer.session.processes) == 6
    with SessionWriter.resume(path, "b") as writer:
        assert len(writer.session.processes) == 4
        measured(writer, 1, 0, 20.0)
    read, _ = read_session(path)
    assert read.nodes == ("a", "b") and len(read.processes) == 6
    of_place = {(p.line.place.block, p.line.place.position): p.records for p in read.processes}
    assert [record.summaries["forward"].median for record in of_place[1, 0]] == [20.0]
    assert [record.summaries["forward"].median for record in of_place[1, 1]] == [10.0]
    with SessionWriter.resume(path, "b") as writer:
        assert len(writer.session.processes) == 5


def test_a_comparison_is_the_session_of_its_two_arms():
    gone = Absence("id", "op", "", ("forward",), {"other": "none"}, is_missing=True)
    session = session_of(
        RELU, arms=("base", "new", "other"), absences=(gone,), compares="all", tolerance=Tolerance()
    )
    check = {RELU.id: Check("different", "", (Difference("output", "2"),), 1)}
    last = Place("comparison", 0, 5, "other", "other")
    session.add(ProcessLine(last, "", 1.0, {"other": check}), [])
    views = {view.arms: view for view in session.views}
    assert list(views) == [("base", "new"), ("base", "other"), ("new", "other")]
    missing = [view.plan.absences[0].is_missing for view in views.values()]
    assert missing == [False, True, True]
    # Results are compared with those of the first arm.
    assert [bool(view.different) for view in views.values()] == [False, True, False]
    for view in views.values():
        (pair,) = view.pairs
        assert view.group_of[pair.b.id] == RELU.id and view.views == (view,)


@pytest.mark.parametrize(
    "key, value, said",
    [
        (
            "environments",
            {"A": "none", "B": "none"},
            "the environment of A is none, which the file",
        ),
        ("environments", {}, "it has environments of no arm"),
        ("arms", [{"name": "A"}], "it has fewer than two arms"),
        ("arms", [{"name": "A"}, {"name": "A"}], "it has several arms A"),
        ("groups", [{"id": "g", "cases": []}], "the group g has not one case of each arm"),
        ("groups", [{"id": "g", "cases": ["x", "x"]}], "the group g has the case x, which the"),
        ("groups", [], "is of a case that no group has"),
        ("slow", {"g": {"arms": {}}}, "the slow group g has not calls of each arm"),
    ],
)
def test_a_plan_that_names_what_the_file_does_not_have_is_damaged(written, key, value, said):
    first, *others = written.read_text().splitlines()
    header = json.loads(first)
    header["session"][key] = value
    written.write_text("\n".join([json.dumps(header), *others, ""]))
    with pytest.raises(RunFileError, match=f"{written}: .*{said}"):
        read_session(written)


def test_a_process_of_an_unknown_phase_is_damaged(written):
    written.write_text(written.read_text().replace('"phase":"comparison"', '"phase":"x"'))
    with pytest.raises(RunFileError, match="a process is of the phase 'x' and the arm 'A'"):
        read_session(written)

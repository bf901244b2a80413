"""The share of cases that are mostly dispatch, of a run file."""

import pytest

from benchmarks.inputs.dispatch_share import main, shares
from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    SCHEMA_VERSION,
    Case,
    DispatchPeak,
    Header,
    MetricKind,
    Note,
    NoteCode,
    OperatorTarget,
    Peaks,
    Record,
    Status,
)
from opperf.results.runfile import RunWriter
from opperf.rules.shapes import DISPATCH

PASSES = ("forward", "backward")


def record(name, category, *dispatched, status=Status.OK, why="", ns=1.0, **of_wall):
    case = Case(OperatorTarget("fake", name), {}, category=category, why=why)
    return Record(
        case=case,
        id=case.id,
        status=status,
        summaries={one: summarise([ns], "ns") for one in (["forward"] if of_wall else PASSES)},
        notes=tuple(Note(one, NoteCode.DISPATCH, "") for one in dispatched),
        **of_wall,
    )


RECORDS = [
    record("relu", "unary", "forward"),
    record("exp", "unary"),
    record("exp", "unary", "forward", why=DISPATCH),
    record("add", "binary", "forward", "backward"),
    record("gone", "unary", "forward", status=Status.FAILED),
]

LINES = [
    "forward: 3 of 4 cases are mostly dispatch, 75.0%",
    "  1 say so, 2 do not:",
    "     1 of    3  unary",
    "     1 of    1  binary",
    "  the longest that say so (the shortest call: 1 ns):",
    "          1 ns  exp",
    "backward: 1 of 4 cases are mostly dispatch, 25.0%",
    "  0 say so, 1 do not:",
    "     1 of    1  binary",
    "  the longest that say so (the shortest call: 1 ns):",
    "          1 ns  exp",
]


def test_shares_of_each_pass():
    assert list(shares(RECORDS)) == LINES


def test_shares_by_operator():
    assert "     1 of    1  relu" in list(shares(RECORDS, by_operator=True))


def called(name, ns, why="", peaks=None):
    return record(name, "unary", why=why, ns=ns, time_kind=MetricKind.WALL, peaks=peaks)


@pytest.mark.parametrize("known, expected", [(None, 2), (8.0, 3)], ids=["of the run", "of peaks"])
def test_by_the_wall_clock_a_call_is_compared_with_the_shortest(known, expected):
    peaks = known and Peaks(
        device="cpu(0)", measured="", dispatches=(DispatchPeak(framework="fake", ns=known),)
    )
    times = {"exp": 5.0, "zeta": 90.0}
    claimed = [called(name, ns, DISPATCH, peaks) for name, ns in times.items()]
    others = [called(name, ns, peaks=peaks) for name, ns in (("relu", 9.9), ("add", 10.0))]
    first, *_, longest, _ = shares([*claimed, *others])
    assert first.startswith(f"forward: {expected} of 4 cases")
    assert longest == "         90 ns  zeta"


def test_the_command_reads_a_run_file(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    with RunWriter.create(path, Header(SCHEMA_VERSION, "", {})) as writer:
        for one in (RECORDS[0], RECORDS[3]):
            writer.case(one.case)
            writer.record(one)
    main([str(path)])
    out = capsys.readouterr().out
    assert out.startswith("forward: 2 of 2 cases are mostly dispatch, 100.0%\n")

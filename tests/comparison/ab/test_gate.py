"""Instructions before times: which figures are timed, and what a verdict rests on. Counts are those
of stubs, as Valgrind takes half a minute to start."""

import json
import os
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from opperf.commands.ab import ab
from opperf.comparison.ab import gate
from opperf.comparison.ab.arms import with_all_threads
from opperf.comparison.ab.gate import (
    SAME_SHARE,
    as_counted,
    counted_cases,
    findings,
    left_to_count,
    sampled,
    timed_figures,
    why_not_counted,
)
from opperf.comparison.ab.judging import comparison_of, outcome_of
from opperf.comparison.ab.process import key
from opperf.comparison.ab.session_file import read_session
from opperf.comparison.ab.session_plan import Gate
from opperf.comparison.ab.telling import telling_of
from opperf.comparison.report import report_of
from opperf.errors import UsageError
from opperf.instruments.callgrind.valgrind import installed
from opperf.instruments.profilers.summary import summarise
from opperf.model import (
    DIFFERENT,
    Check,
    Closing,
    Note,
    NoteCode,
    OperatorTarget,
    Place,
    Record,
    Status,
    TensorSpec,
)
from opperf.reports.formats import REPORT, format_named
from opperf.requests.ab import counting as checks
from opperf.requests.ab import sessions
from opperf.sources.varying import with_settings
from opperf.statistics.data import Replicate, Verdict
from opperf.statistics.verdicts import analyse
from tests.comparison.ab.sessions import ENVIRONMENT, add_replicates, case, session_of
from tests.comparison.explaining.conftest import TEMPLATE

TESTS = Path(__file__).resolve().parents[2]
ONE = {"threads": 1}
RELU, ADD, TANH = (case(name, **ONE) for name in ("relu", "add", "tanh"))
SAME, MOVED = 100_000.0, 102_000.0


def counted(planned, values, arm, **fields):
    """A record of counts by pass."""
    names = {"forward": "instructions", "backward": "instructions_backward"}
    summaries = {names[name]: summarise([value], "instructions") for name, value in values.items()}
    place = Place("counts", 0, 0, arm, arm)
    fields = {"status": Status.OK, "summaries": summaries, "place": place, **fields}
    return Record(case=planned, id=planned.id, **fields)


def with_counts(*cases, sample=0.0, moved=(), **plan):
    """A session with a gate, counted: B has 2 % more in the `moved` passes of cases."""
    session = session_of(*cases, gate=Gate(sample), **plan)
    for arm, planned in counted_cases(session).items():
        for one in planned:
            values = {
                name: MOVED if arm == "B" and (one.label, name) in moved else SAME
                for name in one.passes
            }
            session.counts[one.id] = counted(one, values, arm)
    return session


def test_passes_whose_counts_moved_are_timed_and_no_others():
    session = with_counts(RELU, ADD, moved={("relu", "backward")})
    assert timed_figures(session) == (key(RELU.id, "backward"),)
    texts = [str(found) for found in findings(session).values()]
    assert texts == ["instructions identical", "instructions moved by +2.00%"] + 2 * texts[:1]


def test_all_is_timed_without_a_gate_and_until_all_is_counted():
    plain, session = session_of(RELU, ADD), with_counts(RELU, ADD)
    every = timed_figures(plain)
    assert len(every) == 4 and not left_to_count(plain) and findings(plain) == {}
    assert not timed_figures(session)
    session.counts.popitem()
    assert left_to_count(session) and timed_figures(session) == every


@pytest.mark.parametrize(
    "value, same",
    [(SAME * (1 + SAME_SHARE), True), (SAME * (1 + 1.1 * SAME_SHARE), False), (0.0, False)],
)
def test_counts_of_the_same_code_may_differ_by_a_thousandth(value, same):
    session = with_counts(RELU)
    (b,) = counted_cases(session)["B"]
    session.counts[b.id] = counted(b, {"forward": value, "backward": SAME}, "B")
    first = findings(session)[key(RELU.id, "forward")]
    assert first.same is same and ("within 0.1%" in str(first)) is same


@pytest.mark.parametrize(
    "fields, reason",
    [
        ({"status": Status.CRASHED, "reason": "SIGILL"}, "B: crashed: SIGILL"),
        ({"summaries": {}}, "B: no count"),
        ({"notes": (Note("instructions", NoteCode.UNSTEADY, "1 to 9"),)}, "B: 1 to 9"),
    ],
)
def test_a_figure_without_a_count_is_timed(fields, reason):
    session = with_counts(RELU)
    (b,) = counted_cases(session)["B"]
    session.counts[b.id] = counted(b, {"forward": SAME, "backward": SAME}, "B", **fields)
    found = findings(session)[key(RELU.id, "forward")]
    assert str(found) == f"instructions not counted ({reason})"
    assert key(RELU.id, "forward") in timed_figures(session)


@pytest.mark.parametrize(
    "other, reason",
    [
        (with_settings(RELU, {"threads": 2}), "it may have several threads"),
        (with_all_threads(RELU), "it may have several threads"),
        (with_settings(RELU, {"device": "gpu(0)"}), "not on the CPU"),
        (with_settings(RELU, {"mode": "compile"}), "its code is compiled when it runs"),
        (with_settings(RELU, {"cache": "cold"}), "the arms differ in cache"),
        (with_settings(RELU, {"env": {"X": "1"}, "python": "B"}), ""),
        (TANH, "the arms call different functions"),
        (msgspec.structs.replace(RELU, arguments={}), "the arms have different inputs"),
    ],
)
def test_why_counts_say_nothing(other, reason):
    assert why_not_counted(RELU, other) == reason


def test_different_results_are_timed_though_the_counts_are_the_same():
    session = with_counts(RELU, checks={RELU.id: Check(DIFFERENT, "", (), 1)})
    assert len(timed_figures(session)) == 2
    text = str(findings(session)[key(RELU.id, "forward")])
    assert text == "instructions identical, results differ"


MANY = [case(f"op{number}", **ONE) for number in range(60)]


@pytest.mark.parametrize("sample, number", [(0.0, 0), (0.01, 3), (0.1, 6), (1.0, 60)])
def test_a_share_of_the_same_is_timed_by_the_seed(sample, number):
    draws = []
    for seed in (1, 1, 2):
        session = with_counts(*MANY, sample=sample, seed=seed)
        draws.append(sampled(session, findings(session)))
        assert {name.split()[0] for name in timed_figures(session)} == set(draws[-1])
    assert {len(drawn) for drawn in draws} == {number} and draws[0] == draws[1]
    assert draws[0] != draws[2] or number in (0, 60)


def test_nothing_to_time_fails_nothing_and_is_called_same_by_no_report():
    session = with_counts(RELU, ADD)
    analysis = analyse([], session.plan.thresholds)
    unfinished = comparison_of(session, analysis, ("regressed",))
    assert outcome_of(unfinished)[0] == 3
    session.closing = Closing("", 0.0, {})
    assert outcome_of(comparison_of(session, analysis, ("regressed", "ambiguous"))) == (0, "")
    report = comparison_of(session, analysis)
    assert report.counts == {Verdict.INSTRUCTIONS_SAME: 4} and report.session.gate.timed == 0
    assert {(row.verdict, row.basis, row.ratio) for row in report.rows} == {
        (Verdict.INSTRUCTIONS_SAME, "instructions identical", None)
    }
    assert {test.result for test in report_of(report, telling_of(report)).tests} == {"skipped"}


def test_different_results_fail_a_session_that_times_nothing():
    checks = {RELU.id: Check(DIFFERENT, "", (), 1)}
    session = with_counts(RELU, ADD, checks=checks)
    session.closing = Closing("", 0.0, {})
    analysis = analyse([], session.plan.thresholds)
    assert outcome_of(comparison_of(session, analysis, (DIFFERENT,))) == (1, "1 different")


def test_the_report_says_on_what_each_verdict_rests():
    session = with_counts(RELU, ADD, moved={("relu", "forward"), ("relu", "backward")})
    timed = timed_figures(session)
    replicates = [
        Replicate(
            phase,
            block,
            position,
            arm,
            dict.fromkeys(
                timed, 7 + 0.001 * (block % 3) + 0.2 * (phase != "control" and arm == "B")
            ),
        )
        for phase, blocks in (("control", 2), ("comparison", 12))
        for block in range(blocks)
        for position, arm in enumerate("ABBA")
    ]
    add_replicates(session, replicates)
    session.closing = Closing("", 0.0, {})
    analysis = analyse(session.replicates, session.plan.thresholds)
    report = comparison_of(session, analysis, ("regressed",))
    assert [(row.verdict.value, row.basis) for row in report.rows] == [
        *2 * [("regressed", "instructions moved by +2.00%, and timed")],
        *2 * [("instructions same", "instructions identical")],
    ]
    assert outcome_of(report) == (1, "2 regressed")
    text = format_named("text", REPORT).write_report(report_of(report, telling_of(report)), None)
    assert "Instructions of both arms: 2 identical, 2 moved; 2 timed." in text
    assert "Rests on" in text


class StubWorkers:
    """Counts 2 % more in B's relu, and nothing of add; interrupted before the count of `stop`."""

    counts, stop = [], ()

    def __init__(self, interpreters=(), pinning=None):
        self.interpreters, self.lanes, self.profiles = interpreters, 1, None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        """Nothing was started."""

    close = kill = __exit__

    def environment(self, planned):
        return ENVIRONMENT

    def measure(self, planned):
        arm = "B" if "FAKE_SLOWDOWN" in planned.settings.env else "A"
        if (planned.label, arm) in StubWorkers.stop:
            raise KeyboardInterrupt
        StubWorkers.counts.append((planned.label, arm))
        if planned.label == "add":
            return Record(case=planned, id=planned.id, status=Status.CRASHED, reason="SIGILL")
        value = MOVED if (planned.label, arm) == ("relu", "B") else SAME
        return counted(planned, dict.fromkeys(planned.passes, value), "", place=None)


OF_CALL = {"creator": "by hand", "trigger": "opperf calls=1", "events": "Ir"}

QUICK = (
    *("--framework", "fake", "--case-time", "0.001", "--threads", "1", "--blocks", "4"),
    *("--no-backward", "--max-configs", "1", "--report", "s.jsonl"),
)


@pytest.fixture(scope="module")
def variables():
    paths = os.pathsep.join([str(TESTS / "fake"), str(TESTS.parent)])
    return {"PYTHONPATH": paths, "FAKE_NOISE": "0.001", "FAKE_FORKS": "1"}


@pytest.fixture
def counting(monkeypatch):
    monkeypatch.setattr(sessions, "Workers", StubWorkers)
    monkeypatch.setattr(gate, "Workers", StubWorkers)
    monkeypatch.setattr(checks, "installed", lambda: None)
    monkeypatch.setattr(StubWorkers, "counts", [])
    return lambda number: monkeypatch.setattr(gate, "lane_count", lambda cases, pinning: number)


def test_a_session_counts_is_interrupted_and_goes_on_to_time_what_is_open(
    here, tmp_path, counting, monkeypatch
):
    counting(1)
    begin = ("ab", "relu", "negative", "add", *QUICK, "--b", "env:FAKE_SLOWDOWN=relu=1.3")
    monkeypatch.setattr(StubWorkers, "stop", {("negative", "B")})
    _, err = here(tmp_path, *begin, "--gate", "--gate-sample", "0%", code=130)
    assert f"{len(StubWorkers.counts)} cases counted, 0 processes measured, in s.jsonl" in err
    before = list(StubWorkers.counts)
    monkeypatch.setattr(StubWorkers, "stop", ())
    go_on = ("ab", "--resume", "s.jsonl")
    _, err = here(tmp_path, *go_on, "--gate", "--gate-sample", "50%", code=2)
    assert "--gate-sample '0%', not '50%'" in err
    out, err = here(tmp_path, *go_on, "-f", "json", code=1)
    assert len(StubWorkers.counts) == len(set(StubWorkers.counts)) == 6 > len(before)
    rows = {row["operator"]: row for row in json.loads(out)["rows"]}
    assert rows["relu"]["verdict"] == "regressed"
    assert rows["relu"]["basis"] == "instructions moved by +2.00%, and timed"
    assert rows["add"]["basis"] == "instructions not counted (A: crashed: SIGILL), and timed"
    assert rows["negative"]["verdict"] == "instructions same" and not rows["negative"]["blocks"]
    session, _ = read_session(tmp_path / "s.jsonl")
    assert session.closing is not None and len(session.counts) == 6
    # The file has the verdicts, and is a run like any other.
    again, _ = here(tmp_path, "compare", "--from-ab", "s.jsonl", "-f", "json", code=1)
    assert json.loads(again)["rows"] == json.loads(out)["rows"]
    assert "relu" in here(tmp_path, "report", "s.jsonl")[0]
    # Profiles are of the cases that were counted, which have ids of their own.
    (tmp_path / "s.callgrind").mkdir(exist_ok=True)
    relus = [one for one in session.counts.values() if one.case.label == "relu"]
    for record, cost in zip(relus, (50, 70), strict=True):
        dump = tmp_path / "s.callgrind" / f"{record.id}.forward.callgrind"
        dump.write_text(TEMPLATE.format(**OF_CALL, body=f"fn=f\n1 {cost}"))
    out, _ = here(tmp_path, "explain", "s.jsonl", "relu")
    assert "50" in out and "70" in out and "+40.00 %" in out
    assert "has no profile" in here(tmp_path, "explain", "s.jsonl", "add", code=2)[1]
    monkeypatch.setattr(gate, "why_not_counted", lambda a, b: "not on the CPU")
    _, err = here(tmp_path, "explain", "s.jsonl", "relu", code=2)
    assert "instructions of relu were not counted: not on the CPU" in err


def test_arms_are_counted_side_by_side_and_a_gate_may_leave_nothing_to_time(
    here, tmp_path, counting
):
    counting(2)
    arms = ("--b", "env:FAKE_SLOWDOWN=add=1.3", "--gate", "--gate-sample", "0%")
    out, err = here(tmp_path, "ab", "negative", "rounded", *QUICK, *arms, "-f", "md")
    assert "counting 4 cases of both arms, 2 workers side by side" in err
    assert "2 identical; none timed" in err and "2 instructions same" in out
    assert sorted(StubWorkers.counts) == [
        (name, arm) for name in ("negative", "rounded") for arm in "AB"
    ]


def refused(*options):
    words = ["add", "--framework", "numpy", "--b", "env:X=1", *options, "--dry-run"]
    done = CliRunner().invoke(ab, words)
    assert isinstance(done.exception, (UsageError, SystemExit))
    return str(done.exception if isinstance(done.exception, UsageError) else done.output)


@pytest.mark.parametrize(
    "options, words",
    [
        (("--gate", "--profiler", "instructions"), "omit --profiler instructions, or omit --gate"),
        (("--gate", "--b", "profiler:instructions"), "omit --profiler instructions"),
        (("--gate-sample", "5%"), "--gate-sample is for --gate"),
        (("--gate", "--gate-sample", "150%"), "not a share"),
    ],
)
def test_contradictions_are_refused(options, words):
    assert words in refused(*options)


def test_a_machine_that_cannot_count_is_told_in_one_line(monkeypatch, here, tmp_path):
    installed.cache_clear()  # another test of this process may have found it
    words = ("ab", "relu", *QUICK, "--b", "env:X=1", "--gate")
    _, err = here(tmp_path, *words, code=2, PATH=str(tmp_path))
    assert "--gate counts first, and --profiler instructions needs Valgrind" in err
    assert err.count("\n") == 1 and list(tmp_path.iterdir()) == []
    monkeypatch.setattr(checks.platform, "machine", lambda: "riscv64")
    with pytest.raises(UsageError, match="not on riscv64; omit --gate to time all cases"):
        checks.check_counting()


def test_cases_none_of_which_can_be_counted_are_refused(here, tmp_path):
    words = ("ab", "relu", "--framework", "fake", "--threads", "2", "--b", "env:X=1", "--gate")
    _, err = here(tmp_path, *words, "--dry-run", code=2)
    assert "no case can be counted exactly, e.g. relu: it may have several threads" in err


def test_the_counted_case_is_another_one():
    assert as_counted(RELU).id != RELU.id
    assert as_counted(RELU).target == OperatorTarget("fake", "relu")
    assert as_counted(RELU).arguments == {"data": TensorSpec((2, 3), gradient=True)}

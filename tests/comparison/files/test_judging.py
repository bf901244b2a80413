"""By what kind of verdict a pair of figures is judged."""

import math

import msgspec
import pytest

from opperf.comparison.files.judging import Question, compare
from opperf.comparison.files.telling import telling_of
from opperf.comparison.report import report_of
from opperf.comparison.tolerances import Tolerances, make_rule
from opperf.errors import RunFileError
from opperf.instruments.profilers.summary import summarise
from opperf.model import Status
from opperf.statistics.data import Thresholds
from tests.verifications import FAILED, PASSED, verified


def test_a_time_of_two_files_is_suspect_at_most(run, record, asked):
    found = asked(run(record(factor=1.0)), run(record(factor=5.0)))
    times = [row for row in found.rows if row.unit == "ns"]
    assert {row.verdict.value for row in times} == {"suspect"}
    assert times[0].low < 5.0 < times[0].high
    assert any("not interleaved" in note for note in found.notes)


def test_a_row_on_a_page_has_the_samples_of_both_sides_and_what_measures_it_again(
    run, record, asked
):
    base, new = record(factor=1.0), record(factor=5.0)
    found = asked(run(base), run(new))
    rows = {row.cells[2]: row for row in report_of(found, telling_of(found)).changes.table.rows}
    assert [one.side for one in rows["forward"].samples] == ["Base", "New"]
    assert [one.values for one in rows["forward"].samples] == [
        pytest.approx(side.samples["forward"], rel=1e-3) for side in (base, new)
    ]
    assert rows["memory"].samples == (), "memory is the same on every run"
    ((_, command),) = rows["memory"].code
    assert command == f"opperf run {found.base.path} --id {base.id}"
    other = record("exp")
    changed = asked(run(base), run(other), in_order=True)
    assert [command.split()[2:] for _, command in changed.again[base.id]] == [
        [changed.base.path, "--id", base.id],
        [changed.new.path, "--id", other.id],
    ]


def test_results_by_operator_have_neither_samples_nor_cases_to_measure(run, record, asked):
    found = asked(run(record()), run(record(factor=2.0)), ("json", "json"))
    for row in report_of(found, telling_of(found)).changes.table.rows:
        assert row.cells[4] is not None and row.samples == row.code == ()


def test_memory_has_a_verdict_and_no_interval(run, record, asked):
    base = run(record("relu", memory=1e6), record("exp", memory=1e6), record("log", memory=1e6))
    new = run(record("relu", memory=2e6), record("exp", memory=5e5), record("log", memory=1e6))
    found = asked(base, new, metrics=("memory",))
    assert [(row.operator, row.verdict.value, row.ratio) for row in found.rows] == [
        ("relu", "regressed", pytest.approx(2.0)),
        ("log", "same", pytest.approx(1.0)),
        ("exp", "improved", pytest.approx(0.5)),
    ]
    assert {(row.low, row.high) for row in found.rows} == {(None, None)}
    assert found.notes == () and found.confirm == ""


def test_a_wrong_result_is_no_improvement(run, record, asked):
    base = run(record("relu"), record("exp"))
    new = run(verified(record("relu", factor=0.5), FAILED), verified(record("exp"), PASSED))
    found = asked(base, new)
    assert {row.operator for row in found.rows} == {"exp"}
    (change,) = found.changes
    assert (change.kind.value, change.operator) == ("broken", "relu")
    assert change.reason == "wrong result: output: its error is 0.01"
    # Nor is it a base.
    (fixed,) = asked(new, base).changes
    assert (fixed.kind.value, fixed.operator) == ("fixed", "relu")


def counting(run, record, **counts):
    """A run of counts of instructions, by operator."""
    records = []
    for name, count in counts.items():
        made = record(name)
        summary = summarise([count], "instructions")
        records.append(msgspec.structs.replace(made, summaries={"instructions": summary}))
    return run(*records)


def test_the_functions_of_the_largest_increase_are_asked_for(run, record, asked, tmp_path):
    base = counting(run, record, relu=1e6, exp=1e6, log=1e6, sqrt=1e6)
    new = counting(run, record, relu=1.1e6, exp=1.3e6, log=0.5e6, sqrt=1e6)
    # The command is for what is there.
    assert asked(base, new).explain == ""
    for side in ("base", "new"):
        folder = tmp_path / f"{side}.callgrind"
        folder.mkdir()
        for one in base.records:
            (folder / f"{one.id}.forward.callgrind").touch()
    found = asked(base, new)
    exp = base.records[1].id
    assert found.explain == f"opperf explain {tmp_path}/base.jsonl {tmp_path}/new.jsonl {exp}"
    assert telling_of(found).commands == [("Functions that changed", found.explain)]
    assert asked(base, base).explain == ""


def test_the_functions_of_different_calls_are_those_of_their_profiles(run, record, asked, tmp_path):
    base, new = counting(run, record, relu=1e6), counting(run, record, exp=2e6)
    dumps = [
        tmp_path / f"{side}.callgrind" / f"{one.records[0].id}.forward.callgrind"
        for side, one in (("base", base), ("new", new))
    ]
    for dump in dumps:
        # Both profiles are needed.
        assert asked(base, new, in_order=True).explain == ""
        dump.parent.mkdir()
        dump.touch()
    found = asked(base, new, in_order=True)
    assert found.explain == f"opperf explain {dumps[0]} {dumps[1]}"


def test_the_threshold_is_of_times_and_tolerances_are_of_what_does_not_scatter(run, record, asked):
    base, new = run(record(factor=1.0, memory=1e6)), run(record(factor=1.1, memory=1.05e6))
    strict, loose, small = (
        asked(
            base,
            new,
            thresholds=Thresholds(threshold=share),
            tolerances=tolerances,
            metrics=("forward", "memory"),
        )
        for share, tolerances in (
            (0.02, Tolerances()),
            (0.5, Tolerances(0.5)),
            (0.5, Tolerances(0.5, (make_rule("memory", "1%", "re*"),))),
        )
    )
    assert [row.verdict.value for row in strict.rows] == ["suspect", "regressed"]
    assert [row.verdict.value for row in loose.rows] == ["no clear change", "same"]
    assert [row.verdict.value for row in small.rows] == ["no clear change", "regressed"]
    assert [row.allowed for row in loose.rows] == [None, 5e5]
    assert [row.tolerance for row in small.rows] == ["", "1% or 4096 B"]


@pytest.mark.parametrize("extensions", [("json", "json"), ("json", "jsonl"), ("jsonl", "json")])
def test_averages_give_ratios_and_suspicions(run, record, asked, extensions):
    base = run(record("relu"), record("exp"), record("log", memory=1e6))
    new = run(record("relu", factor=2.0), record("exp"), record("log", memory=2e6))
    found = asked(base, new, extensions)
    assert {row.verdict.value for row in found.rows} == {"suspect", "no clear change"}
    by_place = {(row.operator, row.metric): row for row in found.rows}
    relu, exp, log = (
        by_place[place] for place in (("relu", "forward"), ("exp", "backward"), ("log", "memory"))
    )
    assert relu.verdict.value == "suspect" and relu.ratio == pytest.approx(2.0, rel=0.02)
    assert relu.base == pytest.approx(1e6, rel=0.02)
    assert exp.verdict.value == "no clear change"
    assert log.verdict.value == "suspect" and (log.base, log.new) == (1e6, 2e6)
    assert all(row.low is None and "no spread" in row.note for row in found.rows)
    assert "no spread" in found.notes[0]
    _, _, ids = found.confirm.split(" --a ")[0].partition(" --id ")
    assert base.records[0].id.startswith(ids), "times only: relu"


def test_what_was_measured_and_is_not_is_broken(run, record, asked):
    failed = {"status": Status.CRASHED, "reason": "signal 11"}
    base = run(
        record("relu"),
        record("exp", status=Status.FAILED, reason="no"),
        record("log"),
        record("abs", status=Status.FAILED, reason="no"),
    )
    new = run(
        record("relu", **failed),
        record("exp"),
        record("new", **failed),
        record("log", backward=False, notes=[("backward", "no_gradient", "has no gradient")]),
        record("abs", **failed),
    )
    found = asked(base, new)
    assert [(c.kind.value, c.operator, c.metric, c.reason) for c in found.changes] == [
        ("broken", "relu", "", "crashed: signal 11"),
        ("fixed", "exp", "", "failed: no"),
        ("broken", "log", "backward", "has no gradient"),
        ("appeared", "new", "", "crashed: signal 11"),
    ]
    assert found.unmeasured == 1
    assert [row.operator for row in found.rows_of("forward")] == ["log"]


def test_a_pass_that_was_not_asked_for_is_not_missed(run, record, asked):
    new = run(record(passes=("forward",), memory=None, **{"profiler": "native"}))
    new = msgspec.structs.replace(
        new,
        records=tuple(
            msgspec.structs.replace(
                one,
                case=msgspec.structs.replace(
                    one.case, settings=msgspec.structs.replace(one.case.settings, memory=False)
                ),
            )
            for one in new.records
        ),
    )
    found = asked(run(record()), new)
    assert found.changes == () and found.metrics == ("forward",)


def test_everything_broken_is_a_comparison_too(run, record, asked):
    new = run(record(status=Status.CRASHED, reason="signal 11"))
    found = asked(run(record()), new, metrics=("forward",))
    assert found.rows == () and [c.kind.value for c in found.changes] == ["broken"]


def test_a_figure_that_is_zero_or_no_number_has_no_ratio(run, record, asked):
    one = record(memory=0.0)
    odd = msgspec.structs.replace(
        one,
        samples=one.samples | {"forward": [*one.samples["forward"][1:], math.nan]},
        summaries=one.summaries
        | {"backward": msgspec.structs.replace(one.summaries["backward"], median=math.nan)},
    )
    found = asked(run(record(memory=1e6)), run(odd))
    told = {row.metric: (row.verdict.value, row.ratio) for row in found.rows}
    assert told["memory"] == ("improved", None)
    assert told["backward"] == ("ambiguous", None)
    assert told["forward"][0] == "ambiguous"
    assert "finite" in found.rows_of("forward")[0].note
    assert [mean.metric for mean in found.groups] == ["forward", "forward"]


@pytest.fixture
def judged(measured, entry):
    """The row of one metric, of which the files have these figures."""

    def row(a, b, metric="forward", averages=False, **thresholds):
        base, new = (
            measured(entry(figures={metric: one}), averages=averages and one is b) for one in (a, b)
        )
        question = Question(metrics=(metric,), thresholds=Thresholds(**thresholds))
        (found,) = compare(base, new, question).rows
        return found

    return row


def test_a_pair_of_times_is_judged_by_its_samples(judged, figure):
    # Means that differ and medians that do not, as after a single pause.
    row = judged(figure(1e6, mean=2e6), figure(1e6))
    assert (row.verdict.value, row.base, row.new) == ("no clear change", 1e6, 1e6)
    assert (row.ratio, row.low, row.high, row.note) == (1.0, 1.0, 1.0, "")


def test_averages_are_judged_by_their_means(judged, figure):
    row = judged(figure(1e6, mean=2e6), figure(1e6), averages=True)
    assert (row.verdict.value, row.base, row.new) == ("suspect", 2e6, 1e6)
    assert (row.ratio, row.low, row.high) == (pytest.approx(0.5), None, None)
    assert row.note == "averages have no spread"


@pytest.mark.parametrize(
    ("mean", "verdict"),
    [(1.26, "suspect"), (1.24, "no clear change"), (0.81, "no clear change"), (0.79, "suspect")],
)
def test_averages_are_suspect_beyond_the_threshold_either_way(judged, figure, mean, verdict):
    row = judged(figure(1.0), figure(mean), averages=True, threshold=0.25)
    assert row.verdict.value == verdict


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        (-1.0, 1.0, "a figure is negative"),
        (1.0, -0.5, "a figure is negative"),
        (math.nan, 1.0, "a figure is not finite"),
        (1.0, math.inf, "a figure is not finite"),
    ],
)
@pytest.mark.parametrize("averages", [True, False])
def test_figures_that_have_no_ratio_are_ambiguous(judged, figure, a, b, note, averages):
    row = judged(figure(a), figure(b), averages=averages)
    assert (row.verdict.value, row.ratio, row.note) == ("ambiguous", None, note)


@pytest.mark.parametrize(
    ("averages", "note"), [(True, "an average is zero"), (False, "a sample is not positive")]
)
def test_a_time_of_zero_has_no_ratio(judged, figure, averages, note):
    for a, b in ((0.0, 1.0), (1.0, 0.0)):
        row = judged(figure(a), figure(b), averages=averages)
        assert (row.verdict.value, row.ratio, row.note) == ("ambiguous", None, note)


def test_a_sample_that_is_no_number_makes_a_case_ambiguous(judged, figure):
    odd = figure(1.0, samples=[1.0] * 9 + [math.inf])
    for a, b in ((odd, figure(1.0)), (figure(1.0), odd)):
        row = judged(a, b)
        assert (row.verdict.value, row.note) == ("ambiguous", "a figure is not finite")
        # The medians are as good as they were.
        assert row.ratio == 1.0


@pytest.mark.parametrize(("small", "ratio"), [(0.5, 4.0), (0.0, None), (-0.5, None)])
def test_too_few_samples_leave_the_ratio_of_the_medians(judged, figure, small, ratio):
    a, b = figure(small, samples=[small]), figure(2.0, samples=[2.0])
    assert judged(a, b).ratio == (ratio and pytest.approx(ratio))
    assert judged(b, a).ratio == (ratio and pytest.approx(1 / ratio))
    assert judged(a, b).verdict.value == "ambiguous"


def test_figures_in_two_units_are_not_compared(judged, figure):
    row = judged(figure(1.0, "B"), figure(1.0, "instructions"), "memory")
    assert (row.verdict.value, row.note) == ("ambiguous", "the units differ: B and instructions")
    row = judged(figure(1.0, "instructions"), figure(1.0, "B"), "memory")
    assert (row.verdict.value, row.note) == ("ambiguous", "the units differ: instructions and B")


@pytest.mark.parametrize(
    ("new", "sound", "unsound"),
    [(2e6, "regressed", "suspect"), (1e6, "same", "no clear change"), (5e5, "improved", "suspect")],
)
def test_memory_is_less_sure_where_either_figure_is_unsound(judged, figure, new, sound, unsound):
    why = "a figure may include other operators' workspace"

    def of(a, b, averages=False):
        one, other = (
            figure(value, "B", notes=[("not_pristine", "")] if is_odd else [])
            for value, is_odd in ((1e6, a), (new, b))
        )
        row = judged(one, other, "memory", averages)
        return row.verdict.value, row.note

    assert of(False, False) == (sound, "")
    assert of(True, False) == of(False, True) == of(True, True) == (unsound, why)
    assert of(False, False, averages=True) == (unsound, "averages have no spread")


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ("", "", ""),
        ("odd", "odd", "both: odd"),
        ("odd", "", "base: odd"),
        ("", "odd", "new: odd"),
        ("odd", "even", "base: odd; new: even"),
        ("even", "odd", "base: even; new: odd"),
    ],
)
def test_caveats_say_whose_they_are(judged, figure, a, b, told):
    one, other = (figure(1.0, notes=[("busy", text)] if text else []) for text in (a, b))
    assert judged(one, other).caveat == told


def test_a_row_has_the_names_that_either_file_tells(measured, entry):
    named, nameless = entry(), entry(id="", category="")
    for base, new in ((named, nameless), (nameless, named)):
        found = compare(measured(base, averages=True), measured(new), Question())
        assert [(row.id, row.category) for row in found.rows] == [("id of relu", "unary")]
    other = entry(id="id of relu", category="other")
    (row,) = compare(measured(named), measured(other), Question()).rows
    assert (row.id, row.category) == ("id of relu", "unary")


@pytest.mark.parametrize(
    ("averages", "ignore_settings", "new", "common"),
    [
        (False, False, {"call": "x", "shown": "x"}, True),
        (False, False, {"id": "x"}, False),
        (False, True, {"id": "x", "shown": "x"}, True),
        (False, True, {"call": "x"}, False),
        (True, False, {"id": "x", "call": "x"}, True),
        (True, True, {"id": "x", "call": "x"}, True),
        (True, False, {"shown": "x"}, False),
    ],
)
def test_what_cases_are_joined_by(measured, entry, averages, ignore_settings, new, common):
    question = Question(ignore_settings=ignore_settings)
    files = (measured(entry()), measured(entry(**new), averages=averages))
    for base, other in (files, files[::-1]):
        if common:
            assert len(compare(base, other, question).rows) == 1
        else:
            with pytest.raises(RunFileError, match="no case in common"):
                compare(base, other, question)


FORWARD = {"forward": 1.0}
BOTH = {"forward": 1.0, "backward": 1.0}


@pytest.fixture
def metrics(measured, entry, figure):
    """The metrics compared, of two files with a case or more of these figures each."""

    def told(base, new, *asked, absent=None, more=()):
        def one(name, times, **changed):
            return entry(name, figures={m: figure(v) for m, v in times.items()}, **changed)

        a, b = (one("x", base), one("x", new, absent=absent or {}))
        others = [one(f"more{number}", times) for number, times in enumerate(more)]
        return compare(measured(a, *others), measured(b, *others), Question(metrics=asked)).metrics

    return told


def test_the_usual_metrics_are_compared_as_far_as_they_are_there(metrics):
    assert metrics(BOTH, BOTH) == ("forward", "backward")
    assert metrics(FORWARD, BOTH) == ("forward",)
    many = {"kernel": 1.0, "memory": 1.0, "total": 1.0, **BOTH}
    assert metrics(many, many) == ("forward", "backward", "memory")


def test_metrics_that_are_named_are_compared_in_the_usual_order(metrics):
    many = {"kernel": 1.0, "total": 1.0, **BOTH}
    assert metrics(many, many, "kernel", "forward") == ("forward", "kernel")


def test_a_metric_is_there_if_some_case_has_it(metrics):
    assert metrics(FORWARD, FORWARD, "backward", more=[BOTH]) == ("backward",)


@pytest.mark.parametrize(
    ("base", "new", "asked", "words"),
    [
        (FORWARD, FORWARD, ("backward",), "has the metric backward; available: forward"),
        (FORWARD, BOTH, ("backward",), "has the metric backward; available: forward"),
        (BOTH, BOTH, ("total", "forward"), "has the metric total; available: forward, backward"),
        (
            {"total": 1.0},
            {"total": 1.0},
            (),
            "usual metrics; available: total; name one with --metric",
        ),
        ({"total": 1.0}, FORWARD, ("kernel",), "has the metric kernel; available: none"),
    ],
)
def test_a_metric_that_is_nowhere_in_common_is_missed(metrics, base, new, asked, words):
    with pytest.raises(RunFileError, match=words):
        metrics(base, new, *asked)


def test_a_metric_that_was_tried_and_is_gone_is_a_change(metrics):
    gone = {"backward": "has no gradient"}
    assert metrics(BOTH, FORWARD, "backward", absent=gone) == ()
    assert metrics(BOTH, {}, "backward") == metrics({}, BOTH, "backward") == ()
    # Neither run has it.
    with pytest.raises(RunFileError, match="has the metric backward"):
        metrics(FORWARD, FORWARD, "backward", absent=gone)


@pytest.fixture
def changes(measured, entry, figure):
    """What has come or gone: kind, metric and reason, and how many cases neither run measured."""

    def told(base, new, *asked):
        def one(given):
            times, absent = given
            figures = {metric: figure(1.0) for metric in times}
            return entry("x", figures=figures, absent=absent, reason="" if times else "failed: no")

        files = (measured(entry("both"), *([one(given)] if given else [])) for given in (base, new))
        found = compare(*files, Question(metrics=asked))
        assert {change.operator for change in found.changes} <= {"x"}
        kinds = [(change.kind.value, change.metric, change.reason) for change in found.changes]
        return kinds, found.unmeasured

    return told


MEASURED = (("forward", "backward"), {})
PART = (("forward",), {"backward": "no gradient"})
UNASKED = (("forward",), {})
NONE = ((), {})


@pytest.mark.parametrize(
    ("base", "new", "expected", "unmeasured"),
    [
        (MEASURED, MEASURED, [], 0),
        (MEASURED, PART, [("broken", "backward", "no gradient")], 0),
        (PART, MEASURED, [("fixed", "backward", "no gradient")], 0),
        (PART, PART, [], 0),
        (MEASURED, UNASKED, [], 0),
        (UNASKED, MEASURED, [], 0),
        (MEASURED, NONE, [("broken", "", "failed: no")], 0),
        (MEASURED, None, [("disappeared", "", "")], 0),
        (NONE, MEASURED, [("fixed", "", "failed: no")], 0),
        (None, MEASURED, [("appeared", "", "")], 0),
        (None, NONE, [("appeared", "", "failed: no")], 0),
        (NONE, NONE, [], 1),
        (NONE, None, [], 1),
    ],
)
def test_what_has_come_or_gone(changes, base, new, expected, unmeasured):
    assert changes(base, new) == (expected, unmeasured)


def test_only_metrics_that_are_asked_for_come_or_go(changes):
    assert changes(MEASURED, PART, "forward") == ([], 0)


def test_what_is_true_of_all_verdicts_is_noted_where_there_are_some(measured, entry, figure):
    def notes(one, averages=False):
        file = measured(entry(figures=one), averages=averages)
        return [note[:12] for note in compare(file, file, Question()).notes]

    time, memory = {"forward": figure(1.0)}, {"memory": figure(1.0, "B")}
    assert notes(time) == notes(time | memory) == ["The two runs"]
    assert notes(memory) == []
    assert notes(time, averages=True) == notes(memory, averages=True) == ["Averages hav"]


def test_cases_are_counted_after_the_filter(measured, entry):
    base, new = measured(entry("a"), entry("b"), entry("c")), measured(entry("a"), entry("b"))
    found = compare(base, new, Question())
    assert (found.base.cases, found.new.cases) == (3, 2)
    found = compare(base, new, Question(patterns=("a",)))
    assert (found.base.cases, found.new.cases) == (1, 1)

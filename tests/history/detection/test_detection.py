"""Detection of hand-made histories: what is a change, of what size, where, and what is none."""

import math

import msgspec
import numpy as np
import pytest

from opperf.history.detection.detecting import detect
from opperf.history.detection.findings import (
    ChangeState,
    EventKind,
    Findings,
    LevelChange,
    NoteKind,
    Rate,
)
from opperf.history.detection.looks import Judge
from opperf.history.detection.series import Series, series_of
from opperf.model import Metric, MetricKind

TIME = Metric("time", "ns", MetricKind.WALL, "Time")
RATE = Metric("rate", "GB/s", MetricKind.DERIVED, "Rate", lower_is_better=False)
MEMORY = Metric("memory", "B", MetricKind.MEMORY, "Memory", absolute_tolerance=64)
COUNT = Metric("instructions", "", MetricKind.COUNT, "Instructions", relative_tolerance=0.01)
DAY = 86_400.0


def noisy(n: int = 120, seed: int = 0, sd: float = 0.01) -> np.ndarray:
    """Factors of a series in which nothing changes."""
    return np.exp(sd * np.random.default_rng(seed).standard_normal(n))


def many(n: int = 120, count: int = 12) -> list[np.ndarray]:
    return [1000 * noisy(n, seed) for seed in range(count)]


def found(values: list[np.ndarray], metric: Metric = TIME, **options: object) -> Findings:
    series = [
        series_of(f"s{i:02d}", metric, np.arange(one.size) * 2, one, **options)
        for i, one in enumerate(values)
    ]
    return detect(series)


def on_machines(values: list[np.ndarray], names: np.ndarray) -> Findings:
    """The findings of points that have the machines of these names."""
    series = [
        series_of(f"s{i:02d}", TIME, 2 * where, one[where], environment=name)
        for i, one in enumerate(values)
        for name in set(names)
        for where in [np.flatnonzero(names == name)]
    ]
    return detect(series)


def detected(findings: Findings) -> list[LevelChange]:
    return [c for changes in findings.changes for c in changes if c.state is ChangeState.DETECTED]


def test_step_has_its_commits_ratio_interval_and_direction():
    values = many()
    values[3][60:] *= 1.10
    values[4][70:] *= 0.90
    worse, better = detected(found(values))
    assert (worse.key, worse.last_good, worse.first_bad) == ("s03", 118, 120)
    assert worse.ratio == pytest.approx(1.10, abs=0.01)
    assert worse.low < 1.10 < worse.high
    assert worse.before == pytest.approx(1000, rel=0.01)
    assert worse.after == pytest.approx(1100, rel=0.01)
    assert worse.is_worse and worse.is_alarm and worse.p < 1e-4
    assert worse.seen_at == 126, "four points"
    assert better.key == "s04" and not better.is_worse and not better.is_alarm


def test_metric_whose_larger_values_are_better_gets_worse_downwards():
    values = many()
    values[0][60:] *= 0.9
    (change,) = detected(found(values, RATE))
    assert change.is_worse and change.ratio == pytest.approx(0.9, abs=0.01)


def test_step_that_is_partly_taken_back_is_two_changes():
    values = many(160)
    values[0][50:] *= 1.20
    values[0][100:] /= 1.10
    up, down = detected(found(values))
    assert (up.first_bad, down.first_bad) == (100, 200)
    assert up.ratio == pytest.approx(1.2, abs=0.02)
    assert down.ratio == pytest.approx(1 / 1.1, abs=0.02)


@pytest.mark.parametrize("points", [1, 2, 3])
def test_last_points_that_differ_are_pending(points: int):
    values = many()
    values[5][-points:] *= 1.2
    findings = found(values)
    assert not detected(findings)
    (change,) = findings.changes[5]
    assert change.state is ChangeState.PENDING and not change.is_alarm
    assert change.first_bad == 2 * (120 - points)
    assert math.isnan(change.p)


def test_single_stray_points_are_nothing():
    values = many()
    values[2][[30, 60, 61, 90]] *= 2.0
    findings = found(values)
    assert findings.changes == ((),) * 12


def test_order_of_arrival_of_points_and_series_does_not_matter():
    values = many()
    values[3][60:] *= 1.05
    rng = np.random.default_rng(1)
    shuffled = []
    for i, one in enumerate(values):
        order = rng.permutation(one.size)
        shuffled.append(series_of(f"s{i:02d}", TIME, order * 2, one[order]))
    backwards = detect(shuffled[::-1])
    assert backwards.changes[::-1] == found(values).changes


def test_late_points_reopen_detection():
    values = many()
    values[3][60:] *= 1.10
    positions = np.arange(120) * 2
    early = np.delete(np.arange(120), np.arange(62, 120))
    known = [series_of(f"s{i:02d}", TIME, positions[early], v[early]) for i, v in enumerate(values)]
    assert not detected(detect(known))
    assert detected(found(values))


def test_points_of_a_commit_count_once():
    values = many()
    values[0][-1:] *= 1.2
    again = np.concatenate([np.arange(120), [119] * 6])
    runs = np.arange(126)
    series = [
        series_of(f"s{i:02d}", TIME, again, v[again], runs=runs) for i, v in enumerate(values)
    ]
    (change,) = detect(series).changes[0]
    assert change.state is ChangeState.PENDING


def test_environments_are_never_joined_and_the_break_is_noted():
    values = many()
    for one in values:
        one[60:] *= 1.3
    names = np.repeat(["old", "new"], 60)
    findings = on_machines(values, names)
    assert not detected(findings) and not findings.machine_events
    breaks = [note for note in findings.notes if note.kind is NoteKind.BREAK]
    assert len(breaks) == 12
    assert breaks[0].position == 120 and breaks[0].replaced == "old"


def test_two_machines_side_by_side_are_no_break():
    names = np.where(np.arange(120) % 2, "one", "other")
    assert not on_machines(many(), names).notes


def test_jump_of_all_series_is_one_event_of_the_machine():
    values = many(count=20)
    for one in values:
        one[60:] *= 1.08
    findings = found(values)
    assert not detected(findings)
    (event,) = findings.machine_events
    assert event.method == EventKind.SHIFT and event.first_bad == 120 and event.count == 20
    assert event.ratio == pytest.approx(1.08, abs=0.01)


def test_run_in_which_all_were_slow_is_an_excursion_and_hides_no_step():
    values = many(count=20)
    for one in values:
        one[[30, 90]] *= 1.3
    values[4][60:] *= 1.08
    findings = found(values)
    assert [change.key for change in detected(findings)] == ["s04"]
    assert [event.first_bad for event in findings.machine_events] == [60, 180]
    assert {event.method for event in findings.machine_events} == {EventKind.EXCURSION}


def test_changes_of_many_series_at_one_commit_are_their_own():
    values = many(count=40)
    for one in values[:14]:
        one[60:] *= 1.10
    findings = found(values)
    assert not findings.machine_events
    alarms = [change for change in detected(findings) if change.is_alarm]
    assert [change.key for change in alarms] == [f"s{index:02d}" for index in range(14)]
    assert {change.first_bad for change in alarms} == {120}


@pytest.mark.parametrize("factor", [1.2, 1 / 1.2])
def test_a_move_of_most_series_that_others_do_not_have_is_one_event_of_a_part(factor: float):
    values = many(count=40)
    for one in values[:25]:
        one[60:] *= factor
    findings = found(values)
    (event,) = findings.machine_events
    assert (event.method, event.first_bad, event.count) == (EventKind.MANY, 120, 25)
    assert event.ratio == pytest.approx(factor, abs=0.03)
    # The others only seem to move back.
    behind = {change.key for change in detected(findings) if change.of_machine}
    assert behind == {f"s{index:02d}" for index in range(25, 40)}
    assert not any(change.is_alarm for change in detected(findings))


def test_a_loss_at_the_commit_at_which_a_machine_gets_slower_is_found():
    values = many(count=40)
    for index, one in enumerate(values):
        one[60:] *= 1.1 * (1.15 if index < 6 else 1)
    findings = found(values)
    assert [event.method for event in findings.machine_events] == [EventKind.SHIFT]
    alarms = [change.key for change in detected(findings) if change.is_alarm]
    assert alarms == [f"s{index:02d}" for index in range(6)]


def test_drift_is_noted_and_is_no_alarm():
    values = many(200)
    values[1] *= np.exp(0.0005 * np.arange(200))
    findings = found(values)
    assert not detected(findings)
    (note,) = findings.notes
    assert (note.key, note.kind) == ("s01", NoteKind.DRIFT)
    assert "+10" in note.message or "+9" in note.message


def test_season_is_noted_and_is_no_alarm():
    times = np.arange(240) * DAY / 6
    values = many(240)
    values[1] *= np.exp(0.04 * np.sin(2 * np.pi * times / (7 * DAY)))
    findings = found(values, times=times)
    assert not detected(findings)
    (note,) = findings.notes
    assert (note.key, note.kind) == ("s01", NoteKind.SEASON) and "week" in note.message


def test_exact_metrics_change_at_once_and_beyond_their_tolerance():
    findings = found([np.array([1000.0, 1050, 1064, 1065, 1065])], MEMORY)
    (change,) = findings.changes[0]
    assert (change.first_bad, change.last_good, change.seen_at) == (6, 4, 6)
    assert (change.before, change.after, change.p) == (1000, 1065, 0.0)
    assert change.is_alarm


def test_creep_of_an_exact_metric_adds_up():
    values = 1e6 * 1.004 ** np.arange(6)
    changes = found([values], COUNT).changes[0]
    assert [change.first_bad for change in changes] == [6]


def test_exact_metric_that_begins_at_nothing():
    (change,) = found([np.array([0.0, 0, 4096])], MEMORY).changes[0]
    assert change.ratio == math.inf and change.is_alarm


def test_budget_leaves_the_clearest_of_a_week():
    values = many(120, 60)
    for i, size in enumerate([1.06, 1.30, 1.15, 1.07]):
        values[i][60:] *= size
    times = np.arange(120) * DAY / 5
    series = [
        series_of(f"s{i:02d}", TIME, np.arange(120), one, times=times)
        for i, one in enumerate(values)
    ]
    findings = detect(series, Rate.budget(2))
    assert len(detected(findings)) == 4
    alarms = [change for change in detected(findings) if change.is_alarm]
    assert len(alarms) == 2
    assert max(change.p for change in alarms) <= min(
        change.p for change in detected(findings) if change.over_budget
    )


def test_level_of_a_look_is_the_rate_over_the_looks():
    values = many()
    assert found(values).level == pytest.approx(2 / 365)
    times = np.arange(120) * DAY / 2
    assert found(values, times=times).level == pytest.approx(2 / 730, rel=0.02)


def test_checking_only_what_the_correction_may_reject_changes_nothing(monkeypatch):
    values = many(count=40)
    for index in range(8):
        values[index] = values[index].copy()
        values[index][40 + 7 * index :] *= 1.02 + 0.01 * index
    series = [series_of(f"s{i}", TIME, np.arange(120), one) for i, one in enumerate(values)]
    quick = detect(series, Rate(30.0))
    assert len(detected(quick)) > 3
    checked = []

    def keep_all(judge: Judge, p: np.ndarray, commits: np.ndarray) -> np.ndarray:
        checked.append((np.count_nonzero(original(judge, p, commits)), p.size))
        return np.ones(p.size, dtype=np.bool_)

    original = Judge._may_matter
    monkeypatch.setattr(Judge, "_may_matter", keep_all)
    assert msgspec.json.encode(detect(series, Rate(30.0))) == msgspec.json.encode(quick)
    few, whole = np.sum(checked, axis=0)
    assert few < whole


def test_asv_method_finds_a_step_and_has_no_p_value():
    values = many(60, 2)
    values[1][30:] *= 1.2
    series = [series_of(str(i), TIME, np.arange(60), one) for i, one in enumerate(values)]
    none, (change,) = detect(series, method="asv").changes
    assert not none
    assert change.first_bad == 30 and change.method == "asv" and math.isnan(change.p)


def test_few_or_unusable_points_find_nothing():
    short = series_of("short", TIME, np.arange(5), np.ones(5))
    empty = series_of("empty", TIME, [], [])
    bad = series_of("bad", TIME, np.arange(4), [math.nan, math.inf, 0.0, -1.0])
    assert bad.values.size == 0
    assert detect([short, empty, bad]).changes == ((), (), ())
    assert detect([]).changes == ()


def test_equal_points_have_no_change_and_a_step_of_them_has():
    values = [np.full(120, 5.0) for _ in range(3)]
    values[1][60:] = 6.0
    (change,) = detected(found(values))
    assert change.first_bad == 120 and change.ratio == pytest.approx(1.2)


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="'a': 2 figures of 3 points"):
        series_of("a", TIME, [1, 2, 3], [1.0, 2.0])
    one: Series = series_of("a", TIME, [1], [1.0])
    with pytest.raises(ValueError, match="same key"):
        detect([one, one])
    with pytest.raises(ValueError, match="none of likelihood, asv"):
        detect([one], method="pelt")
    with pytest.raises(ValueError, match="above 0"):
        detect([one], Rate(false_alarms=0))

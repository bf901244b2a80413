"""Rounds: every case visited as often as wanted, in other orders, with one record of all visits."""

from collections import Counter

import msgspec
import pytest

from opperf.execution.execute import plan_visits
from opperf.instruments.profilers.summary import summarise
from opperf.model import GpuState, Note, NoteCode, Status
from opperf.results import runfile
from opperf.worker.measure import measure

BOTH = ("forward", "backward")

NO_GRADIENT = Note("backward", NoteCode.NO_GRADIENT, "none")


def merge(first, later):
    return runfile.merge(first, [later])


@pytest.fixture
def cases(make_case):
    return [make_case("relu", shape=(n,), passes=BOTH) for n in range(1, 21)]


def test_one_round_is_the_plans_order(cases):
    assert plan_visits(cases, 1, seed=7) == tuple(cases)


def test_every_round_visits_every_case_once_in_another_order(cases):
    every = plan_visits(cases, 3, seed=7)
    rounds = [every[i : i + 20] for i in range(0, 60, 20)]
    ids = [[case.id for case in one] for one in rounds]
    assert all(sorted(one) == sorted(case.id for case in cases) for one in ids)
    assert len({tuple(one) for one in ids}) == 3
    assert plan_visits(cases, 3, seed=7) == every != plan_visits(cases, 3, seed=8)


def test_peaks_of_memory_are_read_in_the_first_round_only(cases):
    every = plan_visits(cases, 2, seed=0)
    assert [case.settings.memory for case in every] == [True] * 20 + [False] * 20


def test_what_was_visited_is_not_visited_again(cases, fake):
    first, second, third = (measure(case, fake) for case in cases[:3])
    failed = msgspec.structs.replace(third, status=Status.FAILED)
    earlier = {
        first.id: first,
        second.id: msgspec.structs.replace(second, rounds=3),
        failed.id: failed,
    }
    left = Counter(case.id for case in plan_visits(cases, 3, 0, earlier))
    assert (left[first.id], left[second.id], left[failed.id]) == (2, 0, 0)
    assert all(left[case.id] == 3 for case in cases[3:])
    retried = Counter(case.id for case in plan_visits(cases, 3, 0, earlier, {Status.FAILED}))
    assert retried[failed.id] == 3


def test_a_record_is_of_all_visits(cases, fake):
    first, again = (measure(case, fake) for case in plan_visits(cases[:1], 2, 0))
    both = merge(first, again)
    assert both.rounds == 2 and both.case == cases[0] and both.id == first.id
    for metric in ("forward", "backward", "total"):
        samples = first.samples[metric] + again.samples[metric]
        assert both.samples[metric] == samples
        assert both.summaries[metric] == summarise(samples, "ns")
    assert both.summaries["memory"] == first.summaries["memory"]
    assert both.busy_s == first.busy_s + again.busy_s


def test_a_note_about_samples_is_about_all_of_them(cases, fake):
    one = measure(cases[0], fake)
    noisy = msgspec.structs.replace(
        one,
        samples={"forward": [1000.0] * 30},
        notes=(Note("forward", NoteCode.DRIFT, "drift: of one visit"), NO_GRADIENT),
    )
    steady = merge(noisy, noisy)
    assert steady.notes == (NO_GRADIENT,)
    slower = msgspec.structs.replace(noisy, samples={"forward": [2000.0] * 30})
    assert "two levels" in merge(noisy, slower).note("forward", NoteCode.TWO_LEVELS).message


def test_a_visit_that_fails_costs_its_own_samples_only(cases, fake):
    fine = measure(cases[0], fake)
    crashed = msgspec.structs.replace(
        fine, status=Status.CRASHED, reason="ended by SIGSEGV", samples={}, summaries={}
    )
    both = merge(fine, crashed)
    assert both.status is Status.OK and both.samples == fine.samples and both.rounds == 2
    failed = Note("", NoteCode.ROUND_FAILED, "round 2 crashed: ended by SIGSEGV")
    assert both.notes == (failed,)
    third = merge(both, crashed)
    assert [note.message.split()[:2] for note in third.notes] == [["round", "2"], ["round", "3"]]
    assert [note.message for note in merge(third, fine).notes] == [n.message for n in third.notes]
    assert merge(crashed, fine) is fine


def test_a_rounds_order_does_not_depend_on_what_was_visited(cases, fake):
    every = plan_visits(cases, 3, seed=7)
    record = msgspec.structs.replace(measure(every[0], fake), rounds=2)
    left = plan_visits(cases, 3, seed=7, earlier={record.id: record})
    first, second, third = every[:20], every[20:40], every[40:]
    without = [case for case in (*first, *second) if case.id != record.id]
    assert left == (*without, *third)


def test_a_status_that_is_not_to_be_retried_is_done_with(cases, fake):
    record = measure(cases[0], fake)
    for status in (Status.FAILED, Status.SKIPPED, Status.CRASHED):
        ended = msgspec.structs.replace(record, status=status)
        assert plan_visits(cases[:1], 2, 0, {ended.id: ended}, {Status.TIMEOUT}) == ()
        assert len(plan_visits(cases[:1], 2, 0, {ended.id: ended}, {status})) == 2


def test_memory_that_was_not_asked_for_is_not_in_any_round(make_case):
    case = make_case("relu", memory=False)
    assert plan_visits([case], 2, 0) == (case, case)


def test_loops_are_the_mean_of_the_visits(cases, fake):
    one = measure(cases[0], fake)

    def with_loops(loops):
        forward = msgspec.structs.replace(one.summaries["forward"], loops=loops)
        return msgspec.structs.replace(one, summaries={**one.summaries, "forward": forward})

    assert merge(with_loops(2), with_loops(6)).summaries["forward"].loops == 4


def test_a_metric_that_a_visit_lacks_is_of_the_others(cases, fake):
    one = measure(cases[0], fake)
    forward_only = msgspec.structs.replace(
        one,
        samples={"forward": one.samples["forward"]},
        summaries={"forward": one.summaries["forward"]},
    )
    assert merge(forward_only, one).samples["backward"] == one.samples["backward"]
    kept = merge(one, forward_only)
    assert kept.samples["backward"] == one.samples["backward"]
    assert kept.summaries["backward"] == one.summaries["backward"]


def test_times_of_visits_add_up_and_the_earlier_notes_count(cases, fake):
    one = measure(cases[0], fake)
    earlier = (Note("memory", NoteCode.NOT_PRISTINE, "first"), NO_GRADIENT)
    told = (Note("memory", NoteCode.NOT_PRISTINE, "later"), Note("", NoteCode.NAN, "has NaN"))
    first = msgspec.structs.replace(one, wall_s=2.0, busy_s=0.5, notes=earlier)
    later = msgspec.structs.replace(one, wall_s=3.0, busy_s=0.25, notes=told)
    both = merge(first, later)
    assert (both.wall_s, both.busy_s, both.rounds) == (5.0, 0.75, 2)
    assert both.notes == (*earlier, told[1])
    assert merge(both, later).rounds == 3


def test_the_state_of_the_gpu_is_that_of_all_rounds(fake, make_case):
    plain = measure(make_case("relu"), fake)
    low = msgspec.structs.replace(plain, gpu=GpuState(readings=2, temperature_c=50))
    high = msgspec.structs.replace(plain, gpu=GpuState(readings=3, temperature_c=70))
    assert merge(low, high).gpu == GpuState(readings=5, temperature_c=70)
    # A round may have run without NVIDIA's library.
    assert merge(low, plain).gpu == merge(plain, low).gpu == low.gpu
    assert merge(plain, plain).gpu is None

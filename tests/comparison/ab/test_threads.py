"""The threads of a session, and whether it has a coarse look."""

import pytest

from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.threads import (
    COARSE_TIME_S,
    Threads,
    coarse_time_s,
    plan_threads,
    read_threads,
    with_all_threads,
)
from opperf.model import Case, OperatorTarget, Settings, TensorSpec

NOTHING_SET = (ArmSpec(), ArmSpec(variables={"X": "1"}))
BOTH = Threads(1, coarse=True)


@pytest.mark.parametrize(
    "text, threads",
    [
        ("1,all", BOTH),
        ("4", Threads(4)),
        ("all", Threads(None)),
        (" 2 , ALL ", Threads(2, coarse=True)),
    ],
)
def test_values(text, threads):
    assert read_threads(text) == threads
    assert read_threads(str(threads)) == threads


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "many", "all,all", "all,1", "1,2", "1,", "1,all,2"]
)
def test_wrong_values(text):
    with pytest.raises(ValueError, match="is not") as caught:
        read_threads(text)
    assert "\n" not in str(caught.value)


def test_the_verdicts_have_one_thread_and_the_coarse_look_all():
    plan = plan_threads(BOTH, False, NOTHING_SET, {}, cores=2)
    assert plan.threads == BOTH
    assert str(plan) == "Verdicts with 1 thread, and a coarse look with all threads"


@pytest.mark.parametrize(
    "arms, environment, cores, number, why",
    [
        (NOTHING_SET, {}, 1, 1, "only one core can be used"),
        ((ArmSpec(), ArmSpec(settings={"threads": 4})), {}, 2, 1, "an arm sets its threads"),
        ((ArmSpec(settings={"threads": None}), ArmSpec()), {}, 2, 1, "an arm sets its threads"),
        (
            (ArmSpec(variables={"OPENBLAS_NUM_THREADS": "2"}), ArmSpec()),
            *({}, 2, 1, "an arm sets its threads"),
        ),
        (NOTHING_SET, {"MKL_NUM_THREADS": "2"}, 2, None, "MKL_NUM_THREADS is set"),
    ],
)
def test_the_coarse_look_is_dropped_and_the_reason_is_printed(
    arms, environment, cores, number, why
):
    plan = plan_threads(BOTH, False, arms, environment, cores)
    assert plan.threads == Threads(number)
    assert str(plan).endswith(f"; no coarse look: {why}")


def test_the_option_counts_before_an_inherited_variable_and_that_before_the_default():
    environment = {"OMP_NUM_THREADS": "4"}
    by_default = plan_threads(BOTH, False, NOTHING_SET, environment, cores=2)
    assert by_default.threads.number is None
    assert str(by_default).startswith("Verdicts with the threads of OMP_NUM_THREADS; no coarse")
    explicit = plan_threads(Threads(2, coarse=True), True, NOTHING_SET, environment, cores=2)
    # All threads would be those of the variable.
    assert explicit.threads == Threads(2)
    assert "OMP_NUM_THREADS is set" in str(explicit)
    empty = plan_threads(BOTH, False, NOTHING_SET, {"OMP_NUM_THREADS": ""}, cores=2)
    assert empty.threads == BOTH


@pytest.mark.parametrize(
    "threads, words", [(Threads(4), "4 threads"), (Threads(None), "all threads")]
)
def test_a_single_value_is_no_coarse_look_and_needs_no_reason(threads, words):
    plan = plan_threads(threads, True, NOTHING_SET, {}, cores=2)
    assert plan.threads == threads
    assert str(plan) == f"Verdicts with {words}"
    own = (ArmSpec(), ArmSpec(settings={"threads": 3}))
    plan = plan_threads(threads, True, own, {}, cores=2)
    assert str(plan) == f"Verdicts with {words} where an arm sets none"


def test_a_case_of_the_coarse_look():
    settings = Settings(threads=1, max_time_s=10.0, dtype="float64")
    case = Case(OperatorTarget("fake", "x"), {"data": TensorSpec((2,))}, settings, ("forward",))
    coarse = with_all_threads(case)
    assert coarse.settings == Settings(max_time_s=COARSE_TIME_S, dtype="float64")
    assert (coarse.target, coarse.arguments, coarse.passes) == (
        case.target,
        case.arguments,
        case.passes,
    )


def test_a_case_takes_no_longer_than_elsewhere():
    assert coarse_time_s(COARSE_TIME_S / 2) == COARSE_TIME_S / 2
    assert coarse_time_s(COARSE_TIME_S * 2) == COARSE_TIME_S

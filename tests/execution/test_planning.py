"""From a selection to a plan: search where no rule is, random shapes, ids."""

import msgspec
import pytest

from opperf.defaults import MAX_TIME_S, SWEEP_S
from opperf.errors import UsageError
from opperf.execution import paces
from opperf.execution.case_source import (
    LEAST_TIME_S,
    filter_by_id,
    filter_by_partition,
    limit_case_times,
)
from opperf.execution.planning import plan_cases
from opperf.model import Case, OperatorTarget, Settings
from opperf.rules.extents import Fuzz
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.worker.protocol import Trial


@pytest.fixture
def plan_with(tmp_path, monkeypatch):
    """Plan with a worker and an empty cache; what the user is told is in `said`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(paces, "identity", lambda name: "build 1")

    def asking(worker):
        said = []

        def made(*patterns, **options):
            settings = Settings(device="", profiler="", seed=options.pop("seed", 0))
            selection = Selection(patterns=patterns, settings=settings, **options)
            return plan_cases(worker, "fake", worker.resolve_selection(selection), said.append)

        made.said, made.folder = said, tmp_path
        return made

    return asking


@pytest.fixture
def plan(plan_with, in_process):
    return plan_with(in_process)


def test_where_no_rule_is_inputs_are_found_by_trying(plan):
    (case,) = plan("mystery").cases
    assert case.origin == "search" and case.arguments["charm"] == 1
    assert plan.said == ["searching for inputs of mystery, which have no rule"]
    # Scaled to what other operators are measured at.
    assert 2**19 <= case.arguments["data"].size <= 2**20


def test_a_crash_is_survived_and_the_search_goes_on(plan_with, worker):
    made = plan_with(worker)("fragile", "needs_vector", "stubborn", "relu")
    found = {case.label: case for case in made.cases if case.origin == "search"}
    assert set(found) == {"fragile", "needs_vector"}
    assert all(len(case.arguments["data"].shape) == 1 for case in found.values())
    assert "never" in made.excluded["stubborn"]
    assert any(case.label == "relu" for case in made.cases)


def test_what_was_found_is_kept_for_the_build(plan, monkeypatch):
    first = plan("mystery", "stubborn", size="small")
    assert plan("mystery", "stubborn", size="small") == first and len(plan.said) == 1
    # Another size needs the scaling only, another build everything.
    assert plan("mystery").cases[0].id != first.cases[0].id and len(plan.said) == 2
    monkeypatch.setattr(paces, "identity", lambda name: "build 2")
    assert plan("mystery", "stubborn", size="small") == first and len(plan.said) == 3


def test_an_unreadable_cache_is_made_again_with_a_warning(plan):
    first = plan("mystery")
    (path,) = plan.folder.rglob("search/*.json")
    path.write_text('{"mystery": 3}')
    assert plan("mystery") == first
    assert any("cannot be read and is made again" in line for line in plan.said)


def test_random_shapes_are_those_of_the_seed(plan):
    first = plan("relu", "add", fuzz=Fuzz(6))
    assert plan("relu", "add", fuzz=Fuzz(6)) == first
    assert plan("relu", "add", fuzz=Fuzz(6), seed=1).cases != first.cases
    assert [case.label for case in first.cases].count("relu") == 6
    assert all(case.origin.endswith("+fuzz") for case in first.cases)
    sizes = {spec.size for case in first.cases for _, spec in case.tensors()}
    assert len(sizes) > 6 and max(sizes) <= 2**22


def test_what_takes_no_other_shape_says_so(plan):
    made = plan("refuses", "relu", fuzz=Fuzz(2))
    assert "no random shape was accepted" in made.excluded["refuses"]


@pytest.fixture
def random_cases(plan_with, in_process, monkeypatch):
    """Random shapes of relu, whose rule has a matrix and a vector, with a framework that takes
    what a condition says; and how many calls that took."""

    def planned_for(takes, count=3, output_bytes=0, **limits):
        calls = []

        def tried(case, timeout_s):
            calls.append(case)
            taken = takes(case.arguments["data"])
            return Trial(refusal="" if taken else "no", output_bytes=output_bytes)

        monkeypatch.setattr(in_process, "try_call", tried)
        return plan_with(in_process)("relu", fuzz=Fuzz(count, **limits)), len(calls)

    return planned_for


def test_configurations_take_turns_and_are_told_apart(random_cases):
    made, _ = random_cases(lambda spec: True, count=6)
    kinds = [(case.tags, len(case.arguments["data"].shape)) for case in made.cases]
    assert sorted(kinds) == [(("configuration 0",), 2)] * 3 + [(("configuration 1",), 1)] * 3
    assert kinds[0] != kinds[1]
    assert {case.origin for case in made.cases} == {"rule:fake_rules.unary+fuzz"}


def test_what_refuses_twenty_shapes_for_each_one_wanted_is_given_up(random_cases):
    # The rule's own shapes at the small size are taken, and twice their extents.
    small = lambda spec: spec.size <= 4 * 8  # noqa: E731
    made, calls = random_cases(small, count=2, least=2**10)
    assert made.cases == () and "no random shape was accepted" in made.excluded["relu"]
    assert "gives 1024 to 4194304 elements" in made.excluded["relu"]
    # Three extents were doubled, and two times twenty shapes drawn.
    assert calls == 3 + 2 * 20


@pytest.mark.parametrize("output_bytes, taken", [(8 * 2**12, True), (8 * 2**12 + 1, False)])
def test_outputs_are_limited_as_the_elements_are(random_cases, output_bytes, taken):
    made, _ = random_cases(lambda spec: True, output_bytes=output_bytes, least=2, most=2**12)
    assert bool(made.cases) is taken


def test_a_configuration_that_comes_to_no_number_wanted_leaves_the_turns_to_the_others(
    random_cases,
):
    # A vector's extent changes freely, a matrix is of one row.
    only = lambda spec: len(spec.shape) == 1 or spec.shape == (4, 4)  # noqa: E731
    made, _ = random_cases(only, count=4)
    assert [case.tags for case in made.cases] == [("configuration 1",)] * 4


def test_shapes_that_are_alike_are_one_case(random_cases):
    vectors = lambda spec: len(spec.shape) == 1  # noqa: E731
    made, _ = random_cases(vectors, count=40, least=8, most=10)
    sizes = [case.arguments["data"].size for case in made.cases]
    assert len(sizes) == len(set(sizes)) <= 3


def test_a_plan_of_an_id_is_of_its_case_only(plan):
    first, second = plan("relu").cases
    assert plan("relu", ids=(first.id, second.id)).cases == (first, second)
    assert plan("relu", ids=(second.id,)).cases == (second,)
    with pytest.raises(UsageError, match="--id ffff: no planned case has this id"):
        plan("relu", ids=(first.id, "ffff"))


def unlimited(make_case):
    """A case that neither a number of runs nor a time limits."""
    return make_case("relu", runs=None)


def test_the_users_limits_of_time_are_rounded_to_hundredths(make_case):
    made = limit_case_times(Plan((unlimited(make_case),) * int(SWEEP_S * 3), {}))
    assert made.cases[0].settings.max_time_s == 0.33


@pytest.mark.parametrize(
    ("count", "limit"),
    [(1, MAX_TIME_S), (int(SWEEP_S), 1.0), (int(2 * SWEEP_S), 0.5), (10**5, LEAST_TIME_S)],
)
def test_many_cases_share_the_time_of_a_run(make_case, count, limit):
    made = limit_case_times(Plan((unlimited(make_case),) * count, {}))
    assert {case.settings.max_time_s for case in made.cases} == {limit}
    assert made.cases[0].id == unlimited(make_case).id


@pytest.mark.parametrize("settings", [Settings(runs=5), Settings(max_time_s=3.0)])
def test_a_count_or_a_time_that_is_given_stays(make_case, settings):
    case = msgspec.structs.replace(make_case("relu"), settings=settings)
    given = Plan((case,) * 5000, {})
    assert limit_case_times(given) == given


def test_an_id_or_its_beginning_chooses_cases(plan):
    everything = plan("relu", fuzz=Fuzz(5)).cases
    for wanted in (everything[3].id, everything[3].id[:10]):
        assert plan("relu", fuzz=Fuzz(5), ids=(wanted,)).cases == (everything[3],)
    with pytest.raises(UsageError, match="--id ffff"):
        plan("relu", ids=("ffff",))


def test_a_sweep_is_planned_at_each_of_its_points(plan):
    made = plan(
        "relu", "negative", sweeps={"n": (8, 16), "m": (3,)}, swept_shapes={"data": ("m", "n")}
    )
    found = [(case.label, case.arguments, case.point) for case in made.cases]
    assert [(label, point) for label, _, point in found] == [
        (label, {"n": n, "m": 3}) for label in ("negative", "relu") for n in (8, 16)
    ]
    shapes = [arguments["data"].shape for _, arguments, _ in found]
    assert shapes == [(3, 8), (3, 16), (3, 8), (3, 16)]


def test_an_id_selects_a_point_of_a_sweep(plan):
    options = {"sweeps": {"n": (8, 16)}, "swept_shapes": {"data": ("n",)}}
    first, second = plan("relu", **options).cases
    (found,) = plan("relu", ids=(second.id[:8],), **options).cases
    assert found == second and first.id != second.id


def test_ids_are_opperfs_own_or_those_in_the_file(make_case):
    cases = tuple(
        msgspec.structs.replace(make_case(name), source_id=f"fake.{name}|0|0|{i}")
        for name in ("relu", "negative")
        for i in range(2)
    )
    cases = tuple(msgspec.structs.replace(case, repeat=i) for i, case in enumerate(cases))
    plan = Plan(cases=cases, excluded={})

    def found(*ids):
        return [case.source_id for case in filter_by_id(plan, Selection(ids=ids)).cases]

    assert found() == [case.source_id for case in cases]
    assert found(cases[2].id[:8]) == ["fake.negative|0|0|0"]
    assert found("fake.relu|0|0|1") == ["fake.relu|0|0|1"]
    assert found("0|0|1", cases[0].id) == [
        "fake.relu|0|0|0",
        "fake.relu|0|0|1",
        "fake.negative|0|0|1",
    ]
    for wrong in ("0|0", "fake.relu|0|0", "0|0|7"):
        with pytest.raises(UsageError, match="no planned case has this id"):
            found(wrong)


def test_partitions_have_each_case_once_and_do_not_depend_on_the_others():
    cases = tuple(Case(OperatorTarget("numpy", f"op{number}"), {}) for number in range(40))
    plan = Plan(cases=cases, excluded={})
    parts = [
        filter_by_partition(plan, Selection(partition=(number, 4))).cases for number in range(4)
    ]
    assert sorted(case.id for part in parts for case in part) == sorted(case.id for case in cases)
    assert all(parts)
    fewer = filter_by_partition(
        Plan(cases=cases[::2], excluded={}), Selection(partition=(1, 4))
    ).cases
    assert fewer == tuple(case for case in parts[1] if case in cases[::2])

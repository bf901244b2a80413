"""The plan of a run: sources and axes together."""

import itertools

import msgspec
import pytest

from opperf.errors import DeviceError, UsageError
from opperf.execution.case_source import Asked, plan_source
from opperf.execution.planning import RegistrySource
from opperf.model import SCHEMA_VERSION, Header, Settings
from opperf.results.runfile import RunWriter, read_run
from opperf.sources import base
from opperf.sources.base import open_files
from opperf.sources.selecting import Selection


def plan_run(*given):
    return plan_source(RegistrySource("fake"), Asked(*given))[:2]


@pytest.fixture
def planned(in_process_workers):
    def made(selection=None, axes=None, files=(), given=()):
        make, _ = in_process_workers
        chosen = selection or Selection(patterns=("relu", "add"))
        opened = open_files(files)
        return plan_run(make(), chosen, axes or {}, opened, given, lambda text: None)

    return made


@pytest.fixture
def recorded(planned, tmp_path):
    """A run file of two operators, and its cases."""
    selection = Selection(patterns=("relu", "add"), size="small", settings=Settings(runs=3, seed=7))
    plan, _ = planned(selection, {"dtype": ("float64",), "threads": (2,)})
    path = tmp_path / "old.jsonl"
    header = Header(schema=SCHEMA_VERSION, started="", options={}, excluded={"x": "no rule"})
    with RunWriter.create(path, header, plan.cases):
        pass
    return path, plan.cases


def values(plan, name):
    return list(dict.fromkeys(getattr(case.settings, name) for case in plan.cases))


def test_axes_are_the_frameworks_where_nothing_is_given(planned):
    plan, axes = planned()
    assert axes == {
        "dtype": ("float32",),
        "device": ("cpu(0)",),
        "profiler": ("native",),
        "mode": ("eager",),
    }
    assert values(plan, "device") == ["cpu(0)"] and values(plan, "threads") == [None]


def test_every_combination_is_a_case_with_an_id_of_its_own(planned):
    one, _ = planned()
    axes = {"dtype": ("float32", "float64"), "threads": (1, None), "profiler": ("native", "python")}
    plan, _ = planned(axes=axes)
    assert len(plan.cases) == 8 * len(one.cases) == len({case.id for case in plan.cases})
    assert values(plan, "threads") == [1, None], "cases of one process come together"
    assert {case.id for case in one.cases} <= {case.id for case in plan.cases}


def test_tensors_follow_the_dtype(planned):
    plan, _ = planned(axes={"dtype": ("float32", "float64")})
    for case in plan.cases:
        assert {spec.dtype for _, spec in case.tensors()} == {case.settings.dtype}


def test_values_that_are_not_there_stay_among_others_and_are_refused_alone(planned):
    plan, axes = planned(axes={"dtype": ("float32", "int8"), "device": ("gpu", "cpu")})
    assert axes["device"] == ("gpu(0)", "cpu(0)")
    assert values(plan, "dtype") == ["float32", "int8"]
    assert values(plan, "device") == ["gpu(0)", "cpu(0)"]
    with pytest.raises(UsageError, match="unknown dtype 'int8'"):
        planned(axes={"dtype": ("int8",)})
    with pytest.raises(UsageError, match="unknown dtype 'float33'"):
        planned(axes={"dtype": ("float32", "float33")})
    with pytest.raises(UsageError, match="unknown profiler 'nativ'; did you mean native"):
        planned(axes={"profiler": ("native", "nativ")})
    with pytest.raises(DeviceError, match="the fake has no GPU"):
        planned(axes={"device": ("gpu",)})
    with pytest.raises(UsageError, match="unknown device 'tpu'"):
        planned(axes={"device": ("cpu", "tpu")})


def test_the_cases_of_a_run_file_are_as_recorded(planned, recorded):
    path, cases = recorded
    plan, _ = planned(Selection(), files=[path])
    assert plan.cases == cases
    assert plan.excluded == {"x": "no rule"}


def test_what_is_given_takes_the_place_of_what_is_recorded(planned, recorded):
    path, cases = recorded
    selection = Selection(backward=False, settings=Settings(runs=9, seed=8))
    plan, _ = planned(
        selection,
        {"dtype": ("float32", "float64"), "device": ("cpu",)},
        [path],
        {"runs", "dtype", "device", "no_backward"},
    )
    assert len(plan.cases) == 2 * len(cases)
    assert values(plan, "dtype") == ["float32", "float64"]
    assert values(plan, "runs") == [9] and values(plan, "seed") == [7]
    assert values(plan, "threads") == [2] and values(plan, "device") == ["cpu(0)"]
    assert {case.passes for case in plan.cases} == {("forward",)}


def test_axes_that_are_not_given_now_leave_a_files_cases_alone(planned, recorded):
    path, cases = recorded
    plan, _ = planned(Selection(), {"cache": ("cold",)}, [path], set())
    assert plan.cases == cases


def test_operators_may_be_named_beside_a_file(planned, recorded):
    path, cases = recorded
    plan, _ = planned(Selection(patterns=("negative",)), files=[path])
    assert {case.label for case in plan.cases} == {"negative", "relu", "add"}
    assert all(case in plan.cases for case in cases)


def test_a_part_of_a_file_may_be_chosen(planned, recorded):
    path, cases = recorded
    plan, _ = planned(Selection(exclude=("re*",)), files=[path])
    assert {case.label for case in plan.cases} == {"add"}
    plan, _ = planned(Selection(categories=("unary",)), files=[path])
    assert {case.label for case in plan.cases} == {"relu"}
    plan, _ = planned(Selection(ids=(cases[0].id[:8],)), files=[path])
    assert plan.cases == cases[:1]
    with pytest.raises(UsageError, match="--id ffff"):
        planned(Selection(ids=("ffff",)), files=[path])


def test_a_file_that_was_cut_short_is_warned_of(in_process_workers, recorded, tmp_path):
    path, cases = recorded
    path.write_bytes(path.read_bytes()[:-20])
    said, (make, _) = [], in_process_workers
    plan, _ = plan_run(make(), Selection(), {}, open_files([path]), (), said.append)
    assert len(plan.cases) == len(cases) - 1
    assert said == [f"warning: {path}: the last line was cut short and is ignored"]


def test_a_case_of_a_file_and_of_the_registry_is_one(planned, recorded):
    path, cases = recorded
    selection = msgspec.structs.replace(Selection(patterns=("add",)), size="small")
    axes = {"dtype": ("float64",), "threads": (2,)}
    plan, _ = planned(selection, axes, [path])
    assert len(plan.cases) == len(cases)


def with_counts(cases, path, count):
    """Writes a run file of these cases, each seen so many times."""
    counted = [msgspec.structs.replace(case, count=count) for case in cases]
    header = Header(schema=SCHEMA_VERSION, started="", options={})
    with RunWriter.create(path, header, counted):
        pass
    return path


def test_a_call_in_two_files_was_seen_as_often_as_in_both(planned, recorded, tmp_path):
    _, cases = recorded
    files = [with_counts(cases, tmp_path / f"{n}.jsonl", n) for n in (2, 5)]
    plan, _ = planned(Selection(), files=files)
    assert [case.id for case in plan.cases] == [case.id for case in cases]
    assert {case.count for case in plan.cases} == {7}


def test_a_call_with_two_values_of_a_setting_was_seen_once(planned, tmp_path):
    plan, _ = planned(axes={"threads": (1, 2)})
    path = with_counts(plan.cases, tmp_path / "two.jsonl", 3)
    again, _ = planned(Selection(), {"threads": (1,)}, [path], ["threads"])
    assert len(again.cases) == len(plan.cases) / 2
    assert {case.count for case in again.cases} == {3}


def test_a_random_order_is_one_of_all_cases_by_the_seed(planned):
    def ids(**chosen):
        selection = Selection(patterns=("relu", "add", "negative"), **chosen)
        plan, _ = planned(selection, {"dtype": ("float32", "float64"), "threads": (1, 2)})
        return [(case.settings.threads, case.id) for case in plan.cases]

    ordered = ids()
    first, second = (ids(shuffle=True, settings=Settings(seed=seed)) for seed in (0, 1))
    assert sorted(first) == sorted(ordered) and first != ordered
    assert first == ids(shuffle=True) != second
    # Cases of one process are still together.
    assert [len(list(group)) for _, group in itertools.groupby(first, lambda one: one[0])] == [
        len(ordered) // 2
    ] * 2


def test_a_file_is_read_once(planned, recorded, monkeypatch):
    path, cases = recorded
    reads = []
    monkeypatch.setattr(base, "read_run", lambda path: reads.append(path) or read_run(path))
    plan, _ = planned(Selection(), {"dtype": ("float32", "float64")}, [path], {"dtype"})
    assert len(plan.cases) == 2 * len(cases) and reads == [path]


def test_modules_are_looked_for_on_the_path_of_each_environment(in_process_workers):
    make, _ = in_process_workers
    workers, asked = make(), []
    of = workers.of

    def recording(framework, settings):
        asked.append(settings.env)
        return of(framework, Settings())

    workers.of = recording
    envs = tuple({"PYTHONPATH": path, "X": x} for path in ("/base", "/head") for x in "12")
    selection = Selection(patterns=("relu",))
    plan, axes = plan_run(workers, selection, {"env": envs}, (), (), lambda text: None)
    assert asked == [{"PYTHONPATH": "/base"}, {"PYTHONPATH": "/head"}]
    assert axes["env"] == envs
    assert [case.settings.env for case in plan.cases[:: len(plan.cases) // 4]] == list(envs)

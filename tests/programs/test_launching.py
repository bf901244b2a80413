"""Programs of several processes: their ranks, cores and GPUs."""

import os

import pytest

from opperf.model import Settings, Status
from opperf.programs import launching
from opperf.programs.launching import Place, process_count
from tests.programs.scripts import COUNTING, data

RANKED = (
    COUNTING.format(n=0)
    + """
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES")
say(environment={name: os.environ.get(name) for name in names})
say(cores=sorted(os.sched_getaffinity(0)))
"""
)


def test_processes_have_ranks_and_the_rate_is_that_of_all(run):
    record, events = run(RANKED + COUNTING.format(n=40), processes=2)
    assert record.status is Status.OK, record.reason
    variables = [data(each, "environment")[0]["environment"] for each in events]
    assert [each["RANK"] for each in variables] == ["0", "1"]
    assert {each["WORLD_SIZE"] for each in variables} == {"2"}
    assert len({each["MASTER_PORT"] for each in variables}) == 1
    assert [process.name for process in record.processes] == ["0", "1"]
    alone = [process.rate.mean for process in record.processes]
    assert record.summaries["rate"].mean == pytest.approx(sum(alone))


def test_a_single_process_has_no_rank(run):
    _, [events] = run(RANKED + COUNTING.format(n=40))
    assert data(events, "environment")[0]["environment"]["RANK"] is None


def test_a_node_has_the_ranks_after_those_of_the_nodes_before(run):
    record, events = run(
        RANKED + COUNTING.format(n=40), nodes=2, place=Place(1, "second", "10.0.0.1", 29400)
    )
    variables = data(events[0], "environment")[0]["environment"]
    assert (variables["RANK"], variables["WORLD_SIZE"]) == ("1", "2")
    assert (variables["MASTER_ADDR"], variables["MASTER_PORT"]) == ("10.0.0.1", "29400")
    assert record.processes[0].node == "second"
    alone, _ = run(COUNTING.format(n=40), nodes=2)
    assert alone.status is Status.SKIPPED and "2 nodes" in alone.reason


def test_each_process_has_a_core_of_its_own(run):
    record, events = run(RANKED + COUNTING.format(n=40), method="per_core", processes=2)
    if len(os.sched_getaffinity(0)) < 2:
        assert record.status is Status.SKIPPED
        return
    cores = [data(each, "cores")[0]["cores"] for each in events]
    assert [f"C{own[0]}" for own in cores] == [each.name for each in record.processes]
    assert len({own[0] for own in cores}) == 2 and all(len(own) == 1 for own in cores)


def test_each_process_has_a_gpu_of_its_own(run):
    source = RANKED + COUNTING.format(n=40)
    settings = Settings(env={"CUDA_VISIBLE_DEVICES": "4,6"})
    record, events = run(source, method="per_gpu", processes=2, settings=settings)
    variables = [data(each, "environment")[0]["environment"] for each in events]
    assert [each["CUDA_VISIBLE_DEVICES"] for each in variables] == ["4", "6"]
    assert [each.device for each in record.processes] == ["4", "6"]
    assert [each.name for each in record.processes] == ["D4", "D6"]
    none = Settings(env={"CUDA_VISIBLE_DEVICES": ""})
    skipped, _ = run(source, method="per_gpu", processes=2, settings=none)
    assert (skipped.status, skipped.reason) == (Status.SKIPPED, "needs 2 GPUs, and there are 0")
    single, _ = run(source, method="per_gpu", settings=none)
    assert single.status is Status.OK and single.processes[0].device == ""


def test_a_process_that_fails_ends_all(run):
    source = COUNTING.format(n=40) + (
        "\nimport time\nif os.environ['RANK'] == '1': raise ValueError('bad rank')\n"
        "while True: time.sleep(0.1)"
    )
    record, _ = run(source, processes=2, stop=1000)
    assert record.status is Status.FAILED
    assert record.reason == "process 1: exit code 1: ValueError: bad rank"
    first, second = record.processes
    assert first.reason == "ended, as process 1 failed" and first.exit_code is None
    assert second.exit_code == 1


def test_ranks_that_observe_nothing_are_none_of_the_rate(run):
    source = (
        COUNTING.format(n=0)
        + "\nif os.environ['RANK'] == '0':"
        + "".join(f"\n {line}" for line in COUNTING.format(n=40).strip().splitlines())
    )
    record, _ = run(source, processes=2)
    assert record.status is Status.OK
    assert record.processes[1].rate is None
    assert record.summaries["rate"].mean == record.processes[0].rate.mean


@pytest.mark.parametrize(
    ("method", "gpus", "count"),
    [("njobs", ("0",), 5), ("per_gpu", ("4", "6"), 2), ("per_gpu", (), 1), ("per_core", (), 2)],
)
def test_a_plan_has_as_many_processes_as_it_has_gpus_or_physical_cores(
    monkeypatch, method, gpus, count
):
    monkeypatch.setattr(launching, "physical_cores", lambda cpus: cpus - {3})
    assert process_count(method, 5, gpus, frozenset({1, 2, 3})) == count

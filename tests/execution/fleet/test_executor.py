"""The executor on a real cluster: two nodes on this machine, of one core each."""

import importlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import psutil
import pytest

from opperf.errors import UsageError, WorkerError
from opperf.execution.execute import NoFile, Rounds, execute
from opperf.execution.executor import RAY, Task, open_executor
from opperf.execution.fleet import connecting
from opperf.execution.fleet.node_groups import reason_of
from opperf.execution.fleet.nodes import FleetOptions
from opperf.execution.progress import Progress
from opperf.execution.workers import Workers
from opperf.machine.pinning import NONE, Pinning
from opperf.model import NoteCode, Status
from opperf.requests.places import Cluster
from opperf.sources.varying import with_settings

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.xdist_group("ray")

WAIT_S = 60
"""Longest wait for another thread: a failure's price, and no limit of what is tested."""


@pytest.fixture
def opened(cluster):
    def made(cases, **options):
        cluster_options = FleetOptions(address=cluster.address, **options)
        task = Task(tuple(cases), cluster=cluster_options, cores=NONE)
        return open_executor(RAY, task, Workers(), Pinning(NONE))

    return made


class Stored(NoFile):
    """Keeps what is said of environments."""

    def __init__(self):
        self.nodes = {}

    def environment(self, case, environment, node=""):
        self.nodes[case.id] = node
        return environment.id


def run(executor, cases):
    schedule, store = Rounds(cases), Stored()
    execute(schedule, executor, store, Progress())
    return schedule.records, store.nodes


def process_of(worker):
    """Returns the process of a node's worker."""
    return psutil.Process(ray.get(worker.actor.__ray_call__.remote(lambda _: os.getpid())))


def test_every_case_is_measured_once_by_one_of_the_nodes(opened, make_case):
    names = ("relu", "negative", "refuses", "segfaults")
    cases = [make_case(name, shape=(2, 3), threads=1) for name in names]
    cases += [make_case("relu", shape=(4, number + 4), threads=1) for number in range(6)]
    # One of each node's own: on a busy machine a node that is slow to start leaves it all others.
    own = [with_settings(make_case("negative", threads=1), {"node": name}) for name in "ab"]
    cases += own
    with opened(cases) as executor:
        records, nodes = run(executor, cases)
    assert records.keys() == {case.id for case in cases} == nodes.keys()
    assert all(record.node == nodes[id] for id, record in records.items())
    assert {record.node for record in records.values()} == {"a", "b"}
    statuses = [records[case.id].status for case in cases]
    assert statuses[:2] == [Status.OK] * 2 and statuses[4:] == [Status.OK] * 8
    assert statuses[2:4] == [Status.FAILED, Status.CRASHED]
    assert records[cases[0].id].case == cases[0] and records[cases[0].id].environment


def test_cases_of_a_comparison_are_measured_by_one_node_and_those_of_a_node_by_it(
    opened, make_case
):
    pairs = [make_case("relu", shape=(5, number + 1), threads=1) for number in range(4)]
    cases = [*pairs, *(with_settings(case, {"dtype": "float64"}) for case in pairs)]
    bound = [with_settings(make_case("negative", threads=1), {"node": name}) for name in "ab"]
    with opened([*cases, *bound]) as executor:
        records, _ = run(executor, [*cases, *bound])
    for one, other in zip(cases[:4], cases[4:], strict=True):
        assert records[one.id].node == records[other.id].node
    assert [records[case.id].node for case in bound] == ["a", "b"]


def test_nodes_are_chosen_and_what_there_is_not_is_refused(opened, make_case):
    case = make_case("relu", threads=1)
    with opened([case], labels={"name": "b"}) as executor:
        assert executor.measure(case).node == "b"
        assert executor.environment(case).framework == "fake"
    for cases, options, why in (
        ([case], {"labels": {"kind": "large"}}, "none of the cluster's . nodes has it"),
        ([with_settings(case, {"node": "z"})], {}, "unknown node 'z'"),
        ([with_settings(case, {"threads": 9})], {}, "set fewer with --worker-cpus"),
    ):
        with pytest.raises(UsageError, match=why), opened(cases, **options):
            pass


def test_a_node_that_is_too_small_for_its_case_says_so(cluster, opened, make_case):
    node = cluster.add_node(num_cpus=0, labels={"name": "empty"})
    try:
        case = make_case("relu", threads=1)
        with opened([case, with_settings(case, {"node": "empty"})]) as executor:
            record = executor.measure(with_settings(case, {"node": "empty"}))
            assert executor.measure(case).status is Status.OK
    finally:
        cluster.remove_node(node)
    assert record.status is Status.SKIPPED and "set fewer with --worker-cpus" in record.reason


def test_a_worker_that_ends_is_replaced_and_its_case_measured_again(opened, make_case):
    case = make_case("relu", threads=1)
    with opened([case], labels={"name": "a"}) as executor:
        (worker,) = executor._workers.values()
        executor.measure(case)
        process = process_of(worker)
        ray.kill(worker.actor, no_restart=False)
        # Between two cases: the next one finds it gone.
        process.wait()
        record = executor.measure(case)
    assert record.status is Status.OK and record.node == "a"
    (note,) = [note for note in record.notes if note.code == NoteCode.MOVED]
    assert "the worker of a ended" in note.message


def wait_for_line(path):
    """Waits for a file with a line."""
    until = time.monotonic() + WAIT_S
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < until, f"{path}: nothing was written"
        time.sleep(0.05)
    return path.read_text()


def test_a_node_that_ends_costs_the_case_in_flight_which_another_one_measures(
    cluster, opened, make_case, tmp_path
):
    """The node is killed while a call hangs on it, which would never end."""
    places = {
        name: cluster.add_node(num_cpus=1, labels={"name": name, "fate": "x"}) for name in "cd"
    }
    path = tmp_path / "called"
    before = [with_settings(make_case("negative", threads=1), {"node": name}) for name in "cd"]
    hanging = make_case("hangs_once", threads=1, env={"FAKE_HANGS_ONCE": str(path)})
    cases = [hanging, *(make_case("relu", shape=(7, size), threads=1) for size in range(1, 8))]
    with opened([*before, *cases], labels={"fate": "x"}) as executor:
        kept, _ = run(executor, before)
        processes = {process_of(one): one.node.name for one in executor._workers.values()}
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(run, executor, cases)
            callers = psutil.Process(int(wait_for_line(path))).parents()
            (killed,) = (node for process, node in processes.items() if process in callers)
            cluster.remove_node(places.pop(killed), allow_graceful=False)
            records, _ = running.result()
    ((other, place),) = places.items()
    cluster.remove_node(place, allow_graceful=False)
    assert {record.node for record in kept.values()} == {killed, other}
    assert len(records) == 8
    assert all(record.status is Status.OK for record in [*kept.values(), *records.values()])
    moved = records[hanging.id]
    assert moved.node == other
    (note,) = [note for note in moved.notes if note.code == NoteCode.MOVED]
    assert f"by node {other}: the worker of {killed} ended meanwhile" in note.message


def test_what_ray_says_of_a_lost_node_is_not_printed(capsys):
    said = {"lines": ["Raylet is terminated."], "pid": "raylet", "is_err": False}
    module = importlib.import_module(connecting.PRINTING)
    with connecting.silenced():
        module.print_to_stdstream(said, ignore_prefix=False)
        assert capsys.readouterr() == ("", "")
    module.print_to_stdstream(said, ignore_prefix=False)
    assert "Raylet is terminated." in capsys.readouterr().out


def test_the_end_of_a_worker_is_told_in_words_and_not_by_ids():
    errors = ray.exceptions
    unavailable = errors.ActorUnavailableError("the actor is unavailable", b"1" * 16)
    short = errors.OutOfMemoryError("Task was killed\nMemory on the node was 9 GB")
    assert reason_of(ray, unavailable) == "it answers no more"
    assert reason_of(ray, short) == "Ray ended it, as the node is short of memory"
    assert reason_of(ray, errors.NodeDiedError("ids\nthe node died")) == "the node died"


def test_it_ends_from_another_thread(opened, make_case):
    case = make_case("hangs", threads=1)
    raised = []
    with opened([case]) as executor:

        def measure():
            try:
                executor.measure(case)
            except WorkerError as error:
                raised.append(str(error))

        threads = [threading.Thread(target=measure) for _ in range(3)]
        for thread in threads:
            thread.start()
        executor.kill()
        for thread in threads:
            thread.join(WAIT_S)
        assert not any(thread.is_alive() for thread in threads)
    assert raised == ["the workers were killed"] * 3


def test_a_case_of_a_node_needs_the_executor(make_case):
    case = with_settings(make_case("relu"), {"node": "a"})
    with (
        Workers() as workers,
        pytest.raises(UsageError, match="add --executor ray"),
        open_executor("local", Task((case,)), workers, Pinning(NONE)),
    ):
        pass


def test_cores_are_reserved_and_not_shared():
    pinning = Pinning()
    if len(pinning.usable) < 2:
        pytest.skip("one core")
    with pinning, pinning.reserve(1) as one:
        (chosen,) = one.choose(1).pinned
        assert one.choose(8).pinned == {chosen} == one.usable


def test_a_fleet_option_needs_the_executor():
    with pytest.raises(UsageError, match="--every-node has no effect without --executor ray"):
        Cluster(every_node=True).options("local", frozenset({"every_node"}))


def test_records_are_the_same_as_json(make_case):
    case = with_settings(make_case("relu"), {"node": "a"})
    assert msgspec.json.decode(msgspec.json.encode(case), type=type(case)) == case

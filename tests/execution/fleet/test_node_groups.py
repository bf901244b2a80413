"""Programs on two nodes at once, of a cluster on this machine."""

import os
import signal
import threading

import pytest

from opperf.execution.executor import RAY, Task, open_executor
from opperf.execution.fleet.nodes import FleetOptions
from opperf.execution.workers import Workers
from opperf.formats.milabench.streams import read_stream
from opperf.machine.pinning import NONE, Pinning
from opperf.model import Case, NodeWords, ScriptTarget, Settings, Status
from opperf.results.kept import profiles_of, streams_of
from opperf.sources.varying import with_settings
from tests.programs.scripts import wait_for

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.xdist_group("ray")

REDUCE = """
import json, os
from datetime import timedelta
import torch
import torch.distributed as dist

fd = int(os.environ["DATA_FD"])
dist.init_process_group("gloo", timeout=timedelta(seconds=60))
while True:
    value = torch.tensor([dist.get_rank() + 1.0])
    dist.all_reduce(value)
    line = {"task": "train", "rate": 100.0 * (dist.get_rank() + 1), "loss": value.item()}
    os.write(fd, (json.dumps(line) + "\\n").encode())
"""

FAILING = """
import os, time
if os.environ["RANK"] == "1":
    raise ValueError("one rank is wrong")
time.sleep(3600)
"""

ALONE = """
import os
for n in range(40):
    os.write(int(os.environ["DATA_FD"]), b'{"task": "train", "rate": 7}\\n')
"""

WORDS = """
import os, sys
sys.exit(f"{sys.argv[1]} {os.environ.get('SIZE')}")
"""

WAITING = """
import os, pathlib, time
pathlib.Path("ready" + os.environ["RANK"]).touch()
time.sleep(3600)
"""


@pytest.fixture
def program(tmp_path):
    def made(name, source, **target):
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        settings = Settings(timeout_s=600)
        return Case(ScriptTarget(name, str(path), stop=5, **target), {}, settings, passes=())

    return made


@pytest.fixture
def opened(cluster, tmp_path):
    def made(*cases, **options):
        task = Task(
            cases,
            profiles=profiles_of(tmp_path / "run.jsonl"),
            cluster=FleetOptions(address=cluster.address, **options),
            cores=NONE,
        )
        return open_executor(RAY, task, Workers(), Pinning(NONE))

    return made


def test_processes_of_two_nodes_reduce_together_and_the_rate_is_that_of_all(
    opened, program, tmp_path
):
    pytest.importorskip("torch")
    case = program("reduce", REDUCE, nodes=2, skip=0)
    with opened(case) as executor:
        record = executor.measure(case)
    assert record.status is Status.OK, record.reason
    assert [(each.node, each.rank, each.name) for each in record.processes] == [
        ("a", 0, "0.0"),
        ("b", 1, "1.0"),
    ]
    assert record.summaries["rate"].mean == pytest.approx(300)
    assert set(record.samples["loss"]) == {3.0}
    for process in record.processes:
        events = read_stream(streams_of(tmp_path / "run.jsonl") / process.stream).events
        assert sum("rate" in (each.data or {}) for each in events) >= 5


def test_a_program_has_the_words_of_the_node_that_measures_it(opened, program):
    words = {"b": NodeWords(("8",), variables={"SIZE": "eight"})}
    case = program("words", WORDS, argv=("2",), at_nodes=words)
    bound = {name: with_settings(case, {"node": name}) for name in "ab"}
    with opened(*bound.values()) as executor:
        reasons = [executor.measure(each).reason for each in bound.values()]
    assert [reason.partition("last output: ")[2] for reason in reasons] == ["2 None", "8 eight"]


def test_a_process_that_fails_ends_the_program_on_every_node_and_others_go_on(opened, program):
    failing, next_one = program("failing", FAILING, nodes=2), program("next", ALONE)
    wide = program("wide", ALONE, nodes=9)
    with opened(failing, next_one, wide) as executor:
        record = executor.measure(failing)
        after, skipped = executor.measure(next_one), executor.measure(wide)
    assert record.status is Status.FAILED
    assert record.reason == "node b: exit code 1: ValueError: one rank is wrong"
    assert "ended: node b" in record.processes[0].reason
    assert after.status is Status.OK
    assert skipped.status is Status.SKIPPED and skipped.reason.startswith("needs 9 nodes, and ")


def test_a_worker_that_ends_is_told_from_its_node_and_ends_the_program_on_the_others(
    opened, program, tmp_path
):
    case = program("waiting", WAITING, nodes=2)
    with opened(case) as executor:
        actors = {worker.node.name: worker.actor for worker in executor._workers.values()}
        pid = ray.get(actors["b"].__ray_call__.remote(lambda _: os.getpid()))

        def end_one():
            if wait_for(lambda: (tmp_path / "ready0").exists() and (tmp_path / "ready1").exists()):
                os.kill(pid, signal.SIGKILL)

        ending = threading.Thread(target=end_one)
        ending.start()
        record = executor.measure(case)
        ending.join()
    assert record.status is Status.CRASHED
    assert record.reason.startswith("the worker of node b has ended")
    assert "the node goes on" in record.reason
    assert "the worker of node b has ended" in record.processes[0].reason


def test_a_node_that_ends_ends_the_program_on_the_others(cluster, opened, program, tmp_path):
    nodes = [
        cluster.add_node(num_cpus=1, labels={"name": name, "fate": "y"}) for name in ("e", "f")
    ]
    case = program("waiting", WAITING, nodes=2)

    def end_one():
        if wait_for(lambda: (tmp_path / "ready0").exists() and (tmp_path / "ready1").exists()):
            cluster.remove_node(nodes[1], allow_graceful=False)

    with opened(case, labels={"fate": "y"}) as executor:
        ending = threading.Thread(target=end_one)
        ending.start()
        record = executor.measure(case)
        ending.join()
        again = executor.measure(case)
    cluster.remove_node(nodes[0], allow_graceful=False)
    assert record.status is Status.CRASHED and record.reason.startswith("node f has ended")
    assert [each.node for each in record.processes] == ["e"]
    assert "node f has ended" in record.processes[0].reason
    assert again.status in (Status.SKIPPED, Status.CRASHED)

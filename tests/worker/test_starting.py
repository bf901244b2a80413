"""Workers that start at the same time."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from opperf.comparison.ab.blocks import start_together
from opperf.errors import WorkerError
from opperf.machine.pinning import Cpus
from opperf.worker.client import Worker
from opperf.worker.protocol import ForkRequest

FORKS = ForkRequest(("cpu(0)",), rehearsed=True)


class Recorded:
    def __init__(self, own, usable):
        self.cpus = Cpus(frozenset(own), frozenset(usable))
        self.did = []

    def launch(self, cpus, options):
        (asked,) = options
        assert msgspec.json.decode(asked, type=ForkRequest) == FORKS
        self.did.append(sorted(cpus))

    def environment(self):
        self.did.append("waited")


@pytest.mark.parametrize(
    ("own", "usable", "places"),
    [
        ({3}, range(4), [[3], [2], [1]]),
        ({2, 3}, range(4), [[2, 3], [0, 1], [2, 3]]),
        ({1}, range(2), [[1], [0], [1]]),
        ({0, 1}, range(2), [[0, 1], [0, 1], [0, 1]]),
        ((), (), [[], [], []]),
    ],
)
def test_each_has_cores_of_its_own_while_there_are_enough(own, usable, places):
    workers = [Recorded(own, usable) for _ in places]
    start_together(workers, [FORKS] * len(workers))
    assert [worker.did for worker in workers] == [[place, "waited"] for place in places]


def test_one_that_started_elsewhere_is_moved_with_all_its_threads(variables):
    usable = sorted(os.sched_getaffinity(0))
    own = Cpus(frozenset(usable[:1]), frozenset(usable))
    with Worker("fake", cpus=own, environment=variables) as worker:
        worker.launch(frozenset(usable[-1:]))
        worker.environment()
        pid = worker._process.pid
        threads = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
        assert all(os.sched_getaffinity(thread) == own.pinned for thread in threads)
        assert worker.launches == 1
        # A second time changes nothing.
        worker.launch(frozenset(usable))
        assert worker.environment() and worker.launches == 1


def test_one_that_ends_before_it_answers_says_so(tmp_path, variables):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    message = "ended while importing fake: the process ended with exit code 3"
    with (
        Worker("fake", environment=variables, python=str(broken)) as worker,
        pytest.raises(WorkerError, match=message),
    ):
        start_together([worker], [FORKS])


REHEARSED = """
import sys
from opperf.frameworks import load
from opperf.instruments.visit import Conditions
from opperf.instruments.peaks import LOCAL_METER
from opperf.model import Case, Settings, TensorSpec
from opperf.worker.measure import measure
from opperf.worker.serve import prepare_forks

framework = load("torch")
prepare_forks(framework, Settings(), rehearsed=True)
before = set(sys.modules)
settings = Settings(runs=30, warmup=1, profiler="python", memory=False)
inputs = {"self": TensorSpec((8, 8), gradient=True)}
case = Case(framework.resolve("relu").target, inputs, settings, ("forward", "backward"))
record = measure(case, framework, conditions=Conditions(LOCAL_METER, rehearsed=True))
# What gradients import was imported before the forks, which would each do so.
slow = {"torch._dynamo", "scipy.stats"} & sys.modules.keys()
slow |= {"sympy"} & (sys.modules.keys() - before)
print(record.status.value, *sorted(record.summaries), *slow)
"""


def test_a_rehearsed_case_imports_none_of_what_takes_seconds():
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", REHEARSED], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["ok", "backward", "flops", "flops_backward", "forward", "total"]

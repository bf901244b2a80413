"""A simulation of 1000 nodes, some slow and some that end: the share of their time in benchmarks.

Discrete events drive the placements that the executor of a cluster has, with the number of cases in
flight that it has. Their costs are measured first, here: the start of a worker (with Ray, if it is
installed), the durations of cases of NumPy, and the work of the manager for each record. Half of
the cases are in pairs that are compared, and so are measured by one node.

Run: python benchmarks/cluster/simulation.py [NODES] [CASES_PER_NODE]
"""

from __future__ import annotations

import heapq
import itertools
import pickle
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import msgspec

from opperf.execution.execute import NoFile, Rounds, execute
from opperf.execution.executor import LOCAL, Task, open_executor
from opperf.execution.fleet.executor import AHEAD, ATTEMPTS, POLL_S
from opperf.execution.fleet.node_worker import Measured
from opperf.execution.fleet.placements import Given, Placements, Slot, Wanted
from opperf.execution.progress import Progress
from opperf.execution.workers import Workers
from opperf.machine.pinning import NONE, Pinning
from opperf.model import Header, Record, Settings
from opperf.results.runfile import RunWriter
from opperf.sources.registry import Selection

NODES, CASES_PER_NODE = 1000, 200

OPERATORS = ("add", "exp", "matmul", "sum", "sort", "cumsum", "where", "take")

SELECTION = Selection(patterns=OPERATORS, configurations=2, settings=Settings(profiler="python"))

LONGER = (1.0, 10.0)
"""Factors of the durations of cases: NumPy's quick operators as they are, and ten times as long, as
models and programs are."""

SLOW_NODES, SLOWEST = 0.05, 2.0
"""Share of the nodes that are slow, and by up to which factor."""

DEATHS = 0.05
"""Share of the nodes that end during the run; half of these come back."""

DETECTED_S = 15.0
"""Seconds until Ray says so of a machine that does not answer: five looks, every three seconds."""

BACK_S = 120.0
"""Seconds until a node that comes back has started."""

ROUND_TRIP_S = 0.002
"""Seconds of a call of an actor on another machine, beside what it does."""


@dataclass(frozen=True)
class Costs:
    """What was measured."""

    start_s: float
    durations_s: tuple[float, ...]
    record_s: float
    """The manager's work for a record: decoding it, keeping it and writing it."""


def measure_start() -> tuple[float, str]:
    """Returns the seconds from the creation of an actor until it is ready to measure."""
    begun = time.monotonic()
    try:
        import ray
    except ImportError:
        with Workers() as workers:
            workers.of("numpy").environment()
        return time.monotonic() - begun, "without Ray, of its process alone"
    from opperf.execution.fleet.node_worker import NodeWorker, Setup

    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        begun = time.monotonic()
        setup = msgspec.json.encode(Setup(1, cores=NONE))
        actor = ray.remote(NodeWorker).options(num_cpus=1).remote(setup)
        ray.get(actor.version.remote())
        return time.monotonic() - begun, "of an actor"
    finally:
        ray.shutdown()


def measure_cases() -> tuple[Record, ...]:
    """Returns records of NumPy's operators, as `opperf run` makes them."""
    with Workers() as workers:
        planned = workers.of("numpy").plan(SELECTION)
        schedule = Rounds(planned.cases)
        with open_executor(LOCAL, Task(planned.cases), workers, Pinning(NONE)) as executor:
            execute(schedule, executor, NoFile(), Progress())
    return tuple(schedule.records.values())


def measure_record(records: tuple[Record, ...], times: int = 20) -> float:
    """Returns the manager's seconds for a record."""
    answers = [pickle.dumps(Measured(record)) for record in records] * times
    header = Header(schema=2, started="", options={})
    cases = tuple(record.case for record in records)
    with (
        tempfile.TemporaryDirectory() as folder,
        RunWriter.create(Path(folder) / "run.jsonl", header, cases, overwrite=True) as writer,
    ):
        begun = time.perf_counter()
        for answer in answers:
            record = pickle.loads(answer).record
            assert record is not None
            writer.record(record)
        return (time.perf_counter() - begun) / len(answers)


class Simulation:
    """A run of a cluster."""

    def __init__(self, nodes: int, cases: int, costs: Costs, seed: int = 0) -> None:
        self.random, self.costs, self.cases = random.Random(seed), costs, cases
        self.now, self.decided_s = 0.0, 0.0
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.count = itertools.count()
        self.placements = Placements()
        self.limit = AHEAD * nodes
        self.begun = self.in_flight = self.done = self.failed = self.moved = 0
        self.useful_s = self.manager_free = 0.0
        self.alive_since: dict[str, float] = {}
        self.alive_s = 0.0
        self.slots: dict[str, Slot] = {}
        self.measured: list[int] = [0] * cases
        mean_s = sum(costs.durations_s) / len(costs.durations_s)
        self.expected_s = cases / nodes * mean_s
        self.speed: dict[str, float] = {}
        for number in range(nodes):
            name = f"node{number}"
            is_slow = self.random.random() < SLOW_NODES
            self.speed[name] = self.random.uniform(1.1, SLOWEST) if is_slow else 1.0
            self.start(Slot(name, next(self.count)))
            if self.random.random() < DEATHS:
                self.at(self.random.uniform(0, self.expected_s), lambda name=name: self.end(name))

    def at(self, moment: float, call: Callable[[], None]) -> None:
        heapq.heappush(self.events, (moment, next(self.count), call))

    def timed(self, call: Callable[..., None], *arguments: object) -> None:
        begun = time.perf_counter()
        call(*arguments)
        self.decided_s += time.perf_counter() - begun

    def start(self, slot: Slot) -> None:
        self.alive_since[slot.node] = self.now
        self.slots[slot.node] = slot
        self.placements.expect(slot.node)
        took = self.costs.start_s * self.random.uniform(1, 2)
        # The manager looks at workers that start once a second.
        self.at(self.now + took + self.random.uniform(0, POLL_S), lambda: self.free(slot))

    def free(self, slot: Slot) -> None:
        if slot.node in self.alive_since:
            self.timed(self.placements.free, slot)
        else:
            self.placements.lose(slot.node)

    def submit(self) -> None:
        while self.begun < self.cases and self.in_flight < self.limit:
            number, self.begun = self.begun, self.begun + 1
            self.in_flight += 1
            self.ask(number, 0)

    def ask(self, number: int, lost: int) -> None:
        # Of each four, the first two are compared.
        pair = f"{number // 4}" if number % 4 < 2 else ""

        def give(given: Given) -> None:
            self.measure(number, lost, given)

        self.timed(self.placements.ask, Wanted(pair=pair), give)

    def measure(self, number: int, lost: int, given: Given) -> None:
        slot = given.slot
        if slot is None or lost == ATTEMPTS:
            self.failed += 1
            self.in_flight -= 1
            return
        duration_s = self.random.choice(self.costs.durations_s) * self.speed[slot.node]
        ends = self.now + ROUND_TRIP_S + duration_s
        self.at(ends, lambda: self.take(number, lost, slot, duration_s))

    def take(self, number: int, lost: int, slot: Slot, duration_s: float) -> None:
        if slot.node not in self.alive_since:
            # It had ended by then, which shows when Ray says so.
            self.moved += 1
            self.at(self.now + DETECTED_S, lambda: self.lose(number, lost, slot))
            return
        self.useful_s += duration_s
        self.measured[number] += 1
        self.done += 1
        self.free(slot)
        # Records are kept one after the other.
        self.manager_free = max(self.now, self.manager_free) + self.costs.record_s
        self.at(self.manager_free, self.keep)

    def lose(self, number: int, lost: int, slot: Slot) -> None:
        self.placements.lose(slot.node)
        self.ask(number, lost + 1)

    def keep(self) -> None:
        self.in_flight -= 1
        self.submit()

    def end(self, name: str) -> None:
        self.alive_s += self.now - self.alive_since.pop(name)
        # One that measures is lost when that shows, and one that starts when it would have.
        if self.placements.withdraw(self.slots[name]):
            self.placements.lose(name)
        if self.random.random() < 0.5:
            again = f"{name}'"
            self.speed[again] = self.speed[name]
            self.at(self.now + BACK_S, lambda: self.start(Slot(again, next(self.count))))

    def run(self) -> float:
        """Returns the share of the nodes' time in benchmarks."""
        self.submit()
        while self.events and self.done + self.failed < self.cases:
            self.now, _, call = heapq.heappop(self.events)
            call()
        self.alive_s += sum(self.now - since for since in self.alive_since.values())
        return self.useful_s / self.alive_s


def main(nodes: int, per_node: int) -> int:
    """Prints the costs, and a report of each length of cases; the exit code."""
    start_s, how = measure_start()
    records = measure_cases()
    durations_s = tuple(record.wall_s for record in records)
    costs = Costs(start_s, durations_s, measure_record(records))
    print(
        f"measured: a worker starts in {start_s:.1f} s ({how}), a case takes "
        f"{min(durations_s):.2f} to {max(durations_s):.2f} s, a record {costs.record_s * 1e3:.2f} "
        "ms of the manager"
    )
    codes = [report(nodes, per_node, costs, longer) for longer in LONGER]
    return max(codes)


def report(nodes: int, per_node: int, costs: Costs, longer: float) -> int:
    """Prints the share, where cases take `longer` times as long; the exit code is 1 if a case was
    lost or doubled."""
    durations_s = tuple(longer * seconds for seconds in costs.durations_s)
    simulation = Simulation(nodes, nodes * per_node, replace(costs, durations_s=durations_s))
    share = simulation.run()
    counts = simulation.measured
    print(
        f"\n{nodes} nodes, {len(counts)} cases of {fmean(durations_s):.1f} s on average, in "
        f"{simulation.now:.0f} s; {SLOW_NODES:.0%} of the nodes are up to {SLOWEST:g} times "
        f"slower, {DEATHS:.0%} end: {simulation.moved} cases were measured again"
    )
    busy = len(counts) * costs.record_s / simulation.now
    print(
        f"{share:.1%} of the nodes' time is in benchmarks; the manager kept records for {busy:.0%} "
        f"of the time, deciding took {simulation.decided_s / len(counts) * 1e6:.0f} us a case"
    )
    lost, doubled = counts.count(0), sum(count > 1 for count in counts)
    print(f"{lost} cases lost, {doubled} doubled")
    return int(bool(lost or doubled))


if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(words + [NODES, CASES_PER_NODE][len(words) :])))

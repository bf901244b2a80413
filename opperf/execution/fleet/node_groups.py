"""Runs a program on several nodes at once: a part on each, which ends with the others; why
a worker ended, and what cases need of a node."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec

from opperf.dtypes import DTYPES
from opperf.errors import one_line
from opperf.execution.fleet.connecting import list_nodes
from opperf.execution.fleet.node_worker import CONTROL, Measured
from opperf.execution.fleet.nodes import FleetOptions, Node
from opperf.execution.fleet.placements import Slot
from opperf.frameworks.base import CPU
from opperf.machine.pinning import thread_count
from opperf.metrics import process_settings
from opperf.model import Case, DType, Record, ScriptTarget, Status, display_argument
from opperf.model.declaring import digest
from opperf.programs.group import SILENT_S, Progress
from opperf.programs.launching import Place
from opperf.programs.measuring import has_failed

T = TypeVar("T")

POLL_S = 0.1
"""Seconds between looks at the parts: short beside the start of a program."""


@dataclass
class Worker:
    """A worker of a node."""

    slot: Slot
    node: Node
    actor: Any
    started: Any
    """Reference of its first answer while it starts; None once it is ready."""


class PartResult(NamedTuple):
    """The end of a part."""

    record: Record
    measured: Measured | None = None
    """None if its worker has ended."""
    error: Exception | None = None
    """That of a worker that has ended."""


class NodeGroup:
    """The parts of a program that runs. Raises what Ray does for an error of opperf's own."""

    def __init__(self, ray: Any, case: Case, workers: Sequence[Worker]) -> None:
        self._ray, self._case, self._workers = ray, case, workers
        self._answers: dict[Any, int] = {}
        self._results: dict[int, PartResult] = {}
        self._culprit: Record | None = None
        self._ready_at: float | None = None
        self._released = False

    def run(self) -> tuple[tuple[PartResult, ...], Record | None]:
        """Returns the results of all parts by rank, once the last one has ended, and the record of
        the part that failed first."""
        try:
            address, port = self._ray.get(self._workers[0].actor.meeting_place.remote())
        except self._ray.exceptions.RayError as error:
            self._lose(0, error)
            address, port = "", 0
        for rank, worker in enumerate(self._workers):
            if self._culprit is not None:
                reason = f"not started: {self._culprit.reason}"
                self._results.setdefault(rank, PartResult(self._record(rank, reason)))
                continue
            place = Place(rank, worker.node.name, address, port, held=True)
            self._answers[worker.actor.measure.remote(self._case, place)] = rank
        while self._answers:
            ready, _ = self._ray.wait(list(self._answers), timeout=POLL_S)
            for answer in ready:
                self._take(answer)
            if self._culprit is not None:
                self._call("end", f"ended: {self._culprit.reason}")
            elif self._answers and not self._released:
                self._release_if_ready()
        return tuple(self._results[rank] for rank in range(len(self._workers))), self._culprit

    def _take(self, answer: Any) -> None:
        rank = self._answers.pop(answer)
        try:
            measured: Measured = self._ray.get(answer)
        except self._ray.exceptions.RayTaskError:
            self._call("end", f"ended: node {self._workers[rank].node.name} failed")
            raise
        except self._ray.exceptions.RayError as error:
            self._lose(rank, error)
            return
        node = self._workers[rank].node.name
        record = measured.record
        if record is None:
            record = self._record(rank, f"node {node}: {measured.refusal}", Status.SKIPPED)
        record = msgspec.structs.replace(record, node=node)
        self._results[rank] = PartResult(record, measured)
        if has_failed(record) and self._culprit is None:
            reason = one_line(f"node {node}: {record.reason}")
            self._culprit = msgspec.structs.replace(record, reason=reason)

    def _lose(self, rank: int, error: Exception) -> None:
        reason = explain_end(self._ray, self._workers[rank], error)
        record = self._record(rank, reason, Status.CRASHED)
        self._results[rank] = PartResult(record, error=error)
        self._culprit = self._culprit or record

    def _record(self, rank: int, reason: str, status: Status = Status.FAILED) -> Record:
        node = self._workers[rank].node.name
        return Record(case=self._case, id=self._case.id, status=status, reason=reason, node=node)

    def _release_if_ready(self) -> None:
        """Stops all parts once each has made its observations, or has ended."""
        states = set(self._call("progress"))
        if Progress.BUSY.value in states:
            return
        finished = any(part.record.status is Status.OK for part in self._results.values())
        if Progress.READY.value not in states and not finished:
            return
        self._ready_at = self._ready_at or time.monotonic()
        if Progress.SILENT.value in states and time.monotonic() < self._ready_at + SILENT_S:
            return
        self._released = True
        # One that is stopped first ends the connections of the others, which fail no more then.
        self._call("expect_end")
        self._call("release")

    def _call(self, method: str, *arguments: str) -> list[Any]:
        """Calls a method of the parts that run, and returns the answers of those that have one: a
        node that has ended is seen by its part's result."""
        calls = [
            getattr(self._workers[rank].actor, method)
            .options(concurrency_group=CONTROL)
            .remote(*arguments)
            for rank in self._answers.values()
        ]
        answers = []
        for call in calls:
            try:
                answers.append(self._ray.get(call))
            except self._ray.exceptions.RayError:
                answers.append(Progress.BUSY.value)
        return answers


class NodeQueue:
    """Takes a worker of each of several nodes, for one program after the other: two that each had
    some of the nodes would wait for each other's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def take(self, number: int, names: Sequence[str], ask: Callable[[str], T | None]) -> list[T]:
        """Returns what `ask` gives of as many of the nodes; of fewer, if some have ended."""
        taken: list[T] = []
        with self._lock:
            for name in names:
                if len(taken) == number:
                    break
                given = ask(name)
                if given is not None:
                    taken.append(given)
        return taken


RESTART_S = 30.0
"""Limit on what follows the end of a worker: Ray has it again within seconds on a node that is
alive, and gives up a node that does not answer for that long."""

LOOK_S = 0.1
"""Seconds between looks at the node while the worker may start again."""

AGAIN = "measure it again with --retry crashed"


def first_answer(actor: Any) -> Any:
    """Returns a reference that is there once a worker answers, for which Ray tries again."""
    return actor.version.options(max_task_retries=-1).remote()


def reason_of(ray: Any, error: Exception) -> str:
    """Returns why a worker answers no more, as far as its error says it."""
    errors = ray.exceptions
    if isinstance(error, errors.OutOfMemoryError):
        return "Ray ended it, as the node is short of memory"
    if isinstance(error, errors.ActorUnavailableError):
        return "it answers no more"
    # The lines above are ids.
    return one_line(str(error).strip().splitlines()[-1], 160)


def explain_end(ray: Any, worker: Worker, error: Exception) -> str:
    """Returns why a worker has ended with an error, and what to do. Raises `WorkerError` if the
    cluster answers no more."""
    errors, node = ray.exceptions, worker.node.name
    if isinstance(error, errors.OutOfMemoryError):
        return (
            f"the worker of node {node} was ended by Ray, as the node is short of memory; {AGAIN}"
        )
    if isinstance(error, errors.NodeDiedError) or not _goes_on(ray, worker):
        return f"node {node} has ended; {AGAIN}"
    why = ""
    if isinstance(error, errors.ActorDiedError):
        why = f": {reason_of(ray, error)}"
    return f"the worker of node {node} has ended{why}, and the node goes on; {AGAIN}"


def _goes_on(ray: Any, worker: Worker) -> bool:
    """Returns whether a node is alive: Ray restarts its worker, or says that it has ended."""
    answer = first_answer(worker.actor)
    until = time.monotonic() + RESTART_S
    while time.monotonic() < until:
        ready, _ = ray.wait([answer], timeout=LOOK_S)
        if worker.node.id not in {node.id for node in list_nodes(ray)}:
            return False
        if ready:
            break
    return True


class Reserved(NamedTuple):
    """The reservation of each worker of a node."""

    cpus: int
    gpus: int
    workers: int


def reserve(cases: Sequence[Case], node: Node, options: FleetOptions) -> Reserved | None:
    """Returns the reservation of the workers of a node; None if it has too few cores or GPUs. A
    program has the whole node, and a case without a number of threads all cores."""
    programs = any(isinstance(case.target, ScriptTarget) for case in cases)
    threads = [thread_count(process_settings(case.settings), {}) for case in cases]
    counts = [count for count in threads if count is not None]
    takes_all = programs or len(counts) < len(threads)
    cpus = options.worker_cpus or (node.cpus if takes_all else max(counts, default=1))
    gpus = options.worker_gpus
    if gpus is None:
        on_gpu = any(case.settings.device != CPU for case in cases)
        gpus = node.gpus if programs else int(on_gpu)
    if not 0 < cpus <= node.cpus or gpus > node.gpus:
        return None
    # Cases on CPUs share memory and caches, and those on GPUs have each their own.
    fitting = min(node.cpus // cpus, node.gpus // gpus if gpus else 1)
    return Reserved(cpus, gpus, max(1, min(options.workers_per_node or fitting, node.cpus // cpus)))


def pair_key(case: Case) -> str:
    """Returns a key that is the same for cases that a comparison joins: those of one target with
    inputs of the same shapes, whatever their settings."""
    arguments = {
        name: display_argument(value)
        for name, value in case.arguments.items()
        if not isinstance(value, DType) and not (isinstance(value, str) and value in DTYPES)
    }
    return digest((case.target, arguments))


def pairs_of(measured: Iterable[tuple[Case, str]]) -> dict[str, str]:
    """Returns the node of each key, of cases with the node that measured them."""
    return {pair_key(case): node for case, node in measured if node}

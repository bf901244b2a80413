"""The executor of a Ray cluster, which places workers, restarts them, and says when a node has
ended; here cases are given to those that are free. A worker's end costs the case that it was
measuring, which is measured again, by another if the node ended, and whose record then has a note.
"""

from __future__ import annotations

import importlib
import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

import opperf
from opperf.errors import UsageError, WorkerError, one_line, unknown
from opperf.execution.executor import Arrive, Task
from opperf.execution.fleet.connecting import connected, list_nodes
from opperf.execution.fleet.node_groups import (
    NodeGroup,
    NodeQueue,
    Reserved,
    Worker,
    first_answer,
    pair_key,
    pairs_of,
    reason_of,
    reserve,
)
from opperf.execution.fleet.node_worker import CONTROL, Measured, NodeWorker, Setup, keep_files
from opperf.execution.fleet.nodes import Node, choose, has_labels
from opperf.execution.fleet.placements import Given, Placements, Slot, Wanted
from opperf.model import Case, Environment, Note, NoteCode, Record, ScriptTarget, Status
from opperf.plurals import pluralize
from opperf.programs.measuring import join_parts
from opperf.results.messages import tell

ATTEMPTS = 3
"""Most workers that a case is given to: one whose measuring ends nodes must not end them all, and
two that end by chance during one case are rare."""

AHEAD = 2
"""Cases in flight for each slot. Without them a node would be idle while those in flight wait for
another one, which has measured what they are compared with."""

POLL_S = 1.0
"""Seconds between looks at the nodes and at workers that start, which take seconds."""

LISTED = 8
"""Most names of nodes in a sentence."""


NO_WORKER = "the records so far are kept: finish the run with --resume"


class Fleet:
    """Measures cases on the nodes of a cluster, as many at once as it has workers. Raises
    `UsageError` if no node is as the options or the cases want it."""

    def __init__(self, ray: Any, task: Task) -> None:
        self._ray, self._task = ray, task
        # Reentrant: who gets a slot may be called while another gives its own back.
        self._lock = threading.RLock()
        self._placements = Placements(
            pairs_of((record.case, record.node) for record in task.measured)
        )
        self._workers: dict[Slot, Worker] = {}
        self._known: set[str] = set()
        """Ids of nodes that have been looked at."""
        self._numbers, self._queue = itertools.count(), NodeQueue()
        self._why = "all nodes of the cluster have ended"
        self._killed, self._closed = False, threading.Event()
        nodes = choose(list_nodes(ray), task.cluster.labels)
        names = {node.name for node in nodes}
        for case in task.cases:
            if case.settings.node and case.settings.node not in names:
                raise unknown("node", case.settings.node, sorted(names), "the cluster")
        self._add(nodes)
        if not self._workers:
            raise UsageError(self._too_small(nodes))
        self._small = names - {slot.node for slot in self._workers}
        """Names of nodes with too few cores or GPUs for a worker."""
        self.lanes = AHEAD * len(self._workers)
        self._watch = threading.Thread(target=self._keep_looking, daemon=True)
        self._watch.start()

    @property
    def summary(self) -> str:
        """The workers and their nodes, as a sentence."""
        names = self._placements.nodes
        listed = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
        workers = pluralize(len(self._workers), "worker")
        return f"{workers} on {pluralize(len(names), 'node')} of the cluster: {listed}"

    def close(self) -> None:
        """Ends the workers."""
        self._closed.set()
        self._watch.join()
        for worker in list(self._workers.values()):
            self._end(worker)

    def kill(self) -> None:
        with self._lock:
            self._killed = True
            self._placements.end()
        for worker in list(self._workers.values()):
            self._end(worker)

    def environment(self, case: Case) -> Environment:
        measured, _, lost = self._visit(case, "environment")
        if measured is None or measured.environment is None:
            raise WorkerError(f"{self._reason(case, lost)}; {NO_WORKER}")
        return measured.environment

    def measure(self, case: Case) -> Record:
        return self.measure_at(case, lambda node, environment: "")

    def measure_at(self, case: Case, arrive: Arrive) -> Record:
        if isinstance(case.target, ScriptTarget) and case.target.nodes > 1:
            return self._measure_together(case, case.target.nodes, arrive)
        measured, given, lost = self._visit(case, "measure")
        if measured is None:
            status = Status.SKIPPED if case.settings.node in self._small else Status.CRASHED
            reason = self._reason(case, lost)
            return Record(case=case, id=case.id, status=status, reason=reason)
        record, environment = measured.record, measured.environment
        assert record is not None and environment is not None and given.slot is not None
        node = given.slot.node
        self._keep(measured.files)
        moved = _moved(node, lost, given.parted)
        return msgspec.structs.replace(
            record, node=node, environment=arrive(node, environment), notes=(*record.notes, *moved)
        )

    def _measure_together(self, case: Case, number: int, arrive: Arrive) -> Record:
        # Nodes with GPUs first, and the same ones each time.
        sizes = {worker.node.name: worker.node.gpus for worker in list(self._workers.values())}
        names = sorted(self._placements.nodes, key=lambda name: (-sizes.get(name, 0), name))
        first = [case.settings.node] if case.settings.node else []
        ordered = [*first, *(name for name in names if name not in first)]
        # What there is not is not waited for.
        slots = []
        if len(names) >= number:
            slots = self._queue.take(number, ordered, lambda node: self._ask(Wanted(node)).slot)
        workers = [self._workers[slot] for slot in slots]
        if len(workers) < number:
            for worker in workers:
                self._release(worker)
            self._check_workers()
            reason = (
                f"needs {pluralize(number, 'node')}, and {len(names)} of the cluster can have it"
            )
            return Record(case=case, id=case.id, status=Status.SKIPPED, reason=reason)
        try:
            results, culprit = NodeGroup(self._ray, case, workers).run()
        except self._ray.exceptions.RayTaskError as error:
            for worker in workers:
                self._release(worker)
            raise WorkerError(one_line(f"{type(error.cause).__name__}: {error.cause}")) from error
        self._check_workers()
        environments = []
        for worker, part in zip(workers, results, strict=True):
            if part.error is None:
                self._release(worker)
            else:
                self._restart(worker, part.error)
            if part.measured is None:
                continue
            self._keep(part.measured.files)
            if part.measured.environment is not None:
                environments.append(arrive(worker.node.name, part.measured.environment))
        record = join_parts(case, [part.record for part in results], culprit)
        return msgspec.structs.replace(
            record, node=workers[0].node.name, environment=next(iter(environments), "")
        )

    def _keep(self, files: Mapping[str, bytes]) -> None:
        if files and self._task.profiles is not None:
            keep_files(self._task.profiles.parent, files)

    def _reason(self, case: Case, lost: Sequence[str]) -> str:
        if len(lost) == ATTEMPTS:
            return f"{ATTEMPTS} workers ended while they measured it, on {', '.join(lost)}"
        if case.settings.node in self._small:
            return (
                f"node {case.settings.node} has fewer cores or GPUs than a worker is to reserve; "
                "set fewer with --worker-cpus, --worker-gpus or --threads"
            )
        return f"node {case.settings.node} has ended; measure it again with --retry crashed"

    def _visit(self, case: Case, method: str) -> tuple[Measured | None, Given, list[str]]:
        """Returns the answer of a worker, its place, and the nodes of those that have ended
        instead; no answer if no further one is to be asked. Raises `WorkerError` if there is none
        at all."""
        wanted = Wanted(case.settings.node, pair_key(case))
        given, lost = Given(None), list[str]()
        errors = self._ray.exceptions
        while len(lost) < ATTEMPTS:
            given = self._ask(wanted)
            if given.slot is None:
                self._check_workers()
                break
            worker = self._workers[given.slot]
            try:
                measured: Measured = self._ray.get(getattr(worker.actor, method).remote(case))
            except errors.RayTaskError as error:
                self._release(worker)
                cause = one_line(f"{type(error.cause).__name__}: {error.cause}")
                raise WorkerError(f"node {worker.node.name}: {cause}") from error
            except errors.RayError as error:
                self._check_workers()
                lost.append(worker.node.name)
                self._restart(worker, error)
                continue
            if not measured.refusal:
                self._release(worker)
                return measured, given, lost
            self._drop(worker, measured.refusal)
        return None, given, lost

    def _ask(self, wanted: Wanted) -> Given:
        future: Future[Given] = Future()
        with self._lock:
            if self._killed:
                return Given(None)
            self._placements.ask(wanted, future.set_result)
        return future.result()

    def _check_workers(self) -> None:
        if self._killed:
            raise WorkerError("the workers were killed")
        if not self._placements.nodes:
            raise WorkerError(f"{self._why}; {NO_WORKER}")

    def _release(self, worker: Worker) -> None:
        with self._lock:
            self._placements.free(worker.slot)

    def _restart(self, worker: Worker, error: Exception) -> None:
        """Waits for the worker to answer again: Ray restarts it, unless its node has ended."""
        with self._lock:
            worker.started = first_answer(worker.actor)
        why = reason_of(self._ray, error)
        tell(f"warning: a worker of node {worker.node.name} has ended: {why}")

    def _drop(self, worker: Worker, why: str) -> None:
        self._why = f"node {worker.node.name}: {why}"
        tell(f"warning: node {worker.node.name} measures no more: {why}")
        with self._lock:
            del self._workers[worker.slot]
            self._placements.lose(worker.slot.node)
        self._end(worker)

    def _end(self, worker: Worker) -> None:
        # The cluster, or the connection to it, may have ended.
        with suppress(Exception):
            self._ray.kill(worker.actor)

    def _add(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if node.id in self._known:
                continue
            self._known.add(node.id)
            reserved = reserve(self._task.cases, node, self._task.cluster)
            for _ in range(reserved.workers if reserved else 0):
                assert reserved is not None
                actor = self._start(node, reserved)
                slot = Slot(node.name, next(self._numbers))
                with self._lock:
                    self._workers[slot] = Worker(slot, node, actor, first_answer(actor))
                    self._placements.expect(node.name)

    def _start(self, node: Node, reserved: Reserved) -> Any:
        setup = Setup(
            reserved.cpus,
            node.name,
            self._task.cores,
            self._task.interpreters,
            "" if self._task.profiles is None else self._task.profiles.name,
        )
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        remote = self._ray.remote(concurrency_groups={CONTROL: 1})(NodeWorker).options(
            num_cpus=reserved.cpus,
            num_gpus=reserved.gpus,
            max_restarts=-1,
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node.id, soft=False),
        )
        return remote.remote(msgspec.json.encode(setup))

    def _too_small(self, nodes: Sequence[Node]) -> str:
        most = max(nodes, key=lambda node: (node.gpus, node.cpus))
        return (
            f"no node has the cores and GPUs that a worker is to reserve; {most.name} has "
            f"{pluralize(most.cpus, 'core')} and {pluralize(most.gpus, 'GPU')}: set fewer with "
            "--worker-cpus, --worker-gpus or --threads"
        )

    def _keep_looking(self) -> None:
        while not self._closed.wait(POLL_S):
            try:
                self._look()
            except WorkerError as error:
                # The threads that wait then raise it.
                self._why = str(error)
                with self._lock:
                    for slot in list(self._workers):
                        self._placements.withdraw(slot)
                        self._placements.lose(slot.node)
                return

    def _look(self) -> None:
        """Takes what has started since, starts workers on new nodes, and drops those of nodes that
        have ended. Raises `WorkerError` if the cluster answers no more."""
        workers = list(self._workers.values())
        starting = {each.started: each for each in workers if each.started is not None}
        ready: list[Any] = []
        if starting:
            ready, _ = self._ray.wait(list(starting), num_returns=len(starting), timeout=0)
        for reference in ready:
            self._take_started(starting[reference], reference)
        nodes = list_nodes(self._ray)
        alive = {node.id for node in nodes}
        for worker in list(self._workers.values()):
            if worker.node.id not in alive:
                with self._lock:
                    is_free = self._placements.withdraw(worker.slot)
                if is_free or worker.started is not None:
                    self._drop(worker, "it has ended")
        labels = self._task.cluster.labels
        self._add([node for node in nodes if has_labels(node, labels)])

    def _take_started(self, worker: Worker, reference: Any) -> None:
        try:
            version = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            lines = str(error).strip().splitlines()
            self._drop(worker, one_line(lines[-1] if lines else type(error).__name__, 200))
            return
        if version != opperf.__version__:
            self._drop(worker, f"it has opperf {version}, and this is {opperf.__version__}")
            return
        worker.started = None
        self._release(worker)


def _moved(node: str, lost: Sequence[str], parted: str) -> Iterator[Note]:
    if lost:
        ended = "worker" if len(lost) == 1 else "workers"
        message = (
            f"measured again, by node {node}: the {ended} of {', '.join(lost)} ended meanwhile"
        )
        yield Note("", NoteCode.MOVED, message)
    elif parted:
        message = f"by node {node}; what it is compared with is by {parted}, which has ended"
        yield Note("", NoteCode.MOVED, message)


@contextmanager
def open_fleet(task: Task) -> Iterator[Fleet]:
    """Returns a context with the executor of a cluster, whose workers end with it. Raises
    `UsageError` if Ray is not installed or no node fits, and `WorkerError` if no cluster answers.
    """
    with connected(task.cluster) as ray:
        fleet = Fleet(ray, task)
        if task.say is not None:
            task.say(fleet.summary)
        try:
            yield fleet
        finally:
            fleet.close()

"""A session of `ab` on one node of a cluster: both arms in turn, in the same place."""

from __future__ import annotations

import importlib
import signal
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

import opperf
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import read_session
from opperf.errors import INTERRUPTED, OpperfError, UsageError, WorkerError, one_line
from opperf.execution.fleet.connecting import connected, list_nodes
from opperf.execution.fleet.node_worker import SESSION, NodeCommand, Written
from opperf.execution.fleet.nodes import NAME, Node, choose
from opperf.reading import open_file
from opperf.requests.ab import sessions
from opperf.requests.ab.beginning import begin
from opperf.requests.ab.keeping import (
    can_make_room,
    keep_interrupted,
    locate_report,
    make_room,
    resume_advice,
    say_kept,
)
from opperf.requests.ab.planning import Planned
from opperf.requests.ab.request import AbRequest
from opperf.requests.ab.resolving import Watch, resolve
from opperf.requests.ab.sessions import Ended, measured
from opperf.requests.declaring import Say, unsaid
from opperf.requests.judging import Comparisons, Judged, judge_session
from opperf.requests.places import ClusterNodes, write_lock
from opperf.results.lines import LineFile
from opperf.results.output import check_output
from opperf.results.runfile import kept_size
from opperf.terminating import end_with_parent

POLL_S = 1.0
"""Seconds between two looks at what the node has written."""

WAIT_S = 10.0
"""Seconds after which a message says that the node is not free yet."""

CLOSE_S = 5.0
"""Seconds that a node has to end the processes of a session, which takes a moment."""


class NodeSession(msgspec.Struct, frozen=True):
    """The session that a node measures, into a file beside that of this."""

    request: AbRequest
    node: str
    command: str
    """The manager's command line."""


class SessionCopy(AbstractContextManager["SessionCopy"]):
    """Appends what comes from the node. Until something does, a file that exists stays as it is.

    Raises `UsageError` if there is no session to resume, `RunFileError` for any other file and for
    one that another process writes to, and `OutputError` for one that may not be replaced.
    """

    def __init__(
        self, path: Path, resumes: bool, overwrite: bool, is_default: bool, say: Say
    ) -> None:
        self.path, self._is_default, self._say = path, is_default, say
        self._overwrite = overwrite
        self.earlier: Session | None = None
        """The session that is resumed."""
        self.content = b""
        """Its lines that the node is given."""
        self._file: LineFile | None = None
        if resumes:
            if not path.exists():
                raise UsageError(f"{path}: there is no session to resume; run without --resume")
            self._file = LineFile.open(path)
            self.earlier, _ = read_session(path)
            with open_file(path) as file:
                self.content = file.read(kept_size(path))
        else:
            check_output(path, overwrite or (is_default and can_make_room(path)))
        self.size = len(self.content)
        """Bytes that are here of the node's file."""
        self.has_new = False

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, lines: bytes) -> None:
        """Appends whole lines. Raises `OutputError`, with the file as before."""
        if not lines:
            return
        if self._file is None:
            self._file = self._create(lines)
        else:
            # Behind a closing line, or what an interruption left of a line.
            self._file.cut(self.size)
            self._file.append(lines)
        self.size += len(lines)
        self.has_new = True

    def _create(self, lines: bytes) -> LineFile:
        if self._is_default and not self._overwrite:
            for line in make_room(self.path):
                self._say(line)
        return LineFile.create(self.path, lines, self._overwrite)


def run(
    request: AbRequest, say: Say, watch: Watch, command: str
) -> Judged[Comparisons] | Planned | Ended:
    """Measures a session here, or on a node of a cluster, keeps its file, and judges it; of a dry
    run returns the plan. Raises `OpperfError`."""
    request.cluster.options(request.executor, request.given)
    run = sessions.run if request.executor == "local" else _run
    return run(request, say, watch, command)


def _run(request: AbRequest, say: Say, watch: Watch, command: str) -> Judged[Comparisons] | Ended:
    if request.dry_run:
        raise UsageError("--dry-run plans on this machine: omit --executor ray")
    request, path, resumes, given = locate_report(request)
    request.check_weighted(request.weight, [path], may_replace=resumes)
    with SessionCopy(path, resumes, request.overwrite, "report" not in given, say) as copy:
        measuring = _Measuring(copy, request, command, say)
        try:
            code = measuring.run()
        except OpperfError as error:
            if not (copy.size and measuring.has_begun):
                raise
            _keep(path, say)
            advice = _advice(request, path, measuring.has_ended)
            raise type(error)(f"{error}; the measurements are in {advice}") from error
        if code == INTERRUPTED and copy.size:
            _keep(path, say)
            advice = _advice(request, path)
            return Ended(code, f"interrupted; the measurements are in {advice}")
    # The line of an error was passed on; without one nothing was to be measured.
    if code or not (copy.has_new or resumes):
        return Ended(code)
    session = _keep_lock(path)
    say_kept(path, unsaid if request.quiet else say, say)
    limits = request.limits.limits(request.same_within)
    return judge_session(session, path, request.fail_on, limits, request.weight)


def measure_for_manager(file: Path, say: Say, watch: Watch) -> int:
    """Measures the session of a file, which has a `NodeSession`, for the manager of the cluster,
    which judges it; the exit code. Raises `OpperfError`."""
    end_with_parent()
    # Ray blocks it in its processes, whose children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    asked = msgspec.json.decode(
        file.read_bytes(), type=NodeSession, dec_hook=lambda kind, value: kind(value)
    )
    request = msgspec.structs.replace(asked.request, report=file.with_name(SESSION))
    resolved = resolve(request, unsaid if request.quiet else say, watch, asked.command)
    if resolved is None:
        return 0
    try:
        measured(replace(resolved, node=asked.node), begin)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _keep(path: Path, say: Say) -> None:
    _keep_lock(path)
    keep_interrupted(path, say)


def _keep_lock(path: Path) -> Session:
    session, _ = read_session(path)
    write_lock(path, session.header.interpreters)
    return session


def _advice(request: AbRequest, path: Path, has_ended: bool = False) -> str:
    """Returns the file, and the command that resumes the session; not by the name of a node that
    has ended."""
    words = ["--executor", "ray"]
    if request.cluster.address:
        words += ["--address", request.cluster.address]
    for name, value in request.cluster.nodes.items():
        if not (has_ended and name == NAME):
            words += ["--nodes", f"{name}={value}"]
    return resume_advice(request, path, *words)


@dataclass
class _Measuring:
    copy: SessionCopy
    request: AbRequest
    command: str
    say: Say
    has_begun: bool = False
    has_ended: bool = False
    """Whether the node has ended meanwhile."""

    def run(self) -> int:
        """Measures until the node's command ends; its exit code. Raises as `connected` and `choose`
        do, `OutputError`, and `WorkerError` if the node ends first."""
        cluster = self.request.cluster.options(self.request.executor, self.request.given)
        with connected(cluster) as ray:
            node = self._choose(list_nodes(ray))
            actor = self._start(ray, node)
            try:
                return self._run(ray, actor, node)
            finally:
                self._end(ray, actor)

    def _run(self, ray: Any, actor: Any, node: Node) -> int:
        asked = NodeSession(self._on_node(), node.name, self.command)
        content = msgspec.json.encode(asked, enc_hook=str)
        ray.get(actor.begin.remote(content, self.copy.content, str(Path.cwd()), node.cpus))
        self.has_begun = True
        try:
            return self._follow(ray, actor, node, self.say)
        except KeyboardInterrupt:
            ray.get(actor.interrupt.remote())
            self._follow(ray, actor, node, unsaid)
            return INTERRUPTED

    def _on_node(self) -> AbRequest:
        """Returns the request of the node, whose file is a new one or a copy; the outputs are
        here."""
        own = {"executor": "local", "output_files": (), "output_format": "", "overwrite": False}
        fields = {"report": Path(SESSION), "resume": None if self.copy.earlier is None else ""}
        given = self.request.given - {*own, "address", "nodes", "resume"} | {"report"}
        cluster = ClusterNodes()
        return msgspec.structs.replace(self.request, **own, **fields, cluster=cluster, given=given)

    def _choose(self, nodes: Sequence[Node]) -> Node:
        """Returns the node that has measured a part of the session, or else that with the most GPUs
        and cores of those that are chosen."""
        # A head often has no cores, so that it does nothing else.
        measuring = [node for node in nodes if node.cpus]
        if not measuring:
            raise WorkerError("no node of the cluster has a core that it gives to others")
        known = self.copy.earlier.nodes[-1:] if self.copy.earlier else ()
        found = choose(measuring, self.request.cluster.nodes)
        return max(found, key=lambda node: (node.name in known, node.gpus, node.cpus))

    def _start(self, ray: Any, node: Node) -> Any:
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        remote = ray.remote(NodeCommand).options(
            num_cpus=node.cpus,
            num_gpus=node.gpus,
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node.id, soft=False),
        )
        actor = remote.remote()
        version = actor.version.remote()
        if not ray.wait([version], timeout=WAIT_S)[0]:
            self.say(f"waiting for node {node.name}, whose cores others have reserved")
        try:
            found = ray.get(version)
        except ray.exceptions.RayError as error:
            raise WorkerError(f"node {node.name}: {one_line(str(error), 200)}") from error
        if found != opperf.__version__:
            raise WorkerError(
                f"node {node.name} has opperf {found}, and this is {opperf.__version__}: install "
                "the same version there"
            )
        if not self.request.quiet:
            self.say(f"measuring on node {node.name}")
        return actor

    def _follow(self, ray: Any, actor: Any, node: Node, say: Say) -> int:
        said = 0
        while True:
            found = self._ask(ray, actor, node, said)
            said += len(found.messages)
            if found.messages:
                say(found.messages.decode(errors="replace").rstrip("\n"))
            self.copy.append(found.content)
            if found.code is not None:
                return found.code
            time.sleep(POLL_S)

    def _ask(self, ray: Any, actor: Any, node: Node, said: int) -> Written:
        while True:
            try:
                return Written(*ray.get(actor.written.remote(said, self.copy.size)))
            except ray.exceptions.ActorUnavailableError as error:
                # The connection may come back.
                reason = error
            except ray.exceptions.RayError as error:
                self.has_ended = True
                raise _ended(node, error) from error
            if node.id not in {other.id for other in list_nodes(ray)}:
                self.has_ended = True
                raise _ended(node, reason)
            time.sleep(POLL_S)

    def _end(self, ray: Any, actor: Any) -> None:
        # The node, the cluster, or the connection to it, may have ended.
        with suppress(Exception):
            ray.wait([actor.close.remote()], timeout=CLOSE_S)
            ray.kill(actor)


def _ended(node: Node, error: Exception) -> WorkerError:
    # The first lines say what the actor is, and the last one why it has ended.
    *_, reason = str(error).strip().splitlines() or [type(error).__name__]
    return WorkerError(f"node {node.name} has ended: {one_line(reason, 160).rstrip('.')}")

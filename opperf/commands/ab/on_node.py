"""A session of `ab` on one node of a cluster: both arms in turn, in the same place."""

from __future__ import annotations

import importlib
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import opperf
from opperf.commands.ab.keeping import keep_finished, keep_interrupted, locate_report, resume_words
from opperf.commands.ab.request import repeated_arguments
from opperf.commands.ab.running import from_ab
from opperf.commands.ab.session_copy import SessionCopy
from opperf.comparison.ab.session_file import read_session
from opperf.comparison.weighted import check_format
from opperf.errors import INTERRUPTED, OpperfError, UsageError, WorkerError, one_line
from opperf.execution.fleet.connecting import connected, list_nodes
from opperf.execution.fleet.node_command import NodeCommand, NodeFile, Written
from opperf.execution.fleet.nodes import NAME, FleetOptions, Node, choose
from opperf.machine.pinning import cpus_arguments
from opperf.requests.installing import write_lock
from opperf.results.kept import display
from opperf.results.messages import tell
from opperf.results.output import STDOUT, check_output, outputs_from

POLL_S = 1.0
"""Seconds between two looks at what the node has written."""

WAIT_S = 10.0
"""Seconds after which a message says that the node is not free yet."""

CLOSE_S = 5.0
"""Seconds that a node has to end the processes of a session, which takes a moment."""


def ab_on_node(given: Mapping[str, Any], changed: Mapping[str, Any], words: Sequence[str]) -> int:
    """Runs a session on a node, and reports its verdicts here; the exit code. `words` are those of
    the command. Raises `OpperfError` if no node can, and if the session cannot be made there."""
    if given["dry_run"]:
        raise UsageError("--dry-run plans on this machine: omit --executor ray")
    given, changed = locate_report(given, changed)
    path: Path = given["report"]
    _check(given)
    cluster = FleetOptions(given["address"], given["nodes"])
    with SessionCopy(path, given["resume"], given["overwrite"], "report" not in changed) as copy:
        measuring = _Measuring(copy, cluster, given["quiet"])
        try:
            code = measuring.run(words, given["names"])
        except OpperfError as error:
            if not (copy.size and measuring.has_begun):
                raise
            _keep(path)
            hint = _resume_hint(given, changed, measuring.has_ended)
            raise type(error)(f"{error}; the measurements are in {hint}") from error
        if code == INTERRUPTED and copy.size:
            _keep(path)
            tell(f"interrupted; the measurements are in {_resume_hint(given, changed)}")
    if code:
        # Its line was passed on.
        return code
    if not copy.has_new and not given["resume"]:
        # Nothing was to be measured.
        return 0
    _keep_lock(path)
    kept = keep_finished(path)
    if not given["quiet"]:
        name = display(path)
        tell(f"all measurements are in {name}{'' if kept == name else f', kept as {kept}'}")
    return from_ab(path, {**given, "overwrite": True})


def _check(given: Mapping[str, Any]) -> None:
    if given["resume"] and given["overwrite"]:
        raise UsageError("--resume continues a session and --overwrite replaces it; give only one")
    if given["report"] == STDOUT:
        raise UsageError(
            "--report needs a file, to which each process appends its results; name one"
        )
    for output in outputs_from(given):
        check_format(given["weight"], output.format, "ab")
        check_output(output.path, given["overwrite"] or given["resume"], [given["report"]])


def _keep(path: Path) -> None:
    _keep_lock(path)
    keep_interrupted(path)


def _keep_lock(path: Path) -> None:
    """Writes the lock file of the environments that the node installed, if it did."""
    write_lock(path, read_session(path)[0].header.interpreters)


def _resume_hint(
    given: Mapping[str, Any], changed: Mapping[str, Any], has_ended: bool = False
) -> str:
    """Returns the file, and the command that resumes the session; not by the name of a node that
    has ended."""
    words = [*resume_words(given["report"]), *cpus_arguments(given["cpus"]), "--executor", "ray"]
    if given["address"]:
        words += ["--address", given["address"]]
    for name, value in given["nodes"].items():
        if not (has_ended and name == NAME):
            words += ["--nodes", f"{name}={value}"]
    words += repeated_arguments(given, changed)
    return f"{display(given['report'])}. Resume with: {shlex.join(words)}"


@dataclass
class _Measuring:
    """A session that a node measures."""

    copy: SessionCopy
    cluster: FleetOptions
    quiet: bool
    has_begun: bool = False
    has_ended: bool = False
    """Whether the node has ended meanwhile."""

    def run(self, words: Sequence[str], names: Sequence[str]) -> int:
        """Measures until the node's command ends; its exit code. Raises as `connected` and `choose`
        do, `OutputError`, and `WorkerError` if the node ends first."""
        with connected(self.cluster) as ray:
            node = self._choose(list_nodes(ray))
            actor = self._start(ray, node)
            try:
                return self._run(ray, actor, node, words, names)
            finally:
                self._end(ray, actor)

    def _run(
        self, ray: Any, actor: Any, node: Node, words: Sequence[str], names: Sequence[str]
    ) -> int:
        file = NodeFile(
            node=node.name,
            names=tuple(names),
            command=shlex.join(["opperf", *sys.argv[1:]]),
            resume=self.copy.earlier is not None,
        )
        asked = ("ab", *words), msgspec.json.encode(file), self.copy.content
        ray.get(actor.begin.remote(*asked, str(Path.cwd()), node.cpus))
        self.has_begun = True
        try:
            return self._follow(ray, actor, node, tell)
        except KeyboardInterrupt:
            ray.get(actor.interrupt.remote())
            self._follow(ray, actor, node, lambda text: None)
            return INTERRUPTED

    def _choose(self, nodes: Sequence[Node]) -> Node:
        """Returns the node that has measured a part of the session, or else that with the most GPUs
        and cores of those that are chosen."""
        # A head often has no cores, so that it does nothing else.
        measuring = [node for node in nodes if node.cpus]
        if not measuring:
            raise WorkerError("no node of the cluster has a core that it gives to others")
        known = self.copy.earlier.nodes[-1:] if self.copy.earlier else ()
        found = choose(measuring, self.cluster.labels)
        return max(found, key=lambda node: (node.name in known, node.gpus, node.cpus))

    def _start(self, ray: Any, node: Node) -> Any:
        """Returns the actor of the command, which has the whole node. Raises `WorkerError` if the
        node ends first, or has another version of opperf."""
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        remote = ray.remote(NodeCommand).options(
            num_cpus=node.cpus,
            num_gpus=node.gpus,
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node.id, soft=False),
        )
        actor = remote.remote()
        version = actor.version.remote()
        if not ray.wait([version], timeout=WAIT_S)[0]:
            tell(f"waiting for node {node.name}, whose cores others have reserved")
        try:
            found = ray.get(version)
        except ray.exceptions.RayError as error:
            raise WorkerError(f"node {node.name}: {one_line(str(error), 200)}") from error
        if found != opperf.__version__:
            raise WorkerError(
                f"node {node.name} has opperf {found}, and this is {opperf.__version__}: install "
                "the same version there"
            )
        if not self.quiet:
            tell(f"measuring on node {node.name}")
        return actor

    def _follow(self, ray: Any, actor: Any, node: Node, say: Callable[[str], None]) -> int:
        """Appends what the node writes to the session's file until it ends; its exit code. `say` is
        called with the node's messages."""
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
        """Returns what is new. Raises `WorkerError` if the node ends first."""
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
